//! A system to poll in: in-process files, and a bridge to the descriptors of this process.
//!
//! [`Task`] is one thread of a made-up process: it shares [`Descriptors`] with other tasks and has
//! [signals](SignalState) of its own. Its files answer as Linux's do, condition for condition, and
//! wake who waits for them. [`Bridge`] runs the same core over the real descriptors of this process
//! and needs no file of its own.
//!
//! Files close when the last holder lets go of them: a descriptor, a duplicate of it, or a variable.
//! Unlike in Linux, a call that sleeps on one is no holder.

mod bridge;
mod clock;
mod counter;
mod pipe;
mod queue;
mod signals;
mod socket;
/// What the wait queue is built from; a test puts an explorer's locks in its place.
mod sync {
    pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
}
mod timer;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use std::vec::Vec;

pub use bridge::{Bridge, SignalSet, kernel_poll, kernel_ppoll};
pub use clock::now;
pub use counter::{Counter, Read};
pub use pipe::{PAGE_SIZE, PipeReader, PipeWriter, SLOTS, pipe};
pub use queue::{Registrations, WaitQueue};
pub use signals::SignalState;
pub use socket::{Direction, Socket, socket_pair};
pub use timer::Timer;

use crate::{Clock, Deadline, Error, Events, File, Files, PollFd, Signals, System, Time, Wait};

/// A file of the in-process kind.
pub trait Node: Send + Sync {
    /// As [`File::poll`].
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events;
}

/// A file without a queue that is always ready both ways: a regular file, a directory, a null
/// device.
#[derive(Debug, Default)]
pub struct AlwaysReady;

impl Node for AlwaysReady {
    fn poll(&self, _want: Events, _waiter: Option<&mut Waiter>) -> Events {
        Events::ALWAYS
    }
}

/// A caller asleep on in-process files.
#[derive(Debug, Default)]
pub struct Waiter {
    registrations: Registrations,
    timers: Vec<Timer>,
}

impl Waiter {
    /// Joins a file's queue, to be woken for any of `want`.
    pub fn join(&mut self, queue: &Arc<WaitQueue>, want: Events) {
        self.registrations.join(queue, want);
    }

    /// Wakes up by itself when `timer` expires; its queue is to be joined too, since it can be set
    /// anew while the caller sleeps.
    pub fn watch(&mut self, timer: &Timer) {
        self.timers.push(timer.clone());
    }
}

impl Wait for Waiter {
    fn wait(&mut self, deadline: Option<Time>) {
        let next = self.timers.iter().filter_map(Timer::next).chain(deadline).min();
        let now = clock::now();
        self.registrations.park(next.map(|time| Duration::from_nanos(time.until(now))));
    }
}

/// A table of descriptors.
pub struct Descriptors {
    files: RwLock<Vec<Option<Arc<dyn Node>>>>,
    limit: usize,
}

impl Descriptors {
    /// An empty table of at most `limit` descriptors.
    pub fn new(limit: usize) -> Self {
        Self { files: RwLock::default(), limit }
    }

    /// Puts `file` behind the lowest free number; `None` when there is none below the limit.
    pub fn open(&self, file: Arc<dyn Node>) -> Option<i32> {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let free = files.iter().position(Option::is_none).unwrap_or(files.len());
        Self::place(&mut files, self.limit, free, Some(file)).and_then(|_| free.try_into().ok())
    }

    /// Puts `file` behind `fd`, which closes what was there, as `dup2` does. False, and no change,
    /// when `fd` is negative or not below the limit.
    pub fn set(&self, fd: i32, file: Arc<dyn Node>) -> bool {
        let Ok(index) = usize::try_from(fd) else { return false };
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let before = Self::place(&mut files, self.limit, index, Some(file));
        // A file may run code when it is dropped, so the lock goes first.
        drop(files);
        before.is_some()
    }

    /// Closes `fd`; false when it was not open.
    pub fn close(&self, fd: i32) -> bool {
        let Ok(index) = usize::try_from(fd) else { return false };
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let before = files.get_mut(index).and_then(Option::take);
        drop(files);
        before.is_some()
    }

    /// The file behind `fd`.
    pub fn get(&self, fd: u32) -> Option<Arc<dyn Node>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.get(usize::try_from(fd).ok()?)?.clone()
    }

    /// `None` when the number is not below the limit, else what was there before.
    fn place(
        files: &mut Vec<Option<Arc<dyn Node>>>,
        limit: usize,
        index: usize,
        file: Option<Arc<dyn Node>>,
    ) -> Option<Option<Arc<dyn Node>>> {
        if index >= limit {
            return None;
        }
        if index >= files.len() {
            files.resize(index + 1, None);
        }
        files.get_mut(index).map(|place| core::mem::replace(place, file))
    }
}

/// One thread of a process: descriptors that it shares, signals of its own.
pub struct Task {
    /// The process's descriptors.
    pub files: Arc<Descriptors>,
    /// The thread's signals; another thread may raise them.
    pub signals: Arc<SignalState>,
}

impl Task {
    /// The only thread of a process, with at most `limit` descriptors.
    pub fn new(limit: usize) -> Self {
        Self { files: Arc::new(Descriptors::new(limit)), signals: Arc::default() }
    }

    /// Another thread of the same process.
    pub fn sibling(&self) -> Self {
        Self { files: self.files.clone(), signals: Arc::default() }
    }

    /// As [`poll()`](crate::poll()).
    ///
    /// # Errors
    /// As there.
    pub fn poll(&self, entries: &mut [PollFd], timeout_ms: i32) -> Result<usize, Error> {
        crate::poll(self, entries, timeout_ms)
    }

    /// As [`poll_until`](crate::poll_until).
    ///
    /// # Errors
    /// As there.
    pub fn poll_until(&self, entries: &mut [PollFd], deadline: Deadline) -> Result<usize, Error> {
        crate::poll_until(self, entries, deadline)
    }
}

/// A file of a table, held while it is asked.
pub struct Held(Arc<dyn Node>);

impl File<Waiter> for Held {
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        self.0.poll(want, waiter)
    }
}

impl Files for Task {
    type Waiter = Waiter;
    type Ref<'a> = Held;

    fn lookup(&self, fd: u32) -> Option<Held> {
        self.files.get(fd).map(Held)
    }
}

impl Clock for Task {
    fn now(&self) -> Time {
        clock::now()
    }
}

impl Signals for Task {
    type Mask = u64;

    fn pending(&self) -> bool {
        self.signals.pending()
    }

    fn install(&self, mask: &u64) {
        self.signals.install(*mask);
    }

    fn restore(&self, interrupted: bool) {
        self.signals.restore(interrupted);
    }
}

impl System for Task {
    fn waiter(&self) -> Waiter {
        let mut waiter = Waiter::default();
        self.signals.join(&mut waiter);
        waiter
    }

    fn descriptor_limit(&self) -> usize {
        self.files.limit
    }
}
