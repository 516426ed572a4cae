//! The string functions: bytes up to a zero.
//!
//! A string has to end within the member it lies in, so both sides are held against the nearer of
//! the member's end and the object's. Lengths are found first, by a scan that stops at that end, then
//! everything that can be wrong is judged in one condition, and only then is anything written: a
//! destination is never left half written, as it would be by truncating and complaining after. A
//! string without an end is reported as a read of one byte more than its buffer has, by the function
//! that was called.
//!
//! Where the size of a buffer is not known the scan goes on to the zero, as in C.

use crate::extent::{Extent, Length, may_fit};
use crate::form::{Form, refused, two_forms};
use crate::memory::decide;
use crate::pointer::{Dst, Src};
use crate::report::Function;
use crate::scan;

two_forms! {
    /// The length of a string, without its zero.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or up to a zero where it
    /// knows nothing.
    strlen, try_strlen = strlen_as<R: Extent, G: Extent>(src: Src<R, G>) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn strlen_as<M: Form, R: Extent, G: Extent>(src: Src<R, G>) -> M::Out<usize> {
    let size = src.bound();
    // SAFETY: the caller vouches for the bytes that the source knows of, or up to a zero.
    let length = unsafe { scan::string(src, usize::MAX) };
    if refused!(has_end_missing::<R, G>(length, size)) {
        return M::copies(Function::Strlen, 0, usize::MAX, length, size);
    }
    M::done(length)
}

two_forms! {
    /// The length of a string, or `most` if no zero comes before.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or up to a zero or `most`
    /// where it knows nothing.
    strnlen, try_strnlen = strnlen_as<R: Extent, G: Extent, L: Length>
    (src: Src<R, G>, most: L) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn strnlen_as<M: Form, R: Extent, G: Extent, L: Length>(
    src: Src<R, G>,
    most: L,
) -> M::Out<usize> {
    let (size, most) = (src.bound(), most.bytes());
    // SAFETY: the caller vouches for the bytes that the source knows of, or up to a zero or `most`.
    let length = unsafe { scan::string(src, most) };
    if refused!(most > length && has_end_missing::<R, G>(length, size)) {
        return M::copies(Function::Strnlen, 0, usize::MAX, length, size);
    }
    M::done(length)
}

/// Whether `length` bytes without a zero are all there are. A constant where nothing is known.
#[inline(always)]
fn has_end_missing<R: Extent, G: Extent>(length: usize, size: usize) -> bool {
    !(R::UNKNOWN && G::UNKNOWN) && length >= size
}

two_forms! {
    /// Copies a string with its zero; returns its length.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or up to a zero where it
    /// knows nothing; `dst` is valid for writes of as many bytes as it knows of, or of the whole
    /// string where it knows nothing; the strings do not overlap.
    strcpy, try_strcpy = strcpy_as<W: Extent, F: Extent, R: Extent, G: Extent>
    (dst: Dst<W, F>, src: Src<R, G>) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn strcpy_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent>(
    dst: Dst<W, F>,
    src: Src<R, G>,
) -> M::Out<usize> {
    let (size, room) = (src.bound(), dst.bound());
    // SAFETY: the caller vouches for the bytes that the source knows of, or up to a zero.
    let length = unsafe { scan::string(src, usize::MAX) };
    let no_room = !(W::UNKNOWN && F::UNKNOWN) && length >= room;
    if refused!(no_room || has_end_missing::<R, G>(length, size)) {
        return M::copies(Function::Strcpy, length.wrapping_add(1), room, length, size);
    }
    // SAFETY: the source has `length` bytes and a zero, the destination has room for them or the
    // caller vouches for it, and they do not overlap.
    unsafe {
        src.as_ptr().copy_to_nonoverlapping(dst.as_ptr(), length + 1);
    }
    M::done(length)
}

two_forms! {
    /// Copies at most `n` bytes of a string and fills up to `n` bytes with zeros; a string of `n` or
    /// more bytes leaves no zero. Returns how many bytes came from the string.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or up to a zero or `n`
    /// where it knows nothing; `dst` is valid for writes of as many bytes as it knows of, or of `n`
    /// where it knows nothing; they do not overlap.
    strncpy, try_strncpy = strncpy_as<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>
    (dst: Dst<W, F>, src: Src<R, G>, n: L) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn strncpy_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> M::Out<usize> {
    decide!(L, W, "strncpy: the constant length exceeds the destination");
    decide!(L, F, "strncpy: the constant length exceeds the member");
    let (n, size, room) = (n.bytes(), src.bound(), dst.bound());
    // SAFETY: the caller vouches for the bytes that the source knows of, or up to a zero or `n`.
    let length = unsafe { scan::string(src, n) };
    let endless = n > length && has_end_missing::<R, G>(length, size);
    if refused!(n > room || endless) {
        // The write counts first here: its size was asked for, whatever the string is.
        let size = if n > room { usize::MAX } else { size };
        return M::copies(Function::Strncpy, n, room, length, size);
    }
    // SAFETY: `length` bytes are in the source, `n`, which is no less, in the destination, or the
    // caller vouches for them, and they do not overlap.
    unsafe {
        src.as_ptr().copy_to_nonoverlapping(dst.as_ptr(), length);
        dst.as_ptr().add(length).write_bytes(0, n - length);
    }
    M::done(length)
}

two_forms! {
    /// Copies a string into a buffer of `n` bytes, cutting it if it must, always with a zero unless
    /// `n` is 0. Returns its length, or `None` if it was cut (where Linux returns `-E2BIG`).
    ///
    /// The buffer may be smaller than `n` as long as the string fits; a constant `n` that is more
    /// than it has does not compile.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or up to a zero or `n`
    /// where it knows nothing; `dst` is valid for writes of as many bytes as it knows of, or of `n`
    /// where it knows nothing; they do not overlap.
    strscpy, try_strscpy = strscpy_as<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>
    (dst: Dst<W, F>, src: Src<R, G>, n: L) -> Option<usize>
}

#[inline(always)]
#[track_caller]
unsafe fn strscpy_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> M::Out<Option<usize>> {
    decide!(L, W, "strscpy: the constant length exceeds the destination");
    decide!(L, F, "strscpy: the constant length exceeds the member");
    let (n, size, room) = (n.bytes(), src.bound(), dst.bound());
    if n == 0 {
        return M::done(None);
    }
    // SAFETY: the caller vouches for the bytes that the source knows of, or up to a zero or `n`.
    let length = unsafe { scan::string(src, n) };
    let cut = length == n;
    let kept = if cut { n - 1 } else { length };
    let endless = !cut && has_end_missing::<R, G>(length, size);
    if refused!(kept >= room || endless) {
        let size = if endless { size } else { usize::MAX };
        return M::copies(Function::Strscpy, kept.wrapping_add(1), room, length, size);
    }
    // SAFETY: `kept` bytes are in the source and one more in the destination, or the caller vouches
    // for them, and they do not overlap.
    unsafe {
        src.as_ptr().copy_to_nonoverlapping(dst.as_ptr(), kept);
        dst.as_ptr().add(kept).write(0);
    }
    M::done(if cut { None } else { Some(length) })
}

two_forms! {
    /// Appends a string to the string in `dst`; returns the length of both.
    ///
    /// # Safety
    /// `src` and `dst` are valid for reads of as many initialised bytes as they know of, or up to a
    /// zero where they know nothing; `dst` is valid for writes of as many bytes as it knows of, or of
    /// both strings where it knows nothing; they do not overlap.
    strcat, try_strcat = strcat_as<W: Extent, F: Extent, R: Extent, G: Extent>
    (dst: Dst<W, F>, src: Src<R, G>) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn strcat_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent>(
    dst: Dst<W, F>,
    src: Src<R, G>,
) -> M::Out<usize> {
    // SAFETY: a string has no more than `usize::MAX` bytes: this asks for the same.
    unsafe { append::<M, W, F, R, G>(Function::Strcat, dst, src, usize::MAX) }
}

two_forms! {
    /// Appends at most `n` bytes of a string to the string in `dst`, then a zero; returns the length
    /// of both.
    ///
    /// # Safety
    /// `src` and `dst` are valid for reads of as many initialised bytes as they know of, or up to a
    /// zero, for `src` at most `n`, where they know nothing; `dst` is valid for writes of as many
    /// bytes as it knows of, or of both strings where it knows nothing; they do not overlap.
    strncat, try_strncat = strncat_as<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>
    (dst: Dst<W, F>, src: Src<R, G>, n: L) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn strncat_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> M::Out<usize> {
    // SAFETY: this asks for the same.
    unsafe { append::<M, W, F, R, G>(Function::Strncat, dst, src, n.bytes()) }
}

/// Appends at most `n` bytes.
///
/// # Safety
/// As [`strncat`].
#[inline(always)]
#[track_caller]
unsafe fn append<M: Form, W: Extent, F: Extent, R: Extent, G: Extent>(
    function: Function,
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: usize,
) -> M::Out<usize> {
    let (size, room) = (src.bound(), dst.bound());
    // SAFETY: the caller vouches for the bytes that both know of, or up to a zero, or `n`.
    let (head, tail) = unsafe { (scan::string(dst.to_src(), usize::MAX), scan::string(src, n)) };
    let endless = n > tail && has_end_missing::<R, G>(tail, size);
    // `head` is at most `room`; if it is `room`, there is no string to append to.
    let no_room = !(W::UNKNOWN && F::UNKNOWN) && tail >= room - head;
    if refused!(no_room || endless) {
        let size = if endless { size } else { usize::MAX };
        let bytes = head.saturating_add(tail).saturating_add(1);
        return M::appends(function, bytes, room, head, size);
    }
    // SAFETY: `tail` bytes are in the source and `head + tail + 1` in the destination, or the caller
    // vouches for them, and they do not overlap.
    unsafe {
        let end = dst.as_ptr().add(head);
        src.as_ptr().copy_to_nonoverlapping(end, tail);
        end.add(tail).write(0);
    }
    M::done(head + tail)
}

two_forms! {
    /// Appends a string to the string in a buffer of `n` bytes, cutting it if it must; returns the
    /// length that was wanted: `n` or more says that it was cut. A `dst` without a zero in its first
    /// `n` bytes is left as it is.
    ///
    /// # Safety
    /// `src` and `dst` are valid for reads of as many initialised bytes as they know of, or up to a
    /// zero, for `dst` at most `n`, where they know nothing; `dst` is valid for writes of as many
    /// bytes as it knows of, or of `n` where it knows nothing; they do not overlap.
    strlcat, try_strlcat = strlcat_as<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>
    (dst: Dst<W, F>, src: Src<R, G>, n: L) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn strlcat_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> M::Out<usize> {
    decide!(L, W, "strlcat: the constant length exceeds the destination");
    decide!(L, F, "strlcat: the constant length exceeds the member");
    let (n, size, room) = (n.bytes(), src.bound(), dst.bound());
    // SAFETY: the caller vouches for the bytes that both know of, or up to a zero, or `n`.
    let (head, tail) = unsafe { (scan::string(dst.to_src(), n), scan::string(src, usize::MAX)) };
    let wanted = head.saturating_add(tail);
    let full = head == n;
    let end = if full { head } else { wanted.min(n - 1) };
    let endless = has_end_missing::<R, G>(tail, size);
    let unbounded = W::UNKNOWN && F::UNKNOWN;
    let no_room = !(full || unbounded) && end >= room;
    if refused!(no_room || endless) {
        let size = if endless { size } else { usize::MAX };
        // A full buffer is not written to, so that only the source can be at fault.
        let (head, room) = if full { (0, usize::MAX) } else { (head, room) };
        return M::appends(Function::Strlcat, end.wrapping_add(1), room, head, size);
    }
    if !full {
        // SAFETY: `end - head` bytes are in the source and `end + 1` in the destination, or the
        // caller vouches for them, and they do not overlap.
        unsafe {
            let to = dst.as_ptr().add(head);
            src.as_ptr().copy_to_nonoverlapping(to, end - head);
            dst.as_ptr().add(end).write(0);
        }
    }
    M::done(wanted)
}

/// The length of the string at the beginning of `bytes`, or `None` if it has no end; of a constant,
/// at compile time.
///
/// ```
/// const LENGTH: Option<usize> = fortify::const_strlen(b"eight ch\0\0");
/// assert_eq!(LENGTH, Some(8));
/// ```
pub const fn const_strlen(bytes: &[u8]) -> Option<usize> {
    let mut length = 0;
    while length < bytes.len() {
        if bytes[length] == 0 {
            return Some(length);
        }
        length += 1;
    }
    None
}
