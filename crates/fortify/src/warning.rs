//! A write across the end of a member that stays inside the whole object: said, not stopped.
//!
//! Programs copy several neighbouring members in one go, on purpose and by mistake, and only their
//! author knows which. So the write is done, within the whole object, and one settable hook is told.

use core::fmt;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::report::Function;

/// A write that spans the member it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldSpan {
    /// Who was asked.
    pub function: Function,
    /// Bytes that are written.
    pub bytes: usize,
    /// Bytes in the member.
    pub field: usize,
}

/// `memcpy: detected field-spanning write: 8 bytes into a field of 4`.
impl fmt::Display for FieldSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: detected field-spanning write: {} bytes into a field of {}",
            self.function.name(),
            self.bytes,
            self.field
        )
    }
}

/// Takes the report of a field-spanning write, before the bytes are written, and returns.
pub type WarningHandler = fn(&FieldSpan);

/// The hook, a [`WarningHandler`] as a pointer. Set at any time, by any thread, any number of times.
///
/// | value | meaning | who writes |
/// |---|---|---|
/// | null | none set: nobody is told | initial |
/// | other | a `WarningHandler` | [`set_warning_handler`], release |
static HANDLER: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sends every later field-spanning write to `handler`. Without one nobody is told: this crate has
/// nowhere to print to.
pub fn set_warning_handler(handler: WarningHandler) {
    HANDLER.store(handler as *mut (), Ordering::Release);
}

/// Tells the hook.
#[cold]
pub(crate) fn warn(warning: &FieldSpan) {
    let handler = HANDLER.load(Ordering::Acquire);
    if handler.is_null() {
        return;
    }
    // SAFETY: a pointer that is not null was stored by `set_warning_handler` from a
    // `WarningHandler`, and function pointers keep their value through a pointer of the same size.
    let handler: WarningHandler = unsafe { core::mem::transmute(handler) };
    handler(warning);
}
