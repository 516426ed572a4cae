//! What the core needs of the system around it.

use crate::{Events, Time};

/// From a number to a file.
pub trait Files {
    /// What a file registers with, so that it can wake the caller later.
    type Waiter;
    /// A file, held while it is asked.
    type Ref<'a>: File<Self::Waiter>
    where
        Self: 'a;

    /// The file behind `fd`, which came as a number that is not negative; `None` when there is none,
    /// or none that may be polled (Linux says so of a descriptor opened with `O_PATH`).
    fn lookup(&self, fd: u32) -> Option<Self::Ref<'_>>;
}

/// One file's readiness.
pub trait File<W> {
    /// What is ready, from among all conditions: the caller filters.
    ///
    /// With a `waiter`, the file **first** registers it with whatever makes it ready later, **then**
    /// looks at its state; the other order loses a wake-up between the two. `want` is what the
    /// caller will take as an answer: a registered waiter need not be woken for anything else.
    /// Whatever fails in registering is kept by the waiter ([`Wait::failed`]).
    fn poll(&self, want: Events, waiter: Option<&mut W>) -> Events;
}

impl<W, F: File<W> + ?Sized> File<W> for &F {
    #[inline]
    fn poll(&self, want: Events, waiter: Option<&mut W>) -> Events {
        (**self).poll(want, waiter)
    }
}

/// One caller that sleeps. Made for one call; to drop it takes it out of every file's queue.
pub trait Wait {
    /// Sleeps until a file that it is registered with has become ready, a signal is pending, or the
    /// clock has reached `deadline`. It may also return for no reason.
    ///
    /// A wake-up that came since the last return, or since registering, makes it return at once: it
    /// is forgotten only before this function returns.
    fn wait(&mut self, deadline: Option<Time>);

    /// Whether a file could not register it, for want of memory.
    fn failed(&self) -> bool {
        false
    }
}

/// The time that deadlines are in. It never goes back.
pub trait Clock {
    /// Now.
    fn now(&self) -> Time;
}

/// The caller's signals.
pub trait Signals {
    /// What `ppoll` takes as the set of blocked signals.
    type Mask: ?Sized;

    /// Whether one waits to be delivered.
    fn pending(&self) -> bool;

    /// Puts `mask` in force and keeps the one before.
    fn install(&self, mask: &Self::Mask);

    /// Puts back the mask that [`Signals::install`] kept.
    ///
    /// When the call was `interrupted` the signal that did it may be blocked by the mask before: the
    /// system then leaves the mask in force until it has chosen the signal to deliver, and restores
    /// it for the time after the handler.
    fn restore(&self, interrupted: bool);
}

/// All of it, for one caller.
pub trait System: Files<Waiter: Wait> + Clock + Signals {
    /// A waiter for one call. Not asked for when the call does not wait.
    fn waiter(&self) -> Self::Waiter;

    /// How many descriptors the caller may have (soft `RLIMIT_NOFILE`), which is how many entries a
    /// set may have.
    fn descriptor_limit(&self) -> usize;
}

/// The memory was not readable, or not writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// A set in memory that may fault.
pub trait UserSet {
    /// Copies the first entries, as many as `into` has. With none there is nothing to read, and
    /// nothing that could fault.
    fn read(&self, into: &mut [crate::PollFd]) -> Result<(), Fault>;

    /// Writes `revents` of one entry, and nothing else of it.
    fn write_revents(&mut self, index: usize, revents: Events) -> Result<(), Fault>;
}
