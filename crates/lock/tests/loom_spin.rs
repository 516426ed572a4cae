//! The queued spinlock under every interleaving and every permitted stale read, for two to four
//! CPUs: one holder at a time, who sees what the one before did; nobody waits for ever; the native
//! lock serves in turn. Run by `scripts/test-loom unlikely-lock`.
//!
//! The value is in a cell that panics at an access which nothing orders after one that excludes it.
//! Each defect that the models are there to find is planted in the lock itself, and must be found.
#![cfg(loom)]
#![expect(unsafe_code, reason = "the value is behind a cell that is checked by the model")]

mod model;

use std::sync::Arc;

use lock::sync::{AtomicU32, Ordering, fence};
use lock::{Platform, Queued, RawSpin, SpinCopies, SpinLock};
use loom::cell::UnsafeCell;
use model::*;

type Checked<P> = SpinLock<UnsafeCell<u32>, P>;

fn free<P: SpinCopies>() -> Arc<Checked<P>> {
    Arc::new(SpinLock::new(UnsafeCell::new(0)))
}

fn add<P: SpinCopies>(lock: &Checked<P>) {
    let value = lock.lock();
    // SAFETY: the lock is held; the cell checks it.
    value.with_mut(|value| unsafe { *value += 1 });
}

/// `cpus` CPUs count, each `rounds` times.
fn count<P: SpinCopies>(cpus: u16, rounds: u32, preemptions: usize) {
    explore(cpus, preemptions, move || {
        let lock = free::<P>();
        let others: Vec<_> = (1..cpus)
            .map(|cpu| {
                let lock = Arc::clone(&lock);
                on_cpu(cpu, move || (0..rounds).for_each(|_| add(&lock)))
            })
            .collect();
        (0..rounds).for_each(|_| add(&lock));
        end(others);
        let value = lock.lock();
        // SAFETY: the lock is held; the cell checks it.
        assert_eq!(value.with(|value| unsafe { *value }), u32::from(cpus) * rounds);
    });
}

#[test]
fn two_cpus_twice_native() {
    count::<Native>(2, 2, 3);
}

#[test]
fn three_cpus_native() {
    count::<Native>(3, 1, 1);
}

/// With four, somebody in the queue has a successor.
#[test]
fn four_cpus_native() {
    count::<Native>(4, 1, 0);
}

#[test]
fn two_cpus_twice_paravirtual() {
    count::<Paravirt>(2, 2, 3);
}

#[test]
fn three_cpus_paravirtual() {
    count::<Paravirt>(3, 1, 2);
}

#[test]
fn four_cpus_paravirtual() {
    count::<Paravirt>(4, 1, 0);
}

/// Compiled so that waiters can park, on a machine where they do not: the platform panics if it is
/// asked to let one sleep, or to wake one.
#[test]
fn two_cpus_twice_switched() {
    count::<Switched>(2, 2, 3);
}

#[test]
fn three_cpus_switched() {
    count::<Switched>(3, 1, 1);
}

#[test]
fn four_cpus_switched() {
    count::<Switched>(4, 1, 0);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_switched_unlock_that_does_not_release_is_found() {
    count::<Switched<RelaxedUnlock>>(2, 1, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_lock_that_does_not_acquire_is_found() {
    count::<Native<RelaxedFastLock>>(2, 1, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_waiter_that_does_not_acquire_is_found() {
    count::<Native<RelaxedClaim>>(2, 1, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_parked_waiter_that_does_not_acquire_is_found() {
    count::<Paravirt<RelaxedClaim>>(2, 1, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn an_unlock_that_does_not_release_is_found() {
    count::<Native<RelaxedUnlock>>(2, 1, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_pending_waiter_that_takes_the_lock_in_two_steps_is_found() {
    count::<Native<PendingTakesInTwoSteps>>(3, 1, 3);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_successor_that_is_not_granted_is_found() {
    count::<Paravirt<NoGrant>>(3, 1, 2);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_missing_kick_of_the_successor_is_found() {
    count::<Paravirt<NoKickAtGrant>>(3, 1, 2);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_missing_kick_of_the_sleeping_head_is_found() {
    count::<Paravirt<NoKickAtUnlock>>(2, 1, 2);
}

/// Two CPUs come one after the other while a third holds the lock: the first is the pending waiter,
/// the second the queue, both of which are seen in the word. The third frees the lock, and may come
/// `again` when the first has been served.
fn serve_in_turn<P: SpinCopies>(again: bool, preemptions: usize) {
    const PENDING: u32 = 1 << 16;
    const CPU: u32 = 20;
    explore(3, preemptions, move || {
        let lock = Arc::new(Queued::new());
        let served = Arc::new(std::sync::Mutex::new(Vec::new()));
        let serve = |cpu| {
            let (lock, served) = (Arc::clone(&lock), Arc::clone(&served));
            move || {
                RawSpin::<P>::lock(&*lock);
                served.lock().expect("never poisoned").push(cpu);
                // SAFETY: locked above.
                unsafe { RawSpin::<P>::unlock(&*lock) };
            }
        };
        RawSpin::<P>::lock(&*lock);
        let first = on_cpu(1, serve(1));
        while lock.bits() & PENDING == 0 {
            P::relax();
        }
        let second = on_cpu(2, serve(2));
        while lock.bits() >> CPU == 0 {
            P::relax();
        }
        // SAFETY: locked above.
        unsafe { RawSpin::<P>::unlock(&*lock) };
        if again {
            while served.lock().expect("never poisoned").is_empty() {
                P::relax();
            }
            serve(0)();
        }
        end(vec![first, second]);
        let all = [1, 2, 0];
        let all = if again { &all[..] } else { &all[..2] };
        assert_eq!(*served.lock().expect("never poisoned"), all);
    });
}

/// Three CPUs come while a fourth holds the lock: the pending waiter, and two in the queue, each of
/// which is seen in the word before the next comes.
fn serve_the_queue_in_turn<F: Fault>() {
    const PENDING: u32 = 1 << 16;
    const CPU: u32 = 20;
    explore(4, 0, || {
        let lock = Arc::new(Queued::new());
        let served = Arc::new(std::sync::Mutex::new(Vec::new()));
        RawSpin::<Native<F>>::lock(&*lock);
        let come = |cpu| {
            let (lock, served) = (Arc::clone(&lock), Arc::clone(&served));
            on_cpu(cpu, move || {
                RawSpin::<Native<F>>::lock(&*lock);
                served.lock().expect("never poisoned").push(cpu);
                // SAFETY: locked above.
                unsafe { RawSpin::<Native<F>>::unlock(&*lock) };
            })
        };
        let pending = come(1);
        while lock.bits() & PENDING == 0 {
            Native::<F>::relax();
        }
        let queued = [2, 3].map(|cpu| {
            let queued = come(cpu);
            while lock.bits() >> CPU != u32::from(cpu) + 1 {
                Native::<F>::relax();
            }
            queued
        });
        // SAFETY: locked above.
        unsafe { RawSpin::<Native<F>>::unlock(&*lock) };
        end([pending].into_iter().chain(queued).collect());
        assert_eq!(*served.lock().expect("never poisoned"), [1, 2, 3]);
    });
}

#[test]
fn the_native_lock_serves_its_queue_in_turn() {
    serve_the_queue_in_turn::<Nothing>();
}

#[test]
#[should_panic(expected = "left == right")]
fn one_who_is_queued_and_overtakes_is_found() {
    serve_the_queue_in_turn::<QueueOutOfTurn>();
}

#[test]
fn a_lock_where_waiters_spin_serves_in_turn() {
    serve_in_turn::<Native>(false, 1);
    serve_in_turn::<Switched>(false, 1);
}

#[test]
fn a_newcomer_is_served_after_those_who_wait() {
    serve_in_turn::<Native>(true, 0);
    serve_in_turn::<Switched>(true, 0);
}

#[test]
#[should_panic(expected = "left == right")]
fn a_head_that_overtakes_the_pending_waiter_is_found() {
    serve_in_turn::<Native<HeadIgnoresPending>>(false, 2);
}

#[test]
#[should_panic(expected = "left == right")]
fn a_newcomer_that_overtakes_the_queue_is_found() {
    serve_in_turn::<Switched<FastLockIgnoresQueue>>(true, 0);
}

/// The order between unlocking and looking for a sleeper, which in the lock is made by the sleeper.
///
/// In the models above one atomic operation of the whole word unlocks and looks. On hardware it is a
/// store of one byte and a load of another, so here these are two words. Loom has no barrier that
/// one thread makes for all: the model has a fence on both sides. It shows that the two steps of each
/// side in this order are enough, and that neither order can be missing; it does not show that the
/// platform's barrier is one.
fn store_then_look<const UNLOCKER: bool, const SLEEPER: bool>() {
    explore(2, 2, || {
        let words = Arc::new((AtomicU32::new(1), AtomicU32::new(0)));
        let slept = Arc::new(std::sync::Mutex::new(false));
        let sleeper = {
            let (words, slept) = (Arc::clone(&words), Arc::clone(&slept));
            on_cpu(1, move || {
                let (locked, sleeping) = &*words;
                sleeping.store(1, Ordering::Relaxed);
                if SLEEPER {
                    Paravirt::<Nothing>::barrier_all();
                }
                *slept.lock().expect("never poisoned") = locked.load(Ordering::Relaxed) == 1;
            })
        };
        let (locked, sleeping) = &*words;
        locked.store(0, Ordering::Release);
        if UNLOCKER {
            fence(Ordering::SeqCst);
        }
        let kicked = sleeping.load(Ordering::Relaxed) == 1;
        end(vec![sleeper]);
        assert!(kicked || !*slept.lock().expect("never poisoned"), "a wake-up is lost");
    });
}

#[test]
fn who_unlocks_sees_the_sleeper_or_is_seen() {
    store_then_look::<true, true>();
}

#[test]
#[should_panic(expected = "a wake-up is lost")]
fn a_missing_barrier_of_the_sleeper_is_found() {
    store_then_look::<true, false>();
}

#[test]
#[should_panic(expected = "a wake-up is lost")]
fn a_missing_order_of_who_unlocks_is_found() {
    store_then_look::<false, true>();
}
