//! The calls over a set in user memory, which may fault, and change while the call sleeps.
//!
//! The set is copied in once and scanned in the copy, so that whatever other threads do to it, the
//! call answers for the set it was given. Only `revents` goes back. The copy is the caller's: a small
//! array on the stack serves most calls, and the caller knows where larger ones come from.

use crate::call::{check_limit, with_timespec_and_mask};
use crate::{
    Access, Deadline, Error, PollFd, Restart, System, Timeout, Timespec, UserSet, poll_until,
};

/// `poll` over `entries` entries of `user`, with a copy of them in `copy`.
///
/// # Errors
/// In this order: [`Error::TooManyEntries`]; [`Error::NoRoom`] when `copy` is shorter than the set;
/// [`Error::Fault`] when the set cannot be read; [`Error::Fault`] when an answer cannot be written,
/// whatever the answer was; [`Error::NoMemory`]; [`Error::Interrupted`], which
/// [`Restart::resume`] goes on with.
pub fn poll<S: System>(
    system: &S,
    user: &mut impl UserSet,
    entries: usize,
    copy: &mut [PollFd],
    timeout_ms: i32,
) -> Result<usize, Error> {
    let deadline = Timeout::from_millis(timeout_ms).deadline(|| system.now());
    run(system, user, entries, copy, deadline)
}

/// `ppoll` over user memory; `timeout` and `mask` as in [`ppoll`](crate::ppoll).
///
/// # Errors
/// [`Error::Timeout`], else as [`poll`].
pub fn ppoll<S: System>(
    system: &S,
    user: &mut impl UserSet,
    entries: usize,
    copy: &mut [PollFd],
    timeout: Option<&mut Timespec>,
    mask: Option<&S::Mask>,
) -> Result<usize, Error> {
    with_timespec_and_mask(system, timeout, mask, |deadline| {
        run(system, user, entries, copy, deadline)
    })
}

impl Restart {
    /// Goes on with an interrupted call: the set is read again, the deadline is the first one's.
    ///
    /// # Errors
    /// As [`poll`].
    pub fn resume<S: System>(
        self,
        system: &S,
        user: &mut impl UserSet,
        entries: usize,
        copy: &mut [PollFd],
    ) -> Result<usize, Error> {
        run(system, user, entries, copy, self.deadline)
    }
}

fn run<S: System>(
    system: &S,
    user: &mut impl UserSet,
    entries: usize,
    copy: &mut [PollFd],
    deadline: Deadline,
) -> Result<usize, Error> {
    check_limit(system, entries)?;
    let room = copy.len();
    let Some(copy) = copy.get_mut(..entries) else {
        return Err(Error::NoRoom { entries, room });
    };
    user.read(copy).map_err(|_| Error::Fault(Access::Read))?;
    let answer = poll_until(system, copy, deadline);
    // Written whatever the answer is: an interrupted call leaves zeros, not what was there before.
    for (entry, from) in copy.iter().enumerate() {
        user.write_revents(entry, from.revents)
            .map_err(|_| Error::Fault(Access::Write { entry }))?;
    }
    answer
}
