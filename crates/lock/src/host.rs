//! User space as a machine: threads are CPUs, signals are interrupts, futexes park.
//!
//! A thread can be preempted while it holds a lock, so waiting only by spinning can take a time slice
//! for each turn: [`Std`] parks. [`StdNative`] spins, as a kernel does on a machine of its own, and is
//! for no more threads than CPUs.
//!
//! # Interrupts
//!
//! Turning interrupts off blocks all signals but those of a thread's own faults and the two that the
//! C library keeps for itself. It costs a system call on both sides; a section within another costs
//! none. A signal handler may take a lock with [`lock_irqsave`](crate::SpinLock::lock_irqsave), if
//! all others take that lock so too.
//!
//! # Bottom halves
//!
//! There are none here; the sections are counted, so that a program can see them
//! ([`Std::bh_depth`]).

use core::cell::Cell;
use core::sync::atomic::{AtomicU8, AtomicU64};

use rustix::thread::{MembarrierCommand, MembarrierQuery, futex, membarrier, membarrier_query};

use crate::node::Nodes;
use crate::platform::{Cpu, Flags, IrqSections, Level, Platform};
use crate::sync::{AtomicU32, Ordering};

/// Threads as CPUs, where waiters park.
#[derive(Debug)]
pub enum Std {}

/// Threads as CPUs, where waiters spin in turn.
#[derive(Debug)]
pub enum StdNative {}

/// How many threads have queue nodes at the same time. Further ones wait without a place in a queue.
const THREADS: usize = Cpu::COUNT as usize;

static NODES: [Nodes; THREADS] = [const { Nodes::new() }; THREADS];

/// Which numbers a thread has, one bit each: set by the thread that takes it, cleared when it ends.
/// Without a lock, as a signal handler may be the first to ask.
static TAKEN: [AtomicU64; THREADS.div_ceil(64)] =
    [const { AtomicU64::new(0) }; THREADS.div_ceil(64)];

/// Whether the kernel has a barrier across all threads.
///
/// | value | meaning | set by |
/// |---|---|---|
/// | 0 | nobody asked yet | initial |
/// | 1 | this process is registered for it | the first to sleep |
/// | 2 | it has none: who sleeps wakes up now and then | the same, or a barrier that fails |
static BARRIER: AtomicU8 = AtomicU8::new(0);
const REGISTERED: u8 = 1;
const NO_BARRIER: u8 = 2;

/// How long a lost wake-up can last where there is no barrier.
const LOST_NS: i64 = 1_000_000;

thread_local! {
    static NUMBER: Cell<Number> = const { Cell::new(Number::Unknown) };
    static AT_END: GiveBack = const { GiveBack };
    static SECTIONS: IrqSections = const { IrqSections::new() };
    static INTERRUPTS: Cell<u32> = const { Cell::new(0) };
    static BH_DEPTH: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone, Copy)]
enum Number {
    /// The thread has not asked yet.
    Unknown,
    Is(Cpu),
    /// There was none left, or the thread is at its end.
    Nothing,
}

/// Its drop gives the thread's number back.
struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        if let Number::Is(cpu) = NUMBER.replace(Number::Nothing) {
            give_back(cpu);
        }
    }
}

fn take_number() -> Option<Cpu> {
    for (index, word) in TAKEN.iter().enumerate() {
        let mut taken = word.load(Ordering::Relaxed);
        while taken != u64::MAX {
            let bit = taken.trailing_ones();
            // Acquire: the nodes are as the thread that had the number before left them.
            match word.compare_exchange_weak(
                taken,
                taken | 1 << bit,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                // The last bit belongs to no number: it stays taken.
                Ok(_) => return Cpu::new((index * 64) as u16 + bit as u16),
                Err(now) => taken = now,
            }
        }
    }
    None
}

fn give_back(cpu: Cpu) {
    let number = usize::from(cpu.number());
    TAKEN[number / 64].fetch_and(!(1 << (number % 64)), Ordering::Release);
}

#[cold]
fn first_number() -> Option<Cpu> {
    let number = take_number();
    // A signal handler may have come in between.
    if let Number::Is(earlier) = NUMBER.get() {
        if let Some(number) = number {
            give_back(number);
        }
        return Some(earlier);
    }
    // Without a destructor to give it back, the thread must not have it.
    let number = number.filter(|&cpu| {
        let kept = AT_END.try_with(|_| ()).is_ok();
        if !kept {
            give_back(cpu);
        }
        kept
    });
    NUMBER.set(number.map_or(Number::Nothing, Number::Is));
    number
}

/// Every signal but the faults of the thread itself and what the C library uses between threads (32
/// and 33), as the kernel's signal set.
const BLOCKED: u64 = {
    let faults = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
        libc::SIGABRT,
        32,
        33,
    ];
    let mut set = u64::MAX;
    let mut n = 0;
    while n < faults.len() {
        set &= !(1 << (faults[n] - 1));
        n += 1;
    }
    set
};

/// Changes the thread's signal mask; what it was. By system call, as the C library's function would
/// take sixteen times as many bits.
fn signal_mask(how: libc::c_int, set: u64) -> u64 {
    let mut old = 0_u64;
    // SAFETY: both sets are as long as is said, and live until it returns.
    let done = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const set, &raw mut old, size_of::<u64>())
    };
    debug_assert_eq!(done, 0, "a valid request on valid memory");
    old
}

fn barrier_all() {
    if BARRIER.load(Ordering::Relaxed) == 0 {
        let known = membarrier_query().contains(MembarrierQuery::PRIVATE_EXPEDITED);
        let registered = known && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
        let state = if registered { REGISTERED } else { NO_BARRIER };
        BARRIER.store(state, Ordering::Relaxed);
    }
    if BARRIER.load(Ordering::Relaxed) == REGISTERED
        && membarrier(MembarrierCommand::PrivateExpedited).is_err()
    {
        BARRIER.store(NO_BARRIER, Ordering::Relaxed);
    }
}

fn wait(word: &AtomicU32, expected: u32) {
    let lost = futex::Timespec { tv_sec: 0, tv_nsec: LOST_NS };
    let timeout = (BARRIER.load(Ordering::Relaxed) == NO_BARRIER).then_some(&lost);
    // Every error is a wait that ended early, which its caller expects.
    let _ = futex::wait(word, futex::Flags::PRIVATE, expected, timeout);
}

fn kick(word: &AtomicU32) {
    // It fails if the word is unmapped by now: then nobody waits there.
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// The two platforms differ in one constant.
macro_rules! platform {
    ($name:ident, $paravirt:literal) => {
        impl $name {
            /// Gives the calling thread its number. It otherwise gets it when it first waits in a
            /// queue; a thread whose signal handlers take locks must have it before, as getting it
            /// may allocate.
            pub fn start_thread() {
                let _ = <$name as Platform>::cpu();
            }

            /// Runs `f` as an interrupt: what a signal handler does, which cannot be told from other
            /// code. [`Checked`](crate::Checked) then knows it, and it can read a
            /// [`RwLock`](crate::RwLock) that the thread reads, even if a writer waits for the thread.
            pub fn interrupt<R>(f: impl FnOnce() -> R) -> R {
                /// Its drop ends the interrupt, by a panic too.
                struct End;
                impl Drop for End {
                    fn drop(&mut self) {
                        INTERRUPTS.set(INTERRUPTS.get() - 1);
                    }
                }
                INTERRUPTS.set(INTERRUPTS.get() + 1);
                let _end = End;
                f()
            }

            /// How many bottom-half sections of this thread are open.
            #[must_use]
            pub fn bh_depth() -> u32 {
                BH_DEPTH.get()
            }
        }

        // SAFETY: a thread is a CPU that runs one piece of code at a time, and its signal handlers,
        // each to its end. A thread keeps its number until it ends.
        unsafe impl Platform for $name {
            const PARAVIRT: bool = $paravirt;
            const OVERTAKEN: bool = $paravirt;

            fn cpu() -> Option<Cpu> {
                match NUMBER.get() {
                    Number::Is(cpu) => Some(cpu),
                    Number::Nothing => None,
                    Number::Unknown => first_number(),
                }
            }
            fn nodes(cpu: Cpu) -> &'static Nodes {
                &NODES[usize::from(cpu.number())]
            }
            #[inline(always)]
            fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R {
                SECTIONS.with(f)
            }
            #[inline(always)]
            fn preempt_disable() {}
            #[inline(always)]
            fn preempt_enable() {}
            #[inline(always)]
            fn bh_disable() {
                BH_DEPTH.set(BH_DEPTH.get() + 1);
            }
            #[inline(always)]
            fn bh_enable() {
                BH_DEPTH.set(BH_DEPTH.get() - 1);
            }
            fn bh_is_off() -> bool {
                BH_DEPTH.get() > 0
            }
            fn irq_save() -> Flags {
                if SECTIONS.with(IrqSections::depth) > 0 {
                    return Flags(BLOCKED as usize);
                }
                Flags(signal_mask(libc::SIG_BLOCK, BLOCKED) as usize)
            }
            fn irq_restore(flags: Flags) {
                signal_mask(libc::SIG_SETMASK, flags.0 as u64);
            }
            fn level() -> Level {
                if INTERRUPTS.get() > 0 { Level::Interrupt } else { Level::Task }
            }
            #[inline(always)]
            fn relax() {
                core::hint::spin_loop();
            }
            fn wait(word: &AtomicU32, expected: u32) {
                wait(word, expected);
            }
            fn kick(word: &AtomicU32) {
                kick(word);
            }
            fn barrier_all() {
                barrier_all();
            }
        }

        impl crate::RwPlatform for $name {
            fn in_interrupt() -> bool {
                INTERRUPTS.get() > 0
            }
        }

        crate::spin_copies!($name);
        crate::rw_copies!($name);
    };
}

platform!(Std, true);
platform!(StdNative, false);
