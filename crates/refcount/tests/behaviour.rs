//! The seventeen behaviours of Linux's LKDTM refcount tests, and the boundaries, on every backend.

use refcount::{Backend, Counter, Fetch, Full, Plain, Word};

/// Every operation that LKDTM names, on one backend and width.
trait Count: Sized {
    const MAX: i128;
    const SATURATED: i128;
    fn of(n: i128) -> Self;
    fn read(&self) -> i128;
    fn inc(&self);
    fn add(&self, i: i128);
    fn inc_not_zero(&self) -> bool;
    fn add_not_zero(&self, i: i128) -> bool;
    fn add_not_zero_limited(&self, i: i128, limit: i128) -> bool;
    fn dec(&self);
    fn dec_and_test(&self) -> bool;
    fn sub_and_test(&self, i: i128) -> bool;
    fn dec_if_one(&self) -> bool;
    fn dec_not_one(&self) -> bool;
}

macro_rules! count {
    ($word:ty, $signed:ty) => {
        impl<B: Backend<$word>> Count for Counter<B, $word> {
            const MAX: i128 = <$word as Word>::MAX as i128;
            const SATURATED: i128 = <$word as Word>::SATURATED as $signed as i128;
            fn of(n: i128) -> Self {
                Self::new(n as $word)
            }
            fn read(&self) -> i128 {
                Counter::read(self) as $signed as i128
            }
            fn inc(&self) {
                Counter::inc(self);
            }
            fn add(&self, i: i128) {
                Counter::add(self, i as $word);
            }
            fn inc_not_zero(&self) -> bool {
                Counter::inc_not_zero(self)
            }
            fn add_not_zero(&self, i: i128) -> bool {
                Counter::add_not_zero(self, i as $word)
            }
            fn add_not_zero_limited(&self, i: i128, limit: i128) -> bool {
                Counter::add_not_zero_limited(self, i as $word, limit as $word)
            }
            fn dec(&self) {
                Counter::dec(self);
            }
            fn dec_and_test(&self) -> bool {
                Counter::dec_and_test(self)
            }
            fn sub_and_test(&self, i: i128) -> bool {
                Counter::sub_and_test(self, i as $word)
            }
            fn dec_if_one(&self) -> bool {
                Counter::dec_if_one(self)
            }
            fn dec_not_one(&self) -> bool {
                Counter::dec_not_one(self)
            }
        }
    };
}
count!(u32, i32);
count!(u64, i64);

/// `before`, one operation, what it returned, `after`.
#[track_caller]
fn check<C: Count, R: PartialEq + std::fmt::Debug>(
    before: i128,
    operation: impl FnOnce(&C) -> R,
    returned: R,
    after: i128,
) {
    let counter = C::of(before);
    assert_eq!(operation(&counter), returned, "returned, from {before}");
    assert_eq!(counter.read(), after, "value, from {before}");
}

fn overflows<C: Count>() {
    let (max, saturated) = (C::MAX, C::SATURATED);
    // INC_OVERFLOW, ADD_OVERFLOW
    check::<C, _>(max - 1, C::inc, (), max);
    check::<C, _>(max, C::inc, (), saturated);
    check::<C, _>(max - 4, |c| c.add(4), (), max);
    check::<C, _>(max - 3, |c| c.add(4), (), saturated);
    check::<C, _>(1, |c| c.add(max), (), saturated);
    check::<C, _>(max, |c| c.add(max), (), saturated);
    // INC_NOT_ZERO_OVERFLOW, ADD_NOT_ZERO_OVERFLOW
    check::<C, _>(max - 1, C::inc_not_zero, true, max);
    check::<C, _>(max, C::inc_not_zero, true, saturated);
    check::<C, _>(max - 5, |c| c.add_not_zero(6), true, saturated);
    check::<C, _>(1, |c| c.add_not_zero(max), true, saturated);
    // More than the greatest count at once.
    check::<C, _>(5, |c| c.add(max + 1), (), saturated);
    check::<C, _>(5, |c| c.add(2 * max + 1), (), saturated);
    check::<C, _>(5, |c| c.add_not_zero(max + 1), true, saturated);
    check::<C, _>(0, |c| c.add_not_zero(max + 1), false, 0);
}

fn zero<C: Count>() {
    let saturated = C::SATURATED;
    // INC_ZERO, ADD_ZERO
    check::<C, _>(0, C::inc_not_zero, false, 0);
    check::<C, _>(0, C::inc, (), saturated);
    check::<C, _>(0, |c| c.add_not_zero(3), false, 0);
    check::<C, _>(0, |c| c.add(3), (), saturated);
    // DEC_ZERO: the last reference may not be dropped so, nor one below.
    check::<C, _>(2, C::dec, (), 1);
    check::<C, _>(1, C::dec, (), saturated);
    check::<C, _>(0, C::dec, (), saturated);
    check::<C, _>(0, C::dec_and_test, false, saturated);
    check::<C, _>(0, |c| c.sub_and_test(0), false, saturated);
    check::<C, _>(0, |c| c.sub_and_test(1), false, saturated);
    // And what is no fault.
    check::<C, _>(1, C::dec_and_test, true, 0);
    check::<C, _>(2, C::dec_and_test, false, 1);
    check::<C, _>(7, |c| c.sub_and_test(7), true, 0);
    check::<C, _>(7, |c| c.sub_and_test(6), false, 1);
    check::<C, _>(7, |c| c.sub_and_test(0), false, 7);
    check::<C, _>(1, C::inc, (), 2);
    check::<C, _>(1, |c| c.add(0), (), 1);
    check::<C, _>(1, C::dec_if_one, true, 0);
    check::<C, _>(2, C::dec_if_one, false, 2);
    check::<C, _>(0, C::dec_if_one, false, 0);
    check::<C, _>(2, C::dec_not_one, true, 1);
    check::<C, _>(1, C::dec_not_one, false, 1);
    check::<C, _>(0, C::dec_not_one, true, 0);
}

fn negative<C: Count>() {
    let (max, saturated) = (C::MAX, C::SATURATED);
    // DEC_NEGATIVE, DEC_AND_TEST_NEGATIVE, SUB_AND_TEST_NEGATIVE. No negative number is a count, so a
    // counter that is set to one is saturated before; what a fault leaves for an instant is tested
    // where the counter is.
    for below in [-1, -2, saturated - 1, saturated + 1, -max, -max - 1] {
        check::<C, _>(below, C::dec, (), saturated);
        check::<C, _>(below, C::dec_and_test, false, saturated);
        check::<C, _>(below, |c| c.sub_and_test(5), false, saturated);
        check::<C, _>(below, |c| c.sub_and_test(0), false, saturated);
        check::<C, _>(below, C::inc, (), saturated);
        check::<C, _>(below, |c| c.add(2), (), saturated);
        check::<C, _>(below, |c| c.add(max), (), saturated);
        check::<C, _>(below, C::inc_not_zero, true, saturated);
        check::<C, _>(below, C::dec_if_one, false, saturated);
        check::<C, _>(below, C::dec_not_one, true, saturated);
    }
    check::<C, _>(3, |c| c.sub_and_test(4), false, saturated);
    check::<C, _>(max, |c| c.sub_and_test(max), true, 0);
    check::<C, _>(1, |c| c.sub_and_test(max), false, saturated);
    check::<C, _>(1, |c| c.sub_and_test(max + 1), false, saturated);
    check::<C, _>(1, |c| c.sub_and_test(2 * max + 1), false, saturated);
}

fn saturated<C: Count>() {
    let saturated = C::SATURATED;
    // INC_, DEC_, ADD_, INC_NOT_ZERO_, ADD_NOT_ZERO_, DEC_AND_TEST_, SUB_AND_TEST_SATURATED
    check::<C, _>(saturated, C::inc, (), saturated);
    check::<C, _>(saturated, C::dec, (), saturated);
    check::<C, _>(saturated, |c| c.add(8), (), saturated);
    check::<C, _>(saturated, C::inc_not_zero, true, saturated);
    check::<C, _>(saturated, |c| c.add_not_zero(7), true, saturated);
    check::<C, _>(saturated, C::dec_and_test, false, saturated);
    check::<C, _>(saturated, |c| c.sub_and_test(8), false, saturated);
    check::<C, _>(saturated, C::dec_not_one, true, saturated);
    check::<C, _>(saturated, C::dec_if_one, false, saturated);
    check::<C, _>(saturated, |c| c.add_not_zero_limited(1, 9), true, saturated);
}

fn limited<C: Count>() {
    let (max, saturated) = (C::MAX, C::SATURATED);
    check::<C, _>(3, |c| c.add_not_zero_limited(2, 5), true, 5);
    check::<C, _>(3, |c| c.add_not_zero_limited(3, 5), false, 3);
    check::<C, _>(9, |c| c.add_not_zero_limited(1, 5), false, 9);
    check::<C, _>(0, |c| c.add_not_zero_limited(1, 5), false, 0);
    check::<C, _>(max, |c| c.add_not_zero_limited(1, max - 1), false, max);
    check::<C, _>(2, |c| c.add_not_zero_limited(max + 1, 5), false, 2);
    check::<C, _>(max, |c| c.add_not_zero_limited(1, max), true, saturated);
}

macro_rules! backends {
    ($($name:ident: $backend:ty),* $(,)?) => {$(
        mod $name {
            use super::*;

            #[test]
            fn saturates_beyond_the_greatest_count() {
                overflows::<Counter<$backend, u32>>();
                overflows::<Counter<$backend, u64>>();
            }

            #[test]
            fn tells_zero_from_a_count() {
                zero::<Counter<$backend, u32>>();
                zero::<Counter<$backend, u64>>();
            }

            #[test]
            fn saturates_below_zero() {
                negative::<Counter<$backend, u32>>();
                negative::<Counter<$backend, u64>>();
            }

            #[test]
            fn stays_saturated() {
                saturated::<Counter<$backend, u32>>();
                saturated::<Counter<$backend, u64>>();
            }

            #[test]
            fn keeps_a_limit() {
                limited::<Counter<$backend, u32>>();
                limited::<Counter<$backend, u64>>();
            }
        }
    )*};
}

backends! {
    fetch: Fetch,
    full: Full,
    default: refcount::DefaultBackend,
}

#[cfg(refcount_fast)]
backends! { fast: refcount::Fast }

/// The control: what does not check must fail where the others pass.
#[test]
#[should_panic(expected = "value, from 2147483647")]
fn plain_wraps() {
    overflows::<Counter<Plain, u32>>();
}

#[cfg(target_arch = "aarch64")]
backends! { ll_sc: refcount::LlSc }
