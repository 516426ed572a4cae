//! Locks that one has at a time.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use experiments::{Arm, Work, place};
use lock::{SpinLock, Std, StdNative};

use crate::at_each_place;

/// The queued spinlock whose waiters spin.
pub(crate) const OURS_NATIVE: &str = "lock, native";
/// The same, whose waiters park.
pub(crate) const OURS: &str = "lock, parks";

/// A number behind a lock.
pub(crate) trait Exclusive: Send + Sync + 'static {
    /// Free, with zero in it.
    fn new() -> Self;
    /// Adds one, under the lock; what it is then.
    fn add(&self) -> u64;
}

/// The least that a lock does: a swap to take it, a store to give it back.
struct SwapAndStore {
    held: AtomicBool,
    value: AtomicU64,
}

impl Exclusive for SwapAndStore {
    fn new() -> Self {
        Self { held: AtomicBool::new(false), value: AtomicU64::new(0) }
    }
    #[inline(always)]
    fn add(&self) -> u64 {
        while self.held.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let value = self.value.load(Ordering::Relaxed) + 1;
        self.value.store(value, Ordering::Relaxed);
        self.held.store(false, Ordering::Release);
        value
    }
}

macro_rules! exclusive {
    ($($lock:ty, $new:expr, $guard:ident => $locked:expr;)*) => {
        $(impl Exclusive for $lock {
            fn new() -> Self {
                $new(0)
            }
            #[inline(always)]
            fn add(&self) -> u64 {
                let $guard = self;
                let mut value = $locked;
                *value += 1;
                *value
            }
        })*
    };
}
exclusive! {
    SpinLock<u64, StdNative>, SpinLock::new, lock => lock.lock();
    SpinLock<u64, Std>, SpinLock::new, lock => lock.lock();
    spin::mutex::SpinMutex<u64>, Self::new, lock => lock.lock();
    spin::mutex::TicketMutex<u64>, Self::new, lock => lock.lock();
    spinning_top::Spinlock<u64>, Self::new, lock => lock.lock();
    parking_lot::Mutex<u64>, Self::new, lock => lock.lock();
    std::sync::Mutex<u64>, Self::new, lock => lock.lock().expect("nobody panics");
    kspin::SpinRaw<u64>, Self::new, lock => lock.lock();
}

impl Exclusive for mcslock::raw::spins::Mutex<u64> {
    fn new() -> Self {
        Self::new(0)
    }
    #[inline(always)]
    fn add(&self) -> u64 {
        let mut node = mcslock::raw::MutexNode::new();
        self.lock_with_then(&mut node, |value| {
            *value += 1;
            *value
        })
    }
}

/// Each thread adds as often. On lines of the cache of its own.
#[repr(align(128))]
struct Additions<L, const AT: u32> {
    lock: L,
    /// What it was before the run.
    before: AtomicU64,
}

impl<L: Exclusive, const AT: u32> Work for Additions<L, AT> {
    fn begin(&self, _: u32) {
        self.before.store(self.lock.add(), Ordering::Relaxed);
    }

    #[inline(never)]
    fn run(&self, operations: u64) -> u64 {
        place::<AT>();
        let lock = black_box(&self.lock);
        for _ in 0..operations {
            lock.add();
        }
        operations
    }

    fn check(&self, operations: u64, seen: &[u64]) -> Result<(), String> {
        let done = self.lock.add() - self.before.load(Ordering::Relaxed) - 1;
        let asked = operations * seen.len() as u64;
        (done == asked).then_some(()).ok_or(format!("{done} additions are seen, of {asked}"))
    }
}

/// The threads add until the sum is reached: while one is served, all contend. Between two additions a
/// thread does about `WORK` steps of its own. On lines of the cache of its own.
#[repr(align(128))]
struct Contest<L, const WORK: u32> {
    lock: L,
    /// What it was before the run.
    before: AtomicU64,
    threads: AtomicU32,
}

impl<L: Exclusive, const WORK: u32> Work for Contest<L, WORK> {
    fn begin(&self, threads: u32) {
        self.threads.store(threads, Ordering::Relaxed);
        self.before.store(self.lock.add(), Ordering::Relaxed);
    }

    #[inline(never)]
    fn run(&self, operations: u64) -> u64 {
        let lock = black_box(&self.lock);
        let all = operations * u64::from(self.threads.load(Ordering::Relaxed));
        let goal = self.before.load(Ordering::Relaxed) + all;
        let mut done = 0;
        // Every thread its own: the address is of its stack.
        let mut drawn = (&raw const done).addr() as u64 | 1;
        while lock.add() <= goal {
            done += 1;
            work::<WORK>(&mut drawn);
        }
        done
    }

    fn check(&self, operations: u64, seen: &[u64]) -> Result<(), String> {
        let added = self.lock.add() - self.before.load(Ordering::Relaxed) - 1;
        all_done(operations, seen, added)
    }

    fn shares(&self) -> bool {
        true
    }
}

/// Between half and one and a half times as many steps, each of which takes the last one's outcome:
/// some 0.7 ns. Drawn anew each time, so that the threads do not fall into step.
#[inline(always)]
fn work<const STEPS: u32>(drawn: &mut u64) {
    if STEPS == 0 {
        return;
    }
    let mut number = *drawn;
    for _ in 0..u64::from(STEPS / 2) + number % u64::from(STEPS) {
        number = black_box(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    *drawn = number ^ number >> 32;
}

/// Whether threads that share the operations out among them did them all, and each one more, by which
/// it saw that they were done.
pub(crate) fn all_done(operations: u64, seen: &[u64], added: u64) -> Result<(), String> {
    let (threads, done) = (seen.len() as u64, seen.iter().sum::<u64>());
    let asked = operations * threads;
    (done == asked && added == asked + threads)
        .then_some(())
        .ok_or_else(|| format!("{added} additions are seen and {done} said, of {asked}"))
}

fn alone_arm<L: Exclusive>(name: &str) -> Arm {
    at_each_place!(name, AT => Additions::<L, AT> { lock: L::new(), before: AtomicU64::new(0) })
}

fn arm<L: Exclusive, const WORK: u32>(name: &str) -> Arm {
    let (before, threads) = (AtomicU64::new(0), AtomicU32::new(0));
    Arm::new(name, vec![Box::new(Contest::<L, WORK> { lock: L::new(), before, threads })])
}

/// All, and the least that there is.
pub(crate) fn alone() -> Vec<Arm> {
    vec![
        alone_arm::<SwapAndStore>("swap and store"),
        alone_arm::<SwapAndStore>("swap and store again").control(),
        alone_arm::<SpinLock<u64, StdNative>>(OURS_NATIVE),
        alone_arm::<SpinLock<u64, Std>>(OURS),
        alone_arm::<spin::mutex::TicketMutex<u64>>("spin, ticket"),
        alone_arm::<mcslock::raw::spins::Mutex<u64>>("mcslock"),
        alone_arm::<spin::mutex::SpinMutex<u64>>("spin"),
        alone_arm::<spinning_top::Spinlock<u64>>("spinning_top"),
        alone_arm::<kspin::SpinRaw<u64>>("kspin"),
        alone_arm::<parking_lot::Mutex<u64>>("parking_lot"),
        alone_arm::<std::sync::Mutex<u64>>("std"),
    ]
}

/// All, the fairest first.
pub(crate) fn contended<const WORK: u32>() -> Vec<Arm> {
    vec![
        arm::<spin::mutex::TicketMutex<u64>, WORK>("spin, ticket"),
        arm::<spin::mutex::TicketMutex<u64>, WORK>("spin, ticket again").control(),
        arm::<SpinLock<u64, StdNative>, WORK>(OURS_NATIVE),
        arm::<SpinLock<u64, Std>, WORK>(OURS),
        arm::<mcslock::raw::spins::Mutex<u64>, WORK>("mcslock"),
        arm::<spin::mutex::SpinMutex<u64>, WORK>("spin"),
        arm::<spinning_top::Spinlock<u64>, WORK>("spinning_top"),
        arm::<kspin::SpinRaw<u64>, WORK>("kspin"),
        arm::<parking_lot::Mutex<u64>, WORK>("parking_lot"),
        arm::<std::sync::Mutex<u64>, WORK>("std"),
    ]
}

/// Those that do not wait for one that cannot run.
pub(crate) fn overcommitted() -> Vec<Arm> {
    vec![
        arm::<parking_lot::Mutex<u64>, 0>("parking_lot"),
        arm::<parking_lot::Mutex<u64>, 0>("parking_lot again").control(),
        arm::<SpinLock<u64, Std>, 0>(OURS),
        arm::<std::sync::Mutex<u64>, 0>("std"),
        arm::<spin::mutex::SpinMutex<u64>, 0>("spin"),
        arm::<spinning_top::Spinlock<u64>, 0>("spinning_top"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_counts_and_a_missing_addition_is_seen() {
        for arm in alone()
            .into_iter()
            .chain(contended::<0>())
            .chain(contended::<9>())
            .chain(overcommitted())
        {
            for copy in &arm.copies {
                copy.begin(1);
                let seen = copy.run(100);
                assert_eq!(seen, 100, "{}", arm.name);
                assert_eq!(copy.check(100, &[seen]), Ok(()), "{}", arm.name);
                assert!(copy.check(100, &[seen]).is_err(), "the check itself added one");
            }
        }
    }
}
