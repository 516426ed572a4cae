//! Copies that know the sizes of both ends.
//!
//! The C library's memory and string functions trust their caller. These take pointers that carry
//! what is known of the memory behind them ([`Dst`], [`Src`]) and refuse to leave it, as C programs
//! built with `_FORTIFY_SOURCE` and Linux do. What is checked, and what it costs, depends on what is
//! known, which is said by types ([`Extent`]):
//!
//! | the size is | the length is | the check |
//! |---|---|---|
//! | [`Unknown`] | any | compiled away |
//! | a constant ([`Fixed`], [`SizeOf`], [`RestOf`]) | a constant | by the compiler: a wrong one does not compile (in `cargo build`; `cargo check` does not look) |
//! | [`Known`], or either of them at run time | | one comparison, whose failing path is out of the way |
//!
//! Each function has two forms: `memcpy` goes to the settable handler ([`set_handler`]) and does not
//! return, `try_memcpy` returns the [`Overflow`]. They are found before anything is written. All of a
//! function's failing paths meet in one cold call. [`mod@slice`] has the same functions over slices, as
//! safe ones.
//!
//! ```
//! use fortify::{Access, Dst, Src, try_memcpy};
//!
//! # fn receive(buffer: *mut core::ffi::c_void, size: usize, message: &[u8]) -> Result<(), fortify::Overflow> {
//! // SAFETY: `buffer` has `size` bytes, which are not the message.
//! unsafe { try_memcpy(Dst::known(buffer, size), Src::from(message), message.len()) }
//! # }
//! # let mut buffer = [0u8; 4];
//! # assert!(receive(buffer.as_mut_ptr().cast(), 4, b"four").is_ok());
//! let overflow = receive(buffer.as_mut_ptr().cast(), 4, b"too much").unwrap_err();
//! assert_eq!(overflow.access, Access::Write);
//! assert_eq!(overflow.to_string(), "memcpy: detected buffer overflow: 8 byte write of buffer size 4");
//! ```
//!
//! No feature is on by default. `unhinted` leaves the branch hints out, for measuring what they are
//! worth; so does `--cfg unlikely_profile`, under which branches are counted. `warm` leaves out that
//! the reports are cold, which the compiler takes for a hint as well.
#![no_std]
#![expect(unsafe_code, reason = "checked forms of functions on raw pointers")]

mod extent;
mod form;
mod memory;
mod pointer;
mod report;
mod scan;
pub mod slice;
mod string;
mod warning;

pub use extent::{Extent, Fixed, Known, Length, RestOf, SizeOf, Unknown};
pub use memory::{
    Allocate, kmemdup, memchr, memchr_inv, memcmp, memcpy, memmove, memscan, memset, try_kmemdup,
    try_memchr, try_memchr_inv, try_memcmp, try_memcpy, try_memmove, try_memscan, try_memset,
};
pub use pointer::{Dst, Src};
pub use report::{Access, Function, Handler, Overflow, overflow, set_handler};
pub use string::{
    const_strlen, strcat, strcpy, strlcat, strlen, strncat, strncpy, strnlen, strscpy, try_strcat,
    try_strcpy, try_strlcat, try_strlen, try_strncat, try_strncpy, try_strnlen, try_strscpy,
};
pub use warning::{FieldSpan, WarningHandler, set_warning_handler};
