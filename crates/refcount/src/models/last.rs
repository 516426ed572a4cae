//! Exactly one thread is told that it dropped the last reference, and it sees the object complete.

use super::broken::{LooksOnce, NoAcquireFence, NotAtomic, RelaxedDecrement, TakesTheLast};
use super::marked::Marked;
use super::*;
use crate::{Fetch, Full};

/// Two holders drop what they have; whoever is last frees.
fn two_drop<B: Backend<u32> + 'static>() {
    explore(|| {
        let counted = Counted::<B>::of(2);
        beside(&counted, Counted::release, Counted::release);
        assert!(counted.freed.load(Ordering::Relaxed), "leaked");
    });
}

/// A holder takes one more and drops both, one by a plain `dec`, beside another that drops its own.
fn one_takes_one_more<B: Backend<u32> + 'static>() {
    explore(|| {
        let counted = Counted::<B>::of(2);
        let more = |counted: &Counted<B>| {
            counted.refs.inc();
            counted.refs.dec();
            counted.release();
        };
        beside(&counted, more, Counted::release);
        assert!(counted.freed.load(Ordering::Relaxed), "leaked");
    });
}

/// One thread looks an object up while its only reference is dropped: it gets a reference to a live
/// object or none.
fn one_looks_up<B: Backend<u32> + 'static>() {
    explore(|| {
        let counted = Counted::<B>::of(1);
        let look_up = |counted: &Counted<B>| {
            if counted.refs.inc_not_zero() {
                counted.release();
            }
        };
        beside(&counted, look_up, Counted::release);
        assert!(counted.freed.load(Ordering::Relaxed), "leaked");
        assert_eq!(counted.refs.read(), 0);
    });
}

/// Two holders drop by `dec_not_one` where they can and by `dec_if_one` where not.
fn two_drop_by_halves<B: Backend<u32> + 'static>() {
    fn release<B: Backend<u32>>(counted: &Counted<B>) {
        assert_eq!(counted.object.read(), 7);
        if !counted.refs.dec_not_one() && counted.refs.dec_if_one() {
            counted.free();
        }
    }
    explore(|| {
        let counted = Counted::<B>::of(2);
        beside(&counted, release, release);
        assert!(counted.freed.load(Ordering::Relaxed), "leaked");
    });
}

/// One of two uses the object and drops its reference, by `dec`; the other writes if it sees that it is
/// the only holder.
fn the_only_holder_writes<B: Backend<u32> + 'static>(look: fn(&Counter<B, u32>) -> u32) {
    explore(move || {
        let counted = Counted::<B>::of(2);
        let drop = |counted: &Counted<B>| {
            assert_eq!(counted.object.read(), 7);
            counted.refs.dec();
        };
        let write = |counted: &Counted<B>| {
            if look(&counted.refs) == 1 {
                counted.object.write(Some(9));
            }
        };
        beside(&counted, drop, write);
    });
}

/// Drops a reference; with the table locked if it was the last.
type Drop<B> = for<'a> fn(&Counter<B, u32>, &'a Locked<bool>) -> Option<MutexGuard<'a, bool>>;

/// A table with one object in it: what is found under the lock is alive, and the last reference takes
/// the object out of the table before it is freed.
fn one_looks_up_in_a_table<B: Backend<u32> + 'static>(drop_one: Drop<B>) {
    let release = move |counted: &Counted<B>, table: &Locked<bool>| {
        assert_eq!(counted.object.read(), 7);
        if let Some(mut listed) = drop_one(&counted.refs, table) {
            *listed = false;
            drop(listed);
            counted.free();
        }
    };
    explore(move || {
        let counted = Counted::<B>::of(1);
        let table = Arc::new(Locked(Mutex::new(true)));
        let shared = Arc::clone(&table);
        let look_up = move |counted: &Counted<B>| {
            let listed = shared.lock();
            if *listed {
                counted.refs.inc();
                drop(listed);
                release(counted, &shared);
            }
        };
        beside(&counted, look_up, |counted| release(counted, &table));
        assert!(counted.freed.load(Ordering::Relaxed), "leaked");
        assert_eq!(counted.refs.read(), 0);
    });
}

macro_rules! backends {
    ($($name:ident: $backend:ty),*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn of_two_that_drop_one_is_last() {
                two_drop::<$backend>();
            }

            #[test]
            fn an_increment_keeps_the_object() {
                one_takes_one_more::<$backend>();
            }

            #[test]
            fn what_is_found_is_alive() {
                one_looks_up::<$backend>();
            }

            #[test]
            fn the_halves_of_a_drop_make_a_whole() {
                two_drop_by_halves::<$backend>();
            }

            #[test]
            fn the_only_holder_is_alone() {
                the_only_holder_writes::<$backend>(Counter::read_acquire);
            }

            #[test]
            fn what_is_found_under_the_lock_is_alive() {
                one_looks_up_in_a_table::<$backend>(|refs, table| refs.dec_and_lock(table));
            }
        }
    )*};
}
backends!(fetch: Fetch, full: Full, marked: Marked);

#[test]
#[should_panic(expected = "Causality violation")]
fn a_relaxed_decrement_is_found() {
    two_drop::<RelaxedDecrement>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_missing_acquire_fence_is_found() {
    two_drop::<NoAcquireFence>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_missing_acquire_fence_of_dec_if_one_is_found() {
    two_drop_by_halves::<NoAcquireFence>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_relaxed_look_at_the_count_is_found() {
    the_only_holder_writes::<Fetch>(Counter::read);
}

#[test]
#[should_panic(expected = "leaked")]
fn a_decrement_in_two_steps_is_found() {
    two_drop::<NotAtomic>();
}

#[test]
#[should_panic(expected = "leaked")]
fn an_increment_in_two_steps_is_found() {
    one_takes_one_more::<NotAtomic>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_conditional_increment_that_looks_once_is_found() {
    one_looks_up::<LooksOnce>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_last_reference_dropped_before_the_lock_is_found() {
    one_looks_up_in_a_table::<Fetch>(|refs, table| refs.dec_and_test().then(|| table.lock()));
}

#[test]
#[should_panic(expected = "leaked")]
fn a_last_reference_dropped_as_one_of_many_is_found() {
    one_looks_up_in_a_table::<TakesTheLast>(|refs, table| refs.dec_and_lock(table));
}
