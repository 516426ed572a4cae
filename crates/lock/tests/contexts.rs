//! What each context keeps out, and for how long. A thread is a CPU, its signals are interrupts.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
#![expect(unsafe_code, reason = "installs a signal handler")]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use lock::{
    Flags, InContext, IrqSave, Nodes, Plain, Platform, Queued, RawMutex, RawRwLock, SpinLock, Std,
};
use refcount::RefCount;

static CAUGHT: SpinLock<u32, Std> = SpinLock::new(0);
thread_local! {
    static HERE: AtomicU32 = const { AtomicU32::new(0) };
}

extern "C" fn handler(_: libc::c_int) {
    // A lock that the interrupted code may hold only with interrupts off.
    *CAUGHT.lock_irqsave() += 1;
    HERE.with(|here| here.fetch_add(1, Ordering::Relaxed));
}

/// Interrupts this thread; how many interrupts it has had since it started.
fn interrupt() -> u32 {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the handler uses what is allowed in one: atomics, and a lock made for it.
        let before = unsafe { libc::signal(libc::SIGUSR1, handler as *const () as usize) };
        assert_ne!(before, libc::SIG_ERR);
    });
    Std::start_thread();
    // SAFETY: sends this thread a signal that has a handler.
    assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
    had()
}

fn had() -> u32 {
    HERE.with(|here| here.load(Ordering::Relaxed))
}

#[test]
fn a_plain_lock_lets_interrupts_in() {
    let lock = SpinLock::<_, Std>::new(0);
    let guard = lock.lock();
    assert_eq!(interrupt(), 1);
    drop(guard);
}

#[test]
fn interrupts_wait_until_the_guard_is_gone() {
    let guard = CAUGHT.lock_irqsave();
    assert_eq!(interrupt(), 0);
    drop(guard);
    assert_eq!(had(), 1);
    let guard = CAUGHT.lock_irq();
    assert_eq!(interrupt(), 1);
    drop(guard);
    assert_eq!(had(), 2);
}

#[test]
fn the_last_guard_lets_interrupts_in_whichever_it_is() {
    let [a, b, c] = [0; 3].map(SpinLock::<i32, Std>::new);
    let (outer, middle, inner) = (a.lock_irqsave(), b.lock_irq(), c.lock_irqsave());
    drop(outer);
    assert_eq!(interrupt(), 0);
    drop(inner);
    assert_eq!(had(), 0);
    drop(middle);
    assert_eq!(had(), 1);
}

#[test]
fn what_was_off_before_stays_off() {
    let lock = SpinLock::<_, Std>::new(0);
    let flags = Std::irq_save();
    drop(lock.lock_irqsave());
    assert_eq!(interrupt(), 0);
    Std::irq_restore(flags);
    assert_eq!(had(), 1);
}

#[test]
fn who_does_not_get_the_lock_has_no_section() {
    let lock = SpinLock::<_, Std>::new(0);
    let held = lock.lock();
    assert!(lock.try_lock_irqsave().is_none());
    assert!(lock.try_lock_irq().is_none());
    assert!(lock.try_lock_bh().is_none());
    assert!(lock.try_lock().is_none());
    assert_eq!((interrupt(), Std::bh_depth()), (1, 0));
    drop(held);
    let guard = lock.try_lock_irqsave().expect("it is free");
    assert_eq!(interrupt(), 1);
    drop(guard);
    assert_eq!(had(), 2);
}

#[test]
fn bottom_halves_are_counted() {
    let [a, b] = [0; 2].map(SpinLock::<i32, Std>::new);
    let outer = a.lock_bh();
    let inner = b.lock_bh();
    assert_eq!(Std::bh_depth(), 2);
    drop(outer);
    assert_eq!(Std::bh_depth(), 1);
    drop(inner);
    assert_eq!(Std::bh_depth(), 0);
}

#[test]
fn the_last_reference_takes_the_lock_in_its_context() {
    let lock = SpinLock::<_, Std>::new(7);
    let refs = RefCount::new(2);
    let table = InContext::<IrqSave, _, _, _>::of(&lock);
    assert!(refs.dec_and_lock(&table).is_none());
    assert!(!lock.is_locked());
    let guard = refs.dec_and_lock(&table).expect("that was the last");
    assert_eq!((*guard, lock.is_locked(), interrupt()), (7, true, 0));
    drop(guard);
    assert_eq!((lock.is_locked(), had()), (false, 1));

    let refs = RefCount::new(1);
    let guard = refs.dec_and_lock(&lock).expect("that was the last");
    assert_eq!((*guard, interrupt()), (7, 2));
}

#[test]
fn generic_code_takes_it_in_every_context() {
    let lock = lock_api::Mutex::<RawMutex<Std, IrqSave>, _>::new(1);
    let mut guard = lock.lock();
    *guard += 1;
    assert!(lock.try_lock().is_none());
    assert_eq!(interrupt(), 0);
    drop(guard);
    assert_eq!((had(), *lock.lock()), (1, 2));
    let plain = lock_api::Mutex::<RawMutex<Std, Plain>, _>::new(());
    let held = plain.lock();
    assert!(plain.is_locked());
    assert_eq!(interrupt(), 2);
    drop(held);
    assert!(!plain.is_locked());
}

#[test]
fn generic_code_reads_and_writes_in_every_context() {
    let lock = lock_api::RwLock::<RawRwLock<Std, IrqSave>, _>::new(1);
    let (one, two) = (lock.read(), lock.try_read().expect("read only"));
    assert!(lock.try_write().is_none() && lock.is_locked() && !lock.is_locked_exclusive());
    assert_eq!((*one, *two, interrupt()), (1, 1, 0));
    drop(one);
    assert_eq!(had(), 0);
    drop(two);
    assert_eq!(had(), 1);
    let mut writer = lock.write();
    *writer += 1;
    assert!(lock.is_locked_exclusive() && lock.try_read().is_none());
    assert_eq!(interrupt(), 1);
    let reader = lock_api::RwLockWriteGuard::downgrade(writer);
    assert!(lock.try_write().is_none() && !lock.is_locked_exclusive());
    assert_eq!((*reader, had()), (2, 1));
    drop(reader);
    assert_eq!(had(), 2);
    let plain = lock_api::RwLock::<RawRwLock<Std, Plain>, _>::new(());
    let held = plain.try_write().expect("free");
    assert_eq!(interrupt(), 3);
    drop(held);
    assert!(!plain.is_locked());
}

/// Numbers of threads that ended are used again; more threads than numbers wait without one.
#[test]
fn a_number_is_of_one_thread_at_a_time() {
    let mine = Std::cpu().expect("few threads");
    for _ in 0..10_000 {
        let other = std::thread::spawn(Std::cpu).join().expect("no panic").expect("few threads");
        assert_ne!(mine, other);
    }
    assert_eq!(Std::cpu(), Some(mine));
}

#[test]
fn a_lock_is_four_bytes_and_a_guard_is_a_pointer() {
    assert_eq!(size_of::<SpinLock<(), Std, Queued>>(), 4);
    assert_eq!(size_of::<lock::SpinGuard<'_, u8, Std, IrqSave>>(), size_of::<usize>());
    assert_eq!(size_of::<Nodes>(), 128);
    assert_eq!(Flags::default(), Flags(0));
}

#[test]
fn guards_are_shared() {
    fn shared<T: Sync>() {}
    shared::<lock::SpinGuard<'_, u8, Std, IrqSave>>();
    shared::<SpinLock<std::cell::Cell<u8>, Std>>();
}
