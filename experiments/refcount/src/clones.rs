//! Cloning and dropping an `Arc`: what a program pays for the counter.

use crate::at_each_place;
use experiments::{Arm, Work, place, times};
use std::hint::black_box;

/// The arm of `unlikely-refcount`.
pub(crate) const OURS: &str = "refcount::Arc";

/// A counted pointer, as far as it takes to check what was done.
pub(crate) trait Counted: Clone + Send + Sync {
    /// References now.
    fn count(&self) -> usize;
}

impl Counted for std::sync::Arc<u64> {
    fn count(&self) -> usize {
        Self::strong_count(self)
    }
}

impl Counted for refcount::Arc<u64> {
    fn count(&self) -> usize {
        Self::count(self) as usize
    }
}

impl Counted for triomphe::Arc<u64> {
    fn count(&self) -> usize {
        Self::count(self)
    }
}

/// A pointer with lines of the cache to itself: it is read at every clone, and beside the counter that
/// it points to it would be fetched anew after every write of another thread.
#[repr(align(128))]
struct Clones<A, const AT: u32> {
    arc: A,
}

impl<A: Counted, const AT: u32> Work for Clones<A, AT> {
    fn begin(&self, _: u32) {}

    #[inline(never)]
    fn run(&self, operations: u64) -> u64 {
        place::<AT>();
        // Nothing is known of what is behind it, and the clone is given to nobody.
        let arc = black_box(&self.arc);
        times(operations, || drop(A::clone(arc)));
        self.arc.count() as u64
    }

    fn check(&self, _: u64, seen: &[u64]) -> Result<(), String> {
        // While others still run, each of them may hold one clone.
        let most = seen.len() as u64;
        let (count, within) = (self.arc.count(), seen.iter().all(|n| (1..=most).contains(n)));
        let right = count == 1 && within;
        right
            .then_some(())
            .ok_or(format!("{count} references and not 1 are left; {seen:?} were seen"))
    }
}

/// std's first.
pub(crate) fn arms() -> Vec<Arm> {
    fn arm<A: Counted + 'static>(name: &str, new: fn(u64) -> A) -> Arm {
        at_each_place!(name, AT => Clones::<A, AT> { arc: new(7) })
    }
    vec![
        arm("std::sync::Arc", std::sync::Arc::<u64>::new),
        arm("std again", std::sync::Arc::<u64>::new).control(),
        arm(OURS, refcount::Arc::<u64>::new),
        arm("triomphe::Arc", triomphe::Arc::<u64>::new),
    ]
}
