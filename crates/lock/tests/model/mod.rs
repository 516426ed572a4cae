//! A machine for models: loom's threads are CPUs, and what waits is seen by loom as blocked.
#![expect(unsafe_code, reason = "a platform vouches for itself")]

mod fair;

use std::cell::Cell;

use lock::sync::{AtomicU32, Ordering, Planted, fence};
use lock::{Cpu, Flags, IrqSections, Nodes, Platform};
use loom::sync::{Condvar, Mutex};
use loom::thread;

/// A defect to plant, as a type.
pub(crate) trait Fault: 'static {
    const PLANTED: Planted;
    /// Whether waiters park, if they can.
    const PARKS: bool = true;
}

/// That fault, where nobody parks though everybody could.
#[derive(Debug)]
pub(crate) struct Awake<F>(F);

impl<F: Fault> Fault for Awake<F> {
    const PLANTED: Planted = F::PLANTED;
    const PARKS: bool = false;
}

macro_rules! faults {
    ($($name:ident),*) => {
        $(
            /// The fault of this name.
            #[derive(Debug)]
            #[allow(dead_code, reason = "each test of a lock has faults of its own")]
            pub(crate) enum $name {}
            impl Fault for $name {
                const PLANTED: Planted = Planted::$name;
            }
        )*
    };
}
faults!(
    Nothing,
    RelaxedFastLock,
    FastLockIgnoresQueue,
    RelaxedClaim,
    RelaxedUnlock,
    HeadIgnoresPending,
    QueueOutOfTurn,
    PendingTakesInTwoSteps,
    NoGrant,
    NoKickAtGrant,
    NoKickAtUnlock
);

/// The machine, with parking or without, and a fault of the lock.
#[derive(Debug)]
pub(crate) struct Model<const PARAVIRT: bool, F>(F);

pub(crate) type Native<F = Nothing> = Model<false, F>;
pub(crate) type Paravirt<F = Nothing> = Model<true, F>;
/// Compiled as the paravirtual machine, and run on CPUs of its own.
pub(crate) type Switched<F = Nothing> = Model<true, Awake<F>>;

/// As many as the largest model has threads.
const CPUS: usize = 4;

loom::lazy_static! {
    static ref NODES: [Nodes; CPUS] = core::array::from_fn(|_| Nodes::new());
    static ref BED: Bed = Bed { door: Mutex::new(()), bell: Condvar::new() };
}

/// Where waiters sleep, whatever their word: a kick wakes all, which a platform may.
struct Bed {
    door: Mutex<()>,
    bell: Condvar,
}

loom::thread_local! {
    static CPU: Cell<u16> = Cell::new(0);
    static SECTIONS: IrqSections = IrqSections::new();
}

// SAFETY: a thread of a model is a CPU; `explore` gives each its number. There are no interrupts.
unsafe impl<const PARAVIRT: bool, F: Fault> Platform for Model<PARAVIRT, F> {
    const PARAVIRT: bool = PARAVIRT;
    const OVERTAKEN: bool = PARAVIRT && F::PARKS;
    fn parks() -> bool {
        F::PARKS
    }
    // Without a turn in between, which would hand the CPU to the one waited for.
    const SPINS: u32 = 1;
    const PLANTED: Planted = F::PLANTED;

    fn cpu() -> Option<Cpu> {
        Cpu::new(CPU.with(Cell::get))
    }
    fn nodes(cpu: Cpu) -> &'static Nodes {
        &NODES[usize::from(cpu.number())]
    }
    fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R {
        SECTIONS.with(f)
    }
    fn preempt_disable() {}
    fn preempt_enable() {}
    fn bh_disable() {}
    fn bh_enable() {}
    fn irq_save() -> Flags {
        Flags(0)
    }
    fn irq_restore(_: Flags) {}
    fn relax() {
        fair::spin(CPU.with(Cell::get));
    }
    fn wait(word: &AtomicU32, expected: u32) {
        assert!(PARAVIRT && F::PARKS, "only where waiters park");
        let door = BED.door.lock().expect("never poisoned");
        if word.load(Ordering::Relaxed) != expected {
            return;
        }
        if !fair::sleep() {
            // Loom would find it too, but from there what holds a node cannot unwind.
            drop(door);
            panic!("deadlock: whoever is not at its end sleeps");
        }
        drop(BED.bell.wait(door).expect("never poisoned"));
    }
    fn kick(_: &AtomicU32) {
        assert!(PARAVIRT && F::PARKS, "only where waiters park");
        let _door = BED.door.lock().expect("never poisoned");
        fair::kick();
        BED.bell.notify_all();
    }
    fn barrier_all() {
        assert!(PARAVIRT && F::PARKS, "only where waiters park");
        fence(Ordering::SeqCst);
    }
}

// SAFETY: the macro writes them.
unsafe impl<const PARAVIRT: bool, F: Fault> lock::SpinCopies for Model<PARAVIRT, F> {
    lock::spin_copies!(@functions);
}

/// Runs a model of `cpus` CPUs in every order of at most `preemptions` preemptions.
///
/// `model` is the work of CPU 0, which makes the others with [`on_cpu`] and calls [`end`] before it
/// joins them.
pub(crate) fn explore(cpus: u16, preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        fair::start(usize::from(cpus));
        // Before the threads, so that making them orders nothing between those.
        let _ = NODES.len();
        model();
    });
}

/// A thread that is the CPU `number`, which is not 0.
pub(crate) fn on_cpu(number: u16, work: impl FnOnce() + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        CPU.with(|cpu| cpu.set(number));
        work();
        fair::leave();
    })
}

/// CPU 0 has done its work, and waits for the others to have done theirs.
pub(crate) fn end(others: Vec<thread::JoinHandle<()>>) {
    fair::leave();
    for other in others {
        other.join().expect("its assertions hold");
    }
}
