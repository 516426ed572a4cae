//! Checked copies of strings.
//!
//! Where the C function takes a bound (`strncpy`, `stpncpy`, `strlcpy`, `strlcat`), the bound itself
//! is checked, as in glibc: it promises that so many bytes may be written, even if fewer would be.
//! Where it takes none, the string is measured, the check is made on what will be written, and then
//! bytes are copied. So nothing is written when the check fails, where glibc has already filled the
//! buffer.

use core::ffi::{c_char, c_void};

use fortify::Access;
use unlikely::unlikely;

use crate::libc;
use crate::report::{Checked, overflow};

/// Copies the string at `src` with its end into `dest`, which has `size` bytes. Returns the length.
///
/// # Safety
/// `src` is a string; `dest` is valid for writing `size` bytes, or for the string if that is less.
/// They do not overlap.
#[inline(always)]
unsafe fn copy(dest: *mut c_char, src: *const c_char, size: usize, checked: Checked) -> usize {
    // SAFETY: `src` is a string.
    let length = unsafe { libc::strlen(src) };
    if unlikely(length >= size) {
        overflow(checked, Access::Write, length + 1, size);
    }
    // SAFETY: the string has `length + 1` bytes with its end, and they fit into `dest`.
    unsafe { libc::memcpy(dest.cast(), src.cast(), length + 1) };
    length
}

/// Length of the string at `dest`, which has `size` bytes. A string without end is reported.
///
/// # Safety
/// `dest` is valid for reading up to the end of its string or `size` bytes, whichever is less.
#[inline(always)]
unsafe fn length_within(dest: *const c_char, size: usize, checked: Checked) -> usize {
    // SAFETY: strnlen reads up to the end of the string, at most `size` bytes.
    let length = unsafe { libc::strnlen(dest, size) };
    if unlikely(length == size) {
        // The next byte would have to be read to find the end.
        overflow(checked, Access::Read, size.saturating_add(1), size);
    }
    length
}

/// Appends `added` bytes from `src` and an end to the string of `length` bytes in `dest`, which has
/// `size` bytes.
///
/// # Safety
/// `src` is valid for reading `added` bytes; `dest` is valid for writing `size` bytes, or for what is
/// to be written if that is less. They do not overlap.
#[inline(always)]
unsafe fn append(
    dest: *mut c_char,
    length: usize,
    src: *const c_char,
    added: usize,
    size: usize,
    checked: Checked,
) {
    // `length < size`, so this cannot wrap; the sum of the two lengths might.
    if unlikely(added >= size - length) {
        overflow(checked, Access::Write, (length + 1).saturating_add(added), size);
    }
    // SAFETY: `length + added + 1` bytes fit into `dest`; `added` bytes of `src` can be read.
    unsafe {
        let end = dest.add(length);
        libc::memcpy(end.cast(), src.cast(), added);
        end.add(added).write(0);
    }
}

/// `strcpy` into a buffer of `size` bytes. Returns `dest`.
///
/// # Safety
/// `src` is a string; `dest` is valid for writing it if it fits into `size` bytes. They do not
/// overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __strcpy_chk(
    dest: *mut c_char,
    src: *const c_char,
    size: usize,
) -> *mut c_char {
    // SAFETY: the caller's promise.
    unsafe { copy(dest, src, size, Checked::Strcpy) };
    dest
}

/// `stpcpy` into a buffer of `size` bytes. Returns the end of the string in `dest`.
///
/// # Safety
/// As [`__strcpy_chk`].
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __stpcpy_chk(
    dest: *mut c_char,
    src: *const c_char,
    size: usize,
) -> *mut c_char {
    // SAFETY: the caller's promise. The end is within what was written.
    unsafe { dest.add(copy(dest, src, size, Checked::Stpcpy)) }
}

/// `strncpy` into a buffer of `size` bytes: `n` bytes are written, zeros behind the string. Returns
/// `dest`.
///
/// # Safety
/// `src` is a string or valid for reading `n` bytes; `dest` is valid for writing `n` bytes if
/// `n ≤ size`. They do not overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __strncpy_chk(
    dest: *mut c_char,
    src: *const c_char,
    n: usize,
    size: usize,
) -> *mut c_char {
    if unlikely(n > size) {
        overflow(Checked::Strncpy, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    unsafe { libc::strncpy(dest, src, n) }
}

/// `stpncpy` into a buffer of `size` bytes: `n` bytes are written, zeros behind the string. Returns
/// the end of the string in `dest`, or `dest + n` if there is none.
///
/// # Safety
/// As [`__strncpy_chk`].
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __stpncpy_chk(
    dest: *mut c_char,
    src: *const c_char,
    n: usize,
    size: usize,
) -> *mut c_char {
    if unlikely(n > size) {
        overflow(Checked::Stpncpy, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    unsafe { libc::stpncpy(dest, src, n) }
}

/// `strcat` onto the string in a buffer of `size` bytes. Returns `dest`.
///
/// A string in `dest` that does not end within `size` bytes is reported as a read.
///
/// # Safety
/// `src` is a string; `dest` is valid for reading its string or `size` bytes, and for writing the
/// result if it fits into `size` bytes. They do not overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __strcat_chk(
    dest: *mut c_char,
    src: *const c_char,
    size: usize,
) -> *mut c_char {
    // SAFETY: the caller's promise; strlen gives the bytes that can be read.
    unsafe {
        let length = length_within(dest, size, Checked::Strcat);
        let added = libc::strlen(src);
        append(dest, length, src, added, size, Checked::Strcat);
    }
    dest
}

/// `strncat` of at most `n` bytes onto the string in a buffer of `size` bytes. Returns `dest`.
///
/// The result always ends in zero, which takes a byte beyond the `n`. A string in `dest` that does
/// not end within `size` bytes is reported as a read.
///
/// # Safety
/// `src` is a string or valid for reading `n` bytes; `dest` is valid for reading its string or `size`
/// bytes, and for writing the result if it fits into `size` bytes. They do not overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __strncat_chk(
    dest: *mut c_char,
    src: *const c_char,
    n: usize,
    size: usize,
) -> *mut c_char {
    // SAFETY: the caller's promise; strnlen gives the bytes that can be read.
    unsafe {
        let length = length_within(dest, size, Checked::Strncat);
        let added = libc::strnlen(src, n);
        append(dest, length, src, added, size, Checked::Strncat);
    }
    dest
}

/// Copies a string of `length` bytes, as far as `n` bytes hold it with its end.
///
/// # Safety
/// `src` is valid for reading `length` bytes, `dest` for writing `n`. They do not overlap.
#[inline(always)]
unsafe fn truncate(dest: *mut c_char, src: *const c_char, length: usize, n: usize) {
    if n == 0 {
        return;
    }
    let copied = length.min(n - 1);
    // SAFETY: `copied ≤ length` bytes are read; `copied + 1 ≤ n` are written.
    unsafe {
        libc::memcpy(dest.cast(), src.cast::<c_void>(), copied);
        dest.add(copied).write(0);
    }
}

/// `strlcpy` into a buffer of `size` bytes: at most `n` are written, the last is zero. Returns the
/// length of `src`.
///
/// # Safety
/// `src` is a string; `dest` is valid for writing `n` bytes if `n ≤ size`. They do not overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __strlcpy_chk(
    dest: *mut c_char,
    src: *const c_char,
    n: usize,
    size: usize,
) -> usize {
    if unlikely(n > size) {
        overflow(Checked::Strlcpy, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`.
    unsafe {
        let length = libc::strlen(src);
        truncate(dest, src, length, n);
        length
    }
}

/// `strlcat` onto the string in a buffer of `size` bytes: the result has at most `n` bytes, the last
/// is zero. Returns the length that the result would have had without the bound.
///
/// # Safety
/// `src` is a string; `dest` is valid for reading its string or `n` bytes, and for writing `n` bytes,
/// if `n ≤ size`. They do not overlap.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub unsafe extern "C" fn __strlcat_chk(
    dest: *mut c_char,
    src: *const c_char,
    n: usize,
    size: usize,
) -> usize {
    if unlikely(n > size) {
        overflow(Checked::Strlcat, Access::Write, n, size);
    }
    // SAFETY: the caller's promise, which holds since `n ≤ size`; `length ≤ n`.
    unsafe {
        let length = libc::strnlen(dest, n);
        let added = libc::strlen(src);
        truncate(dest.add(length), src, added, n - length);
        length + added
    }
}
