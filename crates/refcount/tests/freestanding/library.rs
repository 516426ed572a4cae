//! A counter for C, without the standard library.
#![no_std]

use refcount::{Counter, DefaultBackend, Fault, Kind, RefCount};

/// The kind of the last fault that the handler was given, plus one.
static LAST: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

fn keep(fault: &Fault) {
    let kind = match fault.kind {
        Kind::AddNotZeroOverflow => 1,
        Kind::AddOverflow => 2,
        Kind::AddUseAfterFree => 3,
        Kind::SubUseAfterFree => 4,
        Kind::DecLeak => 5,
    };
    LAST.store(kind, core::sync::atomic::Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn count_set(refs: &RefCount, n: u32) {
    refs.set(n);
}

#[unsafe(no_mangle)]
pub extern "C" fn count_read(refs: &RefCount) -> u32 {
    refs.read()
}

#[unsafe(no_mangle)]
pub extern "C" fn count_inc(refs: &RefCount) {
    refs.inc();
}

#[unsafe(no_mangle)]
pub extern "C" fn count_dec_and_test(refs: &Counter<DefaultBackend, u32>) -> bool {
    refs.dec_and_test()
}

#[unsafe(no_mangle)]
pub extern "C" fn count_keep_faults() {
    refcount::set_handler(keep);
    refcount::rearm();
}

#[unsafe(no_mangle)]
pub extern "C" fn count_last_fault() -> u32 {
    LAST.load(core::sync::atomic::Ordering::Relaxed)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
