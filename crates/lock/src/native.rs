//! Waiting on a machine of its own: spin, in turn.
//!
//! The second comer has no node: it sets the pending bit and spins on the lock word, which saves the
//! cache misses of a node where two CPUs share a lock. Whoever comes third joins a queue (Mellor-Crummey and
//! Scott, 1991) in which each spins on a word of its own, so that unlocking disturbs one
//! CPU only. Only the head of the queue looks at the lock, when the pending waiter is gone.
//!
//! Nobody is served before a waiter that was to be seen when it came.

use crate::node::{GRANTED, Node, Place, node_of};
use crate::platform::Platform;
use crate::sync::{Ordering, acquire, planted};
use crate::word::{LOCKED, PENDING, Tail, Word};

/// How often who comes while the pending waiter takes the lock looks before it queues.
const HAND_OVER_TURNS: u32 = if cfg!(loom) { 1 } else { 1 << 9 };

/// Waits for the lock.
pub(crate) fn lock_slow<P: Platform>(word: &Word) {
    let mut seen = word.load(Ordering::Relaxed);
    // The pending waiter is about to take the lock, and will leave its place.
    let mut turns = 0;
    while seen == PENDING && turns < HAND_OVER_TURNS {
        P::relax();
        seen = word.load(Ordering::Relaxed);
        turns += 1;
    }
    while seen & !LOCKED == 0 {
        let new = if seen == 0 { LOCKED } else { seen | PENDING };
        match word.compare_exchange(seen, new, acquire!(P, RelaxedFastLock)) {
            Ok(0) => return,
            Ok(_) => return wait_pending::<P>(word),
            Err(now) => seen = now,
        }
    }
    wait_queued::<P>(word);
}

/// Waits without a node. The pending bit is this CPU's.
fn wait_pending<P: Platform>(word: &Word) {
    loop {
        let seen = word.load(Ordering::Relaxed);
        // In one step for both bits: whoever sees the one gone must see the other.
        let taken = seen & !PENDING | LOCKED;
        if planted!(P, PendingTakesInTwoSteps) && seen & LOCKED == 0 {
            word.set(LOCKED);
            word.clear(PENDING);
            return;
        }
        if seen & LOCKED == 0
            && word.compare_exchange(seen, taken, acquire!(P, RelaxedClaim)).is_ok()
        {
            return;
        }
        P::relax();
    }
}

fn wait_queued<P: Platform>(word: &Word) {
    let Some(place) = Place::take::<P>() else {
        while word.load(Ordering::Relaxed) != 0
            || word.compare_exchange(0, LOCKED, Ordering::Acquire).is_err()
        {
            P::relax();
        }
        return;
    };
    // A first use of the node may have missed the cache; by now the lock may be free.
    if word.load(Ordering::Relaxed) == 0
        && word.compare_exchange(0, LOCKED, acquire!(P, RelaxedFastLock)).is_ok()
    {
        return;
    }
    if let Some(before) = node_of::<P>(word.swap_tail(place.tail)) {
        before.next.store(core::ptr::from_ref(place.node).cast_mut(), Ordering::Release);
        while place.node.state.load(Ordering::Acquire) != GRANTED && !planted!(P, QueueOutOfTurn) {
            P::relax();
        }
    }
    if !take_as_head::<P>(word, place.tail) && !planted!(P, NoGrant) {
        successor::<P>(place.node).state.store(GRANTED, Ordering::Release);
    }
}

/// Takes the lock for the head of the queue; `true` if the queue is empty then.
fn take_as_head<P: Platform>(word: &Word, mine: Tail) -> bool {
    let in_the_way = if planted!(P, HeadIgnoresPending) { LOCKED } else { LOCKED | PENDING };
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & in_the_way == 0 {
            let last = Tail::of(seen) == mine;
            let taken = if last { LOCKED } else { seen | LOCKED };
            if word.compare_exchange(seen, taken, acquire!(P, RelaxedClaim)).is_ok() {
                return last;
            }
        }
        P::relax();
    }
}

/// Who comes after `node`, which is not the last in the queue.
pub(crate) fn successor<P: Platform>(node: &Node) -> &'static Node {
    loop {
        let next = node.next.load(Ordering::Acquire);
        // SAFETY: it is null or was stored by the successor, from a node of `Platform::nodes`, which
        // lives for ever.
        if let Some(next) = unsafe { next.as_ref() } {
            return next;
        }
        P::relax();
    }
}
