//! A watched lock reports each mistake, at any timing, and nothing else.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
#![expect(unsafe_code, reason = "frees a lock that is not held")]

use std::cell::Cell;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use lock::{
    Checked, Class, Cpu, Flags, IrqSections, Level, Mistake, Nodes, Platform, Queued, QueuedRw,
    RawRw, RawSpin, Report, RwLock, RwPlatform, SpinLock, Std, rearm, set_handler,
};

type Watched<T> = SpinLock<T, Std, Checked<Queued>>;

type WatchedRw<T> = RwLock<T, Std, Checked<QueuedRw>>;

static TURN: Mutex<()> = Mutex::new(());
static REPORTS: Mutex<Vec<Report>> = Mutex::new(Vec::new());

/// The standard platform, with bottom halves.
struct Softirqs;

thread_local! {
    static IN_BOTTOM_HALF: Cell<bool> = const { Cell::new(false) };
}

impl Softirqs {
    fn bottom_half(f: impl FnOnce()) {
        IN_BOTTOM_HALF.set(true);
        f();
        IN_BOTTOM_HALF.set(false);
    }
}

// SAFETY: as the standard platform has it; a bottom half runs when it is called.
unsafe impl Platform for Softirqs {
    const PARAVIRT: bool = false;

    fn cpu() -> Option<Cpu> {
        Std::cpu()
    }
    fn nodes(cpu: Cpu) -> &'static Nodes {
        Std::nodes(cpu)
    }
    fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R {
        Std::with_irq_sections(f)
    }
    fn preempt_disable() {}
    fn preempt_enable() {}
    fn bh_disable() {
        Std::bh_disable();
    }
    fn bh_enable() {
        Std::bh_enable();
    }
    fn bh_is_off() -> bool {
        Std::bh_is_off()
    }
    fn irq_save() -> Flags {
        Std::irq_save()
    }
    fn irq_restore(flags: Flags) {
        Std::irq_restore(flags);
    }
    fn level() -> Level {
        if IN_BOTTOM_HALF.get() { Level::BottomHalf } else { Level::Task }
    }
    fn relax() {
        Std::relax();
    }
    fn wait(_: &AtomicU32, _: u32) {}
    fn kick(_: &AtomicU32) {}
    fn barrier_all() {}
}

impl RwPlatform for Softirqs {
    fn in_interrupt() -> bool {
        IN_BOTTOM_HALF.get()
    }
}

lock::spin_copies!(Softirqs);
lock::rw_copies!(Softirqs);

/// Tests share the handler: one at a time.
fn turn() -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    set_handler(|report| REPORTS.lock().expect("never poisoned").push(*report));
    rearm();
    reports();
    turn
}

fn reports() -> Vec<Report> {
    std::mem::take(&mut REPORTS.lock().expect("never poisoned"))
}

fn of(class: &'static Class) -> Watched<u32> {
    SpinLock::with_raw(0, Checked::new(Queued::new(), Some(class)))
}

#[test]
fn both_orders_are_one_too_many() {
    let _turn = turn();
    static A: Class = Class::new("a");
    static B: Class = Class::new("b");
    static C: Class = Class::new("c");
    let [a, b, c] = [&A, &B, &C].map(of);
    let (_, _) = (a.lock(), b.lock());
    drop((b.lock(), c.lock()));
    // Another of the same class, and one that is only tried, say nothing about the order.
    drop((of(&C).lock(), c.lock()));
    drop((c.lock(), a.try_lock()));
    assert!(reports().is_empty());
    let line = line!() + 1;
    drop((c.lock(), a.lock()));
    let [report] = reports()[..] else { panic!("one report") };
    assert_eq!((report.mistake, report.class, report.held), (Mistake::Order, Some("a"), Some("c")));
    assert_eq!((report.location.file(), report.location.line()), (file!(), line));
    let text = report.to_string();
    assert!(text.contains("(a): taken while holding c"), "{text}");
    // Once per kind.
    drop((c.lock(), a.lock()));
    assert!(reports().is_empty());
}

#[test]
fn a_guard_that_is_dropped_first_is_not_held() {
    let _turn = turn();
    static A: Class = Class::new("first");
    static B: Class = Class::new("second");
    let [a, b] = [&A, &B].map(of);
    let (outer, inner) = (a.lock(), b.lock());
    drop(outer);
    drop(inner);
    let held = b.lock();
    drop(held);
    drop(a.lock());
    assert!(reports().is_empty());
}

#[test]
fn an_interrupt_must_be_kept_out_everywhere_else() {
    let _turn = turn();
    let lock = Watched::<u32>::new(0);
    drop(lock.lock_irqsave());
    Std::interrupt(|| drop(lock.lock_irqsave()));
    drop(lock.lock_irq());
    assert!(reports().is_empty());
    drop(lock.lock_bh());
    let [report] = reports()[..] else { panic!("one report") };
    assert_eq!(report.mistake, Mistake::WrongContext);
    // Within a section of another lock interrupts are out already.
    rearm();
    let other = Watched::<u32>::new(0);
    Std::interrupt(|| drop(other.lock()));
    let section = SpinLock::<u32, Std>::new(0);
    let section = section.lock_irqsave();
    drop(other.lock());
    drop(section);
    assert!(reports().is_empty());
    drop(other.lock());
    assert_eq!(reports().len(), 1);
}

/// What interrupts take by trying only may be taken with interrupts on: if it is held by what they
/// interrupted, they go on without.
#[test]
fn an_interrupt_that_only_tries_waits_for_nobody() {
    let _turn = turn();
    let lock = Watched::<u32>::new(0);
    Std::interrupt(|| drop(lock.try_lock()));
    let held = lock.lock();
    Std::interrupt(|| assert!(lock.try_lock_irqsave().is_none()));
    drop(held);
    let rw = WatchedRw::<u32>::new(0);
    Std::interrupt(|| drop((rw.try_read(), rw.try_write())));
    let held = rw.write();
    Std::interrupt(|| assert!(rw.try_read().is_none() && rw.try_write().is_none()));
    drop(held);
    let held = rw.read();
    Std::interrupt(|| assert!(rw.try_write().is_none()));
    drop(held);
    assert_eq!(mistakes(), []);
    // Who tries with interrupts on, and gets it, can be interrupted by one who waits.
    Std::interrupt(|| drop(lock.lock()));
    assert_eq!(mistakes(), [Mistake::WrongContext]);
    let lock = Watched::<u32>::new(0);
    Std::interrupt(|| drop(lock.lock()));
    drop(lock.try_lock());
    assert_eq!(mistakes(), [Mistake::WrongContext]);
}

/// Within a section that keeps bottom halves out, whoever began it, a plain lock keeps them out too.
#[test]
fn a_section_of_another_lock_keeps_bottom_halves_out() {
    let _turn = turn();
    let inner = SpinLock::<u32, Softirqs, Checked<Queued>>::new(0);
    let rw = RwLock::<u32, Softirqs, Checked<QueuedRw>>::new(0);
    let outer = SpinLock::<u32, Softirqs, Queued>::new(0);
    Softirqs::bottom_half(|| drop((inner.lock(), rw.write())));
    let section = outer.lock_bh();
    drop((inner.lock(), rw.read()));
    drop(section);
    assert_eq!(mistakes(), []);
    drop(inner.lock());
    assert_eq!(mistakes(), [Mistake::WrongContext]);
    drop(rw.read());
    assert_eq!(mistakes(), [Mistake::WrongContext]);
    // A bottom half that only tries waits for nobody either, but an interrupt may wait for it.
    let tried = SpinLock::<u32, Softirqs, Checked<Queued>>::new(0);
    Softirqs::bottom_half(|| drop(tried.try_lock_irqsave()));
    drop(tried.lock_irqsave());
    drop(tried.lock_irq());
    let section = outer.lock_irqsave();
    drop(tried.lock());
    drop(section);
    drop(tried.lock());
    assert_eq!(mistakes(), []);
}

/// To show a lock is no mistake, whoever holds it.
#[test]
fn a_lock_that_is_held_can_be_shown() {
    let _turn = turn();
    let (spin, rw) = (Watched::<u32>::new(7), WatchedRw::<u32>::new(7));
    let held = (spin.lock(), rw.write());
    assert!(format!("{spin:?} {rw:?}").matches("<locked>").count() == 2);
    drop(held);
    let reads = rw.read();
    assert!(format!("{spin:?} {rw:?}").matches('7').count() == 2);
    drop(reads);
    Std::interrupt(|| format!("{spin:?} {rw:?}"));
    drop((spin.lock(), rw.write()));
    assert_eq!(mistakes(), []);
}

#[test]
fn a_cpu_that_takes_its_own_lock_is_reported_before_it_waits() {
    let _turn = turn();
    let lock = Watched::<u32>::new(0);
    let held = lock.lock();
    assert!(lock.try_lock().is_none());
    let [report] = reports()[..] else { panic!("one report") };
    assert_eq!(report.mistake, Mistake::Recursion);
    rearm();
    thread::scope(|scope| {
        scope.spawn(|| assert!(lock.try_lock().is_none()));
    });
    assert!(reports().is_empty());
    drop(held);
    drop(lock.lock());
    assert!(reports().is_empty());
}

#[test]
fn a_lock_that_is_not_held_stays_as_it_is() {
    let _turn = turn();
    let lock = Checked::new(Queued::new(), None);
    RawSpin::<Std>::lock(&lock);
    thread::scope(|scope| {
        // SAFETY: not so; the lock is there to see that, and does nothing.
        scope.spawn(|| unsafe { RawSpin::<Std>::unlock(&lock) });
    });
    assert!(RawSpin::<Std>::is_locked(&lock));
    assert_eq!(reports().iter().map(|r| r.mistake).collect::<Vec<_>>(), [Mistake::Unlock]);
    rearm();
    // SAFETY: locked above.
    unsafe { RawSpin::<Std>::unlock(&lock) };
    assert!(reports().is_empty());
    // SAFETY: as above.
    unsafe { RawSpin::<Std>::unlock(&lock) };
    assert!(!RawSpin::<Std>::is_locked(&lock));
    assert_eq!(reports().iter().map(|r| r.mistake).collect::<Vec<_>>(), [Mistake::Unlock]);
}

/// What is wrong is found before the lock is waited for, and a handler that panics then leaves neither a
/// lock nor a section behind.
#[test]
fn a_handler_may_panic() {
    let _turn = turn();
    static A: Class = Class::new("panics first");
    static B: Class = Class::new("panics second");
    let [a, b] = [&A, &B].map(of);
    drop((a.lock(), b.lock()));
    let own = Watched::<u32>::new(0);
    let wrong: [&dyn Fn(); 4] = [
        &|| drop((b.lock(), a.lock_bh())),
        &|| drop((b.lock(), a.lock_irqsave())),
        &|| drop((own.lock(), own.try_lock_in::<lock::Bh>())),
        &|| drop((own.lock(), own.try_lock_irqsave())),
    ];
    for wrong in wrong {
        set_handler(|report| panic!("{report}"));
        rearm();
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(wrong)).is_err());
        assert_eq!((Std::bh_depth(), Std::with_irq_sections(lock::IrqSections::depth)), (0, 0));
        assert!(![&a, &b, &own].into_iter().any(SpinLock::is_locked));
    }
}

/// The mistakes reported since the last look, each of which may be reported again.
fn mistakes() -> Vec<Mistake> {
    rearm();
    reports().iter().map(|report| report.mistake).collect()
}

#[test]
fn reading_and_writing_have_an_order_too() {
    let _turn = turn();
    static A: Class = Class::new("read first");
    static B: Class = Class::new("read second");
    let [a, b] = [&A, &B].map(|c| WatchedRw::with_raw(0, Checked::new(QueuedRw::new(), Some(c))));
    drop((a.read(), b.write()));
    drop((b.read(), a.try_read()));
    drop((b.read(), a.try_write()));
    assert_eq!(mistakes(), []);
    let line = line!() + 1;
    drop((b.read(), a.read()));
    let [report] = reports()[..] else { panic!("one report") };
    assert_eq!((report.mistake, report.held), (Mistake::Order, Some("read second")));
    assert_eq!((report.location.file(), report.location.line()), (file!(), line));
    rearm();
    // What a writer became is held still, and then no longer.
    let reader = b.write().downgrade();
    drop(a.write());
    assert_eq!(mistakes(), [Mistake::Order]);
    drop(reader);
    drop(a.write());
    assert_eq!(mistakes(), []);
}

#[test]
fn an_interrupts_reader_must_be_kept_out_of_writing_only() {
    let _turn = turn();
    let lock = WatchedRw::<u32>::new(0);
    Std::interrupt(|| drop(lock.read()));
    drop(lock.read());
    drop(lock.write_irqsave());
    assert_eq!(mistakes(), []);
    drop(lock.write_bh());
    assert_eq!(mistakes(), [Mistake::WrongContext]);
    // An interrupt that writes must be kept out of both.
    let lock = WatchedRw::<u32>::new(0);
    Std::interrupt(|| drop(lock.write()));
    drop(lock.read_irqsave());
    drop(lock.write_irq());
    assert_eq!(mistakes(), []);
    drop(lock.read());
    assert_eq!(mistakes(), [Mistake::WrongContext]);
}

#[test]
fn a_cpu_that_waits_for_itself_is_reported_before_it_waits() {
    let _turn = turn();
    let lock = WatchedRw::<u32>::new(0);
    let reader = lock.read();
    // It is not written meanwhile; if it were, this would wait for ever.
    drop(lock.read());
    assert_eq!(mistakes(), [Mistake::Recursion]);
    assert!(lock.try_write_irqsave().is_none());
    assert_eq!(mistakes(), [Mistake::Recursion]);
    // None of these waits for this CPU.
    assert!(lock.try_read().is_some());
    Std::interrupt(|| drop(lock.read()));
    thread::scope(|scope| {
        scope.spawn(|| drop(lock.read()));
    });
    assert_eq!(mistakes(), []);
    drop(reader);
    let writer = lock.write_irqsave();
    assert!(lock.try_read().is_none());
    assert_eq!(mistakes(), [Mistake::Recursion]);
    assert!(lock.try_write_irqsave().is_none());
    assert_eq!(mistakes(), [Mistake::Recursion]);
    drop(lock.try_read_in::<lock::Bh>());
    assert_eq!((mistakes(), Std::bh_depth()), (vec![Mistake::Recursion], 0));
    let reader = writer.downgrade();
    drop(lock.try_read());
    assert_eq!(mistakes(), []);
    drop(reader);
    assert_eq!((mistakes(), lock.is_locked()), (vec![], false));
    drop(lock.write_irqsave());
    assert_eq!(mistakes(), []);
}

#[test]
fn who_neither_reads_nor_writes_ends_nothing() {
    let _turn = turn();
    let lock = Checked::new(QueuedRw::new(), None);
    RawRw::<Std>::read(&lock);
    thread::scope(|scope| {
        // SAFETY: not so; the lock is there to see that, and does nothing.
        scope.spawn(|| unsafe { RawRw::<Std>::unlock_read(&lock) });
    });
    assert_eq!((mistakes(), RawRw::<Std>::is_locked(&lock)), (vec![Mistake::Unlock], true));
    // SAFETY: as above.
    unsafe { RawRw::<Std>::unlock_write(&lock) };
    assert_eq!((mistakes(), RawRw::<Std>::is_locked(&lock)), (vec![Mistake::Unlock], true));
    // SAFETY: as above.
    unsafe { RawRw::<Std>::downgrade(&lock) };
    assert_eq!(mistakes(), [Mistake::Unlock]);
    // SAFETY: it is read.
    unsafe { RawRw::<Std>::unlock_read(&lock) };
    assert_eq!((mistakes(), RawRw::<Std>::is_locked(&lock)), (vec![], false));
    RawRw::<Std>::write(&lock);
    // SAFETY: as above.
    unsafe { RawRw::<Std>::unlock_read(&lock) };
    assert_eq!((mistakes(), RawRw::<Std>::is_written(&lock)), (vec![Mistake::Unlock], true));
    // SAFETY: it is written.
    unsafe { RawRw::<Std>::unlock_write(&lock) };
    assert_eq!((mistakes(), RawRw::<Std>::is_locked(&lock)), (vec![], false));
}

/// A CPU can be known to read sixteen times; beyond, it is trusted.
#[test]
fn a_reader_that_is_not_noted_is_trusted() {
    let _turn = turn();
    let locks = [const { WatchedRw::<u32>::new(0) }; 20];
    let all: Vec<_> = locks.iter().map(RwLock::read).collect();
    assert_eq!(mistakes(), []);
    drop(all);
    assert_eq!(mistakes(), []);
    assert!(locks.iter().all(|lock| !lock.is_locked()));
}

/// With the feature `debug`, locks whose kind is not named are watched.
#[cfg(feature = "debug")]
#[test]
fn what_is_not_named_is_watched() {
    let _turn = turn();
    let spin = SpinLock::<u32, Std>::new(0);
    let held = spin.lock();
    assert!(spin.try_lock().is_none());
    assert_eq!(mistakes(), [Mistake::Recursion]);
    drop(held);
    let lock = RwLock::<u32, Std>::new(0);
    let held = lock.write();
    assert!(lock.try_read().is_none());
    assert_eq!(mistakes(), [Mistake::Recursion]);
    drop(held);
}
