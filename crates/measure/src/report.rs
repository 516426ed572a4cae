//! The outcome of a campaign, in the form that `bench --format json` prints.

use serde::{Deserialize, Serialize};

/// Schema name of [`BenchReport`].
pub const SCHEMA: &str = "unlikely/bench/1";

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A rate: more is better.
    Higher,
    /// A cost: less is better.
    Lower,
}

/// What the data show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// B is better than A: the 95 % interval excludes no difference.
    Faster,
    /// B is worse than A.
    Slower,
    /// The 90 % interval lies within the margin that the user set (two one-sided tests).
    Equivalent,
    /// The data show neither.
    Inconclusive,
}

/// One arm's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// Geometric mean, in the metric's unit.
    pub geomean: f64,
    /// Standard deviation in percent of the mean.
    pub sd_percent: f64,
    /// Runs kept.
    pub n: u32,
}

/// The outcome of one campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the metric: `time` or the regex.
    pub metric: String,
    /// Which way is better.
    pub direction: Direction,
    /// Unit of the figures: `s` for time.
    pub unit: String,
    /// Baseline.
    pub a: ArmSummary,
    /// Candidate.
    pub b: ArmSummary,
    /// B/A, a ratio of geometric means over blocks.
    pub ratio: f64,
    /// 95 % interval of `ratio`, Student's t on the log-ratios of blocks.
    pub ci95: [f64; 2],
    /// What the data show.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// Blocks kept: what n counts.
    pub blocks: u32,
    /// Seed of the order of arms.
    pub seed: u64,
    /// Every block in the order it ran.
    pub rows: Vec<BlockRow>,
    /// Commands, cwd, start time and machine, for provenance.
    pub provenance: Provenance,
}

/// One block: one run of each arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// Index from 0.
    pub block: u32,
    /// Whether A ran first.
    pub a_first: bool,
    /// A's value, in the unit.
    pub a: f64,
    /// B's value, in the unit.
    pub b: f64,
    /// Wall time of A's run, in seconds.
    pub a_wall_s: f64,
    /// Wall time of B's run, in seconds.
    pub b_wall_s: f64,
}

/// Where the figures come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Command of A.
    pub command_a: String,
    /// Command of B.
    pub command_b: String,
    /// Start, seconds since the epoch.
    pub started_unix_s: u64,
    /// CPU model name.
    pub cpu: String,
    /// Kernel release.
    pub kernel: String,
    /// Turbo state: `on`, `off` or `unknown`.
    pub turbo: String,
    /// Version of this tool.
    pub tool: String,
    /// Warnings about the machine, each with its remedy.
    pub warnings: Vec<String>,
}
