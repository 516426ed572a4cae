//! A read-write lock that watches how it is used.
//!
//! Who writes is known as who holds a spinlock is. Readers are many, so each CPU keeps which locks it
//! reads; a reader for which it has no place left is not watched, nor from then on is who ends to
//! read that lock.

use core::panic::Location;
use core::sync::atomic::AtomicUsize;

use crate::checked::{Checked, DEPTH, Mistake, SHARED, is_to_have_it};
use crate::context::{Context, ContextKind, Plain, Section};
use crate::platform::{Cpu, Level, Platform};
use crate::rw_raw::RawRw;
use crate::sync::Ordering;

/// The addresses of the locks that each CPU reads, one for each time; 0 in unused places. Only that
/// CPU changes them, and what interrupts it leaves them as it finds them.
static READING: [[AtomicUsize; DEPTH]; Cpu::COUNT as usize] =
    [const { [const { AtomicUsize::new(0) }; DEPTH] }; Cpu::COUNT as usize];

impl<R> Checked<R> {
    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Whether this CPU is known to read it.
    fn reads<P: Platform>(&self) -> bool {
        P::cpu().is_some_and(|cpu| {
            let places = &READING[usize::from(cpu.number())];
            places.iter().any(|place| place.load(Ordering::Relaxed) == self.address())
        })
    }

    /// Puts `new` in a place of this CPU where `old` is; whether there is one.
    fn replace_reading<P: Platform>(old: usize, new: usize) -> bool {
        let order = Ordering::Relaxed;
        P::cpu().is_some_and(|cpu| {
            let mut places = READING[usize::from(cpu.number())].iter();
            places.any(|place| place.compare_exchange(old, new, order, order).is_ok())
        })
    }

    /// What is wrong with reading now.
    fn before_read<P: Platform>(
        &self,
        kind: ContextKind,
        waits: bool,
        at: &'static Location<'static>,
    ) {
        // Who interrupts a reader overtakes the writer who waits for it, and who only tries does not
        // wait.
        let again = waits && P::level() == Level::Task && self.reads::<P>();
        if again || (self.is_mine::<P>() && is_to_have_it::<P>(waits)) {
            self.report(Mistake::Recursion, None, at);
        }
        self.in_context::<P>(kind, waits, SHARED, at);
    }

    /// What is wrong with writing now.
    fn before_write<P: Platform>(
        &self,
        kind: ContextKind,
        waits: bool,
        at: &'static Location<'static>,
    ) {
        if (self.is_mine::<P>() || self.reads::<P>()) && is_to_have_it::<P>(waits) {
            self.report(Mistake::Recursion, None, at);
        }
        self.in_context::<P>(kind, waits, 1, at);
    }

    fn read_begun<P: Platform>(&self) {
        if !Self::replace_reading::<P>(0, self.address()) {
            self.lost_readers.store(true, Ordering::Relaxed);
        }
        self.class_is_held::<P>();
    }

    /// Whether this CPU may end to read.
    fn read_ended<P: Platform>(&self, at: &'static Location<'static>) -> bool {
        if !Self::replace_reading::<P>(self.address(), 0)
            && !self.lost_readers.load(Ordering::Relaxed)
        {
            self.report(Mistake::Unlock, None, at);
            return false;
        }
        self.class_is_free::<P>();
        true
    }
}

// SAFETY: it excludes as `R` does: it calls the same of it, and ends only what was begun.
unsafe impl<P: Platform, R: RawRw<P>> RawRw<P> for Checked<R> {
    #[cfg(not(loom))]
    const UNLOCKED: Self = Self::new(R::UNLOCKED, None);

    #[cfg(loom)]
    fn unlocked() -> Self {
        Self::new(R::unlocked(), None)
    }

    #[track_caller]
    fn read(&self) {
        self.read_watched::<P>(Plain::KIND, Location::caller());
    }

    #[track_caller]
    fn write(&self) {
        self.write_watched::<P>(Plain::KIND, Location::caller());
    }

    #[track_caller]
    fn try_read(&self) -> bool {
        self.try_read_watched::<P>(Plain::KIND, Location::caller())
    }

    #[track_caller]
    fn try_write(&self) -> bool {
        self.try_write_watched::<P>(Plain::KIND, Location::caller())
    }

    #[track_caller]
    unsafe fn unlock_read(&self) {
        if self.read_ended::<P>(Location::caller()) {
            // SAFETY: as the caller says, and as is known here.
            unsafe { self.raw.unlock_read() };
        }
    }

    #[track_caller]
    unsafe fn unlock_write(&self) {
        if self.freed::<P>(Location::caller()) {
            // SAFETY: as the caller says, and as is known here.
            unsafe { self.raw.unlock_write() };
        }
    }

    #[track_caller]
    unsafe fn downgrade(&self) {
        if self.freed::<P>(Location::caller()) {
            self.read_begun::<P>();
            // SAFETY: as the caller says, and as is known here.
            unsafe { self.raw.downgrade() };
        }
    }

    #[track_caller]
    fn read_in<C: Context>(&self) {
        let section = Section::<P, C>::begin();
        self.read_watched::<P>(C::KIND, Location::caller());
        section.keep();
    }

    #[track_caller]
    fn write_in<C: Context>(&self) {
        let section = Section::<P, C>::begin();
        self.write_watched::<P>(C::KIND, Location::caller());
        section.keep();
    }

    #[track_caller]
    fn try_read_in<C: Context>(&self) -> bool {
        let section = Section::<P, C>::begin();
        let taken = self.try_read_watched::<P>(C::KIND, Location::caller());
        if taken {
            section.keep();
        }
        taken
    }

    #[track_caller]
    fn try_write_in<C: Context>(&self) -> bool {
        let section = Section::<P, C>::begin();
        let taken = self.try_write_watched::<P>(C::KIND, Location::caller());
        if taken {
            section.keep();
        }
        taken
    }

    fn is_written(&self) -> bool {
        self.raw.is_written()
    }

    fn is_locked(&self) -> bool {
        RawRw::<P>::is_locked(&self.raw)
    }
}

impl<R> Checked<R> {
    fn read_watched<P: Platform>(&self, kind: ContextKind, at: &'static Location<'static>)
    where
        R: RawRw<P>,
    {
        self.before_read::<P>(kind, true, at);
        self.order::<P>(at);
        self.raw.read();
        self.read_begun::<P>();
    }

    fn write_watched<P: Platform>(&self, kind: ContextKind, at: &'static Location<'static>)
    where
        R: RawRw<P>,
    {
        self.before_write::<P>(kind, true, at);
        self.order::<P>(at);
        self.raw.write();
        self.taken::<P>();
    }

    fn try_read_watched<P: Platform>(
        &self,
        kind: ContextKind,
        at: &'static Location<'static>,
    ) -> bool
    where
        R: RawRw<P>,
    {
        self.before_read::<P>(kind, false, at);
        let taken = self.raw.try_read();
        if taken {
            self.read_begun::<P>();
        }
        taken
    }

    fn try_write_watched<P: Platform>(
        &self,
        kind: ContextKind,
        at: &'static Location<'static>,
    ) -> bool
    where
        R: RawRw<P>,
    {
        self.before_write::<P>(kind, false, at);
        let taken = self.raw.try_write();
        if taken {
            self.taken::<P>();
        }
        taken
    }
}
