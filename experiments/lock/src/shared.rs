//! Locks that many read at a time.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use experiments::{Arm, Work, place};
use lock::{RwLock, Std, StdNative};

use crate::at_each_place;
use crate::exclusive::all_done;

/// The queued read-write lock whose waiters spin.
pub(crate) const OURS_NATIVE: &str = "lock, native";
/// The same, whose waiters park.
const OURS: &str = "lock, parks";

/// A number behind a lock.
trait Shared: Send + Sync + 'static {
    /// Free, with zero in it.
    fn new() -> Self;
    /// What it is, read under the lock.
    fn get(&self) -> u64;
    /// Adds one, under the lock; what it is then.
    fn add(&self) -> u64;
}

macro_rules! shared {
    ($($lock:ty, $new:expr, $it:ident => $read:expr, $write:expr;)*) => {
        $(impl Shared for $lock {
            fn new() -> Self {
                $new(0)
            }
            #[inline(always)]
            fn get(&self) -> u64 {
                let $it = self;
                *$read
            }
            #[inline(always)]
            fn add(&self) -> u64 {
                let $it = self;
                let mut value = $write;
                *value += 1;
                *value
            }
        })*
    };
}
shared! {
    RwLock<u64, StdNative>, RwLock::new, lock => lock.read(), lock.write();
    RwLock<u64, Std>, RwLock::new, lock => lock.read(), lock.write();
    spin::rwlock::RwLock<u64>, Self::new, lock => lock.read(), lock.write();
    spinning_top::RwSpinlock<u64>, Self::new, lock => lock.read(), lock.write();
    parking_lot::RwLock<u64>, Self::new, lock => lock.read(), lock.write();
    std::sync::RwLock<u64>, Self::new, lock =>
        lock.read().expect("nobody panics"), lock.write().expect("nobody panics");
}

/// Each thread reads as often. On lines of the cache of its own.
#[repr(align(128))]
struct Reads<L, const AT: u32> {
    lock: L,
}

impl<L: Shared, const AT: u32> Work for Reads<L, AT> {
    fn begin(&self, _: u32) {}

    /// What was read last.
    #[inline(never)]
    fn run(&self, operations: u64) -> u64 {
        place::<AT>();
        let lock = black_box(&self.lock);
        let mut value = u64::MAX;
        for _ in 0..operations {
            value = black_box(lock.get());
        }
        value
    }

    fn check(&self, _: u64, seen: &[u64]) -> Result<(), String> {
        let read = seen.iter().all(|&value| value == 0);
        read.then_some(()).ok_or(format!("{seen:?} were read, where nothing was written"))
    }
}

/// The threads read seven times and write once, until the sum is reached. On lines of the cache of its
/// own.
#[repr(align(128))]
struct Mixed<L> {
    lock: L,
    /// What it was before the run.
    before: AtomicU64,
    threads: AtomicU32,
}

impl<L: Shared> Work for Mixed<L> {
    fn begin(&self, threads: u32) {
        self.threads.store(threads, Ordering::Relaxed);
        self.before.store(self.lock.get(), Ordering::Relaxed);
    }

    #[inline(never)]
    fn run(&self, operations: u64) -> u64 {
        let lock = black_box(&self.lock);
        let all = operations * u64::from(self.threads.load(Ordering::Relaxed));
        let goal = self.before.load(Ordering::Relaxed) + all;
        let mut done = 0;
        loop {
            for _ in 0..7 {
                black_box(lock.get());
            }
            if lock.add() > goal {
                return done;
            }
            done += 1;
        }
    }

    fn check(&self, operations: u64, seen: &[u64]) -> Result<(), String> {
        all_done(operations, seen, self.lock.get() - self.before.load(Ordering::Relaxed))
    }

    fn shares(&self) -> bool {
        true
    }
}

fn read<L: Shared>(name: &str) -> Arm {
    at_each_place!(name, AT => Reads::<L, AT> { lock: L::new() })
}

fn mix<L: Shared>(name: &str) -> Arm {
    let mixed = Mixed { lock: L::new(), before: AtomicU64::new(0), threads: AtomicU32::new(0) };
    Arm::new(name, vec![Box::new(mixed)])
}

/// Locks that are only read, `spin`'s first.
pub(crate) fn reads() -> Vec<Arm> {
    vec![
        read::<spin::rwlock::RwLock<u64>>("spin"),
        read::<spin::rwlock::RwLock<u64>>("spin again").control(),
        read::<RwLock<u64, StdNative>>(OURS_NATIVE),
        read::<RwLock<u64, Std>>(OURS),
        read::<spinning_top::RwSpinlock<u64>>("spinning_top"),
        read::<parking_lot::RwLock<u64>>("parking_lot"),
        read::<std::sync::RwLock<u64>>("std"),
    ]
}

/// Locks that are written too, `spin`'s first.
pub(crate) fn mixed() -> Vec<Arm> {
    vec![
        mix::<spin::rwlock::RwLock<u64>>("spin"),
        mix::<spin::rwlock::RwLock<u64>>("spin again").control(),
        mix::<RwLock<u64, StdNative>>(OURS_NATIVE),
        mix::<RwLock<u64, Std>>(OURS),
        mix::<spinning_top::RwSpinlock<u64>>("spinning_top"),
        mix::<parking_lot::RwLock<u64>>("parking_lot"),
        mix::<std::sync::RwLock<u64>>("std"),
    ]
}

/// Those that do not wait for one that cannot run.
pub(crate) fn overcommitted() -> Vec<Arm> {
    vec![
        mix::<parking_lot::RwLock<u64>>("parking_lot"),
        mix::<parking_lot::RwLock<u64>>("parking_lot again").control(),
        mix::<RwLock<u64, Std>>(OURS),
        mix::<std::sync::RwLock<u64>>("std"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_reads_and_writes_and_a_missing_write_is_seen() {
        for arm in mixed().into_iter().chain(overcommitted()) {
            for copy in &arm.copies {
                copy.begin(1);
                let seen = copy.run(100);
                assert_eq!(copy.check(100, &[seen]), Ok(()), "{}", arm.name);
                assert!(copy.check(101, &[seen]).is_err());
            }
        }
        for arm in reads() {
            for copy in &arm.copies {
                copy.begin(1);
                let seen = copy.run(100);
                assert_eq!(copy.check(100, &[seen]), Ok(()), "{}", arm.name);
                assert!(copy.check(100, &[seen + 1]).is_err());
            }
        }
    }
}
