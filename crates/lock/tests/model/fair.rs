//! Makes spinning fair.
//!
//! When all threads of a model spin, loom goes on with the first of them, for ever, though it may be
//! waiting for another. So one that has spun in vain for a while is blocked until the others have had
//! their turn. If all have, and nothing came of it, they go on spinning, until loom has enough.

use std::cell::RefCell;

use loom::thread::{self, Thread};

use super::CPUS;

/// How many turns a CPU has before it is blocked.
const PATIENCE: u32 = 4;

#[derive(Default)]
struct Spinners {
    /// CPUs that run or spin.
    live: usize,
    /// CPUs that wait for a kick.
    asleep: usize,
    /// The turns that each has had.
    turns: [u32; CPUS],
    blocked: Vec<Thread>,
}

thread_local! {
    /// Not loom's, as it must not order anything. Loom's threads share the thread of their model.
    static SPINNERS: RefCell<Spinners> = RefCell::default();
}

/// A new run of a model, of so many CPUs.
pub(crate) fn start(cpus: usize) {
    SPINNERS.set(Spinners { live: cpus, ..Spinners::default() });
}

/// One turn of a loop of the CPU `me`.
pub(crate) fn spin(me: u16) {
    let (patient, others) = SPINNERS.with_borrow_mut(|all| {
        let turns = &mut all.turns[usize::from(me)];
        *turns += 1;
        (*turns <= PATIENCE, all.blocked.len() + 1 < all.live)
    });
    if patient {
        thread::yield_now();
    } else if others {
        SPINNERS.with_borrow_mut(|all| all.blocked.push(thread::current()));
        thread::park();
    } else {
        wake();
        thread::yield_now();
    }
}

/// A CPU ends: it will not be waited for by spinning.
pub(crate) fn leave() {
    SPINNERS.with_borrow_mut(|all| all.live -= 1);
    wake();
}

/// A CPU sleeps until it is kicked. Whether another is awake.
pub(crate) fn sleep() -> bool {
    let others = SPINNERS.with_borrow_mut(|all| {
        all.asleep += 1;
        all.live -= 1;
        all.live > 0
    });
    wake();
    others
}

/// All who sleep are awake.
pub(crate) fn kick() {
    SPINNERS.with_borrow_mut(|all| all.live += std::mem::take(&mut all.asleep));
}

fn wake() {
    let blocked = SPINNERS.with_borrow_mut(|all| {
        all.turns = [0; CPUS];
        std::mem::take(&mut all.blocked)
    });
    blocked.iter().for_each(Thread::unpark);
}
