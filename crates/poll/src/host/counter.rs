//! A counter to wake others with, as eventfd.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Node, WaitQueue, Waiter};
use crate::Events;

/// What a read takes from a [`Counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// All of it.
    All,
    /// One, as a semaphore's.
    One,
}

/// A 64-bit counter: readable when it is not 0, writable when 1 can be added.
///
/// Its highest value is `u64::MAX - 1`. It answers [`Events::IN`] and [`Events::OUT`] without their
/// NORM forms, as Linux's does.
#[derive(Debug)]
pub struct Counter {
    value: Mutex<u64>,
    read: Read,
    queue: Arc<WaitQueue>,
}

impl Counter {
    /// A counter that begins with `value`.
    pub fn new(value: u32, read: Read) -> Self {
        Self { value: Mutex::new(value.into()), read, queue: Arc::default() }
    }

    /// Adds `n`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for `u64::MAX`, [`ErrorKind::WouldBlock`] when the sum is too high.
    pub fn write(&self, n: u64) -> Result<()> {
        if n == u64::MAX {
            return Err(ErrorKind::InvalidInput.into());
        }
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        match value.checked_add(n) {
            Some(sum) if sum < u64::MAX => *value = sum,
            _ => return Err(Error::from(ErrorKind::WouldBlock)),
        }
        drop(value);
        self.queue.wake(Events::IN);
        Ok(())
    }

    /// Takes the value, or one of it.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] when it is 0.
    pub fn read(&self) -> Result<u64> {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if *value == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = match self.read {
            Read::All => *value,
            Read::One => 1,
        };
        *value -= taken;
        drop(value);
        self.queue.wake(Events::OUT);
        Ok(taken)
    }
}

impl Node for Counter {
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        if let Some(waiter) = waiter {
            waiter.join(&self.queue, want);
        }
        let value = *self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready = Events::NONE;
        if value > 0 {
            ready |= Events::IN;
        }
        if value < u64::MAX - 1 {
            ready |= Events::OUT;
        }
        ready
    }
}
