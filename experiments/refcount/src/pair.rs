//! The timing pair: increments from one reference up, decrements down to none.

use crate::at_each_place;
use experiments::{Arm, Work, place, times, until};
use refcount::{Backend, Counter, Fetch, Full, Plain, Word};
use std::hint::black_box;

/// What a thread saw that did not drop the last reference.
const NOT_LAST: u64 = u64::MAX;

/// A counter with lines of the cache to itself.
#[repr(align(128))]
struct Pair<B, W: Word, const AT: u32> {
    refs: Counter<B, W>,
}

/// The two loops: takes `operations` references, then drops those and one more. How many drops were
/// left after the last reference went.
#[inline(always)]
pub(crate) fn loops<B: Backend<W>, W: Word>(refs: &Counter<B, W>, operations: u64) -> u64 {
    times(operations, || refs.inc());
    until(operations + 1, || refs.dec_and_test()).unwrap_or(NOT_LAST)
}

impl<B: Backend<W>, W: Word + From<u32>, const AT: u32> Work for Pair<B, W, AT> {
    /// One reference for each thread.
    fn begin(&self, threads: u32) {
        self.refs.set(W::from(threads));
    }

    #[inline(never)]
    fn run(&self, operations: u64) -> u64 {
        place::<AT>();
        // What is behind an opaque reference is not known to be zero or one.
        loops(black_box(&self.refs), operations)
    }

    fn check(&self, _: u64, seen: &[u64]) -> Result<(), String> {
        let (refs, zero) = (self.refs.read(), W::from(0));
        let last = seen.iter().filter(|&&left| left == 0).count();
        let rest = seen.iter().filter(|&&left| left == NOT_LAST).count();
        if refs == zero && last == 1 && rest == seen.len() - 1 {
            return Ok(());
        }
        Err(format!(
            "the count is {refs:?} and not 0, or not exactly one drop was the last: {seen:?}"
        ))
    }
}

macro_rules! arms {
    ($function:ident, $word:ty) => {
        /// The backends that there are for this width, `plain` first, and `plain` again.
        pub(crate) fn $function() -> Vec<Arm> {
            fn arm<B: Backend<$word> + 'static>(name: &str) -> Arm {
                at_each_place!(name, AT => Pair::<B, $word, AT> { refs: Counter::<B, $word>::new(1) })
            }
            vec![
                arm::<Plain>(<Plain as Backend<$word>>::NAME),
                arm::<Plain>("plain again").control(),
                arm::<Fetch>(<Fetch as Backend<$word>>::NAME),
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                arm::<refcount::Fast>(<refcount::Fast as Backend<$word>>::NAME),
                arm::<Full>(<Full as Backend<$word>>::NAME),
            ]
        }
    };
}

arms!(arms_u32, u32);
arms!(arms_u64, u64);

/// What the patch replaced, the same again, and what it put there, in the width of Linux.
pub(crate) fn arms_patch() -> Vec<Arm> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    type Checked = refcount::Fast;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    type Checked = Fetch;
    fn arm<B: Backend<u32> + 'static>(name: &str) -> Arm {
        at_each_place!(name, AT => Pair::<B, u32, AT> { refs: Counter::<B, u32>::new(1) })
    }
    vec![
        arm::<Full>(<Full as Backend<u32>>::NAME),
        arm::<Full>("full again").control(),
        arm::<Checked>(<Checked as Backend<u32>>::NAME),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_counts_up_and_down_to_zero() {
        for arm in [arms_u32(), arms_u64(), arms_patch()].into_iter().flatten() {
            for copy in &arm.copies {
                copy.begin(1);
                let seen = copy.run(100);
                assert_eq!(copy.check(100, &[seen]), Ok(()), "{}", arm.name);
            }
        }
    }

    #[test]
    fn a_drop_that_is_missing_or_last_too_early_is_seen() {
        let pair = Pair::<Fetch, u32, 0> { refs: Counter::<Fetch, u32>::new(1) };
        pair.begin(2);
        let seen = pair.run(100);
        assert_eq!(seen, NOT_LAST);
        assert!(pair.check(100, &[seen]).unwrap_err().contains("count is 1"));
        let other = pair.run(0);
        assert_eq!(pair.check(100, &[seen, other]), Ok(()));
        assert!(pair.check(100, &[other, other]).is_err());
        assert!(pair.check(100, &[3, seen]).is_err());
    }
}
