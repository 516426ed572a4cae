//! The core over the real descriptors of this process.
//!
//! Each file is asked with a system call of its own, so it is slow; it is there to be compared with.
//! A wait is one system call over all that registered.
//!
//! Two things show through. A signal is seen while the call sleeps, or when a mask is given; one
//! that is handled between two of the core's steps interrupts nothing, as it would any other code of
//! this process. And the kernel holds on to a file while it is polled, this bridge does not: a
//! descriptor that another thread closes meanwhile is found to be closed.
#![expect(unsafe_code, reason = "system calls on numbers that may be no descriptor")]

use core::cell::{Cell, RefCell};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;
use std::io;
use std::rc::Rc;
use std::vec::Vec;

use super::clock;
use crate::{Clock, Events, File, Files, PollFd, Signals, System, Time, Timespec, Wait};

const _: () = assert!(
    size_of::<PollFd>() == size_of::<libc::pollfd>()
        && align_of::<PollFd>() == align_of::<libc::pollfd>()
        && core::mem::offset_of!(PollFd, events) == core::mem::offset_of!(libc::pollfd, events)
        && core::mem::offset_of!(PollFd, revents) == core::mem::offset_of!(libc::pollfd, revents)
);

/// The kernel's own `poll` of these entries; their descriptors may be any numbers.
///
/// # Errors
/// What the kernel says.
pub fn kernel_poll(entries: &mut [PollFd], timeout_ms: i32) -> io::Result<usize> {
    let n = entries.len() as libc::nfds_t;
    // SAFETY: the pointer and the number are of one slice of `pollfd`s (same layout, asserted
    // above), which is borrowed mutably for the call. No number makes the call unsafe as `fd`.
    let answer = unsafe { libc::poll(entries.as_mut_ptr().cast(), n, timeout_ms) };
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// The kernel's own `ppoll` of these entries; their descriptors may be any numbers.
///
/// # Errors
/// What the kernel says.
pub fn kernel_ppoll(
    entries: &mut [PollFd],
    timeout: Option<Timespec>,
    mask: Option<&SignalSet>,
) -> io::Result<usize> {
    let timeout = timeout
        .map(|time| libc::timespec { tv_sec: time.seconds as _, tv_nsec: time.nanoseconds as _ });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    let mask = mask.map_or(ptr::null(), |mask| ptr::from_ref(&mask.0));
    let n = entries.len() as libc::nfds_t;
    // SAFETY: the first pointer and the number are of one slice of `pollfd`s (same layout, asserted
    // above), borrowed mutably for the call; the other two are null or of values that outlive it.
    let answer = unsafe { libc::ppoll(entries.as_mut_ptr().cast(), n, timeout, mask) };
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// A set of signals, to block.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// None.
    pub fn empty() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `set` is writable memory for one set; the call initialises it and cannot fail.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            Self(set.assume_init())
        }
    }

    /// With `signal` too; no change for a number that is no signal.
    #[must_use]
    pub fn with(mut self, signal: i32) -> Self {
        // SAFETY: the set is initialised; the call checks the number.
        unsafe { libc::sigaddset(&mut self.0, signal) };
        self
    }
}

impl fmt::Debug for SignalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignalSet")
    }
}

/// This process's descriptors.
#[derive(Debug, Default)]
pub struct Bridge {
    shared: Rc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// A sleep was interrupted, and the call has not been told yet.
    interrupted: Cell<bool>,
    /// What `ppoll` blocks while it sleeps.
    mask: RefCell<Option<SignalSet>>,
}

impl Bridge {
    /// A bridge for one thread.
    pub fn new() -> Self {
        Self::default()
    }
}

/// One descriptor, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor(i32);

/// A caller asleep on real descriptors.
#[derive(Debug)]
pub struct Sleeper {
    shared: Rc<Shared>,
    watched: Vec<PollFd>,
}

impl Files for Bridge {
    type Waiter = Sleeper;
    type Ref<'a> = Descriptor;

    fn lookup(&self, fd: u32) -> Option<Descriptor> {
        let fd = i32::try_from(fd).ok()?;
        // SAFETY: reading a descriptor's flags touches no memory, and fails when there is none.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        (flags >= 0 && flags & libc::O_PATH == 0).then_some(Descriptor(fd))
    }
}

impl File<Sleeper> for Descriptor {
    fn poll(&self, want: Events, waiter: Option<&mut Sleeper>) -> Events {
        let mut entry = [PollFd::new(self.0, want)];
        if let Some(waiter) = waiter {
            waiter.watched.extend(entry);
        }
        loop {
            match kernel_poll(&mut entry, 0) {
                Ok(_) => return entry[0].revents,
                // A signal was handled meanwhile, and nothing was ready: no answer yet.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // One entry and no wait fail in no other way, but for want of kernel memory.
                Err(_) => return Events::ERR,
            }
        }
    }
}

impl Wait for Sleeper {
    fn wait(&mut self, deadline: Option<Time>) {
        let left = deadline.map(|time| Timespec::from_ns(time.until(clock::now())));
        let slept = kernel_ppoll(&mut self.watched, left, self.shared.mask.borrow().as_ref());
        if slept.is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            self.shared.interrupted.set(true);
        }
    }
}

impl Clock for Bridge {
    fn now(&self) -> Time {
        clock::now()
    }
}

impl Signals for Bridge {
    type Mask = SignalSet;

    fn pending(&self) -> bool {
        if self.shared.interrupted.take() {
            return true;
        }
        // A signal that only the new mask lets through is delivered by a call that does not sleep.
        let mask = self.shared.mask.borrow();
        mask.is_some()
            && kernel_ppoll(&mut [], Some(Timespec::from_ns(0)), mask.as_ref())
                .is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
    }

    fn install(&self, mask: &SignalSet) {
        self.shared.mask.replace(Some(*mask));
    }

    fn restore(&self, _interrupted: bool) {
        // Handlers have run by now: the mask was in force only inside the kernel.
        self.shared.mask.replace(None);
    }
}

impl System for Bridge {
    fn waiter(&self) -> Sleeper {
        Sleeper { shared: self.shared.clone(), watched: Vec::new() }
    }

    fn descriptor_limit(&self) -> usize {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is writable memory for one limit.
        let failed = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0;
        if failed { usize::MAX } else { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) }
    }
}
