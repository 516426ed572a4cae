//! Reports: of what, when, how often, from where, and what a handler may do.

mod reporting;
mod width;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use refcount::{
    Backend, Counter, Fault, Fetch, Full, Handler, Kind, Lock, RefCount, rearm, set_handler,
};
use reporting::Turn;
use width::Width;

/// An operation that faults.
struct Faulty<B: Backend<W>, W: Width> {
    before: i128,
    operation: fn(&Counter<B, W>),
    kind: Kind,
    after: i128,
}

/// Every operation that can fault, in every way that it can.
fn faulty<B: Backend<W>, W: Width>() -> Vec<Faulty<B, W>> {
    let (max, saturated) = (<W as refcount::Word>::MAX.signed(), W::SATURATED.signed());
    let of = |before, kind, operation| Faulty { before, operation, kind, after: saturated };
    let unmoved = |before, kind, operation| Faulty { before, operation, kind, after: before };
    vec![
        of(max, Kind::AddOverflow, |c| c.inc()),
        of(max - 2, Kind::AddOverflow, |c| c.add(W::of(3))),
        of(2, Kind::AddOverflow, |c| c.add(W::of(-1))),
        of(0, Kind::AddUseAfterFree, |c| c.inc()),
        of(0, Kind::AddUseAfterFree, |c| c.add(W::of(3))),
        of(max, Kind::AddNotZeroOverflow, |c| assert!(c.inc_not_zero())),
        of(max, Kind::AddNotZeroOverflow, |c| assert!(c.inc_not_zero_acquire())),
        of(max, Kind::AddNotZeroOverflow, |c| assert!(c.inc_not_zero_limited(W::of(-1)))),
        of(max, Kind::AddNotZeroOverflow, |c| assert!(c.inc_not_zero_limited_acquire(W::of(-1)))),
        of(max - 2, Kind::AddNotZeroOverflow, |c| assert!(c.add_not_zero(W::of(3)))),
        of(max - 2, Kind::AddNotZeroOverflow, |c| assert!(c.add_not_zero_acquire(W::of(3)))),
        of(2, Kind::AddNotZeroOverflow, |c| assert!(c.add_not_zero(W::of(-1)))),
        of(-5, Kind::AddNotZeroOverflow, |c| assert!(c.add_not_zero_limited(W::of(1), W::of(9)))),
        of(0, Kind::SubUseAfterFree, |c| assert!(!c.dec_and_test())),
        of(2, Kind::SubUseAfterFree, |c| assert!(!c.sub_and_test(W::of(3)))),
        of(0, Kind::SubUseAfterFree, |c| assert!(!c.sub_and_test(W::of(0)))),
        of(2, Kind::SubUseAfterFree, |c| assert!(!c.sub_and_test(W::of(-1)))),
        of(1, Kind::DecLeak, |c| c.dec()),
        of(0, Kind::DecLeak, |c| c.dec()),
        unmoved(0, Kind::SubUseAfterFree, |c| assert!(c.dec_not_one())),
        unmoved(0, Kind::SubUseAfterFree, |c| assert!(c.dec_and_lock(&Mutex::new(())).is_none())),
        of(1, Kind::SubUseAfterFree, |c| assert!(c.dec_and_lock(&Snatcher::of(c)).is_none())),
    ]
}

/// A lock that another takes first, and drops the last reference under.
struct Snatcher<'c, B: Backend<W>, W: Width> {
    counter: &'c Counter<B, W>,
    mutex: Mutex<()>,
}

impl<'c, B: Backend<W>, W: Width> Snatcher<'c, B, W> {
    fn of(counter: &'c Counter<B, W>) -> Self {
        Self { counter, mutex: Mutex::new(()) }
    }
}

impl<B: Backend<W>, W: Width> Lock for Snatcher<'_, B, W> {
    type Guard<'a>
        = MutexGuard<'a, ()>
    where
        Self: 'a;

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.counter.set(W::ZERO);
        Lock::lock(&self.mutex)
    }
}

thread_local! {
    /// Reads the counter of the operation under way.
    static COUNT: RefCell<Option<Box<dyn Fn() -> i128>>> = const { RefCell::new(None) };
    /// What a handler read.
    static SEEN: RefCell<Vec<i128>> = const { RefCell::new(Vec::new()) };
}

fn looks(_: &Fault) {
    let count = COUNT.with_borrow(|count| count.as_ref().map(|count| count()));
    SEEN.with_borrow_mut(|seen| seen.extend(count));
}

fn panics(fault: &Fault) {
    looks(fault);
    std::panic::panic_any(fault.kind);
}

/// Makes each operation with a handler that looks at the counter, and then with one that panics too.
fn every_fault<B: Backend<W> + 'static, W: Width>() {
    let _turn = Turn::wait();
    for (handler, unwinds) in [(looks as Handler, false), (panics, true)] {
        set_handler(handler);
        for (n, Faulty { before, operation, kind, after }) in faulty::<B, W>().iter().enumerate() {
            let what = format!("{} number {n}, of {before}", B::NAME);
            rearm();
            let counter: &'static Counter<B, W> = Box::leak(Box::new(W::counter::<B>(*before)));
            COUNT.set(Some(Box::new(|| counter.read().signed())));
            let end = catch_unwind(AssertUnwindSafe(|| operation(counter)));
            assert_eq!(SEEN.take(), [*after], "seen by the handler: {what}");
            assert_eq!(counter.read().signed(), *after, "left: {what}");
            match end {
                Ok(()) => assert!(!unwinds, "did not unwind: {what}"),
                Err(panic) => assert_eq!(panic.downcast_ref::<Kind>(), Some(kind), "{what}"),
            }
        }
    }
}

macro_rules! backends {
    ($($name:ident: $backend:ty),* $(,)?) => {$(
        mod $name {
            use super::*;

            #[test]
            fn every_fault_is_stored_before_it_is_reported_and_may_unwind() {
                every_fault::<$backend, u32>();
                every_fault::<$backend, u64>();
            }
        }
    )*};
}
backends!(fetch: Fetch, full: Full, default: refcount::DefaultBackend);
#[cfg(refcount_fast)]
backends!(fast: refcount::Fast);

#[test]
fn each_kind_is_reported_once_until_rearmed() {
    let turn = Turn::wait();
    let each_twice = || {
        for Faulty { before, operation, .. } in faulty::<Fetch, u32>() {
            operation(&Counter::<Fetch, u32>::new(before as u32));
        }
        turn.faults().iter().map(|fault| fault.kind).collect::<Vec<_>>()
    };
    let all = [
        Kind::AddOverflow,
        Kind::AddUseAfterFree,
        Kind::AddNotZeroOverflow,
        Kind::SubUseAfterFree,
        Kind::DecLeak,
    ];
    assert_eq!(each_twice(), all);
    assert_eq!(each_twice(), []);
    rearm();
    assert_eq!(each_twice(), all);
}

#[test]
fn a_report_names_the_line_of_the_caller() {
    /// A wrapper that says so passes its caller on, as the counter's own methods do.
    #[track_caller]
    fn wrapper(counter: &RefCount) {
        counter.inc();
    }
    let turn = Turn::wait();
    let counter = RefCount::new(0);
    wrapper(&counter);
    let wrapped = line!() - 1;
    let counter = RefCount::new(1);
    let first = counter.dec_and_lock(&Snatcher::of(&counter)).is_some();
    let under_lock = line!() - 1;
    assert!(!first);
    let lines: Vec<_> =
        turn.faults().iter().map(|f| (f.location.file(), f.location.line())).collect();
    assert_eq!(lines, [(file!(), wrapped), (file!(), under_lock)]);
}

#[test]
fn a_lock_is_released_when_the_report_unwinds() {
    let _turn = Turn::wait();
    set_handler(panics);
    let counter = RefCount::new(1);
    let lock = Snatcher::of(&counter);
    catch_unwind(AssertUnwindSafe(|| counter.dec_and_lock(&lock).is_some())).expect_err("unwinds");
    assert!(!matches!(lock.mutex.try_lock(), Err(std::sync::TryLockError::WouldBlock)));
}

/// Says to the process that it is the one that faults.
const FAULTS: &str = "REFCOUNT_TEST_FAULTS";

/// Without a handler: one line a kind on standard error, in a process of its own.
#[test]
fn without_a_handler_there_is_one_line_a_kind() {
    if std::env::var_os(FAULTS).is_some() {
        for _ in 0..3 {
            RefCount::new(0).inc();
            RefCount::new(1).dec();
        }
        return;
    }
    let this = std::env::current_exe().expect("this test has a path");
    // What runs this test, if it is for another processor, runs it again.
    let runner = std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER");
    let runner = runner.ok().filter(|_| cfg!(target_arch = "aarch64")).unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut again = match words.next() {
        Some(program) => Command::new(program),
        None => Command::new(&this),
    };
    if !runner.is_empty() {
        again.args(words).arg(&this);
    }
    let output = again
        .args(["--exact", "without_a_handler_there_is_one_line_a_kind", "--nocapture"])
        .env(FAULTS, "1")
        .output()
        .expect("this test runs again");
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("text");
    let lines: Vec<_> = said.lines().collect();
    let [first, second] = lines[..] else { panic!("two lines expected:\n{said}") };
    let is = |line: &str, what: &str| {
        line.starts_with("refcount 0x") && line.contains(what) && line.contains("reports.rs:")
    };
    assert!(is(first, "increment of a counter that was zero; use after free"), "{first}");
    assert!(is(second, "decrement to zero where a reference had to remain"), "{second}");
}
