//! Which atomics this CPU has: asked once, kept in a byte.
//!
//! Both ways give the same results on the same counter, and the exclusive ones run everywhere. So
//! nothing has to be settled before the first operation: threads may ask at the same time, or go on
//! with the old answer for a while, and no ordering is needed.

use core::sync::atomic::{AtomicU8, Ordering};

use super::ll_sc::exchange_byte;

/// Nobody asked yet. Only where there is a system to ask.
const OPEN: u8 = 0;
/// Exclusive loads and stores.
const LL_SC: u8 = 1;
/// The large system extensions.
pub(super) const LSE: u8 = 2;

/// With `std` the system is asked. Without it there is nobody to ask, and the flags of the build are
/// believed until a probe says otherwise.
const INITIAL: u8 = match (cfg!(feature = "std"), cfg!(target_feature = "lse")) {
    (true, _) => OPEN,
    (false, true) => LSE,
    (false, false) => LL_SC,
};

/// The choice.
///
/// | value | meaning | who writes, relaxed |
/// |---|---|---|
/// | [`OPEN`] | nobody asked yet; exclusives run meanwhile | initial, with `std` |
/// | [`LL_SC`] | exclusive loads and stores | initial, [`set_lse_probe`], [`choose`] |
/// | [`LSE`] | large system extensions | initial for a `+lse` build, [`set_lse_probe`], [`choose`] |
///
/// `OPEN` is never written again, and [`choose`] writes over nothing else.
static CHOICE: AtomicU8 = AtomicU8::new(INITIAL);

/// The choice now.
#[inline(always)]
pub(super) fn now() -> u8 {
    CHOICE.load(Ordering::Relaxed)
}

/// Whether `choice` is still to be made; known to be false where nobody can be asked.
#[inline(always)]
pub(super) fn is_open(choice: u8) -> bool {
    INITIAL == OPEN && choice == OPEN
}

/// Calls `probe` and has its answer hold from then on: whether every CPU this program may run on has
/// LSE. With `std` on Linux, Android and where the standard library can tell, nobody needs to: the
/// first operation asks. Without `std` exclusive loads and stores are used, unless the build has
/// `target-feature=+lse`; a kernel calls this once it has read `ID_AA64ISAR0_EL1.Atomic`.
///
/// A wrong `true` is an illegal instruction at the next operation.
pub fn set_lse_probe(probe: fn() -> bool) {
    CHOICE.store(if probe() { LSE } else { LL_SC }, Ordering::Relaxed);
}

/// Whether [`Fast`](super::Fast) counts by LSE on this CPU.
#[must_use]
pub fn uses_lse() -> bool {
    if is_open(now()) {
        choose();
    }
    now() == LSE
}

/// Asks the system. A probe that was set while it was asked is not overruled.
pub(super) fn choose() {
    let choice = if system_has_lse() { LSE } else { LL_SC };
    exchange_byte(&CHOICE, OPEN, choice);
}

/// The kernel's answer, from the auxiliary vector: entry 16, `AT_HWCAP`, whose bit 8 is
/// `HWCAP_ATOMICS` (Linux, `arch/arm64/include/uapi/asm/hwcap.h`). The standard library's macro is no
/// use here: in a build for `+lse` it says `true` without asking.
#[cfg(all(feature = "std", any(target_os = "linux", target_os = "android")))]
fn system_has_lse() -> bool {
    use core::ffi::c_ulong;
    unsafe extern "C" {
        /// Part of every C library that `std` links to there.
        safe fn getauxval(kind: c_ulong) -> c_ulong;
    }
    const AT_HWCAP: c_ulong = 16;
    const HWCAP_ATOMICS: c_ulong = 1 << 8;
    getauxval(AT_HWCAP) & HWCAP_ATOMICS != 0
}

#[cfg(all(feature = "std", not(any(target_os = "linux", target_os = "android"))))]
fn system_has_lse() -> bool {
    std::arch::is_aarch64_feature_detected!("lse")
}

#[cfg(not(feature = "std"))]
fn system_has_lse() -> bool {
    INITIAL == LSE
}
