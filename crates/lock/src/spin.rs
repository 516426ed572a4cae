//! A value behind a lock, and the guards of it.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::context::{Bh, Context, Irq, IrqSave, Plain};
use crate::platform::Platform;
use crate::raw::{DefaultRaw, RawSpin};

/// A value that one CPU of the platform `P` has at a time. `R` is the kind of lock.
///
/// Each method says what is kept out while the guard lives. A lock that interrupts take must be taken
/// by [`lock_irq`](Self::lock_irq) or [`lock_irqsave`](Self::lock_irqsave) by all others, one that
/// bottom halves take at least by [`lock_bh`](Self::lock_bh).
///
/// ```
/// # #[cfg(all(feature = "std", target_os = "linux", target_pointer_width = "64"))] {
/// use lock::{SpinLock, Std};
///
/// static TOTAL: SpinLock<u64, Std> = SpinLock::new(0);
/// *TOTAL.lock() += 5;
/// let total = TOTAL.lock_irqsave();
/// assert!(TOTAL.try_lock().is_none());
/// assert_eq!(*total, 5);
/// # }
/// ```
pub struct SpinLock<T: ?Sized, P: Platform, R: RawSpin<P> = DefaultRaw> {
    platform: PhantomData<fn() -> P>,
    raw: R,
    value: UnsafeCell<T>,
}

// SAFETY: whoever borrows the lock can get the value and send it elsewhere, one at a time.
unsafe impl<T: ?Sized + Send, P: Platform, R: RawSpin<P>> Sync for SpinLock<T, P, R> {}

impl<T, P: Platform, R: RawSpin<P>> SpinLock<T, P, R> {
    /// Free, with `value` in it.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { platform: PhantomData, raw: R::UNLOCKED, value: UnsafeCell::new(value) }
    }

    /// Free, with `value` in it.
    #[cfg(loom)]
    #[must_use]
    pub fn new(value: T) -> Self {
        Self { platform: PhantomData, raw: R::unlocked(), value: UnsafeCell::new(value) }
    }

    /// As [`new`](Self::new), with a lock made by the caller, who does not hold it: a
    /// [`Checked`](crate::Checked) of a class, say.
    #[must_use]
    pub const fn with_raw(value: T, raw: R) -> Self {
        Self { platform: PhantomData, raw, value: UnsafeCell::new(value) }
    }

    /// The value, and the end of the lock.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized, P: Platform, R: RawSpin<P>> SpinLock<T, P, R> {
    /// Waits for the lock, in the context `C`.
    #[inline(always)]
    #[track_caller]
    pub fn lock_in<C: Context>(&self) -> SpinGuard<'_, T, P, C, R> {
        self.raw.lock_in::<C>();
        SpinGuard { lock: self, context: PhantomData }
    }

    /// Takes the lock in the context `C`, if it is free.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock_in<C: Context>(&self) -> Option<SpinGuard<'_, T, P, C, R>> {
        let taken = self.raw.try_lock_in::<C>();
        // Not `then_some`: a guard that is made for nothing would free the lock.
        taken.then(|| SpinGuard { lock: self, context: PhantomData })
    }

    /// Waits for the lock. Preemption is off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> SpinGuard<'_, T, P, Plain, R> {
        self.lock_in()
    }

    /// Waits for the lock. Bottom halves are off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn lock_bh(&self) -> SpinGuard<'_, T, P, Bh, R> {
        self.lock_in()
    }

    /// Waits for the lock; interrupts are known to be on, and are off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn lock_irq(&self) -> SpinGuard<'_, T, P, Irq, R> {
        self.lock_in()
    }

    /// Waits for the lock. Interrupts are off until the guard is dropped, and then as they were.
    #[inline(always)]
    #[track_caller]
    pub fn lock_irqsave(&self) -> SpinGuard<'_, T, P, IrqSave, R> {
        self.lock_in()
    }

    /// [`lock`](Self::lock), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock(&self) -> Option<SpinGuard<'_, T, P, Plain, R>> {
        self.try_lock_in()
    }

    /// [`lock_bh`](Self::lock_bh), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock_bh(&self) -> Option<SpinGuard<'_, T, P, Bh, R>> {
        self.try_lock_in()
    }

    /// [`lock_irq`](Self::lock_irq), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock_irq(&self) -> Option<SpinGuard<'_, T, P, Irq, R>> {
        self.try_lock_in()
    }

    /// [`lock_irqsave`](Self::lock_irqsave), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock_irqsave(&self) -> Option<SpinGuard<'_, T, P, IrqSave, R>> {
        self.try_lock_in()
    }

    /// The value, without locking: the lock is borrowed alone.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether somebody holds the lock, at this moment.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

impl<T: Default, P: Platform, R: RawSpin<P>> Default for SpinLock<T, P, R> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform, R: RawSpin<P>> fmt::Debug for SpinLock<T, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SpinLock");
        // Not even tried while it is held, which a watched lock would report.
        match (!self.is_locked()).then(|| self.try_lock_irqsave()).flatten() {
            Some(value) => shown.field("value", &&*value),
            None => shown.field("value", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

/// The lock is held while this lives, and interruptions of the context `C` are kept out.
///
/// Guards may be dropped in any order. They stay on their CPU: what they keep out is of that CPU.
///
/// ```compile_fail,E0277
/// fn elsewhere<T: Send>(_: T) {}
/// elsewhere(lock::SpinLock::<u8, lock::Std>::new(0).lock());
/// ```
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct SpinGuard<'a, T: ?Sized, P: Platform, C: Context, R: RawSpin<P> = DefaultRaw> {
    lock: &'a SpinLock<T, P, R>,
    /// A section belongs to the CPU it was begun on: the pointer keeps the guard there.
    context: PhantomData<(*mut (), C)>,
}

// SAFETY: a shared guard gives shared access to the value and nothing else.
unsafe impl<T: ?Sized + Sync, P: Platform, C: Context, R: RawSpin<P>> Sync
    for SpinGuard<'_, T, P, C, R>
{
}

impl<T: ?Sized, P: Platform, C: Context, R: RawSpin<P>> Deref for SpinGuard<'_, T, P, C, R> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, P: Platform, C: Context, R: RawSpin<P>> DerefMut for SpinGuard<'_, T, P, C, R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized, P: Platform, C: Context, R: RawSpin<P>> Drop for SpinGuard<'_, T, P, C, R> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard was made with the lock taken and the section begun, on this CPU, and
        // borrows the lock until it is gone.
        unsafe { self.lock.raw.unlock_in::<C>() };
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform, C: Context, R: RawSpin<P>> fmt::Debug
    for SpinGuard<'_, T, P, C, R>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
