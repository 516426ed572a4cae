//! Two simple locks, to hold the queued one against.

use core::sync::atomic::{AtomicBool, AtomicU16};

use crate::platform::Platform;
use crate::raw::RawSpin;
use crate::sync::Ordering;

/// One byte that says whether the lock is held. No order among those who wait, and all of them spin on
/// the lock.
#[derive(Debug, Default)]
pub struct TestAndSet {
    /// | value | meaning | set by |
    /// |---|---|---|
    /// | false | free | the holder, release |
    /// | true | held | whoever finds it false, by a swap, acquire |
    held: AtomicBool,
}

// SAFETY: one swap at a time finds `false`.
unsafe impl<P: Platform> RawSpin<P> for TestAndSet {
    #[cfg(not(loom))]
    const UNLOCKED: Self = Self { held: AtomicBool::new(false) };

    #[cfg(loom)]
    fn unlocked() -> Self {
        Self::default()
    }

    #[inline(always)]
    fn lock(&self) {
        while unlikely::unlikely!(self.held.swap(true, Ordering::Acquire)) {
            while self.held.load(Ordering::Relaxed) {
                P::relax();
            }
        }
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        !self.held.load(Ordering::Relaxed) && !self.held.swap(true, Ordering::Acquire)
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        self.held.store(false, Ordering::Release);
    }

    fn is_locked(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }
}

/// A number for each who comes, and the number that is served. In turn, but all who wait spin on the
/// lock. At most 65,535 CPUs.
#[derive(Debug, Default)]
pub struct Ticket {
    /// The next number to be given out; it wraps.
    next: AtomicU16,
    /// Whose turn it is. Equal to `next`: free. Only the holder writes it, with release.
    served: AtomicU16,
}

// SAFETY: numbers differ until they wrap, and only the holder of the number served goes on to the next.
unsafe impl<P: Platform> RawSpin<P> for Ticket {
    #[cfg(not(loom))]
    const UNLOCKED: Self = Self { next: AtomicU16::new(0), served: AtomicU16::new(0) };

    #[cfg(loom)]
    fn unlocked() -> Self {
        Self::default()
    }

    #[inline(always)]
    fn lock(&self) {
        let mine = self.next.fetch_add(1, Ordering::Relaxed);
        while unlikely::unlikely!(self.served.load(Ordering::Acquire) != mine) {
            P::relax();
        }
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        let served = self.served.load(Ordering::Acquire);
        // If the next number is the one served, the lock is free; taking that number takes the lock.
        // Meanwhile it cannot have been served and come round again: somebody would have waited
        // through 65,535 turns for it.
        self.next
            .compare_exchange(served, served.wrapping_add(1), Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        let served = self.served.load(Ordering::Relaxed);
        self.served.store(served.wrapping_add(1), Ordering::Release);
    }

    fn is_locked(&self) -> bool {
        self.served.load(Ordering::Relaxed) != self.next.load(Ordering::Relaxed)
    }
}
