//! No wake-up is lost, in any interleaving.
//!
//! The wait queue is compiled a second time here, over an explorer's locks instead of the standard
//! library's; the core that sleeps in it is the real one. A lost wake-up is a caller that sleeps for
//! ever, which the explorer reports as a deadlock. That it would do so is shown with a file that
//! looks before it registers.

use std::process::Command;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use poll::{
    Clock, Deadline, Error, Events, File, Files, PollFd, Signals, System, Time, Wait, poll_until,
};

#[path = "../src/host/queue.rs"]
#[expect(unreachable_pub, reason = "the library's file, of which a part is used here")]
mod queue;
mod sync {
    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

use queue::{Registrations, WaitQueue};

/// Which comes first when a file is asked.
#[derive(Clone, Copy)]
enum Order {
    RegisterThenLook,
    /// The mistake.
    LookThenRegister,
}

/// A file that becomes ready once.
struct Flag {
    ready: Mutex<bool>,
    queue: Arc<WaitQueue>,
    order: Order,
}

impl Flag {
    fn new(order: Order) -> Self {
        Self { ready: Mutex::new(false), queue: Arc::new(WaitQueue::new()), order }
    }

    fn set(&self) {
        *self.ready.lock().expect("no test panics with it") = true;
        self.queue.wake(Events::IN);
    }

    fn look(&self) -> Events {
        let ready = *self.ready.lock().expect("no test panics with it");
        if ready { Events::IN } else { Events::NONE }
    }
}

impl File<Sleeper> for Flag {
    fn poll(&self, want: Events, waiter: Option<&mut Sleeper>) -> Events {
        let Some(waiter) = waiter else { return self.look() };
        match self.order {
            Order::RegisterThenLook => {
                waiter.0.join(&self.queue, want);
                self.look()
            }
            Order::LookThenRegister => {
                let ready = self.look();
                waiter.0.join(&self.queue, want);
                ready
            }
        }
    }
}

struct Sleeper(Registrations);

impl Wait for Sleeper {
    fn wait(&mut self, _deadline: Option<Time>) {
        self.0.park(None);
    }
}

/// A table of flags and one signal.
struct Caller {
    files: Vec<Arc<Flag>>,
    signal: Arc<AtomicBool>,
    signals: Arc<WaitQueue>,
}

impl Caller {
    fn new(files: &[&Arc<Flag>]) -> Self {
        Self {
            files: files.iter().copied().cloned().collect(),
            signal: Arc::new(AtomicBool::new(false)),
            signals: Arc::new(WaitQueue::new()),
        }
    }

    /// Waits for every file of the table, without a deadline.
    fn poll(&self) -> Result<usize, Error> {
        let mut entries: Vec<_> =
            (0..).zip(&self.files).map(|(fd, _)| PollFd::new(fd, Events::IN)).collect();
        poll_until(self, &mut entries, Deadline::Never)
    }
}

impl Files for Caller {
    type Waiter = Sleeper;
    type Ref<'a> = &'a Flag;

    fn lookup(&self, fd: u32) -> Option<&Flag> {
        self.files.get(usize::try_from(fd).ok()?).map(|file| &**file)
    }
}

impl Clock for Caller {
    fn now(&self) -> Time {
        Time(0)
    }
}

impl Signals for Caller {
    type Mask = ();

    fn pending(&self) -> bool {
        self.signal.load(Ordering::Acquire)
    }

    fn install(&self, _mask: &()) {}

    fn restore(&self, _interrupted: bool) {}
}

impl System for Caller {
    fn waiter(&self) -> Sleeper {
        let mut registrations = Registrations::new();
        registrations.join(&self.signals, Events::UNASKED);
        Sleeper(registrations)
    }

    fn descriptor_limit(&self) -> usize {
        usize::MAX
    }
}

/// Explores three threads. All their interleavings are too many; those in which a thread is stopped
/// at most three times at a point where it could have gone on find every known kind of lost wake-up.
fn three_threads(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// One thread polls a file that another makes ready.
fn one_file(order: Order) {
    let file = Arc::new(Flag::new(order));
    let writer = thread::spawn({
        let file = file.clone();
        move || file.set()
    });
    assert_eq!(Caller::new(&[&file]).poll(), Ok(1));
    assert!(file.queue.is_empty(), "who has returned waits no longer");
    writer.join().expect("the writer does not panic");
}

#[test]
fn a_file_that_becomes_ready_at_any_moment_ends_the_wait() {
    loom::model(|| one_file(Order::RegisterThenLook));
}

/// A deadlock is reported by a panic in the middle of a lock, which ends the process; so this one
/// runs itself in another.
#[test]
fn a_file_that_looks_before_it_registers_is_found_out() {
    const CHILD: &str = "POLL_TEST_LOSES_A_WAKE_UP";
    if std::env::var_os(CHILD).is_some() {
        loom::model(|| one_file(Order::LookThenRegister));
        return;
    }
    let output = Command::new(std::env::current_exe().expect("a test knows its own path"))
        .args(["--exact", "a_file_that_looks_before_it_registers_is_found_out", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("a test can run itself");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("deadlock"), "{said}");
}

#[test]
fn either_of_two_files_ends_the_wait() {
    three_threads(|| {
        let files = [(); 2].map(|()| Arc::new(Flag::new(Order::RegisterThenLook)));
        let writers = files.clone().map(|file| thread::spawn(move || file.set()));
        let found = Caller::new(&[&files[0], &files[1]]).poll();
        assert!(matches!(found, Ok(1 | 2)), "{found:?}");
        for writer in writers {
            writer.join().expect("the writer does not panic");
        }
    });
}

#[test]
fn two_callers_on_one_file_are_both_woken() {
    three_threads(|| {
        let file = Arc::new(Flag::new(Order::RegisterThenLook));
        let other = thread::spawn({
            let caller = Caller::new(&[&file]);
            move || caller.poll()
        });
        let writer = thread::spawn({
            let file = file.clone();
            move || file.set()
        });
        assert_eq!(Caller::new(&[&file]).poll(), Ok(1));
        assert_eq!(other.join().expect("the other caller does not panic"), Ok(1));
        writer.join().expect("the writer does not panic");
        assert!(file.queue.is_empty());
    });
}

#[test]
fn a_wake_up_for_nothing_does_not_swallow_the_next() {
    loom::model(|| {
        let file = Arc::new(Flag::new(Order::RegisterThenLook));
        let writer = thread::spawn({
            let file = file.clone();
            move || {
                file.queue.wake(Events::HUP);
                file.set();
            }
        });
        assert_eq!(Caller::new(&[&file]).poll(), Ok(1));
        writer.join().expect("the writer does not panic");
    });
}

#[test]
fn a_signal_at_any_moment_ends_the_wait() {
    loom::model(|| {
        let file = Arc::new(Flag::new(Order::RegisterThenLook));
        let caller = Caller::new(&[&file]);
        let killer = thread::spawn({
            let (signal, signals) = (caller.signal.clone(), caller.signals.clone());
            move || {
                signal.store(true, Ordering::Release);
                signals.wake(Events::UNASKED);
            }
        });
        assert!(matches!(caller.poll(), Err(Error::Interrupted(_))));
        killer.join().expect("the other thread does not panic");
    });
}
