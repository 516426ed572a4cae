//! Waiting where a CPU may be taken away: spin for a while, then park.
//!
//! On a virtual CPU, or a thread, the one whose turn it is may not be running, and everybody behind
//! it would spin in vain. So waiters park after a bounded spin, and a newcomer that runs takes a free
//! lock before a head of the queue that does not. The head, when it runs, claims the lock with the
//! pending bit, which newcomers respect: so it is overtaken only while it sleeps.

use crate::native::successor;
use crate::node::{GRANTED, Node, PARKED, Place, WAITING, node_of};
use crate::platform::{Platform, spins};
use crate::sync::{Ordering, acquire, planted};
use crate::word::{LOCKED, PENDING, SLEEPING, TAIL, Tail, Word};

/// Waits for the lock.
pub(crate) fn lock_slow<P: Platform>(word: &Word) {
    if overtake::<P>(word) {
        return;
    }
    let Some(place) = Place::take::<P>() else {
        while !overtake::<P>(word) {
            P::relax();
        }
        return;
    };
    if let Some(before) = node_of::<P>(word.swap_tail(place.tail)) {
        before.next.store(core::ptr::from_ref(place.node).cast_mut(), Ordering::Release);
        wait_for_grant::<P>(place.node);
    }
    if !take_as_head::<P>(word, place.tail) && !planted!(P, NoGrant) {
        grant::<P>(successor::<P>(place.node));
    }
}

/// Takes the lock if it becomes free before the head of the queue claims it, or patience ends.
fn overtake<P: Platform>(word: &Word) -> bool {
    for turn in 0..spins::<P>() {
        if turn > 0 {
            P::relax();
        }
        let mut seen = word.load(Ordering::Relaxed);
        while seen & (LOCKED | PENDING) == 0 {
            match word.compare_exchange(seen, seen | LOCKED, acquire!(P, RelaxedFastLock)) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        if seen & PENDING != 0 {
            return false;
        }
    }
    false
}

/// Waits to be the head of the queue.
fn wait_for_grant<P: Platform>(node: &Node) {
    for turn in 0..spins::<P>() {
        if turn > 0 {
            P::relax();
        }
        if node.state.load(Ordering::Acquire) == GRANTED {
            return;
        }
    }
    let parked = node.state.compare_exchange(WAITING, PARKED, Ordering::Relaxed, Ordering::Acquire);
    if parked.is_err() {
        return;
    }
    while node.state.load(Ordering::Acquire) != GRANTED {
        P::wait(&node.state, PARKED);
    }
}

/// Makes the owner of `node` the head of the queue.
fn grant<P: Platform>(node: &Node) {
    // The node may be in other use as soon as it is granted. Its address stays good to kick.
    if node.state.swap(GRANTED, Ordering::Release) == PARKED && !planted!(P, NoKickAtGrant) {
        P::kick(&node.state);
    }
}

/// Takes the lock for the head of the queue; `true` if the queue is empty then.
fn take_as_head<P: Platform>(word: &Word, mine: Tail) -> bool {
    loop {
        word.set(PENDING);
        for turn in 0..spins::<P>() {
            if turn > 0 {
                P::relax();
            }
            let mut seen = word.load(Ordering::Relaxed);
            while seen & LOCKED == 0 {
                let last = Tail::of(seen) == mine;
                let new = if last { LOCKED } else { seen & TAIL | LOCKED };
                match word.compare_exchange(seen, new, acquire!(P, RelaxedClaim)) {
                    Ok(_) => return last,
                    Err(now) => seen = now,
                }
            }
        }
        sleep_as_head::<P>(word);
    }
}

/// Gives up the claim and sleeps until the lock is free, or for no reason.
fn sleep_as_head<P: Platform>(word: &Word) {
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        if seen & LOCKED == 0 {
            return;
        }
        let asleep = seen & !PENDING | SLEEPING;
        match word.compare_exchange(seen, asleep, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => seen = now,
        }
    }
    // Who held the lock just then stores that it does not, and looks for the bit. After the barrier,
    // either it finds the bit or its store is seen here. Who takes the lock after that store writes to
    // a word that has the bit already, and so finds it when it unlocks.
    P::barrier_all();
    seen = word.load(Ordering::Relaxed);
    while seen & LOCKED != 0 && seen & SLEEPING != 0 {
        P::wait(word.atomic(), seen);
        // Woken, or another joined the queue and so changed the word.
        seen = word.load(Ordering::Relaxed);
    }
}

/// Wakes the head of the queue, for who unlocked and found the bit.
pub(crate) fn wake<P: Platform>(word: &Word) {
    // Somebody else may have cleared it, and then has kicked, or the head is awake.
    if word.clear(SLEEPING) & SLEEPING != 0 {
        P::kick(word.atomic());
    }
}
