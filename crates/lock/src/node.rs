//! Places in a queue.
//!
//! Who waits in the queue of a lock spins on a node of its own CPU and not on the lock. A CPU waits
//! for at most one lock at each level of interruption, and there are four: task, bottom half,
//! interrupt, and an interrupt that cannot be masked. So four nodes a CPU serve all locks, and a lock
//! names a node in 16 bits.

use core::ptr;
use core::sync::atomic::compiler_fence;

use crate::platform::{Cpu, Platform};
use crate::sync::{AtomicPtr, AtomicU32, Ordering};
use crate::word::Tail;

/// How deep waiting can nest on a CPU. Who comes deeper spins without a node.
pub const LEVELS: usize = 4;

/// Its owner waits and looks now and then.
pub(crate) const WAITING: u32 = 0;
/// Its owner is the head of the queue.
pub(crate) const GRANTED: u32 = 1;
/// Its owner sleeps, or is about to.
pub(crate) const PARKED: u32 = 2;

/// One waiter's place.
///
/// | `state` | meaning | set by |
/// |---|---|---|
/// | `WAITING` | its owner spins | the owner, before the node is in a queue |
/// | `PARKED` | its owner waits on the word `state` | the owner, from `WAITING` |
/// | `GRANTED` | its owner is the head of the queue | the head before it, by a swap; kicks if it was `PARKED` |
///
/// `next` is null until the successor writes itself there, which it does once, after it took the
/// tail of the lock.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) next: AtomicPtr<Node>,
    pub(crate) state: AtomicU32,
}

/// The nodes of one CPU, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub struct Nodes {
    nodes: [Node; LEVELS],
    /// How many are in use. Only their own CPU writes it, and what interrupts it puts it back.
    used: AtomicU32,
}

impl Nodes {
    /// None in use.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        const fn node() -> Node {
            Node { next: AtomicPtr::new(ptr::null_mut()), state: AtomicU32::new(WAITING) }
        }
        Self { nodes: [node(), node(), node(), node()], used: AtomicU32::new(0) }
    }

    /// None in use.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        let node =
            || Node { next: AtomicPtr::new(ptr::null_mut()), state: AtomicU32::new(WAITING) };
        Self { nodes: [node(), node(), node(), node()], used: AtomicU32::new(0) }
    }

    fn get(&self, level: usize) -> Option<&Node> {
        self.nodes.get(level)
    }
}

impl Default for Nodes {
    fn default() -> Self {
        Self::new()
    }
}

/// A node in use, until this is dropped.
pub(crate) struct Place {
    nodes: &'static Nodes,
    pub(crate) node: &'static Node,
    pub(crate) tail: Tail,
}

impl Place {
    /// A node of this CPU that is ready to be queued; `None` if there is no more.
    ///
    /// The running code must stay on its CPU.
    pub(crate) fn take<P: Platform>() -> Option<Self> {
        let cpu = P::cpu()?;
        let nodes = P::nodes(cpu);
        let level = nodes.used.load(Ordering::Relaxed);
        let node = nodes.get(level as usize)?;
        nodes.used.store(level + 1, Ordering::Relaxed);
        // An interrupt from here on must find the node in use.
        compiler_fence(Ordering::SeqCst);
        node.next.store(ptr::null_mut(), Ordering::Relaxed);
        node.state.store(WAITING, Ordering::Relaxed);
        Some(Self { nodes, node, tail: Tail::new(cpu, level as usize) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        let used = self.nodes.used.load(Ordering::Relaxed);
        self.nodes.used.store(used - 1, Ordering::Relaxed);
    }
}

/// The node that a lock word names.
pub(crate) fn node_of<P: Platform>(tail: Tail) -> Option<&'static Node> {
    let (cpu, level) = tail.decode()?;
    P::nodes(Cpu::new(cpu)?).get(level)
}
