//! How a counter is changed and checked.
//!
//! A backend gives the three operations that are worth a design of their own: an addition, a
//! subtraction that may be the last, and a decrement that may not. What must look before it writes
//! (the conditional forms) is one compare-exchange loop for all, with the exchange itself left to
//! the backend.

use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::report::{Fault, Kind, fault_of_add_not_zero, report};
use crate::word::{Word, acquire};

/// A way to count references, for the width `W`. The trait is sealed: a backend that gets an ordering
/// wrong frees objects in use.
///
/// `i` is at most [`Word::MAX`] everywhere; [`Counter`](crate::Counter) sees to it.
pub trait Backend<W: Word>: sealed::Backend<W> {
    /// The backend's name in reports and tables.
    const NAME: &'static str;
}

pub(crate) mod sealed {
    use super::*;

    pub trait Backend<W: Word> {
        /// How a dead object's count is written: as zero, or as a negative number, so that an addition
        /// to it is told by its sign.
        const ZERO: W = W::ZERO;

        /// Adds `i`, relaxed. A fault if the counter was not positive or the sum exceeds the maximum.
        #[track_caller]
        fn add(counter: &W::Atomic, i: W);

        /// [`Self::add`] of one.
        #[track_caller]
        fn inc(counter: &W::Atomic) {
            Self::add(counter, W::ONE);
        }

        /// Subtracts `i`, release; `true`, with acquire, if that reached zero. A fault if the counter
        /// was not positive or less than `i`.
        #[track_caller]
        fn sub_and_test(counter: &W::Atomic, i: W) -> bool;

        /// [`Self::sub_and_test`] of one.
        #[track_caller]
        fn dec_and_test(counter: &W::Atomic) -> bool {
            Self::sub_and_test(counter, W::ONE)
        }

        /// Subtracts one, release. A fault if the counter was one or less.
        #[track_caller]
        fn dec(counter: &W::Atomic);

        /// Weak: may fail with the value it was to replace.
        #[inline(always)]
        fn compare_exchange(
            counter: &W::Atomic,
            old: W,
            new: W,
            success: Ordering,
        ) -> Result<W, W> {
            W::compare_exchange(counter, old, new, success)
        }

        /// Adds `i` unless the counter is zero, or more than `limit` would come of it.
        #[inline(always)]
        #[track_caller]
        fn add_not_zero(counter: &W::Atomic, i: W, limit: W, success: Ordering) -> bool {
            let mut old = W::load(counter, Ordering::Relaxed);
            loop {
                if old == W::ZERO {
                    return false;
                }
                if unlikely::unlikely!(overflows(old, i)) {
                    if old == Self::ZERO || !old.is_negative() && limit < W::MAX {
                        return false;
                    }
                    return fault_of_add_not_zero::<W>(counter, Location::caller());
                }
                if limit < old.add(i) {
                    return false;
                }
                match Self::compare_exchange(counter, old, old.add(i), success) {
                    Ok(_) => return true,
                    Err(now) => old = now,
                }
            }
        }

        /// One to zero; anything else stays. Release, with acquire on success.
        #[inline(always)]
        fn dec_if_one(counter: &W::Atomic) -> bool {
            let mut old = W::load(counter, Ordering::Relaxed);
            while old == W::ONE {
                match Self::compare_exchange(counter, old, Self::ZERO, Ordering::Release) {
                    Ok(_) => {
                        acquire::<W>(counter);
                        return true;
                    }
                    Err(now) => old = now,
                }
            }
            false
        }

        /// Subtracts one, release, unless that would reach zero. A saturated counter stays.
        #[inline(always)]
        #[track_caller]
        fn dec_not_one(counter: &W::Atomic) -> bool {
            let mut old = W::load(counter, Ordering::Relaxed);
            loop {
                if old == W::ONE {
                    return false;
                }
                if unlikely::unlikely!(old == W::ZERO || old.is_negative()) {
                    if old == W::ZERO || old == Self::ZERO {
                        report(Fault {
                            kind: Kind::SubUseAfterFree,
                            location: Location::caller(),
                            counter: core::ptr::from_ref(counter).addr(),
                        });
                    }
                    return true;
                }
                match Self::compare_exchange(counter, old, old.sub(W::ONE), Ordering::Release) {
                    Ok(_) => return true,
                    Err(now) => old = now,
                }
            }
        }
    }
}

/// Whether adding `i` to the positive or negative `old` leaves the live range.
///
/// For `old == 0` it is true too, which is why one unsigned comparison checks an addition whole: the
/// valid old values are `1..=MAX - i`.
#[inline(always)]
pub(crate) fn overflows<W: Word>(old: W, i: W) -> bool {
    old.sub(W::ONE) >= W::MAX.sub(i)
}
