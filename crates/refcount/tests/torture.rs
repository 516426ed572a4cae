//! What the counter promises, under four threads that break it: a short run of `examples/torture.rs`.

mod hammer;
mod width;

use hammer::{near_the_greatest, near_zero};
use refcount::{DefaultBackend, Fetch, Full, Plain, set_handler};

/// A few rounds of both places and widths.
macro_rules! torture {
    ($($name:ident: $backend:ty),* $(,)?) => {$(
        #[test]
        fn $name() {
            set_handler(|_| ());
            for round in 0..10 {
                near_the_greatest::<$backend, u32>(5_000, round).expect("u32 near the greatest");
                near_the_greatest::<$backend, u64>(5_000, round).expect("u64 near the greatest");
                near_zero::<$backend, u32>(5_000, round).expect("u32 near zero");
                near_zero::<$backend, u64>(5_000, round).expect("u64 near zero");
            }
        }
    )*};
}
torture!(fetch: Fetch, full: Full, default: DefaultBackend);
#[cfg(refcount_fast)]
torture!(fast: refcount::Fast);

/// The control: what wraps fails.
#[test]
fn plain_fails() {
    near_the_greatest::<Plain, u32>(5_000, 0).expect_err("wraps at the greatest count");
    near_the_greatest::<Plain, u64>(5_000, 0).expect_err("wraps at the greatest count");
    near_zero::<Plain, u32>(5_000, 0).expect_err("goes below zero");
    near_zero::<Plain, u64>(5_000, 0).expect_err("goes below zero");
}
