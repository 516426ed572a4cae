//! A value behind a read-write lock, and the guards of it.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};

use crate::context::{Bh, Context, Irq, IrqSave, Plain};
use crate::platform::Platform;
use crate::rw_raw::{DefaultRawRw, RawRw};

/// A value that many CPUs of the platform `P` read at a time, or one writes. `R` is the kind of lock.
///
/// Each method says what is kept out while the guard lives. A lock that interrupts only read may be
/// read without keeping them out, but not written so; one that they write must be taken by the `irq`
/// methods by all others. For bottom halves the same holds with the `bh` methods.
///
/// # Panics
/// Reading panics when there are 2^20 − 1 readers already, which takes leaked guards.
///
/// ```
/// # #[cfg(all(feature = "std", target_os = "linux", target_pointer_width = "64"))] {
/// use lock::{RwLock, Std};
///
/// static TOTAL: RwLock<u64, Std> = RwLock::new(0);
/// let mut total = TOTAL.write();
/// *total += 5;
/// let total = total.downgrade();
/// assert_eq!((*total, *TOTAL.read()), (5, 5));
/// assert!(TOTAL.try_write_irqsave().is_none());
/// # }
/// ```
pub struct RwLock<T: ?Sized, P: Platform, R: RawRw<P> = DefaultRawRw> {
    platform: PhantomData<fn() -> P>,
    raw: R,
    value: UnsafeCell<T>,
}

// SAFETY: whoever borrows the lock can get the value and send it elsewhere, or read it beside others.
unsafe impl<T: ?Sized + Send + Sync, P: Platform, R: RawRw<P>> Sync for RwLock<T, P, R> {}

impl<T, P: Platform, R: RawRw<P>> RwLock<T, P, R> {
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

impl<T: ?Sized, P: Platform, R: RawRw<P>> RwLock<T, P, R> {
    /// Waits to read, in the context `C`.
    #[inline(always)]
    #[track_caller]
    pub fn read_in<C: Context>(&self) -> ReadGuard<'_, T, P, C, R> {
        self.raw.read_in::<C>();
        ReadGuard { lock: self, context: PhantomData }
    }

    /// Waits to write, in the context `C`.
    #[inline(always)]
    #[track_caller]
    pub fn write_in<C: Context>(&self) -> WriteGuard<'_, T, P, C, R> {
        self.raw.write_in::<C>();
        WriteGuard { lock: self, context: PhantomData }
    }

    /// Reads in the context `C`, unless somebody writes or is next to write.
    #[inline(always)]
    #[track_caller]
    pub fn try_read_in<C: Context>(&self) -> Option<ReadGuard<'_, T, P, C, R>> {
        let taken = self.raw.try_read_in::<C>();
        // Not `then_some`: a guard that is made for nothing would end what another began.
        taken.then(|| ReadGuard { lock: self, context: PhantomData })
    }

    /// Writes in the context `C`, if the lock is free.
    #[inline(always)]
    #[track_caller]
    pub fn try_write_in<C: Context>(&self) -> Option<WriteGuard<'_, T, P, C, R>> {
        let taken = self.raw.try_write_in::<C>();
        // Not `then_some`: a guard that is made for nothing would end what another began.
        taken.then(|| WriteGuard { lock: self, context: PhantomData })
    }

    /// Waits to read. Preemption is off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> ReadGuard<'_, T, P, Plain, R> {
        self.read_in()
    }

    /// Waits to read. Bottom halves are off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn read_bh(&self) -> ReadGuard<'_, T, P, Bh, R> {
        self.read_in()
    }

    /// Waits to read. Interrupts, which are known to be on, are off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn read_irq(&self) -> ReadGuard<'_, T, P, Irq, R> {
        self.read_in()
    }

    /// Waits to read. Interrupts are off until the guard is dropped, and then as they were.
    #[inline(always)]
    #[track_caller]
    pub fn read_irqsave(&self) -> ReadGuard<'_, T, P, IrqSave, R> {
        self.read_in()
    }

    /// Waits to write. Preemption is off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn write(&self) -> WriteGuard<'_, T, P, Plain, R> {
        self.write_in()
    }

    /// Waits to write. Bottom halves are off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn write_bh(&self) -> WriteGuard<'_, T, P, Bh, R> {
        self.write_in()
    }

    /// Waits to write. Interrupts, which are known to be on, are off until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn write_irq(&self) -> WriteGuard<'_, T, P, Irq, R> {
        self.write_in()
    }

    /// Waits to write. Interrupts are off until the guard is dropped, and then as they were.
    #[inline(always)]
    #[track_caller]
    pub fn write_irqsave(&self) -> WriteGuard<'_, T, P, IrqSave, R> {
        self.write_in()
    }

    /// [`read`](Self::read), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T, P, Plain, R>> {
        self.try_read_in()
    }

    /// [`read_bh`](Self::read_bh), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_read_bh(&self) -> Option<ReadGuard<'_, T, P, Bh, R>> {
        self.try_read_in()
    }

    /// [`read_irq`](Self::read_irq), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_read_irq(&self) -> Option<ReadGuard<'_, T, P, Irq, R>> {
        self.try_read_in()
    }

    /// [`read_irqsave`](Self::read_irqsave), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_read_irqsave(&self) -> Option<ReadGuard<'_, T, P, IrqSave, R>> {
        self.try_read_in()
    }

    /// [`write`](Self::write), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T, P, Plain, R>> {
        self.try_write_in()
    }

    /// [`write_bh`](Self::write_bh), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_write_bh(&self) -> Option<WriteGuard<'_, T, P, Bh, R>> {
        self.try_write_in()
    }

    /// [`write_irq`](Self::write_irq), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_write_irq(&self) -> Option<WriteGuard<'_, T, P, Irq, R>> {
        self.try_write_in()
    }

    /// [`write_irqsave`](Self::write_irqsave), if that is possible at once.
    #[inline(always)]
    #[track_caller]
    pub fn try_write_irqsave(&self) -> Option<WriteGuard<'_, T, P, IrqSave, R>> {
        self.try_write_in()
    }

    /// The lock itself, for models that look into it.
    #[cfg(loom)]
    pub fn raw(&self) -> &R {
        &self.raw
    }

    /// The value, without locking: the lock is borrowed alone.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether somebody writes, at this moment.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.raw.is_written()
    }

    /// Whether somebody reads or writes, at this moment.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

impl<T: Default, P: Platform, R: RawRw<P>> Default for RwLock<T, P, R> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform, R: RawRw<P>> fmt::Debug for RwLock<T, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        // Not even tried while it is written, which a watched lock would report.
        match (!self.is_written()).then(|| self.try_read_irqsave()).flatten() {
            Some(value) => shown.field("value", &&*value),
            None => shown.field("value", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

/// The value is read while this lives, and interruptions of the context `C` are kept out.
///
/// Guards may be dropped in any order. They stay on their CPU: what they keep out is of that CPU.
#[must_use = "reading ends as soon as this is dropped"]
pub struct ReadGuard<'a, T: ?Sized, P: Platform, C: Context, R: RawRw<P> = DefaultRawRw> {
    lock: &'a RwLock<T, P, R>,
    /// A section belongs to the CPU it was begun on: the pointer keeps the guard there.
    context: PhantomData<(*mut (), C)>,
}

/// The value is written while this lives, and interruptions of the context `C` are kept out.
///
/// Guards may be dropped in any order. They stay on their CPU: what they keep out is of that CPU.
#[must_use = "writing ends as soon as this is dropped"]
pub struct WriteGuard<'a, T: ?Sized, P: Platform, C: Context, R: RawRw<P> = DefaultRawRw> {
    lock: &'a RwLock<T, P, R>,
    /// As in [`ReadGuard`].
    context: PhantomData<(*mut (), C)>,
}

impl<'a, T: ?Sized, P: Platform, C: Context, R: RawRw<P>> WriteGuard<'a, T, P, C, R> {
    /// Goes on reading what was written. No other writer comes in between, and those who wait to read
    /// may. The section stays as it is.
    #[inline(always)]
    #[track_caller]
    pub fn downgrade(self) -> ReadGuard<'a, T, P, C, R> {
        let lock = ManuallyDrop::new(self).lock;
        // SAFETY: the guard was made with the lock taken to write, and does not end that any more.
        unsafe { lock.raw.downgrade() };
        ReadGuard { lock, context: PhantomData }
    }
}

impl<T: ?Sized, P: Platform, C: Context, R: RawRw<P>> Drop for ReadGuard<'_, T, P, C, R> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard was made with the lock taken to read and the section begun, on this CPU,
        // and borrows the lock until it is gone.
        unsafe { self.lock.raw.unlock_read_in::<C>() };
    }
}

impl<T: ?Sized, P: Platform, C: Context, R: RawRw<P>> Drop for WriteGuard<'_, T, P, C, R> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard was made with the lock taken to write and the section begun, on this CPU,
        // and borrows the lock until it is gone.
        unsafe { self.lock.raw.unlock_write_in::<C>() };
    }
}

impl<T: ?Sized, P: Platform, C: Context, R: RawRw<P>> DerefMut for WriteGuard<'_, T, P, C, R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the value is written by this guard alone, which is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

// SAFETY: a shared guard gives shared access to the value and nothing else.
unsafe impl<T: ?Sized + Sync, P: Platform, C: Context, R: RawRw<P>> Sync
    for ReadGuard<'_, T, P, C, R>
{
}

impl<T: ?Sized, P: Platform, C: Context, R: RawRw<P>> Deref for ReadGuard<'_, T, P, C, R> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the value is read, and written by nobody.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform, C: Context, R: RawRw<P>> fmt::Debug
    for ReadGuard<'_, T, P, C, R>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

// SAFETY: a shared guard gives shared access to the value and nothing else.
unsafe impl<T: ?Sized + Sync, P: Platform, C: Context, R: RawRw<P>> Sync
    for WriteGuard<'_, T, P, C, R>
{
}

impl<T: ?Sized, P: Platform, C: Context, R: RawRw<P>> Deref for WriteGuard<'_, T, P, C, R> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the value is written by this guard alone.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized + fmt::Debug, P: Platform, C: Context, R: RawRw<P>> fmt::Debug
    for WriteGuard<'_, T, P, C, R>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
