//! Why a call did not answer.

use core::fmt;

use crate::{Deadline, InvalidTimespec};

/// Which way memory was being used when it faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The set was being read.
    Read,
    /// This entry's `revents` were being written; those before it have been.
    Write {
        /// Which entry, from 0.
        entry: usize,
    },
}

/// What is needed to go on with an interrupted call: its deadline, which does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// When it gives up.
    pub deadline: Deadline,
}

/// Why a call did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The set has more entries than the caller may have descriptors.
    TooManyEntries {
        /// How many it has.
        entries: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The timeout was no time.
    Timeout(InvalidTimespec),
    /// User memory faulted.
    Fault(Access),
    /// A waiter could not be registered for want of memory, and nothing was ready.
    NoMemory,
    /// The kernel-side copy of the set has no room for it.
    NoRoom {
        /// How many entries the set has.
        entries: usize,
        /// How many the copy can take.
        room: usize,
    },
    /// A signal came before anything was ready.
    Interrupted(Restart),
}

impl Error {
    /// The number that Linux's system call returns for it, positive.
    pub const fn errno(&self) -> i32 {
        match self {
            Self::Interrupted(_) => 4,                            // EINTR
            Self::NoMemory | Self::NoRoom { .. } => 12,           // ENOMEM
            Self::Fault(_) => 14,                                 // EFAULT
            Self::TooManyEntries { .. } | Self::Timeout(_) => 22, // EINVAL
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyEntries { entries, limit } => write!(
                f,
                "poll: a set of {entries} entries, but the limit of open descriptors is {limit}; \
                 raise the limit (RLIMIT_NOFILE) or split the set"
            ),
            Self::Timeout(invalid) => write!(f, "ppoll: {invalid}"),
            Self::Fault(Access::Read) => {
                f.write_str("poll: the set cannot be read; pass its address and its true length")
            }
            Self::Fault(Access::Write { entry }) => write!(
                f,
                "poll: revents of entry {entry} cannot be written; the set must be in writable memory"
            ),
            Self::NoMemory => f.write_str(
                "poll: no memory to register with a file; free some, or poll with a zero timeout",
            ),
            Self::NoRoom { entries, room } => write!(
                f,
                "poll: a set of {entries} entries, but its copy has room for {room}; \
                 give it as much room as the limit of descriptors allows entries"
            ),
            Self::Interrupted(_) => f.write_str(
                "poll: interrupted by a signal before anything was ready; restart it with its deadline",
            ),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Timeout(invalid) => Some(invalid),
            _ => None,
        }
    }
}
