//! What is said of a fault, and to whom.
//!
//! A fault saturates its counter first and is reported second, so that whatever the handler does the
//! counter is already safe. Each kind is reported once: a saturated counter faults at every use, and
//! the first report is the one that says where the trouble began.

use core::fmt;
use core::panic::Location;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::word::{Word, acquire};

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
    /// The operation's call site. Where an object was taken up between its last drop and its mark, it is
    /// that drop's, which found it.
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
            Kind::SubUseAfterFree => {
                "decrement of a counter that held less, or was saturated before; use after free"
            }
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
///
/// The store must not hide what [`Counter::set_release`](crate::Counter::set_release) published: an
/// `_acquire` form gives a reference to a saturated counter too. So the fault takes over what the value
/// before it had released, and releases it again.
#[cold]
#[inline(never)]
pub(crate) fn fault<W: Word>(
    counter: &W::Atomic,
    kind: Kind,
    location: &'static Location<'static>,
) {
    acquire::<W>(counter);
    W::store(counter, W::SATURATED, Ordering::Release);
    report(Fault { kind, location, counter: core::ptr::from_ref(counter).addr() });
}

/// [`fault`] of an addition, by a backend that no longer has the old value. `room` is the greatest
/// value that could have been added to: a backend has it at hand, and not what it added. `zero` is how
/// the backend writes a dead object's count.
///
/// The sum was written, so what was there before is the value now less what was added. An addition
/// that faults without a negative value before or after it was one to zero. Only a second fault on
/// the same counter in between, which has had its own report, can make one look like the other.
#[cold]
#[inline(never)]
#[cfg_attr(
    not(any(refcount_fast, all(loom, test))),
    expect(dead_code, reason = "no backend in assembly")
)]
pub(crate) fn fault_of_add<W: Word>(
    counter: &W::Atomic,
    room: W,
    location: &'static Location<'static>,
    zero: W,
) {
    let now = W::load(counter, Ordering::Relaxed);
    let old = now.sub(W::MAX.sub(room));
    let overflow = old != zero && (old.is_negative() || now.is_negative());
    let kind = if overflow { Kind::AddOverflow } else { Kind::AddUseAfterFree };
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

/// The fault of a last reference that was not the last: somebody who had none took one meanwhile, and
/// `now` is what is there instead of zero. The answer is that of [`fault_of_sub`], so that the object is
/// not freed under them. If they dropped it again it is theirs, and dead: it is not touched.
#[cold]
#[inline(never)]
pub(crate) fn fault_of_last<W: Word>(
    counter: &W::Atomic,
    now: W,
    location: &'static Location<'static>,
) -> bool {
    if now == W::DEAD {
        let counter = core::ptr::from_ref(counter).addr();
        report(Fault { kind: Kind::AddUseAfterFree, location, counter });
    } else {
        fault::<W>(counter, Kind::AddUseAfterFree, location);
    }
    core::hint::black_box(false)
}

/// Sets `bit` of [`REPORTED`]; the bits before. On aarch64 not by what the compiler makes of an atomic:
/// in a build for `+lse` that is an instruction the CPU may not have, though the counters do without.
fn mark(bit: u8) -> u8 {
    #[cfg(all(refcount_fast, target_arch = "aarch64"))]
    return crate::fast::set_bits(&REPORTED, bit);
    #[cfg(not(all(refcount_fast, target_arch = "aarch64")))]
    REPORTED.fetch_or(bit, Ordering::Relaxed)
}

/// Reports without touching the counter.
#[cold]
#[inline(never)]
pub(crate) fn report(fault: Fault) {
    let bit = 1 << fault.kind as u8;
    // The load keeps a counter that faults at every use from writing this line at every use.
    if REPORTED.load(Ordering::Relaxed) & bit != 0 || mark(bit) & bit != 0 {
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
