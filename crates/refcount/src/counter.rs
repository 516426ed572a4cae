//! The counter and its operations.

use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::backend::{Backend, add_large, is_large, sub_large_and_test};
use crate::lock::Lock;
#[cfg(any(loom, target_has_atomic = "64"))]
use crate::word::AtomicU64;
use crate::word::{AtomicU32, Word};

/// The backend of [`RefCount`] and [`RefCount64`] on this target.
#[cfg(all(refcount_fast, not(refcount_portable)))]
pub type DefaultBackend = crate::Fast;
/// The backend of [`RefCount`] and [`RefCount64`] on this target.
#[cfg(not(all(refcount_fast, not(refcount_portable))))]
pub type DefaultBackend = crate::Fetch;

/// A saturating reference counter of 32 bits.
pub type RefCount = Counter<DefaultBackend, u32>;
/// A saturating reference counter of 64 bits, where there are atomics of that width.
#[cfg(any(loom, target_has_atomic = "64"))]
pub type RefCount64 = Counter<DefaultBackend, u64>;

/// A saturating reference counter of width `W`, checked the way of `B`.
///
/// | value, as a signed number | meaning | who writes |
/// |---|---|---|
/// | 0 | no references: the object is dead, or its last reference is being dropped | `dec_and_test` and its like, [`set`](Self::set) |
/// | −2²⁹ (−2⁶¹), by [`Fast`](crate::Fast) on x86-64 | the same, marked; it reads as 0 | whoever dropped the last reference, [`set`](Self::set) to 0 |
/// | `1..=MAX` | so many references; for an instant also what was added to zero | all |
/// | [`SATURATED`](Word::SATURATED) | a fault happened: leaked for good | a fault |
/// | other negative values | a fault that is about to store `SATURATED`; an increment of −1 by `Fast` on x86-64 makes 0 of it for as long | a fault's first half |
///
/// [`Full`](crate::Full) has no first halves: it writes nothing that is out of range.
#[repr(transparent)]
pub struct Counter<B, W: Word = u32> {
    refs: W::Atomic,
    backend: PhantomData<fn() -> B>,
}

/// A count as the backend writes it: a macro, for `new` is `const` and a trait's functions are not.
macro_rules! written {
    ($n:ident, $word:ty, $backend:ty) => {
        if $n == <$word as Word>::ZERO {
            <$backend>::ZERO
        } else if $n > <$word as Word>::MAX {
            <$word as Word>::SATURATED
        } else {
            $n
        }
    };
}

macro_rules! new {
    ($word:ty, $atomic:ty) => {
        impl<B: Backend<$word>> Counter<B, $word> {
            /// A counter of `n` references. More than [`Word::MAX`] is no count: it is saturated.
            #[cfg(not(loom))]
            pub const fn new(n: $word) -> Self {
                Self { refs: <$atomic>::new(written!(n, $word, B)), backend: PhantomData }
            }

            /// A counter of `n` references. More than [`Word::MAX`] is no count: it is saturated.
            #[cfg(loom)]
            pub fn new(n: $word) -> Self {
                Self { refs: <$atomic>::new(written!(n, $word, B)), backend: PhantomData }
            }
        }
    };
}
new!(u32, AtomicU32);
#[cfg(any(loom, target_has_atomic = "64"))]
new!(u64, AtomicU64);

impl<B: Backend<W>, W: Word> Counter<B, W> {
    /// Sets the count, relaxed: for objects nobody else sees yet. More than [`Word::MAX`] is no count:
    /// the counter is saturated.
    #[inline(always)]
    pub fn set(&self, n: W) {
        W::store(&self.refs, written!(n, W, B), Ordering::Relaxed);
    }

    /// [`Self::set`] with release: what was written to the object before is seen by whoever then takes a
    /// reference by an `_acquire` form. For memory that is reused while readers may hold a stale
    /// pointer to it.
    #[inline(always)]
    pub fn set_release(&self, n: W) {
        W::store(&self.refs, written!(n, W, B), Ordering::Release);
    }

    /// The count now, relaxed. Another thread may change it at once, unless the caller owns the only
    /// reference.
    #[inline(always)]
    pub fn read(&self) -> W {
        Self::shown(W::load(&self.refs, Ordering::Relaxed))
    }

    /// [`Self::read`] with acquire: a count of one means that all the others' releases are seen.
    #[inline(always)]
    pub fn read_acquire(&self) -> W {
        Self::shown(W::load(&self.refs, Ordering::Acquire))
    }

    /// A count as this backend wrote it.
    #[inline(always)]
    fn shown(n: W) -> W {
        if n == B::ZERO { W::ZERO } else { n }
    }

    /// Adds `i` references, by somebody who holds one.
    #[inline(always)]
    #[track_caller]
    pub fn add(&self, i: W) {
        if unlikely::unlikely!(B::CHECKS && is_large(i)) {
            return add_large::<B, W>(&self.refs, i, Location::caller());
        }
        B::add(&self.refs, i);
    }

    /// Adds one reference, by somebody who holds one.
    #[inline(always)]
    #[track_caller]
    pub fn inc(&self) {
        B::inc(&self.refs);
    }

    /// Adds `i` references unless the counter is zero; whether it did.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn add_not_zero(&self, i: W) -> bool {
        self.add_not_zero_with(i, W::MAX, Ordering::Relaxed)
    }

    /// Adds one reference unless the counter is zero; whether it did.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn inc_not_zero(&self) -> bool {
        self.add_not_zero(W::ONE)
    }

    /// [`Self::add_not_zero`] with acquire: pairs with [`Self::set_release`].
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn add_not_zero_acquire(&self, i: W) -> bool {
        self.add_not_zero_with(i, W::MAX, Ordering::Acquire)
    }

    /// [`Self::inc_not_zero`] with acquire: pairs with [`Self::set_release`].
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn inc_not_zero_acquire(&self) -> bool {
        self.add_not_zero_acquire(W::ONE)
    }

    /// [`Self::add_not_zero`] that also leaves the counter alone, `false`, if more than `limit`
    /// would come of it.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn add_not_zero_limited(&self, i: W, limit: W) -> bool {
        self.add_not_zero_with(i, limit, Ordering::Relaxed)
    }

    /// [`Self::add_not_zero_limited`] of one.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn inc_not_zero_limited(&self, limit: W) -> bool {
        self.add_not_zero_limited(W::ONE, limit)
    }

    /// [`Self::add_not_zero_limited`] with acquire.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn add_not_zero_limited_acquire(&self, i: W, limit: W) -> bool {
        self.add_not_zero_with(i, limit, Ordering::Acquire)
    }

    /// [`Self::add_not_zero_limited_acquire`] of one.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn inc_not_zero_limited_acquire(&self, limit: W) -> bool {
        self.add_not_zero_limited_acquire(W::ONE, limit)
    }

    /// Drops `i` references; `true` if they were the last: the caller then owns the object alone.
    #[inline(always)]
    #[track_caller]
    #[must_use = "whoever drops the last reference has to free the object"]
    pub fn sub_and_test(&self, i: W) -> bool {
        if unlikely::unlikely!(B::CHECKS && is_large(i)) {
            return sub_large_and_test::<B, W>(&self.refs, i, Location::caller());
        }
        B::sub_and_test(&self.refs, i)
    }

    /// Drops one reference; `true` if it was the last: the caller then owns the object alone.
    #[inline(always)]
    #[track_caller]
    #[must_use = "whoever drops the last reference has to free the object"]
    pub fn dec_and_test(&self) -> bool {
        B::dec_and_test(&self.refs)
    }

    /// Drops one reference that is known not to be the last.
    #[inline(always)]
    #[track_caller]
    pub fn dec(&self) {
        B::dec(&self.refs);
    }

    /// Drops the reference if it is the only one; whether it did.
    #[inline(always)]
    #[must_use = "whoever drops the last reference has to free the object"]
    pub fn dec_if_one(&self) -> bool {
        B::dec_if_one(&self.refs)
    }

    /// Drops one reference unless it is the only one; whether it did. `true` of a saturated counter,
    /// which stays; `true` of zero, which is reported.
    #[inline(always)]
    #[track_caller]
    #[must_use = "a reference that was not dropped is still held"]
    pub fn dec_not_one(&self) -> bool {
        B::dec_not_one(&self.refs)
    }

    /// Drops one reference; if it was the last, returns with `lock` held. The lock is taken only when
    /// the reference looks like the last one.
    #[inline]
    #[track_caller]
    #[must_use = "whoever drops the last reference has to free the object"]
    pub fn dec_and_lock<'a, L: Lock>(&self, lock: &'a L) -> Option<L::Guard<'a>> {
        if self.dec_not_one() {
            return None;
        }
        let guard = lock.lock();
        self.dec_and_test().then_some(guard)
    }

    #[inline(always)]
    #[track_caller]
    fn add_not_zero_with(&self, i: W, limit: W, success: Ordering) -> bool {
        // More than the greatest count is too much whatever it is added to, as that is itself.
        let i = if B::CHECKS { i.min(W::MAX) } else { i };
        B::add_not_zero(&self.refs, i, limit, success)
    }
}

impl<B: Backend<W>, W: Word> fmt::Debug for Counter<B, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").field("refs", &self.read()).field("backend", &B::NAME).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Fetch, Full};

    /// A counter in the middle of somebody else's fault, which no caller can set it to.
    fn torn<B: Backend<u32>>(refs: i32) -> Counter<B, u32> {
        Counter { refs: AtomicU32::new(refs as u32), backend: PhantomData }
    }

    fn every_operation_saturates<B: Backend<u32>>() {
        let saturated = <u32 as Word>::SATURATED;
        let near = [0, saturated as i32, i32::MIN / 4];
        let torn_values = near.into_iter().flat_map(|n| [n - 2, n - 1, n + 1, n + 2]);
        for refs in torn_values.filter(|&n| n < 0).chain([i32::MIN, i32::MIN + 1]) {
            let check = |what: &str, operation: fn(&Counter<B, u32>)| {
                let counter = torn::<B>(refs);
                operation(&counter);
                assert_eq!(counter.read(), saturated, "{what} of {refs}, {}", B::NAME);
            };
            check("add", |c| c.add(3));
            check("add of the most", |c| c.add(<u32 as Word>::MAX));
            check("add_not_zero", |c| assert!(c.add_not_zero(1)));
            check("sub_and_test", |c| assert!(!c.sub_and_test(3)));
            check("sub_and_test of nothing", |c| assert!(!c.sub_and_test(0)));
            check("dec_and_test", |c| assert!(!c.dec_and_test()));
            check("dec", |c| c.dec());
            // One below zero an increment of `Fast` makes zero of it. Nothing rests there: whoever
            // took it there has yet to store `SATURATED`.
            if refs != -1 {
                check("inc", |c| c.inc());
            }
        }
    }

    #[test]
    fn whatever_a_fault_leaves_for_an_instant_saturates() {
        every_operation_saturates::<Fetch>();
        every_operation_saturates::<Full>();
        every_operation_saturates::<DefaultBackend>();
    }

    #[test]
    fn what_is_no_count_is_saturated() {
        let saturated = <u32 as Word>::SATURATED;
        for n in [1 << 31, saturated - 1, saturated, u32::MAX] {
            let counter = RefCount::new(n);
            assert_eq!(counter.read(), saturated);
            counter.set(n);
            assert_eq!(counter.read(), saturated);
        }
        let most = RefCount::new(<u32 as Word>::MAX);
        assert_eq!(most.read(), <u32 as Word>::MAX);
    }
}
