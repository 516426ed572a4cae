//! Exclusive load, check, exclusive store.
//!
//! The old value is in a register before anything is written, so the branch out of line stands before
//! the store and no count out of range is ever in memory. An exclusive load without its store leaves
//! the monitor open, which no later one minds.
//!
//! An addition sets the flags of the sum. If it is not negative ("pl"), the flags are set again by
//! comparing the old value with zero, otherwise to Z alone; "less or equal" is then true of a sum that
//! is negative and of an old value that was zero or negative. A subtraction needs no more than the
//! flags of the difference: "less" is a fault, "equal" the last reference.

use core::arch::asm;
use core::panic::Location;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::backend::{Backend, sealed};
use crate::report::{Kind, fault, fault_of_sub};
use crate::word::{Word, fence};

/// [`Fast`](super::Fast) by exclusive loads and stores, which every aarch64 CPU has. A count out of range
/// is refused before it is written.
pub enum LlSc {}

/// The fault of an addition that was not written: the counter holds what was wrong with it.
#[cold]
#[inline(never)]
fn fault_of_refused_add<W: Word>(counter: &W::Atomic, location: &'static Location<'static>) {
    let zero = W::load(counter, Ordering::Relaxed) == W::ZERO;
    let kind = if zero { Kind::AddUseAfterFree } else { Kind::AddOverflow };
    fault::<W>(counter, kind, location);
}

macro_rules! add {
    ($word:ty, $r:literal, $counter:ident, $i:expr $(, $operand:tt = $value:expr)?) => {
        // SAFETY: the pointer is to a live atomic, changed by an exclusive pair; no stack is used,
        // and memory and flags are taken as changed.
        unsafe {
            asm!(
                "2:",
                concat!("ldxr {old:", $r, "}, [{p}]"),
                concat!("adds {new:", $r, "}, {old:", $r, "}, ", $i),
                concat!("ccmp {old:", $r, "}, #0, #4, pl"),
                "b.le {out_of_range}",
                concat!("stxr {failed:w}, {new:", $r, "}, [{p}]"),
                "cbnz {failed:w}, 2b",
                p = in(reg) $counter.as_ptr(),
                $($operand = in(reg) $value,)?
                old = out(reg) _,
                new = out(reg) _,
                failed = out(reg) _,
                out_of_range = label { fault_of_refused_add::<$word>($counter, Location::caller()) },
                options(nostack),
            );
        }
    };
}

macro_rules! sub_and_test {
    ($word:ty, $r:literal, $counter:ident, $zero:block, $i:expr $(, $operand:tt = $value:expr)?) => {
        // SAFETY: as in `add!`.
        unsafe {
            asm!(
                "2:",
                concat!("ldxr {old:", $r, "}, [{p}]"),
                concat!("subs {new:", $r, "}, {old:", $r, "}, ", $i),
                "b.lt {below_zero}",
                concat!("stlxr {failed:w}, {new:", $r, "}, [{p}]"),
                "cbnz {failed:w}, 2b",
                "b.eq {zero}",
                p = in(reg) $counter.as_ptr(),
                $($operand = in(reg) $value,)?
                old = out(reg) _,
                new = out(reg) _,
                failed = out(reg) _,
                below_zero = label { return fault_of_sub::<$word>($counter, Location::caller()) },
                zero = label $zero,
                options(nostack),
            );
        }
    };
}

/// A strong compare-exchange; the value found.
macro_rules! exchange {
    ($load:literal, $store:literal, $r:literal, $counter:ident, $old:ident, $new:ident) => {{
        let found;
        // SAFETY: as in `add!`.
        unsafe {
            asm!(
                "2:",
                concat!($load, " {found:", $r, "}, [{p}]"),
                concat!("cmp {found:", $r, "}, {old:", $r, "}"),
                "b.ne 3f",
                concat!($store, " {failed:w}, {new:", $r, "}, [{p}]"),
                "cbnz {failed:w}, 2b",
                "3:",
                p = in(reg) $counter.as_ptr(),
                old = in(reg) $old,
                new = in(reg) $new,
                found = out(reg) found,
                failed = out(reg) _,
                options(nostack),
            );
        }
        found
    }};
}

macro_rules! ll_sc {
    ($word:ty, $atomic:ty, $r:literal) => {
        impl Backend<$word> for LlSc {
            const NAME: &'static str = "ll-sc";
        }

        impl sealed::Backend<$word> for LlSc {
            #[inline(always)]
            #[track_caller]
            fn inc(counter: &$atomic) {
                add!($word, $r, counter, "#1");
            }

            #[inline(always)]
            #[track_caller]
            fn add(counter: &$atomic, i: $word) {
                add!($word, $r, counter, concat!("{i:", $r, "}"), i = i);
            }

            #[inline(always)]
            #[track_caller]
            fn dec(counter: &$atomic) {
                // SAFETY: as in `add!`.
                unsafe {
                    asm!(
                        "2:",
                        concat!("ldxr {old:", $r, "}, [{p}]"),
                        concat!("subs {new:", $r, "}, {old:", $r, "}, #1"),
                        "b.le {nothing_left}",
                        concat!("stlxr {failed:w}, {new:", $r, "}, [{p}]"),
                        "cbnz {failed:w}, 2b",
                        p = in(reg) counter.as_ptr(),
                        old = out(reg) _,
                        new = out(reg) _,
                        failed = out(reg) _,
                        nothing_left = label { fault::<$word>(counter, Kind::DecLeak, Location::caller()) },
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            #[track_caller]
            fn dec_and_test(counter: &$atomic) -> bool {
                sub_and_test!($word, $r, counter, {
                    fence(Ordering::Acquire);
                    return true;
                }, "#1");
                false
            }

            #[inline(always)]
            #[track_caller]
            fn sub_and_test(counter: &$atomic, i: $word) -> bool {
                sub_and_test!($word, $r, counter, {
                    // Nothing taken from nothing is no last reference.
                    if unlikely::unlikely!(i == 0) {
                        return fault_of_sub::<$word>(counter, Location::caller());
                    }
                    fence(Ordering::Acquire);
                    return true;
                }, concat!("{i:", $r, "}"), i = i);
                false
            }

            #[inline(always)]
            fn compare_exchange(
                counter: &$atomic,
                old: $word,
                new: $word,
                success: Ordering,
            ) -> Result<$word, $word> {
                let found = match success {
                    Ordering::Relaxed => exchange!("ldxr", "stxr", $r, counter, old, new),
                    Ordering::Acquire => exchange!("ldaxr", "stxr", $r, counter, old, new),
                    Ordering::Release => exchange!("ldxr", "stlxr", $r, counter, old, new),
                    Ordering::AcqRel => exchange!("ldaxr", "stlxr", $r, counter, old, new),
                    _ => exchange!("ldaxr", "stlxr", $r, counter, old, new),
                };
                if found == old { Ok(found) } else { Err(found) }
            }
        }
    };
}

ll_sc!(u32, core::sync::atomic::AtomicU32, "w");
ll_sc!(u64, core::sync::atomic::AtomicU64, "x");

/// Replaces `old` by `new`, relaxed; the value found. For the bytes beside the counters, which must not
/// need LSE either.
pub(super) fn exchange_byte(byte: &AtomicU8, old: u8, new: u8) -> u8 {
    let (old, new) = (u32::from(old), u32::from(new));
    let found: u32 = exchange!("ldxrb", "stxrb", "w", byte, old, new);
    // The load fills the register's other bits with zeros.
    found as u8
}

/// Sets `bits`, relaxed; the value before.
pub(crate) fn set_bits(byte: &AtomicU8, bits: u8) -> u8 {
    let mut old = byte.load(Ordering::Relaxed);
    loop {
        let found = exchange_byte(byte, old, old | bits);
        if found == old {
            return old;
        }
        old = found;
    }
}
