//! Unlocking where waiters park, and a call that costs its caller no register.
//!
//! Natively an unlock is a store. The paravirtual unlock also looks whether somebody sleeps, which almost
//! never is. An ordinary call for that would make the compiler keep everything across the unlock in
//! memory or in the few registers that calls preserve, at every unlock, for a call that is hardly
//! ever made. So on x86-64 the call is out of line, behind a jump that is not taken, to a thunk that
//! preserves all general registers.

use crate::raw::{Queued, SpinCopies};
use crate::rw_copies::RwCopies;
use crate::rw_raw::QueuedRw;
#[cfg(not(all(lock_asm, target_arch = "x86_64")))]
use crate::sync::{planted, release};

/// A lock on which somebody may sleep.
pub(crate) trait Sleeper<P> {
    /// Wakes that one, out of line.
    fn wake(&self);
}

impl<P: SpinCopies> Sleeper<P> for Queued {
    #[inline(always)]
    fn wake(&self) {
        P::wake(self);
    }
}

impl<P: RwCopies> Sleeper<P> for QueuedRw {
    #[inline(always)]
    fn wake(&self) {
        P::rw_wake(self);
    }
}

/// [`Sleeper::wake`], on x86-64 with all of the caller's registers preserved.
#[cfg(not(all(lock_asm, target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn wake_preserving<P, L: Sleeper<P>>(lock: &L) {
    unlikely::cold_path();
    lock.wake();
}

/// A store, and a branch to [`SpinCopies::wake`] if somebody sleeps.
#[cfg(not(all(lock_asm, target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn paravirt<P: SpinCopies>(lock: &Queued) {
    let sleeping = lock.word().unlock_sleeping(release!(P, RelaxedUnlock));
    if unlikely::unlikely!(sleeping) && !planted!(P, NoKickAtUnlock) {
        P::wake(lock);
    }
}
#[cfg(all(lock_asm, target_arch = "x86_64"))]
pub(crate) use x86_64::{paravirt, wake_preserving};
#[cfg(all(lock_asm, target_arch = "x86_64"))]
mod x86_64 {
    use super::*;
    use crate::word::SLEEPING;

    /// A store, and a branch to [`SpinCopies::wake`] if somebody sleeps.
    ///
    /// The store and the load after it are in this order for the thread itself, but not for others:
    /// who goes to sleep orders them by [`Platform::barrier_all`](crate::Platform::barrier_all). The load does not overlap the
    /// store, so it need not wait until the store has left the store buffer. The lock is still
    /// borrowed then, though somebody else may hold it.
    #[inline(always)]
    pub(crate) fn paravirt<P: SpinCopies>(lock: &Queued) {
        let word = lock.word().atomic().as_ptr();
        // SAFETY: writes the first byte of the word, which is borrowed, and reads the third. Every
        // store of x86-64 releases.
        unsafe {
            core::arch::asm!(
                "mov byte ptr [{word}], 0",
                "test byte ptr [{word} + 2], {sleeping}",
                "jnz {asleep}",
                word = in(reg) word,
                sleeping = const SLEEPING >> 16,
                asleep = label { wake_preserving::<P, _>(lock) },
                options(nostack),
            );
        }
    }

    /// [`Sleeper::wake`], with all of the caller's registers preserved.
    #[inline(always)]
    pub(crate) fn wake_preserving<P, L: Sleeper<P>>(lock: &L) {
        unlikely::cold_path();
        // SAFETY: the thunk takes the lock in rdi, gives back all general registers and aligns the
        // stack for what it calls. The 128 bytes below the stack pointer may be the caller's own and
        // are stepped over. Vector and mask registers, which it does not give back, are named.
        unsafe {
            core::arch::asm!(
                "lea rsp, [rsp - 128]",
                "call {thunk}",
                "lea rsp, [rsp + 128]",
                thunk = sym thunk::<P, L>,
                in("rdi") lock,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                out("xmm16") _, out("xmm17") _, out("xmm18") _, out("xmm19") _,
                out("xmm20") _, out("xmm21") _, out("xmm22") _, out("xmm23") _,
                out("xmm24") _, out("xmm25") _, out("xmm26") _, out("xmm27") _,
                out("xmm28") _, out("xmm29") _, out("xmm30") _, out("xmm31") _,
                out("k0") _, out("k1") _, out("k2") _, out("k3") _,
                out("k4") _, out("k5") _, out("k6") _, out("k7") _,
                out("mm0") _, out("mm1") _, out("mm2") _, out("mm3") _,
                out("mm4") _, out("mm5") _, out("mm6") _, out("mm7") _,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            );
        }
    }

    /// The lock in rdi, as for a C function.
    extern "C" fn wake_in_c<P, L: Sleeper<P>>(lock: &L) {
        lock.wake();
    }

    /// Calls [`Sleeper::wake`] with all general registers preserved.
    #[unsafe(naked)]
    extern "C" fn thunk<P, L: Sleeper<P>>() {
        core::arch::naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "push rax",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "push r10",
            "push r11",
            "and rsp, -16",
            "cld",
            "call {wake}",
            "lea rsp, [rbp - 72]",
            "pop r11",
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "pop rbp",
            "ret",
            wake = sym wake_in_c::<P, L>,
        )
    }

    #[cfg(all(test, lock_host))]
    mod tests {
        use super::*;
        use crate::Std;
        use crate::sync::Ordering;

        /// The registers that a call may change all hold what they held, though the wake-up makes a
        /// system call, which changes three of them.
        #[test]
        fn the_thunk_preserves_every_register() {
            let lock = Queued::new();
            lock.word().set(SLEEPING);
            let [mut rax, mut rcx, mut rdx, mut rsi] = [1_u64, 2, 3, 4];
            let [mut r8, mut r9, mut r10, mut r11] = [5_u64, 6, 7, 8];
            let mut rdi = core::ptr::from_ref(&lock);
            // SAFETY: calls the thunk as `wake` does. The operands are all general registers that a
            // call may change; those of vectors are named by the clobbers.
            unsafe {
                core::arch::asm!(
                    "call {thunk}",
                    thunk = sym thunk::<Std, Queued>,
                    inout("rax") rax, inout("rcx") rcx, inout("rdx") rdx, inout("rsi") rsi,
                    inout("r8") r8, inout("r9") r9, inout("r10") r10, inout("r11") r11,
                    inout("rdi") rdi,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                );
            }
            assert_eq!([rax, rcx, rdx, rsi, r8, r9, r10, r11], [1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(rdi, core::ptr::from_ref(&lock));
            assert_eq!(lock.word().load(Ordering::Relaxed), 0, "it ran");
        }
    }
}
