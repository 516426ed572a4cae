//! Sets that lie across a page that cannot be written or read: the kernel, then the core, which must
//! fail alike and leave the same in memory.
#![expect(unsafe_code, reason = "memory that faults when it is touched")]

use std::ptr::NonNull;

use poll::host::{AlwaysReady, PAGE_SIZE, Task, kernel_poll};
use poll::{Access, Error, Events, Fault, PollFd, UserSet};

const STALE: Events = Events::from_bits(0x5a5a);
/// How many entries lie before the second page, and how many there are.
const BEFORE: usize = 3;
const ENTRIES: usize = 8;

/// Two pages and a set across their border.
struct Pages {
    start: NonNull<libc::c_void>,
}

impl Pages {
    /// Filled with entries for `fd`; then the second page gets `protection`.
    fn new(fd: i32, protection: i32) -> Self {
        let (size, access) = (2 * PAGE_SIZE, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let pages = Self { start: NonNull::new(start).expect("no mapping at 0") };
        for i in 0..ENTRIES {
            let entry = PollFd { fd, events: Events::IN, revents: STALE };
            // SAFETY: within the mapping (see `entry`), which is writable so far.
            unsafe { pages.entry(i).write(entry) };
        }
        pages.protect(protection);
        pages
    }

    fn protect(&self, protection: i32) {
        // SAFETY: the second page of this mapping, of which no reference exists.
        let failed = unsafe {
            libc::mprotect(self.start.as_ptr().byte_add(PAGE_SIZE), PAGE_SIZE, protection)
        };
        assert_eq!(failed, 0);
    }

    /// Entry `i`, below [`ENTRIES`].
    fn entry(&self, i: usize) -> *mut PollFd {
        assert!(i < ENTRIES);
        self.start
            .as_ptr()
            .cast::<PollFd>()
            .wrapping_byte_add(PAGE_SIZE)
            .wrapping_sub(BEFORE)
            .wrapping_add(i)
    }

    /// The number of the kernel's error for the set.
    fn kernel(&self) -> Option<i32> {
        // SAFETY: whatever of the set is not mapped as needed is the kernel's to find out.
        let answer = unsafe { libc::poll(self.entry(0).cast(), ENTRIES as libc::nfds_t, 0) };
        (answer < 0).then(|| std::io::Error::last_os_error().raw_os_error().expect("an error"))
    }

    /// What is left in every entry, once all can be read.
    fn answers(&self) -> Vec<Events> {
        self.protect(libc::PROT_READ);
        // SAFETY: all entries lie in the mapping, which is readable now.
        (0..ENTRIES).map(|i| unsafe { self.entry(i).read().revents }).collect()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this mapping, of which no reference exists.
        unsafe { libc::munmap(self.start.as_ptr(), 2 * PAGE_SIZE) };
    }
}

/// The core's side of it.
struct Memory {
    entries: Vec<PollFd>,
    readable: usize,
    writable: usize,
}

impl UserSet for Memory {
    fn read(&self, into: &mut [PollFd]) -> Result<(), Fault> {
        if into.len() > self.readable {
            return Err(Fault);
        }
        into.copy_from_slice(&self.entries[..into.len()]);
        Ok(())
    }

    fn write_revents(&mut self, index: usize, revents: Events) -> Result<(), Fault> {
        if index >= self.writable {
            return Err(Fault);
        }
        self.entries[index].revents = revents;
        Ok(())
    }
}

/// Both with the second page protected so, on a descriptor that is ready.
fn compare(protection: i32, readable: usize, writable: usize) -> Result<usize, Error> {
    let file = std::fs::File::open("/dev/null").expect("a null device");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    let pages = Pages::new(fd, protection);
    let kernel = pages.kernel();

    let task = Task::new(usize::MAX);
    assert!(task.files.set(fd, std::sync::Arc::new(AlwaysReady)));
    let entry = PollFd { fd, events: Events::IN, revents: STALE };
    let mut memory = Memory { entries: vec![entry; ENTRIES], readable, writable };
    let mut copy = [PollFd::default(); ENTRIES];
    let answer = poll::user::poll(&task, &mut memory, ENTRIES, &mut copy, 0);
    assert_eq!(answer.map_err(|error| error.errno()).err(), kernel);
    let left: Vec<_> = memory.entries.iter().map(|entry| entry.revents).collect();
    assert_eq!(left, pages.answers());
    answer
}

#[test]
fn a_set_of_which_a_part_cannot_be_read_is_not_answered_at_all() {
    assert_eq!(compare(libc::PROT_NONE, BEFORE, BEFORE), Err(Error::Fault(Access::Read)));
}

#[test]
fn a_set_of_which_a_part_cannot_be_written_is_answered_up_to_it() {
    let fault = Error::Fault(Access::Write { entry: BEFORE });
    assert_eq!(compare(libc::PROT_READ, ENTRIES, BEFORE), Err(fault));
}

#[test]
fn a_set_that_can_be_read_and_written_is_answered() {
    let both = libc::PROT_READ | libc::PROT_WRITE;
    assert_eq!(compare(both, ENTRIES, ENTRIES), Ok(ENTRIES));
}

#[test]
fn an_empty_set_faults_nowhere() {
    // SAFETY: no entry is read or written through the address.
    let answer = unsafe { libc::poll(std::ptr::dangling_mut(), 0, 0) };
    assert_eq!(answer, 0);
    assert_eq!(kernel_poll(&mut [], 0).ok(), Some(0));
    let mut memory = Memory { entries: Vec::new(), readable: 0, writable: 0 };
    assert_eq!(poll::user::poll(&Task::new(0), &mut memory, 0, &mut [], 0), Ok(0));
}
