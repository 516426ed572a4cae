//! What a lock promises, on threads as CPUs.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
#![expect(
    unsafe_code,
    reason = "a lock that does not lock, which must be found out, and one made of zeroes"
)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use lock::{
    Bh, Checked, Context, Cpu, Flags, Irq, IrqSave, IrqSections, Nodes, Plain, Platform, Queued,
    RawSpin, SpinLock, Std, StdNative, TestAndSet, Ticket,
};

/// `threads` threads change a pair of numbers together, `rounds` times each; whether they are always
/// found equal, and nothing is lost.
fn excludes<P: Platform, R: RawSpin<P>, C: Context>(threads: u64, rounds: u64) -> bool {
    let pair = SpinLock::<(u64, u64), P, R>::new((0, 0));
    let start = Barrier::new(threads as usize);
    let equal = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    (0..rounds).all(|round| {
                        let mut pair = pair.lock_in::<C>();
                        let equal = pair.0 == pair.1;
                        pair.0 = std::hint::black_box(pair.0 + 1);
                        if round % 1024 == 0 {
                            // In the middle of a section, even where all threads share a CPU.
                            thread::yield_now();
                        }
                        pair.1 += 1;
                        equal
                    })
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().expect("no panic")).fold(true, |all, one| all & one)
    });
    equal && pair.into_inner() == (threads * rounds, threads * rounds)
}

fn excludes_in_every_context<P: Platform, R: RawSpin<P>>(threads: u64, rounds: u64) {
    assert!(excludes::<P, R, Plain>(threads, rounds));
    assert!(excludes::<P, R, Bh>(threads, rounds));
    assert!(excludes::<P, R, Irq>(threads, rounds / 10));
    assert!(excludes::<P, R, IrqSave>(threads, rounds / 10));
}

#[test]
fn one_thread_at_a_time() {
    excludes_in_every_context::<Std, Queued>(2, 50_000);
    excludes_in_every_context::<StdNative, Queued>(2, 20_000);
}

#[test]
fn the_locks_to_compare_with_lock_too() {
    assert!(excludes::<StdNative, Ticket, Plain>(2, 10_000));
    assert!(excludes::<StdNative, TestAndSet, Plain>(2, 50_000));
    excludes_in_every_context::<Std, Checked<Queued>>(4, 10_000);
}

/// Threads beyond the last number have no node: they get through all the same.
#[test]
fn waiting_without_a_node() {
    excludes_in_every_context::<Unnumbered<true>, Queued>(2, 20_000);
    excludes_in_every_context::<Unnumbered<false>, Queued>(2, 20_000);
}

/// Whether two threads that count under the lock lose something. Atomics, as a race of anything else
/// may do whatever it likes.
fn loses<R: RawSpin<StdNative>>(rounds: u64) -> bool {
    let count = SpinLock::<AtomicU64, StdNative, R>::new(AtomicU64::new(0));
    let start = Barrier::new(2);
    let work = || {
        start.wait();
        for _ in 0..rounds {
            let count = count.lock();
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        // A scope that ends is not enough: a sanitizer knows the order of joined threads only.
        other.join().expect("it counts");
    });
    count.into_inner().into_inner() != 2 * rounds
}

/// The negative control: if this passed for a lock, the tests here would show nothing. Two threads may
/// happen not to meet, so it has many tries.
#[test]
fn a_lock_that_does_not_lock_is_found_out() {
    assert!((0..1000).any(|_| loses::<Busted>(100_000)));
    assert!(!loses::<Queued>(100_000));
}

#[test]
fn four_bytes_of_zero_are_a_free_lock() {
    // SAFETY: the documentation says so.
    let lock: Queued = unsafe { core::mem::zeroed() };
    assert_eq!(size_of_val(&lock), 4);
    assert!(!RawSpin::<Std>::is_locked(&lock));
    assert!(RawSpin::<Std>::try_lock(&lock));
    assert!(!RawSpin::<Std>::try_lock(&lock));
    // SAFETY: locked above.
    unsafe { RawSpin::<Std>::unlock(&lock) };
    RawSpin::<Std>::lock(&lock);
}

#[test]
fn more_threads_than_cpus_get_through() {
    excludes_in_every_context::<Std, Queued>(8, 20_000);
}

/// Says it is taken, always.
struct Busted;

// SAFETY: not so, which is what it is for. The value behind it is an atomic.
unsafe impl<P: Platform> RawSpin<P> for Busted {
    const UNLOCKED: Self = Self;
    fn lock(&self) {}
    fn try_lock(&self) -> bool {
        true
    }
    unsafe fn unlock(&self) {}
    fn is_locked(&self) -> bool {
        false
    }
}

/// Threads as CPUs that no lock word can name.
struct Unnumbered<const PARAVIRT: bool>;

// SAFETY: no CPU has a number; all else is as the standard platform has it.
unsafe impl<const PARAVIRT: bool> Platform for Unnumbered<PARAVIRT> {
    const PARAVIRT: bool = PARAVIRT;
    fn cpu() -> Option<Cpu> {
        None
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
        Std::irq_save()
    }
    fn irq_restore(flags: Flags) {
        Std::irq_restore(flags);
    }
    fn relax() {
        Std::relax();
    }
    fn wait(word: &AtomicU32, expected: u32) {
        Std::wait(word, expected);
    }
    fn kick(word: &AtomicU32) {
        Std::kick(word);
    }
    fn barrier_all() {
        Std::barrier_all();
    }
}

lock::spin_copies!(Unnumbered<true>);
lock::spin_copies!(Unnumbered<false>);
