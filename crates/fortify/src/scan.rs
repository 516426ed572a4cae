//! Looking for a byte, eight at a time, without reading a byte that nobody vouched for.
//!
//! A C library may read a whole aligned word past the end of a string, because no page ends inside
//! it. Here that would be a read out of bounds, so words are only read where a known size says that
//! they are there; where it does not, bytes are read one by one, or the platform's `strlen` is asked.

use core::ffi::CStr;

use crate::extent::Extent;
use crate::form::refused;
use crate::pointer::Src;

const WORD: usize = size_of::<u64>();
const ONES: u64 = u64::from_ne_bytes([0x01; WORD]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; WORD]);

/// `n` readable bytes at `at`, which may be null if `n` is 0.
///
/// # Safety
/// `at` is valid for reads of `n` initialised bytes, which nobody writes for `'a`.
#[inline(always)]
pub(crate) unsafe fn bytes<'a>(at: *const u8, n: usize) -> &'a [u8] {
    if n == 0 {
        return &[];
    }
    // SAFETY: `at` is valid for reads of `n` initialised bytes that nobody writes meanwhile; being
    // valid for at least one byte, it is not null, and no object is larger than `isize::MAX`.
    unsafe { core::slice::from_raw_parts(at, n) }
}

/// The length of the string in `src`, but at most `most` and at most its bound.
///
/// # Safety
/// `src` is valid for reads of as many initialised bytes as its bound says, or, if that is more than
/// an object can have, of all bytes up to a zero or up to `most`.
#[inline(always)]
pub(crate) unsafe fn string<R: Extent, G: Extent>(src: Src<R, G>, most: usize) -> usize {
    let (at, size) = (src.as_ptr(), src.bound());
    // A size that turns out at run time not to be known is the exception: who never knows it says so
    // by the type.
    if (R::UNKNOWN && G::UNKNOWN) || refused!(size > isize::MAX as usize) {
        // SAFETY: the caller vouches for all bytes up to a zero or `most`.
        return unsafe { unbounded(at, most) };
    }
    let limit = most.min(size);
    // SAFETY: `limit` is at most `size`, for which `at` is valid.
    let text = unsafe { bytes(at, limit) };
    match CStr::from_bytes_until_nul(text) {
        Ok(text) => text.count_bytes(),
        Err(_) => limit,
    }
}

/// # Safety
/// `at` is valid for reads of all bytes up to a zero or up to `most`.
#[inline(never)]
unsafe fn unbounded(at: *const u8, most: usize) -> usize {
    if most > isize::MAX as usize {
        // SAFETY: no object has `most` bytes, so the caller vouches for all bytes up to a zero.
        return unsafe { CStr::from_ptr(at.cast()) }.count_bytes();
    }
    // SAFETY: that is this function's contract.
    unsafe { string_bytewise(at, most) }
}

/// The length of the string at `at`, at most `most`, reading nothing after a zero.
///
/// # Safety
/// `at` is valid for reads of all bytes up to a zero or up to `most`.
unsafe fn string_bytewise(at: *const u8, most: usize) -> usize {
    let mut length = 0;
    while length < most {
        // SAFETY: no byte before this one was zero, and it is below `most`.
        if unsafe { at.add(length).read() } == 0 {
            break;
        }
        length += 1;
    }
    length
}

/// Where the first byte that equals `byte` is.
pub(crate) fn equal(text: &[u8], byte: u8) -> Option<usize> {
    // A byte of `word` is zero iff the text has `byte` there. The lowest flag that the classic
    // (w - 0x01…) & !w & 0x80… sets is exact; only flags above it can be false.
    first(
        text,
        |word| {
            let word = word ^ spread(byte);
            word.wrapping_sub(ONES) & !word & HIGHS
        },
        |other| other == byte,
    )
}

/// Where the first byte that differs from `byte` is.
pub(crate) fn differs(text: &[u8], byte: u8) -> Option<usize> {
    first(text, |word| word ^ spread(byte), |other| other != byte)
}

fn spread(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; WORD])
}

/// The first hit: `marks` sets bits of a little-endian word of which the lowest lies in the first
/// hit's byte; `hit` judges the bytes of the tail.
#[inline(always)]
fn first(text: &[u8], marks: impl Fn(u64) -> u64, hit: impl Fn(u8) -> bool) -> Option<usize> {
    let (words, tail) = text.as_chunks::<WORD>();
    for (index, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(index * WORD + marks.trailing_zeros() as usize / 8);
        }
    }
    let at = tail.iter().position(|&byte| hit(byte))?;
    Some(words.len() * WORD + at)
}
