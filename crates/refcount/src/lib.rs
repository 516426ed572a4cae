//! A reference counter that saturates instead of wrapping.
//!
//! A counter that wraps turns a leak of references into a use after free: 2³² increments later the
//! object is freed while references to it are alive. A counter that saturates turns it into a leak
//! of memory. This crate holds Linux's semantics for it: every operation has a range in which it is
//! valid, and outside that range the counter is set to [`SATURATED`](Word::SATURATED), from which no
//! operation brings it back, and the fault is reported once per kind.
//!
//! # Saturation semantics
//!
//! A counter of `u32` is seen as signed: `1..=MAX` are live counts, `0` is a dead object, negative
//! values are faults. `SATURATED` is in the middle of the negative half, so far from both ends that
//! no number of threads that exist can race it out of there before one of them stores it again.
//!
//! | operation | ordering | fault when | afterwards |
//! |---|---|---|---|
//! | [`add`](Counter::add), [`inc`](Counter::inc) | relaxed | was 0, was negative, or would exceed `MAX` | saturated |
//! | [`add_not_zero`](Counter::add_not_zero), [`inc_not_zero`](Counter::inc_not_zero) | relaxed (or acquire) | was negative or would exceed `MAX` | saturated, `true` |
//! | [`sub_and_test`](Counter::sub_and_test), [`dec_and_test`](Counter::dec_and_test) | release, acquire on reaching 0 | was not positive, or would fall below 0 | saturated, `false` |
//! | [`dec`](Counter::dec) | release | was 1 or less | saturated |
//! | [`dec_if_one`](Counter::dec_if_one) | release, acquire on success | never | |
//! | [`dec_not_one`](Counter::dec_not_one) | release | was 0 | unchanged, `true` |
//!
//! # Memory ordering
//!
//! An increment is made by somebody who holds a reference already and orders nothing. A decrement
//! releases all that its thread did with the object; the one that reaches zero acquires what all
//! others released, so that whoever frees the object sees it complete.
//!
//! # Backends
//!
//! How the check is made is a type parameter, so that each way can be measured beside the others:
//! [`Plain`] does not check and is the floor, [`Full`] decides before it writes (a compare-exchange
//! loop), [`Fetch`] writes and looks at the old value, [`Fast`] jumps on the flags of the very
//! instruction that writes. [`RefCount`] and [`RefCount64`] use [`DefaultBackend`].
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![expect(unsafe_code, reason = "inline assembly, and a handler kept in an atomic")]

mod backend;
mod counter;
mod fast;
mod fetch;
mod full;
mod lock;
mod plain;
mod report;
mod word;

pub use backend::Backend;
pub use counter::{Counter, DefaultBackend, RefCount, RefCount64};
#[cfg(refcount_fast)]
pub use fast::Fast;
pub use fetch::Fetch;
pub use full::Full;
pub use lock::Lock;
pub use plain::Plain;
pub use report::{Fault, Handler, Kind, rearm, set_handler};
pub use word::Word;
