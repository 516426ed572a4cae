//! The four bytes of a queued spinlock.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0–7 | locked | 1: somebody holds the lock |
//! | 8–15 | | 0 |
//! | 16 | pending | native: somebody waits who is not queued, and is next. Paravirtual: the head of the queue is awake and claims the lock; nobody may overtake it |
//! | 17 | sleeping | paravirtual: the head of the queue sleeps on this word; who unlocks kicks it |
//! | 18–19 | level | the node of the last in the queue |
//! | 20–31 | cpu + 1 | its CPU; 0: the queue is empty |
//!
//! # Transitions
//!
//! As (tail, sleeping, pending, locked), where `n` and `m` are waiters' nodes and `*` any value. The
//! native lock:
//!
//! ```text
//!                 lock                          unlock
//! uncontended    (0,0,0,0) ──────► (0,0,0,1) ──────────► (0,0,0,0)
//!                                      │ second comer
//! pending                          (0,0,1,1) ─ unlock ─► (0,0,1,0) ─ pending takes it ─► (0,0,0,1)
//!                                      │ third comer
//! queue                            (n,0,1,1) ─ unlock ─► (n,0,1,0) ─ pending takes it ─► (n,0,0,1)
//!                                      │ later ones: (m,0,*,*)
//! head of queue  (n,0,0,0) ─ n was the last ─► (0,0,0,1)
//!                (m,0,0,0) ─ m came after n ─► (m,0,0,1), and n grants its successor
//! ```
//!
//! The paravirtual lock has no pending waiter. Newcomers that find others waiting come the slow way too,
//! but overtake them there, unless the head claims:
//!
//! ```text
//! overtaking     (*,s,0,0) ─ newcomer ─► (*,s,0,1) ─ unlock ─► (*,s,0,0), kicks if s
//! head awake     (n,0,0,*) ─ claims ─► (n,0,1,*) ─ unlocked ─► (n,0,1,0) ─ takes it ─► (0 or m,0,0,1)
//! head sleeps    (n,0,1,1) ─ gives up claim ─► (n,1,0,1) ─ unlock ─► (n,1,0,0) ─ kicks ─► (n,0,0,0)
//! ```
//!
//! # Byte and upper half
//!
//! A load that covers a store which is still in the store buffer, and more bytes than it, waits until
//! the store is done. So an unlock of one byte followed by a compare-exchange of all four costs almost
//! three times what either costs with its like. Therefore taking a free lock takes the holder's byte
//! alone, and then looks at the upper half. If others wait there, it has come too early, gives the byte
//! back as an unlock does, and waits like everybody else:
//!
//! ```text
//! too early      (*,*,*,0) ─ newcomer ─► (*,*,*,1) ─ gives back ─► (*,*,*,0), and wakes as an unlock
//! ```
//!
//! The look comes after the step that takes, so that its load does not fetch a line that another CPU is
//! about to write, only to have it taken away again. And the step is a compare-exchange, since on
//! x86-64 between CPUs an exchange costs a third more. Whoever takes the lock, in whatever way, does it
//! by one atomic step from unlocked to locked.
//!
//! # Orderings
//!
//! Taking the lock acquires. Unlocking releases. A waiter's node is published by the tail it swaps
//! in, which releases, and acquires the node of whoever was the tail before.

use crate::platform::Cpu;
use crate::sync::{AtomicU32, Ordering};

/// Held.
pub(crate) const LOCKED: u32 = 1;
/// Native: the waiter without a node. Paravirtual: the head of the queue claims.
pub(crate) const PENDING: u32 = 1 << 16;
/// The head of the queue sleeps.
pub(crate) const SLEEPING: u32 = 1 << 17;
/// All of the tail.
pub(crate) const TAIL: u32 = !0 << LEVEL_SHIFT;
/// All that says that somebody waits.
pub(crate) const UPPER: u32 = 0xffff << 16;
const LEVEL_SHIFT: u32 = 18;
const CPU_SHIFT: u32 = 20;

/// The last in the queue; all bits 0 if it is empty. In its place in the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail(u32);

impl Tail {
    /// The node of `cpu` at `level`, which is less than 4.
    pub(crate) fn new(cpu: Cpu, level: usize) -> Self {
        Self((u32::from(cpu.number()) + 1) << CPU_SHIFT | (level as u32) << LEVEL_SHIFT)
    }

    /// The tail in a word.
    pub(crate) fn of(word: u32) -> Self {
        Self(word & TAIL)
    }

    /// CPU number and level; `None` if nobody is queued.
    pub(crate) fn decode(self) -> Option<(u16, usize)> {
        let cpu = u16::try_from(self.0 >> CPU_SHIFT).ok()?.checked_sub(1)?;
        Some((cpu, (self.0 >> LEVEL_SHIFT & 3) as usize))
    }
}

/// What became of an attempt to take the holder's byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The lock is the caller's.
    Yes,
    /// It was somebody's.
    No,
    /// The byte is the caller's, but others wait for the lock: it is to be given back.
    Early,
}

/// The word.
///
/// Where the build has assembly for the target, parts of it are read and written apart from the rest,
/// which Rust's memory model has no operation for. Each such statement does to the word what atomic
/// operations of the whole would do: nobody else writes the holder's byte while the lock is held, so
/// storing zero to it is subtracting it; and exchanging the byte, if it was zero, is setting it. These
/// operations are the portable form beside the statement, and are what models run.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Word(AtomicU32);

impl Word {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The word as what a platform waits on.
    pub(crate) fn atomic(&self) -> &AtomicU32 {
        &self.0
    }

    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    #[inline(always)]
    pub(crate) fn compare_exchange(
        &self,
        old: u32,
        new: u32,
        success: Ordering,
    ) -> Result<u32, u32> {
        self.0.compare_exchange(old, new, success, Ordering::Relaxed)
    }

    /// Takes the holder's byte, if it is free; then looks whether somebody waits, as
    /// [`is_waited_for`](Self::is_waited_for) does.
    #[inline(always)]
    pub(crate) fn take<const SLEEPERS: bool>(&self, order: Ordering) -> Taken {
        #[cfg(all(lock_asm, target_arch = "x86_64"))]
        {
            let _ = order;
            macro_rules! take {
                ($look:literal) => {
                    // SAFETY: compares and exchanges the first byte of the word, which is borrowed; with
                    // a lock prefix it is atomic, acquires, and is done before the upper half is read.
                    unsafe {
                        core::arch::asm!(
                            "lock cmpxchg byte ptr [{word}], {held}",
                            "jne {refused}",
                            $look,
                            "jne {overtaken}",
                            word = in(reg) self.0.as_ptr(),
                            held = in(reg_byte) LOCKED as u8,
                            inout("al") 0_u8 => _,
                            refused = label { return Taken::No },
                            overtaken = label { return Taken::Early },
                            options(nostack),
                        );
                    }
                };
            }
            const { assert!(PENDING == 1 << 16) };
            if SLEEPERS {
                take!("cmp word ptr [{word} + 2], 0");
            } else {
                take!("test byte ptr [{word} + 2], 1");
            }
            Taken::Yes
        }
        #[cfg(all(lock_asm, target_arch = "aarch64"))]
        {
            let _ = order;
            if unlikely::unlikely!(self.exchange_byte() != 0) {
                Taken::No
            } else if unlikely::unlikely!(self.is_waited_for::<SLEEPERS>()) {
                Taken::Early
            } else {
                Taken::Yes
            }
        }
        #[cfg(not(lock_asm))]
        {
            if self.0.fetch_or(LOCKED, order) & LOCKED != 0 {
                Taken::No
            } else if self.is_waited_for::<SLEEPERS>() {
                Taken::Early
            } else {
                Taken::Yes
            }
        }
    }

    /// Whether somebody waits, by a read of the upper half alone where that is possible. Without
    /// `SLEEPERS` only a head of the queue that is awake counts.
    #[inline(always)]
    pub(crate) fn is_waited_for<const SLEEPERS: bool>(&self) -> bool {
        let counts = if SLEEPERS { UPPER } else { PENDING };
        #[cfg(lock_asm)]
        {
            let upper: u32;
            // SAFETY: reads the upper half of the word, which is borrowed.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                core::arch::asm!("movzx {upper:e}, word ptr [{word} + 2]",
                    word = in(reg) self.0.as_ptr(), upper = lateout(reg) upper,
                    options(nostack, preserves_flags, readonly));
            }
            // SAFETY: reads the upper half of the word, which is borrowed.
            #[cfg(target_arch = "aarch64")]
            unsafe {
                core::arch::asm!("ldrh {upper:w}, [{word}, #2]",
                    word = in(reg) self.0.as_ptr(), upper = lateout(reg) upper,
                    options(nostack, preserves_flags, readonly));
            }
            upper & counts >> 16 != 0
        }
        #[cfg(not(lock_asm))]
        {
            self.load(Ordering::Relaxed) & counts != 0
        }
    }

    /// Makes the holder's byte 1, and acquires. What it was.
    #[cfg(all(lock_asm, target_arch = "aarch64"))]
    #[inline(always)]
    fn exchange_byte(&self) -> u32 {
        let held: u32;
        // SAFETY: exchanges the first byte of the word, which is borrowed. The build is for CPUs that
        // have the instruction.
        #[cfg(target_feature = "lse")]
        unsafe {
            core::arch::asm!("swpab {one:w}, {held:w}, [{word}]",
                word = in(reg) self.0.as_ptr(), one = in(reg) 1, held = lateout(reg) held,
                options(nostack, preserves_flags));
        }
        // Not by an atomic of the language: for builds that may run with and without the newer
        // instructions, that would be a call.
        // SAFETY: exchanges the first byte of the word, which is borrowed, again if somebody wrote in
        // between.
        #[cfg(not(target_feature = "lse"))]
        unsafe {
            core::arch::asm!(
                "2: ldaxrb {held:w}, [{word}]",
                "stxrb {lost:w}, {one:w}, [{word}]",
                "cbnz {lost:w}, 2b",
                word = in(reg) self.0.as_ptr(), one = in(reg) 1,
                held = out(reg) held, lost = out(reg) _,
                options(nostack, preserves_flags));
        }
        held
    }

    /// Whether somebody holds the lock, by a read of the byte alone where that is possible.
    #[inline(always)]
    pub(crate) fn is_locked(&self) -> bool {
        #[cfg(all(lock_asm, target_arch = "x86_64"))]
        {
            let held: u32;
            // SAFETY: reads the first byte of the word, which is borrowed.
            unsafe {
                core::arch::asm!("movzx {held:e}, byte ptr [{word}]",
                    word = in(reg) self.0.as_ptr(), held = lateout(reg) held,
                    options(nostack, preserves_flags, readonly));
            }
            held != 0
        }
        #[cfg(not(all(lock_asm, target_arch = "x86_64")))]
        {
            self.load(Ordering::Relaxed) & LOCKED != 0
        }
    }

    /// Releases the lock. Nothing but the store.
    #[inline(always)]
    pub(crate) fn unlock(&self, order: Ordering) {
        #[cfg(all(lock_asm, target_arch = "x86_64"))]
        // SAFETY: writes the first byte of the word, which is borrowed; every store of x86-64
        // releases.
        unsafe {
            core::arch::asm!("mov byte ptr [{word}], 0", word = in(reg) self.0.as_ptr(),
                options(nostack, preserves_flags));
        }
        #[cfg(all(lock_asm, target_arch = "aarch64"))]
        // SAFETY: writes the first byte of the word, which is borrowed, and releases.
        unsafe {
            core::arch::asm!("stlrb wzr, [{word}]", word = in(reg) self.0.as_ptr(),
                options(nostack, preserves_flags));
        }
        #[cfg(lock_asm)]
        let _ = order;
        #[cfg(not(lock_asm))]
        self.0.fetch_sub(LOCKED, order);
    }

    /// Releases the lock; `true` if somebody sleeps.
    ///
    /// In assembly the two are a store and a load, in this order for the thread itself, but not for
    /// others: who goes to sleep orders them with
    /// [`Platform::barrier_all`](crate::Platform::barrier_all). The lock is still borrowed when the
    /// load reads it, though somebody else may hold it by then.
    #[cfg(not(all(lock_asm, target_arch = "x86_64")))]
    #[inline(always)]
    pub(crate) fn unlock_sleeping(&self, order: Ordering) -> bool {
        #[cfg(all(lock_asm, target_arch = "aarch64"))]
        {
            let _ = order;
            let kind: u32;
            // SAFETY: writes the first byte of the word, which is borrowed, and releases; reads the
            // third.
            unsafe {
                core::arch::asm!("stlrb wzr, [{word}]", "ldrb {kind:w}, [{word}, #2]",
                    word = in(reg) self.0.as_ptr(), kind = lateout(reg) kind,
                    options(nostack, preserves_flags));
            }
            kind & (SLEEPING >> 16) != 0
        }
        #[cfg(not(lock_asm))]
        {
            self.0.fetch_sub(LOCKED, order) & SLEEPING != 0
        }
    }

    /// Makes `tail` the last in the queue; who was it before. Acquires and releases.
    pub(crate) fn swap_tail(&self, tail: Tail) -> Tail {
        let mut seen = self.load(Ordering::Relaxed);
        loop {
            match self.compare_exchange(seen, seen & !TAIL | tail.0, Ordering::AcqRel) {
                Ok(_) => return Tail(seen & TAIL),
                Err(now) => seen = now,
            }
        }
    }

    pub(crate) fn set(&self, bits: u32) {
        self.0.fetch_or(bits, Ordering::Relaxed);
    }

    /// Clears bits; what the word was before.
    pub(crate) fn clear(&self, bits: u32) -> u32 {
        self.0.fetch_and(!bits, Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_tail_of_its_own() {
        let mut seen = std::collections::BTreeSet::new();
        for cpu in (0..Cpu::COUNT).filter_map(Cpu::new) {
            for level in 0..crate::node::LEVELS {
                let tail = Tail::new(cpu, level);
                assert_eq!(tail.0 & !TAIL, 0);
                assert_eq!(tail.decode(), Some((cpu.number(), level)));
                assert!(seen.insert(tail.0));
            }
        }
        assert_eq!(Tail::of(LOCKED | PENDING | SLEEPING).decode(), None);
        assert_eq!(Cpu::new(Cpu::COUNT), None);
    }

    #[test]
    fn writing_a_part_leaves_the_rest() {
        let word = Word::new();
        let tail = Tail::new(Cpu::new(5).unwrap(), 2);
        word.set(LOCKED | SLEEPING);
        assert_eq!(word.swap_tail(tail), Tail(0));
        assert_eq!(word.load(Ordering::Relaxed), tail.0 | LOCKED | SLEEPING);
        let next = Tail::new(Cpu::new(Cpu::COUNT - 1).unwrap(), 3);
        assert_eq!(word.swap_tail(next), tail);
        word.unlock(Ordering::Release);
        assert_eq!(word.load(Ordering::Relaxed), next.0 | SLEEPING);
        assert!(!word.is_locked());
        assert_eq!(word.clear(SLEEPING), next.0 | SLEEPING);
        assert_eq!(word.load(Ordering::Relaxed), next.0);
    }

    #[test]
    fn a_lock_is_taken_that_is_free_and_that_nobody_waits_for() {
        let last = Tail::new(Cpu::new(0).unwrap(), 0).0;
        for waiting in [PENDING, SLEEPING, last, last | PENDING] {
            let word = Word::new();
            word.set(waiting);
            assert!(word.is_waited_for::<true>());
            assert_eq!(word.take::<true>(Ordering::Acquire), Taken::Early);
            assert!(word.is_locked());
            assert_eq!(word.take::<true>(Ordering::Acquire), Taken::No);
            assert_eq!(word.load(Ordering::Relaxed), waiting | LOCKED);
        }
        for (waiting, taken) in [(SLEEPING | last, Taken::Yes), (PENDING, Taken::Early)] {
            let word = Word::new();
            word.set(waiting);
            assert_eq!(word.is_waited_for::<false>(), taken == Taken::Early);
            assert_eq!(word.take::<false>(Ordering::Acquire), taken);
        }
        let word = Word::new();
        assert_eq!(word.take::<true>(Ordering::Acquire), Taken::Yes);
        assert_eq!(word.take::<true>(Ordering::Acquire), Taken::No);
        assert_eq!(word.load(Ordering::Relaxed), LOCKED);
    }
}
