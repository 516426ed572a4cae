//! Pending signals and the mask that blocks them.

use std::sync::{Arc, Mutex, PoisonError};

use super::{WaitQueue, Waiter};
use crate::Events;

#[derive(Debug, Default)]
struct State {
    pending: u64,
    blocked: u64,
    /// The mask to put back.
    kept: Option<u64>,
}

/// One thread's signals, numbered 0 to 63, one bit each.
#[derive(Debug, Default)]
pub struct SignalState {
    state: Mutex<State>,
    queue: Arc<WaitQueue>,
}

impl SignalState {
    /// Makes a signal pending, and wakes the thread unless it is blocked. Numbers past 63 wrap.
    pub fn raise(&self, signal: u32) {
        let bit = 1u64.rotate_left(signal);
        let wakes = self.change(|state| {
            state.pending |= bit;
            state.blocked & bit == 0
        });
        if wakes {
            self.queue.wake(Events::UNASKED);
        }
    }

    /// Takes the lowest pending signal that is not blocked, as a handler that runs for it, and ends
    /// what an interrupted `ppoll` left of its mask.
    pub fn deliver(&self) -> Option<u32> {
        self.change(|state| {
            let open = state.pending & !state.blocked;
            let signal = (open != 0).then(|| open.trailing_zeros());
            if let Some(signal) = signal {
                state.pending &= !(1 << signal);
            }
            if let Some(kept) = state.kept.take() {
                state.blocked = kept;
            }
            signal
        })
    }

    /// The mask in force.
    pub fn blocked(&self) -> u64 {
        self.change(|state| state.blocked)
    }

    /// Blocks exactly these.
    pub fn block(&self, mask: u64) {
        self.change(|state| state.blocked = mask);
    }

    pub(super) fn pending(&self) -> bool {
        self.change(|state| state.pending & !state.blocked != 0)
    }

    pub(super) fn install(&self, mask: u64) {
        self.change(|state| {
            state.kept = Some(state.blocked);
            state.blocked = mask;
        });
    }

    pub(super) fn restore(&self, interrupted: bool) {
        if interrupted {
            return;
        }
        self.change(|state| {
            if let Some(kept) = state.kept.take() {
                state.blocked = kept;
            }
        });
    }

    pub(super) fn join(&self, waiter: &mut Waiter) {
        waiter.join(&self.queue, Events::UNASKED);
    }

    fn change<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
