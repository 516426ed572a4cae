//! The same functions over slices and arrays, as safe ones.
//!
//! Borrows say all that the raw forms ask for: that the bytes are there, that what is read is
//! initialised, that the two ends do not overlap. Arrays carry their size as a constant.

use core::cmp::Ordering;
use core::mem::MaybeUninit;

use crate::extent::{Extent, Fixed, Known, Length};
use crate::pointer::{Dst, Src};
use crate::report::Overflow;

mod sealed {
    pub trait Sealed {}
    impl Sealed for [u8] {}
    impl Sealed for [core::mem::MaybeUninit<u8>] {}
    impl<const N: usize> Sealed for [u8; N] {}
    impl<const N: usize> Sealed for [core::mem::MaybeUninit<u8>; N] {}
}

/// Bytes that can be read: `[u8]`, `[u8; N]`.
pub trait Readable: sealed::Sealed {
    /// How its size is known.
    type Size: Extent;
    /// A pointer to all of it.
    fn src(&self) -> Src<Self::Size>;
}

/// Bytes that can be written: those and the same of `MaybeUninit<u8>`.
pub trait Writable: sealed::Sealed {
    /// How its size is known.
    type Size: Extent;
    /// A pointer to all of it.
    fn dst(&mut self) -> Dst<Self::Size>;
}

macro_rules! sides {
    ([$($generic:tt)*] $type:ty, $size:ty, $trait:ident, $method:ident, $pointer:ident $(, $mutable:tt)?) => {
        impl<$($generic)*> $trait for $type {
            type Size = $size;
            #[inline(always)]
            fn $method(& $($mutable)? self) -> $pointer<$size> {
                $pointer::from(self)
            }
        }
    };
}
sides!([][u8], Known, Readable, src, Src);
sides!([const N: usize] [u8; N], Fixed<N>, Readable, src, Src);
sides!([][u8], Known, Writable, dst, Dst, mut);
sides!([] [MaybeUninit<u8>], Known, Writable, dst, Dst, mut);
sides!([const N: usize] [u8; N], Fixed<N>, Writable, dst, Dst, mut);
sides!([const N: usize] [MaybeUninit<u8>; N], Fixed<N>, Writable, dst, Dst, mut);

/// Writes both forms over the raw ones, whose contract the borrows keep.
macro_rules! safe_forms {
    (
        $(#[$doc:meta])*
        $stops:ident, $reports:ident
        <$($generic:ident: $bound:path $(, ?$unsized:ident)?);*>
        ($($argument:ident: $type:ty = $raw:expr),*) -> $out:ty
    ) => {
        $(#[$doc])*
        ///
        /// Goes to [`overflow`](crate::overflow) instead of out of bounds, and does not return.
        #[inline(always)]
        #[track_caller]
        pub fn $stops<$($generic: $bound $(+ ?$unsized)?),*>($($argument: $type),*) -> $out {
            // SAFETY: the borrows are valid for their sizes; what is read is initialised; what is
            // written is borrowed by nobody else, so that it does not overlap.
            unsafe { crate::$stops($($raw),*) }
        }

        $(#[$doc])*
        ///
        /// # Errors
        /// What would have gone out of bounds; nothing was written.
        #[inline(always)]
        #[track_caller]
        pub fn $reports<$($generic: $bound $(+ ?$unsized)?),*>(
            $($argument: $type),*
        ) -> Result<$out, Overflow> {
            // SAFETY: the borrows are valid for their sizes; what is read is initialised; what is
            // written is borrowed by nobody else, so that it does not overlap.
            unsafe { crate::$reports($($raw),*) }
        }
    };
}

safe_forms! {
    /// Copies `n` bytes.
    memcpy, try_memcpy <D: Writable, ?Sized; S: Readable, ?Sized; L: Length>
    (dst: &mut D = dst.dst(), src: &S = src.src(), n: L = n) -> ()
}
safe_forms! {
    /// Fills `n` bytes with `byte`.
    memset, try_memset <D: Writable, ?Sized; L: Length>
    (dst: &mut D = dst.dst(), byte: u8 = byte, n: L = n) -> ()
}
safe_forms! {
    /// Compares `n` bytes, as unsigned numbers.
    memcmp, try_memcmp <A: Readable, ?Sized; B: Readable, ?Sized; L: Length>
    (first: &A = first.src(), second: &B = second.src(), n: L = n) -> Ordering
}
safe_forms! {
    /// Where the first `byte` among `n` is.
    memchr, try_memchr <S: Readable, ?Sized; L: Length>
    (src: &S = src.src(), byte: u8 = byte, n: L = n) -> Option<usize>
}
safe_forms! {
    /// Where the first byte among `n` is that differs from `byte`.
    memchr_inv, try_memchr_inv <S: Readable, ?Sized; L: Length>
    (src: &S = src.src(), byte: u8 = byte, n: L = n) -> Option<usize>
}
safe_forms! {
    /// Where the first `byte` among `n` is, or `n`.
    memscan, try_memscan <S: Readable, ?Sized; L: Length>
    (src: &S = src.src(), byte: u8 = byte, n: L = n) -> usize
}
safe_forms! {
    /// The length of a string, without its zero.
    strlen, try_strlen <S: Readable, ?Sized>
    (src: &S = src.src()) -> usize
}
safe_forms! {
    /// The length of a string, or `most` if no zero comes before.
    strnlen, try_strnlen <S: Readable, ?Sized; L: Length>
    (src: &S = src.src(), most: L = most) -> usize
}
safe_forms! {
    /// Copies a string with its zero; returns its length.
    strcpy, try_strcpy <D: Writable, ?Sized; S: Readable, ?Sized>
    (dst: &mut D = dst.dst(), src: &S = src.src()) -> usize
}
safe_forms! {
    /// Copies at most `n` bytes of a string and fills up to `n` with zeros; returns how many came
    /// from the string.
    strncpy, try_strncpy <D: Writable, ?Sized; S: Readable, ?Sized; L: Length>
    (dst: &mut D = dst.dst(), src: &S = src.src(), n: L = n) -> usize
}
safe_forms! {
    /// Copies a string into `n` bytes; returns its length, or `None` if it was cut.
    strscpy, try_strscpy <D: Writable, ?Sized; S: Readable, ?Sized; L: Length>
    (dst: &mut D = dst.dst(), src: &S = src.src(), n: L = n) -> Option<usize>
}
/// Bytes that can be read and written: `[u8]`, `[u8; N]`.
pub trait Bytes: Readable + Writable {}
impl Bytes for [u8] {}
impl<const N: usize> Bytes for [u8; N] {}

/// Moves `n` bytes inside one buffer, from byte `from` to byte `to`; the two may overlap.
///
/// Goes to [`overflow`](crate::overflow) instead of out of bounds, and does not return.
#[inline(always)]
#[track_caller]
pub fn memmove<D: Bytes + ?Sized, L: Length>(buffer: &mut D, to: usize, from: usize, n: L) {
    let (dst, src) = within(buffer, to, from);
    // SAFETY: both point into the buffer, which is valid for what they know of and initialised.
    unsafe { crate::memmove(dst, src, n) }
}

/// Moves `n` bytes inside one buffer, from byte `from` to byte `to`; the two may overlap.
///
/// # Errors
/// What would have gone out of bounds; nothing was written.
#[inline(always)]
pub fn try_memmove<D: Bytes + ?Sized, L: Length>(
    buffer: &mut D,
    to: usize,
    from: usize,
    n: L,
) -> Result<(), Overflow> {
    let (dst, src) = within(buffer, to, from);
    // SAFETY: both point into the buffer, which is valid for what they know of and initialised.
    unsafe { crate::try_memmove(dst, src, n) }
}

/// Two places of one buffer, from the one mutable borrow that both accesses go through.
#[inline(always)]
fn within<D: Bytes + ?Sized>(buffer: &mut D, to: usize, from: usize) -> (Dst, Src) {
    let all = buffer.dst();
    (all.advance(to).object(), all.to_src().advance(from).object())
}

safe_forms! {
    /// Appends a string to the string in `dst`; returns the length of both.
    strcat, try_strcat <D: Bytes, ?Sized; S: Readable, ?Sized>
    (dst: &mut D = dst.dst(), src: &S = src.src()) -> usize
}
safe_forms! {
    /// Appends at most `n` bytes of a string, then a zero; returns the length of both.
    strncat, try_strncat <D: Bytes, ?Sized; S: Readable, ?Sized; L: Length>
    (dst: &mut D = dst.dst(), src: &S = src.src(), n: L = n) -> usize
}
safe_forms! {
    /// Appends a string to the string in `n` bytes, cutting it if it must; returns the length that
    /// was wanted.
    strlcat, try_strlcat <D: Bytes, ?Sized; S: Readable, ?Sized; L: Length>
    (dst: &mut D = dst.dst(), src: &S = src.src(), n: L = n) -> usize
}
