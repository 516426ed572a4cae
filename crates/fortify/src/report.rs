//! What is said of an overflow, and to whom.
//!
//! An overflow is found before a byte moves. It is four facts: the function, whether the write or
//! the read would have left its buffer, how many bytes were asked for, and the size of that buffer
//! (the one that would have been overrun, not the other one). They are handed to one settable
//! handler, which must not return; without one the program stops by a panic.

use core::fmt;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The function that was asked for too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Function {
    /// Copy between buffers that do not overlap.
    Memcpy,
    /// Copy between buffers that may overlap.
    Memmove,
    /// Copy, returning the end of what was written.
    Mempcpy,
    /// Fill with one byte.
    Memset,
    /// Fill with zeros that no optimiser removes.
    ExplicitBzero,
    /// Compare two buffers.
    Memcmp,
    /// Find a byte.
    Memchr,
    /// Find a byte that differs from the given one.
    MemchrInv,
    /// Find a byte, or the end.
    Memscan,
    /// Copy into fresh memory.
    Kmemdup,
    /// Length of a string.
    Strlen,
    /// Length of a string, up to a bound.
    Strnlen,
    /// Copy a string.
    Strcpy,
    /// Copy a string, returning its end.
    Stpcpy,
    /// Copy a string into a field, padding with zeros.
    Strncpy,
    /// Copy a string into a field, returning the end of what was copied.
    Stpncpy,
    /// Copy a string, truncating.
    Strscpy,
    /// Copy a string, truncating, returning the length that was wanted.
    Strlcpy,
    /// Append a string.
    Strcat,
    /// Append at most so many bytes of a string.
    Strncat,
    /// Append a string, truncating.
    Strlcat,
}

impl Function {
    /// The function's name in C.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::Memmove => "memmove",
            Self::Mempcpy => "mempcpy",
            Self::Memset => "memset",
            Self::ExplicitBzero => "explicit_bzero",
            Self::Memcmp => "memcmp",
            Self::Memchr => "memchr",
            Self::MemchrInv => "memchr_inv",
            Self::Memscan => "memscan",
            Self::Kmemdup => "kmemdup",
            Self::Strlen => "strlen",
            Self::Strnlen => "strnlen",
            Self::Strcpy => "strcpy",
            Self::Stpcpy => "stpcpy",
            Self::Strncpy => "strncpy",
            Self::Stpncpy => "stpncpy",
            Self::Strscpy => "strscpy",
            Self::Strlcpy => "strlcpy",
            Self::Strcat => "strcat",
            Self::Strncat => "strncat",
            Self::Strlcat => "strlcat",
        }
    }
}

/// Which end of the operation would have left its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading from the source.
    Read,
    /// Writing to the destination.
    Write,
}

/// An overflow that was about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Overflow {
    /// Who was asked.
    pub function: Function,
    /// Which end.
    pub access: Access,
    /// Bytes that were asked for.
    pub bytes: usize,
    /// Bytes in the buffer that would have been overrun.
    pub size: usize,
}

/// `memcpy: detected buffer overflow: 8 byte write of buffer size 4`, as Linux prints it.
impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            Access::Read => "read",
            Access::Write => "write",
        };
        write!(
            f,
            "{}: detected buffer overflow: {} byte {access} of buffer size {}",
            self.function.name(),
            self.bytes,
            self.size
        )
    }
}

impl core::error::Error for Overflow {}

/// Takes the report of an overflow and does not return: it may panic, abort, or halt.
pub type Handler = fn(&Overflow) -> !;

/// The handler, a [`Handler`] as a pointer. Set at any time, by any thread, any number of times.
///
/// | value | meaning | who writes |
/// |---|---|---|
/// | null | none set: panic with the report | initial |
/// | other | a `Handler` | [`set_handler`], release |
static HANDLER: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sends every later report to `handler`.
pub fn set_handler(handler: Handler) {
    HANDLER.store(handler as *mut (), Ordering::Release);
}

/// Reports an overflow; does not return. Without a handler the panic names the caller's line.
#[cold]
#[inline(never)]
#[track_caller]
pub fn overflow(report: Overflow) -> ! {
    let handler = HANDLER.load(Ordering::Acquire);
    if handler.is_null() {
        panic!("{report}");
    }
    // SAFETY: a pointer that is not null was stored by `set_handler` from a `Handler`, and function
    // pointers keep their value through a pointer of the same size.
    let handler: Handler = unsafe { core::mem::transmute(handler) };
    handler(&report)
}
