//! Sleeping and waking in one process: the queue a file keeps, and the caller that parks.
//!
//! A caller registers first and looks second; a writer changes its file's state first and wakes
//! second. Whichever of the two comes first, one of them sees the other: either the caller finds the
//! file ready, or the writer finds the caller in the queue. Between a look and a sleep the wake-up is
//! kept in the flag of the parker, which is cleared at the end of a sleep and at no other place, so
//! that one that arrives during a scan ends the next sleep at once.
//!
//! The locks come from `super::sync`, which is `std` here and an explorer of interleavings in a test
//! that compiles this same file.

use std::time::Duration;
use std::vec::Vec;

use super::Events;
use super::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The lock, also when another thread panicked while it held it: no state here is ever half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One sleeper.
///
/// | `woken` | means | next |
/// |---|---|---|
/// | false | nothing happened since the last sleep | `wake` → true; `park` sleeps |
/// | true | a file may have become ready | `park` returns at once → false |
#[derive(Debug)]
pub(super) struct Parker {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Parker {
    fn new() -> Self {
        Self { woken: Mutex::new(false), changed: Condvar::new() }
    }

    fn wake(&self) {
        *lock(&self.woken) = true;
        self.changed.notify_one();
    }

    fn park(&self, at_most: Option<Duration>) {
        let mut woken = lock(&self.woken);
        if !*woken {
            woken = match at_most {
                None => self.changed.wait(woken).unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    let waited = self.changed.wait_timeout(woken, time);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *woken = false;
    }
}

/// Who waits for one file.
#[derive(Debug)]
pub struct WaitQueue {
    sleepers: Mutex<Vec<(Events, Arc<Parker>)>>,
}

impl WaitQueue {
    /// A queue that nobody waits in.
    pub fn new() -> Self {
        Self { sleepers: Mutex::new(Vec::new()) }
    }

    /// Wakes everybody who takes any of `events` as an answer. To be called after the change that
    /// made them true.
    pub fn wake(&self, events: Events) {
        for (want, parker) in lock(&self.sleepers).iter() {
            if want.intersects(events) {
                parker.wake();
            }
        }
    }

    /// How many registrations it holds.
    pub fn len(&self) -> usize {
        lock(&self.sleepers).len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for WaitQueue {
    fn default() -> Self {
        Self::new()
    }
}

/// One caller's parker and the queues it is in; to drop it is to leave them all.
#[derive(Debug)]
pub struct Registrations {
    parker: Arc<Parker>,
    queues: Vec<Arc<WaitQueue>>,
}

impl Registrations {
    /// In no queue.
    pub fn new() -> Self {
        Self { parker: Arc::new(Parker::new()), queues: Vec::new() }
    }

    /// Joins `queue`, to be woken for any of `want`.
    pub fn join(&mut self, queue: &Arc<WaitQueue>, want: Events) {
        lock(&queue.sleepers).push((want, self.parker.clone()));
        self.queues.push(queue.clone());
    }

    /// Sleeps until woken, or for `at_most` so long, or for no reason.
    pub fn park(&self, at_most: Option<Duration>) {
        self.parker.park(at_most);
    }
}

impl Default for Registrations {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Registrations {
    fn drop(&mut self) {
        for queue in &self.queues {
            lock(&queue.sleepers).retain(|(_, parker)| !Arc::ptr_eq(parker, &self.parker));
        }
    }
}
