//! A pair of connected stream sockets, as `socketpair` of the Unix domain makes.
//!
//! Unlike a pipe it answers [`Events::OUT`] beside [`Events::HUP`]: POSIX says that the two exclude
//! each other, Linux's sockets do not hold to it, and neither does this model of them.

use std::collections::VecDeque;
use std::io::{ErrorKind, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Node, WaitQueue, Waiter};
use crate::Events;

/// How many unread bytes end a side's [`Events::OUT`]. Linux accounts the memory of whole buffers,
/// which depends on its allocator; the model counts bytes.
const FULL: usize = 1 << 16;

/// What [`Socket::shutdown`] ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Receiving.
    Read,
    /// Sending.
    Write,
    /// Both.
    Both,
}

/// One side's part of the pair's state.
#[derive(Debug, Default)]
struct Side {
    /// What it has yet to read.
    inbox: VecDeque<u8>,
    no_read: bool,
    no_write: bool,
    /// The other side closed without reading what it was sent; told once.
    reset: bool,
}

#[derive(Debug, Default)]
struct Pair {
    sides: Mutex<[Side; 2]>,
    queues: [Arc<WaitQueue>; 2],
}

/// One of the two sockets; dropping it closes the connection.
#[derive(Debug)]
pub struct Socket {
    pair: Arc<Pair>,
    /// 0 or 1.
    side: usize,
}

/// Two sockets, connected.
pub fn socket_pair() -> (Socket, Socket) {
    let pair = Arc::new(Pair::default());
    (Socket { pair: pair.clone(), side: 0 }, Socket { pair, side: 1 })
}

const ANY: Events = Events::from_bits(u16::MAX);

impl Socket {
    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenPipe`] when this side no longer sends or the other no longer receives,
    /// [`ErrorKind::WouldBlock`] when too much is unread.
    pub fn send(&self, bytes: &[u8]) -> Result<usize> {
        let mut sides = self.sides();
        let [mine, other] = self.both(&mut sides);
        if mine.no_write || other.no_read {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if other.inbox.len() >= FULL {
            return Err(ErrorKind::WouldBlock.into());
        }
        other.inbox.extend(bytes);
        drop(sides);
        self.wake_other(Events::IN | Events::RDNORM);
        Ok(bytes.len())
    }

    /// Takes what there is and `into` has room for; 0 at the end.
    ///
    /// # Errors
    /// [`ErrorKind::ConnectionReset`], once, when the other side closed without reading all,
    /// [`ErrorKind::WouldBlock`] when there is nothing yet.
    pub fn receive(&self, into: &mut [u8]) -> Result<usize> {
        let mut sides = self.sides();
        let [mine, _] = self.both(&mut sides);
        let n = mine.inbox.len().min(into.len());
        if n == 0 && !into.is_empty() {
            if core::mem::take(&mut mine.reset) {
                return Err(ErrorKind::ConnectionReset.into());
            }
            return if mine.no_read { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
        }
        for (to, from) in into.iter_mut().zip(mine.inbox.drain(..n)) {
            *to = from;
        }
        drop(sides);
        self.wake_other(Events::OUT | Events::WRNORM | Events::WRBAND);
        Ok(n)
    }

    /// Ends one direction or both; the other side learns of it.
    pub fn shutdown(&self, direction: Direction) {
        let mut sides = self.sides();
        let [mine, other] = self.both(&mut sides);
        if direction != Direction::Write {
            mine.no_read = true;
            other.no_write = true;
        }
        if direction != Direction::Read {
            mine.no_write = true;
            other.no_read = true;
        }
        drop(sides);
        for queue in &self.pair.queues {
            queue.wake(ANY);
        }
    }

    fn sides(&self) -> MutexGuard<'_, [Side; 2]> {
        self.pair.sides.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This side, then the other.
    fn both<'a>(&self, sides: &'a mut [Side; 2]) -> [&'a mut Side; 2] {
        let [first, second] = sides;
        if self.side == 0 { [first, second] } else { [second, first] }
    }

    fn wake_other(&self, events: Events) {
        self.pair.queues[1 - self.side].wake(events);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut sides = self.sides();
        let [mine, other] = self.both(&mut sides);
        other.no_read = true;
        other.no_write = true;
        other.reset |= !mine.inbox.is_empty();
        // What nobody will read takes no more room: the other side may write again, and be refused.
        mine.inbox = Default::default();
        drop(sides);
        self.wake_other(ANY);
    }
}

impl Node for Socket {
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        if let Some(waiter) = waiter {
            waiter.join(&self.pair.queues[self.side], want);
        }
        let mut sides = self.sides();
        let [mine, other] = self.both(&mut sides);
        let mut ready = Events::NONE;
        if mine.reset {
            ready |= Events::ERR;
        }
        if mine.no_read && mine.no_write {
            ready |= Events::HUP;
        }
        if mine.no_read {
            ready |= Events::RDHUP | Events::IN | Events::RDNORM;
        }
        if !mine.inbox.is_empty() {
            ready |= Events::IN | Events::RDNORM;
        }
        if other.inbox.len() < FULL {
            ready |= Events::OUT | Events::WRNORM | Events::WRBAND;
        }
        ready
    }
}
