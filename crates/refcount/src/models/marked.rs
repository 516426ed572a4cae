//! The protocol of the fast backend on x86-64, in atomics that loom understands: an increment that
//! looks at nothing but the sign of its sum, and a last drop that marks the object as dead.

use core::panic::Location;
use core::sync::atomic::Ordering;

use super::*;
use crate::backend::{mark_dead, overflows, sealed};
use crate::report::{Kind, fault, fault_of_add, fault_of_sub};
use crate::word::{Sealed, Word};
use crate::{Fetch, Full};

type Atomic = <u32 as Sealed>::Atomic;
const DEAD: u32 = <u32 as Sealed>::DEAD;

pub(super) enum Marked {}

impl Backend<u32> for Marked {
    const NAME: &'static str = "marked";
}

impl sealed::Backend<u32> for Marked {
    const ZERO: u32 = DEAD;

    fn inc(counter: &Atomic) {
        if u32::fetch_add(counter, 1, Ordering::Relaxed).add(1).is_negative() {
            fault_of_add::<u32>(counter, <u32 as Word>::MAX - 1, Location::caller(), DEAD);
        }
    }

    fn add(counter: &Atomic, i: u32) {
        if overflows(u32::fetch_add(counter, i, Ordering::Relaxed), i) {
            fault_of_add::<u32>(counter, <u32 as Word>::MAX - i, Location::caller(), DEAD);
        }
    }

    fn sub_and_test(counter: &Atomic, i: u32) -> bool {
        let old = u32::fetch_sub(counter, i, Ordering::Release);
        if old == i && old != 0 {
            return mark_dead::<u32>(counter, Location::caller());
        }
        if old.is_negative() || old < i || old == 0 {
            return fault_of_sub::<u32>(counter, Location::caller());
        }
        false
    }

    fn dec(counter: &Atomic) {
        let old = u32::fetch_sub(counter, 1, Ordering::Release);
        if old.is_negative() || old <= 1 {
            fault::<u32>(counter, Kind::DecLeak, Location::caller());
        }
    }
}

/// The last reference is dropped while somebody who has none takes one: the object is freed or the
/// count stands, and never both.
fn one_takes_what_it_may_not<B: Backend<u32> + 'static>() {
    explore(|| {
        let counted = Counted::<B>::of(1);
        beside(&counted, |counted| counted.refs.inc(), Counted::release);
        let (freed, left) = (counted.freed.load(Ordering::Relaxed), counted.refs.read());
        let alive = (1..=<u32 as Word>::MAX).contains(&left);
        assert_ne!(freed, alive, "freed {freed}, with a count of {left:#x}");
    });
}

macro_rules! backends {
    ($($name:ident: $backend:ty),*) => {$(
        #[test]
        fn $name() {
            one_takes_what_it_may_not::<$backend>();
        }
    )*};
}
backends!(a_dead_object_is_not_taken_up_by_fetch: Fetch, nor_by_full: Full);

/// Here it may also be leaked: the one that drops it finds that it did not stay dead.
#[test]
fn a_dead_object_is_not_taken_up_by_its_sign() {
    explore(|| {
        let counted = Counted::<Marked>::of(1);
        beside(&counted, |counted| counted.refs.inc(), Counted::release);
        let (freed, left) = (counted.freed.load(Ordering::Relaxed), counted.refs.read());
        let alive = (1..=<u32 as Word>::MAX).contains(&left);
        assert!(!(freed && alive), "freed, with a count of {left:#x}");
        assert!(freed || alive || left == <u32 as Word>::SATURATED, "left at {left:#x}");
    });
}

/// One thread looks up the object by more references than there can be, beside another that drops the only
/// one: it is told of a reference to what lives, or of none.
fn one_looks_up_by_too_many<B: Backend<u32> + 'static>() {
    explore(|| {
        let counted = Counted::<B>::of(1);
        let look_up = |counted: &Counted<B>| {
            if counted.refs.add_not_zero(<u32 as Word>::MAX) {
                assert_eq!(counted.object.read(), 7);
            }
        };
        beside(&counted, look_up, Counted::release);
    });
}

#[test]
fn a_conditional_addition_that_saturates_has_a_reference() {
    one_looks_up_by_too_many::<Fetch>();
    one_looks_up_by_too_many::<Full>();
    one_looks_up_by_too_many::<Marked>();
}

/// The same without the exchange's answer: freed under the one that took it up.
#[test]
#[should_panic(expected = "freed true")]
fn a_mark_that_does_not_look_is_found() {
    one_takes_what_it_may_not::<super::broken::MarksBlindly>();
}
