//! What a piece of code reports, gathered.
//!
//! There is one handler and one set of reported kinds in a process, and the tests of a file are
//! threads of one process. So they take turns, and each starts with every kind armed.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use refcount::{Fault, rearm, set_handler};

static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static FAULTS: RefCell<Vec<Fault>> = const { RefCell::new(Vec::new()) };
}

/// The right to be the one whose faults are reported; nobody else's are while it lives.
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Turn {
    /// Waits for it. A test that failed while it was on does not take the others with it.
    pub(crate) fn wait() -> Self {
        let turn = Self(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        set_handler(|fault| FAULTS.with_borrow_mut(|faults| faults.push(*fault)));
        rearm();
        turn
    }

    /// What was reported on this thread since it was last asked.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        FAULTS.take()
    }
}
