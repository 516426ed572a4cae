//! The loop over the entries: the part that is run a thousand times a call.
//!
//! It is generic, so that a system's lookup and its files' answers are compiled into it. There is no
//! index, hence no bounds check, and no call but the system's own. The entries are visited once, and
//! what one of them answers decides only whether the later ones register.
//!
//! That decision is made by two loops and not by a variable: the first registers and ends with the
//! first answer, the second goes on from there and never registers. A call that does not wait, and
//! every scan after a sleep, runs only the second, in which there is nothing left to decide. With one
//! loop the compiler made the variable a conditional move, on which each turn waited for the one
//! before: 1.20 ns an entry instead of 0.83 for the same loop in C, on the machine where both were
//! first compared.
//!
//! The hint moves blocks of the first loop only: in the second, the compiler (LLVM 22, x86-64) lays
//! the negative descriptor out of the way by itself, and both builds have the same instructions.

use crate::{Events, File, Files, PollFd};

/// The condition, with the hint that the experiment takes away.
#[cfg(not(feature = "unhinted"))]
macro_rules! rarely {
    ($condition:expr) => {
        unlikely::unlikely!($condition)
    };
}
#[cfg(feature = "unhinted")]
macro_rules! rarely {
    ($condition:expr) => {
        $condition
    };
}

/// Asks every entry's file, writes every `revents`, and returns how many are not empty.
///
/// While nothing was found, each file registers `waiter`, if there is one.
#[inline]
pub fn scan<S: Files>(files: &S, entries: &mut [PollFd], waiter: Option<&mut S::Waiter>) -> usize {
    let mut rest = entries.iter_mut();
    let mut count = 0;
    if let Some(waiter) = waiter {
        for entry in rest.by_ref() {
            answer(files, entry, Some(waiter), &mut count);
            if count > 0 {
                break;
            }
        }
    }
    for entry in rest {
        answer(files, entry, None, &mut count);
    }
    count
}

/// Writes what one entry answers, and counts it if that is anything.
///
/// Each way out writes and counts for itself: a common write would wait for a value that was merged
/// before it.
#[inline(always)]
fn answer<S: Files>(
    files: &S,
    entry: &mut PollFd,
    waiter: Option<&mut S::Waiter>,
    count: &mut usize,
) {
    let fd = entry.fd;
    if rarely!(fd < 0) {
        entry.revents = Events::NONE;
        return;
    }
    // Not negative, so this keeps its value.
    let Some(file) = files.lookup(fd.cast_unsigned()) else {
        entry.revents = Events::NVAL;
        *count += 1;
        return;
    };
    let want = entry.events | Events::UNASKED;
    let ready = file.poll(want, waiter) & want;
    entry.revents = ready;
    *count += usize::from(!ready.is_empty());
}
