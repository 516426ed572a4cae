//! Branch hints that cost nothing, and can count how right they are.
//!
//! A hint says which way a condition almost always goes. The compiler then lays the other way's code
//! out of the hot path: fewer taken branches, fewer cache lines. All hints here are built on
//! [`core::hint::cold_path`], stable since Rust 1.95, which is the oldest compiler that builds this
//! crate. It has no dependency, and without the feature `std` needs only `core`.
//!
//! ```
//! use unlikely::{likely, unlikely};
//!
//! fn checked_div(a: u32, b: u32) -> Option<u32> {
//!     if unlikely!(b == 0) {
//!         return None;
//!     }
//!     Some(a / b)
//! }
//! # assert_eq!(checked_div(6, 3), Some(2));
//! # assert!(likely!(checked_div(1, 0).is_none()));
//! ```
//!
//! # A hint is a claim, and claims are counted
//!
//! A wrong hint costs more than none, and nothing in the program shows that it is wrong. So the
//! macros [`likely!`] and [`unlikely!`] know where they stand. Build the program with
//!
//! ```text
//! RUSTFLAGS="--cfg unlikely_profile" cargo build --release
//! UNLIKELY_SITES=counts-%p.jsonl target/release/program
//! ```
//!
//! and every macro of every crate in it counts how often it was right and wrong. The hint itself is
//! then gone and the bare condition is left: the layout that the hint asks for must not decide what
//! is counted, and branch profilers of other makers see the condition as written. The table is in
//! [`profile::sites`], is written at exit (feature `std`, see [`profile::write_file`]) or wherever
//! [`profile::dump`] is pointed at, and is read by `unlikely import` and judged by `unlikely scan`.
//!
//! In all other builds a macro is the hint alone. There is no static, no string and no code of a
//! site; the assembly is that of a `cold_path()` written by hand, which a test compares.
//!
//! # Macros and functions
//!
//! | | names its site, is counted | in a `const fn` |
//! |---|---|---|
//! | [`likely!`], [`unlikely!`] | yes | no |
//! | [`likely()`], [`unlikely()`] | no | yes |
//!
//! A function cannot know its caller's condition, and what runs at compile time has no counter that
//! it could change. So the functions are what a `const fn` uses, and what must not be counted: a
//! condition inside the machinery that counts, or in code that runs before atomics do. The macros
//! are refused in a `const fn` by every build, not only by one that counts:
//!
//! ```compile_fail,E0015
//! const fn is_last(n: u32) -> bool {
//!     unlikely::unlikely!(n == 0)
//! }
//! ```
//! ```
//! const fn is_last(n: u32) -> bool {
//!     unlikely::unlikely(n == 0)
//! }
//! ```
//!
//! [`cold_path`] has no macro that counts: how often a cold path ran says nothing while nobody
//! counts how often it could have run. Where that matters, hint the condition before it.
//!
//! # In libraries
//!
//! Depend on it with `default-features = false`, and leave `std` and `profile` to the program. Sites
//! in generic and inlined functions count for all their copies together.
#![no_std]

#[cfg(feature = "std")]
extern crate std;

#[cfg(target_has_atomic = "ptr")]
pub mod profile;

#[doc(hidden)]
pub use core as __core;
pub use core::hint::cold_path;

#[cfg(all(any(unlikely_profile, feature = "profile"), not(target_has_atomic = "ptr")))]
compile_error!(
    "the hints of this target cannot be counted, as it has no atomic read-modify-write: build \
     without `--cfg unlikely_profile` and the feature `profile`"
);

/// Whether this build counts its sites and gives no hints.
pub const PROFILED: bool = cfg!(any(unlikely_profile, feature = "profile"));

/// `b`, which is almost always true.
///
/// For a `const fn`, and wherever nothing shall be counted; elsewhere use [`likely!`].
#[inline(always)]
#[must_use]
pub const fn likely(b: bool) -> bool {
    if !PROFILED && !b {
        cold_path();
    }
    b
}

/// `b`, which is almost always false.
///
/// For a `const fn`, and wherever nothing shall be counted; elsewhere use [`unlikely!`].
#[inline(always)]
#[must_use]
pub const fn unlikely(b: bool) -> bool {
    if !PROFILED && b {
        cold_path();
    }
    b
}

/// What the macros are where nothing counts. Not `const`, so that a use in a `const fn` is refused
/// here as it is by a build that counts.
#[doc(hidden)]
pub mod __hint {
    /// [`crate::likely()`], at run time.
    #[inline(always)]
    #[must_use]
    pub fn likely(b: bool) -> bool {
        crate::likely(b)
    }

    /// [`crate::unlikely()`], at run time.
    #[inline(always)]
    #[must_use]
    pub fn unlikely(b: bool) -> bool {
        crate::unlikely(b)
    }
}

/// The condition, which is almost always true: a hint that can be counted.
///
/// Takes one `bool` expression, evaluates it once, and is its value. A macro of your own around it
/// is named in its place, by where it is called and with the condition that it makes.
///
/// ```
/// let parsed: Result<u32, _> = "7".parse::<u32>();
/// if unlikely::likely!(parsed.is_ok()) {
///     // the usual way
/// }
/// ```
#[cfg(not(any(unlikely_profile, feature = "profile")))]
#[macro_export]
macro_rules! likely {
    ($condition:expr $(,)?) => {
        $crate::__hint::likely($condition)
    };
}

/// The condition, which is almost always false: a hint that can be counted.
///
/// Takes one `bool` expression, evaluates it once, and is its value. A macro of your own around it
/// is named in its place, by where it is called and with the condition that it makes.
///
/// ```
/// let bytes: &[u8] = b"abc";
/// if unlikely::unlikely!(bytes.is_empty()) {
///     // the rare way
/// }
/// ```
#[cfg(not(any(unlikely_profile, feature = "profile")))]
#[macro_export]
macro_rules! unlikely {
    ($condition:expr $(,)?) => {
        $crate::__hint::unlikely($condition)
    };
}

/// The condition, which is almost always true; this build counts how often it is.
#[cfg(any(unlikely_profile, feature = "profile"))]
#[macro_export]
macro_rules! likely {
    ($condition:expr $(,)?) => {
        $crate::__counted!(Likely, $condition)
    };
}

/// The condition, which is almost always false; this build counts how often it is.
#[cfg(any(unlikely_profile, feature = "profile"))]
#[macro_export]
macro_rules! unlikely {
    ($condition:expr $(,)?) => {
        $crate::__counted!(Unlikely, $condition)
    };
}
