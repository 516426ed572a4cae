//! The two widths of a counter.
//!
//! Everything that differs between `u32` and `u64` is here, so that a backend is written once. The
//! atomics are loom's in a model run, where they cannot be made in a `const`.

use core::fmt::Debug;
use core::sync::atomic::Ordering;

#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::AtomicU64;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, fence};

/// Sees what was released by all that changed the counter before the caller last did.
///
/// A load orders as much as a fence, but costs an instruction: it is for ThreadSanitizer, which does
/// not know fences.
#[inline(always)]
pub(crate) fn acquire<W: Word>(counter: &W::Atomic) {
    if cfg!(refcount_no_fence) {
        W::load(counter, Ordering::Acquire);
    } else {
        fence(Ordering::Acquire);
    }
}

/// A width: `u32` or `u64`. The trait is sealed.
pub trait Word: Copy + Eq + Ord + Debug + Send + Sync + Sealed + 'static {
    /// No references: the object is dead.
    const ZERO: Self;
    /// One reference.
    const ONE: Self;
    /// The greatest live count: half of the range, as a signed number's greatest. Write
    /// `<u32 as Word>::MAX`: `u32::MAX` is the integer's own.
    const MAX: Self;
    /// Where a counter goes at a fault, and stays: the middle of the negative half.
    const SATURATED: Self;
}

mod sealed {
    use super::{Ordering, Word};

    /// What the backends need of a width. Values are counts; arithmetic wraps.
    pub trait Sealed: Copy {
        type Atomic: Send + Sync;
        /// A dead object, in a backend that marks it: as far from zero as from `SATURATED`.
        const DEAD: Self;
        /// The most that is added at once without a look first.
        const STEP: Self;
        fn atomic(n: Self) -> Self::Atomic;
        fn load(a: &Self::Atomic, order: Ordering) -> Self;
        fn store(a: &Self::Atomic, n: Self, order: Ordering);
        fn fetch_add(a: &Self::Atomic, n: Self, order: Ordering) -> Self;
        fn fetch_sub(a: &Self::Atomic, n: Self, order: Ordering) -> Self;
        fn compare_exchange(
            a: &Self::Atomic,
            old: Self,
            new: Self,
            success: Ordering,
        ) -> Result<Self, Self>
        where
            Self: Word;
        fn add(self, n: Self) -> Self;
        fn sub(self, n: Self) -> Self;
        fn is_negative(self) -> bool;
    }
}
pub(crate) use sealed::Sealed;

macro_rules! word {
    ($word:ty, $signed:ty, $atomic:ty) => {
        impl Word for $word {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MAX: Self = <$signed>::MAX as Self;
            const SATURATED: Self = (<$signed>::MIN / 2) as Self;
        }

        impl Sealed for $word {
            type Atomic = $atomic;
            const DEAD: Self = (<$signed>::MIN / 4) as Self;
            const STEP: Self = 1 << 16;
            #[inline(always)]
            fn atomic(n: Self) -> $atomic {
                <$atomic>::new(n)
            }
            #[inline(always)]
            fn load(a: &$atomic, order: Ordering) -> Self {
                a.load(order)
            }
            #[inline(always)]
            fn store(a: &$atomic, n: Self, order: Ordering) {
                a.store(n, order);
            }
            #[inline(always)]
            fn fetch_add(a: &$atomic, n: Self, order: Ordering) -> Self {
                a.fetch_add(n, order)
            }
            #[inline(always)]
            fn fetch_sub(a: &$atomic, n: Self, order: Ordering) -> Self {
                a.fetch_sub(n, order)
            }
            #[inline(always)]
            fn compare_exchange(
                a: &$atomic,
                old: Self,
                new: Self,
                success: Ordering,
            ) -> Result<Self, Self> {
                a.compare_exchange_weak(old, new, success, Ordering::Relaxed)
            }
            #[inline(always)]
            fn add(self, n: Self) -> Self {
                self.wrapping_add(n)
            }
            #[inline(always)]
            fn sub(self, n: Self) -> Self {
                self.wrapping_sub(n)
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                (self as $signed) < 0
            }
        }
    };
}

word!(u32, i32, AtomicU32);
#[cfg(any(loom, target_has_atomic = "64"))]
word!(u64, i64, AtomicU64);
