//! An interrupt that cannot be masked comes between any two instructions of a section's beginning and end,
//! and tries a lock with a section of its own. Here it is the trap that the CPU takes after each
//! instruction, whose signal the standard platform does not mask.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64", not(loom)))]
#![expect(unsafe_code, reason = "installs a signal handler, and has each instruction trapped")]

use lock::{IrqSections, Platform, Queued, SpinLock, Std};

static LOCK: SpinLock<u32, Std, Queued> = SpinLock::new(0);
static TRAPS: SpinLock<u32, Std, Queued> = SpinLock::new(0);

extern "C" fn trapped(_: libc::c_int) {
    let traps = TRAPS.try_lock_irqsave();
    *traps.expect("only the trap takes it, which is not trapped itself") += 1;
}

/// The signals that are masked, one bit each.
fn masked() -> u64 {
    let mut set = 0_u64;
    // SAFETY: only asks; the set is as long as is said, and lives until it returns.
    let done = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, 0, &raw mut set, size_of::<u64>())
    };
    assert_eq!(done, 0);
    set
}

#[test]
fn a_section_ends_as_it_found_interrupts_whatever_comes_in_between() {
    // SAFETY: the action is all zero but for what is set; the handler uses a lock made for it.
    let done = unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = trapped as *const () as usize;
        // Not masked in the handler either, so that whatever is masked later is of a section.
        action.sa_flags = libc::SA_NODEFER;
        libc::sigaction(libc::SIGTRAP, &raw const action, core::ptr::null_mut())
    };
    assert_eq!(done, 0);
    let before = masked();
    // SAFETY: sets the trap flag, on the stack as the processor asks.
    unsafe { core::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let outer = LOCK.lock_irqsave();
    let inner = LOCK.try_lock_irqsave();
    drop(outer);
    // SAFETY: clears the trap flag, as it was set.
    unsafe { core::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    assert!(inner.is_none());
    assert_eq!(masked(), before);
    assert_eq!(Std::with_irq_sections(IrqSections::depth), 0);
    assert!(*TRAPS.lock_irqsave() > 20);
}
