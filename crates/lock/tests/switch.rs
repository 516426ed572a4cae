//! Locks compiled so that waiters can park, on machines that learn when they start whether they do.
//!
//! The tests hold a lock until a waiter has done what is asked about: no time decides.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
#![expect(unsafe_code, reason = "a platform vouches for itself")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use lock::{Cpu, Flags, IrqSections, Nodes, Platform, RwLock, RwPlatform, SpinLock, Std};

/// Looks before a waiter parks.
const SPINS: u32 = 8;

/// What a machine learnt when it started, and what its waiters did since.
struct Machine {
    /// Whether its CPUs are virtual. Set before anybody waits.
    virtual_cpus: OnceLock<bool>,
    turns: AtomicU64,
    sleeps: AtomicU64,
}

static MACHINES: [Machine; 2] = [const {
    Machine { virtual_cpus: OnceLock::new(), turns: AtomicU64::new(0), sleeps: AtomicU64::new(0) }
}; 2];

/// Machine number `N`; its CPUs are threads. One program for both kinds, so that no answer is a
/// constant.
struct Booted<const N: usize>;

impl<const N: usize> Booted<N> {
    fn boot(virtual_cpus: bool) -> &'static Machine {
        let machine = &MACHINES[N];
        machine.virtual_cpus.set(virtual_cpus).expect("a machine starts once");
        machine
    }
}

// SAFETY: as the standard platform has it; nobody takes a lock in an interrupt. Whether waiters park is
// written once, and who waits before that panics.
unsafe impl<const N: usize> Platform for Booted<N> {
    const PARAVIRT: bool = true;
    const SPINS: u32 = SPINS;

    fn parks() -> bool {
        *MACHINES[N].virtual_cpus.get().expect("started")
    }
    fn cpu() -> Option<Cpu> {
        Std::cpu()
    }
    fn nodes(cpu: Cpu) -> &'static Nodes {
        Std::nodes(cpu)
    }
    fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R {
        Std::with_irq_sections(f)
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
        MACHINES[N].turns.fetch_add(1, Ordering::Relaxed);
        // One who spins in turn would otherwise keep a CPU from the one whose turn it is.
        thread::yield_now();
    }
    fn wait(word: &AtomicU32, expected: u32) {
        MACHINES[N].sleeps.fetch_add(1, Ordering::Relaxed);
        Std::wait(word, expected);
    }
    fn kick(word: &AtomicU32) {
        Std::kick(word);
    }
    fn barrier_all() {
        Std::barrier_all();
    }
}

impl<const N: usize> RwPlatform for Booted<N> {
    fn in_interrupt() -> bool {
        false
    }
}

lock::spin_copies!(Booted<0>);
lock::rw_copies!(Booted<0>);
lock::spin_copies!(Booted<1>);
lock::rw_copies!(Booted<1>);

impl Machine {
    /// Turns and sleeps until now.
    fn waited(&self) -> (u64, u64) {
        (self.turns.load(Ordering::Relaxed), self.sleeps.load(Ordering::Relaxed))
    }

    /// Returns when the one who waits has had so many turns after `before` that it would have parked
    /// long ago.
    fn spins(&self, (before, _): (u64, u64)) {
        loop {
            let (turns, sleeps) = self.waited();
            assert_eq!(sleeps, 0, "waiters spin");
            if turns - before > 100 * u64::from(SPINS) {
                return;
            }
            thread::yield_now();
        }
    }

    /// Returns when somebody more sleeps than `before`.
    fn sleeps(&self, (turns_before, before): (u64, u64)) {
        loop {
            let (turns, sleeps) = self.waited();
            if sleeps > before {
                return;
            }
            assert!(
                turns - turns_before < 100 * u64::from(SPINS),
                "who waits sleeps after a while"
            );
            thread::yield_now();
        }
    }
}

/// Waits for what the machine does after it had done so much.
type Enough = fn(&Machine, (u64, u64));

impl Machine {
    /// Another thread wants what is `held` until it has waited `enough`.
    fn waits<T>(&self, held: T, wanted: impl FnOnce() + Send, enough: Enough) {
        // Before the other thread is there: it may wait, and sleep, before this one goes on.
        let before = self.waited();
        thread::scope(|scope| {
            let other = scope.spawn(wanted);
            enough(self, before);
            drop(held);
            other.join().expect("it gets what it wants");
        });
    }
}

/// Each kind of waiter waits `enough`; then threads count.
fn wait_and_count<const N: usize>(machine: &Machine, enough: Enough)
where
    Booted<N>: lock::RwCopies,
{
    let spin = SpinLock::<u64, Booted<N>>::new(0);
    let rw = RwLock::<u64, Booted<N>>::new(0);
    machine.waits(spin.lock(), || *spin.lock() += 1, enough);
    machine.waits(rw.write(), || assert_eq!(*rw.read(), 0), enough);
    machine.waits(rw.read(), || *rw.write() += 1, enough);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..1000).for_each(|_| *spin.lock() += 1));
            scope.spawn(|| (0..1000).for_each(|_| *rw.write() += 1));
        }
    });
    assert_eq!((*spin.lock(), *rw.write()), (3001, 3001));
}

#[test]
fn on_cpus_of_its_own_nobody_sleeps() {
    let machine = Booted::<0>::boot(false);
    wait_and_count::<0>(machine, Machine::spins);
    assert_eq!(machine.waited().1, 0);
}

#[test]
fn on_virtual_cpus_those_who_wait_sleep() {
    let machine = Booted::<1>::boot(true);
    wait_and_count::<1>(machine, Machine::sleeps);
}
