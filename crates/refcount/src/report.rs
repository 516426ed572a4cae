//! What is said of a fault, and to whom.
//!
//! A fault saturates its counter first and is reported second, so that whatever the handler does the
//! counter is already safe. Each kind is reported once: a saturated counter faults at every use, and
//! the first report is the one that says where the trouble began.

use core::fmt;
use core::panic::Location;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::word::Word;

/// What went wrong. The words after the dash are Linux's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A conditional increment went past the greatest count — `ADD_NOT_ZERO_OVF`.
    AddNotZeroOverflow,
    /// An increment went past the greatest count — `ADD_OVF`.
    AddOverflow,
    /// An increment of a counter that was zero: the object is gone — `ADD_UAF`.
    AddUseAfterFree,
    /// A decrement of more references than there were — `SUB_UAF`.
    SubUseAfterFree,
    /// A decrement that must not be the last one was — `DEC_LEAK`.
    DecLeak,
}

/// One fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What went wrong.
    pub kind: Kind,
    /// The operation's call site.
    pub location: &'static Location<'static>,
    /// The counter's address.
    pub counter: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::AddNotZeroOverflow => {
                "conditional increment beyond the greatest count; saturated, the object is leaked"
            }
            Kind::AddOverflow => {
                "increment beyond the greatest count; saturated, the object is leaked"
            }
            Kind::AddUseAfterFree => "increment of a counter that was zero; use after free",
            Kind::SubUseAfterFree => "decrement below zero; use after free",
            Kind::DecLeak => {
                "decrement to zero where a reference had to remain; the object is leaked"
            }
        };
        write!(f, "refcount {:#x}: {what} (at {})", self.counter, self.location)
    }
}

/// Takes the report of a fault. The counter is saturated already: it may return, panic or abort.
pub type Handler = fn(&Fault);

/// The handler, as a pointer.
///
/// | value | meaning | who writes |
/// |---|---|---|
/// | null | none set: with `std` a line on standard error, otherwise nothing | initial |
/// | other | a [`Handler`] | [`set_handler`], release |
static HANDLER: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// The kinds that were reported, bit `k` for the kind of discriminant `k`.
///
/// | bit | meaning | who writes |
/// |---|---|---|
/// | 0 | the next fault of this kind is reported | initial, [`rearm`] |
/// | 1 | it was reported | the first fault of the kind, by `fetch_or` |
static REPORTED: AtomicU8 = AtomicU8::new(0);

/// Sends every later report to `handler`.
pub fn set_handler(handler: Handler) {
    HANDLER.store(handler as *mut (), Ordering::Release);
}

/// Lets every kind be reported once more.
pub fn rearm() {
    REPORTED.store(0, Ordering::Relaxed);
}

/// Saturates the counter and reports.
#[cold]
#[inline(never)]
pub(crate) fn fault<W: Word>(
    counter: &W::Atomic,
    kind: Kind,
    location: &'static Location<'static>,
) {
    W::store(counter, W::SATURATED, Ordering::Relaxed);
    report(Fault { kind, location, counter: core::ptr::from_ref(counter).addr() });
}

/// [`fault`] of an addition, by a backend that no longer has the old value.
///
/// The sum was written, so a counter that is not negative now was zero before, and a negative one
/// went past the greatest count. Only a second fault on the same counter in between, which has had
/// its own report, can make the one look like the other.
#[cold]
#[inline(never)]
#[cfg_attr(not(refcount_fast), expect(dead_code, reason = "no backend in assembly"))]
pub(crate) fn fault_of_add<W: Word>(counter: &W::Atomic, location: &'static Location<'static>) {
    let kind = if W::load(counter, Ordering::Relaxed).is_negative() {
        Kind::AddOverflow
    } else {
        Kind::AddUseAfterFree
    };
    fault::<W>(counter, kind, location);
}

/// [`fault`] of a subtraction, and its answer: not the last reference. An answer in the same call lets
/// the caller jump here instead of calling, and so keep no stack frame for it.
#[cold]
#[inline(never)]
pub(crate) fn fault_of_sub<W: Word>(
    counter: &W::Atomic,
    location: &'static Location<'static>,
) -> bool {
    fault::<W>(counter, Kind::SubUseAfterFree, location);
    // Known to be false, it would be put in the caller again, and the frame with it.
    core::hint::black_box(false)
}

/// Reports without touching the counter.
#[cold]
#[inline(never)]
pub(crate) fn report(fault: Fault) {
    let bit = 1 << fault.kind as u8;
    // The load keeps a counter that faults at every use from writing this line at every use.
    if REPORTED.load(Ordering::Relaxed) & bit != 0
        || REPORTED.fetch_or(bit, Ordering::Relaxed) & bit != 0
    {
        return;
    }
    let handler = HANDLER.load(Ordering::Acquire);
    if handler.is_null() {
        #[cfg(feature = "std")]
        {
            use std::io::Write;
            // A closed standard error is no reason to stop a program that has just been saved.
            let _ = writeln!(std::io::stderr(), "{fault}");
        }
        return;
    }
    // SAFETY: a pointer that is not null was stored by `set_handler` from a `Handler`, and function
    // pointers keep their value through a pointer of the same size.
    let handler: Handler = unsafe { core::mem::transmute(handler) };
    handler(&fault);
}
