//! The memory functions: so many bytes, whatever they are.
//!
//! A write is held against the whole object of the destination, a read against that of the source;
//! a write that only spans the destination's member is a warning. The comparison comes first and is
//! the only thing added: what follows is the compiler's own copy, which for a small constant length
//! is a load and a store.

use core::cmp::Ordering;
use core::ptr::NonNull;

use crate::extent::{Extent, Length, may_fit};
use crate::form::{Bytes, Form, Spanning, refused, two_forms};
use crate::pointer::{Dst, Src};
use crate::report::Function;
use crate::scan;

/// Refuses to compile a constant length that exceeds a constant size.
macro_rules! decide {
    ($length:ident, $size:ident, $message:literal) => {
        const { assert!(may_fit($length::CONSTANT, $size::CONSTANT), $message) }
    };
}
pub(crate) use decide;

two_forms! {
    /// Copies `n` bytes between buffers that do not overlap. A constant `n` that exceeds a constant
    /// size does not compile:
    ///
    /// ```compile_fail,E0080
    /// let (mut to, from) = ([0u8; 4], [0u8; 8]);
    /// // SAFETY: never run.
    /// unsafe { fortify::memcpy((&mut to).into(), (&from).into(), fortify::Fixed::<8>) }
    /// ```
    ///
    /// # Safety
    /// `dst` is valid for writes and `src` for reads of as many bytes as each knows of, or of `n`
    /// bytes where it knows nothing; the `n` bytes do not overlap.
    memcpy, try_memcpy = memcpy_as<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>
    (dst: Dst<W, F>, src: Src<R, G>, n: L) -> ()
}

#[inline(always)]
#[track_caller]
unsafe fn memcpy_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> M::Out<()> {
    decide!(L, W, "memcpy: the constant length exceeds the destination");
    decide!(L, R, "memcpy: the constant length exceeds the source");
    let n = n.bytes();
    let what = Bytes::Copied(src.as_ptr());
    // SAFETY: the caller vouches for what both know of, or for `n` bytes, and for no overlap.
    unsafe { written::<M, W, F>(Function::Memcpy, dst, what, src.whole(), n) }
}

two_forms! {
    /// Copies `n` bytes between buffers that may overlap.
    ///
    /// # Safety
    /// `dst` is valid for writes and `src` for reads of as many bytes as each knows of, or of `n`
    /// bytes where it knows nothing.
    memmove, try_memmove = memmove_as<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>
    (dst: Dst<W, F>, src: Src<R, G>, n: L) -> ()
}

#[inline(always)]
#[track_caller]
unsafe fn memmove_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> M::Out<()> {
    decide!(L, W, "memmove: the constant length exceeds the destination");
    decide!(L, R, "memmove: the constant length exceeds the source");
    let n = n.bytes();
    let what = Bytes::Moved(src.as_ptr());
    // SAFETY: the caller vouches for what both know of, or for `n` bytes.
    unsafe { written::<M, W, F>(Function::Memmove, dst, what, src.whole(), n) }
}

two_forms! {
    /// Fills `n` bytes with `byte`.
    ///
    /// # Safety
    /// `dst` is valid for writes of as many bytes as it knows of, or of `n` bytes where it knows
    /// nothing.
    memset, try_memset = memset_as<W: Extent, F: Extent, L: Length>
    (dst: Dst<W, F>, byte: u8, n: L) -> ()
}

#[inline(always)]
#[track_caller]
unsafe fn memset_as<M: Form, W: Extent, F: Extent, L: Length>(
    dst: Dst<W, F>,
    byte: u8,
    n: L,
) -> M::Out<()> {
    decide!(L, W, "memset: the constant length exceeds the destination");
    // SAFETY: the caller vouches for what the destination knows of, or for `n` bytes.
    unsafe { written::<M, W, F>(Function::Memset, dst, Bytes::Filled(byte), usize::MAX, n.bytes()) }
}

/// Writes `n` bytes if they are within the whole destination and within `read` bytes of a source.
/// A write that spans the member goes out of line altogether, its warning and its bytes: were it to
/// come back here, the copy's arguments would have to be kept across the warning, and a frame for
/// them set up on the fast path.
///
/// # Safety
/// `dst`, and the source in `what`, are valid for what they know of, or for `n` bytes where they
/// know nothing; what is copied does not overlap.
#[inline(always)]
#[track_caller]
unsafe fn written<M: Form, W: Extent, F: Extent>(
    function: Function,
    dst: Dst<W, F>,
    what: Bytes,
    read: usize,
    n: usize,
) -> M::Out<()> {
    if refused!(n > dst.bound() || n > read) {
        if F::UNKNOWN {
            return M::ends(function, n, dst.whole(), read);
        }
        let spanning = Spanning {
            function,
            to: dst.as_ptr(),
            what,
            bytes: n,
            write: dst.whole(),
            field: dst.field(),
            read,
        };
        // SAFETY: the pointers and their sizes are the caller's.
        return unsafe { M::fields(&spanning) };
    }
    // SAFETY: `n` is within both buffers, or they know nothing and the caller vouches for it, as for
    // no overlap.
    unsafe { what.write(dst.as_ptr(), n) };
    M::done(())
}

two_forms! {
    /// Compares `n` bytes of two buffers, as unsigned numbers.
    ///
    /// # Safety
    /// Both are valid for reads of as many initialised bytes as each knows of, or of `n` bytes where
    /// it knows nothing.
    memcmp, try_memcmp = memcmp_as<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>
    (first: Src<W, F>, second: Src<R, G>, n: L) -> Ordering
}

#[inline(always)]
#[track_caller]
unsafe fn memcmp_as<M: Form, W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    first: Src<W, F>,
    second: Src<R, G>,
    n: L,
) -> M::Out<Ordering> {
    decide!(L, W, "memcmp: the constant length exceeds the first buffer");
    decide!(L, R, "memcmp: the constant length exceeds the second buffer");
    let n = n.bytes();
    if refused!(n > first.whole() || n > second.whole()) {
        return M::reads(Function::Memcmp, n, first.whole(), second.whole());
    }
    // SAFETY: `n` is within both buffers, or the caller vouches for it.
    let (first, second) =
        unsafe { (scan::bytes(first.as_ptr(), n), scan::bytes(second.as_ptr(), n)) };
    M::done(first.cmp(second))
}

two_forms! {
    /// Where the first `byte` among `n` is, counted from the buffer's beginning.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or of `n` bytes where it
    /// knows nothing.
    memchr, try_memchr = memchr_as<R: Extent, G: Extent, L: Length>
    (src: Src<R, G>, byte: u8, n: L) -> Option<usize>
}

#[inline(always)]
#[track_caller]
unsafe fn memchr_as<M: Form, R: Extent, G: Extent, L: Length>(
    src: Src<R, G>,
    byte: u8,
    n: L,
) -> M::Out<Option<usize>> {
    decide!(L, R, "memchr: the constant length exceeds the buffer");
    let n = n.bytes();
    if refused!(n > src.whole()) {
        return M::reads(Function::Memchr, n, src.whole(), usize::MAX);
    }
    // SAFETY: `n` is within the buffer, or the caller vouches for it.
    M::done(scan::equal(unsafe { scan::bytes(src.as_ptr(), n) }, byte))
}

two_forms! {
    /// Where the first byte among `n` is that differs from `byte`.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or of `n` bytes where it
    /// knows nothing.
    memchr_inv, try_memchr_inv = memchr_inv_as<R: Extent, G: Extent, L: Length>
    (src: Src<R, G>, byte: u8, n: L) -> Option<usize>
}

#[inline(always)]
#[track_caller]
unsafe fn memchr_inv_as<M: Form, R: Extent, G: Extent, L: Length>(
    src: Src<R, G>,
    byte: u8,
    n: L,
) -> M::Out<Option<usize>> {
    decide!(L, R, "memchr_inv: the constant length exceeds the buffer");
    let n = n.bytes();
    if refused!(n > src.whole()) {
        return M::reads(Function::MemchrInv, n, src.whole(), usize::MAX);
    }
    // SAFETY: `n` is within the buffer, or the caller vouches for it.
    M::done(scan::differs(unsafe { scan::bytes(src.as_ptr(), n) }, byte))
}

two_forms! {
    /// Where the first `byte` among `n` is, or `n`.
    ///
    /// # Safety
    /// `src` is valid for reads of as many initialised bytes as it knows of, or of `n` bytes where it
    /// knows nothing.
    memscan, try_memscan = memscan_as<R: Extent, G: Extent, L: Length>
    (src: Src<R, G>, byte: u8, n: L) -> usize
}

#[inline(always)]
#[track_caller]
unsafe fn memscan_as<M: Form, R: Extent, G: Extent, L: Length>(
    src: Src<R, G>,
    byte: u8,
    n: L,
) -> M::Out<usize> {
    decide!(L, R, "memscan: the constant length exceeds the buffer");
    let n = n.bytes();
    if refused!(n > src.whole()) {
        return M::reads(Function::Memscan, n, src.whole(), usize::MAX);
    }
    // SAFETY: `n` is within the buffer, or the caller vouches for it.
    let text = unsafe { scan::bytes(src.as_ptr(), n) };
    M::done(scan::equal(text, byte).unwrap_or(n))
}

two_forms! {
    /// Copies `n` bytes into memory that `allocate` gives for them, and returns what it gave:
    /// `None` if it had none. The memory's own size is the size that the write is held against, so
    /// an allocator that gives too little is an overflow as well; what it gave is then not given
    /// back. An `n` that exceeds the source is refused before anything is allocated.
    ///
    /// # Safety
    /// `src` is valid for reads of as many bytes as it knows of, or of `n` bytes where it knows
    /// nothing; what `allocate` returns is valid for writes of its size and does not overlap them.
    kmemdup, try_kmemdup = kmemdup_as<R: Extent, G: Extent, L: Length, A: Allocate>
    (src: Src<R, G>, n: L, allocate: A) -> Option<NonNull<[u8]>>
}

/// Gives memory for so many bytes, or has none: any `FnOnce(usize) -> Option<NonNull<[u8]>>`.
pub trait Allocate: FnOnce(usize) -> Option<NonNull<[u8]>> {}
impl<A: FnOnce(usize) -> Option<NonNull<[u8]>>> Allocate for A {}

#[inline(always)]
#[track_caller]
unsafe fn kmemdup_as<M: Form, R: Extent, G: Extent, L: Length, A: Allocate>(
    src: Src<R, G>,
    n: L,
    allocate: A,
) -> M::Out<Option<NonNull<[u8]>>> {
    decide!(L, R, "kmemdup: the constant length exceeds the source");
    let n = n.bytes();
    let mut room = usize::MAX;
    let mut block = None;
    if !refused!(n > src.whole()) {
        let Some(given) = allocate(n) else {
            return M::done(None);
        };
        room = given.len();
        block = Some(given);
    }
    // One block refuses both: the source that is too small, for which nothing was allocated, and
    // the memory that is.
    if refused!(n > src.whole() || n > room) {
        return M::ends(Function::Kmemdup, n, room, src.whole());
    }
    if let Some(given) = block {
        // SAFETY: `n` is within the source, or the caller vouches for it, and within the memory,
        // which the caller says does not overlap the source.
        unsafe {
            src.as_ptr().copy_to_nonoverlapping(given.as_ptr().cast::<u8>(), n);
        }
    }
    M::done(block)
}
