//! `Arc` under every interleaving and every permitted stale read, for two and three threads: the data
//! is dropped exactly once, after everybody has done with it, and who gets it to change sees all that
//! was done to it. Run with `RUSTFLAGS="--cfg loom" cargo test -p unlikely-refcount --release --test
//! loom_arc`.
//!
//! The data is in a cell that panics at an access which does not follow, by the rules of the memory
//! model, on one that excludes it. A counter with a relaxed decrement stands beside ours, and must be
//! caught.
#![cfg(loom)]
#![expect(unsafe_code, reason = "the data is behind a cell that is checked by the model")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use loom::cell::UnsafeCell;
use loom::thread;
use refcount::Arc;

/// Data that is read through shared handles, and written by its only owner and by its drop.
struct Data {
    cell: UnsafeCell<u32>,
    /// Not loom's: a count for the test, which must not order anything.
    drops: std::sync::Arc<AtomicU32>,
}

// SAFETY: writing is left to `&mut self` and to the end of the data; the cell checks it.
unsafe impl Sync for Data {}

impl Data {
    fn new(value: u32) -> (Self, std::sync::Arc<AtomicU32>) {
        let drops = std::sync::Arc::default();
        (Self { cell: UnsafeCell::new(value), drops: std::sync::Arc::clone(&drops) }, drops)
    }

    fn read(&self) -> u32 {
        // SAFETY: the cell checks that nobody writes.
        self.cell.with(|value| unsafe { *value })
    }

    fn add(&mut self, n: u32) {
        // SAFETY: borrowed alone, and the cell checks it.
        self.cell.with_mut(|value| unsafe { *value += n });
    }

    /// The end of the data: a write, which nobody's use of it may be concurrent with.
    fn end(&self) {
        // SAFETY: the cell checks that nobody else is here.
        self.cell.with_mut(|value| unsafe { *value = u32::MAX });
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // What the cell found is being reported; a second panic would take the report away.
        if !std::thread::panicking() {
            self.end();
        }
    }
}

impl Clone for Data {
    fn clone(&self) -> Self {
        Self { cell: UnsafeCell::new(self.read()), drops: std::sync::Arc::clone(&self.drops) }
    }
}

/// What is common to our handle and to the planted ones.
trait Handle: Clone + Send + 'static {
    fn new(data: Data) -> Self;
    fn data(&self) -> &Data;
}

impl Handle for Arc<Data> {
    fn new(data: Data) -> Self {
        Arc::new(data)
    }
    fn data(&self) -> &Data {
        self
    }
}

/// Three threads read through a handle each and drop it; another handle is made on the way.
fn three_readers<H: Handle>() {
    loom::model(|| {
        let (data, drops) = Data::new(7);
        let first = H::new(data);
        let readers = [first.clone(), first.clone()].map(|handle| {
            thread::spawn(move || {
                assert_eq!(handle.data().read(), 7);
                drop(handle);
            })
        });
        let again = first.clone();
        drop(first);
        assert_eq!(again.data().read(), 7);
        drop(again);
        for reader in readers {
            reader.join().expect("the reader's assertions hold");
        }
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn the_data_is_dropped_once_and_after_all_use() {
    three_readers::<Arc<Data>>();
}

/// A handle with a planted fault: what the last decrement is ordered by.
struct Planted<const RELEASE: bool, const ACQUIRE: bool>(
    &'static (loom::sync::atomic::AtomicU32, Data),
);

impl<const RELEASE: bool, const ACQUIRE: bool> Handle for Planted<RELEASE, ACQUIRE> {
    fn new(data: Data) -> Self {
        // Leaked: a planted fault shall not be a real one.
        Self(Box::leak(Box::new((loom::sync::atomic::AtomicU32::new(1), data))))
    }
    fn data(&self) -> &Data {
        &self.0.1
    }
}

impl<const RELEASE: bool, const ACQUIRE: bool> Clone for Planted<RELEASE, ACQUIRE> {
    fn clone(&self) -> Self {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl<const RELEASE: bool, const ACQUIRE: bool> Drop for Planted<RELEASE, ACQUIRE> {
    fn drop(&mut self) {
        let order = if RELEASE { Ordering::Release } else { Ordering::Relaxed };
        if self.0.0.fetch_sub(1, order) == 1 {
            if ACQUIRE {
                loom::sync::atomic::fence(Ordering::Acquire);
            }
            self.0.1.end();
        }
    }
}

#[test]
fn the_control_without_a_planted_fault_passes() {
    three_readers::<Planted<true, true>>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_decrement_without_release_is_caught() {
    three_readers::<Planted<false, true>>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_last_decrement_without_acquire_is_caught() {
    three_readers::<Planted<true, false>>();
}

/// The outcomes that a model came to, over all its executions.
struct Outcomes<T>(Mutex<BTreeSet<T>>);

impl<T: Ord + Debug> Outcomes<T> {
    const fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }
    fn saw(&self, outcome: T) {
        self.0.lock().expect("no test panics with it").insert(outcome);
    }
    #[track_caller]
    fn are(&self, expected: impl IntoIterator<Item = T>) {
        let seen = self.0.lock().expect("no test panics with it");
        assert_eq!(*seen, expected.into_iter().collect());
    }
}

/// Who is alone again may write: what the other did through its handle is over.
#[test]
fn get_mut_comes_after_all_that_others_did() {
    static OUTCOMES: Outcomes<bool> = Outcomes::new();
    loom::model(|| {
        let (data, drops) = Data::new(7);
        let mut mine = Arc::new(data);
        let other = mine.clone();
        let reader = thread::spawn(move || assert_eq!(other.read(), 7));
        let alone = Arc::get_mut(&mut mine).map(|data| data.add(1)).is_some();
        OUTCOMES.saw(alone);
        reader.join().expect("the reader's assertions hold");
        Arc::get_mut(&mut mine).expect("alone now").add(1);
        assert_eq!(mine.read(), if alone { 9 } else { 8 });
        drop(mine);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
    OUTCOMES.are([false, true]);
}

/// A copy or the original, never a write under a reader's eyes.
#[test]
fn make_mut_writes_where_nobody_reads() {
    static OUTCOMES: Outcomes<u32> = Outcomes::new();
    loom::model(|| {
        let (data, drops) = Data::new(7);
        let mut mine = Arc::new(data);
        let other = mine.clone();
        let reader = thread::spawn(move || assert_eq!(other.read(), 7));
        Arc::make_mut(&mut mine).add(1);
        assert_eq!(mine.read(), 8);
        reader.join().expect("the reader's assertions hold");
        drop(mine);
        OUTCOMES.saw(drops.load(Ordering::Relaxed));
    });
    OUTCOMES.are([1, 2]); // with and without a copy
}

/// At most one gets the data. Both may fail, and then the second to drop its handle drops the data.
#[test]
fn try_unwrap_gives_the_data_to_one_at_most() {
    static OUTCOMES: Outcomes<(bool, bool)> = Outcomes::new();
    loom::model(|| {
        let (data, drops) = Data::new(7);
        let mine = Arc::new(data);
        let other = mine.clone();
        let taker = thread::spawn(move || {
            assert_eq!(other.read(), 7);
            Arc::try_unwrap(other).map(|mut data| data.add(1)).is_ok()
        });
        assert_eq!(mine.read(), 7);
        let got = Arc::try_unwrap(mine).map(|mut data| data.add(1)).is_ok();
        OUTCOMES.saw((got, taker.join().expect("the taker's assertions hold")));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
    // `(true, false)` is the same with the threads exchanged; the explorer does not go there.
    OUTCOMES.are([(false, false), (false, true)]);
}

/// Exactly one gets the data.
#[test]
fn into_inner_gives_the_data_to_one() {
    static OUTCOMES: Outcomes<(bool, bool)> = Outcomes::new();
    loom::model(|| {
        let (data, drops) = Data::new(7);
        let mine = Arc::new(data);
        let other = mine.clone();
        let taker = thread::spawn(move || {
            assert_eq!(other.read(), 7);
            Arc::into_inner(other).map(|mut data| data.add(1)).is_some()
        });
        assert_eq!(mine.read(), 7);
        let got = Arc::into_inner(mine).map(|mut data| data.add(1)).is_some();
        OUTCOMES.saw((got, taker.join().expect("the taker's assertions hold")));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
    OUTCOMES.are([(false, true), (true, false)]);
}

/// Two threads at the end of the counter: whether they saturate it or just miss it, the references
/// that were forgotten keep the data.
#[test]
fn an_exhausted_counter_never_drops_the_data() {
    static OUTCOMES: Outcomes<bool> = Outcomes::new();
    refcount::set_handler(|_| {});
    loom::model(|| {
        let (data, drops) = Data::new(7);
        let mine = Arc::new(data);
        // SAFETY: the references are never taken back, as if as many clones had been forgotten.
        unsafe { Arc::increment_strong_count_by(Arc::as_ptr(&mine), i32::MAX as u32 - 3) };
        let threads = [mine.clone(), mine.clone()].map(|handle| {
            thread::spawn(move || {
                drop(handle.clone());
                assert_eq!(handle.read(), 7);
            })
        });
        for thread in threads {
            thread.join().expect("the thread's assertions hold");
        }
        OUTCOMES.saw(Arc::is_saturated(&mine));
        assert_eq!(mine.read(), 7);
        drop(mine);
        assert_eq!(drops.load(Ordering::Relaxed), 0);
    });
    OUTCOMES.are([false, true]);
}
