//! x86-64.
//!
//! `lock dec` sets the flags of the signed difference, so that "less" is an underflow and "equal" the
//! last reference. An addition must refuse zero too, which no flag of the sum tells from another small
//! count: it takes the old value (`lock xadd`), and the sum, made again in a register, is good exactly
//! if it is above one as a signed number. 0 gives one, a negative count gives zero or less, the greatest
//! count wraps to the least.

use core::arch::asm;
use core::panic::Location;
use core::sync::atomic::Ordering;

use crate::backend::{Backend, sealed};
use crate::report::{Kind, fault, fault_of_add, fault_of_sub};
use crate::word::fence;

/// Flags and a branch out of line.
pub enum Fast {}

macro_rules! fast {
    ($word:ty, $atomic:ty, $size:literal, $register:literal) => {
        impl Backend<$word> for Fast {
            const NAME: &'static str = "fast";
        }

        impl sealed::Backend<$word> for Fast {
            #[inline(always)]
            #[track_caller]
            fn inc(counter: &$atomic) {
                // SAFETY: the pointer is to a live atomic, changed by one locked instruction; no stack
                // is used, and memory and flags are taken as changed.
                unsafe {
                    asm!(
                        concat!("lock xadd ", $size, " ptr [{p}], {v:", $register, "}"),
                        concat!("inc {v:", $register, "}"),
                        concat!("cmp {v:", $register, "}, 1"),
                        "jle {out_of_range}",
                        p = in(reg) counter.as_ptr(),
                        v = inout(reg) 1 as $word => _,
                        out_of_range = label { fault_of_add::<$word>(counter, Location::caller()) },
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            #[track_caller]
            fn add(counter: &$atomic, i: $word) {
                // SAFETY: as in `inc`.
                unsafe {
                    asm!(
                        concat!("lock xadd ", $size, " ptr [{p}], {v:", $register, "}"),
                        concat!("dec {v:", $register, "}"),
                        concat!("cmp {v:", $register, "}, {room:", $register, "}"),
                        "jae {out_of_range}",
                        p = in(reg) counter.as_ptr(),
                        v = inout(reg) i => _,
                        room = in(reg) <$word as crate::Word>::MAX - i,
                        out_of_range = label { fault_of_add::<$word>(counter, Location::caller()) },
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            #[track_caller]
            fn dec_and_test(counter: &$atomic) -> bool {
                // SAFETY: as in `inc`.
                unsafe {
                    asm!(
                        concat!("lock dec ", $size, " ptr [{p}]"),
                        "jl {below_zero}",
                        "je {last}",
                        p = in(reg) counter.as_ptr(),
                        below_zero = label {
                            return fault_of_sub::<$word>(counter, Location::caller());
                        },
                        last = label {
                            fence(Ordering::Acquire);
                            return true;
                        },
                        options(nostack),
                    );
                }
                false
            }

            #[inline(always)]
            #[track_caller]
            fn sub_and_test(counter: &$atomic, i: $word) -> bool {
                // SAFETY: as in `inc`.
                unsafe {
                    asm!(
                        concat!("lock sub ", $size, " ptr [{p}], {i:", $register, "}"),
                        "jl {below_zero}",
                        "je {zero}",
                        p = in(reg) counter.as_ptr(),
                        i = in(reg) i,
                        below_zero = label {
                            return fault_of_sub::<$word>(counter, Location::caller());
                        },
                        zero = label {
                            // Nothing taken from nothing is no last reference.
                            if unlikely::unlikely(i == 0) {
                                return fault_of_sub::<$word>(counter, Location::caller());
                            }
                            fence(Ordering::Acquire);
                            return true;
                        },
                        options(nostack),
                    );
                }
                false
            }

            #[inline(always)]
            #[track_caller]
            fn dec(counter: &$atomic) {
                // SAFETY: as in `inc`.
                unsafe {
                    asm!(
                        concat!("lock dec ", $size, " ptr [{p}]"),
                        "jle {nothing_left}",
                        p = in(reg) counter.as_ptr(),
                        nothing_left = label {
                            fault::<$word>(counter, Kind::DecLeak, Location::caller());
                        },
                        options(nostack),
                    );
                }
            }
        }
    };
}

fast!(u32, core::sync::atomic::AtomicU32, "dword", "e");
fast!(u64, core::sync::atomic::AtomicU64, "qword", "r");
