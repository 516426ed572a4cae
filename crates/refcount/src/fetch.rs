//! Write, then look at what was there: Linux's generic way since 5.5.
//!
//! The sum is in memory before it is known to be good, and a fault stores [`Word::SATURATED`] over it.
//! In between another thread may see a value out of range. After an overflow or an underflow it is
//! negative, and all who see it saturate too. After an addition to zero it is a small count: whoever
//! drops just that number in this instant is told that it was the last, of an object that is dead
//! already. That takes two defects at once, and is the price of one instruction.
//!
//! This is the specification that the backends in assembly are held against, and what runs under loom,
//! Miri and ThreadSanitizer.

use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::backend::{Backend, overflows, sealed};
use crate::report::{Kind, fault, fault_of_sub};
use crate::word::{Word, acquire};

/// One atomic addition, then one comparison of the old value.
pub enum Fetch {}

impl<W: Word> Backend<W> for Fetch {
    const NAME: &'static str = "fetch";
}

impl<W: Word> sealed::Backend<W> for Fetch {
    #[inline(always)]
    #[track_caller]
    fn add(counter: &W::Atomic, i: W) {
        let old = W::fetch_add(counter, i, Ordering::Relaxed);
        if unlikely::unlikely!(overflows(old, i)) {
            let kind = if old == W::ZERO { Kind::AddUseAfterFree } else { Kind::AddOverflow };
            fault::<W>(counter, kind, Location::caller());
        }
    }

    #[inline(always)]
    #[track_caller]
    fn sub_and_test(counter: &W::Atomic, i: W) -> bool {
        let old = W::fetch_sub(counter, i, Ordering::Release);
        if old == i && old != W::ZERO {
            acquire::<W>(counter);
            return true;
        }
        // What is left must be a count that `i` can be added to.
        if unlikely::unlikely!(overflows(old.sub(i), i)) {
            return fault_of_sub::<W>(counter, Location::caller());
        }
        false
    }

    #[inline(always)]
    #[track_caller]
    fn dec(counter: &W::Atomic) {
        let old = W::fetch_sub(counter, W::ONE, Ordering::Release);
        if unlikely::unlikely!(overflows(old.sub(W::ONE), W::ONE)) {
            fault::<W>(counter, Kind::DecLeak, Location::caller());
        }
    }
}
