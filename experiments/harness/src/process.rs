//! The blocks of one process: every copy of every arm once in each, in the order that the seed draws.

use crate::campaign::Begun;
use crate::error::ExperimentError;
use crate::experiment::{Arm, Comparison};
use crate::settings::Settings;
use crate::timing::{Failure, Timed, allowed_cpus, calibrate, keep_on, time};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use unlikely_measure::machine::{RunConditions, RunProbe};
use unlikely_measure::order;

/// Slots of the order that a process has to itself: more than its blocks, and even, so that blocks
/// keep their mirrors.
const SLOTS_PER_PROCESS: u32 = 1 << 13;

/// How much longer a run is where there are more threads than CPUs.
const TURNS: f64 = 20.0;

/// What one process measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Index from 0.
    pub process: u32,
    /// Its blocks in the order in which they ran.
    pub blocks: Vec<BlockRow>,
    /// Least share of a run in which all its threads ran; 1 for one thread.
    pub overlap_min: f64,
    /// How long it measured, in seconds.
    pub wall_s: f64,
    /// What the machine did meanwhile.
    pub conditions: RunConditions,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// Time of one operation in ns, for each arm and each of its copies.
    pub ns: Vec<Vec<f64>>,
    /// Operations of the thread that did most by those of the one that did least, likewise; empty for
    /// arms whose threads do the same number each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub most_by_least: Vec<Vec<f64>>,
}

/// The CPUs that the threads of `comparison` are kept on: one each, from the last that is allowed, as
/// the first ones serve most interrupts. None for one thread, which `--pin` keeps by other means.
pub(crate) fn cpus(comparison: &Comparison) -> Vec<usize> {
    let allowed = allowed_cpus();
    let threads = if comparison.threads > 1 { comparison.threads as usize } else { 0 };
    allowed.iter().rev().cycle().copied().take(threads).collect()
}

/// Operations of one run of each thread.
pub(crate) fn operations(
    comparison: &Comparison,
    settings: &Settings,
) -> Result<u64, ExperimentError> {
    if let Some(operations) = settings.operations {
        return Ok(operations.min(comparison.operations_max));
    }
    // Threads that share a CPU run in turn, for some milliseconds each.
    let turns = if comparison.threads as usize > allowed_cpus().len() { TURNS } else { 1.0 };
    let wanted = Duration::from_secs_f64(turns * settings.run_ms / 1e3);
    let work = comparison.arms.first().and_then(|arm| Some((arm, arm.copies.first()?)));
    let (arm, copy) = work.ok_or_else(|| no_arms(comparison))?;
    calibrate(copy.as_ref(), wanted, comparison.operations_max, &cpus(comparison))
        .map_err(|failure| named(failure, comparison, arm, 0))
}

/// Whether what was kept of `comparison` is what its processes measure with these settings: a file may be
/// anybody's.
pub(crate) fn fits(begun: &Begun, comparison: &Comparison, settings: &Settings) -> bool {
    let copies = || comparison.arms.iter().map(|arm| arm.copies.len());
    let good = |block: &BlockRow| {
        block.ns.iter().map(Vec::len).eq(copies())
            && block.ns.iter().flatten().all(|ns| ns.is_finite() && *ns > 0.0)
    };
    let fits = |(at, row): (usize, &ProcessRecord)| {
        row.process as usize == at
            && row.blocks.len() == settings.blocks as usize
            && row.blocks.iter().all(good)
    };
    (1..=comparison.operations_max).contains(&begun.operations)
        && settings
            .operations
            .is_none_or(|asked| begun.operations == asked.min(comparison.operations_max))
        && begun.rows.len() <= settings.processes as usize
        && begun.rows.iter().enumerate().all(fits)
}

/// Runs the blocks of process number `process`, which this one is.
pub(crate) fn measure(
    comparison: &Comparison,
    settings: &Settings,
    operations: u64,
    process: u32,
) -> Result<ProcessRecord, ExperimentError> {
    let cpus = cpus(comparison);
    if let Some(&cpu) = allowed_cpus().last()
        && settings.pin
        && cpus.is_empty()
    {
        keep_on(cpu).map_err(|source| ExperimentError::Pin { cpu, source })?;
    }
    let sitting = Sitting { comparison, operations, cpus: &cpus };
    let first = process.saturating_mul(SLOTS_PER_PROCESS);
    let mut overlap_min = 1.0;
    for warmup in 0..settings.warmups {
        sitting.block(settings.seed, first.saturating_add(warmup), &mut overlap_min)?;
    }
    overlap_min = 1.0;
    let mut probe = RunProbe::open();
    let (reading, began) = (probe.start(), Instant::now());
    let blocks = (0..settings.blocks)
        .map(|block| sitting.block(settings.seed, first.saturating_add(block), &mut overlap_min))
        .collect::<Result<Vec<_>, _>>()?;
    let wall_s = began.elapsed().as_secs_f64();
    // All that this process used is its own: the probe knows that itself.
    let conditions = probe.finish(&reading, Duration::ZERO);
    Ok(ProcessRecord { process, blocks, overlap_min, wall_s, conditions })
}

struct Sitting<'c> {
    comparison: &'c Comparison,
    operations: u64,
    cpus: &'c [usize],
}

impl Sitting<'_> {
    fn block(
        &self,
        seed: u64,
        slot: u32,
        overlap_min: &mut f64,
    ) -> Result<BlockRow, ExperimentError> {
        let arms = &self.comparison.arms;
        let copies = |(arm, of): (usize, &Arm)| (0..of.copies.len()).map(move |copy| (arm, copy));
        let runs: Vec<(usize, usize)> = arms.iter().enumerate().flat_map(copies).collect();
        let mut ns: Vec<Vec<f64>> = arms.iter().map(|arm| vec![0.0; arm.copies.len()]).collect();
        let mut most_by_least = vec![Vec::new(); arms.len()];
        for index in order(seed, slot, u32::try_from(runs.len()).unwrap_or(u32::MAX)) {
            let Some(&(arm, copy)) = runs.get(index as usize) else { continue };
            let timed = self.one(arm, copy)?;
            *overlap_min = overlap_min.min(timed.overlap);
            let done = self.operations as f64 * f64::from(self.comparison.threads);
            if let Some(place) = ns.get_mut(arm).and_then(|copies| copies.get_mut(copy)) {
                // A clock too coarse for a run must not make a ratio infinite.
                *place = timed.wall.as_secs_f64().max(1e-9) * 1e9 / done;
            }
            if let Some((of_arm, uneven)) = most_by_least.get_mut(arm).zip(timed.most_by_least) {
                of_arm.push(uneven);
            }
        }
        if most_by_least.iter().all(Vec::is_empty) {
            most_by_least.clear();
        }
        Ok(BlockRow { ns, most_by_least })
    }

    fn one(&self, arm: usize, copy: usize) -> Result<Timed, ExperimentError> {
        let of = self.comparison.arms.get(arm).ok_or_else(|| no_arms(self.comparison))?;
        let work = of.copies.get(copy).ok_or_else(|| no_arms(self.comparison))?;
        time(work.as_ref(), self.operations, self.cpus)
            .map_err(|failure| named(failure, self.comparison, of, copy))
    }
}

fn no_arms(comparison: &Comparison) -> ExperimentError {
    ExperimentError::Malformed {
        comparison: comparison.name.clone(),
        what: "it has an arm without a copy, or none at all".to_owned(),
    }
}

fn named(failure: Failure, comparison: &Comparison, arm: &Arm, place: usize) -> ExperimentError {
    let (comparison, arm) = (comparison.name.clone(), arm.name.clone());
    match failure {
        Failure::Wrong(what) => ExperimentError::Wrong { comparison, arm, place, what },
        Failure::Panicked => ExperimentError::Panicked { comparison, arm },
        Failure::Pin(cpu, source) => ExperimentError::Pin { cpu, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Work;
    use std::sync::{Arc, Mutex};

    type Log = Arc<Mutex<Vec<&'static str>>>;

    struct Noted(&'static str, Log);

    impl Work for Noted {
        fn begin(&self, _: u32) {}
        fn run(&self, operations: u64) -> u64 {
            self.1.lock().unwrap().push(self.0);
            operations
        }
        fn check(&self, operations: u64, seen: &[u64]) -> Result<(), String> {
            (seen == [operations]).then_some(()).ok_or("not so many".to_owned())
        }
    }

    /// Two arms of two copies, which log their runs.
    fn noted(log: &Log) -> Comparison {
        let copy = |name| Box::new(Noted(name, Arc::clone(log))) as Box<dyn Work>;
        Comparison {
            name: "noted".into(),
            title: String::new(),
            operation: String::new(),
            threads: 1,
            inner_threads: 1,
            operations_max: 10,
            arms: vec![
                Arm::new("a", vec![copy("a0"), copy("a1")]),
                Arm::new("b", vec![copy("b0"), copy("b1")]),
            ],
            bars: vec![],
            published: vec![],
            code: None,
            by_default: true,
        }
    }

    /// The order of runs, in one text a block, warm-ups among them.
    fn runs(process: u32, settings: Settings) -> (Vec<String>, ProcessRecord) {
        let log = Log::default();
        let comparison = noted(&log);
        let operations = operations(&comparison, &settings).unwrap();
        assert_eq!(operations, 10);
        let record = measure(&comparison, &settings, operations, process).unwrap();
        let log = log.lock().unwrap();
        (log.chunks(4).map(|block| block.concat()).collect(), record)
    }

    const SETTINGS: Settings = Settings { blocks: 6, warmups: 0, ..Settings::SMOKE };

    #[test]
    fn every_block_runs_every_copy_once_and_every_second_is_a_mirror() {
        let (blocks, record) = runs(0, SETTINGS);
        assert_eq!((blocks.len(), record.blocks.len()), (6, 6));
        for pair in blocks.chunks(2) {
            let runs = |block: &str| -> Vec<String> {
                block.as_bytes().chunks(2).map(|run| String::from_utf8_lossy(run).into()).collect()
            };
            let (mut first, second) = (runs(&pair[0]), runs(&pair[1]));
            first.reverse();
            assert_eq!(first, second);
            first.sort();
            assert_eq!(first, ["a0", "a1", "b0", "b1"]);
        }
        assert!(blocks.iter().any(|block| *block != blocks[0]));
        let shape = |block: &BlockRow| block.ns.iter().map(Vec::len).collect::<Vec<_>>();
        assert!(record.blocks.iter().all(|block| shape(block) == [2, 2]));
        assert!(record.blocks.iter().flat_map(|block| block.ns.concat()).all(|ns| ns > 0.0));
    }

    #[test]
    fn the_order_follows_from_seed_and_process() {
        let order = |process, seed| runs(process, Settings { seed, ..SETTINGS }).0;
        assert_eq!(order(3, 7), order(3, 7));
        assert_ne!(order(3, 7), order(3, 8));
        assert_ne!(order(3, 7), order(4, 7));
    }

    #[test]
    fn what_was_kept_goes_on_only_if_it_is_of_the_same_comparison() {
        let (_, row) = runs(0, SETTINGS);
        let good = Begun { started_unix_s: 1, operations: 10, rows: vec![row] };
        let fits = |begun: &Begun| fits(begun, &noted(&Log::default()), &SETTINGS);
        assert!(fits(&good) && fits(&Begun { rows: vec![], ..good.clone() }));
        assert!(!fits(&Begun { operations: 9, ..good.clone() }), "not as many as asked for");
        let spoilt = |spoil: &dyn Fn(&mut ProcessRecord)| {
            let mut begun = good.clone();
            spoil(&mut begun.rows[0]);
            fits(&begun)
        };
        assert!(!spoilt(&|row| row.process = 1), "another process");
        assert!(!spoilt(&|row| row.blocks.truncate(5)), "fewer blocks");
        assert!(!spoilt(&|row| row.blocks[2].ns.truncate(1)), "fewer arms");
        assert!(!spoilt(&|row| row.blocks[2].ns[1].truncate(1)), "fewer copies");
        assert!(!spoilt(&|row| row.blocks[2].ns[1][0] = f64::INFINITY), "no time");
        assert!(!spoilt(&|row| row.blocks[2].ns[1][0] = 0.0), "no time");
        let many = Begun { rows: vec![good.rows[0].clone(); 3], ..good.clone() };
        assert!(!fits(&many), "more processes than asked for");
    }

    #[test]
    fn warm_ups_run_and_are_not_kept() {
        let (blocks, record) = runs(0, Settings { warmups: 2, ..SETTINGS });
        assert_eq!((blocks.len(), record.blocks.len()), (8, 6));
    }
}
