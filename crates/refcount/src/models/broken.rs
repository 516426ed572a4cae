//! Backends with one defect each, which the models must find.

use core::sync::atomic::Ordering;

use crate::Fetch;
use crate::backend::{Backend, overflows, sealed};
use crate::word::{Sealed, fence};

/// Changes a method or two of [`Fetch`].
macro_rules! broken {
    ($(#[$doc:meta])* $name:ident { $($changed:item)* }) => {
        $(#[$doc])*
        pub(super) enum $name {}

        impl Backend<u32> for $name {
            const NAME: &'static str = stringify!($name);
        }

        impl sealed::Backend<u32> for $name {
            $($changed)*
        }
    };
}

type Atomic = <u32 as Sealed>::Atomic;

fn add(counter: &Atomic, i: u32) {
    <Fetch as sealed::Backend<u32>>::add(counter, i);
}

fn dec(counter: &Atomic) {
    <Fetch as sealed::Backend<u32>>::dec(counter);
}

fn sub_and_test(counter: &Atomic, i: u32) -> bool {
    <Fetch as sealed::Backend<u32>>::sub_and_test(counter, i)
}

broken! {
    /// A decrement that does not release: the last one may free what another still writes to.
    RelaxedDecrement {
        fn add(counter: &Atomic, i: u32) {
            add(counter, i);
        }
        fn dec(counter: &Atomic) {
            dec(counter);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            let last = u32::fetch_sub(counter, i, Ordering::Relaxed) == i;
            if last {
                fence(Ordering::Acquire);
            }
            last
        }
    }
}

broken! {
    /// A last decrement that does not acquire what the others released.
    NoAcquireFence {
        fn add(counter: &Atomic, i: u32) {
            add(counter, i);
        }
        fn dec(counter: &Atomic) {
            dec(counter);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            u32::fetch_sub(counter, i, Ordering::Release) == i
        }
        fn dec_if_one(counter: &Atomic) -> bool {
            u32::compare_exchange(counter, 1, 0, Ordering::Release).is_ok()
        }
    }
}

broken! {
    /// Read, compute, write: another thread's change in between is lost.
    NotAtomic {
        fn add(counter: &Atomic, i: u32) {
            let old = u32::load(counter, Ordering::Relaxed);
            u32::store(counter, old + i, Ordering::Relaxed);
        }
        fn dec(counter: &Atomic) {
            let old = u32::load(counter, Ordering::Relaxed);
            u32::store(counter, old - 1, Ordering::Release);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            let old = u32::load(counter, Ordering::Relaxed);
            u32::store(counter, old.wrapping_sub(i), Ordering::Release);
            let last = old == i;
            if last {
                fence(Ordering::Acquire);
            }
            last
        }
    }
}

broken! {
    /// A conditional increment that looks at zero once and then adds all the same.
    LooksOnce {
        fn add(counter: &Atomic, i: u32) {
            add(counter, i);
        }
        fn dec(counter: &Atomic) {
            dec(counter);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            sub_and_test(counter, i)
        }
        fn add_not_zero(counter: &Atomic, i: u32, _limit: u32, success: Ordering) -> bool {
            u32::load(counter, Ordering::Relaxed) != 0 && {
                u32::fetch_add(counter, i, success);
                true
            }
        }
    }
}

broken! {
    /// A conditional increment that does not acquire, whatever it is asked for.
    NeverAcquires {
        fn add(counter: &Atomic, i: u32) {
            add(counter, i);
        }
        fn dec(counter: &Atomic) {
            dec(counter);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            sub_and_test(counter, i)
        }
        fn add_not_zero(counter: &Atomic, i: u32, limit: u32, _success: Ordering) -> bool {
            <Fetch as sealed::Backend<u32>>::add_not_zero(counter, i, limit, Ordering::Relaxed)
        }
    }
}

broken! {
    /// A conditional decrement that looks once and then subtracts all the same: the last reference may
    /// go with nobody told.
    TakesTheLast {
        fn add(counter: &Atomic, i: u32) {
            add(counter, i);
        }
        fn dec(counter: &Atomic) {
            dec(counter);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            sub_and_test(counter, i)
        }
        fn dec_not_one(counter: &Atomic) -> bool {
            let one = u32::load(counter, Ordering::Relaxed) == 1;
            if !one {
                u32::fetch_sub(counter, 1, Ordering::Release);
            }
            !one
        }
    }
}

broken! {
    /// An overflow that goes back to where it came from: the next one is missed.
    StepsBack {
        fn add(counter: &Atomic, i: u32) {
            let old = u32::fetch_add(counter, i, Ordering::Relaxed);
            if overflows(old, i) {
                u32::fetch_sub(counter, i, Ordering::Relaxed);
            }
        }
        fn dec(counter: &Atomic) {
            dec(counter);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            sub_and_test(counter, i)
        }
    }
}

broken! {
    /// The mark of a dead object, put there without a look at what it replaces.
    MarksBlindly {
        const ZERO: u32 = <u32 as Sealed>::DEAD;
        fn add(counter: &Atomic, i: u32) {
            if (u32::fetch_add(counter, i, Ordering::Relaxed) + i) as i32 > 0 {
                return;
            }
            u32::store(counter, <u32 as crate::Word>::SATURATED, Ordering::Relaxed);
        }
        fn dec(counter: &Atomic) {
            dec(counter);
        }
        fn sub_and_test(counter: &Atomic, i: u32) -> bool {
            let last = u32::fetch_sub(counter, i, Ordering::Release) == i;
            if last {
                fence(Ordering::Acquire);
                u32::store(counter, <u32 as Sealed>::DEAD, Ordering::Relaxed);
            }
            last
        }
    }
}
