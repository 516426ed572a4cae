//! What a lock needs of the machine it runs on.
//!
//! A kernel implements [`Platform`] once with its own primitives. In user space
//! [`Std`](crate::Std) does, with threads as CPUs and signals as interrupts, so that all of this
//! crate can be used and tested there.

use core::sync::atomic::compiler_fence;

use crate::node::Nodes;
use crate::sync::{AtomicU32, Ordering};

/// The number of a CPU: less than [`Cpu::COUNT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(u16);

impl Cpu {
    /// How many CPUs a lock word can name: one less than 2^12, as zero means nobody.
    pub const COUNT: u16 = (1 << 12) - 1;

    /// CPU number `n`, or `None` if a lock word cannot name it.
    #[must_use]
    pub const fn new(n: u16) -> Option<Self> {
        if n < Self::COUNT { Some(Self(n)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// What [`Platform::irq_save`] found: the platform's own bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub usize);

/// How many sections of a CPU keep its interrupts off, and what the first of them found.
///
/// Guards may be dropped in any order. If each put back what it had found, the outer guard dropped
/// first would let interrupts in under the inner one. So the first section that turns interrupts off
/// keeps what it found, and the last that ends puts it back.
///
/// Only its own CPU uses it, and what interrupts that CPU puts `depth` back as it was; the atomics are
/// there so that it can stand in a static. An interrupt that cannot be masked writes `found` only where it
/// finds no section open. So `found` is written after the first section is counted, and read before the
/// last is not counted any more.
///
/// | `depth` | `found` | interrupts |
/// |---|---|---|
/// | 0 | stale | as the running code wants them; off where a section begins or ends |
/// | n > 0 | of the first of n sections, once that has written it | off |
#[derive(Debug)]
pub struct IrqSections {
    depth: AtomicU32,
    found: core::sync::atomic::AtomicUsize,
}

impl IrqSections {
    /// No section.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self { depth: AtomicU32::new(0), found: core::sync::atomic::AtomicUsize::new(0) }
    }

    /// No section.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self { depth: AtomicU32::new(0), found: core::sync::atomic::AtomicUsize::new(0) }
    }

    /// How many sections are open.
    #[inline(always)]
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    /// Opens one. Interrupts are off already; `flags` is what was found before that.
    #[inline(always)]
    pub(crate) fn open(&self, flags: Flags) {
        let depth = self.depth();
        self.depth.store(depth + 1, Ordering::Relaxed);
        if depth == 0 {
            compiler_fence(Ordering::SeqCst);
            self.found.store(flags.0, Ordering::Relaxed);
        }
    }

    /// Closes one; if it was the last, what is to be put back.
    #[inline(always)]
    pub(crate) fn close(&self) -> Option<Flags> {
        let depth = self.depth() - 1;
        let found = self.found.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.depth.store(depth, Ordering::Relaxed);
        (depth == 0).then_some(Flags(found))
    }
}

impl Default for IrqSections {
    fn default() -> Self {
        Self::new()
    }
}

/// What the running code interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    Task,
    /// A task; bottom halves are what interrupts leave to be done with interrupts on.
    BottomHalf,
    /// Anything else: an interrupt.
    Interrupt,
}

/// The machine. A whole implementation is in `examples/freestanding`, for a kernel that is written in C.
///
/// Some wrong implementations show only as a waiter that hangs, once in a long while: one by which two
/// CPUs have a number or nodes in common; whose [`kick`](Self::kick) is lost if it comes just before the
/// sleep; whose [`barrier_all`](Self::barrier_all) does less than it says while [`wait`](Self::wait) does
/// not end by itself; or whose [`parks`](Self::parks) changes. Nothing looks for these.
///
/// # Safety
/// - Between [`preempt_disable`](Self::preempt_disable), [`bh_disable`](Self::bh_disable) or an
///   interrupt section and its end, the running code stays on one CPU, and only interrupts of that
///   CPU run there in between, each to its end.
/// - [`cpu`](Self::cpu) is then that CPU's number, which no other CPU has at the same time.
/// - [`nodes`](Self::nodes) gives each number nodes of its own, always the same ones.
/// - [`with_irq_sections`](Self::with_irq_sections) gives those of the CPU.
/// - While interrupts are off, nothing that waits for a lock of this platform interrupts the CPU. What
///   cannot be masked only tries.
/// - [`parks`](Self::parks) answers every CPU the same, from the first time that any waits for a lock
///   of this platform, for ever: who spins is granted its turn without being woken, so one who parked
///   in the same queue would sleep for ever.
pub unsafe trait Platform: Sized + 'static {
    /// Whether locks are compiled so that waiters can park: each unlock looks whether somebody
    /// sleeps, and wakes them. Otherwise waiters spin, in turn, and an unlock is one store.
    const PARAVIRT: bool;

    /// Whether waiters park: [`wait`](Self::wait), [`kick`](Self::kick) and
    /// [`barrier_all`](Self::barrier_all) are then used, and newcomers may overtake those who are
    /// parked. Otherwise waiters spin, in turn.
    ///
    /// For one who learns when it starts whether its CPUs are virtual. Only asked with
    /// [`PARAVIRT`](Self::PARAVIRT), and only by those who wait: where the answer is no, nobody ever
    /// sleeps, and an unlock still looks.
    #[must_use]
    #[inline(always)]
    fn parks() -> bool {
        Self::PARAVIRT
    }

    /// Whether [`parks`](Self::parks) is `true` in every program: then a newcomer takes a free lock before
    /// those who sleep, without a look at the queue, which where many share few CPUs makes locking
    /// several times as fast. Otherwise it does so only after it joined those who wait.
    const OVERTAKEN: bool = false;

    /// How often a waiter looks before it parks; once, if this is 0. Only with
    /// [`PARAVIRT`](Self::PARAVIRT).
    const SPINS: u32 = 1 << 10;

    /// The fault that a model plants in the lock.
    #[cfg(loom)]
    const PLANTED: crate::sync::Planted = crate::sync::Planted::Nothing;

    /// The CPU; `None` if its number is beyond what a lock word can name. Such a CPU waits without
    /// a place in the queue, and may be overtaken for ever.
    fn cpu() -> Option<Cpu>;

    /// The queue nodes of a CPU.
    fn nodes(cpu: Cpu) -> &'static Nodes;

    /// Lends out the CPU's interrupt sections: with interrupts off to whoever begins or ends one, in any
    /// context to whoever only asks how many there are. A CPU without a number has its own too.
    fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R;

    /// Keeps the running code on its CPU. Nests.
    fn preempt_disable();
    /// Ends one [`preempt_disable`](Self::preempt_disable).
    fn preempt_enable();

    /// Keeps bottom halves (softirqs) of this CPU from running, and the code on its CPU. Nests.
    fn bh_disable();
    /// Ends one [`bh_disable`](Self::bh_disable).
    fn bh_enable();

    /// Turns interrupts of this CPU off, and says what they were.
    fn irq_save() -> Flags;
    /// Makes them what they were.
    fn irq_restore(flags: Flags);
    /// Turns them off, by one who knows that they are on. What [`irq_restore`](Self::irq_restore)
    /// needs to turn them on again.
    ///
    /// The default is [`irq_save`](Self::irq_save); where reading the state costs more than
    /// changing it, the platform knows a cheaper way.
    #[inline(always)]
    fn irq_disable() -> Flags {
        Self::irq_save()
    }

    /// Whether interrupts of this CPU are off. Only [`Checked`](crate::Checked) asks, which takes a
    /// lock for one that interrupts can find held if they are not.
    ///
    /// The default knows the sections of this crate's guards. A platform whose code turns interrupts
    /// off in other ways too, and then takes locks plainly, answers for itself.
    fn irq_is_off() -> bool {
        Self::with_irq_sections(|sections| sections.depth() > 0)
    }
    /// Whether bottom halves of this CPU are kept out, by [`bh_disable`](Self::bh_disable). Only
    /// [`Checked`](crate::Checked) asks.
    ///
    /// The default knows of none, so that a plain lock within another's `lock_bh` is taken for one
    /// that bottom halves can find held.
    fn bh_is_off() -> bool {
        false
    }
    /// What the running code interrupted. Only [`Checked`](crate::Checked) asks.
    fn level() -> Level {
        Level::Task
    }

    /// One turn of a loop that waits for another CPU.
    fn relax();

    /// Sleeps until [`kick`](Self::kick) on the same word, unless the word is not `expected` any
    /// more. May return for no reason. Only where waiters park.
    ///
    /// A kick that comes after the word was compared must end the sleep, though it has not begun
    /// yet. Called in the context of the one who waits, so interrupts may be off: what ends a CPU's
    /// sleep then must be a kick that reaches it all the same, or the sleep must be one that the
    /// hypervisor ends.
    fn wait(word: &AtomicU32, expected: u32);
    /// Wakes one who waits on the word, if there is one. The word may have another use by then: it
    /// is an address to look for, and is not read.
    ///
    /// Called by who unlocks, before the section ends: interrupts are as they were in it. It may ask
    /// a hypervisor, and change any register; it takes no lock of this platform.
    fn kick(word: &AtomicU32);
    /// A full memory barrier on every CPU that runs code which uses locks, before it returns.
    ///
    /// Unlock stores, then looks whether somebody sleeps; ordering the two would cost it a fence.
    /// The one who goes to sleep pays instead. A platform that cannot do it must let
    /// [`wait`](Self::wait) end by itself after a while: a wake-up can then be lost, but only costs
    /// that time. A kernel that interrupts the other CPUs for it must not wait for their answer with
    /// interrupts off, as two of them would wait for each other; where they are off,
    /// [`wait`](Self::wait) gives the CPU to the hypervisor for a while instead.
    fn barrier_all();
}

/// How often a waiter looks before it parks. Looking is also what takes the lock, so it does so once at
/// least.
pub(crate) const fn spins<P: Platform>() -> u32 {
    if P::SPINS == 0 { 1 } else { P::SPINS }
}

/// Whether waiters park. A constant `false` where locks are not compiled for it.
#[inline(always)]
pub(crate) fn parks<P: Platform>() -> bool {
    P::PARAVIRT && P::parks()
}
