//! What is taken from the C library: the unchecked functions, and the way out.
//!
//! A static link needs exactly these. All are in glibc and in musl; the header lists them for those
//! who have neither. `strlcpy` and `strlcat` are not among them since glibc has them only from 2.38.

use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    pub(crate) fn memcpy(dest: *mut c_void, src: *const c_void, n: usize) -> *mut c_void;
    pub(crate) fn memmove(dest: *mut c_void, src: *const c_void, n: usize) -> *mut c_void;
    /// The result is a pointer, which comes back in the register of a number. Declared as a pointer
    /// the function is one that the optimiser knows: it makes it memcpy and an addition, and what is
    /// followed by an addition cannot be jumped to.
    pub(crate) fn mempcpy(dest: *mut c_void, src: *const c_void, n: usize) -> usize;
    pub(crate) fn memset(dest: *mut c_void, byte: c_int, n: usize) -> *mut c_void;
    pub(crate) fn explicit_bzero(dest: *mut c_void, n: usize);
    pub(crate) fn strlen(s: *const c_char) -> usize;
    pub(crate) fn strnlen(s: *const c_char, n: usize) -> usize;
    pub(crate) fn strncpy(dest: *mut c_char, src: *const c_char, n: usize) -> *mut c_char;
    pub(crate) fn stpncpy(dest: *mut c_char, src: *const c_char, n: usize) -> *mut c_char;
    fn abort() -> !;
}

/// Ends the process with `SIGABRT`.
pub(crate) fn abort_process() -> ! {
    // SAFETY: abort has no conditions and may be called from anywhere, signal handlers included.
    unsafe { abort() }
}
