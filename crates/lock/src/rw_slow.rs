//! Waiting to read or to write.
//!
//! All who cannot have the lock at once queue at the wait lock, readers and writers alike, and are
//! served in that queue's order. Its holder alone looks at the count word: a reader is counted and
//! waits for the writer to leave, then lets the next in the queue follow at once; a writer claims the
//! lock, which turns newcomers away, and waits until all have left.
//!
//! An interrupt's reader may have interrupted a reader, for whom a claiming writer waits: it cannot
//! queue behind that writer. So it waits for the one who writes only.
//!
//! Where waiters may park, the head of the queue sleeps on the count word after a bounded spin; those
//! behind it sleep as waiters of the wait lock.

use crate::platform::{Platform, parks, spins};
use crate::raw::{RawSpin, SpinCopies};
use crate::rw_raw::{QueuedRw, RwPlatform};
use crate::rw_word::{READER, READERS, RwWord, SLEEPING, TOO_MANY, WAITING, WRITER};
use crate::sync::{Ordering, acquire, planted};

/// Waits to read.
///
/// # Safety
/// The caller was counted as a reader and not admitted.
pub(crate) unsafe fn read<P: RwPlatform + SpinCopies>(lock: &QueuedRw) {
    let word = lock.word();
    if planted!(P, RwReaderIgnoresWaiting) && word.load(Ordering::Acquire) & WRITER == 0 {
        return;
    }
    if P::in_interrupt() {
        return read_beside_claim::<P>(lock);
    }
    // SAFETY: counted, as the caller says.
    refuse_too_many(unsafe { step_back::<P>(lock) });
    RawSpin::<P>::lock(lock.wait());
    let seen = word.count_reader(Ordering::Relaxed) + READER;
    if has_too_many(seen) {
        // SAFETY: locked above.
        unsafe { RawSpin::<P>::unlock(lock.wait()) };
        // SAFETY: counted above.
        unsafe { step_back::<P>(lock) };
        refuse_too_many(seen);
    }
    await_no::<P>(word, WRITER);
    // SAFETY: locked above.
    unsafe { RawSpin::<P>::unlock(lock.wait()) };
}

/// Waits for the one who writes only, for an interrupt that is counted as a reader.
fn read_beside_claim<P: Platform>(lock: &QueuedRw) {
    loop {
        let seen = lock.word().load(acquire!(P, RwRelaxedReadClaim));
        if has_too_many(seen) {
            // SAFETY: the interrupt is counted, and goes.
            unsafe { step_back::<P>(lock) };
            refuse_too_many(seen);
        }
        if seen & WRITER == 0 {
            return;
        }
        P::relax();
    }
}

/// Waits to write.
pub(crate) fn write<P: RwPlatform + SpinCopies>(lock: &QueuedRw) {
    let word = lock.word();
    RawSpin::<P>::lock(lock.wait());
    let in_the_way = if planted!(P, RwHeadIgnoresReaders) { WRITER } else { WRITER | READERS };
    if planted!(P, RwHeadLetsGo) {
        // SAFETY: locked above.
        unsafe { RawSpin::<P>::unlock(lock.wait()) };
    }
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & in_the_way != 0 {
            word.set(WAITING);
            await_no::<P>(word, in_the_way);
            continue;
        }
        // The claim ends with it, and so does what an earlier sleep left.
        let new = seen & READERS | WRITER;
        if word.compare_exchange(seen, new, acquire!(P, RwRelaxedWriteClaim)).is_ok() {
            break;
        }
    }
    if !planted!(P, RwHeadLetsGo) {
        // SAFETY: locked above.
        unsafe { RawSpin::<P>::unlock(lock.wait()) };
    }
}

/// Waits, as the head of the queue, until none of the bits `in_the_way` is set.
fn await_no<P: Platform>(word: &RwWord, in_the_way: u32) {
    loop {
        let mut turn = 0;
        while !parks::<P>() || turn < spins::<P>() {
            if turn > 0 {
                P::relax();
            }
            if word.load(acquire!(P, RwRelaxedReadClaim)) & in_the_way == 0 {
                return;
            }
            turn = turn.saturating_add(1);
        }
        sleep::<P>(word, in_the_way);
    }
}

/// Sleeps, as the head of the queue, until none of the bits `in_the_way` is set, or for no reason.
fn sleep<P: Platform>(word: &RwWord, in_the_way: u32) {
    let claim = if in_the_way == WRITER { 0 } else { WAITING };
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        if seen & in_the_way == 0 {
            return;
        }
        match word.compare_exchange(seen, seen | SLEEPING | claim, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => seen = now,
        }
    }
    // A writer stores that it is gone, and then looks for the bit. After the barrier, either it finds
    // the bit or its store is seen here. Readers leave by a locked step, which orders the two.
    P::barrier_all();
    seen = word.load(Ordering::Relaxed);
    while seen & in_the_way != 0 && seen & SLEEPING != 0 {
        P::wait(word.atomic(), RwWord::in_memory(seen));
        seen = word.load(Ordering::Relaxed);
    }
    // Awake, so nobody need kick. If somebody did, the claim is gone with the bit and is made anew.
    if seen & SLEEPING != 0 {
        word.clear(SLEEPING);
    }
    if claim != 0 {
        word.set(claim);
    }
}

/// Takes back that a reader was counted, which others may have taken for one who reads; what the word
/// was before.
///
/// # Safety
/// The caller was counted.
pub(crate) unsafe fn step_back<P: Platform>(lock: &QueuedRw) -> u32 {
    let seen = lock.word().uncount_reader(Ordering::Relaxed);
    if P::PARAVIRT && seen & WAITING != 0 && !planted!(P, RwNoKickAtStepBack) {
        wake::<P>(lock);
    }
    seen
}

/// Takes back that the writer's byte was set, which others may have taken for one who writes.
///
/// # Safety
/// It was 0 before, and the caller made it 1.
pub(crate) unsafe fn write_step_back<P: Platform>(lock: &QueuedRw) {
    let asleep = lock.word().unlock_write_sleeping(Ordering::Relaxed);
    if P::PARAVIRT && asleep && !planted!(P, RwNoKickAtWriterStepBack) {
        wake::<P>(lock);
    }
}

/// Wakes the head of the queue if it sleeps and nothing of what it waits for is in its way, for one
/// who left the lock.
///
/// That one left it before this looks. Whoever is in the way now looks for itself when it leaves, and
/// finds the bit that is found here.
pub(crate) fn wake<P: Platform>(lock: &QueuedRw) {
    let word = lock.word();
    let mut seen = word.load(Ordering::Relaxed);
    loop {
        let in_the_way = if seen & WAITING == 0 { WRITER } else { WRITER | READERS };
        if seen & SLEEPING == 0 || seen & in_the_way != 0 {
            return;
        }
        // With the claim, so that the lock does not stand idle until the head runs.
        match word.compare_exchange(seen, seen & !(SLEEPING | WAITING), Ordering::Relaxed) {
            Ok(_) => return P::kick(word.atomic()),
            Err(now) => seen = now,
        }
    }
}

/// Whether more readers are counted than a lock admits.
fn has_too_many(seen: u32) -> bool {
    seen & READERS >= TOO_MANY
}

/// Panics if in the word `seen`, which counts the caller as a reader, were too many.
fn refuse_too_many(seen: u32) {
    if has_too_many(seen) {
        let most = TOO_MANY / READER - 1;
        panic!("more than {most} readers of a lock at once: drop the guards, which may be leaked");
    }
}
