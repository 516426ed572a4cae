//! Copies that know the sizes of both ends.
#![no_std]
#![expect(unsafe_code, reason = "checked forms of functions on raw pointers")]

mod report;

pub use report::{Access, Function, Handler, Overflow, overflow, set_handler};
