//! One run of one copy: by one thread, or by several that start together.

use crate::experiment::Work;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Turns of waiting for the others before the CPU is given up, in case one of them needs it.
const SPINS: u32 = 10_000;

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Timed {
    /// From the first thread's start to the last one's end.
    pub(crate) wall: Duration,
    /// Share of that in which all threads ran; 1 for one thread.
    pub(crate) overlap: f64,
    /// Operations of the thread that did most by those of the one that did least, where they share
    /// them; one that did none counts as one.
    pub(crate) most_by_least: Option<f64>,
}

/// Why a run has no time.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Its outcome is not what its operations make.
    Wrong(String),
    /// A thread panicked.
    Panicked,
    /// A thread could not be kept on this CPU.
    Pin(usize, io::Error),
}

/// CPUs that this thread may use, in order.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Keeps the calling thread on `cpu`.
pub(crate) fn keep_on(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Runs `work` once by one thread for each of `cpus`, each kept on its CPU, or by the calling thread
/// where there is none.
pub(crate) fn time(work: &dyn Work, operations: u64, cpus: &[usize]) -> Result<Timed, Failure> {
    if cpus.is_empty() {
        time_here(work, operations)
    } else {
        time_together(work, operations, cpus)
    }
}

fn time_here(work: &dyn Work, operations: u64) -> Result<Timed, Failure> {
    work.begin(1);
    let start = Instant::now();
    let seen = work.run(operations);
    let wall = start.elapsed();
    work.check(operations, &[seen]).map_err(Failure::Wrong)?;
    Ok(Timed { wall, overlap: 1.0, most_by_least: None })
}

fn time_together(work: &dyn Work, operations: u64, cpus: &[usize]) -> Result<Timed, Failure> {
    let threads = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
    work.begin(threads);
    let ready = AtomicU32::new(0);
    let one = |cpu: usize| {
        // Whoever cannot be kept on its CPU still comes to the start: the others wait for it.
        let kept = keep_on(cpu).map_err(|source| Failure::Pin(cpu, source));
        start_line(&ready, threads);
        let start = Instant::now();
        let seen = work.run(operations);
        let end = Instant::now();
        kept.map(|()| (start, end, seen))
    };
    let one = &one;
    let joined: Vec<_> = thread::scope(|scope| {
        let handles: Vec<_> = cpus.iter().map(|&cpu| scope.spawn(move || one(cpu))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or(Err(Failure::Panicked))).collect()
    });
    let runs = joined.into_iter().collect::<Result<Vec<_>, _>>()?;
    let seen: Vec<u64> = runs.iter().map(|(_, _, seen)| *seen).collect();
    work.check(operations, &seen).map_err(Failure::Wrong)?;
    let starts = || runs.iter().map(|(start, _, _)| *start);
    let ends = || runs.iter().map(|(_, end, _)| *end);
    let between = |from: Option<Instant>, to: Option<Instant>| {
        from.zip(to).map_or(Duration::ZERO, |(from, to)| to.saturating_duration_since(from))
    };
    let wall = between(starts().min(), ends().max());
    let shared = between(starts().max(), ends().min());
    let (least, most) = (seen.iter().min(), seen.iter().max());
    let most_by_least = least.zip(most).filter(|_| work.shares());
    Ok(Timed {
        wall,
        overlap: shared.as_secs_f64() / wall.as_secs_f64().max(1e-9),
        most_by_least: most_by_least.map(|(&least, &most)| most as f64 / least.max(1) as f64),
    })
}

/// Waits until all `threads` are here. They spin, since a thread that sleeps comes back some tens of
/// microseconds after the others; what was written before is seen by all after it.
fn start_line(ready: &AtomicU32, threads: u32) {
    ready.fetch_add(1, Ordering::AcqRel);
    let mut spins = 0_u32;
    while ready.load(Ordering::Acquire) < threads {
        spins += 1;
        if spins.is_multiple_of(SPINS) {
            thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

/// Operations that take `work` about `wanted` on each thread, at most `operations_max`.
///
/// The fastest of three, as an interruption can only make a run longer.
pub(crate) fn calibrate(
    work: &dyn Work,
    wanted: Duration,
    operations_max: u64,
    cpus: &[usize],
) -> Result<u64, Failure> {
    let mut operations = operations_max.min(1000);
    loop {
        let mut wall = Duration::MAX;
        for _ in 0..3 {
            wall = wall.min(time(work, operations, cpus)?.wall);
        }
        let scale = wanted.as_secs_f64() / wall.as_secs_f64().max(1e-9);
        // Short runs tell little of long ones: go near, then measure again.
        let next = (operations as f64 * scale.min(16.0)).clamp(1.0, operations_max as f64) as u64;
        if scale < 2.0 || next == operations {
            return Ok(next);
        }
        operations = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Counts what is done, and is wrong by `off`.
    struct Tally {
        done: AtomicU64,
        threads: AtomicU32,
        off: u64,
    }

    impl Tally {
        fn wrong_by(off: u64) -> Self {
            Self { done: AtomicU64::new(0), threads: AtomicU32::new(0), off }
        }
    }

    impl Work for Tally {
        fn begin(&self, threads: u32) {
            self.done.store(self.off, Ordering::Relaxed);
            self.threads.store(threads, Ordering::Relaxed);
        }

        fn run(&self, operations: u64) -> u64 {
            for _ in 0..operations {
                self.done.fetch_add(1, Ordering::Relaxed);
            }
            operations
        }

        fn check(&self, operations: u64, seen: &[u64]) -> Result<(), String> {
            let (done, threads) = (self.done.load(Ordering::Relaxed), seen.len() as u64);
            let all = u64::from(self.threads.load(Ordering::Relaxed)) == threads
                && seen.iter().all(|&one| one == operations);
            let right = done == operations * threads && all;
            right.then_some(()).ok_or(format!("{done} of {threads} times {operations}"))
        }
    }

    #[test]
    fn every_thread_does_every_operation() {
        let cpu = *allowed_cpus().first().unwrap();
        for cpus in [&[][..], &[cpu], &[cpu, cpu], &[cpu, cpu, cpu]] {
            let timed = time(&Tally::wrong_by(0), 500, cpus).unwrap();
            assert!((0.0..=1.0).contains(&timed.overlap) && !timed.wall.is_zero(), "{timed:?}");
        }
    }

    #[test]
    fn a_wrong_outcome_has_no_time() {
        for cpus in [&[][..], &allowed_cpus()] {
            let failure = time(&Tally::wrong_by(1), 500, cpus).unwrap_err();
            assert!(
                matches!(&failure, Failure::Wrong(what) if what.starts_with("50")
                || what.starts_with("100")),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_stops_nobody() {
        let cpu = *allowed_cpus().first().unwrap();
        let failure = time(&Tally::wrong_by(0), 10, &[cpu, CpuSet::MAX_CPU - 1]).unwrap_err();
        assert!(matches!(failure, Failure::Pin(at, _) if at == CpuSet::MAX_CPU - 1));
    }

    #[test]
    fn calibration_stays_within_what_an_arm_can_count_to() {
        let long = Duration::from_secs(3600);
        assert_eq!(calibrate(&Tally::wrong_by(0), long, 77, &[]).unwrap(), 77);
        let short = Duration::from_nanos(1);
        let few = calibrate(&Tally::wrong_by(0), short, 5000, &[]).unwrap();
        assert!((1..1000).contains(&few), "{few}");
    }
}
