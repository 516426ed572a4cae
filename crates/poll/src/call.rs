//! The calls over a set in this memory: scan, sleep, scan again.
//!
//! ```text
//!            ┌── found something ──────────────► Ok(count)
//!   scan ────┤
//!   (first:  ├── a signal is pending ──────────► Interrupted
//!   register)├── a file could not register ────► NoMemory
//!     ▲      ├── the deadline has passed ──────► Ok(0)
//!     │      └── otherwise
//!     └──────────── wait ◄──┘
//! ```
//! The order is the kernel's: a signal goes before a want of memory, and both go before a timeout,
//! so that even a call with a zero timeout is interrupted. After the deadline there is one more scan,
//! since what became ready while the caller woke up is an answer.

use crate::{Deadline, Error, PollFd, Restart, System, Timeout, Timespec, Wait, scan};

/// Fails when a set of so many entries is more than the caller may have.
pub(crate) fn check_limit<S: System>(system: &S, entries: usize) -> Result<(), Error> {
    let limit = system.descriptor_limit();
    if entries > limit { Err(Error::TooManyEntries { entries, limit }) } else { Ok(()) }
}

/// Answers for every entry, and returns how many answers are not empty: at once if any is, else when
/// one becomes so, else 0 at the deadline.
///
/// # Errors
/// [`Error::TooManyEntries`], with the set untouched. [`Error::Interrupted`] and [`Error::NoMemory`],
/// with every `revents` 0. To restart after a signal is to call it again with the same deadline.
pub fn poll_until<S: System>(
    system: &S,
    entries: &mut [PollFd],
    deadline: Deadline,
) -> Result<usize, Error> {
    check_limit(system, entries.len())?;
    let deadline_time = match deadline {
        Deadline::Now => {
            return match scan(system, entries, None) {
                0 if system.pending() => Err(Error::Interrupted(Restart { deadline })),
                count => Ok(count),
            };
        }
        Deadline::At(time) => Some(time),
        Deadline::Never => None,
    };
    let mut waiter = system.waiter();
    // Only the first scan registers: from then on every file knows the waiter.
    let mut count = scan(system, entries, Some(&mut waiter));
    let mut expired = false;
    loop {
        if count > 0 {
            return Ok(count);
        }
        if system.pending() {
            return Err(Error::Interrupted(Restart { deadline }));
        }
        if waiter.failed() {
            return Err(Error::NoMemory);
        }
        if expired {
            return Ok(0);
        }
        waiter.wait(deadline_time);
        // The clock decides and not the sleep: a timer that fires early makes no timeout short.
        expired = deadline_time.is_some_and(|time| system.now() >= time);
        count = scan(system, entries, None);
    }
}

/// `poll`: with a timeout in milliseconds; any negative one waits for ever.
///
/// # Errors
/// As [`poll_until`].
pub fn poll<S: System>(
    system: &S,
    entries: &mut [PollFd],
    timeout_ms: i32,
) -> Result<usize, Error> {
    let deadline = Timeout::from_millis(timeout_ms).deadline(|| system.now());
    poll_until(system, entries, deadline)
}

/// `ppoll`: with a timeout in nanoseconds, or none, and with `mask` in force during the call, or the
/// caller's own.
///
/// What is left of the timeout is written back, unless it was zero, whatever the call answered.
///
/// # Errors
/// As [`poll_until`], and [`Error::Timeout`] for a timeout that is none; the mask is then not touched.
pub fn ppoll<S: System>(
    system: &S,
    entries: &mut [PollFd],
    timeout: Option<&mut Timespec>,
    mask: Option<&S::Mask>,
) -> Result<usize, Error> {
    with_timespec_and_mask(system, timeout, mask, |deadline| poll_until(system, entries, deadline))
}

/// What is around either form of `ppoll`.
pub(crate) fn with_timespec_and_mask<S: System>(
    system: &S,
    timeout: Option<&mut Timespec>,
    mask: Option<&S::Mask>,
    call: impl FnOnce(Deadline) -> Result<usize, Error>,
) -> Result<usize, Error> {
    let deadline = match &timeout {
        None => Deadline::Never,
        Some(time) => time.timeout().map_err(Error::Timeout)?.deadline(|| system.now()),
    };
    if let Some(mask) = mask {
        system.install(mask);
    }
    let answer = call(deadline);
    if mask.is_some() {
        system.restore(matches!(answer, Err(Error::Interrupted(_))));
    }
    if let (Some(timeout), Deadline::At(time)) = (timeout, deadline) {
        *timeout = Timespec::from_ns(time.until(system.now()));
    }
    answer
}
