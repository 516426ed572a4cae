//! Sleeping in earnest: threads that wake each other, signals, and the kernel's own sleep.
//!
//! No test sleeps for a time and then looks. Who must be asleep first is seen in the file's queue;
//! who must be woken is: a lost wake-up is a test that does not end.
#![expect(unsafe_code, reason = "real signals to a thread of this process")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use poll::host::{
    Bridge, Counter, Node, Read, SignalSet, Task, Timer, WaitQueue, Waiter, kernel_poll,
    kernel_ppoll, now, pipe,
};
use poll::{Deadline, Error, Events, InvalidTimespec, PollFd, Restart, Timespec};

/// A file that shows who waits for it.
#[derive(Default)]
struct Watched {
    ready: AtomicBool,
    queue: Arc<WaitQueue>,
}

impl Watched {
    /// Returns when so many callers have registered.
    fn await_sleepers(&self, n: usize) {
        while self.queue.len() < n {
            thread::yield_now();
        }
    }

    fn set(&self) {
        self.ready.store(true, Ordering::SeqCst);
        self.queue.wake(Events::IN);
    }
}

impl Node for Watched {
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        if let Some(waiter) = waiter {
            waiter.join(&self.queue, want);
        }
        if self.ready.load(Ordering::SeqCst) { Events::IN } else { Events::NONE }
    }
}

fn task_with(files: Vec<Arc<dyn Node>>) -> Task {
    let task = Task::new(64);
    for file in files {
        task.files.open(file).expect("room in the table");
    }
    task
}

fn entry(fd: i32) -> PollFd {
    PollFd::new(fd, Events::IN)
}

#[test]
fn another_thread_ends_the_wait_and_the_queue_is_left() {
    let file = Arc::new(Watched::default());
    let task = task_with(vec![file.clone()]);
    thread::scope(|scope| {
        scope.spawn(|| {
            file.await_sleepers(1);
            file.set();
        });
        assert_eq!(task.poll(&mut [entry(0)], -1), Ok(1));
    });
    assert!(file.queue.is_empty());
}

#[test]
fn one_event_wakes_every_caller() {
    let file = Arc::new(Watched::default());
    let task = task_with(vec![file.clone()]);
    thread::scope(|scope| {
        for _ in 0..4 {
            let sibling = task.sibling();
            scope.spawn(move || assert_eq!(sibling.poll(&mut [entry(0)], -1), Ok(1)));
        }
        file.await_sleepers(4);
        file.set();
    });
    assert!(file.queue.is_empty());
}

#[test]
fn a_wake_up_for_what_nobody_wants_is_slept_through() {
    let file = Arc::new(Watched::default());
    let task = task_with(vec![file.clone()]);
    thread::scope(|scope| {
        scope.spawn(|| {
            file.await_sleepers(1);
            file.queue.wake(Events::OUT);
            file.queue.wake(Events::HUP);
            file.set();
        });
        assert_eq!(task.poll(&mut [entry(0)], -1), Ok(1));
    });
}

#[test]
fn every_kind_of_file_wakes_who_waits_for_it() {
    let (reader, writer) = pipe(1);
    let counter = Arc::new(Counter::new(0, Read::All));
    let timer = Arc::new(Timer::new());
    let (a, b) = poll::host::socket_pair();
    let watched = Arc::new(Watched::default());
    let files: Vec<Arc<dyn Node>> =
        vec![Arc::new(reader), counter.clone(), timer.clone(), Arc::new(a), watched.clone()];
    let task = task_with(files);
    let mut writer = Some(writer);
    let changes: [(i32, &mut (dyn FnMut() + Send)); 5] = [
        (1, &mut || counter.write(1).expect("room in the counter")),
        (2, &mut || timer.set(Some(now()), 0)),
        (3, &mut || assert_eq!(b.send(b"!").expect("an open socket"), 1)),
        (0, &mut || {
            let writer = writer.as_ref().expect("still open");
            assert_eq!(writer.write(b"!").expect("room in the pipe"), 1);
        }),
        (4, &mut || watched.set()),
    ];
    for (fd, change) in changes {
        thread::scope(|scope| {
            // The watched file is last in the set: who waits for it waits for all.
            scope.spawn(|| {
                if fd != 4 {
                    watched.await_sleepers(1);
                }
                change();
            });
            let mut entries = [entry(fd), entry(4)];
            assert_eq!(task.poll(&mut entries[..if fd == 4 { 1 } else { 2 }], -1), Ok(1));
            assert_eq!(entries[0].revents, Events::IN);
        });
    }
    drop(writer.take());
    let mut entries = [PollFd::new(0, Events::NONE)];
    assert_eq!(task.poll(&mut entries, -1), Ok(1));
    assert_eq!(entries[0].revents, Events::HUP);
}

#[test]
fn a_timer_file_ends_an_endless_wait_when_it_expires_and_not_before() {
    let timer = Arc::new(Timer::new());
    let task = task_with(vec![timer.clone()]);
    let expires = now().after(3_000_000);
    timer.set(Some(expires), 0);
    assert_eq!(task.poll(&mut [entry(0)], -1), Ok(1));
    assert!(now() >= expires);
}

#[test]
fn a_timer_that_is_set_anew_is_waited_for_anew() {
    let timer = Arc::new(Timer::new());
    let watched = Arc::new(Watched::default());
    let task = task_with(vec![timer.clone(), watched.clone()]);
    timer.set(Some(now().after(u64::MAX)), 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            watched.await_sleepers(1);
            timer.set(Some(now().after(1_000_000)), 0);
        });
        let mut entries = [entry(0), entry(1)];
        assert_eq!(task.poll(&mut entries, -1), Ok(1));
        assert_eq!(entries[0].revents, Events::IN);
    });
}

#[test]
fn no_timeout_is_cut_short() {
    let task = task_with(vec![Arc::new(Watched::default())]);
    let bridge = Bridge::new();
    for timeout_ms in [1, 2, 5] {
        let start = Instant::now();
        assert_eq!(task.poll(&mut [entry(0)], timeout_ms), Ok(0));
        assert!(start.elapsed().as_micros() >= timeout_ms as u128 * 1000);
        let start = Instant::now();
        assert_eq!(poll::poll(&bridge, &mut [], timeout_ms), Ok(0));
        assert!(start.elapsed().as_micros() >= timeout_ms as u128 * 1000);
    }
}

#[test]
fn a_signal_ends_the_wait_and_a_blocked_one_does_not() {
    let file = Arc::new(Watched::default());
    let task = task_with(vec![file.clone()]);
    task.signals.block(1 << 5);
    let signals = task.signals.clone();
    thread::scope(|scope| {
        scope.spawn(|| {
            file.await_sleepers(1);
            signals.raise(5);
            signals.raise(9);
        });
        let deadline = Deadline::At(now().after(u64::MAX));
        let answer = task.poll_until(&mut [entry(0)], deadline);
        assert_eq!(answer, Err(Error::Interrupted(Restart { deadline })));
    });
    assert_eq!([signals.deliver(), signals.deliver()], [Some(9), None]);
    assert!(file.queue.is_empty());
}

#[test]
fn ppoll_lets_a_signal_through_that_is_blocked_otherwise() {
    let task = task_with(vec![Arc::new(Watched::default())]);
    task.signals.block(1 << 5);
    task.signals.raise(5);
    assert_eq!(task.poll(&mut [entry(0)], 0), Ok(0));
    let answer = poll::ppoll(&task, &mut [entry(0)], None, Some(&0));
    assert_eq!(answer, Err(Error::Interrupted(Restart { deadline: Deadline::Never })));
    assert_eq!(task.signals.blocked(), 0, "in force until the handler is chosen");
    assert_eq!(task.signals.deliver(), Some(5));
    assert_eq!(task.signals.blocked(), 1 << 5);
    let mut zero = Timespec::from_ns(0);
    assert_eq!(poll::ppoll(&task, &mut [entry(0)], Some(&mut zero), Some(&0)), Ok(0));
    assert_eq!(task.signals.blocked(), 1 << 5, "put back at once when nothing came");
}

// The bridge.

fn real_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    std::io::pipe().expect("a pipe")
}

#[test]
fn the_bridge_sleeps_until_a_real_file_is_ready() {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    let (reader, mut writer) = real_pipe();
    let fd = reader.as_raw_fd();
    thread::scope(|scope| {
        scope.spawn(|| writer.write_all(b"!").expect("an open pipe"));
        let mut entries = [entry(-1), entry(fd)];
        assert_eq!(poll::poll(&Bridge::new(), &mut entries, -1), Ok(1));
        assert_eq!(entries[1].revents, Events::IN);
    });
}

extern "C" fn nothing(_signal: libc::c_int) {}

fn handle(signal: i32) {
    let handler = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing, so it may run at any moment.
    let before = unsafe { libc::signal(signal, handler) };
    assert_ne!(before, libc::SIG_ERR);
}

#[test]
fn a_real_signal_interrupts_a_sleeping_bridge() {
    handle(libc::SIGUSR1);
    // SAFETY: it only names the calling thread.
    let sleeper = unsafe { libc::pthread_self() };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // One that arrives before the sleep interrupts nothing; so until one has.
            while !done.load(Ordering::SeqCst) {
                // SAFETY: that thread outlives this scope, and handles the signal.
                unsafe { libc::pthread_kill(sleeper, libc::SIGUSR1) };
                thread::yield_now();
            }
        });
        let answer = poll::poll(&Bridge::new(), &mut [], -1);
        done.store(true, Ordering::SeqCst);
        assert_eq!(answer, Err(Error::Interrupted(Restart { deadline: Deadline::Never })));
    });
}

fn block_in_this_thread(signal: i32) {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised by the first call; the others take it, and the last changes
    // this thread's mask only.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Leaves a signal pending that is handled, and blocked in this thread.
fn raise_in_this_thread(signal: i32) {
    // SAFETY: the calling thread exists.
    assert_eq!(unsafe { libc::pthread_kill(libc::pthread_self(), signal) }, 0);
}

#[test]
fn the_mask_is_in_force_while_the_bridge_sleeps() {
    use poll::{Signals as _, System as _, Wait as _};
    handle(libc::SIGUSR2);
    block_in_this_thread(libc::SIGUSR2);
    let bridge = Bridge::new();
    raise_in_this_thread(libc::SIGUSR2);
    bridge.install(&SignalSet::empty().with(libc::SIGUSR2));
    bridge.waiter().wait(Some(now().after(1)));
    assert!(!bridge.pending(), "still blocked");
    bridge.install(&SignalSet::empty());
    // Would not return otherwise.
    bridge.waiter().wait(None);
    assert!(bridge.pending() && !bridge.pending(), "told once");
    bridge.restore(true);
}

/// `ppoll` of one descriptor: how many answered, or the error's number.
type PpollCall<'a> = &'a dyn Fn(&SignalSet, Option<Timespec>) -> Result<usize, Option<i32>>;

/// A signal that waits behind the thread's mask interrupts `ppoll` with another mask, even one that
/// does not wait, unless something is ready. Three times over: the kernel, then the bridge.
#[test]
fn the_bridge_takes_a_mask_as_the_kernel_does() {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    handle(libc::SIGUSR2);
    let (reader, mut writer) = real_pipe();
    let fd = reader.as_raw_fd();
    block_in_this_thread(libc::SIGUSR2);
    let raise = || raise_in_this_thread(libc::SIGUSR2);
    let (open, closed) = (SignalSet::empty(), SignalSet::empty().with(libc::SIGUSR2));
    let zero = Timespec::from_ns(0);
    let kernel = |mask: &SignalSet, timeout| {
        kernel_ppoll(&mut [entry(fd)], timeout, Some(mask)).map_err(|e| e.raw_os_error())
    };
    let bridge = |mask: &SignalSet, timeout: Option<Timespec>| {
        let mut timeout = timeout;
        poll::ppoll(&Bridge::new(), &mut [entry(fd)], timeout.as_mut(), Some(mask))
            .map_err(|e| Some(e.errno()))
    };
    let calls: [PpollCall<'_>; 2] = [&kernel, &bridge];
    for call in calls {
        raise();
        assert_eq!(call(&closed, Some(zero)), Ok(0), "blocked");
        assert_eq!(call(&open, None), Err(Some(4)), "let through");
        raise();
        assert_eq!(call(&open, Some(zero)), Err(Some(4)), "without a wait too");
        assert_eq!(call(&open, Some(zero)), Ok(0), "only once");
    }
    writer.write_all(b"!").expect("an open pipe");
    for call in calls {
        raise();
        assert_eq!(call(&open, None), Ok(1), "an answer goes before a signal");
        assert_eq!(call(&open, Some(zero)), Ok(1));
    }
}

#[test]
fn the_limit_and_the_times_that_are_refused_are_the_kernels() {
    use poll::System as _;
    let bridge = Bridge::new();
    let limit = bridge.descriptor_limit();
    assert!(limit < 10_000_000, "a limit that can be tried: lower it with ulimit -n");
    for (n, fits) in [(limit, true), (limit + 1, false)] {
        let mut entries = vec![entry(-1); n];
        assert_eq!(kernel_poll(&mut entries, 0).is_ok(), fits);
        assert_eq!(poll::poll(&bridge, &mut entries, 0).is_ok(), fits);
    }
    for (seconds, nanoseconds) in [(-1, 0), (0, -1), (0, 1_000_000_000), (i64::MIN, i64::MAX)] {
        let time = Timespec { seconds, nanoseconds };
        let error = kernel_ppoll(&mut [entry(-1)], Some(time), None).expect_err("no time");
        let ours = poll::ppoll(&bridge, &mut [entry(-1)], Some(&mut time.clone()), None);
        assert_eq!(ours, Err(Error::Timeout(InvalidTimespec(time))));
        assert_eq!(error.raw_os_error(), ours.err().map(|error| error.errno()));
    }
}
