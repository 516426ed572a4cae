//! The statements of the read-write lock's word that the language has no operation for, or none that
//! is as short.
//!
//! On x86-64 a reader that enters or leaves wants to know one thing, and the flags tell it; the
//! writer's byte is exchanged and stored apart from the rest. On aarch64 the atomics of the language
//! would be calls in builds that may run with and without the newer instructions. What each does to
//! the word stands at its caller in `rw_word.rs`, beside the portable form, which is what models run.

use core::arch::asm;

use crate::rw_word::{BIAS, READER, SLEEPING, WRITER};
use crate::sync::AtomicU32;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::*;

    /// The rest of a free word, and the free byte of the queue's lock above it.
    const FREE_REST: u32 = BIAS >> 8;

    #[inline(always)]
    pub(crate) fn add_reader(word: &AtomicU32) -> bool {
        // SAFETY: one locked instruction on the word, which is borrowed. No stack is used, and memory
        // and flags are taken as changed.
        unsafe {
            asm!(
                "lock add dword ptr [{word}], {reader}",
                "js {closed}",
                "jnp {closed}",
                word = in(reg) word.as_ptr(),
                reader = const READER,
                closed = label {
                    unlikely::cold_path();
                    return false;
                },
                options(nostack),
            );
        }
        true
    }

    #[inline(always)]
    pub(crate) fn sub_reader(word: &AtomicU32) {
        // SAFETY: as in `add_reader`.
        unsafe {
            asm!("lock sub dword ptr [{word}], {reader}",
                word = in(reg) word.as_ptr(), reader = const READER, options(nostack));
        }
    }

    #[inline(always)]
    pub(crate) fn sub_reader_claimed(word: &AtomicU32) -> bool {
        // SAFETY: as in `add_reader`.
        unsafe {
            asm!(
                "lock sub dword ptr [{word}], {reader}",
                "js {claimed}",
                word = in(reg) word.as_ptr(),
                reader = const READER,
                claimed = label {
                    unlikely::cold_path();
                    return true;
                },
                options(nostack),
            );
        }
        false
    }

    /// One load of the word's three upper bytes and of the lowest byte of the queue's lock, which is 0
    /// unless somebody is the head of the queue.
    #[inline(always)]
    pub(crate) fn rest_is_free(word: &AtomicU32) -> bool {
        // SAFETY: reads four of the eight bytes of a `QueuedRw`, which is borrowed. They lie within
        // eight aligned bytes, so that the load is one.
        unsafe {
            asm!(
                "cmp dword ptr [{word} + 1], {free}",
                "jne {taken}",
                word = in(reg) word.as_ptr(),
                free = const FREE_REST,
                taken = label {
                    unlikely::cold_path();
                    return false;
                },
                options(nostack, readonly),
            );
        }
        true
    }

    #[inline(always)]
    pub(crate) fn is_written(word: &AtomicU32) -> bool {
        let writer: u32;
        // SAFETY: reads the first byte of the word, which is borrowed.
        unsafe {
            asm!("movzx {writer:e}, byte ptr [{word}]",
                word = in(reg) word.as_ptr(), writer = lateout(reg) writer,
                options(nostack, preserves_flags, readonly));
        }
        writer != 0
    }

    #[inline(always)]
    pub(crate) fn exchange_writer(word: &AtomicU32) -> bool {
        // SAFETY: compares and exchanges the first byte of the word, which is borrowed. With a lock prefix
        // it is atomic, acquires, and is done before the look that follows.
        unsafe {
            asm!("lock cmpxchg byte ptr [{word}], {writer}",
                "jne {held}",
                word = in(reg) word.as_ptr(), writer = in(reg_byte) WRITER as u8,
                inout("al") 0_u8 => _,
                held = label { return false },
                options(nostack));
        }
        true
    }

    #[inline(always)]
    pub(crate) fn unlock_write(word: &AtomicU32) {
        // SAFETY: writes the first byte of the word, which is borrowed; every store of x86-64
        // releases.
        unsafe {
            asm!("mov byte ptr [{word}], 0", word = in(reg) word.as_ptr(),
                options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub(crate) fn unlock_write_sleeping(word: &AtomicU32) -> bool {
        // SAFETY: writes the first byte of the word, which is borrowed, and reads the second, which
        // the bias leaves as it is.
        unsafe {
            asm!(
                "mov byte ptr [{word}], 0",
                "test byte ptr [{word} + 1], {sleeping}",
                "jnz {asleep}",
                word = in(reg) word.as_ptr(),
                sleeping = const SLEEPING >> 8,
                asleep = label {
                    unlikely::cold_path();
                    return true;
                },
                options(nostack),
            );
        }
        false
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::*;
    use crate::rw_word::{WAITING, admits};

    const _: () = assert!(BIAS == 0);

    #[inline(always)]
    pub(crate) fn add_reader(word: &AtomicU32) -> bool {
        let seen: u32;
        // SAFETY: adds to the word, which is borrowed, and acquires. The build is for CPUs that have
        // the instruction.
        #[cfg(target_feature = "lse")]
        unsafe {
            asm!("ldadda {reader:w}, {seen:w}, [{word}]",
                word = in(reg) word.as_ptr(), reader = in(reg) READER, seen = lateout(reg) seen,
                options(nostack, preserves_flags));
        }
        // SAFETY: adds to the word, which is borrowed, again if somebody wrote in between; acquires.
        #[cfg(not(target_feature = "lse"))]
        unsafe {
            asm!(
                "2: ldaxr {seen:w}, [{word}]",
                "add {new:w}, {seen:w}, #{reader}",
                "stxr {lost:w}, {new:w}, [{word}]",
                "cbnz {lost:w}, 2b",
                word = in(reg) word.as_ptr(), reader = const READER,
                seen = out(reg) seen, new = out(reg) _, lost = out(reg) _,
                options(nostack, preserves_flags));
        }
        unlikely::likely!(admits(seen))
    }

    /// Subtracts a reader and releases; what the word was before.
    #[inline(always)]
    fn less(word: &AtomicU32) -> u32 {
        let seen: u32;
        // SAFETY: as in `add_reader`, but releases.
        #[cfg(target_feature = "lse")]
        unsafe {
            asm!("ldaddl {reader:w}, {seen:w}, [{word}]",
                word = in(reg) word.as_ptr(), reader = in(reg) READER.wrapping_neg(),
                seen = lateout(reg) seen, options(nostack, preserves_flags));
        }
        // SAFETY: as in `add_reader`, but releases.
        #[cfg(not(target_feature = "lse"))]
        unsafe {
            asm!(
                "2: ldxr {seen:w}, [{word}]",
                "sub {new:w}, {seen:w}, #{reader}",
                "stlxr {lost:w}, {new:w}, [{word}]",
                "cbnz {lost:w}, 2b",
                word = in(reg) word.as_ptr(), reader = const READER,
                seen = out(reg) seen, new = out(reg) _, lost = out(reg) _,
                options(nostack, preserves_flags));
        }
        seen
    }

    #[inline(always)]
    pub(crate) fn sub_reader(word: &AtomicU32) {
        less(word);
    }

    #[inline(always)]
    pub(crate) fn sub_reader_claimed(word: &AtomicU32) -> bool {
        unlikely::unlikely!(less(word) & WAITING != 0)
    }

    #[inline(always)]
    pub(crate) fn take_write(word: &AtomicU32) -> bool {
        // SAFETY: makes the word, which is borrowed, a writer's if it is 0, and acquires. The build is
        // for CPUs that have the instruction.
        #[cfg(target_feature = "lse")]
        unsafe {
            asm!(
                "casa {seen:w}, {writer:w}, [{word}]",
                "cbnz {seen:w}, {taken}",
                word = in(reg) word.as_ptr(), writer = in(reg) WRITER,
                seen = inout(reg) 0_u32 => _,
                taken = label {
                    unlikely::cold_path();
                    return false;
                },
                options(nostack, preserves_flags));
        }
        // SAFETY: makes the word, which is borrowed, a writer's if it is 0, and looks again if somebody
        // wrote in between; acquires.
        #[cfg(not(target_feature = "lse"))]
        unsafe {
            asm!(
                "2: ldaxr {seen:w}, [{word}]",
                "cbnz {seen:w}, {taken}",
                "stxr {seen:w}, {writer:w}, [{word}]",
                "cbnz {seen:w}, 2b",
                word = in(reg) word.as_ptr(), writer = in(reg) WRITER, seen = out(reg) _,
                taken = label {
                    unlikely::cold_path();
                    return false;
                },
                options(nostack, preserves_flags));
        }
        true
    }

    #[inline(always)]
    pub(crate) fn unlock_write(word: &AtomicU32) {
        // SAFETY: writes the first byte of the word, which is borrowed, and releases.
        unsafe {
            asm!("stlrb wzr, [{word}]", word = in(reg) word.as_ptr(),
                options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub(crate) fn unlock_write_sleeping(word: &AtomicU32) -> bool {
        let kind: u32;
        // SAFETY: writes the first byte of the word, which is borrowed, and releases; reads the
        // second.
        unsafe {
            asm!("stlrb wzr, [{word}]", "ldrb {kind:w}, [{word}, #1]",
                word = in(reg) word.as_ptr(), kind = lateout(reg) kind,
                options(nostack, preserves_flags));
        }
        unlikely::unlikely!(kind & (SLEEPING >> 8) != 0)
    }
}
