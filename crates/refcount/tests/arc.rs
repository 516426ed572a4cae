//! What `Arc` promises, one object at a time.
#![expect(unsafe_code, reason = "the functions for raw pointers are unsafe to call")]

use std::any::Any;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use refcount::{Arc, Fault, Kind, rearm, set_handler, unsize};

/// Counts its drops.
#[derive(Clone)]
struct Dropped(Rc<Cell<u32>>);

impl Dropped {
    fn new() -> (Self, Rc<Cell<u32>>) {
        let drops = Rc::new(Cell::new(0));
        (Self(drops.clone()), drops)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn the_last_handle_drops_the_data_and_no_other_does() {
    let (data, drops) = Dropped::new();
    let first = Arc::new(data);
    let second = first.clone();
    assert_eq!(Arc::count(&first), 2);
    assert!(Arc::ptr_eq(&first, &second));
    drop(first);
    assert_eq!((drops.get(), Arc::count(&second)), (0, 1));
    drop(second);
    assert_eq!(drops.get(), 1);
}

#[test]
fn the_only_handle_gives_its_data_to_change() {
    let mut a = Arc::new(1);
    *Arc::get_mut(&mut a).unwrap() = 2;
    let b = a.clone();
    assert!(!Arc::is_unique(&a) && Arc::get_mut(&mut a).is_none());
    drop(b);
    assert!(Arc::is_unique(&a));
    *Arc::get_mut(&mut a).unwrap() += 1;
    assert_eq!(*a, 3);
}

#[test]
fn a_shared_handle_that_is_changed_gets_a_copy() {
    let mut a = Arc::new(vec![1]);
    let address = Arc::as_ptr(&a);
    Arc::make_mut(&mut a).push(2);
    assert_eq!(Arc::as_ptr(&a), address, "nobody else had it");
    let b = a.clone();
    Arc::make_mut(&mut a).push(3);
    assert_eq!((&**a, &**b), (&[1, 2, 3][..], &[1, 2][..]));
    assert_eq!((Arc::count(&a), Arc::count(&b)), (1, 1));
}

#[test]
fn slices_and_text_are_copied_like_anything_else() {
    let mut a: Arc<[String]> = Arc::from(["a".to_owned()]);
    let b = a.clone();
    Arc::make_mut(&mut a)[0].push('!');
    assert!(Arc::is_unique(&a) && Arc::is_unique(&b));
    Arc::make_mut(&mut a)[0].push('!');
    assert_eq!((&*a, &*b), (&["a!!".to_owned()][..], &["a".to_owned()][..]));
    let mut a: Arc<str> = Arc::from("text");
    let b = a.clone();
    Arc::make_mut(&mut a).make_ascii_uppercase();
    assert_eq!((&*a, &*b), ("TEXT", "text"));
    assert!(Arc::is_unique(&a) && Arc::is_unique(&b));
}

#[test]
fn a_panic_while_copying_changes_nothing() {
    struct Stubborn(u8);
    impl Clone for Stubborn {
        fn clone(&self) -> Self {
            panic!("not me")
        }
    }
    let mut a = Arc::new(Stubborn(7));
    let b = a.clone();
    assert!(catch_unwind(AssertUnwindSafe(|| Arc::make_mut(&mut a).0 = 8)).is_err());
    assert!(Arc::ptr_eq(&a, &b) && b.0 == 7 && Arc::count(&b) == 2);
}

#[test]
fn data_moves_out_of_the_only_handle() {
    let (data, drops) = Dropped::new();
    let a = Arc::new(data);
    let b = a.clone();
    let a = Arc::try_unwrap(a).err().expect("shared");
    assert!(Arc::into_inner(b).is_none());
    let data = Arc::try_unwrap(a).ok().expect("alone");
    assert_eq!(drops.get(), 0, "moved, not dropped");
    drop(data);
    assert_eq!(drops.get(), 1);

    let (data, drops) = Dropped::new();
    drop(Arc::into_inner(Arc::new(data)).expect("alone"));
    assert_eq!(drops.get(), 1);
}

#[test]
fn unwrap_or_clone_moves_if_it_can() {
    let (data, drops) = Dropped::new();
    let a = Arc::new(data);
    let copy = Arc::unwrap_or_clone(a.clone());
    assert_eq!((Rc::strong_count(&drops), Arc::count(&a)), (3, 1));
    let moved = Arc::unwrap_or_clone(a);
    assert_eq!((Rc::strong_count(&drops), drops.get()), (3, 0));
    drop((copy, moved));
    assert_eq!(drops.get(), 2);
}

#[test]
fn raw_pointers_carry_a_reference() {
    let (data, drops) = Dropped::new();
    let a = Arc::new(data);
    let raw = Arc::into_raw(a.clone());
    assert_eq!(raw, Arc::as_ptr(&a));
    assert_eq!(Arc::count(&a), 2);
    // SAFETY: each reference taken back was given up or added before.
    unsafe {
        Arc::increment_strong_count(raw);
        Arc::increment_strong_count_by(raw, 2);
        assert_eq!(Arc::count(&a), 5);
        for _ in 0..3 {
            Arc::decrement_strong_count(raw);
        }
        drop(Arc::from_raw(raw));
    }
    assert_eq!((Arc::count(&a), drops.get()), (1, 0));
    drop(a);
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_raw_pointer_may_change_its_type() {
    let raw = Arc::into_raw(Arc::new(7u64)) as *const (dyn Display + Send + Sync);
    // SAFETY: just given up.
    let number: Arc<dyn Display + Send + Sync> = unsafe { Arc::from_raw(raw) };
    assert_eq!(number.to_string(), "7");
}

/// Every alignment below, at and above the counter's finds its way back from the data.
#[test]
fn the_counter_is_found_at_any_alignment() {
    macro_rules! aligned {
        ($($align:literal)*) => {$({
            #[repr(align($align))]
            struct Aligned(u16);
            let a = Arc::new(Aligned($align));
            assert!(Arc::as_ptr(&a).addr().is_multiple_of($align));
            // SAFETY: just given up.
            let a = unsafe { Arc::from_raw(Arc::into_raw(a)) };
            assert_eq!((a.0, Arc::count(&a)), ($align, 1));
            let b: Arc<[Aligned]> = Arc::from([Aligned(1), Aligned(2)]);
            assert!(b.as_ptr().addr().is_multiple_of($align));
            // SAFETY: just given up.
            let b = unsafe { Arc::from_raw(Arc::into_raw(b)) };
            assert_eq!((b[1].0, Arc::count(&b)), (2, 1));
            let c: Arc<dyn Any + Send + Sync> = unsize!(a => dyn Any + Send + Sync);
            assert_eq!(c.downcast::<Aligned>().unwrap().0, $align);
        })*};
    }
    aligned!(1 2 4 8 16 64 4096);
}

#[test]
fn data_of_no_size_has_a_counter() {
    let a = Arc::new(());
    let b = a.clone();
    assert_eq!(Arc::count(&b), 2);
    let empty: Arc<[u64]> = Arc::from([]);
    assert!(empty.is_empty() && Arc::get_mut(&mut empty.clone()).is_none());
    let units: Arc<[()]> = Arc::from(vec![(); 1_000_000]);
    assert_eq!(units.len(), 1_000_000);
}

#[test]
fn it_is_made_from_what_std_makes_one_from() {
    assert_eq!(*Arc::from(5), 5);
    assert_eq!(&*Arc::<[String]>::from(&["a".to_owned()][..]), ["a"]);
    assert_eq!(&*Arc::<[String]>::from(&mut ["a".to_owned()][..]), ["a"]);
    assert_eq!(&*Arc::<[String]>::from(vec!["a".to_owned()]), ["a"]);
    assert_eq!(&*Arc::<[String]>::from(["a".to_owned()]), ["a"]);
    assert_eq!(&*Arc::<str>::from("text"), "text");
    assert_eq!(&*Arc::<str>::from("text".to_owned()), "text");
    assert_eq!(&*Arc::<str>::from("text".to_owned().as_mut_str()), "text");
    assert_eq!(&*Arc::<str>::from(std::borrow::Cow::Borrowed("text")), "text");
    assert_eq!(&*Arc::<[u8]>::from(Arc::<str>::from("text")), b"text");
    assert_eq!(&*Arc::<str>::from(Box::<str>::from("text")), "text");
    assert_eq!(*Arc::<i32>::from(Box::new(5)), 5);
    let display: Box<dyn Display> = Box::new("text");
    assert_eq!(Arc::<dyn Display>::from(display).to_string(), "text");
    assert_eq!(&*Arc::<std::ffi::CStr>::from(c"text"), c"text");
    assert_eq!(&*Arc::<std::path::Path>::from(std::path::PathBuf::from("text")), "text");
    assert_eq!(&*(0..3).collect::<Arc<[i32]>>(), [0, 1, 2]);
    assert_eq!((Arc::<u8>::default(), &*Arc::<str>::default()), (Arc::new(0), ""));
    assert!(Arc::<[u8]>::default().is_empty());
    assert_eq!(*Arc::pin(5), 5);
    assert_eq!(*Arc::try_new(5).unwrap(), 5);
}

#[test]
fn elements_move_once() {
    let (data, drops) = Dropped::new();
    let a: Arc<[Dropped]> = Arc::from(vec![data.clone(), data.clone()]);
    assert_eq!(drops.get(), 0);
    let boxed: Box<[Dropped]> = Box::new([data.clone()]);
    let b: Arc<[Dropped]> = Arc::from(boxed);
    assert_eq!(drops.get(), 0);
    drop((a, b));
    assert_eq!(drops.get(), 3);
}

/// The elements copied before the panic are dropped, the originals are not.
#[test]
fn a_panic_half_way_through_a_slice_drops_the_first_half() {
    struct Third(u8, Dropped);
    impl Clone for Third {
        fn clone(&self) -> Self {
            assert_ne!(self.0, 3, "not the third");
            Self(self.0, self.1.clone())
        }
    }
    let (data, drops) = Dropped::new();
    let originals: Vec<_> = (1..=4).map(|n| Third(n, data.clone())).collect();
    assert!(catch_unwind(AssertUnwindSafe(|| Arc::<[Third]>::from(&originals[..]))).is_err());
    assert_eq!(drops.get(), 2);
}

#[test]
fn arrays_and_slices_are_one_object() {
    let array = Arc::new([1, 2, 3]);
    let slice: Arc<[i32]> = array.clone().into();
    assert!(std::ptr::addr_eq(Arc::as_ptr(&array), Arc::as_ptr(&slice)));
    let slice = <Arc<[i32; 2]>>::try_from(slice).expect_err("three are not two");
    let again = <Arc<[i32; 3]>>::try_from(slice).expect("three");
    assert!(Arc::ptr_eq(&array, &again) && Arc::count(&array) == 2);
}

#[test]
fn a_trait_object_is_the_same_object() {
    let (data, drops) = Dropped::new();
    let a = Arc::new(data);
    let object = unsize!(a.clone() => dyn Any);
    assert!(object.is::<Dropped>());
    assert_eq!(Arc::count(&a), 2);
    drop(a);
    assert_eq!(drops.get(), 0);
    drop(object);
    assert_eq!(drops.get(), 1);

    let any: Arc<dyn Any + Send + Sync> = unsize!(Arc::new(7u8) => dyn Any + Send + Sync);
    let any = any.downcast::<i8>().expect_err("not an i8");
    assert_eq!(*any.downcast::<u8>().unwrap(), 7);
}

/// Every object goes through all threads; whoever drops its last handle, or changes it alone, finds it
/// whole.
#[test]
fn handles_cross_threads() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Sum(Vec<u64>, u64);
    impl Drop for Sum {
        fn drop(&mut self) {
            assert_eq!(self.0.iter().sum::<u64>(), self.1);
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    const OBJECTS: u64 = 2_000;
    let objects: Vec<_> = (0..OBJECTS).map(|n| Arc::new(Sum(vec![n; 3], 3 * n))).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let objects = objects.clone();
            scope.spawn(move || {
                for mut object in objects {
                    drop(object.clone());
                    if let Some(Sum(numbers, sum)) = Arc::get_mut(&mut object) {
                        numbers.push(7);
                        *sum += 7;
                    }
                }
            });
        }
        drop(objects);
    });
    assert_eq!(DROPS.load(Ordering::Relaxed), OBJECTS as usize);
}

/// A list whose nodes own their successors: dropping the head drops handles inside of drops.
#[test]
fn handles_may_be_cloned_and_dropped_while_data_is_dropped() {
    struct Node {
        next: Option<Arc<Node>>,
        log: Dropped,
    }
    impl Drop for Node {
        fn drop(&mut self) {
            drop(self.next.clone());
        }
    }
    let (log, drops) = Dropped::new();
    let mut head = None;
    for _ in 0..100 {
        head = Some(Arc::new(Node { next: head, log: log.clone() }));
    }
    assert!(Rc::ptr_eq(&head.as_ref().unwrap().log.0, &drops));
    drop(head);
    assert_eq!(drops.get(), 100);
}

#[test]
fn it_looks_like_its_data() {
    let (a, b) = (Arc::new(1.5), Arc::new(2.5));
    assert_eq!(format!("{a} {a:?} {:p}", a), format!("1.5 1.5 {:p}", Arc::as_ptr(&a)));
    assert!(a < b && a != b && a == Arc::new(1.5));
    assert_ne!(Arc::new(f64::NAN), Arc::new(f64::NAN));
    assert_eq!(Arc::new(3).cmp(&Arc::new(2)), std::cmp::Ordering::Greater);
    let set: HashSet<Arc<str>> = ["x".into()].into();
    assert!(set.contains("x") && !set.contains("y"), "hashes and borrows as its data");
    assert_eq!(AsRef::<f64>::as_ref(&a), &1.5);
    let error = Arc::new(std::io::Error::other("12".parse::<bool>().unwrap_err()));
    assert!(std::error::Error::source(&error).is_none());
    assert_eq!(size_of::<Option<Arc<u8>>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Arc<[u8]>>>(), 2 * size_of::<usize>());
}

/// The object that is leaked below. Reachable, so that a leak checker finds only what nobody meant.
static LEAKED: AtomicPtr<Dropped> = AtomicPtr::new(std::ptr::null_mut());

/// Filled by the handler below, which one test sets.
static FAULTS: std::sync::Mutex<Vec<Fault>> = std::sync::Mutex::new(Vec::new());

/// The one test here that makes faults; reports are the process's.
#[test]
fn an_exhausted_counter_leaks_the_object_and_says_so_once() {
    const MAX: u32 = i32::MAX as u32;
    set_handler(|fault| FAULTS.lock().unwrap().push(*fault));
    rearm();
    let (data, drops) = Dropped::new();
    let mut a = Arc::new(data);
    LEAKED.store(Arc::as_ptr(&a).cast_mut(), Ordering::Relaxed);
    // SAFETY: the references are never taken back, as if as many clones had been forgotten.
    unsafe { Arc::increment_strong_count_by(Arc::as_ptr(&a), MAX - 2) };
    let last = a.clone();
    assert_eq!((Arc::count(&a), Arc::is_saturated(&a)), (MAX, false));
    assert_eq!(FAULTS.lock().unwrap().len(), 0, "the greatest count is a count");

    let (one_too_many, line) = (a.clone(), line!());
    assert!(Arc::is_saturated(&a));
    drop(last);
    drop(one_too_many);
    let more: Vec<_> = (0..1000).map(|_| a.clone()).collect();
    assert!(Arc::is_saturated(&a) && Rc::ptr_eq(&more[999].0, &drops), "still usable");
    drop(more);
    // SAFETY: the references are never taken back.
    unsafe { Arc::increment_strong_count_by(Arc::as_ptr(&a), u32::MAX) };
    assert!(Arc::is_saturated(&a), "no number of references wraps it");

    assert!(!Arc::is_unique(&a) && Arc::get_mut(&mut a).is_none());
    let a = Arc::try_unwrap(a).err().expect("never the only one");
    drop(Arc::unwrap_or_clone(a.clone()));
    assert_eq!(drops.get(), 1, "a copy was dropped");
    let mut changed = a.clone();
    let _ = Arc::make_mut(&mut changed);
    assert!(!Arc::ptr_eq(&changed, &a) && !Arc::is_saturated(&changed));
    drop(changed);
    assert_eq!(drops.get(), 2, "another copy was dropped");
    assert!(Arc::into_inner(a.clone()).is_none());
    drop(a);
    assert_eq!(drops.get(), 2, "the object never is");

    let faults = FAULTS.lock().unwrap();
    let overflows: Vec<_> = faults.iter().filter(|f| f.kind == Kind::AddOverflow).collect();
    assert_eq!(overflows.len(), 1);
    assert_eq!((overflows[0].location.file(), overflows[0].location.line()), (file!(), line));
    assert_eq!(faults[0].kind, Kind::AddOverflow, "the first report is of what went wrong");
}
