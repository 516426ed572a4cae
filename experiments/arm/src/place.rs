//! Where in a cache line a piece of code begins.

/// Copies of an arm that take every place there is: compilers align the heads of loops at 16 bytes,
/// and a line of the instruction cache has 64.
pub const PLACES: u32 = 4;
/// Bytes from one place to the next.
pub const PLACE_BYTES: u32 = 16;

/// Puts what follows at place `AT` of a cache line, by padding that runs once. To be called at the
/// head of a function whose loops are measured.
#[inline(always)]
pub fn place<const AT: u32>() {
    #[cfg(target_arch = "x86_64")]
    pad::<AT, 1>();
    #[cfg(target_arch = "aarch64")]
    pad::<AT, 4>();
}

/// `NOP` is the length of one `nop`, in bytes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn pad<const AT: u32, const NOP: u32>() {
    // SAFETY: the statement is alignment and `nop`: it changes no register, flag or memory. It is
    // not said to be pure or to leave memory alone, so that the compiler keeps it where it stands.
    unsafe {
        core::arch::asm!(
            ".p2align 6",
            ".rept {bytes} / {nop}",
            "nop",
            ".endr",
            bytes = const AT * PLACE_BYTES,
            nop = const NOP,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;

    /// The address of what follows the padding.
    #[inline(never)]
    fn after<const AT: u32>() -> usize {
        place::<AT>();
        let here: usize;
        // SAFETY: reads the program counter into a register.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            core::arch::asm!("lea {0}, [rip - 7]", out(reg) here, options(nostack));
            #[cfg(target_arch = "aarch64")]
            core::arch::asm!("adr {0}, .", out(reg) here, options(nostack));
        }
        here
    }

    #[test]
    fn each_copy_begins_at_its_own_place_of_a_line() {
        let line = (PLACES * PLACE_BYTES) as usize;
        let places = [after::<0>(), after::<1>(), after::<2>(), after::<3>()];
        assert_eq!(places.map(|address| address % line), [0, 16, 32, 48]);
    }
}
