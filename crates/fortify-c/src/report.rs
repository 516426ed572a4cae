//! From a failed check to a line on standard error, or to the program's own handler.
//!
//! Every check ends here, in a function that does not return. What it does must be possible in a
//! process whose memory is already suspect, and inside a signal handler: the text is made on the
//! stack by the same code that the Rust side of the project reports with, nothing is allocated, no
//! lock is taken.

use core::ffi::{CStr, c_char, c_int};
use core::fmt::{self, Write};
use core::mem;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use fortify::{Access, Function, Overflow};

use crate::{libc, stderr};

/// Defines the checked functions, each with its name for Rust and for C.
macro_rules! checked {
    ($($function:ident = $name:literal,)*) => {
        /// A function that is checked here.
        #[derive(Clone, Copy)]
        #[repr(u8)]
        pub(crate) enum Checked {
            $($function,)*
        }

        impl Checked {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$function),*];

            const fn function(self) -> Function {
                match self {
                    $(Self::$function => Function::$function,)*
                }
            }

            /// The function's name as a C string; the same as the other one.
            const fn name(self) -> &'static CStr {
                match self {
                    $(Self::$function => $name,)*
                }
            }
        }
    };
}

checked! {
    Memcpy = c"memcpy",
    Memmove = c"memmove",
    Mempcpy = c"mempcpy",
    Memset = c"memset",
    ExplicitBzero = c"explicit_bzero",
    Strcpy = c"strcpy",
    Stpcpy = c"stpcpy",
    Strncpy = c"strncpy",
    Stpncpy = c"stpncpy",
    Strcat = c"strcat",
    Strncat = c"strncat",
    Strlcpy = c"strlcpy",
    Strlcat = c"strlcat",
}

/// What a handler is told: `struct unlikely_fortify_overflow` of the header.
#[repr(C)]
#[derive(Debug)]
pub struct COverflow {
    /// The function's name; null where only `__chk_fail` was called.
    pub function: *const c_char,
    /// The whole report as one line without its end, valid while the handler runs.
    pub report: *const c_char,
    /// Bytes that were asked for.
    pub bytes: usize,
    /// Bytes in the buffer that would have been overrun.
    pub size: usize,
    /// 1 if the buffer would have been written, 0 if it would have been read.
    pub write: c_int,
}

/// Takes a report: `unlikely_fortify_handler` of the header. If it returns, the process aborts.
pub type CHandler = unsafe extern "C" fn(*const COverflow);

/// The handler, a [`CHandler`] as a pointer. Set at any time, by any thread, any number of times.
///
/// | value | meaning | who writes |
/// |---|---|---|
/// | null | none: the report goes to standard error | initial; [`unlikely_fortify_set_handler`], acq-rel |
/// | other | a `CHandler` | [`unlikely_fortify_set_handler`], acq-rel |
static HANDLER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// A stored pointer as the handler that it was.
fn handler_from(stored: *mut ()) -> Option<CHandler> {
    // SAFETY: HANDLER only ever holds null or what was cast from a CHandler, and an optional function
    // pointer has the size of a pointer, with null for none.
    unsafe { mem::transmute::<*mut (), Option<CHandler>>(stored) }
}

/// Sends every later report to `handler`, or to standard error if there is none. Returns the handler
/// that was set before. May be called from any thread and from signal handlers.
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub extern "C" fn unlikely_fortify_set_handler(handler: Option<CHandler>) -> Option<CHandler> {
    let stored = handler.map_or(ptr::null_mut(), |handler| handler as *mut ());
    handler_from(HANDLER.swap(stored, Ordering::AcqRel))
}

/// Bytes of the longest report: the longest name and two numbers of 20 digits, with room to spare.
const LINE_BYTES: usize = 160;

/// One line of text with a zero behind it. What does not fit is dropped.
struct Line {
    text: [u8; LINE_BYTES],
    length: usize,
}

impl Line {
    const fn new() -> Self {
        Self { text: [0; LINE_BYTES], length: 0 }
    }

    /// The text so far.
    fn bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

impl Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        // The last byte stays zero: it ends the C string.
        let free = self.text.iter_mut().take(LINE_BYTES - 1).skip(self.length);
        for (to, from) in free.zip(s.bytes()) {
            *to = from;
            self.length += 1;
        }
        Ok(())
    }
}

/// Reports that `checked` was asked for `bytes` where there are `size`.
///
/// All arguments are plain numbers, and the last two stand where a checked copy has its length and
/// its size. So a failing path only sets the other two, and, more to the point, the good path moves
/// nothing to make room. (A reference among them would be taken apart by the optimiser into more
/// arguments, and the good path of `memcpy` would have three moves more.)
#[cold]
#[inline(never)]
pub(crate) fn overflow(checked: Checked, access: Access, bytes: usize, size: usize) -> ! {
    let mut line = Line::new();
    // A line never refuses text.
    let _ = write!(line, "{}", Overflow { function: checked.function(), access, bytes, size });
    deliver(line, checked.name().as_ptr(), access, bytes, size)
}

/// [`overflow`] of a write, for functions whose length and size are one argument further to the front.
#[cold]
#[inline(never)]
pub(crate) fn write_overflow(checked: Checked, bytes: usize, size: usize) -> ! {
    overflow(checked, Access::Write, bytes, size)
}

/// `__chk_fail`: reports an overflow found elsewhere. Does not return.
///
/// Code that checks for itself calls this: the compiler for built-in copies, a statically linked
/// glibc for its printf family and its input functions. It tells nothing of what it found.
#[cold]
#[cfg_attr(fortify_c_library, unsafe(no_mangle))]
pub extern "C" fn __chk_fail() -> ! {
    let mut line = Line::new();
    // A line never refuses text.
    let _ = line.write_str("detected buffer overflow: neither function nor size is known");
    deliver(line, ptr::null(), Access::Write, 0, 0)
}

/// Hands the report to the handler, or prints it; then ends the process.
fn deliver(
    mut line: Line,
    function: *const c_char,
    access: Access,
    bytes: usize,
    size: usize,
) -> ! {
    if let Some(handler) = handler_from(HANDLER.load(Ordering::Acquire)) {
        let write = c_int::from(access == Access::Write);
        let report = line.text.as_ptr().cast();
        let told = COverflow { function, report, bytes, size, write };
        // SAFETY: `told` and the texts it points to live until the call returns, and the caller of
        // `unlikely_fortify_set_handler` gave a function of this type.
        unsafe { handler(&raw const told) };
    } else {
        let _ = line.write_str("\n");
        stderr::write_all(line.bytes());
    }
    libc::abort_process()
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;

    #[test]
    fn a_function_has_the_same_name_for_c_as_for_rust() {
        for checked in Checked::ALL {
            assert_eq!(checked.name().to_str(), Ok(checked.function().name()));
        }
    }

    #[test]
    fn the_longest_report_fits_with_its_end_and_its_zero() {
        for checked in Checked::ALL {
            let function = checked.function();
            let longest =
                Overflow { function, access: Access::Write, bytes: usize::MAX, size: usize::MAX };
            assert!(longest.to_string().len() + "\n\0".len() <= LINE_BYTES, "{longest}");
        }
    }

    #[test]
    fn a_line_keeps_what_fits_and_ends_in_zero() {
        let mut line = Line::new();
        for _ in 0..LINE_BYTES {
            assert_eq!(line.write_str("ab"), Ok(()));
        }
        assert_eq!(line.bytes().len(), LINE_BYTES - 1);
        assert!(line.bytes().starts_with(b"abab"));
        assert_eq!(line.text.last(), Some(&0));
    }

    #[test]
    fn setting_a_handler_returns_the_one_before() {
        unsafe extern "C" fn first(_: *const COverflow) {}
        assert!(unlikely_fortify_set_handler(Some(first)).is_none());
        let before = unlikely_fortify_set_handler(None);
        assert_eq!(before.map(|handler| handler as usize), Some(first as *const () as usize));
        assert!(unlikely_fortify_set_handler(None).is_none());
    }
}
