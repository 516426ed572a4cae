//! The counter and its operations.

use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::backend::Backend;
use crate::lock::Lock;
use crate::report::{Kind, fault, fault_of_sub};
use crate::word::{AtomicU32, AtomicU64, Word};

/// The backend of [`RefCount`] and [`RefCount64`] on this target.
#[cfg(all(refcount_fast, not(refcount_portable)))]
pub type DefaultBackend = crate::Fast;
/// The backend of [`RefCount`] and [`RefCount64`] on this target.
#[cfg(not(all(refcount_fast, not(refcount_portable))))]
pub type DefaultBackend = crate::Fetch;

/// A saturating reference counter of 32 bits.
pub type RefCount = Counter<DefaultBackend, u32>;
/// A saturating reference counter of 64 bits.
pub type RefCount64 = Counter<DefaultBackend, u64>;

/// A saturating reference counter of width `W`, checked the way of `B`.
///
/// | value, as a signed number | meaning | who writes |
/// |---|---|---|
/// | 0 | no references: the object is dead or about to be | `dec_and_test` and its like, [`set`](Self::set) |
/// | `1..=MAX` | so many references | all |
/// | [`SATURATED`](Word::SATURATED) | a fault happened: leaked for good | a fault |
/// | other negative values | a fault that is about to store `SATURATED` | a fault's first half |
#[repr(transparent)]
pub struct Counter<B, W: Word = u32> {
    refs: W::Atomic,
    backend: PhantomData<fn() -> B>,
}

macro_rules! new {
    ($word:ty, $atomic:ty) => {
        impl<B: Backend<$word>> Counter<B, $word> {
            /// A counter of `n` references.
            #[cfg(not(loom))]
            pub const fn new(n: $word) -> Self {
                Self { refs: <$atomic>::new(n), backend: PhantomData }
            }

            /// A counter of `n` references.
            #[cfg(loom)]
            pub fn new(n: $word) -> Self {
                Self { refs: <$atomic>::new(n), backend: PhantomData }
            }
        }
    };
}
new!(u32, AtomicU32);
new!(u64, AtomicU64);

impl<B: Backend<W>, W: Word> Counter<B, W> {
    /// Sets the count, relaxed: for objects nobody else sees yet.
    #[inline(always)]
    pub fn set(&self, n: W) {
        W::store(&self.refs, n, Ordering::Relaxed);
    }

    /// Sets the count with release: what was written to the object before is seen by whoever then
    /// takes a reference by an `_acquire` form. For memory that is reused while readers may hold a
    /// stale pointer to it.
    #[inline(always)]
    pub fn set_release(&self, n: W) {
        W::store(&self.refs, n, Ordering::Release);
    }

    /// The count now, relaxed. Another thread may change it at once, unless the caller owns the only
    /// reference.
    #[inline(always)]
    pub fn read(&self) -> W {
        W::load(&self.refs, Ordering::Relaxed)
    }

    /// [`Self::read`] with acquire: a count of one means that all the others' releases are seen.
    #[inline(always)]
    pub fn read_acquire(&self) -> W {
        W::load(&self.refs, Ordering::Acquire)
    }

    /// Adds `i` references, by somebody who holds one.
    #[inline(always)]
    #[track_caller]
    pub fn add(&self, i: W) {
        if unlikely::unlikely(i > W::MAX) {
            return fault::<W>(&self.refs, Kind::AddOverflow, Location::caller());
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
        if unlikely::unlikely(i > W::MAX) {
            return fault_of_sub::<W>(&self.refs, Location::caller());
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
        if unlikely::unlikely(i > W::MAX) {
            let old = self.read();
            if old == W::ZERO || (!old.is_negative() && limit < W::MAX) {
                return false;
            }
            fault::<W>(&self.refs, Kind::AddNotZeroOverflow, Location::caller());
            return true;
        }
        B::add_not_zero(&self.refs, i, limit, success)
    }
}

impl<B: Backend<W>, W: Word> fmt::Debug for Counter<B, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").field("refs", &self.read()).field("backend", &B::NAME).finish()
    }
}
