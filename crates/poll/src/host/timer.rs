//! A timer that is read like a file, as timerfd.

use std::io::{ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Node, WaitQueue, Waiter, clock};
use crate::{Events, Time};

#[derive(Debug, Default)]
struct Setting {
    /// When it expires next; `None` when it is not set, or was set once and has been read.
    next: Option<Time>,
    /// How long after that it expires again, in nanoseconds; 0: not.
    every_ns: u64,
}

/// A timer on the host's clock; a clone is the same timer.
#[derive(Clone, Debug, Default)]
pub struct Timer {
    setting: Arc<Mutex<Setting>>,
    queue: Arc<WaitQueue>,
}

impl Timer {
    /// A timer that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expires at `next`, which may have passed, and from then on every `every_ns` nanoseconds
    /// unless that is 0. `None` stops it. Expirations that were not read are forgotten.
    pub fn set(&self, next: Option<Time>, every_ns: u64) {
        *self.setting.lock().unwrap_or_else(PoisonError::into_inner) = Setting { next, every_ns };
        // Who sleeps does so until the old time, and looks at the new one when woken.
        self.queue.wake(Events::IN);
    }

    /// How often it expired since it was set or read.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] when it did not.
    pub fn read(&self) -> Result<u64> {
        let mut setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::now();
        let Some(next) = setting.next.filter(|next| *next <= now) else {
            return Err(ErrorKind::WouldBlock.into());
        };
        let Some(more) = now.until(next).checked_div(setting.every_ns) else {
            setting.next = None;
            return Ok(1);
        };
        let expired = more.saturating_add(1);
        setting.next = Some(next.after(expired.saturating_mul(setting.every_ns)));
        Ok(expired)
    }

    /// When it expires next.
    pub(super) fn next(&self) -> Option<Time> {
        self.setting.lock().unwrap_or_else(PoisonError::into_inner).next
    }
}

impl Node for Timer {
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        if let Some(waiter) = waiter {
            waiter.join(&self.queue, want);
            // One that expired and was not asked for would end every sleep at once.
            if want.intersects(Events::IN) {
                waiter.watch(self);
            }
        }
        match self.next() {
            Some(next) if next <= clock::now() => Events::IN,
            _ => Events::NONE,
        }
    }
}
