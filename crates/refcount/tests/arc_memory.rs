//! Memory: every block is given back once and as it was taken, nothing stays behind, and who can do
//! without memory is told that there is none.
#![expect(unsafe_code, reason = "an allocator that keeps books")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};

use refcount::{Arc, unsize};

/// The blocks of the current thread that are in use, as long as it keeps books.
#[derive(Default)]
struct Books {
    live: RefCell<Vec<(usize, Layout)>>,
    /// Blocks given back that were not in use, or not with this layout.
    wrong: Cell<u32>,
    kept: Cell<bool>,
    refuse: Cell<bool>,
}

thread_local! {
    static BOOKS: Books = const {
        Books {
            live: RefCell::new(Vec::new()),
            wrong: Cell::new(0),
            kept: Cell::new(false),
            refuse: Cell::new(false),
        }
    };
}

/// The system's allocator, with books.
struct Booked;

impl Booked {
    /// Runs `entry` on this thread's books, with the bookkeeper's own allocations left out.
    fn write(entry: impl FnOnce(&Books)) {
        let _ = BOOKS.try_with(|books| {
            if books.kept.replace(false) {
                entry(books);
                books.kept.set(true);
            }
        });
    }
}

// SAFETY: the system's allocator does the work; a refusal is a null pointer, as is allowed.
unsafe impl GlobalAlloc for Booked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if BOOKS.try_with(|books| books.refuse.get()).unwrap_or(false) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's word.
        let block = unsafe { System.alloc(layout) };
        Self::write(|books| books.live.borrow_mut().push((block.addr(), layout)));
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        Self::write(|books| {
            let mut live = books.live.borrow_mut();
            match live.iter().position(|&entry| entry == (block.addr(), layout)) {
                Some(at) => drop(live.swap_remove(at)),
                None => books.wrong.set(books.wrong.get() + 1),
            }
        });
        // SAFETY: the caller's word.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Booked = Booked;

/// Runs `work` and gives the blocks that it left in use. All blocks that it gave back were right.
fn blocks_left_by<R>(work: impl FnOnce() -> R) -> (R, Vec<Layout>) {
    BOOKS.with(|books| {
        books.kept.set(true);
        let result = work();
        books.kept.set(false);
        assert_eq!(books.wrong.take(), 0, "blocks given back as other than they were taken");
        (result, books.live.take().into_iter().map(|(_, layout)| layout).collect())
    })
}

/// Nothing is left, whatever is made and however it ends.
#[test]
fn every_block_is_given_back_as_it_was_taken() {
    let ((), left) = blocks_left_by(|| {
        drop(Arc::new(7u8));
        drop(Arc::new(String::from("text")));
        drop(Arc::try_unwrap(Arc::new(vec![1])).unwrap());
        drop(Arc::into_inner(Arc::new(Box::new([1u64; 9]))).unwrap());
        drop(Arc::try_new(Box::new(1)).unwrap());
        drop(Arc::<[u16]>::from(vec![1, 2, 3]));
        drop(Arc::<[String]>::from(&["a".to_owned(), "b".to_owned()][..]));
        drop(Arc::<str>::from("text"));
        drop(Arc::<[u8]>::from(Arc::<str>::from("text".to_owned())));
        let boxed: Box<dyn ToString> = Box::new(String::from("text"));
        drop(Arc::<dyn ToString>::from(boxed));
        drop(Arc::<()>::from(Box::new(())));
        drop(unsize!(Arc::new(String::from("text")) => dyn ToString));
        drop(Arc::<[String]>::from(Arc::new(["a".to_owned()])));
        drop((0..5).map(|n| n.to_string()).collect::<Arc<[_]>>());
        let mut shared = Arc::new(String::from("text"));
        let other = shared.clone();
        Arc::make_mut(&mut shared).push('s');
        drop((shared, other));
        // SAFETY: given up in the same breath.
        drop(unsafe { Arc::from_raw(Arc::into_raw(Arc::<[u8]>::from([1, 2, 3]))) });
    });
    assert_eq!(left, []);
}

#[repr(align(64))]
struct Line;

/// The header is one counter: half of what `std::sync::Arc` takes before the same data.
#[test]
fn the_header_is_one_counter_of_32_bits() {
    fn header<T>(data: T) -> usize {
        let (arc, left) = blocks_left_by(|| Arc::new(data));
        let layout = left[0];
        assert_eq!((left.len(), layout.align()), (1, align_of::<T>().max(align_of::<u32>())));
        drop(arc);
        layout.size() - size_of::<T>()
    }
    assert_eq!(header([0u8; 4]), 4);
    assert_eq!(header(0u32), 4);
    assert_eq!(header(0u64), align_of::<u64>(), "std's: two words");
    assert_eq!(header(()), 4);
    assert_eq!(header(Line), 64);
    let (text, left) = blocks_left_by(|| Arc::<str>::from("12345"));
    assert_eq!(left, [Layout::from_size_align(12, 4).unwrap()], "4 + 5, rounded up");
    drop(text);
}

/// The memory goes back even if the data's end is a panic, and so do the fields beside it.
#[test]
fn a_panic_while_dropping_leaks_nothing() {
    struct Angry(#[expect(dead_code, reason = "it is dropped")] String);
    impl Drop for Angry {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new(()));
        }
    }
    let (results, left) = blocks_left_by(|| {
        let one = Arc::new(Angry("text".to_owned()));
        let two = Arc::<[Angry]>::from(vec![Angry("a".to_owned())]);
        let three = unsize!(Arc::new(Angry("text".to_owned())) => dyn Send);
        [
            catch_unwind(AssertUnwindSafe(|| drop(one))).is_err(),
            catch_unwind(AssertUnwindSafe(|| drop(two))).is_err(),
            catch_unwind(AssertUnwindSafe(|| drop(three))).is_err(),
        ]
    });
    assert_eq!((results, left), ([true; 3], vec![]));
}

/// A panic half way through a slice gives its memory back, with what was written of it.
#[test]
fn a_panic_while_building_leaks_nothing() {
    struct Third(u8, #[expect(dead_code, reason = "it is cloned")] String);
    impl Clone for Third {
        fn clone(&self) -> Self {
            if self.0 == 3 {
                std::panic::resume_unwind(Box::new(()));
            }
            Self(self.0, "copy".to_owned())
        }
    }
    let originals = [1, 2, 3, 4].map(|n| Third(n, String::new()));
    let (failed, left) = blocks_left_by(|| {
        catch_unwind(AssertUnwindSafe(|| Arc::<[Third]>::from(&originals[..]))).is_err()
    });
    assert_eq!((failed, left), (true, vec![]));
}

#[test]
fn the_lack_of_memory_gives_the_data_back() {
    let data = String::from("kept");
    BOOKS.with(|books| books.refuse.set(true));
    let refused = Arc::try_new(data);
    BOOKS.with(|books| books.refuse.set(false));
    assert_eq!(refused.unwrap_err(), "kept");
}

/// Reachable, so that a leak checker finds only what nobody meant.
static LEAKED: AtomicPtr<[u32; 4]> = AtomicPtr::new(std::ptr::null_mut());

/// What an exhausted counter costs: this one block.
#[test]
fn a_saturated_object_is_one_block_that_stays() {
    let ((), left) = blocks_left_by(|| {
        let a = Arc::new([0u32; 4]);
        LEAKED.store(Arc::as_ptr(&a).cast_mut(), Ordering::Relaxed);
        // SAFETY: the references are never taken back.
        unsafe { Arc::increment_strong_count_by(Arc::as_ptr(&a), u32::MAX) };
        for _ in 0..1000 {
            drop(a.clone());
        }
        drop(a);
    });
    assert_eq!(left, [Layout::from_size_align(20, 4).unwrap()]);
}
