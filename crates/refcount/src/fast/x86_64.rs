//! x86-64.
//!
//! The instruction that writes says by its flags what came of it, and all that is left is a jump. The
//! one thing that no flag tells is an increment from zero: one is a count like any other. So zero is
//! not left there. Whoever drops the last reference marks the object as dead by a negative count, and
//! from there an increment is out of range by its sign, as one beyond the greatest count is:
//!
//! ```text
//!   MAX ── inc ──► negative: saturated        ("js" after "lock inc")
//!    ▲
//!    │ inc, dec
//!    ▼
//!    1 ── dec_and_test ──► 0 ── cmpxchg ──► DEAD, the caller's to free
//!                          │                  └── inc ──► negative: saturated
//!                          └── inc by somebody without a reference ──► 1
//!                                   the exchange finds it: saturated, and nobody frees
//! ```
//!
//! The exchange is paid once in an object's life, and finds what a check at the increment would have
//! found: an object that was taken up between its last drop and its mark, and is still held, is leaked
//! and not freed. Who takes it up and drops it again in that time is told that it was the last, and the
//! other that it was not. Two faults at once can undo each other's first half: a drop too many leaves 0
//! or −1 for the instant until it stores `SATURATED`, from where an increment is not told by its sign.
//!
//! Zero is seen before it is marked, so the counter is written once more after it reads as 0: only
//! `true` of the drop hands the object over. A latch, whose waiters read 0 and go on, takes another
//! backend.
//!
//! `lock xadd`, which has the old value to check, costs about 4 % more than `lock inc` on the machine that
//! this was measured on, whatever is done with the value; Linux's `rcuref` marks its dead for the same
//! reason. An addition of any number has to look at the old value all the same, since it may step over
//! the whole negative half.

use core::arch::asm;
use core::panic::Location;

use crate::backend::{Backend, mark_dead, sealed};
use crate::report::{Kind, fault, fault_of_add, fault_of_sub};
use crate::word::{Sealed, Word};

/// Flags and a branch out of line.
pub enum Fast {}

macro_rules! fast {
    ($word:ty, $atomic:ty, $size:literal, $register:literal) => {
        impl Backend<$word> for Fast {
            const NAME: &'static str = "fast";
        }

        impl sealed::Backend<$word> for Fast {
            const ZERO: $word = <$word as Sealed>::DEAD;

            #[inline(always)]
            #[track_caller]
            fn inc(counter: &$atomic) {
                // SAFETY: the pointer is to a live atomic, changed by one locked instruction; no stack
                // is used, and memory and flags are taken as changed.
                unsafe {
                    asm!(
                        concat!("lock inc ", $size, " ptr [{p}]"),
                        "js {out_of_range}",
                        p = in(reg) counter.as_ptr(),
                        out_of_range = label {
                            let room = <$word as Word>::MAX - 1;
                            fault_of_add::<$word>(counter, room, Location::caller(), <$word as Sealed>::DEAD);
                        },
                        options(nostack),
                    );
                }
            }

            #[inline(always)]
            #[track_caller]
            fn add(counter: &$atomic, i: $word) {
                let room = <$word as Word>::MAX - i;
                // SAFETY: as in `inc`.
                unsafe {
                    asm!(
                        concat!("lock xadd ", $size, " ptr [{p}], {v:", $register, "}"),
                        concat!("dec {v:", $register, "}"),
                        concat!("cmp {v:", $register, "}, {room:", $register, "}"),
                        "jae {out_of_range}",
                        p = in(reg) counter.as_ptr(),
                        v = inout(reg) i => _,
                        room = in(reg) room,
                        out_of_range = label {
                            fault_of_add::<$word>(
                                counter,
                                room,
                                Location::caller(), <$word as Sealed>::DEAD);
                        },
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
                            return mark_dead::<$word>(counter, Location::caller());
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
                            if unlikely::unlikely!(i == 0) {
                                return fault_of_sub::<$word>(counter, Location::caller());
                            }
                            return mark_dead::<$word>(counter, Location::caller());
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

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU32;

    /// Between its last drop and its mark the object was taken up, dropped once more, or both.
    #[test]
    fn an_object_that_did_not_stay_dead_is_not_freed() {
        for meanwhile in [1, 2, u32::MAX, <u32 as Word>::SATURATED, <u32 as Sealed>::DEAD] {
            let counter = AtomicU32::new(meanwhile);
            assert!(!mark_dead::<u32>(&counter, Location::caller()), "{meanwhile:#x}");
            // What was dropped again meanwhile is somebody else's to free: it is not written to.
            let dropped_again = meanwhile == <u32 as Sealed>::DEAD;
            let left = if dropped_again { meanwhile } else { <u32 as Word>::SATURATED };
            assert_eq!(counter.into_inner(), left, "{meanwhile:#x}");
        }
        let counter = AtomicU32::new(0);
        assert!(mark_dead::<u32>(&counter, Location::caller()));
        assert_eq!(counter.into_inner(), <u32 as Sealed>::DEAD);
    }
}
