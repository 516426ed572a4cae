//! Locks under torture, by a number of operations; and what is no lock, which must be found out.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]

#[path = "../examples/locktorture/engine.rs"]
#[expect(dead_code, reason = "the program has options that tests have no use for")]
mod engine;

use engine::{Busted, GivesWay, Outcome, Plan, Tortured, Until, torture};
use lock::{Platform, QueuedRw, RawRw, RwLock, SpinLock, Std};

const PLAN: Plan = Plan {
    writers: 2,
    readers: 0,
    until: Until::Operations(300_000),
    round: 20_000,
    shuffle: true,
    onoff: true,
    seed: 1,
};

fn survives(lock: &impl Tortured, plan: Plan) {
    let outcome = torture(lock, &plan);
    assert!(outcome.is_clean(), "{outcome:?}");
    // It was tortured.
    assert!(outcome.moved > 0 && outcome.replaced > 0, "{outcome:?}");
    assert!(outcome.writes.iter().chain(&outcome.reads).all(|&had| had > 0), "{outcome:?}");
}

#[test]
fn a_spinlock_survives() {
    survives(&SpinLock::<(), Std>::new(()), Plan { writers: 8, ..PLAN });
}

#[test]
fn a_spinlock_without_parking_survives() {
    survives(&SpinLock::<(), GivesWay>::new(()), Plan { writers: 8, ..PLAN });
}

#[test]
fn a_read_write_lock_survives() {
    survives(&RwLock::<(), Std>::new(()), Plan { writers: 3, readers: 5, ..PLAN });
}

#[test]
fn a_read_write_lock_without_parking_survives() {
    survives(&RwLock::<(), GivesWay>::new(()), Plan { writers: 3, readers: 5, ..PLAN });
}

fn is_found_out(lock: &impl Tortured, plan: Plan) {
    let outcome = torture(lock, &Plan { until: Until::Operations(100_000_000), ..plan });
    assert!(!outcome.is_clean(), "{outcome:?}");
}

#[test]
fn no_lock_is_found_out() {
    is_found_out(&Busted, PLAN);
    is_found_out(&Busted, Plan { writers: 1, readers: 1, ..PLAN });
}

/// A queued read-write lock that its readers take for granted.
#[derive(Default)]
struct ReadersWalkIn(QueuedRw);

// SAFETY: there is none, which is the point; what it is asked to protect is made of atomics.
#[expect(unsafe_code, reason = "a lock vouches for itself, and this one lies")]
unsafe impl<P: Platform> RawRw<P> for ReadersWalkIn
where
    QueuedRw: RawRw<P>,
{
    const UNLOCKED: Self = Self(QueuedRw::new());
    fn read(&self) {}
    fn write(&self) {
        RawRw::<P>::write(&self.0);
    }
    fn try_read(&self) -> bool {
        true
    }
    fn try_write(&self) -> bool {
        RawRw::<P>::try_write(&self.0)
    }
    unsafe fn unlock_read(&self) {}
    unsafe fn unlock_write(&self) {
        // SAFETY: as the caller says.
        unsafe { RawRw::<P>::unlock_write(&self.0) };
    }
    unsafe fn downgrade(&self) {
        // SAFETY: as the caller says.
        unsafe { RawRw::<P>::unlock_write(&self.0) };
    }
    fn is_written(&self) -> bool {
        RawRw::<P>::is_written(&self.0)
    }
    fn is_locked(&self) -> bool {
        RawRw::<P>::is_locked(&self.0)
    }
}

#[test]
fn a_lock_that_readers_take_for_granted_is_found_out() {
    let lock = RwLock::<(), Std, ReadersWalkIn>::new(());
    is_found_out(&lock, Plan { writers: 1, readers: 1, ..PLAN });
}

#[test]
fn unfairness_is_the_most_by_the_least() {
    assert_eq!(Outcome::unfairness(&[3, 2, 6]), 3.0);
    assert_eq!(Outcome::unfairness(&[3, 0]), f64::INFINITY);
    assert_eq!(Outcome::unfairness(&[]), 1.0);
}
