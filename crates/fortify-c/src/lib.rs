//! glibc's `__*_chk` functions, with a report that says what happened.
//!
//! A compiler given `-D_FORTIFY_SOURCE=2` or `3` turns `memcpy(d, s, n)` into
//! `__memcpy_chk(d, s, n, size)` wherever it knows how large `d` is and cannot prove that `n` fits.
//! The C library behind it only says "buffer overflow detected", and C libraries other than glibc
//! have no such functions at all. These say `memcpy: detected buffer overflow: 8 byte write of buffer
//! size 4`, to standard error or to a handler, before a byte has moved.
//!
//! The same source is three things: an ordinary Rust library, for the workspace; a shared library,
//! to be linked or preloaded; and a static library that needs neither Rust's standard library nor an
//! unwinder, for programs without glibc. Only in the last two, built by `scripts/install-fortify-c`
//! with `--cfg fortify_c_library`, do the functions carry their C names. A Rust program must not have
//! its libc's functions replaced because this crate is among its dependencies.
//!
//! Rules of the code here:
//! - No function calls one of its own kind. What moves bytes is the C library's unchecked function,
//!   and nothing that the compiler makes calls of by itself has a name that is exported here.
//! - A check is one compare and one jump not taken. Where the unchecked function does the rest, it is
//!   jumped to, not called. `tests/c_library/machine_code.rs` reads this in the result.
//! - `errno` is not touched; nothing is allocated.
//! - The report is made from the arguments alone, on the stack, and is written by one system call.
//!
//! The printf family is left to the C library: its check is inside the formatting.
#![no_std]
#![expect(unsafe_code, reason = "C functions on raw pointers, exported under C names")]

mod libc;
mod memory;
mod report;
mod stderr;
mod string;

pub use memory::{__explicit_bzero_chk, __memcpy_chk, __memmove_chk, __mempcpy_chk, __memset_chk};
pub use report::{__chk_fail, CHandler, COverflow, unlikely_fortify_set_handler};
pub use string::{
    __stpcpy_chk, __stpncpy_chk, __strcat_chk, __strcpy_chk, __strlcat_chk, __strlcpy_chk,
    __strncat_chk, __strncpy_chk,
};

/// Formatting a report cannot panic, but the compiler does not know it.
#[cfg(fortify_c_library)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    libc::abort_process()
}
