//! Look, then write: Linux's `REFCOUNT_FULL`.
//!
//! No value out of range is ever in memory, not for an instant. The price is a compare-exchange loop
//! in place of one instruction, paid again at every collision.

use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::backend::{Backend, overflows, sealed};
use crate::report::{Kind, fault, fault_of_sub};
use crate::word::{Word, acquire};

/// A compare-exchange loop that decides before it writes.
pub enum Full {}

impl<W: Word> Backend<W> for Full {
    const NAME: &'static str = "full";
}

/// Replaces the counter by what `next` makes of it, until nobody came between; the value replaced, or
/// what `next` refused.
#[inline(always)]
fn update<W: Word>(
    counter: &W::Atomic,
    success: Ordering,
    next: impl Fn(W) -> Option<W>,
) -> Result<W, W> {
    let mut old = W::load(counter, Ordering::Relaxed);
    loop {
        let new = next(old).ok_or(old)?;
        match W::compare_exchange(counter, old, new, success) {
            Ok(old) => return Ok(old),
            Err(now) => old = now,
        }
    }
}

impl<W: Word> sealed::Backend<W> for Full {
    #[inline(always)]
    #[track_caller]
    fn add(counter: &W::Atomic, i: W) {
        let sum = |old| (!unlikely::unlikely!(overflows(old, i))).then(|| old.add(i));
        if let Err(old) = update(counter, Ordering::Relaxed, sum) {
            let kind = if old == W::ZERO { Kind::AddUseAfterFree } else { Kind::AddOverflow };
            fault::<W>(counter, kind, Location::caller());
        }
    }

    #[inline(always)]
    #[track_caller]
    fn sub_and_test(counter: &W::Atomic, i: W) -> bool {
        let difference = |old: W| {
            let fault = old == W::ZERO || old.is_negative() || old < i;
            (!unlikely::unlikely!(fault)).then(|| old.sub(i))
        };
        match update(counter, Ordering::Release, difference) {
            Ok(old) if old == i => {
                acquire::<W>(counter);
                true
            }
            Ok(_) => false,
            Err(_) => fault_of_sub::<W>(counter, Location::caller()),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn dec(counter: &W::Atomic) {
        let difference = |old: W| {
            let fault = old <= W::ONE || old.is_negative();
            (!unlikely::unlikely!(fault)).then(|| old.sub(W::ONE))
        };
        if update(counter, Ordering::Release, difference).is_err() {
            fault::<W>(counter, Kind::DecLeak, Location::caller());
        }
    }
}
