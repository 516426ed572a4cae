//! What a counter is for: an object that threads use and the last of them frees.
//!
//! The object is plain memory, so that the sanitizers see every use of it: AddressSanitizer one after
//! the free or a second free, ThreadSanitizer one that no decrement orders before the free.
#![expect(
    unsafe_code,
    reason = "the object is shared and freed by hand, as the counter's users do"
)]

mod width;

use std::cell::UnsafeCell;
use std::thread;

use refcount::{Backend, Counter, DefaultBackend, Fetch, Full};
use width::Width;

const THREADS: usize = 4;

/// An object with a count, which each thread writes to in a place of its own.
struct Object<B: Backend<W>, W: Width> {
    refs: Counter<B, W>,
    slots: [UnsafeCell<u64>; THREADS],
}

// SAFETY: a slot is written by one thread, and all are read by the one that frees.
unsafe impl<B: Backend<W>, W: Width> Sync for Object<B, W> {}

/// Drops a reference; the sum of the slots, from the one that was last and freed the object.
///
/// # Safety
/// The caller holds a reference, and uses the object no more.
unsafe fn release<B: Backend<W>, W: Width>(object: *mut Object<B, W>, by: Release) -> Option<u64> {
    // SAFETY: a reference is held.
    let refs = unsafe { &(*object).refs };
    let last = match by {
        Release::DecAndTest => refs.dec_and_test(),
        Release::SubAndTest => refs.sub_and_test(W::of(1)),
        Release::Halves => !refs.dec_not_one() && (refs.dec_if_one() || refs.dec_and_test()),
    };
    last.then(|| {
        // SAFETY: the last reference was dropped, by this thread.
        let object = unsafe { Box::from_raw(object) };
        object.slots.into_iter().map(UnsafeCell::into_inner).sum()
    })
}

/// By which operation a reference is dropped.
#[derive(Clone, Copy)]
enum Release {
    DecAndTest,
    SubAndTest,
    Halves,
}

/// Objects made by one thread, used and dropped by four.
fn freed_once<B: Backend<W>, W: Width>() {
    for by in [Release::DecAndTest, Release::SubAndTest, Release::Halves] {
        for _ in 0..200 {
            let slots = [const { UnsafeCell::new(0) }; THREADS];
            let refs = W::counter::<B>(THREADS as i128);
            let object =
                Box::into_raw(Box::new(Object::<B, W> { refs, slots })).expose_provenance();
            let uses = move |n: usize| {
                let object = std::ptr::with_exposed_provenance_mut::<Object<B, W>>(object);
                // SAFETY: one of the references is this thread's, and so is the slot.
                unsafe {
                    let of = &*object;
                    of.refs.inc();
                    assert!(of.refs.read().signed() > 1);
                    *of.slots[n].get() = n as u64 + 1;
                    of.refs.dec();
                    release(object, by)
                }
            };
            let sums: Vec<u64> = thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || uses(n))).collect();
                threads.into_iter().filter_map(|t| t.join().expect("no panic")).collect()
            });
            assert_eq!(sums, [1 + 2 + 3 + 4]);
        }
    }
}

macro_rules! backends {
    ($($name:ident: $backend:ty),* $(,)?) => {$(
        #[test]
        fn $name() {
            freed_once::<$backend, u32>();
            freed_once::<$backend, u64>();
        }
    )*};
}
backends!(fetch: Fetch, full: Full, default: DefaultBackend);
#[cfg(refcount_fast)]
backends!(fast: refcount::Fast);
