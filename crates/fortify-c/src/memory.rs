//! Checked copies and fills of bytes.
//!
//! Each is one compare of the length with the size, then a jump to the C library's own function,
//! which returns straight to the caller.

use core::ffi::{c_int, c_void};

use fortify::Access;
use unlikely::unlikely;

use crate::libc;
use crate::report::{Checked, overflow, write_overflow};

/// `memcpy` into a buffer of `size` bytes. Returns `dest`.
///
/// # Safety
/// `src` is valid for reading and `dest` for writing `n` bytes if `n ≤ size`; they do not overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __memcpy_chk(
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    size: usize,
) -> *mut c_void {
    if unlikely(n > size) {
        overflow(Checked::Memcpy, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    unsafe { libc::memcpy(dest, src, n) }
}

/// `memmove` into a buffer of `size` bytes. Returns `dest`.
///
/// # Safety
/// `src` is valid for reading and `dest` for writing `n` bytes if `n ≤ size`.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __memmove_chk(
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    size: usize,
) -> *mut c_void {
    if unlikely(n > size) {
        overflow(Checked::Memmove, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    unsafe { libc::memmove(dest, src, n) }
}

/// `mempcpy` into a buffer of `size` bytes. Returns `dest + n`.
///
/// # Safety
/// `src` is valid for reading and `dest` for writing `n` bytes if `n ≤ size`; they do not overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __mempcpy_chk(
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    size: usize,
) -> *mut c_void {
    if unlikely(n > size) {
        overflow(Checked::Mempcpy, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    let end = unsafe { libc::mempcpy(dest, src, n) };
    core::ptr::with_exposed_provenance_mut(end)
}

/// `memset` of a buffer of `size` bytes. Returns `dest`.
///
/// # Safety
/// `dest` is valid for writing `n` bytes if `n ≤ size`.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __memset_chk(
    dest: *mut c_void,
    byte: c_int,
    n: usize,
    size: usize,
) -> *mut c_void {
    if unlikely(n > size) {
        overflow(Checked::Memset, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    unsafe { libc::memset(dest, byte, n) }
}

/// `explicit_bzero` of a buffer of `size` bytes: zeros that no optimiser removes.
///
/// # Safety
/// `dest` is valid for writing `n` bytes if `n ≤ size`.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __explicit_bzero_chk(dest: *mut c_void, n: usize, size: usize) {
    if unlikely(n > size) {
        write_overflow(Checked::ExplicitBzero, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    unsafe { libc::explicit_bzero(dest, n) }
}
