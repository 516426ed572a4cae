//! A pointer that carries what is known of the memory behind it.
//!
//! Two sizes are kept, as the two modes of `__builtin_object_size` have them. The *whole object* is
//! what remains of the allocation or of the outermost structure: past it lies somebody else's
//! memory, and no function here goes there. The *member* is the field that was named: the memory
//! functions only warn when a write spans it, since programs do copy several neighbouring fields at
//! once, while the string functions never leave it, since no string lies across two fields.
//! [`strict`](Dst::strict) and [`object`](Dst::object) turn one mode into the other.
//!
//! Making such a pointer is safe, as making a raw pointer is; the functions that go through it are
//! not.

use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::extent::{Extent, Fixed, Known, RestOf, SizeOf, Unknown};

macro_rules! sized_pointer {
    (
        $(#[$doc:meta])*
        $name:ident, $mutability:ident
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<W: Extent = Known, F: Extent = Unknown> {
            at: *$mutability u8,
            whole: W,
            field: F,
        }

        impl $name {
            /// `size` bytes at `at`. A size of `usize::MAX` is one that is not known, as C has it.
            #[inline(always)]
            pub const fn known<T>(at: *$mutability T, size: usize) -> Self {
                Self { at: at.cast(), whole: Known(size), field: Unknown }
            }
        }

        impl $name<Unknown> {
            /// Nobody knows how many bytes at `at`: nothing is checked.
            #[inline(always)]
            pub const fn unknown<T>(at: *$mutability T) -> Self {
                Self { at: at.cast(), whole: Unknown, field: Unknown }
            }
        }

        impl<const N: usize> $name<Fixed<N>> {
            /// `N` bytes at `at`.
            #[inline(always)]
            pub const fn fixed<T>(at: *$mutability T) -> Self {
                Self { at: at.cast(), whole: Fixed, field: Unknown }
            }
        }

        impl<T> $name<SizeOf<T>> {
            /// The bytes of the `T` at `at`.
            #[inline(always)]
            pub const fn of(at: *$mutability T) -> Self {
                Self { at: at.cast(), whole: SizeOf::new(), field: Unknown }
            }
        }

        impl<T, M, const OFFSET: usize> $name<RestOf<T, OFFSET>, SizeOf<M>> {
            /// The member of type `M` that begins at byte `OFFSET` of a `T`. The macros of this
            /// crate write it.
            #[inline(always)]
            pub const fn member_of(member: *$mutability M) -> Self {
                Self { at: member.cast(), whole: RestOf::new(), field: SizeOf::new() }
            }
        }

        impl<W: Extent, F: Extent> $name<W, F> {
            /// The member of `size` bytes that begins `offset` bytes from here. A member that
            /// begins past the end has nothing behind it: every access of a byte is an overflow.
            #[inline(always)]
            pub fn member(self, offset: usize, size: usize) -> $name<Known, Known> {
                let rest = self.advance(offset);
                $name { at: rest.at, whole: rest.whole, field: Known(size) }
            }

            /// `offset` bytes on, with so many bytes less behind it.
            #[inline(always)]
            pub fn advance(self, offset: usize) -> $name<Known, Known> {
                let less = |size: usize| match size {
                    usize::MAX => size,
                    size => size.saturating_sub(offset),
                };
                $name {
                    at: self.at.wrapping_add(offset),
                    whole: Known(less(self.whole.bytes())),
                    field: Known(less(self.field.bytes())),
                }
            }

            /// The same place, bounded by the whole object only: no warning, and strings may use
            /// all of it.
            #[inline(always)]
            pub fn object(self) -> $name<W> {
                $name { at: self.at, whole: self.whole, field: Unknown }
            }

            /// The same place, with nothing past the member: what was a warning is an overflow.
            #[inline(always)]
            pub fn strict(self) -> $name {
                $name { at: self.at, whole: Known(self.bound()), field: Unknown }
            }

            /// The address.
            #[inline(always)]
            pub fn as_ptr(self) -> *$mutability u8 {
                self.at
            }

            /// The bytes of the whole object from here on; `usize::MAX` if they are not known.
            #[inline(always)]
            pub fn whole(self) -> usize {
                self.whole.bytes()
            }

            /// The bytes of the member from here on; `usize::MAX` if none was named.
            #[inline(always)]
            pub fn field(self) -> usize {
                self.field.bytes()
            }

            /// The bytes up to the nearer end.
            #[inline(always)]
            pub fn bound(self) -> usize {
                if F::UNKNOWN {
                    return self.whole();
                }
                self.whole().min(self.field())
            }
        }
    };
}

sized_pointer! {
    /// Where to write: an address, the size `W` of the whole object and the size `F` of the member.
    Dst, mut
}

sized_pointer! {
    /// Where to read: an address, the size `W` of the whole object and the size `F` of the member.
    Src, const
}

impl<W: Extent, F: Extent> Dst<W, F> {
    /// The same place, to be read.
    #[inline(always)]
    pub fn to_src(self) -> Src<W, F> {
        Src { at: self.at, whole: self.whole, field: self.field }
    }
}

/// A conversion from something that says its own size.
macro_rules! from {
    ([$($generic:tt)*] $from:ty => $to:ty, $value:ident, $pointer:expr) => {
        impl<$($generic)*> From<$from> for $to {
            #[inline(always)]
            fn from($value: $from) -> Self {
                $pointer
            }
        }
    };
}

from!([] &mut [u8] => Dst, bytes, Dst::known(bytes.as_mut_ptr(), bytes.len()));
from!([] &mut [MaybeUninit<u8>] => Dst, bytes, Dst::known(bytes.as_mut_ptr(), bytes.len()));
from!([] *mut [u8] => Dst, bytes, Dst::known(bytes.cast::<u8>(), bytes.len()));
from!([] NonNull<[u8]> => Dst, bytes, Dst::from(bytes.as_ptr()));
from!([const N: usize] &mut [u8; N] => Dst<Fixed<N>>, bytes, Dst::fixed(bytes));
from!([const N: usize] &mut [MaybeUninit<u8>; N] => Dst<Fixed<N>>, bytes, Dst::fixed(bytes));
from!([T] &mut MaybeUninit<T> => Dst<SizeOf<T>>, value, Dst::of(value.as_mut_ptr()));

from!([] &[u8] => Src, bytes, Src::known(bytes.as_ptr(), bytes.len()));
from!([] &[MaybeUninit<u8>] => Src, bytes, Src::known(bytes.as_ptr(), bytes.len()));
from!([] *const [u8] => Src, bytes, Src::known(bytes.cast::<u8>(), bytes.len()));
from!([] NonNull<[u8]> => Src, bytes, Src::from(bytes.as_ptr().cast_const()));
from!([const N: usize] &[u8; N] => Src<Fixed<N>>, bytes, Src::fixed(bytes));
from!([const N: usize] &[MaybeUninit<u8>; N] => Src<Fixed<N>>, bytes, Src::fixed(bytes));
from!([T] &MaybeUninit<T> => Src<SizeOf<T>>, value, Src::of(value.as_ptr()));
from!([] &CStr => Src, text, Src::from(text.to_bytes_with_nul()));

/// A [`Dst`] of the named member of the structure behind a `*mut T`: both sizes are constants.
///
/// It must stand in an `unsafe` block: the pointer must point into an allocation that holds a whole
/// `T`, whose bytes need not be initialised.
///
/// ```
/// use fortify::{Dst, dst_member};
/// #[repr(C)]
/// struct Record { name: [u8; 10], flags: u32 }
/// let mut record = Record { name: [0; 10], flags: 0 };
/// let at = &raw mut record;
/// // SAFETY: `at` points to a whole record.
/// let name = unsafe { dst_member!(at, Record, name) };
/// assert_eq!((name.whole(), name.field()), (16, 10));
/// ```
#[macro_export]
macro_rules! dst_member {
    ($pointer:expr, $type:ty, $member:ident) => {{
        let pointer: *mut $type = $pointer;
        $crate::Dst::<$crate::RestOf<$type, { ::core::mem::offset_of!($type, $member) }>, _>::member_of(
            &raw mut (*pointer).$member,
        )
    }};
}

/// A [`Src`] of the named member of the structure behind a `*const T`; see [`dst_member!`].
#[macro_export]
macro_rules! src_member {
    ($pointer:expr, $type:ty, $member:ident) => {{
        let pointer: *const $type = $pointer;
        $crate::Src::<$crate::RestOf<$type, { ::core::mem::offset_of!($type, $member) }>, _>::member_of(
            &raw const (*pointer).$member,
        )
    }};
}
