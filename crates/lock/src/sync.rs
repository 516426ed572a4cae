//! The atomics, which in a model run are loom's, and the faults that a model can plant.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicPtr, AtomicU32, fence};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicPtr, AtomicU32, fence};

pub use core::sync::atomic::Ordering;

/// A defect that a model plants to show that it would find it.
#[cfg(loom)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// None: the lock as it is.
    Nothing,
    /// Taking a free lock does not acquire what its last holder released.
    RelaxedFastLock,
    /// Taking a free lock looks for a pending waiter only, and not whether others are queued.
    FastLockIgnoresQueue,
    /// Taking the lock as the pending waiter or the head of the queue does not acquire.
    RelaxedClaim,
    /// Unlocking does not release.
    RelaxedUnlock,
    /// The head of the queue takes the lock though the pending waiter came before it.
    HeadIgnoresPending,
    /// Who is queued does not wait until those before it were served.
    QueueOutOfTurn,
    /// The pending waiter takes the lock by a step that does not know whether it is still free.
    PendingTakesInTwoSteps,
    /// The lock's holder leaves the queue without granting its successor.
    NoGrant,
    /// Who grants a parked waiter does not kick it.
    NoKickAtGrant,
    /// Who unlocks does not look for a sleeping head.
    NoKickAtUnlock,
    /// Read-write: reading a lock that nobody writes does not acquire what the last writer released.
    RwRelaxedRead,
    /// Read-write: the same for a reader that waited.
    RwRelaxedReadClaim,
    /// Read-write: writing a free lock does not acquire.
    RwRelaxedWrite,
    /// Read-write: the same for a writer that waited.
    RwRelaxedWriteClaim,
    /// Read-write: no defect, but a writer takes the lock by one step, as on other machines than x86-64.
    RwOneStep,
    /// Read-write: a writer takes the lock without another look whether somebody came to read.
    RwNoSecondLook,
    /// Read-write: a reader's unlock does not release.
    RwRelaxedReadUnlock,
    /// Read-write: a writer's unlock does not release.
    RwRelaxedWriteUnlock,
    /// Read-write: a writer that becomes a reader does not release.
    RwRelaxedDowngrade,
    /// Read-write: the head of the queue writes while others read.
    RwHeadIgnoresReaders,
    /// Read-write: a writer that is the head of the queue lets the next be it before it has the lock.
    RwHeadLetsGo,
    /// Read-write: newcomers read while the head of the queue claims the lock.
    RwReaderIgnoresWaiting,
    /// Read-write: the last reader does not look for a sleeping head.
    RwNoKickAtReadUnlock,
    /// Read-write: a reader that was counted and steps back does not look for a sleeping head.
    RwNoKickAtStepBack,
    /// Read-write: a writer that steps back does not look for a sleeping head.
    RwNoKickAtWriterStepBack,
    /// Read-write: the writer does not look for a sleeping head.
    RwNoKickAtWriteUnlock,
    /// Read-write: a writer that becomes a reader does not look for a sleeping head.
    RwNoKickAtDowngrade,
}

/// Whether a model planted this fault. Outside of models it is a constant `false`.
macro_rules! planted {
    ($platform:ident, $fault:ident) => {{
        #[cfg(loom)]
        let planted = $platform::PLANTED == $crate::sync::Planted::$fault;
        #[cfg(not(loom))]
        let planted = false;
        planted
    }};
}
pub(crate) use planted;

/// Acquire, unless a model planted this fault.
macro_rules! acquire {
    ($platform:ident, $fault:ident) => {
        if $crate::sync::planted!($platform, $fault) {
            $crate::sync::Ordering::Relaxed
        } else {
            $crate::sync::Ordering::Acquire
        }
    };
}
pub(crate) use acquire;

/// Release, unless a model planted this fault.
macro_rules! release {
    ($platform:ident, $fault:ident) => {
        if $crate::sync::planted!($platform, $fault) {
            $crate::sync::Ordering::Relaxed
        } else {
            $crate::sync::Ordering::Release
        }
    };
}
pub(crate) use release;
