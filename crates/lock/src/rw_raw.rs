//! Read-write locks without data, and which of their operations are inlined.

use crate::context::{Context, ContextKind, Section};
use crate::platform::Platform;
use crate::raw::Queued;
use crate::rw_copies::RwCopies;
use crate::rw_word::{READERS, RwWord, WRITER};
use crate::sync::Ordering;

/// What a read-write lock needs of the machine beside what a spinlock needs.
pub trait RwPlatform: Platform {
    /// Whether the running code interrupted other code of its CPU, which may read the lock that it
    /// wants to read. Asked only where the lock cannot be read at once.
    fn in_interrupt() -> bool;
}

/// A read-write lock without data, of CPUs of the platform `P`.
///
/// All methods that wait are called within a [`Context`]: the running code must stay on its CPU.
///
/// # Safety
/// From where [`write`](Self::write) returns, or [`try_write`](Self::try_write) does with `true`,
/// until the call of [`unlock_write`](Self::unlock_write) or [`downgrade`](Self::downgrade), nothing
/// that takes the lock does so for anybody else. From where [`read`](Self::read) returns, or
/// [`try_read`](Self::try_read) does with `true`, or [`downgrade`](Self::downgrade) is called, until
/// the call of [`unlock_read`](Self::unlock_read), no taking to write does. All that was done by then
/// is seen by whoever takes the lock later.
pub unsafe trait RawRw<P: Platform>: Send + Sync + Sized {
    /// Free.
    #[cfg(not(loom))]
    const UNLOCKED: Self;

    /// Free.
    #[cfg(loom)]
    fn unlocked() -> Self;

    /// Waits to read.
    #[track_caller]
    fn read(&self);

    /// Waits to write.
    #[track_caller]
    fn write(&self);

    /// Begins to read if nobody writes or is next to write.
    #[track_caller]
    fn try_read(&self) -> bool;

    /// Begins to write if the lock is free, and nobody who is to be turned away is in it just then.
    #[track_caller]
    fn try_write(&self) -> bool;

    /// Ends reading.
    ///
    /// # Safety
    /// The caller reads, and keeps the lock borrowed until this returns: it may be used after somebody
    /// else has taken it.
    #[track_caller]
    unsafe fn unlock_read(&self);

    /// Ends writing.
    ///
    /// # Safety
    /// The caller writes, and keeps the lock borrowed as for [`unlock_read`](Self::unlock_read).
    #[track_caller]
    unsafe fn unlock_write(&self);

    /// Makes the writer a reader, with no other writer in between.
    ///
    /// # Safety
    /// The caller writes.
    #[track_caller]
    unsafe fn downgrade(&self);

    /// The beginning of a section, then [`read`](Self::read).
    #[inline(always)]
    #[track_caller]
    fn read_in<C: Context>(&self) {
        let section = Section::<P, C>::begin();
        self.read();
        section.keep();
    }

    /// The beginning of a section, then [`write`](Self::write).
    #[inline(always)]
    #[track_caller]
    fn write_in<C: Context>(&self) {
        let section = Section::<P, C>::begin();
        self.write();
        section.keep();
    }

    /// The beginning of a section, then [`try_read`](Self::try_read); without the lock, no section.
    #[inline(always)]
    #[track_caller]
    fn try_read_in<C: Context>(&self) -> bool {
        let section = Section::<P, C>::begin();
        let taken = self.try_read();
        if unlikely::likely!(taken) {
            section.keep();
        }
        taken
    }

    /// The beginning of a section, then [`try_write`](Self::try_write); without the lock, no section.
    #[inline(always)]
    #[track_caller]
    fn try_write_in<C: Context>(&self) -> bool {
        let section = Section::<P, C>::begin();
        let taken = self.try_write();
        if unlikely::likely!(taken) {
            section.keep();
        }
        taken
    }

    /// [`unlock_read`](Self::unlock_read), then the end of the section.
    ///
    /// # Safety
    /// As for [`unlock_read`](Self::unlock_read) and [`Context::exit`].
    #[inline(always)]
    #[track_caller]
    unsafe fn unlock_read_in<C: Context>(&self) {
        // SAFETY: as the caller says.
        unsafe {
            self.unlock_read();
            C::exit::<P>();
        }
    }

    /// [`unlock_write`](Self::unlock_write), then the end of the section.
    ///
    /// # Safety
    /// As for [`unlock_write`](Self::unlock_write) and [`Context::exit`].
    #[inline(always)]
    #[track_caller]
    unsafe fn unlock_write_in<C: Context>(&self) {
        // SAFETY: as the caller says.
        unsafe {
            self.unlock_write();
            C::exit::<P>();
        }
    }

    /// Whether somebody writes, at this moment.
    fn is_written(&self) -> bool;

    /// Whether somebody reads or writes, at this moment.
    fn is_locked(&self) -> bool;
}

/// The queued read-write lock: eight bytes; as long as nobody is in the way, one addition to read, one
/// subtraction to end that, one exchange to write and one byte store to end that.
///
/// Readers and writers that have to wait do so in one queue and are served in its order, readers that
/// follow each other together. With a platform that spins ([`Platform::PARAVIRT`] is `false`), who
/// comes after a waiter was at the head of the queue is not served before it; an interrupt's reader is
/// ([`RwPlatform::in_interrupt`]).
///
/// Memory of zeroes is not a free lock: on x86-64 the word of one is not zero. It is to be made by
/// [`new`](Self::new).
#[derive(Debug)]
// Aligned so that a load across the two words is one.
#[repr(C, align(8))]
pub struct QueuedRw {
    word: RwWord,
    wait: Queued,
}

/// The kind of read-write lock where none is named: [`QueuedRw`], or with the feature `debug`
/// [`Checked`](crate::Checked).
#[cfg(not(feature = "debug"))]
pub type DefaultRawRw = QueuedRw;
/// The kind of read-write lock where none is named: [`QueuedRw`], watched.
#[cfg(feature = "debug")]
pub type DefaultRawRw = crate::Checked<QueuedRw>;

impl QueuedRw {
    /// Free.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self { word: RwWord::new(), wait: Queued::new() }
    }

    /// Free.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self { word: RwWord::new(), wait: Queued::new() }
    }

    /// Whether there is a head of the queue, for models that wait until there is.
    #[cfg(loom)]
    #[must_use]
    pub fn has_head(&self) -> bool {
        self.wait.bits() != 0
    }

    /// Whether somebody waits behind the head of the queue, for models that wait until it does.
    #[cfg(loom)]
    #[must_use]
    pub fn has_queue(&self) -> bool {
        self.wait.bits() > 1
    }

    /// Whether the head of the queue claims the lock to write, for models that wait until it does.
    #[cfg(loom)]
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & crate::rw_word::WAITING != 0
    }

    #[inline(always)]
    pub(crate) fn word(&self) -> &RwWord {
        &self.word
    }

    pub(crate) fn wait(&self) -> &Queued {
        &self.wait
    }
}

impl Default for QueuedRw {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the state table of the word; the models are of this.
unsafe impl<P: RwCopies> RawRw<P> for QueuedRw {
    #[cfg(not(loom))]
    const UNLOCKED: Self = Self::new();

    #[cfg(loom)]
    fn unlocked() -> Self {
        Self::new()
    }

    #[inline(always)]
    fn read(&self) {
        if cfg!(feature = "outline-read-lock") { P::read(self) } else { self.read_here::<P>() }
    }

    #[inline(always)]
    fn write(&self) {
        if cfg!(feature = "outline-write-lock") { P::write(self) } else { self.write_here::<P>() }
    }

    #[inline(always)]
    fn try_read(&self) -> bool {
        if cfg!(feature = "outline-read-trylock") {
            P::try_read(self)
        } else {
            self.try_read_here::<P>()
        }
    }

    #[inline(always)]
    fn try_write(&self) -> bool {
        if cfg!(feature = "outline-write-trylock") {
            P::try_write(self)
        } else {
            self.try_write_here::<P>()
        }
    }

    #[inline(always)]
    unsafe fn unlock_read(&self) {
        // SAFETY: as the caller says.
        unsafe {
            if cfg!(feature = "outline-read-unlock") {
                P::unlock_read(self);
            } else {
                self.unlock_read_here::<P>();
            }
        }
    }

    #[inline(always)]
    unsafe fn unlock_write(&self) {
        // SAFETY: as the caller says.
        unsafe {
            if cfg!(feature = "outline-write-unlock") {
                P::unlock_write(self);
            } else {
                self.unlock_write_here::<P>();
            }
        }
    }

    #[inline(always)]
    unsafe fn downgrade(&self) {
        // SAFETY: as the caller says.
        unsafe { self.downgrade_here::<P>() }
    }

    #[inline(always)]
    unsafe fn unlock_read_in<C: Context>(&self) {
        // SAFETY: as the caller says; each copy ends the section of its own context.
        unsafe {
            match C::KIND {
                ContextKind::Bh if cfg!(feature = "outline-read-unlock-bh") => {
                    P::unlock_read_bh(self);
                }
                ContextKind::Irq if cfg!(feature = "outline-read-unlock-irq") => {
                    P::unlock_read_irq(self);
                }
                ContextKind::IrqSave if cfg!(feature = "outline-read-unlock-irqrestore") => {
                    P::unlock_read_irqrestore(self);
                }
                ContextKind::Plain => {
                    RawRw::<P>::unlock_read(self);
                    C::exit::<P>();
                }
                _ => self.unlock_read_here_in::<P, C>(),
            }
        }
    }

    #[inline(always)]
    unsafe fn unlock_write_in<C: Context>(&self) {
        // SAFETY: as the caller says; each copy ends the section of its own context.
        unsafe {
            match C::KIND {
                ContextKind::Bh if cfg!(feature = "outline-write-unlock-bh") => {
                    P::unlock_write_bh(self);
                }
                ContextKind::Irq if cfg!(feature = "outline-write-unlock-irq") => {
                    P::unlock_write_irq(self);
                }
                ContextKind::IrqSave if cfg!(feature = "outline-write-unlock-irqrestore") => {
                    P::unlock_write_irqrestore(self);
                }
                ContextKind::Plain => {
                    RawRw::<P>::unlock_write(self);
                    C::exit::<P>();
                }
                _ => self.unlock_write_here_in::<P, C>(),
            }
        }
    }

    #[inline(always)]
    fn is_written(&self) -> bool {
        self.word.is_written()
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.word.load(Ordering::Relaxed) & (WRITER | READERS) != 0
    }
}
