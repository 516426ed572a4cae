//! How many bytes there are, said by a type where the type can say it.
//!
//! A check against a size that nobody knows must cost nothing, and a check of two constants must be
//! decided before the program runs. Both follow when the *kind* of knowledge is a type: [`Unknown`]
//! is a size of `usize::MAX`, which no length exceeds, so that the comparison is a constant;
//! [`Fixed`], [`SizeOf`] and [`RestOf`] are constants, so that a length which is also constant is
//! refused by the compiler; [`Known`] is a number that is compared when the program runs.

use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// The bytes of a buffer, as far as they are known.
pub trait Extent: Copy + Sealed {
    /// The size, where it is a constant of the type.
    const CONSTANT: Option<usize>;
    /// Nothing is known, and nothing will be: every check against it is compiled away.
    const UNKNOWN: bool = false;

    /// The size in bytes; `usize::MAX` if it is not known.
    fn bytes(self) -> usize;
}

/// How many bytes are asked for: a number, or a constant of the type.
pub trait Length: Copy + Sealed {
    /// The length, where it is a constant of the type.
    const CONSTANT: Option<usize>;

    /// The length in bytes.
    fn bytes(self) -> usize;
}

/// A size that is known when the program runs. `usize::MAX` says that it is not, as
/// `__builtin_object_size` does in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known(pub usize);

impl Sealed for Known {}
impl Extent for Known {
    const CONSTANT: Option<usize> = None;

    #[inline(always)]
    fn bytes(self) -> usize {
        self.0
    }
}

/// A size that nobody knows. Nothing is checked against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl Sealed for Unknown {}
impl Extent for Unknown {
    const CONSTANT: Option<usize> = None;
    const UNKNOWN: bool = true;

    #[inline(always)]
    fn bytes(self) -> usize {
        usize::MAX
    }
}

/// A size or a length of `N` bytes, known when the program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<const N: usize>;

/// The size of a `T`, as a size or as a length.
#[derive(Debug)]
pub struct SizeOf<T>(PhantomData<fn() -> T>);

/// The bytes of a `T` from its byte `OFFSET` to its end.
#[derive(Debug)]
pub struct RestOf<T, const OFFSET: usize>(PhantomData<fn() -> T>);

impl<T> SizeOf<T> {
    /// The size of a `T`.
    #[inline(always)]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T, const OFFSET: usize> RestOf<T, OFFSET> {
    /// The bytes of a `T` from its byte `OFFSET` on.
    #[inline(always)]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for SizeOf<T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<T, const OFFSET: usize> Default for RestOf<T, OFFSET> {
    fn default() -> Self {
        Self::new()
    }
}

// Derived, these would ask for `T: Copy`, which a size has no use for.
impl<T> Clone for SizeOf<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SizeOf<T> {}
impl<T, const OFFSET: usize> Clone for RestOf<T, OFFSET> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const OFFSET: usize> Copy for RestOf<T, OFFSET> {}

impl<const N: usize> Sealed for Fixed<N> {}
impl<T> Sealed for SizeOf<T> {}
impl<T, const OFFSET: usize> Sealed for RestOf<T, OFFSET> {}
impl Sealed for usize {}

impl<const N: usize> Extent for Fixed<N> {
    const CONSTANT: Option<usize> = Some(N);

    #[inline(always)]
    fn bytes(self) -> usize {
        N
    }
}

impl<T> Extent for SizeOf<T> {
    const CONSTANT: Option<usize> = Some(size_of::<T>());

    #[inline(always)]
    fn bytes(self) -> usize {
        size_of::<T>()
    }
}

impl<T, const OFFSET: usize> Extent for RestOf<T, OFFSET> {
    const CONSTANT: Option<usize> = Some(size_of::<T>().saturating_sub(OFFSET));

    #[inline(always)]
    fn bytes(self) -> usize {
        size_of::<T>().saturating_sub(OFFSET)
    }
}

impl Length for usize {
    const CONSTANT: Option<usize> = None;

    #[inline(always)]
    fn bytes(self) -> usize {
        self
    }
}

impl<const N: usize> Length for Fixed<N> {
    const CONSTANT: Option<usize> = Some(N);

    #[inline(always)]
    fn bytes(self) -> usize {
        N
    }
}

impl<T> Length for SizeOf<T> {
    const CONSTANT: Option<usize> = Some(size_of::<T>());

    #[inline(always)]
    fn bytes(self) -> usize {
        size_of::<T>()
    }
}

/// Whether nothing that is constant here is already wrong. `None` is decided at run time, or never.
pub(crate) const fn may_fit(length: Option<usize>, size: Option<usize>) -> bool {
    match (length, size) {
        (Some(length), Some(size)) => length <= size,
        _ => true,
    }
}
