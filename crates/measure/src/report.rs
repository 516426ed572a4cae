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

/// Hodges–Lehmann estimate of the ratio with its exact Wilcoxon signed-rank interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Companion {
    /// Estimate of B/A: the exponentiated median of the pairwise means of log-ratios.
    pub ratio: f64,
    /// Interval of `ratio`.
    pub ci: [f64; 2],
    /// Coverage of `ci`: the ranks of few blocks come in coarse steps, so it is at least 0.95
    /// where that can be had (6 blocks or more), and less below.
    pub confidence: f64,
    /// Two-sided p of the signed-rank test.
    pub p: f64,
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
    /// Two-sided p of Student's t against no difference.
    pub p: f64,
    /// The rank-based second opinion that a claim must also pass.
    pub companion: Companion,
    /// Effect in percent that this many blocks of this noise would show in 4 of 5 campaigns
    /// (80 % power at two-sided 5 %).
    pub mde80_percent: f64,
    /// What the user calls no difference, as a fraction of the ratio: 0.005 is half a percent.
    pub equivalence_margin: Option<f64>,
    /// What the data show.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// Blocks kept: n.
    pub blocks: u32,
    /// What n counts, and what it does not: builds, boots, processes.
    pub n_counts: String,
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
    /// User and system CPU time of A's run and its waited-for descendants, in seconds.
    pub a_cpu_s: f64,
    /// User and system CPU time of B's run and its waited-for descendants, in seconds.
    pub b_cpu_s: f64,
    /// Peak resident memory of A's largest process, in bytes. Linux counts the memory of the
    /// process that spawned it, so values near this tool's own size say nothing.
    pub a_max_rss_bytes: u64,
    /// Peak resident memory of B's largest process, in bytes; see `a_max_rss_bytes`.
    pub b_max_rss_bytes: u64,
    /// Which sitting of the campaign ran it: 0, and one more after each interruption.
    pub session: u32,
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
