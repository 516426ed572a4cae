//! The core of `poll`: which of these descriptors can be read or written, now or by a deadline.
//!
//! A kernel, a hypervisor or a runtime has its own files, its own way to sleep and its own user
//! memory. What `poll` makes of them is always the same loop, and easy to get subtly wrong: what a
//! negative descriptor answers, whether a bad one ends the scan, when waiters are no longer
//! registered, which way a timeout is rounded. This crate is that loop over a few small traits:
//!
//! | trait | is |
//! |---|---|
//! | [`Files`], [`File`] | from a number to a file, from a file to what is ready, with registration |
//! | [`Wait`] | one caller asleep: until woken, or a deadline |
//! | [`Clock`] | the time that deadlines are in |
//! | [`Signals`] | whether one is pending, and the mask that `ppoll` puts in force |
//! | [`UserSet`] | the set in memory that may fault |
//!
//! It holds to what Linux does, bit for bit; the tests compare it with the running kernel.
//!
//! # What `poll` promises
//! - A negative descriptor answers nothing (`revents` is 0) and is not counted. Every negative one.
//! - A descriptor without a file answers [`Events::NVAL`] and is counted. The scan goes on.
//! - A file answers with what it was asked for, and with [`Events::ERR`] and [`Events::HUP`] unasked.
//! - `revents` is written in every entry; `fd` and `events` in none. An unknown bit of `events` asks
//!   for nothing and is no error.
//! - The same descriptor twice is two entries, both answered, both counted.
//! - Once one entry has an answer no further waiter is registered, but every entry is scanned.
//! - A zero timeout registers no waiter and reads no clock. A negative one never ends.
//! - A timeout is never cut short: times are rounded up, and the clock decides, not the sleep.
//! - A signal interrupts only a call that found nothing. It can be restarted with the deadline of
//!   the first try, so that restarts do not make it longer.
//! - The set may have as many entries as the process may have descriptors; one more is an error.
//!
//! # Layers
//! [`scan()`] is the loop over the entries, once. [`poll_until`] waits until it finds something.
//! [`poll()`] and [`ppoll`] take the timeouts of the two system calls, over a set in this memory.
//! [`user`] has both over a set in user memory, and the restart.
//!
//! Nothing here allocates. With the feature `std`, [`host`] has in-process files and a bridge to the
//! descriptors of this process.
#![no_std]
#![deny(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

mod call;
mod error;
mod events;
#[cfg(feature = "std")]
pub mod host;
mod scan;
mod system;
mod time;
pub mod user;

pub use call::{poll, poll_until, ppoll};
pub use error::{Access, Error, Restart};
pub use events::{Events, PollFd};
pub use scan::scan;
pub use system::{Clock, Fault, File, Files, Signals, System, UserSet, Wait};
pub use time::{Deadline, InvalidTimespec, Time, Timeout, Timespec, ticks_up};
