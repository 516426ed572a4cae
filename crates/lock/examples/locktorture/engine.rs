//! Torture for locks, after the kernel's locktorture.
//!
//! Writers and readers take a lock over and over, in changing contexts and for changing times, and look
//! whether they are as alone as they were promised. Meanwhile the scheduler is kept from settling:
//!
//! - **shuffle**: threads pin themselves to another CPU now and then, so that holders and waiters are
//!   preempted and moved;
//! - **stutter**: the work is cut into rounds, between which all stop, to start again together;
//! - **onoff**: a thread ends at any time and another takes its part, so that its number and its queue
//!   nodes change hands while others wait.
//!
//! What the lock protects is made of atomics, so that a lock that does not exclude is a finding and no
//! undefined behaviour. `lock_busted` is such a lock, and shows that it would be found.

use std::sync::Barrier;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed,
};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use lock::{
    Cpu, Flags, IrqSave, IrqSections, Nodes, Plain, Platform, RawRw, RawSpin, RwLock, RwPlatform,
    SpinLock, StdNative,
};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A lock, as far as it is tortured. `how` draws one of the ways that it can be taken.
pub(crate) trait Tortured: Sync {
    /// Takes the lock to write and runs `inside`, and then perhaps `after`, as a reader. `false` if it
    /// only tried, and the lock was not to be had.
    fn write(&self, how: u32, inside: &mut dyn FnMut(), after: &mut dyn FnMut()) -> bool;
    /// Takes the lock to read and runs `inside`. `false` as for [`write`](Self::write).
    fn read(&self, how: u32, inside: &mut dyn FnMut()) -> bool;
}

impl<P: Platform, R: RawSpin<P>> Tortured for SpinLock<(), P, R> {
    fn write(&self, how: u32, inside: &mut dyn FnMut(), _: &mut dyn FnMut()) -> bool {
        match how % 16 {
            0 => {
                let _guard = self.lock_in::<IrqSave>();
                inside();
            }
            1 => return self.try_lock_in::<Plain>().map(|_guard| inside()).is_some(),
            2 => {
                let _guard = self.lock_bh();
                inside();
            }
            _ => {
                let _guard = self.lock();
                inside();
            }
        }
        true
    }

    fn read(&self, how: u32, inside: &mut dyn FnMut()) -> bool {
        self.write(how, inside, &mut || ())
    }
}

impl<P: Platform, R: RawRw<P>> Tortured for RwLock<(), P, R> {
    fn write(&self, how: u32, inside: &mut dyn FnMut(), after: &mut dyn FnMut()) -> bool {
        match how % 16 {
            0 => {
                let _guard = self.write_irqsave();
                inside();
            }
            1 => return self.try_write().map(|_guard| inside()).is_some(),
            2 | 3 => {
                let guard = self.write_bh();
                inside();
                let _guard = guard.downgrade();
                after();
            }
            _ => {
                let _guard = self.write();
                inside();
            }
        }
        true
    }

    fn read(&self, how: u32, inside: &mut dyn FnMut()) -> bool {
        match how % 16 {
            0 => {
                let _guard = self.read_irqsave();
                inside();
            }
            1 => return self.try_read().map(|_guard| inside()).is_some(),
            _ => {
                let _guard = self.read();
                inside();
            }
        }
        true
    }
}

/// No lock at all: what must be found.
pub(crate) struct Busted;

impl Tortured for Busted {
    fn write(&self, _: u32, inside: &mut dyn FnMut(), _: &mut dyn FnMut()) -> bool {
        inside();
        true
    }

    fn read(&self, _: u32, inside: &mut dyn FnMut()) -> bool {
        inside();
        true
    }
}

/// Threads as CPUs, where waiters spin in turn, but give way at each turn: with [`StdNative`] on a busy
/// machine, each hand-over can take a whole time slice of the one who waits for it.
#[derive(Debug)]
pub(crate) enum GivesWay {}

#[expect(unsafe_code, reason = "a platform vouches for itself")]
// SAFETY: it is `StdNative` in everything but how it passes the time.
unsafe impl Platform for GivesWay {
    const PARAVIRT: bool = false;
    fn cpu() -> Option<Cpu> {
        StdNative::cpu()
    }
    fn nodes(cpu: Cpu) -> &'static Nodes {
        StdNative::nodes(cpu)
    }
    fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R {
        StdNative::with_irq_sections(f)
    }
    fn preempt_disable() {}
    fn preempt_enable() {}
    fn bh_disable() {
        StdNative::bh_disable();
    }
    fn bh_enable() {
        StdNative::bh_enable();
    }
    fn irq_save() -> Flags {
        StdNative::irq_save()
    }
    fn irq_restore(flags: Flags) {
        StdNative::irq_restore(flags);
    }
    fn relax() {
        thread::yield_now();
    }
    fn wait(_: &AtomicU32, _: u32) {}
    fn kick(_: &AtomicU32) {}
    fn barrier_all() {}
}

impl RwPlatform for GivesWay {
    fn in_interrupt() -> bool {
        StdNative::in_interrupt()
    }
}

lock::spin_copies!(GivesWay);
lock::rw_copies!(GivesWay);

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// So many times that somebody takes the lock, or tries to.
    Operations(u64),
    /// The first round's end after so much time.
    Elapsed(Duration),
}

/// What is done to a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) writers: usize,
    pub(crate) readers: usize,
    pub(crate) until: Until,
    /// Operations between two times that all stop.
    pub(crate) round: u32,
    pub(crate) shuffle: bool,
    pub(crate) onoff: bool,
    pub(crate) seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How often each writer had the lock.
    pub(crate) writes: Vec<u64>,
    /// How often each reader had it.
    pub(crate) reads: Vec<u64>,
    /// How often somebody was not alone, or found the work of a writer half done.
    pub(crate) violations: u64,
    /// Writes that are missing from the value, or too many there.
    pub(crate) lost: u64,
    /// Threads that took the part of another.
    pub(crate) replaced: u64,
    /// Times that a thread was pinned to another CPU.
    pub(crate) moved: u64,
}

impl Outcome {
    pub(crate) fn is_clean(&self) -> bool {
        self.violations == 0 && self.lost == 0
    }

    /// The most that one of a kind had the lock, by the least. Infinite if one never had it; 1 without
    /// anybody of the kind.
    pub(crate) fn unfairness(counts: &[u64]) -> f64 {
        match (counts.iter().max(), counts.iter().min()) {
            (Some(&most), Some(&least)) => most as f64 / least as f64,
            _ => 1.0,
        }
    }
}

/// What the lock protects, and what is seen of who is inside.
#[derive(Default)]
struct Arena {
    cpus: Vec<usize>,
    value: [AtomicU64; 4],
    writers: AtomicI32,
    readers: AtomicI32,
    /// Operations that may still begin in this round.
    left: AtomicI64,
    violations: AtomicU64,
    replaced: AtomicU64,
    moved: AtomicU64,
    /// Somebody was not alone: no need to go on.
    stop: AtomicBool,
}

impl Arena {
    fn check(&self, right: bool) {
        if !right {
            self.violations.fetch_add(1, Relaxed);
            self.stop.store(true, Relaxed);
        }
    }

    fn written(&self, delay: &mut dyn FnMut()) {
        self.check(self.writers.fetch_add(1, Relaxed) == 0 && self.readers.load(Relaxed) == 0);
        let before = self.value[0].load(Relaxed);
        for (at, word) in self.value.iter().enumerate() {
            self.check(word.load(Relaxed) == before);
            word.store(before + 1, Relaxed);
            if at == 1 {
                delay();
            }
        }
        self.check(self.writers.fetch_sub(1, Relaxed) == 1 && self.readers.load(Relaxed) == 0);
    }

    fn read(&self, delay: &mut dyn FnMut()) {
        self.readers.fetch_add(1, Relaxed);
        self.check(self.writers.load(Relaxed) == 0);
        let before = self.value[0].load(Relaxed);
        delay();
        self.check(self.value.iter().all(|word| word.load(Relaxed) == before));
        self.check(self.writers.load(Relaxed) == 0);
        self.readers.fetch_sub(1, Relaxed);
    }
}

/// A part in the play, which threads take one after the other.
#[derive(Clone, Copy)]
struct Part<'a> {
    writes: bool,
    had: &'a AtomicU64,
    seed: u64,
}

/// How many operations one takes from what is left at a time.
const SLICE: i64 = 8;

/// Takes `part` until the round is over.
fn play<'scope, 'env: 'scope, L: Tortured>(
    scope: &'scope Scope<'scope, 'env>,
    (lock, arena, plan, part): (&'env L, &'env Arena, &'env Plan, Part<'env>),
) {
    let mut random = ChaCha8Rng::seed_from_u64(part.seed);
    while !arena.stop.load(Relaxed) && arena.left.fetch_sub(SLICE, Relaxed) > 0 {
        for _ in 0..SLICE {
            operate(lock, arena, part, &mut random);
        }
        if plan.shuffle && random.random_ratio(1, 128) {
            arena.moved.fetch_add(u64::from(pin(&arena.cpus, &mut random)), Relaxed);
        }
        if plan.onoff && random.random_ratio(1, 512) {
            arena.replaced.fetch_add(1, Relaxed);
            let part = Part { seed: random.random(), ..part };
            scope.spawn(move || play(scope, (lock, arena, plan, part)));
            return;
        }
    }
}

fn operate<L: Tortured>(lock: &L, arena: &Arena, part: Part, random: &mut ChaCha8Rng) {
    let (how, turns) = (random.random(), random.random_range(0..32));
    // Preempted, in effect, while it holds the lock.
    let gives_way = random.random_ratio(1, 64);
    let mut delay = || {
        (0..turns).for_each(|_| std::hint::spin_loop());
        if gives_way {
            thread::yield_now();
        }
    };
    let had = if part.writes {
        lock.write(how, &mut || arena.written(&mut delay), &mut || arena.read(&mut || ()))
    } else {
        lock.read(how, &mut || arena.read(&mut delay))
    };
    part.had.fetch_add(u64::from(had), Relaxed);
}

/// The CPUs that the process may use. Asked once: a thread that is pinned may use one.
fn allowed_cpus() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect()
}

/// Pins the thread to one of `cpus`. `false` where that is refused.
fn pin(cpus: &[usize], random: &mut ChaCha8Rng) -> bool {
    let Some(&cpu) = cpus.choose(random) else { return false };
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).is_ok()
}

/// Does to `lock` what the plan says. It ends early at the first violation.
pub(crate) fn torture<L: Tortured>(lock: &L, plan: &Plan) -> Outcome {
    let arena = Arena { cpus: allowed_cpus(), ..Arena::default() };
    let had: Vec<AtomicU64> = (0..plan.writers + plan.readers).map(|_| 0.into()).collect();
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    let (begin, mut done) = (Instant::now(), 0_u64);
    let goes_on = |done: u64| match plan.until {
        Until::Operations(all) => done < all,
        Until::Elapsed(time) => begin.elapsed() < time,
    };
    while goes_on(done) && !arena.stop.load(Relaxed) {
        let operations = random.random_range(1..=plan.round);
        arena.left.store(i64::from(operations), Relaxed);
        let start = Barrier::new(had.len());
        let seeds: Vec<u64> = had.iter().map(|_| random.random()).collect();
        thread::scope(|scope| {
            for (at, (had, seed)) in had.iter().zip(seeds).enumerate() {
                let part = Part { writes: at < plan.writers, had, seed };
                let (arena, start) = (&arena, &start);
                scope.spawn(move || {
                    start.wait();
                    play(scope, (lock, arena, plan, part));
                });
            }
        });
        done += u64::from(operations);
    }
    let counts: Vec<u64> = had.iter().map(|had| had.load(Relaxed)).collect();
    let (writes, reads) = counts.split_at(plan.writers);
    let written = arena.value[0].load(Relaxed);
    Outcome {
        lost: writes.iter().sum::<u64>().abs_diff(written),
        writes: writes.to_vec(),
        reads: reads.to_vec(),
        violations: arena.violations.load(Relaxed),
        replaced: arena.replaced.load(Relaxed),
        moved: arena.moved.load(Relaxed),
    }
}
