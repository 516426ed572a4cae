//! A machine for the locks, on which turning interrupts off costs what it does on bare metal: little.
//!
//! The lock crate's own user-space platforms keep signals out, by a system call that takes a hundred
//! times as long as the unlock it stands beside. Here threads are CPUs and nothing ever interrupts
//! them, so a flag does; its store is to the thread's own memory, as the kernel's is to the CPU's.

use lock::{Cpu, Flags, IrqSections, Nodes, Platform, RwPlatform};
use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Threads that can wait in a queue at the same time; further ones wait beside it.
const CPUS: usize = 64;

static NODES: [Nodes; CPUS] = [const { Nodes::new() }; CPUS];

/// Which numbers are taken.
///
/// | bit | meaning | set by |
/// |---|---|---|
/// | 0 | nobody has this number | the thread that had it, when its [`Seat`] ends |
/// | 1 | a thread has it | that thread, by [`Seat::take`] |
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A thread's number, for as long as this lives.
pub(crate) struct Seat(Option<u16>);

impl Seat {
    /// The lowest number that is free; none if there is none. A thread takes one seat at a time.
    pub(crate) fn take() -> Self {
        // Acquire: the nodes are as the thread that had the number before left them.
        let taken = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, |taken| {
            (taken != u64::MAX).then(|| taken | 1 << taken.trailing_ones())
        });
        let number = taken.ok().map(|before| before.trailing_ones() as u16);
        place::with(|local| local.number.set(number.map_or(0, |number| number + 1)));
        Self(number)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        place::with(|local| local.number.set(0));
        if let Some(number) = self.0 {
            TAKEN.fetch_and(!(1 << number), Ordering::Release);
        }
    }
}

/// What a CPU keeps. All zero is a CPU without a number, on which nothing is off.
#[repr(C, align(64))]
struct Local {
    /// One more than the number; 0 for none.
    number: Cell<u16>,
    bottom_halves: Cell<u32>,
    interrupts_off: Cell<usize>,
    sections: IrqSections,
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod place {
    use super::{Cell, IrqSections, Local};

    thread_local! {
        static LOCAL: Local = const { Local {
            number: Cell::new(0),
            bottom_halves: Cell::new(0),
            interrupts_off: Cell::new(0),
            sections: IrqSections::new(),
        } };
    }

    #[inline(always)]
    pub(super) fn with<R>(f: impl FnOnce(&Local) -> R) -> R {
        LOCAL.with(f)
    }
}

/// In a shared object a thread's variables are found by a call, which an inlined unlock must not have:
/// a kernel finds those of its CPU by a segment register. So here they lie at a fixed distance from the
/// thread's base, which the loader grants to small objects that are loaded later too.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod place {
    use super::Local;
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss.unlock_arm_local, \"awT\", @nobits",
        ".globl unlock_arm_local",
        ".hidden unlock_arm_local",
        ".type unlock_arm_local, @object",
        ".size unlock_arm_local, {size}",
        ".balign {align}",
        "unlock_arm_local:",
        ".zero {size}",
        ".popsection",
        size = const size_of::<Local>(),
        align = const align_of::<Local>(),
    );

    #[inline(always)]
    pub(super) fn with<R>(f: impl FnOnce(&Local) -> R) -> R {
        let local: *const Local;
        // SAFETY: reads the thread's base, whose first word is its own address, and the distance that
        // the loader has written. Both are the same for all of the thread's life.
        unsafe {
            asm!(
                "mov {local}, qword ptr [rip + unlock_arm_local@GOTTPOFF]",
                "add {local}, qword ptr fs:[0]",
                local = out(reg) local,
                options(pure, nomem, nostack),
            );
        }
        // SAFETY: the variable has the size and alignment of a `Local`, and lives as long as the
        // thread. It begins as zeros, which are integers, and only this thread finds it.
        f(unsafe { &*local })
    }
}

/// Keeps the compiler from joining what opens a section with what ends it, as a kernel does.
#[inline(always)]
fn barrier() {
    compiler_fence(Ordering::SeqCst);
}

/// Threads as CPUs that nothing interrupts.
pub enum Machine {}

// SAFETY: a thread is a CPU that runs one piece of code at a time and takes no lock in a signal
// handler. Its number is its own until its seat ends, when it holds no lock; nodes are found by
// number, and sections are the thread's.
unsafe impl Platform for Machine {
    const PARAVIRT: bool = false;

    fn cpu() -> Option<Cpu> {
        place::with(|local| local.number.get()).checked_sub(1).and_then(Cpu::new)
    }

    fn nodes(cpu: Cpu) -> &'static Nodes {
        &NODES[usize::from(cpu.number())]
    }

    #[inline(always)]
    fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R {
        place::with(|local| f(&local.sections))
    }

    #[inline(always)]
    fn preempt_disable() {}
    #[inline(always)]
    fn preempt_enable() {}

    #[inline(always)]
    fn bh_disable() {
        place::with(|local| local.bottom_halves.set(local.bottom_halves.get() + 1));
        barrier();
    }
    #[inline(always)]
    fn bh_enable() {
        barrier();
        place::with(|local| local.bottom_halves.set(local.bottom_halves.get() - 1));
    }

    #[inline(always)]
    fn irq_save() -> Flags {
        let flags = place::with(|local| Flags(local.interrupts_off.replace(1)));
        barrier();
        flags
    }
    #[inline(always)]
    fn irq_restore(flags: Flags) {
        barrier();
        place::with(|local| local.interrupts_off.set(flags.0));
    }

    fn relax() {
        spin_loop();
    }

    // Waiters spin: nobody parks.
    fn wait(_: &AtomicU32, _: u32) {}
    fn kick(_: &AtomicU32) {}
    fn barrier_all() {}
}

impl RwPlatform for Machine {
    fn in_interrupt() -> bool {
        false
    }
}

lock::spin_copies!(Machine);
lock::rw_copies!(Machine);
