//! A platform whose waiters are not to spin at all parks them at once, and they get the lock all the same.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
#![expect(unsafe_code, reason = "a platform vouches for itself")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lock::{Cpu, Flags, IrqSections, Nodes, Platform, Queued, QueuedRw, RwLock, SpinLock, Std};

static SLEEPS: AtomicU32 = AtomicU32::new(0);

struct Impatient;

// SAFETY: as the standard platform has it; nobody takes a lock in an interrupt.
unsafe impl Platform for Impatient {
    const PARAVIRT: bool = true;
    const SPINS: u32 = 0;

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
        Std::relax();
    }
    fn wait(word: &AtomicU32, expected: u32) {
        SLEEPS.fetch_add(1, Ordering::Relaxed);
        Std::wait(word, expected);
    }
    fn kick(word: &AtomicU32) {
        Std::kick(word);
    }
    fn barrier_all() {
        Std::barrier_all();
    }
}

impl lock::RwPlatform for Impatient {
    fn in_interrupt() -> bool {
        false
    }
}

lock::spin_copies!(Impatient);
lock::rw_copies!(Impatient);

/// Calls `f` on three threads, which all wait; `free` lets the first of them in once somebody sleeps. A
/// waiter that never takes the lock turns for ever, so here it is given up after a minute.
fn all_get_through(f: fn(), free: impl FnOnce()) {
    let before = SLEEPS.load(Ordering::Relaxed);
    let waiters = [(); 3].map(|()| thread::spawn(f));
    while SLEEPS.load(Ordering::Relaxed) == before {
        thread::yield_now();
    }
    free();
    let freed = Instant::now();
    while !waiters.iter().all(JoinHandle::is_finished) {
        assert!(freed.elapsed() < Duration::from_secs(60), "a waiter takes a lock that is free");
        thread::yield_now();
    }
    for waiter in waiters {
        waiter.join().expect("no panic");
    }
}

#[test]
fn who_is_not_to_spin_gets_the_lock_all_the_same() {
    static SPIN: SpinLock<u32, Impatient, Queued> = SpinLock::new(0);
    static RW: RwLock<u32, Impatient, QueuedRw> = RwLock::new(0);
    let held = SPIN.lock();
    all_get_through(|| *SPIN.lock() += 1, || drop(held));
    assert_eq!(*SPIN.lock(), 3);
    let held = RW.write();
    all_get_through(|| *RW.write() += 1, || drop(held));
    let held = RW.write();
    all_get_through(|| assert_eq!(*RW.read(), 3), || drop(held));
    assert!(!RW.is_locked());
}
