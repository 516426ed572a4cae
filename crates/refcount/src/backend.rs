//! How a counter is changed and checked.
//!
//! A backend gives the three operations that are worth a design of their own: an addition, a
//! subtraction that may be the last, and a decrement that may not. What must look before it writes
//! (the conditional forms) is one compare-exchange loop for all, with the exchange itself left to
//! the backend.

use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::report::{Fault, Kind, fault_of_last, report};
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

        /// Whether anything is checked at all.
        const CHECKS: bool = true;

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
                    // An exchange, for the caller holds no reference yet: until the counter is
                    // saturated somebody may drop the last one and free the object.
                    match Self::compare_exchange(counter, old, W::SATURATED, Ordering::AcqRel) {
                        Ok(_) => return tell_add_not_zero::<W>(counter, Location::caller()),
                        Err(now) => old = now,
                    }
                    continue;
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
                        tell(counter, Kind::SubUseAfterFree, Location::caller());
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

/// The most that is added or subtracted in one step by backends that write first. So many threads as
/// could take a counter from `SATURATED` to a live count by such steps, before one of them stores
/// `SATURATED` again, there are not.
pub(crate) fn is_large<W: Word>(i: W) -> bool {
    i > W::STEP
}

/// Adds more than one step: looks first, so that nothing out of range is written. Beyond [`Word::MAX`]
/// it is what `MAX` is, a fault.
#[cold]
#[inline(never)]
pub(crate) fn add_large<B: Backend<W>, W: Word>(
    counter: &W::Atomic,
    i: W,
    location: &'static Location<'static>,
) {
    let i = i.min(W::MAX);
    let mut old = W::load(counter, Ordering::Relaxed);
    loop {
        let dead = old == W::ZERO || old == B::ZERO;
        let fault = dead || overflows(old, i);
        let new = if fault { W::SATURATED } else { old.add(i) };
        let order = if fault { Ordering::AcqRel } else { Ordering::Relaxed };
        match B::compare_exchange(counter, old, new, order) {
            Ok(_) if fault => {
                let kind = if dead { Kind::AddUseAfterFree } else { Kind::AddOverflow };
                return tell(counter, kind, location);
            }
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}

/// Subtracts more than one step, as [`add_large`] adds.
#[cold]
#[inline(never)]
pub(crate) fn sub_large_and_test<B: Backend<W>, W: Word>(
    counter: &W::Atomic,
    i: W,
    location: &'static Location<'static>,
) -> bool {
    let mut old = W::load(counter, Ordering::Relaxed);
    loop {
        let fault = old == W::ZERO || old.is_negative() || old < i;
        let new = match old == i {
            _ if fault => W::SATURATED,
            true => B::ZERO,
            false => old.sub(i),
        };
        let order = if fault { Ordering::AcqRel } else { Ordering::Release };
        match B::compare_exchange(counter, old, new, order) {
            Ok(_) if fault => {
                tell(counter, Kind::SubUseAfterFree, location);
                return false;
            }
            Ok(_) if old == i => {
                acquire::<W>(counter);
                return true;
            }
            Ok(_) => return false,
            Err(now) => old = now,
        }
    }
}

/// Marks an object whose count went to zero as dead; whether it stayed there until then. The acquire is
/// of all that other holders did, whose decrements this exchange comes after.
#[inline(always)]
#[cfg_attr(
    not(any(all(refcount_fast, target_arch = "x86_64"), all(loom, test))),
    expect(dead_code, reason = "no backend that marks the dead")
)]
pub(crate) fn mark_dead<W: Word>(
    counter: &W::Atomic,
    location: &'static Location<'static>,
) -> bool {
    loop {
        match W::compare_exchange(counter, W::ZERO, W::DEAD, Ordering::Acquire) {
            Ok(_) => return true,
            // A weak exchange may fail for no reason.
            Err(now) if now == W::ZERO => {}
            Err(now) => return fault_of_last::<W>(counter, now, location),
        }
    }
}

/// Reports a conditional addition that was refused, and its answer: there is a reference, if one too
/// many. An answer in the same call lets the caller jump here, and so keep no stack frame for it.
#[cold]
#[inline(never)]
fn tell_add_not_zero<W: Word>(counter: &W::Atomic, location: &'static Location<'static>) -> bool {
    tell(counter, Kind::AddNotZeroOverflow, location);
    core::hint::black_box(true)
}

/// Reports a fault of a counter that was saturated by an exchange.
fn tell<A>(counter: &A, kind: Kind, location: &'static Location<'static>) {
    report(Fault { kind, location, counter: core::ptr::from_ref(counter).addr() });
}
