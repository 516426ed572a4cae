//! The operations as functions of their own, so that their machine code can be shown.

use crate::pair::loops;
use experiments::Listing;
use refcount::{Counter, Fetch, Full, Plain};
use std::sync::Arc;

macro_rules! listed {
    ($($(#[$when:meta])* $name:literal, $function:ident: $argument:ty => $result:ty, $body:expr;)*) => {
        $($(#[$when])*
        #[inline(never)]
        fn $function(argument: $argument) -> $result {
            let body: fn($argument) -> $result = $body;
            body(argument)
        })*

        /// All of them.
        pub(crate) fn listings() -> Vec<Listing> {
            vec![$($(#[$when])* Listing {
                name: $name.to_owned(),
                function: stringify!($function).to_owned(),
                kept: $function as *const () as usize,
                object: None,
            }),*]
        }
    };
}

listed! {
    "inc, plain", inc_plain: &Counter<Plain> => (), |refs| refs.inc();
    "inc, fetch", inc_fetch: &Counter<Fetch> => (), |refs| refs.inc();
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    "inc, fast", inc_fast: &Counter<refcount::Fast> => (), |refs| refs.inc();
    "inc, full", inc_full: &Counter<Full> => (), |refs| refs.inc();
    "dec_and_test, plain", dec_and_test_plain: &Counter<Plain> => bool, |refs| refs.dec_and_test();
    "dec_and_test, fetch", dec_and_test_fetch: &Counter<Fetch> => bool, |refs| refs.dec_and_test();
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    "dec_and_test, fast", dec_and_test_fast: &Counter<refcount::Fast> => bool, |refs| refs.dec_and_test();
    "dec_and_test, full", dec_and_test_full: &Counter<Full> => bool, |refs| refs.dec_and_test();
    "both loops, plain", loops_plain: (&Counter<Plain>, u64) => u64, |(refs, n)| loops(refs, n);
    "both loops, fetch", loops_fetch: (&Counter<Fetch>, u64) => u64, |(refs, n)| loops(refs, n);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    "both loops, fast", loops_fast: (&Counter<refcount::Fast>, u64) => u64, |(refs, n)| loops(refs, n);
    "both loops, full", loops_full: (&Counter<Full>, u64) => u64, |(refs, n)| loops(refs, n);
    "clone, std", clone_std: &Arc<u64> => Arc<u64>, Arc::clone;
    "clone, refcount", clone_refcount: &refcount::Arc<u64> => refcount::Arc<u64>, Clone::clone;
    "clone, triomphe", clone_triomphe: &triomphe::Arc<u64> => triomphe::Arc<u64>, Clone::clone;
    "drop, std", drop_std: Arc<u64> => (), drop;
    "drop, refcount", drop_refcount: refcount::Arc<u64> => (), drop;
    "drop, triomphe", drop_triomphe: triomphe::Arc<u64> => (), drop;
}
