//! Memory that is used for another object while readers may still hold a pointer to it: `set_release`
//! publishes, an `_acquire` form sees what was published. Also when the counter saturates meanwhile.

use super::broken::NeverAcquires;
use super::marked::Marked;
use super::*;
use crate::{Fetch, Full, Word};

/// The owner makes a new object in dead memory and publishes it with `refs` references, beside readers
/// that each find the memory dead or the new object complete.
fn published<B: Backend<u32> + 'static>(refs: u32, readers: usize) {
    explore(move || {
        let counted = Counted::<B>::of(0);
        let read = |counted: &Counted<B>| {
            if counted.refs.inc_not_zero_acquire() {
                assert_eq!(counted.object.read(), 8, "the object before");
            }
        };
        let threads: Vec<_> = (0..readers)
            .map(|_| {
                let counted = Arc::clone(&counted);
                thread::spawn(move || read(&counted))
            })
            .collect();
        counted.object.write(Some(8));
        counted.refs.set_release(refs);
        for thread in threads {
            thread.join().expect("the thread ends");
        }
    });
}

/// The last owner frees, writes the next object into the same memory and publishes it, beside a reader
/// that gets a reference to either.
fn freed_and_published_again<B: Backend<u32> + 'static>() {
    explore(|| {
        let counted = Counted::<B>::of(1);
        let read = |counted: &Counted<B>| {
            if counted.refs.inc_not_zero_acquire() {
                assert!(matches!(counted.object.read(), 7 | 8));
                let _ = counted.refs.dec_and_test();
            }
        };
        let reuse = |counted: &Counted<B>| {
            if counted.refs.dec_and_test() {
                counted.object.free();
                counted.object.write(Some(8));
                counted.refs.set_release(1);
            }
        };
        beside(&counted, read, reuse);
    });
}

macro_rules! backends {
    ($($name:ident: $backend:ty),*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn a_reader_sees_what_was_published() {
                published::<$backend>(1, 1);
            }

            #[test]
            fn a_reader_that_saturates_sees_what_was_published() {
                published::<$backend>(u32::MAX / 2, 1);
            }

            #[test]
            fn a_reader_of_a_counter_that_another_saturated_sees_what_was_published() {
                published::<$backend>(<u32 as Word>::MAX, 2);
            }

            #[test]
            fn memory_is_used_again_behind_the_last_reader() {
                freed_and_published_again::<$backend>();
            }
        }
    )*};
}
backends!(fetch: Fetch, full: Full, marked: Marked);

#[test]
#[should_panic(expected = "Causality violation")]
fn a_conditional_increment_that_does_not_acquire_is_found() {
    published::<NeverAcquires>(1, 1);
}
