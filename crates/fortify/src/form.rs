//! The two ways to refuse, and the one cold block that every function ends in.
//!
//! Each function is written once, over a [`Form`]: [`Stops`] never returns from an overflow,
//! [`Reports`] returns it as an error. A function may find several things wrong: the write, the
//! read, a string without an end. It hands all of its numbers to *one* out-of-line call, which finds
//! out again which of them it was. Two calls that do not return, one for each end, would make the
//! compiler keep a frame on the path where nothing is wrong; one does not.
//!
//! The conditions are hinted, unless the `unhinted` feature asks for the build to compare with, or
//! branches are being profiled (`--cfg unlikely_profile`, or the feature `profile` of `unlikely`): a profile of a hinted build would count
//! what the hint made of it, and these checks are not the sites a profile is wanted of.

use crate::report::{Access, Function, Overflow, overflow};
use crate::warning::{FieldSpan, warn};

/// The condition of a failing path, hinted where hints are wanted.
macro_rules! refused {
    ($condition:expr) => {{
        #[cfg(feature = "unhinted")]
        let refused = $condition;
        // The function and not the macro: it is never counted, and bare where branches are.
        #[cfg(not(feature = "unhinted"))]
        let refused = ::unlikely::unlikely($condition);
        refused
    }};
}
pub(crate) use refused;

/// Writes both public forms of a function over its one body.
macro_rules! two_forms {
    (
        $(#[$doc:meta])*
        $stops:ident, $reports:ident = $body:ident
        <$($generic:ident: $bound:ident),*>
        ($($argument:ident: $type:ty),*) -> $out:ty
    ) => {
        $(#[$doc])*
        ///
        /// Goes to [`overflow`](crate::overflow) instead of out of bounds, and does not return.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $stops<$($generic: $bound),*>($($argument: $type),*) -> $out {
            // SAFETY: the body asks for what this function asks for.
            unsafe { $body::<$crate::form::Stops, $($generic),*>($($argument),*) }
        }

        $(#[$doc])*
        ///
        /// # Errors
        /// What would have gone out of bounds; nothing was written.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $reports<$($generic: $bound),*>(
            $($argument: $type),*
        ) -> Result<$out, $crate::Overflow> {
            // SAFETY: the body asks for what this function asks for.
            unsafe { $body::<$crate::form::Reports, $($generic),*>($($argument),*) }
        }
    };
}
pub(crate) use two_forms;

/// What is written.
#[derive(Clone, Copy)]
pub(crate) enum Bytes {
    /// Those from there, which do not overlap.
    Copied(*const u8),
    /// Those from there, which may overlap.
    Moved(*const u8),
    /// This one, over and over.
    Filled(u8),
}

impl Bytes {
    /// Writes `n` of them to `to`.
    ///
    /// # Safety
    /// `to` is valid for writes and the source for reads of `n` bytes; what is copied does not
    /// overlap.
    #[inline(always)]
    pub(crate) unsafe fn write(self, to: *mut u8, n: usize) {
        // SAFETY: that is the callee's contract.
        unsafe {
            match self {
                Self::Copied(from) => from.copy_to_nonoverlapping(to, n),
                Self::Moved(from) => from.copy_to(to, n),
                Self::Filled(byte) => to.write_bytes(byte, n),
            }
        }
    }
}

/// A write into a member that is too small for it.
pub(crate) struct Spanning {
    pub(crate) function: Function,
    pub(crate) to: *mut u8,
    pub(crate) what: Bytes,
    pub(crate) bytes: usize,
    /// Bytes in the whole destination, in its member, and in the source.
    pub(crate) write: usize,
    pub(crate) field: usize,
    pub(crate) read: usize,
}

/// How a function answers.
///
/// Its refusals are named for the numbers they are given; each says in which order they are looked
/// at. Sizes are `usize::MAX` when they are not known.
pub(crate) trait Form {
    type Out<T>;

    fn done<T>(value: T) -> Self::Out<T>;
    /// `bytes` were to be written to `write` bytes, and read from `read` bytes: the write counts
    /// first.
    fn ends<T>(function: Function, bytes: usize, write: usize, read: usize) -> Self::Out<T>;
    /// The same with a member: if only that is spanned, warns and writes.
    ///
    /// # Safety
    /// As [`of_fields`].
    unsafe fn fields(spanning: &Spanning) -> Self::Out<()>;
    /// `bytes` were to be read from two buffers, the first of which counts first.
    fn reads<T>(function: Function, bytes: usize, first: usize, second: usize) -> Self::Out<T>;
    /// `bytes` of a string were to be written to `write` bytes; `length` bytes without a zero were
    /// found, and if that is all of `read`, the string has no end, which counts first.
    fn copies<T>(
        function: Function,
        bytes: usize,
        write: usize,
        length: usize,
        read: usize,
    ) -> Self::Out<T>;
    /// A string was to be appended so that `bytes` in all lie in `write` bytes; `head` bytes
    /// without a zero are there, which counts first if they are all; the string may have no end in
    /// `read` bytes, unless that is `usize::MAX`.
    fn appends<T>(
        function: Function,
        bytes: usize,
        write: usize,
        head: usize,
        read: usize,
    ) -> Self::Out<T>;
}

/// Does not return from an overflow.
pub(crate) struct Stops;

/// Returns an overflow.
pub(crate) struct Reports;

impl Form for Stops {
    type Out<T> = T;

    #[inline(always)]
    fn done<T>(value: T) -> T {
        value
    }

    #[inline(always)]
    #[track_caller]
    fn ends<T>(function: Function, bytes: usize, write: usize, read: usize) -> T {
        #[cfg_attr(not(feature = "warm"), cold)]
        #[inline(never)]
        #[track_caller]
        fn stop(function: Function, bytes: usize, write: usize, read: usize) -> ! {
            overflow(of_ends(function, bytes, write, read))
        }
        stop(function, bytes, write, read)
    }

    #[cfg_attr(not(feature = "warm"), cold)]
    #[inline(never)]
    #[track_caller]
    unsafe fn fields(spanning: &Spanning) {
        // SAFETY: this asks for the same.
        if let Err(report) = unsafe { of_fields(spanning) } {
            overflow(report)
        }
    }

    #[inline(always)]
    #[track_caller]
    fn reads<T>(function: Function, bytes: usize, first: usize, second: usize) -> T {
        #[cfg_attr(not(feature = "warm"), cold)]
        #[inline(never)]
        #[track_caller]
        fn stop(function: Function, bytes: usize, first: usize, second: usize) -> ! {
            overflow(of_reads(function, bytes, first, second))
        }
        stop(function, bytes, first, second)
    }

    #[inline(always)]
    #[track_caller]
    fn copies<T>(function: Function, bytes: usize, write: usize, length: usize, read: usize) -> T {
        #[cfg_attr(not(feature = "warm"), cold)]
        #[inline(never)]
        #[track_caller]
        fn stop(function: Function, bytes: usize, write: usize, length: usize, read: usize) -> ! {
            overflow(of_copies(function, bytes, write, length, read))
        }
        stop(function, bytes, write, length, read)
    }

    #[inline(always)]
    #[track_caller]
    fn appends<T>(function: Function, bytes: usize, write: usize, head: usize, read: usize) -> T {
        #[cfg_attr(not(feature = "warm"), cold)]
        #[inline(never)]
        #[track_caller]
        fn stop(function: Function, bytes: usize, write: usize, head: usize, read: usize) -> ! {
            overflow(of_appends(function, bytes, write, head, read))
        }
        stop(function, bytes, write, head, read)
    }
}

impl Form for Reports {
    type Out<T> = Result<T, Overflow>;

    #[inline(always)]
    fn done<T>(value: T) -> Result<T, Overflow> {
        Ok(value)
    }

    #[inline(always)]
    fn ends<T>(function: Function, bytes: usize, write: usize, read: usize) -> Result<T, Overflow> {
        Err(of_ends(function, bytes, write, read))
    }

    #[inline(always)]
    unsafe fn fields(spanning: &Spanning) -> Result<(), Overflow> {
        // SAFETY: this asks for the same.
        unsafe { of_fields(spanning) }
    }

    #[inline(always)]
    fn reads<T>(
        function: Function,
        bytes: usize,
        first: usize,
        second: usize,
    ) -> Result<T, Overflow> {
        Err(of_reads(function, bytes, first, second))
    }

    #[inline(always)]
    fn copies<T>(
        function: Function,
        bytes: usize,
        write: usize,
        length: usize,
        read: usize,
    ) -> Result<T, Overflow> {
        Err(of_copies(function, bytes, write, length, read))
    }

    #[inline(always)]
    fn appends<T>(
        function: Function,
        bytes: usize,
        write: usize,
        head: usize,
        read: usize,
    ) -> Result<T, Overflow> {
        Err(of_appends(function, bytes, write, head, read))
    }
}

/// The report of the end of a string that was looked for past `size` bytes.
fn endless(function: Function, size: usize) -> Overflow {
    Overflow { function, access: Access::Read, bytes: size.saturating_add(1), size }
}

#[cfg_attr(not(feature = "warm"), cold)]
#[inline(never)]
fn of_ends(function: Function, bytes: usize, write: usize, read: usize) -> Overflow {
    let (access, size) = if bytes > write { (Access::Write, write) } else { (Access::Read, read) };
    Overflow { function, access, bytes, size }
}

/// # Safety
/// `to` is valid for writes of `write` bytes and the source for reads of `read` bytes, or both for
/// `bytes` where that is `usize::MAX`; what is copied does not overlap.
#[cfg_attr(not(feature = "warm"), cold)]
#[inline(never)]
unsafe fn of_fields(spanning: &Spanning) -> Result<(), Overflow> {
    let Spanning { function, bytes, .. } = *spanning;
    if bytes > spanning.write || bytes > spanning.read {
        return Err(of_ends(function, bytes, spanning.write, spanning.read));
    }
    warn(&FieldSpan { function, bytes, field: spanning.field });
    // SAFETY: both ends have `bytes` bytes, or the caller vouches for them, as for no overlap.
    unsafe { spanning.what.write(spanning.to, bytes) };
    Ok(())
}

#[cfg_attr(not(feature = "warm"), cold)]
#[inline(never)]
fn of_reads(function: Function, bytes: usize, first: usize, second: usize) -> Overflow {
    Overflow {
        function,
        access: Access::Read,
        bytes,
        size: if bytes > first { first } else { second },
    }
}

#[cfg_attr(not(feature = "warm"), cold)]
#[inline(never)]
fn of_copies(
    function: Function,
    bytes: usize,
    write: usize,
    length: usize,
    read: usize,
) -> Overflow {
    if length >= read {
        return endless(function, read);
    }
    Overflow { function, access: Access::Write, bytes, size: write }
}

#[cfg_attr(not(feature = "warm"), cold)]
#[inline(never)]
fn of_appends(
    function: Function,
    bytes: usize,
    write: usize,
    head: usize,
    read: usize,
) -> Overflow {
    if head >= write {
        return endless(function, write);
    }
    if read != usize::MAX {
        return endless(function, read);
    }
    Overflow { function, access: Access::Write, bytes, size: write }
}
