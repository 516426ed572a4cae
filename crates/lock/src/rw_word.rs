//! The count word of a queued read-write lock.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0–7 | writer | 1: somebody writes, or is about to find that others do |
//! | 8 | sleeping | paravirtual: the head of the queue sleeps on this word; who leaves the lock to it kicks it |
//! | 9–29 | readers | how many read, or are about to find that they may not. From 2^20 on, too many |
//! | 30 | waiting | the head of the queue claims the lock to write: newcomers must not read |
//!
//! The writer has a byte of its own, below the readers, so that ending to write is one store and no
//! count carries into that byte. The readers stand below the claim: a word that is 2^29 or more has a
//! claim or too many readers. Guards can be leaked without end, and a count that came round to zero
//! would let a writer in beside a reader; there is room for 2^20 who find that there are too many.
//!
//! # The bias
//!
//! On x86-64 an addition that gives the old word costs some percent more than one that gives flags
//! only. So what is in memory is the word and [`BIAS`] more, by which a word of 2^29 or more is negative.
//! After a reader was added the sign flag says that there is a claim or are too many readers, and
//! the parity flag, which is of the lowest byte, that there is a writer: `lock add; js; jnp`. Whatever is
//! said here and elsewhere is about the word without its bias.
//!
//! # Transitions
//!
//! As (writer, sleeping, waiting, readers); `r` is any number. Beside the word stands a queued spinlock,
//! whose holder is the *head of the queue*: nobody else sets `waiting` or `sleeping`.
//!
//! ```text
//! reading        (0,0,0,r) ─ read ─► (0,0,0,r+1) ─ unlock ─► (0,0,0,r)
//! writing        (0,0,0,0) ─ write ─► (1,0,0,0) ─ unlock ─► (0,0,0,0)
//! downgrade      (1,s,w,r) ──────► (0,s,w,r+1), wakes if s
//! turned away    (1,*,*,r) or (*,*,1,r) ─ reader ─► r+1 ─ steps back ─► r, and queues
//!                an interrupt's reader stays counted, and waits for the writer only
//!                (0,*,*,*), not all 0 ─ writer ─► (1,*,*,*) ─ steps back ─► (0,*,*,*), and queues
//! head reads     (1,0,0,r) ─ counts itself ─► (1,0,0,r+1) ─ writer's unlock ─► (0,0,0,r+1)
//! head writes    (1,0,0,*) or (0,0,0,r) ─ claims ─► (*,0,1,r) ─ the last leaves ─► (0,0,1,0)
//!                ─ takes it ─► (1,0,0,0)
//! ```
//!
//! The head counts itself or claims before it waits, so nobody that comes later is served before it.
//! Where waiters may park, a head that looked in vain for a while sleeps:
//!
//! ```text
//! reader         (1,0,0,r) ─ head sleeps ─► (1,1,0,r) ─ unlock ─► (0,1,0,r) ─ kicks ─► (0,0,0,r)
//! writer         (*,0,1,r) ─ head sleeps ─► (*,1,1,r) ─ the last leaves ─► (0,1,1,0)
//!                ─ kicks ─► (0,0,0,0): whoever runs may take it before the head claims it anew
//! ```
//!
//! A head asleep keeps its claim, as readers that relieve each other would otherwise never leave the
//! lock free, and nobody would kick. So a reader that leaves looks for a sleeper only where it finds a
//! claim: beside a head that waits to read, it is the writer who kicks.
//!
//! # Taking it to write
//!
//! A locked operation of the whole word waits for a byte store that is still in the store buffer: a
//! compare-exchange of the word after the last writer's unlock costs three times what it costs after a
//! store of the word. So on x86-64 the writer's byte is exchanged alone, and then the rest is looked
//! at, which by then admits nobody any more: if it is all zero, the lock is had, and otherwise the byte
//! is cleared again, as at an unlock. The look is one load of the three bytes above the writer's and of
//! one byte of the queue's lock, which are aligned so that no load tears them.
//!
//! # Orderings
//!
//! Reading acquires by the addition, or by the load that saw the writer gone; writing by the look that
//! found no reader, or by the compare-exchange. Both kinds of unlock release. A reader that steps back
//! has seen nothing and orders nothing.

#[cfg(lock_asm)]
use crate::rw_parts;
use crate::sync::{AtomicU32, Ordering};

/// Somebody writes.
pub(crate) const WRITER: u32 = 1;
/// The head of the queue sleeps.
pub(crate) const SLEEPING: u32 = 1 << 8;
/// One reader.
pub(crate) const READER: u32 = 1 << 9;
/// Beyond the readers that a lock admits.
pub(crate) const TOO_MANY: u32 = READER << 20;
/// The count, with room for those who find that there are too many.
pub(crate) const READERS: u32 = WAITING - READER;
/// The head of the queue claims the lock to write.
pub(crate) const WAITING: u32 = 1 << 30;

/// How much more than the word is in memory.
#[cfg(all(lock_asm, target_arch = "x86_64"))]
pub(crate) const BIAS: u32 = (1 << 31) - TOO_MANY;
/// How much more than the word is in memory.
#[cfg(not(all(lock_asm, target_arch = "x86_64")))]
pub(crate) const BIAS: u32 = 0;

/// No bit is two things, there is room for as many again who find that there are too many, and no
/// word is so great that its bias would bring it round.
const _: () = {
    assert!(
        READERS & (WAITING | SLEEPING | WRITER) == 0 && READERS >= TOO_MANY + (TOO_MANY - READER)
    );
    assert!((WAITING | READERS | SLEEPING | WRITER).checked_add(BIAS).is_some());
};

/// Whether a newcomer may read that found the word so: neither writer nor claim, nor too many readers.
///
/// With the writer brought above all other bits that is one comparison.
#[inline(always)]
pub(crate) const fn admits(word: u32) -> bool {
    word.rotate_right(8) < (TOO_MANY - READER) >> 8
}

/// The word. What is said of the spinlock's word holds here too: the writer's byte is stored apart
/// from the rest where the build has assembly for that, and what the store does is subtract it.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct RwWord(AtomicU32);

impl RwWord {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(BIAS))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(BIAS))
    }

    /// The word as what a platform waits on.
    pub(crate) fn atomic(&self) -> &AtomicU32 {
        &self.0
    }

    /// What is in memory if the word is so: what a platform is to expect.
    pub(crate) const fn in_memory(word: u32) -> u32 {
        word.wrapping_add(BIAS)
    }

    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> u32 {
        self.0.load(order).wrapping_sub(BIAS)
    }

    #[inline(always)]
    pub(crate) fn compare_exchange(
        &self,
        old: u32,
        new: u32,
        success: Ordering,
    ) -> Result<u32, u32> {
        let [old, new] = [old, new].map(Self::in_memory);
        let found = self.0.compare_exchange(old, new, success, Ordering::Relaxed);
        match found {
            Ok(was) => Ok(was.wrapping_sub(BIAS)),
            Err(is) => Err(is.wrapping_sub(BIAS)),
        }
    }

    /// Counts a reader; what the word was before.
    pub(crate) fn count_reader(&self, order: Ordering) -> u32 {
        self.0.fetch_add(READER, order).wrapping_sub(BIAS)
    }

    /// Counts one reader less; what the word was before.
    pub(crate) fn uncount_reader(&self, order: Ordering) -> u32 {
        self.0.fetch_sub(READER, order).wrapping_sub(BIAS)
    }

    /// Counts a reader; whether the word before admitted it, if not, it is counted all the same.
    #[inline(always)]
    pub(crate) fn add_reader(&self, order: Ordering) -> bool {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::add_reader(&self.0)
        }
        #[cfg(not(lock_asm))]
        {
            admits(self.0.fetch_add(READER, order))
        }
    }

    /// Counts one reader less.
    #[inline(always)]
    pub(crate) fn sub_reader(&self, order: Ordering) {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::sub_reader(&self.0);
        }
        #[cfg(not(lock_asm))]
        {
            self.0.fetch_sub(READER, order);
        }
    }

    /// Counts one reader less; whether the head of the queue claims the lock, or there are too many.
    #[inline(always)]
    pub(crate) fn sub_reader_claimed(&self, order: Ordering) -> bool {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::sub_reader_claimed(&self.0)
        }
        #[cfg(not(lock_asm))]
        {
            self.0.fetch_sub(READER, order) & WAITING != 0
        }
    }

    /// Takes the lock to write if it is free, by one step.
    #[cfg(not(all(lock_asm, target_arch = "x86_64")))]
    #[inline(always)]
    pub(crate) fn take_write(&self, order: Ordering) -> bool {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::take_write(&self.0)
        }
        #[cfg(not(lock_asm))]
        {
            self.compare_exchange(0, WRITER, order).is_ok()
        }
    }

    /// Whether nothing but a writer is in the word, and with assembly, nobody is the head of the queue.
    #[cfg(any(loom, all(lock_asm, target_arch = "x86_64")))]
    #[inline(always)]
    pub(crate) fn rest_is_free(&self, order: Ordering) -> bool {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::rest_is_free(&self.0)
        }
        #[cfg(not(lock_asm))]
        {
            self.load(order) & !WRITER == 0
        }
    }

    /// Makes the writer's byte 1; whether it was 0, so that it is the caller's now.
    #[cfg(any(loom, all(lock_asm, target_arch = "x86_64")))]
    #[inline(always)]
    pub(crate) fn exchange_writer(&self, order: Ordering) -> bool {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::exchange_writer(&self.0)
        }
        #[cfg(not(lock_asm))]
        {
            self.0.fetch_or(WRITER, order) & WRITER == 0
        }
    }

    /// Whether somebody writes, by a read of the byte alone where that is possible.
    #[inline(always)]
    pub(crate) fn is_written(&self) -> bool {
        #[cfg(all(lock_asm, target_arch = "x86_64"))]
        {
            rw_parts::is_written(&self.0)
        }
        #[cfg(not(all(lock_asm, target_arch = "x86_64")))]
        {
            self.load(Ordering::Relaxed) & WRITER != 0
        }
    }

    /// The writer becomes a reader; what the word was before.
    #[inline(always)]
    pub(crate) fn downgrade(&self, order: Ordering) -> u32 {
        self.0.fetch_add(READER - WRITER, order).wrapping_sub(BIAS)
    }

    /// The writer's unlock. Nothing but the store.
    #[inline(always)]
    pub(crate) fn unlock_write(&self, order: Ordering) {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::unlock_write(&self.0);
        }
        #[cfg(not(lock_asm))]
        self.0.fetch_sub(WRITER, order);
    }

    /// The writer's unlock; `true` if somebody sleeps.
    ///
    /// In assembly a store and then a load, which others may see in the other order: who goes to sleep
    /// orders them with [`Platform::barrier_all`](crate::Platform::barrier_all). The lock is still
    /// borrowed at the load, though somebody else may have it by then.
    #[inline(always)]
    pub(crate) fn unlock_write_sleeping(&self, order: Ordering) -> bool {
        #[cfg(lock_asm)]
        {
            let _ = order;
            rw_parts::unlock_write_sleeping(&self.0)
        }
        #[cfg(not(lock_asm))]
        {
            self.0.fetch_sub(WRITER, order) & SLEEPING != 0
        }
    }

    pub(crate) fn set(&self, bits: u32) {
        if BIAS == 0 {
            self.0.fetch_or(bits, Ordering::Relaxed);
        } else {
            self.update(|word| word | bits);
        }
    }

    /// Clears bits; what the word was before.
    pub(crate) fn clear(&self, bits: u32) -> u32 {
        if BIAS == 0 {
            return self.0.fetch_and(!bits, Ordering::Relaxed);
        }
        self.update(|word| word & !bits)
    }

    /// Changes the word, relaxed; what it was before. The bits of a biased word are not there to be
    /// set and cleared by themselves.
    fn update(&self, new: impl Fn(u32) -> u32) -> u32 {
        let mut seen = self.load(Ordering::Relaxed);
        loop {
            match self.compare_exchange(seen, new(seen), Ordering::Relaxed) {
                Ok(_) => return seen,
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_writers_byte_is_stored_without_the_rest() {
        let word = RwWord::new();
        let rest = WAITING | SLEEPING | (5 * READER);
        word.set(WRITER | rest);
        word.unlock_write(Ordering::Release);
        assert_eq!(word.load(Ordering::Relaxed), rest);
        word.set(WRITER);
        assert!(word.unlock_write_sleeping(Ordering::Release));
        assert_eq!(word.clear(SLEEPING), rest);
        word.set(WRITER);
        assert!(!word.unlock_write_sleeping(Ordering::Release));
        word.set(WRITER);
        assert_eq!(word.downgrade(Ordering::Release), WRITER | WAITING | (5 * READER));
        assert_eq!(word.load(Ordering::Relaxed), WAITING | (6 * READER));
    }

    /// Every mix of writer, sleeper, claim and a count at either end of its ranges.
    fn words() -> impl Iterator<Item = u32> {
        let last = TOO_MANY / READER;
        let counts = [0, 1, 2, last - 2, last - 1, last, last + 1, 2 * last - 2, 2 * last - 1];
        let kinds = (0..8)
            .map(|n: u32| ((n & 1) * WRITER) | ((n >> 1 & 1) * SLEEPING) | ((n >> 2) * WAITING));
        kinds.flat_map(move |kind| counts.map(|count| kind | (count * READER)))
    }

    #[test]
    fn a_reader_is_admitted_beside_readers_only() {
        for before in words() {
            let word = RwWord::new();
            word.set(before);
            let admitted = before & (WRITER | WAITING) == 0 && before & READERS < TOO_MANY - READER;
            assert_eq!(admits(before), admitted, "{before:#x}");
            if before & READERS < READERS {
                assert_eq!(word.add_reader(Ordering::Acquire), admitted, "{before:#x}");
                assert_eq!(word.load(Ordering::Relaxed), before + READER, "{before:#x}");
            }
        }
    }

    #[test]
    fn a_reader_that_leaves_sees_the_claim() {
        for before in words().filter(|word| word & READERS != 0) {
            let word = RwWord::new();
            word.set(before);
            word.sub_reader(Ordering::Release);
            let after = before - READER;
            assert_eq!(word.load(Ordering::Relaxed), after, "{before:#x}");
            word.add_reader(Ordering::Acquire);
            let claimed = word.sub_reader_claimed(Ordering::Release);
            assert_eq!(word.load(Ordering::Relaxed), after, "{before:#x}");
            // Too many may look like a claim.
            if after & READERS < TOO_MANY {
                assert_eq!(claimed, after & WAITING != 0, "{before:#x}");
            }
        }
    }
}
