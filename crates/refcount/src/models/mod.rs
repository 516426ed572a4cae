//! Small concurrent programs, run in every order.
//!
//! Loom runs a model once for each interleaving of its threads and each value that the memory model
//! lets a load return, and knows which writes happen before which. An object under a counter is a
//! [`Object`]: its cell panics if it is used without what orders the uses, or after it was freed.
//! Run by `scripts/test-loom`.
//!
//! A model that cannot fail shows nothing, so each is also run on the defect that it is there to find,
//! from [`broken`].

mod broken;
mod last;
mod marked;
mod reuse;
mod saturation;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Mutex, MutexGuard};
use loom::thread;
// Not loom's: one that is dropped while a model fails would abort the test.
use std::sync::Arc;

use crate::lock::Lock;
use crate::{Backend, Counter, Fault, rearm, set_handler};

/// Runs `model` in every order that has at most three preemptions: more of them find no more in
/// programs of so few steps, and take minutes.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    fn silent(_: &Fault) {}
    set_handler(silent);
    rearm();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// What a counter guards. Each use is seen by loom: two that nothing orders are a defect, and so is a
/// use of what was freed.
struct Object {
    payload: UnsafeCell<Option<u32>>,
}

impl Object {
    fn holding(n: u32) -> Self {
        Self { payload: UnsafeCell::new(Some(n)) }
    }

    /// Reads, as a holder of a reference may at any time.
    fn read(&self) -> u32 {
        // SAFETY: loom panics if this read is not ordered with every write.
        self.payload.with(|p| unsafe { *p }).expect("the object was freed")
    }

    /// Writes, as only the single owner may.
    fn write(&self, n: Option<u32>) {
        // SAFETY: loom panics if this write is not ordered with every other use.
        self.payload.with_mut(|p| unsafe { *p = n });
    }

    fn free(&self) {
        assert!(self.read() < u32::MAX);
        self.write(None);
    }
}

// SAFETY: loom panics at the first two uses that nothing orders.
unsafe impl Sync for Object {}
// SAFETY: it holds a number.
unsafe impl Send for Object {}

/// Loom's mutex, as a lock of [`Counter::dec_and_lock`].
struct Locked<T>(Mutex<T>);

impl<T> Lock for Locked<T> {
    type Guard<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("nobody panics with it held")
    }
}

/// An object and its counter, and whether it was freed: by one thread only.
struct Counted<B: Backend<u32>> {
    refs: Counter<B, u32>,
    object: Object,
    freed: AtomicBool,
}

impl<B: Backend<u32>> Counted<B> {
    fn of(refs: u32) -> Arc<Self> {
        Arc::new(Self {
            refs: Counter::<B, u32>::new(refs),
            object: Object::holding(7),
            freed: AtomicBool::new(false),
        })
    }

    fn free(&self) {
        assert!(!self.freed.swap(true, Ordering::Relaxed), "freed twice");
        self.object.free();
    }

    /// Uses the object, then drops a reference to it.
    fn release(&self) {
        assert_eq!(self.object.read(), 7);
        if self.refs.dec_and_test() {
            self.free();
        }
    }
}

/// Runs both at once, on two threads, to their ends.
///
/// Who starts is a choice of its own, made by an exchange that orders nothing. Loom looks for another
/// order only at the access before a write, and so overlooks one when that access was the writer's own
/// load: the compare-exchange loops begin with one.
fn beside<B: Backend<u32> + 'static>(
    counted: &Arc<Counted<B>>,
    other: impl FnOnce(&Counted<B>) + Send + 'static,
    own: impl FnOnce(&Counted<B>),
) {
    let start = Arc::new(AtomicBool::new(false));
    let (shared, gate) = (Arc::clone(counted), Arc::clone(&start));
    let thread = thread::spawn(move || {
        gate.swap(true, Ordering::Relaxed);
        other(&shared);
    });
    start.swap(true, Ordering::Relaxed);
    own(counted);
    thread.join().expect("the thread ends");
}
