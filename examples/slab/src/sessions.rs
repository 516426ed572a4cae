//! A session table with a bug, and the attack on it.
//!
//! The bug is of the kind of CVE-2016-0728 in Linux's keyrings: an early return forgets the reference
//! that was taken a few lines above. Each time it leaks a little, which nobody notices; an attacker
//! who can call it 2³² times has the counter come round.

use std::sync::atomic::{AtomicU64, Ordering};

use refcount::Backend;

use crate::{Handle, Id, Slab};

/// What a server knows of a client. Atomics, since sessions are set up again in place.
#[derive(Default)]
pub struct Session {
    user: AtomicU64,
    secret: AtomicU64,
}

impl Session {
    /// Makes this the session of `user`.
    pub fn set_up(&self, user: u64, secret: u64) {
        self.user.store(user, Ordering::Relaxed);
        self.secret.store(secret, Ordering::Relaxed);
    }

    /// Whose session it is.
    pub fn user(&self) -> u64 {
        self.user.load(Ordering::Relaxed)
    }

    /// What only its user may see.
    pub fn secret(&self) -> u64 {
        self.secret.load(Ordering::Relaxed)
    }
}

/// The events that a connection has not handled yet. Each carries a reference to its session.
#[derive(Default)]
pub struct Events(Vec<Id>);

impl Events {
    const MAX: usize = 16;

    fn push(&mut self, event: Id) -> Result<(), Full> {
        if self.0.len() == Self::MAX {
            return Err(Full);
        }
        self.0.push(event);
        Ok(())
    }

    /// Handles all events, and drops their references.
    pub fn handle<B: Backend<u32>>(&mut self, sessions: &Slab<Session, B>) {
        self.0.drain(..).for_each(|event| drop(sessions.handle_of(event)));
    }
}

/// There is no room for another event.
#[derive(Debug)]
pub struct Full;

/// A request: have an event made of `session`.
///
/// # Errors
///
/// If there is no room for it.
pub fn notify<B: Backend<u32>>(
    session: &Handle<'_, Session, B>,
    events: &mut Events,
) -> Result<(), Full> {
    let event = session.clone().into_id();
    // The bug: an event that is refused is gone, and with it the only trace of its reference.
    events.push(event)?;
    Ok(())
}

/// How the leaks come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaks {
    /// Every one by a request. 2³² of them take a while.
    OneByOne,
    /// The last thousand before the count turns negative and before it wraps by requests, those in
    /// between in two strides.
    InStrides,
}

/// What became of the session under attack.
#[derive(Debug)]
pub struct Outcome {
    /// The session that Alice's handle was made for.
    pub id: Id,
    /// The session that is under her handle after the attack.
    pub id_now: Id,
    /// Bob's session, set up after the attack.
    pub bobs: Id,
    /// The count of the attacked slot after the leaks.
    pub count: u32,
    /// Whose secret Alice's handle reads.
    pub reads_secret_of: u64,
    /// Slots in use while Alice and Bob are there, and slots leaked.
    pub used_and_leaked: (usize, usize),
}

/// The users of the story. A secret is made from its user's number.
pub const ALICE: u64 = 1;
/// The one whose session comes after.
pub const BOB: u64 = 2;

/// Leaks 2³² − 1 references to `session`: as many as take a counter that wraps one back.
fn leak<B: Backend<u32>>(session: &Handle<'_, Session, B>, events: &mut Events, how: Leaks) {
    const BY_REQUEST: u32 = 1000;
    const STRIDE: u32 = i32::MAX as u32 - BY_REQUEST;
    let mut requests = |n: u32| {
        for _ in 0..n {
            notify(session, events).expect_err("the attacker keeps the events full");
        }
    };
    match how {
        Leaks::OneByOne => requests(u32::MAX),
        Leaks::InStrides => {
            session.leak(STRIDE);
            requests(BY_REQUEST);
            session.leak(STRIDE);
            requests(u32::MAX - 2 * STRIDE - BY_REQUEST);
        }
    }
}

/// Alice has a session, with a reference for her connection and one for a worker. References are
/// leaked; the worker is done; Bob comes. Is Alice's session still hers?
pub fn attack<B: Backend<u32>>(how: Leaks) -> Outcome {
    let sessions = Slab::<Session, B>::new(4, Session::default);
    let alice = sessions.insert(|session| session.set_up(ALICE, secret(ALICE))).expect("four free");
    let worker = alice.clone();

    let mut events = Events::default();
    for _ in 0..Events::MAX {
        notify(&alice, &mut events).expect("room for an event");
    }
    leak(&alice, &mut events, how);
    events.handle(&sessions);
    let count = alice.count();
    drop(worker);

    let bob = sessions.insert(|session| session.set_up(BOB, secret(BOB))).expect("three free");
    Outcome {
        id: alice.id(),
        id_now: alice.id_now(),
        bobs: bob.id(),
        count,
        reads_secret_of: alice.secret() / SECRET,
        used_and_leaked: sessions.used_and_leaked(),
    }
}

const SECRET: u64 = 1_000_003;

fn secret(user: u64) -> u64 {
    user * SECRET
}
