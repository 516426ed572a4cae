//! No check: the floor that the others are measured against, and the control that must fail.

use core::sync::atomic::Ordering;

use crate::backend::{Backend, sealed};
use crate::word::{Word, acquire};

/// Atomic arithmetic and nothing else: wraps, and knows no limit. For measuring; never use it for
/// references.
pub enum Plain {}

impl<W: Word> Backend<W> for Plain {
    const NAME: &'static str = "plain";
}

impl<W: Word> sealed::Backend<W> for Plain {
    const CHECKS: bool = false;

    #[inline(always)]
    fn add(counter: &W::Atomic, i: W) {
        W::fetch_add(counter, i, Ordering::Relaxed);
    }

    #[inline(always)]
    fn sub_and_test(counter: &W::Atomic, i: W) -> bool {
        let last = W::fetch_sub(counter, i, Ordering::Release) == i;
        if last {
            acquire::<W>(counter);
        }
        last
    }

    #[inline(always)]
    fn dec(counter: &W::Atomic) {
        W::fetch_sub(counter, W::ONE, Ordering::Release);
    }

    #[inline(always)]
    fn add_not_zero(counter: &W::Atomic, i: W, _limit: W, success: Ordering) -> bool {
        let mut old = W::load(counter, Ordering::Relaxed);
        while old != W::ZERO {
            match W::compare_exchange(counter, old, old.add(i), success) {
                Ok(_) => return true,
                Err(now) => old = now,
            }
        }
        false
    }
}
