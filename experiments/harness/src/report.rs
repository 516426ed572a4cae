//! The outcome of an experiment, in the form that `--format json` prints.

use crate::process::ProcessRecord;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use unlikely_measure::{Companion, Machine, Verdict};

/// Schema name of [`Report`].
pub const SCHEMA: &str = "unlikely/experiment/1";

/// The outcome of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the experiment.
    pub experiment: String,
    /// What it is about, in one line.
    pub title: String,
    /// Version of this tool.
    pub tool: String,
    /// Start, seconds since the epoch.
    pub started_unix_s: u64,
    /// How much was measured. With the seed in it, the order of runs can be had again.
    pub settings: Settings,
    /// The machine when it began.
    pub machine: Machine,
    /// What the figures suffer from, the loud first, each with its remedy.
    pub warnings: Vec<WarningReport>,
    /// One for each comparison that ran.
    pub comparisons: Vec<ComparisonReport>,
    /// Those that were asked for and not run.
    pub not_run: Vec<NotRun>,
    /// Machine code of what is compared.
    pub code: Vec<CodeReport>,
    /// Sizes of the shared objects, where there are any.
    pub objects: Vec<ObjectReport>,
}

/// A comparison that was not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// Its name.
    pub name: String,
    /// Why, in words.
    pub why: String,
}

/// A shared object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectReport {
    /// Its name in the experiment.
    pub name: String,
    /// Bytes of its executable sections together, those of the language's own library with them.
    pub text_bytes: u64,
}

/// Something that the figures suffer from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningReport {
    /// Whether it makes the figures worth little: something else ran.
    pub loud: bool,
    /// What, and the remedy.
    pub text: String,
}

/// What one unit of the statistics is: the n of the interval counts these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitOf {
    /// One block: a run of every copy of every arm.
    Block,
    /// One process, with the mean of its blocks.
    Process,
}

/// Arms compared with the first of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonReport {
    /// Its name.
    pub name: String,
    /// What is compared.
    pub title: String,
    /// What one operation is.
    pub operation: String,
    /// Threads that worked at the same time, on the same state.
    pub threads: u32,
    /// Threads that the work of each of them had running; 1 unless it started its own.
    pub inner_threads: u32,
    /// CPUs that they were kept on; empty for one thread.
    pub cpus: Vec<usize>,
    /// Operations of one run of each thread.
    pub operations: u64,
    /// Name of the arm that the ratios are to.
    pub baseline: String,
    /// Fresh processes.
    pub processes: u32,
    /// Blocks of all processes together.
    pub blocks: u32,
    /// Units that the intervals rest on.
    pub n: u32,
    /// What a unit is.
    pub n_unit: UnitOf,
    /// What n counts, and what it does not.
    pub n_counts: String,
    /// Least share of a run in which all its threads ran; 1 for one thread.
    pub overlap_min: f64,
    /// How far the control was from the baseline, whose code it has, in percent; `None` without one.
    pub floor_percent: Option<f64>,
    /// The arms, the baseline first.
    pub arms: Vec<ArmReport>,
    /// What was asked of them, and whether they gave it.
    pub bars: Vec<BarReport>,
    /// What others measured.
    pub published: Vec<PublishedReport>,
    /// All that was measured.
    pub rows: Vec<ProcessRecord>,
}

/// One arm's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    /// Its name.
    pub name: String,
    /// Whether it is the baseline once more.
    pub control: bool,
    /// Geometric mean over all blocks and copies of the time of one operation, in ns. With several
    /// threads it is the time until all are done, by the operations of all.
    pub ns_per_operation: f64,
    /// Operations of all threads in one second of that pace.
    pub operations_per_second: f64,
    /// Standard deviation of the blocks, in percent.
    pub sd_percent: f64,
    /// The copies at their places.
    pub copies: Vec<CopyReport>,
    /// Operations of the thread that did most by those of the one that did least, geometric mean over
    /// blocks and copies; one that did none counts as one. `None` where each does the same number.
    pub most_by_least: Option<f64>,
    /// Against the baseline; `None` of the baseline itself.
    pub ratio: Option<Ratio>,
}

/// One copy of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CopyReport {
    /// Where its code begins, in bytes after the start of a cache line.
    pub place_bytes: u32,
    /// Geometric mean over all blocks, in ns.
    pub ns_per_operation: f64,
}

/// An arm's time by the baseline's, taken within blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Ratio of geometric means over units: 1.02 takes 2 % longer.
    pub ratio: f64,
    /// 95 % interval: Student's t on the log-ratios of units.
    pub ci95: [f64; 2],
    /// Two-sided p against no difference, of the same test.
    pub p: f64,
    /// Hodges and Lehmann's estimate with the exact signed-rank interval.
    pub companion: Companion,
    /// From the lower of both intervals' lower ends to the higher of their higher ones, and by
    /// `floor_percent` further on both sides: what the verdict and the bars rest on.
    pub claim_ci95: [f64; 2],
    /// Effect in percent that this many units of this noise would show in 4 of 5 experiments.
    pub mde80_percent: f64,
    /// What the data show.
    pub verdict: Verdict,
    /// Standard deviation that a process adds to the log-ratio, in percent; `None` of one process.
    pub process_sd_percent: Option<f64>,
    /// That of blocks within a process, in percent; `None` where each has one block.
    pub block_sd_percent: Option<f64>,
}

/// What became of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BarOutcome {
    /// Both intervals, made wider by the floor, lie at or below it.
    Met,
    /// Both lie above it.
    Missed,
    /// It lies within them, or the units are too few to say.
    Undecided,
}

/// A bar and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BarReport {
    /// Name of the arm.
    pub arm: String,
    /// The greatest ratio that meets it.
    pub at_most: f64,
    /// Whether it does.
    pub outcome: BarOutcome,
    /// The outcome in words.
    pub words: String,
}

/// What others measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedReport {
    /// Where and on what.
    pub source: String,
    /// What was measured against the baseline.
    pub arm: String,
    /// The baseline's figure as printed.
    pub baseline: f64,
    /// The other figure as printed.
    pub value: f64,
    /// Unit of both.
    pub unit: String,
    /// The one by the other, computed here.
    pub ratio: f64,
}

/// The machine code of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeReport {
    /// What it is.
    pub name: String,
    /// Bytes of all of it, with what lies out of line.
    pub bytes: u64,
    /// Bytes up to and with its first return, or jump to another function in place of one: the hot path
    /// and what it jumps over.
    pub hot_bytes: u64,
    /// All its instructions; places within it are given from its start, as `+0x1f`, and others as
    /// `elsewhere`.
    pub instructions: Vec<String>,
    /// How many of them come up to and with that.
    pub hot: usize,
    /// Conditional branches among those.
    pub branches: u32,
    /// Calls among those.
    pub calls: u32,
}
