//! A system without threads: files whose readiness the test sets, a clock that moves only when the
//! caller sleeps, and a script of what happens while it does. Everything is counted.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use poll::{Clock, Events, Fault, File, Files, PollFd, Signals, System, Time, UserSet, Wait};

/// One file.
#[derive(Default)]
pub(crate) struct SimFile {
    pub(crate) ready: Cell<Events>,
    pub(crate) polled: Cell<usize>,
    /// What each registration wanted.
    pub(crate) registered: RefCell<Vec<Events>>,
}

/// What happens during one sleep: the clock moves on by this much, and then this.
type Sleep = (u64, Box<dyn FnOnce(&State)>);

/// Shared by the system and its waiters.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) files: RefCell<BTreeMap<u32, Rc<SimFile>>>,
    pub(crate) now: Cell<u64>,
    pub(crate) clock_reads: Cell<usize>,
    pub(crate) pending: Cell<bool>,
    /// Set while a mask is in force; the first is the latest.
    pub(crate) masks: RefCell<Vec<u64>>,
    pub(crate) restored: RefCell<Vec<bool>>,
    pub(crate) registration_fails: Cell<bool>,
    pub(crate) waiters: Cell<usize>,
    pub(crate) deadlines: RefCell<Vec<Option<Time>>>,
    script: RefCell<VecDeque<Sleep>>,
}

/// The system.
pub(crate) struct Sim {
    pub(crate) state: Rc<State>,
    pub(crate) limit: usize,
}

impl Sim {
    /// With these files, each with what is ready, numbered from 0.
    pub(crate) fn new(ready: &[Events]) -> Self {
        let sim = Self { state: Rc::default(), limit: 1024 };
        for (fd, ready) in ready.iter().enumerate() {
            let file = SimFile { ready: Cell::new(*ready), ..SimFile::default() };
            let fd = u32::try_from(fd).expect("a small number");
            sim.state.files.borrow_mut().insert(fd, Rc::new(file));
        }
        sim.state.now.set(1_000_000);
        sim
    }

    pub(crate) fn file(&self, fd: u32) -> Rc<SimFile> {
        self.state.files.borrow()[&fd].clone()
    }

    /// The next sleep lasts so long and ends with this.
    pub(crate) fn during_sleep(&self, ns: u64, then: impl FnOnce(&State) + 'static) {
        self.state.script.borrow_mut().push_back((ns, Box::new(then)));
    }

    pub(crate) fn sleeps(&self) -> usize {
        self.state.deadlines.borrow().len()
    }

    pub(crate) fn registrations(&self, fd: u32) -> usize {
        self.file(fd).registered.borrow().len()
    }
}

pub(crate) struct Held(Rc<SimFile>);

pub(crate) struct Sleeper {
    state: Rc<State>,
    failed: bool,
}

impl File<Sleeper> for Held {
    fn poll(&self, want: Events, waiter: Option<&mut Sleeper>) -> Events {
        self.0.polled.set(self.0.polled.get() + 1);
        if let Some(waiter) = waiter {
            self.0.registered.borrow_mut().push(want);
            waiter.failed |= waiter.state.registration_fails.get();
        }
        self.0.ready.get()
    }
}

impl Files for Sim {
    type Waiter = Sleeper;
    type Ref<'a> = Held;

    fn lookup(&self, fd: u32) -> Option<Held> {
        self.state.files.borrow().get(&fd).cloned().map(Held)
    }
}

impl Wait for Sleeper {
    fn wait(&mut self, deadline: Option<Time>) {
        self.state.deadlines.borrow_mut().push(deadline);
        let next = self.state.script.borrow_mut().pop_front();
        match (next, deadline) {
            (Some((ns, then)), _) => {
                self.state.now.set(self.state.now.get() + ns);
                then(&self.state);
            }
            (None, Some(deadline)) => self.state.now.set(deadline.0),
            (None, None) => panic!("it would sleep for ever"),
        }
    }

    fn failed(&self) -> bool {
        self.failed
    }
}

impl Clock for Sim {
    fn now(&self) -> Time {
        self.state.clock_reads.set(self.state.clock_reads.get() + 1);
        Time(self.state.now.get())
    }
}

impl Signals for Sim {
    type Mask = u64;

    fn pending(&self) -> bool {
        self.state.pending.get()
    }

    fn install(&self, mask: &u64) {
        self.state.masks.borrow_mut().push(*mask);
    }

    fn restore(&self, interrupted: bool) {
        self.state.restored.borrow_mut().push(interrupted);
    }
}

impl System for Sim {
    fn waiter(&self) -> Sleeper {
        self.state.waiters.set(self.state.waiters.get() + 1);
        Sleeper { state: self.state.clone(), failed: false }
    }

    fn descriptor_limit(&self) -> usize {
        self.limit
    }
}

/// A set in memory that faults where it is told to.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) entries: Vec<PollFd>,
    pub(crate) unreadable: bool,
    pub(crate) unwritable_from: Option<usize>,
    pub(crate) reads: Cell<usize>,
}

impl UserSet for Memory {
    fn read(&self, into: &mut [PollFd]) -> Result<(), Fault> {
        self.reads.set(self.reads.get() + 1);
        if self.unreadable && !into.is_empty() {
            return Err(Fault);
        }
        into.copy_from_slice(&self.entries[..into.len()]);
        Ok(())
    }

    fn write_revents(&mut self, index: usize, revents: Events) -> Result<(), Fault> {
        if self.unwritable_from.is_some_and(|from| index >= from) {
            return Err(Fault);
        }
        self.entries[index].revents = revents;
        Ok(())
    }
}
