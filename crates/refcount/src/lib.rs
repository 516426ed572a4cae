//! A reference counter that saturates instead of wrapping.
//!
//! A counter that wraps turns a leak of references into a use after free: 2³² increments later the
//! object is freed while references to it are alive. A counter that saturates turns it into a leak
//! of memory. This crate holds Linux's semantics for it: every operation has a range in which it is
//! valid, and outside that range the counter is set to [`SATURATED`](Word::SATURATED), from which nothing
//! but [`set`](Counter::set) brings it back, and the fault is reported once per kind.
//!
//! # Saturation semantics
//!
//! A counter of `u32` is seen as signed: `1..=MAX` are live counts, `0` is a dead object, negative
//! values are faults. `SATURATED` is in the middle of the negative half, so far from both ends that
//! threads cannot race it out of there before one of them stores it again: the backends that write first
//! do so in steps of 2¹⁶ at most, and look first where more is added or dropped. [`Full`] never writes
//! what is out of range.
//!
//! | operation | ordering | fault when | afterwards |
//! |---|---|---|---|
//! | [`add`](Counter::add), [`inc`](Counter::inc) | relaxed | was 0, was negative, or would exceed `MAX` | saturated |
//! | [`add_not_zero`](Counter::add_not_zero), [`inc_not_zero`](Counter::inc_not_zero) | relaxed (or acquire) | was negative or would exceed `MAX` | saturated, `true` |
//! | [`add_not_zero_limited`](Counter::add_not_zero_limited), [`inc_not_zero_limited`](Counter::inc_not_zero_limited) | the same | was negative (with a limit of `MAX` or more, also if it would exceed `MAX`) | saturated, `true` |
//! | [`sub_and_test`](Counter::sub_and_test), [`dec_and_test`](Counter::dec_and_test) | release, acquire on reaching 0 | was not positive, or would fall below 0 | saturated, `false` |
//! | [`dec`](Counter::dec) | release | was 1 or less | saturated |
//! | [`dec_if_one`](Counter::dec_if_one) | release, acquire on success | never | |
//! | [`dec_not_one`](Counter::dec_not_one) | release | was 0 | unchanged, `true` |
//! | [`dec_and_lock`](Counter::dec_and_lock) | `dec_not_one`, then under the lock `dec_and_test` | as those | as those, unlocked |
//!
//! The conditional additions give 0 back as it is, and `false`. An argument beyond `MAX` is a fault where
//! the sum or the difference would be one. A zero that another thread reads hands nothing over: only
//! `true` of the drop does.
//!
//! # Memory ordering
//!
//! An increment is made by somebody who holds a reference already and orders nothing. A decrement
//! releases all that its thread did with the object; the one that reaches zero acquires what all
//! others released, so that whoever frees the object sees it complete. What
//! [`set_release`](Counter::set_release) published is seen by whoever then gets `true` from an
//! `_acquire` form, of a counter that was saturated in between too.
//!
//! # Backends
//!
//! How the check is made is a type parameter, so that each way can be measured beside the others:
//! [`Plain`] does not check and is the floor, [`Full`] decides before it writes (a compare-exchange
//! loop), [`Fetch`] writes and looks at the old value, [`Fast`] jumps on the flags of the very
//! instruction that writes. On aarch64 `Fast` is one of two others, `LlSc` and `Lse`, by which atomics
//! the CPU has; where no system can be asked, `set_lse_probe` is told.
//!
//! [`RefCount`] and [`RefCount64`] use [`DefaultBackend`], which is chosen by what was measured. A pair of
//! `inc` and `dec_and_test` on x86-64 (AMD EPYC), as a ratio to `Plain`:
//!
//! | | one thread | two threads on one counter | default |
//! |---|---|---|---|
//! | `Fast` | 1.013 | 1.001 | x86-64 |
//! | `Fetch` | 1.041 | 1.034 | all others but aarch64 |
//! | `Full` | 1.258 | 2.32 | |
//!
//! On aarch64 the default is `Fast`, unmeasured: on Linux `Fetch` in a build for all CPUs is a call at each
//! operation. It takes atomics of the counter's width, for `RefCount64` of 64 bits. `docs/primitives.md` has the intervals, and what was tried and left.
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![expect(
    unsafe_code,
    reason = "inline assembly, a handler kept in an atomic, and shared ownership"
)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "alloc")]
mod arc;
mod backend;
mod counter;
mod fast;
mod fetch;
mod full;
mod lock;
#[cfg(all(test, loom))]
mod models;
mod plain;
mod report;
mod word;

#[cfg(feature = "alloc")]
pub use arc::{Arc, Unshare};
pub use backend::Backend;
#[cfg(any(loom, target_has_atomic = "64"))]
pub use counter::RefCount64;
pub use counter::{Counter, DefaultBackend, RefCount};
#[cfg(refcount_fast)]
pub use fast::Fast;
#[cfg(all(refcount_fast, target_arch = "aarch64"))]
pub use fast::{LlSc, Lse, set_lse_probe, uses_lse};
pub use fetch::Fetch;
pub use full::Full;
pub use lock::Lock;
pub use plain::Plain;
pub use report::{Fault, Handler, Kind, rearm, set_handler};
pub use word::Word;
