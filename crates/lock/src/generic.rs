//! The queued locks behind `lock_api`, in every context.

use core::marker::PhantomData;

use crate::context::Context;
use crate::raw::{Queued, RawSpin, SpinCopies};
use crate::rw_copies::RwCopies;
use crate::rw_raw::{QueuedRw, RawRw};

/// A `lock_api::RawMutex` whose sections are of the context `C`:
/// `lock_api::Mutex<RawMutex<Std, IrqSave>, T>`.
#[derive(Debug)]
pub struct RawMutex<P, C> {
    lock: Queued,
    kind: PhantomData<fn() -> (P, C)>,
}

// SAFETY: it excludes as the lock does. No operation unwinds. The section of the context is the CPU's and
// not the lock's, so a lock may be dropped or moved while it is held. The guards stay on their CPU.
unsafe impl<P: SpinCopies, C: Context> lock_api::RawMutex for RawMutex<P, C> {
    const INIT: Self = Self { lock: Queued::new(), kind: PhantomData };

    type Guard = lock_api::GuardNoSend;

    #[inline(always)]
    fn lock(&self) -> Self::Guard {
        C::enter::<P>();
        RawSpin::<P>::lock(&self.lock);
        lock_api::GuardNoSend::new()
    }

    #[inline(always)]
    fn try_lock(&self) -> Option<Self::Guard> {
        C::enter::<P>();
        if RawSpin::<P>::try_lock(&self.lock) {
            return Some(lock_api::GuardNoSend::new());
        }
        // SAFETY: entered above.
        unsafe { C::exit::<P>() };
        None
    }

    #[inline(always)]
    unsafe fn unlock(&self, _: Self::Guard) {
        // SAFETY: the caller holds the lock, in this context, and borrows it.
        unsafe { RawSpin::<P>::unlock_in::<C>(&self.lock) };
    }

    fn is_locked(&self) -> bool {
        RawSpin::<P>::is_locked(&self.lock)
    }
}

/// A `lock_api::RawRwLock` whose sections are of the context `C`:
/// `lock_api::RwLock<RawRwLock<Std, IrqSave>, T>`.
#[derive(Debug)]
pub struct RawRwLock<P, C> {
    lock: QueuedRw,
    kind: PhantomData<fn() -> (P, C)>,
}

// SAFETY: it excludes as the lock does. Only reading unwinds, when too many readers were leaked, and then
// has neither the lock nor a section. The section of the context is the CPU's and not the lock's, so a
// lock may be dropped or moved while it is held. The guards stay on their CPU.
unsafe impl<P: RwCopies, C: Context> lock_api::RawRwLock for RawRwLock<P, C> {
    const INIT: Self = Self { lock: QueuedRw::new(), kind: PhantomData };

    type SharedGuard = lock_api::GuardNoSend;
    type ExclusiveGuard = lock_api::GuardNoSend;

    #[inline(always)]
    fn lock_shared(&self) -> Self::SharedGuard {
        RawRw::<P>::read_in::<C>(&self.lock);
        lock_api::GuardNoSend::new()
    }

    #[inline(always)]
    fn try_lock_shared(&self) -> Option<Self::SharedGuard> {
        RawRw::<P>::try_read_in::<C>(&self.lock).then(lock_api::GuardNoSend::new)
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self, _: Self::SharedGuard) {
        // SAFETY: the caller reads, in this context, and borrows the lock.
        unsafe { RawRw::<P>::unlock_read_in::<C>(&self.lock) };
    }

    #[inline(always)]
    fn lock_exclusive(&self) -> Self::ExclusiveGuard {
        RawRw::<P>::write_in::<C>(&self.lock);
        lock_api::GuardNoSend::new()
    }

    #[inline(always)]
    fn try_lock_exclusive(&self) -> Option<Self::ExclusiveGuard> {
        RawRw::<P>::try_write_in::<C>(&self.lock).then(lock_api::GuardNoSend::new)
    }

    #[inline(always)]
    unsafe fn unlock_exclusive(&self, _: Self::ExclusiveGuard) {
        // SAFETY: the caller writes, in this context, and borrows the lock.
        unsafe { RawRw::<P>::unlock_write_in::<C>(&self.lock) };
    }

    fn is_locked(&self) -> bool {
        RawRw::<P>::is_locked(&self.lock)
    }

    fn is_locked_exclusive(&self) -> bool {
        RawRw::<P>::is_written(&self.lock)
    }
}

// SAFETY: the writer is a reader before anybody else can write, and its section goes on.
unsafe impl<P: RwCopies, C: Context> lock_api::RawRwLockDowngrade for RawRwLock<P, C> {
    #[inline(always)]
    unsafe fn downgrade(&self, guard: Self::ExclusiveGuard) -> Self::SharedGuard {
        // SAFETY: the caller writes.
        unsafe { RawRw::<P>::downgrade(&self.lock) };
        guard
    }
}
