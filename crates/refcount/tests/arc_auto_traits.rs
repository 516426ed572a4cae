//! `Send`, `Sync` and their like hold exactly where they do for the standard library's `Arc`.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, mpsc};

/// Whether `$type: $trait`, as a constant: the inherent one is found first, where its bound holds.
macro_rules! implements {
    ($type:ty: $trait:path) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "where the bound holds")]
        trait Otherwise {
            const YES: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        #[allow(dead_code, reason = "where the bound does not hold")]
        impl<T: ?Sized + $trait> Probe<T> {
            const YES: bool = true;
        }
        <Probe<$type>>::YES
    }};
}

/// Compares both `Arc`s of each type, and gives how many of ours are `Send`.
macro_rules! same {
    ($($data:ty),* $(,)?) => {
        [$({
            macro_rules! same_trait {
                ($trait:path) => {
                    assert_eq!(
                        implements!(refcount::Arc<$data>: $trait),
                        implements!(std::sync::Arc<$data>: $trait),
                        concat!("Arc<", stringify!($data), ">: ", stringify!($trait)),
                    )
                };
            }
            same_trait!(Send);
            same_trait!(Sync);
            same_trait!(Unpin);
            same_trait!(UnwindSafe);
            same_trait!(RefUnwindSafe);
            same_trait!(Copy);
            same_trait!(Clone);
            same_trait!(std::fmt::Debug);
            same_trait!(std::fmt::Display);
            same_trait!(std::fmt::Pointer);
            same_trait!(std::hash::Hash);
            same_trait!(PartialEq);
            same_trait!(Eq);
            same_trait!(PartialOrd);
            same_trait!(Ord);
            same_trait!(Default);
            same_trait!(std::error::Error);
            same_trait!(std::ops::DerefMut);
            (stringify!($data), implements!(refcount::Arc<$data>: Send))
        }),*]
    };
}

#[test]
fn every_trait_holds_exactly_where_stds_does() {
    let send = same![
        u8,
        f64,
        str,
        [String],
        Rc<u8>,
        Cell<u8>,
        RefCell<u8>,
        UnsafeCell<u8>,
        Mutex<Cell<u8>>,
        MutexGuard<'static, u8>,
        mpsc::Receiver<u8>,
        *const u8,
        PhantomPinned,
        &'static mut u8,
        &'static Cell<u8>,
        std::io::Error,
        dyn std::any::Any,
        dyn std::any::Any + Send,
        dyn std::any::Any + Sync,
        dyn std::any::Any + Send + Sync,
        dyn std::any::Any + UnwindSafe,
        dyn std::error::Error + RefUnwindSafe,
        refcount::Arc<Cell<u8>>,
    ];
    let yes: Vec<_> = send.iter().filter(|(_, send)| *send).map(|(data, _)| *data).collect();
    assert_eq!(
        yes,
        [
            "u8",
            "f64",
            "str",
            "[String]",
            "Mutex<Cell<u8>>",
            "PhantomPinned",
            "&'static mut u8",
            "std::io::Error",
            "dyn std::any::Any + Send + Sync",
        ],
        "data that only may be sent, or only may be shared, is not enough"
    );
}

/// A handle of a longer lifetime goes where one of a shorter is asked for.
#[test]
fn it_is_covariant() {
    fn length<'a>(long: refcount::Arc<&'static str>, short: &'a str) -> usize {
        let both: [refcount::Arc<&'a str>; 2] = [long, refcount::Arc::new(short)];
        both.iter().map(|text| text.len()).sum()
    }
    let short = String::from("short");
    assert_eq!(length(refcount::Arc::new("long"), &short), 9);
}
