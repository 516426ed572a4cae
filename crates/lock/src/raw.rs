//! Locks without data, and which of their operations are inlined.

use crate::context::{Context, ContextKind};
use crate::platform::{self, Platform};
#[cfg(loom)]
use crate::sync::Ordering;
use crate::sync::{acquire, planted, release};
use crate::word::{Taken, Word};
use crate::{native, paravirt};

/// A lock without data, of CPUs of the platform `P`.
///
/// # Safety
/// From where [`lock`](Self::lock) returns, or [`try_lock`](Self::try_lock) does with `true`, until
/// the call of [`unlock`](Self::unlock), neither does so for anybody else; and all that was done in
/// that time is seen by whoever has the lock later.
pub unsafe trait RawSpin<P: Platform>: Send + Sync + Sized {
    /// Free.
    #[cfg(not(loom))]
    const UNLOCKED: Self;

    /// Free.
    #[cfg(loom)]
    fn unlocked() -> Self;

    /// Waits for the lock. The running code must stay on its CPU: within a [`Context`].
    #[track_caller]
    fn lock(&self);

    /// Takes the lock if it is free. A queued lock for which somebody waits is not.
    #[track_caller]
    fn try_lock(&self) -> bool;

    /// Frees the lock.
    ///
    /// # Safety
    /// The caller holds the lock, and keeps it borrowed until this returns: it may be read after
    /// somebody else has taken it.
    #[track_caller]
    unsafe fn unlock(&self);

    /// The beginning of a section, then [`lock`](Self::lock).
    #[inline(always)]
    #[track_caller]
    fn lock_in<C: Context>(&self) {
        C::enter::<P>();
        self.lock();
    }

    /// The beginning of a section, then [`try_lock`](Self::try_lock); without the lock, no section.
    #[inline(always)]
    #[track_caller]
    fn try_lock_in<C: Context>(&self) -> bool {
        C::enter::<P>();
        let taken = self.try_lock();
        if unlikely::unlikely!(!taken) {
            // SAFETY: entered above.
            unsafe { C::exit::<P>() };
        }
        taken
    }

    /// [`unlock`](Self::unlock), then the end of the section.
    ///
    /// # Safety
    /// As for [`unlock`](Self::unlock) and [`Context::exit`].
    #[inline(always)]
    #[track_caller]
    unsafe fn unlock_in<C: Context>(&self) {
        // SAFETY: as the caller says.
        unsafe {
            self.unlock();
            C::exit::<P>();
        }
    }

    /// Whether somebody holds the lock, at this moment.
    fn is_locked(&self) -> bool;
}

/// The queued spinlock: four bytes; one compare-exchange to lock and one byte store to unlock as long
/// as nobody else comes.
///
/// The second to come spins on the word, all others each on a node of its own; see the crate's
/// documentation. With a platform that spins ([`Platform::PARAVIRT`] is `false`) it serves in turn.
///
/// Four bytes of zero are a free lock.
#[derive(Debug)]
#[repr(transparent)]
pub struct Queued {
    word: Word,
}

/// The kind of lock where none is named: [`Queued`], or with the feature `debug` [`Checked`](crate::Checked).
#[cfg(not(feature = "debug"))]
pub type DefaultRaw = Queued;
/// The kind of lock where none is named: [`Queued`], watched.
#[cfg(feature = "debug")]
pub type DefaultRaw = crate::Checked<Queued>;

/// What of [`Queued`] is not inlined: one copy in the program for each platform.
///
/// A generic function is compiled again in every crate that uses it. So the platform has these
/// functions, compiled where it is defined; [`spin_copies!`](crate::spin_copies) writes them.
///
/// # Safety
/// The functions are those that the macro writes: a lock excludes nobody if one of them does less.
pub unsafe trait SpinCopies: Platform {
    /// Waits for the lock, which was taken too `early` or not at all.
    ///
    /// # Safety
    /// If it was taken too early, the caller did that.
    #[doc(hidden)]
    unsafe fn lock_slow(lock: &Queued, early: bool);
    /// Gives back a lock that was taken too early. `false`, so that a caller can end with it.
    ///
    /// # Safety
    /// The caller took it.
    ///
    /// ```compile_fail,E0133
    /// <lock::Std as lock::SpinCopies>::give_back(&lock::Queued::new());
    /// ```
    #[doc(hidden)]
    unsafe fn give_back(lock: &Queued) -> bool;
    /// Wakes the head of the queue.
    #[doc(hidden)]
    fn wake(lock: &Queued);
    #[doc(hidden)]
    fn lock(lock: &Queued);
    #[doc(hidden)]
    fn try_lock(lock: &Queued) -> bool;
    /// # Safety
    /// As for [`RawSpin::unlock`].
    #[doc(hidden)]
    unsafe fn unlock(lock: &Queued);
    /// # Safety
    /// As for [`RawSpin::unlock_in`], here and below.
    #[doc(hidden)]
    unsafe fn unlock_bh(lock: &Queued);
    /// # Safety
    /// As above.
    #[doc(hidden)]
    unsafe fn unlock_irq(lock: &Queued);
    /// # Safety
    /// As above.
    #[doc(hidden)]
    unsafe fn unlock_irqrestore(lock: &Queued);
}

/// Gives a [`Platform`] the out-of-line parts of [`Queued`]:
/// `lock::spin_copies!(MyPlatform);` in the crate that defines it.
#[macro_export]
macro_rules! spin_copies {
    ($platform:ty) => {
        #[expect(unsafe_code, reason = "hands its callers' promises on")]
        // SAFETY: the macro writes them.
        unsafe impl $crate::SpinCopies for $platform {
            $crate::spin_copies!(@functions);
        }
    };
    (@functions) => {
        #[cold]
        #[inline(never)]
        unsafe fn lock_slow(lock: &$crate::Queued, early: bool) {
            // SAFETY: as the caller says.
            unsafe { lock.wait_for::<Self>(early) }
        }
        #[cold]
        #[inline(never)]
        unsafe fn give_back(lock: &$crate::Queued) -> bool {
            // SAFETY: as the caller says.
            unsafe { lock.give_back_here::<Self>() }
            false
        }
        #[cold]
        #[inline(never)]
        fn wake(lock: &$crate::Queued) {
            lock.wake_head::<Self>();
        }
        #[inline(never)]
        fn lock(lock: &$crate::Queued) {
            lock.lock_here::<Self>();
        }
        #[inline(never)]
        fn try_lock(lock: &$crate::Queued) -> bool {
            lock.try_lock_here::<Self>()
        }
        #[inline(never)]
        unsafe fn unlock(lock: &$crate::Queued) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_here::<Self>() }
        }
        #[inline(never)]
        unsafe fn unlock_bh(lock: &$crate::Queued) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_here_in::<Self, $crate::Bh>() }
        }
        #[inline(never)]
        unsafe fn unlock_irq(lock: &$crate::Queued) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_here_in::<Self, $crate::Irq>() }
        }
        #[inline(never)]
        unsafe fn unlock_irqrestore(lock: &$crate::Queued) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_here_in::<Self, $crate::IrqSave>() }
        }
    };
}

impl Queued {
    /// Free.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self { word: Word::new() }
    }

    /// Free.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self { word: Word::new() }
    }

    /// For [`spin_copies!`](crate::spin_copies): the slow way to lock, for one who took the lock too
    /// `early`, or not at all.
    ///
    /// # Safety
    /// As for [`SpinCopies::lock_slow`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn wait_for<P: SpinCopies>(&self, early: bool) {
        if early {
            // SAFETY: as the caller says.
            unsafe { self.give_back_here::<P>() };
        }
        if platform::parks::<P>() {
            paravirt::lock_slow::<P>(&self.word);
        } else {
            native::lock_slow::<P>(&self.word);
        }
    }

    /// For [`spin_copies!`](crate::spin_copies): the end of having taken the lock too early.
    ///
    /// # Safety
    /// As for [`SpinCopies::give_back`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn give_back_here<P: SpinCopies>(&self) {
        // SAFETY: the holder's byte is the caller's, as it says, and the lock is borrowed.
        unsafe { self.unlock_here::<P>() };
    }

    /// For [`spin_copies!`](crate::spin_copies).
    #[doc(hidden)]
    #[inline(always)]
    pub fn wake_head<P: Platform>(&self) {
        paravirt::wake::<P>(&self.word);
    }

    /// Takes the lock, before those who sleep where that may be.
    #[inline(always)]
    fn take<P: Platform>(&self) -> Taken {
        let order = acquire!(P, RelaxedFastLock);
        if P::OVERTAKEN { self.word.take::<false>(order) } else { self.word.take::<true>(order) }
    }

    /// [`RawSpin::lock`], inlined whatever the policy.
    #[doc(hidden)]
    #[inline(always)]
    pub fn lock_here<P: SpinCopies>(&self) {
        match self.take::<P>() {
            Taken::Yes => {}
            Taken::Early if planted!(P, FastLockIgnoresQueue) => {}
            early => {
                unlikely::cold_path();
                // SAFETY: `early` if it was taken so here.
                unsafe { P::lock_slow(self, early == Taken::Early) }
            }
        }
    }

    /// [`RawSpin::try_lock`], inlined whatever the policy.
    #[doc(hidden)]
    #[inline(always)]
    pub fn try_lock_here<P: SpinCopies>(&self) -> bool {
        // Reads first: who tries again and again must not take the line from the holder, nor the lock
        // from those who wait.
        let waited_for = if P::OVERTAKEN {
            self.word.is_waited_for::<false>()
        } else {
            self.word.is_waited_for::<true>()
        };
        if unlikely::unlikely!(self.word.is_locked() || waited_for) {
            return false;
        }
        match self.take::<P>() {
            Taken::Yes => true,
            Taken::No => false,
            Taken::Early => {
                unlikely::cold_path();
                // SAFETY: taken here.
                unsafe { P::give_back(self) }
            }
        }
    }

    /// [`RawSpin::unlock`], inlined whatever the policy.
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn unlock_here<P: SpinCopies>(&self) {
        if P::PARAVIRT {
            crate::unlock::paravirt::<P>(self);
        } else {
            self.word.unlock(release!(P, RelaxedUnlock));
        }
    }

    /// [`RawSpin::unlock_in`], inlined whatever the policy.
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn unlock_here_in<P: SpinCopies, C: Context>(&self) {
        // SAFETY: as the caller says.
        unsafe {
            self.unlock_here::<P>();
            C::exit::<P>();
        }
    }

    /// The word, for models that wait until others are in it.
    #[cfg(loom)]
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    pub(crate) fn word(&self) -> &Word {
        &self.word
    }
}

impl Default for Queued {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the state table of the word; the models are of this.
unsafe impl<P: SpinCopies> RawSpin<P> for Queued {
    #[cfg(not(loom))]
    const UNLOCKED: Self = Self::new();

    #[cfg(loom)]
    fn unlocked() -> Self {
        Self::new()
    }

    #[inline(always)]
    fn lock(&self) {
        if cfg!(feature = "outline-spin-lock") {
            P::lock(self);
        } else {
            self.lock_here::<P>();
        }
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        if cfg!(feature = "outline-spin-trylock") {
            P::try_lock(self)
        } else {
            self.try_lock_here::<P>()
        }
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // SAFETY: as the caller says.
        unsafe {
            if cfg!(feature = "outline-spin-unlock") {
                P::unlock(self);
            } else {
                self.unlock_here::<P>();
            }
        }
    }

    #[inline(always)]
    unsafe fn unlock_in<C: Context>(&self) {
        // SAFETY: as the caller says; each copy ends the section of its own context.
        unsafe {
            match C::KIND {
                ContextKind::Bh if cfg!(feature = "outline-spin-unlock-bh") => P::unlock_bh(self),
                ContextKind::Irq if cfg!(feature = "outline-spin-unlock-irq") => {
                    P::unlock_irq(self);
                }
                ContextKind::IrqSave if cfg!(feature = "outline-spin-unlock-irqrestore") => {
                    P::unlock_irqrestore(self);
                }
                ContextKind::Plain => {
                    RawSpin::<P>::unlock(self);
                    C::exit::<P>();
                }
                _ => self.unlock_here_in::<P, C>(),
            }
        }
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.word.is_locked()
    }
}
