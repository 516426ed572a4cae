//! Threads that hammer one counter where it breaks, beside one that watches it all the time.
//!
//! Near the greatest count, four threads take and drop references until they are past it, and go on.
//! Near zero, they drop a reference too many, and go on. Two things must never be seen: a count after
//! the saturation, and a last reference among so many or after the saturation. A value may be off
//! `SATURATED` for the moment between the two halves of a fault, by what the threads can add at once.
//!
//! The work is counted in operations and its choices come from a seed. Only the interleaving differs
//! from run to run.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use refcount::{Backend, Counter};

use crate::width::Width;

/// Threads that change the counter; one more watches.
const THREADS: usize = 4;
/// Operations that use up the rest of the room to the greatest count, whatever came before.
const LAST_STEPS: i128 = 32;

/// Choices without a dependency: George Marsaglia's xorshift, period 2⁶⁴ − 1.
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number of `1..=max`.
    fn up_to(&mut self, max: i128) -> i128 {
        1 + i128::from(self.next() >> 1) % max
    }
}

/// What one thread has seen of a counter, which only goes one way.
struct Judge {
    /// The counts that are right before the saturation, those of a fault's first half among them.
    live: std::ops::RangeInclusive<i128>,
    saturated: i128,
    /// Numbers of the width.
    range: i128,
    /// How far from `saturated` the first halves of faults can be.
    off: i128,
    was_saturated: bool,
}

impl Judge {
    /// Takes a count that was read. What is far below `saturated` is just beyond the greatest count.
    fn see(&mut self, count: i128) -> Result<(), String> {
        let count = if count < self.saturated - self.off { count + self.range } else { count };
        if (count - self.saturated).abs() <= self.off {
            self.was_saturated = true;
            return Ok(());
        }
        if self.was_saturated {
            return Err(format!("a count of {count} after the saturation"));
        }
        if !self.live.contains(&count) {
            return Err(format!("a count of {count}, outside {:?}", self.live));
        }
        Ok(())
    }
}

/// One operation on a counter of which this thread holds `held` references; a last reference is an
/// error.
fn operate<B: Backend<W>, W: Width>(
    counter: &Counter<B, W>,
    choices: &mut Choices,
    step: i128,
    held: &mut i128,
) -> Result<(), String> {
    let i = choices.up_to(step);
    let mut last = false;
    let choice = choices.next() % 8;
    match choice {
        0 => counter.inc(),
        1 => counter.add(W::of(i)),
        2 => _ = counter.inc_not_zero(),
        3 => _ = counter.add_not_zero_acquire(W::of(i)),
        4 if *held > 1 => last = counter.dec_and_test(),
        5 if *held > i => last = counter.sub_and_test(W::of(i)),
        6 if *held > 1 => counter.dec(),
        7 if *held > 1 => last = !counter.dec_not_one(),
        _ => return Ok(()),
    }
    *held += match choice {
        0 | 2 => 1,
        1 | 3 => i,
        5 => -i,
        _ => -1,
    };
    if last { Err("a last reference among many".to_owned()) } else { Ok(()) }
}

/// One of the threads that the watcher watches, which is over also when it panics.
struct Working<'a>(&'a AtomicUsize);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Runs `work` on every thread at once, and a watcher beside them until all are done. The first
/// complaint, if there is one.
fn together<B: Backend<W>, W: Width>(
    counter: &Counter<B, W>,
    judge: impl Fn() -> Judge + Sync,
    work: impl Fn(usize, &mut Judge) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let start = Barrier::new(THREADS + 1);
    let working = AtomicUsize::new(THREADS);
    let watch = || {
        let mut judge = judge();
        start.wait();
        while working.load(Ordering::Acquire) != 0 {
            judge.see(counter.read().signed()).map_err(|what| format!("watcher: {what}"))?;
        }
        Ok(())
    };
    let run = |thread| {
        let _working = Working(&working);
        let mut judge = judge();
        start.wait();
        work(thread, &mut judge).map_err(|what| format!("thread {thread}: {what}"))
    };
    thread::scope(|scope| {
        let run = &run;
        let workers: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || run(n))).collect();
        let watcher = scope.spawn(watch);
        // All are joined before the first complaint ends this.
        let ends: Vec<_> = workers.into_iter().chain([watcher]).map(|t| t.join()).collect();
        ends.into_iter().try_for_each(|end| end.expect("a thread panicked"))
    })
}

/// Past the greatest count: `operations` on each thread to get there, and as many behind it.
pub(crate) fn near_the_greatest<B: Backend<W>, W: Width>(
    operations: u32,
    seed: u64,
) -> Result<(), String> {
    let (max, saturated) = (<W as refcount::Word>::MAX.signed(), W::SATURATED.signed());
    let room = (max + 1) / 16;
    // Half of the operations take, half of a step on average; a third of that is dropped again.
    let step = (room * 8 / (THREADS as i128 * i128::from(operations))).max(2);
    let last_step = room * 2 / LAST_STEPS;
    let off = THREADS as i128 * last_step.max(step);
    let counter = W::counter::<B>(max - room);
    let live = max - room..=max + off;
    let range = 2 * (max + 1);
    let judge = || Judge { live: live.clone(), saturated, range, off, was_saturated: false };
    together(&counter, judge, |thread, judge| {
        let mut choices = Choices(seed.wrapping_mul(31) + thread as u64 + 1);
        let mut held = 0;
        for n in 0..2 * operations {
            operate(&counter, &mut choices, step, &mut held)?;
            judge.see(counter.read().signed())?;
            if n == operations {
                for _ in 0..LAST_STEPS {
                    counter.add(W::of(last_step));
                    judge.see(counter.read().signed())?;
                }
            }
        }
        Ok(())
    })?;
    match counter.read().signed() {
        left if left == saturated => Ok(()),
        left => Err(format!("left at {left}, not saturated")),
    }
}

/// To zero, where exactly one thread is told that it was the last, and below.
pub(crate) fn near_zero<B: Backend<W>, W: Width>(operations: u32, seed: u64) -> Result<(), String> {
    let saturated = W::SATURATED.signed();
    let range = 2 * (<W as refcount::Word>::MAX.signed() + 1);
    let counter = W::counter::<B>(THREADS as i128);
    let step = 8;
    let off = THREADS as i128 * step;
    let lasts = AtomicUsize::new(0);
    let live = 0..=i128::from(operations) * THREADS as i128 * step;
    let judge = || Judge { live: live.clone(), saturated, range, off, was_saturated: false };
    together(&counter, judge, |thread, judge| {
        let mut choices = Choices(seed.wrapping_mul(37) + thread as u64 + 1);
        let mut held = 1;
        for _ in 0..operations {
            operate(&counter, &mut choices, step, &mut held)?;
            judge.see(counter.read().signed())?;
        }
        lasts.fetch_add(usize::from(counter.sub_and_test(W::of(held))), Ordering::Relaxed);
        if judge.was_saturated { Err("saturated without a fault".to_owned()) } else { Ok(()) }
    })?;
    let lasts = lasts.into_inner();
    if lasts != 1 || counter.read() != W::ZERO {
        return Err(format!("{lasts} last references, {:?} left", counter.read()));
    }

    // One more than there were.
    if counter.dec_and_test() {
        return Err("a last reference below zero".to_owned());
    }
    let judge = || Judge { live: 0..=0, saturated, range, off, was_saturated: true };
    together(&counter, judge, |thread, judge| {
        let mut choices = Choices(seed.wrapping_mul(41) + thread as u64 + 1);
        for _ in 0..operations {
            operate(&counter, &mut choices, step, &mut (2 * step))?;
            judge.see(counter.read().signed())?;
        }
        Ok(())
    })
}
