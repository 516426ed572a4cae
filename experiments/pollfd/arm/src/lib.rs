//! The scan of the poll core over 1024 descriptors, none of which waits: what a call of poll with a
//! zero timeout does between its copy in and its copy out.
//!
//! Numbers index an array of files; a file is asked through a pointer to its operations, as in a
//! kernel. `arm.c` is the same in C, down to the order of the set.
#![expect(unsafe_code, reason = "entry points with C names")]

use arm::{Scenario, place, times};
use poll::{Events, File, Files, PollFd, scan};
use std::hint::black_box;

/// Descriptors of a call.
const ENTRIES: usize = 1024;
/// One file of so many has something ready.
const READY_ONE_OF: usize = 128;
/// Negative descriptors of each scenario, of 1024.
const NEGATIVE: [usize; 3] = [0, 10, 512];

/// How a file is asked.
struct Operations {
    poll: fn(&Plain, Events) -> Events,
}

struct Plain {
    operations: &'static Operations,
    ready: Events,
}

static OPERATIONS: Operations = Operations { poll: |file, _| file.ready };

#[derive(Clone, Copy)]
struct Asked<'t>(&'t Plain);

impl File<()> for Asked<'_> {
    #[inline]
    fn poll(&self, want: Events, _: Option<&mut ()>) -> Events {
        (self.0.operations.poll)(self.0, want)
    }
}

struct Table(Vec<Option<&'static Plain>>);

impl Files for Table {
    type Waiter = ();
    type Ref<'a> = Asked<'a>;

    #[inline]
    fn lookup(&self, fd: u32) -> Option<Self::Ref<'_>> {
        (*self.0.get(fd as usize)?).map(Asked)
    }
}

/// A set and the files that it asks for.
pub struct Poll {
    table: Table,
    entries: Vec<PollFd>,
}

/// The same order in every build and every language: a linear congruential generator, its high bits.
fn shuffle<T>(items: &mut [T]) {
    let mut state = 1_u64;
    for last in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        items.swap(last, ((state >> 33) % (last as u64 + 1)) as usize);
    }
}

impl Scenario for Poll {
    fn open(scenario: u32) -> Option<Self> {
        let negative = *NEGATIVE.get(scenario as usize)?;
        let file = |at: usize| {
            let ready = if at.is_multiple_of(READY_ONE_OF) { Events::IN } else { Events::NONE };
            Plain { operations: &OPERATIONS, ready }
        };
        // One piece of memory, as in C: a table and files apart from it would not fit the first cache.
        // It is never freed, and the process that opened it is short.
        let files: &'static [Plain] = Vec::leak((0..ENTRIES).map(file).collect());
        let mut fds: Vec<i32> = (0..).take(ENTRIES).collect();
        // Those that are not asked for are the last ones, none of them one that is ready.
        for (fd, _) in fds
            .iter_mut()
            .rev()
            .filter(|fd| !(**fd as usize).is_multiple_of(READY_ONE_OF))
            .zip(0..negative)
        {
            *fd = -1;
        }
        shuffle(&mut fds);
        let entry = |fd: i32| PollFd::new(fd, Events::IN | Events::OUT);
        Some(Self {
            table: Table(files.iter().map(Some).collect()),
            entries: fds.into_iter().map(entry).collect(),
        })
    }

    #[inline(never)]
    fn run<const AT: u32>(&mut self, operations: u64) -> u64 {
        place::<AT>();
        let mut found = 0;
        times(operations, || found += self.scan());
        found
    }

    fn expected(&mut self, operations: u64) -> u64 {
        (ENTRIES / READY_ONE_OF) as u64 * operations
    }
}

impl Poll {
    #[inline(always)]
    fn scan(&mut self) -> u64 {
        scan(&self.table, black_box(&mut self.entries[..]), None) as u64
    }
}

arm::export!(Poll);

/// One call, for its machine code.
///
/// # Safety
/// As of [`arm_run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pollfd_scan(state: *mut Poll) -> u64 {
    // SAFETY: the caller passes a live state that it alone uses.
    unsafe { &mut *state }.scan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_its_share_of_negative_descriptors() {
        for (scenario, negative) in (0..).zip(NEGATIVE) {
            let mut poll = Poll::open(scenario).unwrap();
            assert_eq!(poll.entries.len(), ENTRIES);
            assert_eq!(poll.entries.iter().filter(|entry| entry.fd < 0).count(), negative);
            assert_eq!(poll.run::<2>(3), 24);
            assert_eq!(poll.expected(3), 24);
        }
        assert!(Poll::open(3).is_none());
    }
}
