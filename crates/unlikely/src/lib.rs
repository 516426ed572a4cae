//! Branch hints for code that cannot wait for a profile.
//!
//! A hint says which way a condition almost always goes. The compiler then lays the other way's code
//! out of the hot path: fewer taken branches, fewer cache lines. It is built on
//! [`core::hint::cold_path`], stable since Rust 1.95.
#![no_std]

pub use core::hint::cold_path;

/// `b`, which is almost always true.
#[inline(always)]
pub const fn likely(b: bool) -> bool {
    if !b {
        cold_path();
    }
    b
}

/// `b`, which is almost always false.
#[inline(always)]
pub const fn unlikely(b: bool) -> bool {
    if b {
        cold_path();
    }
    b
}

/// The condition, which is almost always true.
#[macro_export]
macro_rules! likely {
    ($condition:expr $(,)?) => {
        $crate::likely($condition)
    };
}

/// The condition, which is almost always false.
#[macro_export]
macro_rules! unlikely {
    ($condition:expr $(,)?) => {
        $crate::unlikely($condition)
    };
}
