//! A lock that watches how it is used.
//!
//! Four mistakes stop a machine only when the timing is bad, and are seen here at any timing:
//!
//! - **Order.** Locks are of classes. Taking class B while holding class A says that A comes before
//!   B; if it was ever said, over any number of classes, that B comes before A, two CPUs can wait for
//!   each other.
//! - **Context.** A class that an interrupt waits for must not be taken with interrupts on, or the
//!   interrupt waits for the code that it interrupted. The same for bottom halves. Those who only read
//!   do not wait for each other so, and an interrupt that only tries for nobody.
//! - **Recursion.** A CPU takes a lock that it holds, or a task tries to. An interrupt may read what it
//!   interrupted the reading of; a task that reads again waits, in vain, for a writer who came in
//!   between.
//! - **Unlock.** A lock is freed by a CPU that does not hold it. It then stays as it was.
//!
//! Each kind is reported once, see [`rearm`], before the lock is waited for. What each CPU holds is
//! known by its number, so in a program with several platforms they must not share numbers; a CPU
//! without a number is not watched. Read-write locks are in `checked_rw.rs`.

use core::fmt;
use core::panic::Location;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32};

use crate::context::{Context, ContextKind, Plain, Section};
use crate::platform::{Cpu, Level, Platform};
use crate::raw::{Queued, RawSpin};
use crate::sync::Ordering;

/// What is wrong with a use of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mistake {
    /// Classes were taken in both orders.
    Order,
    /// Taken by interrupts, and with interrupts on; or by bottom halves, and with those on.
    WrongContext,
    /// Taken by a CPU that holds it.
    Recursion,
    /// Freed by a CPU that does not hold it.
    Unlock,
}

/// One wrong use.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// What is wrong.
    pub mistake: Mistake,
    /// The lock's address.
    pub lock: usize,
    /// The name of its class, if it has one.
    pub class: Option<&'static str>,
    /// [`Mistake::Order`]: the class held meanwhile, which comes after this one elsewhere.
    pub held: Option<&'static str>,
    /// Where the lock was taken or freed, as far as that is known.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {:#x} ({}): ", self.lock, self.class.unwrap_or("no class"))?;
        match (self.mistake, self.held) {
            (Mistake::Order, held) => write!(
                f,
                "taken while holding {0}, which elsewhere is taken after it; two CPUs can wait for \
                 each other: take {0} after it everywhere, or before it everywhere",
                held.unwrap_or("no class")
            ),
            (Mistake::WrongContext, _) => f.write_str(
                "taken by an interrupt or bottom half, and elsewhere without keeping it out; it can \
                 wait for the code it interrupted: use lock_irqsave or lock_bh elsewhere",
            ),
            (Mistake::Recursion, _) => {
                f.write_str("taken by the CPU that holds it, which never gets it so: drop the guard first")
            }
            (Mistake::Unlock, _) => {
                f.write_str("freed by a CPU that does not hold it; ignored: free each lock once")
            }
        }?;
        write!(f, " (at {})", self.location)
    }
}

/// Takes a report. It may return, panic or stop the machine.
pub type Handler = fn(&Report);

/// The handler, as a pointer.
///
/// | value | meaning | who writes |
/// |---|---|---|
/// | null | none set: with `std` a line on standard error, otherwise nothing | initial |
/// | other | a [`Handler`] | [`set_handler`], release |
static HANDLER: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// The mistakes that were reported, bit `k` for that of discriminant `k`.
///
/// | bit | meaning | who writes |
/// |---|---|---|
/// | 0 | the next of this kind is reported | initial, [`rearm`] |
/// | 1 | it was reported | the first of the kind, by `fetch_or` |
static REPORTED: AtomicU8 = AtomicU8::new(0);

/// Sends every later report to `handler`.
pub fn set_handler(handler: Handler) {
    HANDLER.store(handler as *mut (), Ordering::Release);
}

/// Lets every kind of mistake be reported once more.
pub fn rearm() {
    REPORTED.store(0, Ordering::Relaxed);
}

#[cold]
#[inline(never)]
fn report(report: Report) {
    let bit = 1 << report.mistake as u8;
    if REPORTED.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
        return;
    }
    let handler = HANDLER.load(Ordering::Acquire);
    if handler.is_null() {
        #[cfg(feature = "std")]
        {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "{report}");
        }
        return;
    }
    // SAFETY: a pointer that is not null was stored by `set_handler` from a `Handler`.
    let handler: Handler = unsafe { core::mem::transmute(handler) };
    handler(&report);
}

/// How many classes have their order watched; further ones have not.
const CLASSES: usize = 256;
/// How many locks a CPU can be known to hold.
pub(crate) const DEPTH: usize = 16;

/// What locks of one kind have in common: their place in the order, and who takes them.
///
/// `static TABLES: Class = Class::new("tables");`
#[derive(Debug)]
pub struct Class {
    name: &'static str,
    /// 0 until the class is first used, then its own number, below [`CLASSES`]; or [`NO_NUMBER`].
    number: AtomicU16,
    uses: AtomicU8,
}

const NO_NUMBER: u16 = u16::MAX;

/// The number of the next class.
static NEXT: AtomicU16 = AtomicU16::new(1);
/// Names by number, for reports; set with release.
static NAMED: [AtomicPtr<Class>; CLASSES] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; CLASSES];
/// Bits in each number of a row. No wider, as 32-bit targets may have no wider atomics.
const ROW_BITS: usize = 32;
/// Bit b of row a: b was taken while a was held.
static BEFORE: [[AtomicU32; CLASSES / ROW_BITS]; CLASSES] =
    [const { [const { AtomicU32::new(0) }; CLASSES / ROW_BITS] }; CLASSES];
/// The numbers of the classes that each CPU holds; 0 in unused places.
static HELD: [[AtomicU16; DEPTH]; Cpu::COUNT as usize] =
    [const { [const { AtomicU16::new(0) }; DEPTH] }; Cpu::COUNT as usize];

/// Bits of `uses`: of taking a lock alone, and times [`SHARED`] of reading it.
const BY_INTERRUPT: u8 = 1;
const INTERRUPTS_ON: u8 = 2;
const BY_BOTTOM_HALF: u8 = 4;
const BOTTOM_HALVES_ON: u8 = 8;
pub(crate) const SHARED: u8 = 16;
/// Uses that must not come together. Those who read are let in beside each other.
const CONFLICTS: [u8; 6] = [
    BY_INTERRUPT | INTERRUPTS_ON,
    BY_INTERRUPT | (INTERRUPTS_ON * SHARED),
    (BY_INTERRUPT * SHARED) | INTERRUPTS_ON,
    BY_BOTTOM_HALF | BOTTOM_HALVES_ON,
    BY_BOTTOM_HALF | (BOTTOM_HALVES_ON * SHARED),
    (BY_BOTTOM_HALF * SHARED) | BOTTOM_HALVES_ON,
];

impl Class {
    /// A class, which reports call `name`.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, number: AtomicU16::new(0), uses: AtomicU8::new(0) }
    }

    /// Its number; `None` if there are too many classes.
    fn number(&'static self) -> Option<u16> {
        let mut number = self.number.load(Ordering::Relaxed);
        if number == 0 {
            let next = NEXT.load(Ordering::Relaxed);
            let mine = if usize::from(next) < CLASSES {
                NEXT.fetch_add(1, Ordering::Relaxed).min(CLASSES as u16)
            } else {
                NO_NUMBER
            };
            let mine = if usize::from(mine) < CLASSES { mine } else { NO_NUMBER };
            // Another CPU may have come before; then one number is lost.
            number =
                match self.number.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => mine,
                    Err(theirs) => theirs,
                };
            if let Some(named) = NAMED.get(usize::from(number)) {
                named.store(core::ptr::from_ref(self).cast_mut(), Ordering::Release);
            }
        }
        (number != NO_NUMBER).then_some(number)
    }

    fn name_of(number: u16) -> Option<&'static str> {
        let class = NAMED.get(usize::from(number))?.load(Ordering::Acquire);
        // SAFETY: it is null or was stored from a class that lives for ever.
        unsafe { class.as_ref() }.map(|class| class.name)
    }
}

/// Whether the table says that class `a` comes before class `b`.
fn is_before(a: u16, b: u16) -> bool {
    let mut reached = [0_u32; CLASSES / ROW_BITS];
    let mut open = [a; CLASSES];
    let mut count = 1;
    while count > 0 {
        count -= 1;
        for (index, (row, known)) in
            BEFORE[usize::from(open[count])].iter().zip(&mut reached).enumerate()
        {
            let mut new = row.load(Ordering::Relaxed) & !*known;
            *known |= new;
            while new != 0 {
                let class = (index * ROW_BITS) as u16 + new.trailing_zeros() as u16;
                new &= new - 1;
                if class == b {
                    return true;
                }
                // Each class is reached once, so there is room.
                open[count] = class;
                count += 1;
            }
        }
    }
    false
}

/// The lock `R`, watched.
#[derive(Debug)]
pub struct Checked<R = Queued> {
    pub(crate) raw: R,
    class: Option<&'static Class>,
    /// The number and one of who holds it alone; 0: nobody, or a CPU without a number.
    holder: AtomicU32,
    /// For a lock without a class.
    uses: AtomicU8,
    /// Read-write: once a reader was not noted, who is none cannot be told.
    pub(crate) lost_readers: AtomicBool,
}

impl<R> Checked<R> {
    /// `raw`, of a class; without one, its order is not watched.
    #[must_use]
    pub const fn new(raw: R, class: Option<&'static Class>) -> Self {
        Self {
            raw,
            class,
            holder: AtomicU32::new(0),
            uses: AtomicU8::new(0),
            lost_readers: AtomicBool::new(false),
        }
    }

    pub(crate) fn report(
        &self,
        mistake: Mistake,
        held: Option<&'static str>,
        location: &'static Location<'static>,
    ) {
        report(Report {
            mistake,
            lock: core::ptr::from_ref(self).addr(),
            class: self.class.map(|class| class.name),
            held,
            location,
        });
    }

    /// What is wrong with taking the lock alone now.
    fn before<P: Platform>(&self, kind: ContextKind, waits: bool, at: &'static Location<'static>) {
        if self.is_mine::<P>() && is_to_have_it::<P>(waits) {
            self.report(Mistake::Recursion, None, at);
        }
        self.in_context::<P>(kind, waits, 1, at);
    }

    /// Whether this CPU is known to hold it alone.
    pub(crate) fn is_mine<P: Platform>(&self) -> bool {
        self.holder.load(Ordering::Relaxed) == me::<P>() && me::<P>() != 0
    }

    /// What is wrong with the context that the lock is taken in; `share` is 1, or [`SHARED`].
    pub(crate) fn in_context<P: Platform>(
        &self,
        kind: ContextKind,
        waits: bool,
        share: u8,
        at: &'static Location<'static>,
    ) {
        let interrupts_off =
            matches!(kind, ContextKind::Irq | ContextKind::IrqSave) || P::irq_is_off();
        let now = match P::level() {
            // Without the lock it goes on, and what it interrupted frees it.
            Level::Interrupt if !waits => 0,
            Level::BottomHalf if !waits && interrupts_off => 0,
            Level::BottomHalf if !waits => INTERRUPTS_ON,
            Level::Interrupt => BY_INTERRUPT,
            Level::BottomHalf if interrupts_off => BY_BOTTOM_HALF,
            Level::BottomHalf => BY_BOTTOM_HALF | INTERRUPTS_ON,
            Level::Task if interrupts_off => 0,
            Level::Task if kind == ContextKind::Bh || P::bh_is_off() => INTERRUPTS_ON,
            Level::Task => INTERRUPTS_ON | BOTTOM_HALVES_ON,
        };
        let now = now * share;
        let uses = self.class.map_or(&self.uses, |class| &class.uses);
        let uses = uses.fetch_or(now, Ordering::Relaxed) | now;
        // Not what others did, which was reported then.
        if CONFLICTS.iter().any(|bits| uses & bits == *bits && now & bits != 0) {
            self.report(Mistake::WrongContext, None, at);
        }
    }

    /// Keeps the order in which classes are taken. Only for a CPU that will wait: who only tries can
    /// go back.
    pub(crate) fn order<P: Platform>(&self, at: &'static Location<'static>) {
        let Some((cpu, class)) = P::cpu().zip(self.class.and_then(Class::number)) else { return };
        for held in &HELD[usize::from(cpu.number())] {
            let held = held.load(Ordering::Relaxed);
            if held == 0 || held == class {
                continue;
            }
            let row = &BEFORE[usize::from(held)][usize::from(class) / ROW_BITS];
            let bit = 1 << (usize::from(class) % ROW_BITS);
            if row.load(Ordering::Relaxed) & bit != 0 {
                continue;
            }
            if is_before(class, held) {
                self.report(Mistake::Order, Class::name_of(held), at);
            } else {
                row.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn taken<P: Platform>(&self) {
        self.holder.store(me::<P>(), Ordering::Relaxed);
        self.class_is_held::<P>();
    }

    /// It is of this CPU no longer, though the lock may be.
    pub(crate) fn not_alone(&self) {
        self.holder.store(0, Ordering::Relaxed);
    }

    pub(crate) fn class_is_held<P: Platform>(&self) {
        self.replace_held::<P>(0, self.class.and_then(Class::number).unwrap_or(0));
    }

    pub(crate) fn class_is_free<P: Platform>(&self) {
        self.replace_held::<P>(self.class.and_then(Class::number).unwrap_or(0), 0);
    }

    /// Whether this CPU may free the lock; nobody holds it then.
    pub(crate) fn freed<P: Platform>(&self, at: &'static Location<'static>) -> bool {
        if self.holder.load(Ordering::Relaxed) != me::<P>() {
            self.report(Mistake::Unlock, None, at);
            return false;
        }
        self.not_alone();
        self.class_is_free::<P>();
        true
    }

    /// Puts `new` in a place of this CPU where `old` is. What interrupts in between leaves the places as
    /// it finds them.
    fn replace_held<P: Platform>(&self, old: u16, new: u16) {
        let Some(cpu) = P::cpu() else { return };
        if old == new {
            return;
        }
        for place in &HELD[usize::from(cpu.number())] {
            let order = Ordering::Relaxed;
            if place.compare_exchange(old, new, order, order).is_ok() {
                return;
            }
        }
    }
}

/// Whether it is a mistake not to get the lock: not for an interrupt or bottom half that only tries,
/// which may have interrupted the holder.
pub(crate) fn is_to_have_it<P: Platform>(waits: bool) -> bool {
    waits || P::level() == Level::Task
}

/// The CPU's number and one; 0 if it has none.
fn me<P: Platform>() -> u32 {
    P::cpu().map_or(0, |cpu| u32::from(cpu.number()) + 1)
}

// SAFETY: it excludes as `R` does: it calls the same of it, and frees only what is held.
unsafe impl<P: Platform, R: RawSpin<P>> RawSpin<P> for Checked<R> {
    #[cfg(not(loom))]
    const UNLOCKED: Self = Self::new(R::UNLOCKED, None);

    #[cfg(loom)]
    fn unlocked() -> Self {
        Self::new(R::unlocked(), None)
    }

    #[track_caller]
    fn lock(&self) {
        self.before::<P>(Plain::KIND, true, Location::caller());
        self.order::<P>(Location::caller());
        self.raw.lock();
        self.taken::<P>();
    }

    #[track_caller]
    fn try_lock(&self) -> bool {
        self.before::<P>(Plain::KIND, false, Location::caller());
        let taken = self.raw.try_lock();
        if taken {
            self.taken::<P>();
        }
        taken
    }

    #[track_caller]
    unsafe fn unlock(&self) {
        if self.freed::<P>(Location::caller()) {
            // SAFETY: as the caller says, and as is known here.
            unsafe { self.raw.unlock() };
        }
    }

    #[track_caller]
    fn lock_in<C: Context>(&self) {
        let section = Section::<P, C>::begin();
        self.before::<P>(C::KIND, true, Location::caller());
        self.order::<P>(Location::caller());
        self.raw.lock();
        self.taken::<P>();
        section.keep();
    }

    #[track_caller]
    fn try_lock_in<C: Context>(&self) -> bool {
        let section = Section::<P, C>::begin();
        self.before::<P>(C::KIND, false, Location::caller());
        let taken = self.raw.try_lock();
        if taken {
            self.taken::<P>();
            section.keep();
        }
        taken
    }

    #[track_caller]
    unsafe fn unlock_in<C: Context>(&self) {
        // SAFETY: as the caller says.
        unsafe {
            RawSpin::<P>::unlock(self);
            C::exit::<P>();
        }
    }

    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}
