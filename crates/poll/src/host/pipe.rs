//! A pipe: a ring of pages, as Linux has it.
//!
//! It is full when it has no free page, not when it has no free byte: one byte left in a page keeps
//! the whole page, and a write goes into the last page only if all that is left of it, after whole
//! pages, fits there. Both show in what poll answers, so they are modelled.

use std::collections::VecDeque;
use std::io::{ErrorKind, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use super::{Node, WaitQueue, Waiter};
use crate::Events;

/// Bytes of a page.
pub const PAGE_SIZE: usize = 4096;
/// How many pages a pipe has unless asked otherwise.
pub const SLOTS: usize = 16;

/// One page: `bytes` from where it was begun, of which `read` are gone.
#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    read: usize,
}

#[derive(Debug)]
struct State {
    pages: VecDeque<Page>,
    slots: usize,
    reader: bool,
    writer: bool,
}

#[derive(Debug)]
struct Pipe {
    state: Mutex<State>,
    /// Both ends wait here, each for its own events.
    queue: Arc<WaitQueue>,
}

impl Pipe {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, want: Events, waiter: Option<&mut Waiter>) {
        if let Some(waiter) = waiter {
            waiter.join(&self.queue, want);
        }
    }
}

/// The end that is read from; dropping it breaks the pipe.
#[derive(Debug)]
pub struct PipeReader(Arc<Pipe>);

/// The end that is written to; dropping it ends the data.
#[derive(Debug)]
pub struct PipeWriter(Arc<Pipe>);

/// A pipe of so many pages, at least one.
pub fn pipe(slots: usize) -> (PipeReader, PipeWriter) {
    let state = State { pages: VecDeque::new(), slots: slots.max(1), reader: true, writer: true };
    let pipe = Arc::new(Pipe { state: Mutex::new(state), queue: Arc::default() });
    (PipeReader(pipe.clone()), PipeWriter(pipe))
}

impl PipeReader {
    /// Takes as many bytes as there are and `into` has room for; 0 at the end of the data.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] when there are none and the other end is open.
    pub fn read(&self, into: &mut [u8]) -> Result<usize> {
        let mut state = self.0.state();
        if into.is_empty() {
            return Ok(0);
        }
        if state.pages.is_empty() {
            return if state.writer { Err(ErrorKind::WouldBlock.into()) } else { Ok(0) };
        }
        let mut done = 0;
        while let Some(page) = state.pages.front_mut() {
            let rest = page.bytes.get(page.read..).unwrap_or_default();
            let n = rest.len().min(into.len() - done);
            into[done..done + n].copy_from_slice(&rest[..n]);
            done += n;
            page.read += n;
            if page.read < page.bytes.len() {
                break;
            }
            state.pages.pop_front();
        }
        drop(state);
        self.0.queue.wake(Events::OUT | Events::WRNORM);
        Ok(done)
    }
}

impl PipeWriter {
    /// Puts in as much as there is room for.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenPipe`] when the other end is closed, [`ErrorKind::WouldBlock`] when there
    /// is no room.
    pub fn write(&self, from: &[u8]) -> Result<usize> {
        if from.is_empty() {
            return Ok(0);
        }
        let mut state = self.0.state();
        if !state.reader {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let mut rest = from;
        // What is left after whole pages may go behind the last bytes.
        let odd = from.len() % PAGE_SIZE;
        if let Some(last) = state.pages.back_mut()
            && last.bytes.len() + odd <= PAGE_SIZE
        {
            let (first, others) = from.split_at(odd);
            last.bytes.extend_from_slice(first);
            rest = others;
        }
        while !rest.is_empty() && state.pages.len() < state.slots {
            let (page, others) = rest.split_at(rest.len().min(PAGE_SIZE));
            state.pages.push_back(Page { bytes: page.to_vec(), read: 0 });
            rest = others;
        }
        drop(state);
        let done = from.len() - rest.len();
        if done == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.0.queue.wake(Events::IN | Events::RDNORM);
        Ok(done)
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.0.state().reader = false;
        self.0.queue.wake(Events::OUT | Events::WRNORM | Events::ERR);
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.0.state().writer = false;
        self.0.queue.wake(Events::IN | Events::RDNORM | Events::HUP);
    }
}

impl Node for PipeReader {
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        self.0.register(want, waiter);
        let state = self.0.state();
        let mut ready = Events::NONE;
        if !state.pages.is_empty() {
            ready |= Events::IN | Events::RDNORM;
        }
        if !state.writer {
            ready |= Events::HUP;
        }
        ready
    }
}

impl Node for PipeWriter {
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        self.0.register(want, waiter);
        let state = self.0.state();
        let mut ready = Events::NONE;
        if state.pages.len() < state.slots {
            ready |= Events::OUT | Events::WRNORM;
        }
        if !state.reader {
            ready |= Events::ERR;
        }
        ready
    }
}
