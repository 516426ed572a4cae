//! A slab of reference-counted slots, without locks and without unsafe code.
//!
//! The objects are made once and stay where they are for good: inserting sets one up again through a
//! shared reference, removing only puts its slot on a free list. So a lookup may look at a slot that is
//! being freed and set up for somebody else under its eyes; it sees the wrong object, but always *an*
//! object. Linux calls such memory "type-safe by RCU". The order of things in a lookup makes it the
//! right object:
//!
//! ```text
//!  insert                              get(id)
//!    take a slot off the free list       take a reference unless the count is 0   (acquire)
//!    set the object up                   is the generation still the one of `id`?
//!    store the new generation               yes: the object is ours to use
//!    set the count to 1      (release) ─►   no: drop the reference, there is no such object
//! ```
//!
//! A count above zero is all that keeps a slot from being given to somebody else. What a bug that
//! leaks references does to it is up to the counter's backend `B`: one that wraps comes round to zero,
//! and the slot changes hands in use; one that saturates stays where it is, and the slot is never given
//! away again.

pub mod sessions;

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use refcount::{Backend, Counter, DefaultBackend, Word};

/// Names an object, and keeps nothing alive: a slot, and which of its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    slot: u32,
    generation: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {}, generation {}", self.slot, self.generation)
    }
}

/// A place for one object after the other.
struct Slot<T, B> {
    /// 0 if the slot is free, or about to be or to be used; its table is at [`Counter`].
    refs: Counter<B>,
    /// Which object this is, counted from one. Written by whoever took the slot off the free list,
    /// before the count is set.
    generation: AtomicU64,
    /// The slot below on the free list, as in [`FreeList::head`]. Written by whoever puts it there.
    below: AtomicU32,
    object: T,
}

/// No slot.
const NONE: u32 = u32::MAX;

/// The free slots: a stack whose links are in the slots.
struct FreeList {
    /// | bits | meaning |
    /// |---|---|
    /// | 0..32 | the slot on top, or [`NONE`] |
    /// | 32..64 | how often the head was changed: a slot that left and came back is not taken for one that stayed |
    ///
    /// Pushing releases what was done with the slot, taking acquires it.
    head: AtomicU64,
}

impl FreeList {
    /// The slot on top becomes `top`.
    fn with_top(head: u64, top: u32) -> u64 {
        let changes = (head >> 32).wrapping_add(1);
        changes << 32 | u64::from(top)
    }

    fn push<T, B>(&self, slots: &[Slot<T, B>], slot: u32) {
        let push = |head| {
            slots[slot as usize].below.store(head as u32, Ordering::Relaxed);
            Self::with_top(head, slot)
        };
        self.head.update(Ordering::Release, Ordering::Relaxed, push);
    }

    fn pop<T, B>(&self, slots: &[Slot<T, B>]) -> Option<u32> {
        let pop = |head| {
            let top = slots.get(head as u32 as usize)?;
            Some(Self::with_top(head, top.below.load(Ordering::Relaxed)))
        };
        let head = self.head.try_update(Ordering::Acquire, Ordering::Acquire, pop).ok()?;
        Some(head as u32)
    }
}

/// A fixed number of slots for objects of type `T`, counted the way of `B`.
pub struct Slab<T, B = DefaultBackend> {
    slots: Box<[Slot<T, B>]>,
    free: FreeList,
}

impl<T, B: Backend<u32>> Slab<T, B> {
    /// A slab of `capacity` slots, with an object made by `make` in each.
    ///
    /// # Panics
    ///
    /// If `capacity` is `u32::MAX` or more.
    pub fn new(capacity: usize, mut make: impl FnMut() -> T) -> Self {
        assert!(capacity < NONE as usize, "a slab has less than {NONE} slots, not {capacity}");
        let slot = |_| Slot {
            refs: Counter::<B>::new(0),
            generation: AtomicU64::new(0),
            below: AtomicU32::new(NONE),
            object: make(),
        };
        let slots: Box<[_]> = (0..capacity).map(slot).collect();
        let free = FreeList { head: AtomicU64::new(u64::from(NONE)) };
        (0..capacity as u32).rev().for_each(|slot| free.push(&slots, slot));
        Self { slots, free }
    }

    /// Takes a free slot, and sets its object up by `set_up`. `None` if all are in use.
    pub fn insert(&self, set_up: impl FnOnce(&T)) -> Option<Handle<'_, T, B>> {
        let index = self.free.pop(&self.slots)?;
        let slot = &self.slots[index as usize];
        set_up(&slot.object);
        let generation = slot.generation.load(Ordering::Relaxed) + 1;
        slot.generation.store(generation, Ordering::Relaxed);
        slot.refs.set_release(1);
        Some(Handle { slab: self, id: Id { slot: index, generation } })
    }

    /// The object of this name, if it is still there.
    #[track_caller]
    pub fn get(&self, id: Id) -> Option<Handle<'_, T, B>> {
        let slot = &self.slots[id.slot as usize];
        if !slot.refs.inc_not_zero_acquire() {
            return None;
        }
        let generation = slot.generation.load(Ordering::Relaxed);
        // The reference is one to whatever is there now, and is dropped as such.
        let handle = Handle { slab: self, id: Id { slot: id.slot, generation } };
        (generation == id.generation).then_some(handle)
    }

    /// The handle that [`Handle::into_id`] gave up. It is up to the caller that each is taken back once:
    /// one too many is a reference dropped that somebody else holds.
    pub fn handle_of(&self, id: Id) -> Handle<'_, T, B> {
        Handle { slab: self, id }
    }

    /// How many slots hold an object that is in use, and how many one that is leaked for good.
    pub fn used_and_leaked(&self) -> (usize, usize) {
        let counts = self.slots.iter().map(|slot| slot.refs.read());
        counts.fold((0, 0), |(used, leaked), count| match count {
            0 => (used, leaked),
            1..=<u32 as Word>::MAX => (used + 1, leaked),
            _ => (used, leaked + 1),
        })
    }
}

/// A reference to an object. While it lives, so does the object — if the counter is right.
pub struct Handle<'a, T, B: Backend<u32> = DefaultBackend> {
    slab: &'a Slab<T, B>,
    id: Id,
}

impl<T, B: Backend<u32>> Handle<'_, T, B> {
    /// Gives up the handle for its name, which carries the reference from now on: for where no handle
    /// can be kept. [`Slab::handle_of`] takes it back.
    pub fn into_id(self) -> Id {
        ManuallyDrop::new(self).id
    }

    /// The name that the object was found by.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Which object is in the slot now. The same as [`Self::id`], unless a reference was dropped that
    /// was not counted: then this is use after free.
    pub fn id_now(&self) -> Id {
        Id { generation: self.slot().generation.load(Ordering::Relaxed), ..self.id }
    }

    /// The count of references, as it stands in the slot.
    pub fn count(&self) -> u32 {
        self.slot().refs.read()
    }

    /// Leaks `n` references at once, as if as many handles had been forgotten: what a program with a
    /// bug does in a year, in no time.
    #[track_caller]
    pub fn leak(&self, n: u32) {
        self.slot().refs.add(n);
    }

    fn slot(&self) -> &Slot<T, B> {
        &self.slab.slots[self.id.slot as usize]
    }
}

impl<T, B: Backend<u32>> Deref for Handle<'_, T, B> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.slot().object
    }
}

impl<T, B: Backend<u32>> Clone for Handle<'_, T, B> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.slot().refs.inc();
        Self { ..*self }
    }
}

impl<T, B: Backend<u32>> Drop for Handle<'_, T, B> {
    fn drop(&mut self) {
        if self.slot().refs.dec_and_test() {
            self.slab.free.push(&self.slab.slots, self.id.slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a thread that was about to take the first slot would put the second on top, which
    /// somebody else has.
    #[test]
    fn a_head_does_not_come_back_with_its_slot() {
        let slab = Slab::<()>::new(2, || ());
        let head = || slab.free.head.load(Ordering::Relaxed);
        let before = head();
        let (first, second) = (slab.insert(|()| ()), slab.insert(|()| ()));
        drop(second);
        drop(first);
        assert_eq!(head() as u32, before as u32, "the same slot is on top");
        assert_ne!(head(), before);
    }
}
