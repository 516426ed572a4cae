//! A race at the greatest count: whoever comes second finds the counter saturated too, and nobody ever
//! a small count.

use super::broken::StepsBack;
use super::marked::Marked;
use super::*;
use crate::{Fetch, Full, Plain, Word};

const MAX: u32 = <u32 as Word>::MAX;
const SATURATED: u32 = <u32 as Word>::SATURATED;

/// Whether `n` may be seen by anyone: the greatest count or what two threads can make of it and of
/// `SATURATED` before the fault is stored.
fn near(n: u32) -> bool {
    n.abs_diff(MAX) <= 3 || n.abs_diff(SATURATED) <= 3
}

/// A third thread that looks, once, at any moment.
fn watch<B: Backend<u32> + 'static>(counted: &Arc<Counted<B>>) -> thread::JoinHandle<()> {
    let counted = Arc::clone(counted);
    thread::spawn(move || {
        let seen = counted.refs.read();
        assert!(near(seen), "a count of {seen}");
    })
}

/// Both threads go past the greatest count.
fn both_overflow<B: Backend<u32> + 'static>(take: fn(&Counter<B, u32>)) {
    explore(move || {
        let counted = Counted::<B>::of(MAX);
        let watcher = watch(&counted);
        let overflow = move |counted: &Counted<B>| take(&counted.refs);
        beside(&counted, overflow, overflow);
        watcher.join().expect("the watcher ends");
        assert_eq!(counted.refs.read(), SATURATED, "not saturated");
    });
}

/// One goes past the greatest count, the other drops: never the last.
///
/// The end is held to less than it is: loom lets a store come between a read-modify-write and what it
/// read, and so lets the value before the fault come back.
fn one_overflows_one_drops<B: Backend<u32> + 'static>() {
    explore(|| {
        let counted = Counted::<B>::of(MAX);
        let watcher = watch(&counted);
        let overflow = |counted: &Counted<B>| {
            counted.refs.inc();
            counted.refs.inc();
        };
        let drop = |counted: &Counted<B>| {
            assert!(!counted.refs.dec_and_test(), "the last of {MAX}");
        };
        beside(&counted, overflow, drop);
        watcher.join().expect("the watcher ends");
        let left = counted.refs.read();
        assert!(near(left), "left at {left}");
    });
}

macro_rules! backends {
    ($($name:ident: $backend:ty),*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn both_see_it_saturated() {
                both_overflow::<$backend>(Counter::inc);
                both_overflow::<$backend>(|refs| assert!(refs.inc_not_zero()));
            }

            #[test]
            fn nobody_is_last_meanwhile() {
                one_overflows_one_drops::<$backend>();
            }
        }
    )*};
}
backends!(fetch: Fetch, full: Full, marked: Marked);

#[test]
#[should_panic(expected = "not saturated")]
fn an_overflow_that_is_taken_back_is_found() {
    both_overflow::<StepsBack>(Counter::inc);
}

#[test]
#[should_panic(expected = "not saturated")]
fn no_check_is_found() {
    both_overflow::<Plain>(Counter::inc);
}
