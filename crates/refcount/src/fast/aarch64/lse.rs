//! One atomic instruction, then the flags of what it did.
//!
//! The instruction returns the old value and sets no flags, so the sum or the difference is made once
//! more in registers, with flags. What they mean is told in [`ll_sc`](super::ll_sc); here the branch
//! comes after the write, as on x86-64.

use core::arch::asm;
use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::backend::{Backend, sealed};
use crate::report::{Kind, fault, fault_of_add, fault_of_sub};
use crate::word::{Word, fence};

/// [`Fast`](super::Fast) by the atomics of the large system extensions. On a CPU without them these
/// instructions are undefined: the program ends there with an illegal instruction.
/// [`uses_lse`](super::uses_lse) tells.
pub enum Lse {}

macro_rules! sub_and_test {
    ($word:ty, $r:literal, $counter:ident, $zero:block, $i:expr, $add:expr $(, $operand:tt = $value:expr)?) => {
        // SAFETY: the pointer is to a live atomic, changed by one atomic instruction; no stack is
        // used, and memory and flags are taken as changed.
        unsafe {
            asm!(
                ".arch_extension lse",
                concat!("ldaddl {v:", $r, "}, {v:", $r, "}, [{p}]"),
                concat!("cmp {v:", $r, "}, ", $i),
                "b.lt {below_zero}",
                "b.eq {zero}",
                p = in(reg) $counter.as_ptr(),
                $($operand = in(reg) $value,)?
                v = inout(reg) $add => _,
                below_zero = label { return fault_of_sub::<$word>($counter, Location::caller()) },
                zero = label $zero,
                options(nostack),
            );
        }
    };
}

macro_rules! exchange {
    ($name:literal, $r:literal, $counter:ident, $old:ident, $new:ident) => {{
        let found;
        // SAFETY: as in `sub_and_test!`.
        unsafe {
            asm!(
                ".arch_extension lse",
                concat!($name, " {v:", $r, "}, {new:", $r, "}, [{p}]"),
                p = in(reg) $counter.as_ptr(),
                v = inout(reg) $old => found,
                new = in(reg) $new,
                options(nostack, preserves_flags),
            );
        }
        found
    }};
}

macro_rules! lse {
    ($word:ty, $atomic:ty, $r:literal) => {
        impl Backend<$word> for Lse {
            const NAME: &'static str = "lse";
        }

        impl sealed::Backend<$word> for Lse {
            #[inline(always)]
            #[track_caller]
            fn add(counter: &$atomic, i: $word) {
                // SAFETY: as in `sub_and_test!`.
                unsafe {
                    asm!(
                        ".arch_extension lse",
                        concat!("ldadd {i:", $r, "}, {old:", $r, "}, [{p}]"),
                        concat!("cmn {old:", $r, "}, {i:", $r, "}"),
                        concat!("ccmp {old:", $r, "}, #0, #4, pl"),
                        "b.le {out_of_range}",
                        p = in(reg) counter.as_ptr(),
                        i = in(reg) i,
                        old = out(reg) _,
                        out_of_range = label {
                            fault_of_add::<$word>(counter, <$word as Word>::MAX - i, Location::caller(), 0);
                        },
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            #[track_caller]
            fn dec(counter: &$atomic) {
                // SAFETY: as in `sub_and_test!`.
                unsafe {
                    asm!(
                        ".arch_extension lse",
                        concat!("ldaddl {v:", $r, "}, {v:", $r, "}, [{p}]"),
                        concat!("cmp {v:", $r, "}, #1"),
                        "b.le {nothing_left}",
                        p = in(reg) counter.as_ptr(),
                        v = inout(reg) <$word>::MAX => _,
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
                }, "#1", <$word>::MAX);
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
                }, concat!("{i:", $r, "}"), i.wrapping_neg(), i = i);
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
                    Ordering::Relaxed => exchange!("cas", $r, counter, old, new),
                    Ordering::Acquire => exchange!("casa", $r, counter, old, new),
                    Ordering::Release => exchange!("casl", $r, counter, old, new),
                    Ordering::AcqRel => exchange!("casal", $r, counter, old, new),
                    _ => exchange!("casal", $r, counter, old, new),
                };
                if found == old { Ok(found) } else { Err(found) }
            }
        }
    };
}

lse!(u32, core::sync::atomic::AtomicU32, "w");
lse!(u64, core::sync::atomic::AtomicU64, "x");
