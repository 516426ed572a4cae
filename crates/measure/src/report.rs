//! The outcome of a campaign, in the form that `bench --format json` prints.

use crate::machine::{Disturbance, RunConditions};
use crate::plan::Stop;
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

/// What one unit of the statistics is: the n of the interval counts these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitOf {
    /// One block: a run of each arm.
    #[default]
    Block,
    /// A pair of builds, one of each arm, with the mean of all their blocks.
    Build,
}

/// One look at the data of a sequential campaign.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Units seen.
    pub n: u32,
    /// Two-sided p of Student's t there.
    pub p: f64,
    /// The p that had to be reached: O'Brien and Fleming's boundary.
    pub p_needed: f64,
    /// Whether all witnesses were beyond the boundary, on one side.
    pub crossed: bool,
}

/// How the campaign was to end, and how it did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// The registered rule.
    pub rule: Stop,
    /// Blocks registered as the most.
    pub blocks_max: u32,
    /// Looks taken, in order; none unless sequential.
    pub looks: Vec<Look>,
    /// Whether it ended before all blocks had run.
    pub early: bool,
    /// Median-unbiased estimate of B/A, where the stop makes `ratio` itself too extreme.
    pub ratio_unbiased: Option<f64>,
}

/// One source of variation of the log-ratio, and how much it adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// `build`, `boot` or `process`.
    pub name: String,
    /// How many of it were sampled.
    pub groups: u32,
    /// Standard deviation that it adds to B/A, in percent; `None` where one sample of it cannot
    /// tell, or none of several can be told from the layer above. No interval holds the first.
    pub sd_percent: Option<f64>,
}

/// The claim as one of several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Claims made together.
    pub size: u32,
    /// How they were adjusted.
    pub method: Adjustment,
    /// The adjusted p.
    pub p: f64,
}

/// How the p-values of several claims are adjusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjustment {
    /// Holm: at most 5 % chance of any false claim.
    Holm,
    /// Benjamini and Hochberg: at most 5 % of what is found is false, in the mean. For exploring.
    BenjaminiHochberg,
}

/// The outcome of one campaign: B against A by one metric.
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
    /// Letter of the candidate, here always called B: another one where there are more arms.
    #[serde(default = "candidate_b")]
    pub arm: char,
    /// Baseline.
    pub a: ArmSummary,
    /// Candidate.
    pub b: ArmSummary,
    /// B/A, a ratio of geometric means over units.
    pub ratio: f64,
    /// 95 % interval of the ratio: Student's t on the log-ratios of units, adjusted for the
    /// chance to stop early where the campaign had one.
    pub ci95: [f64; 2],
    /// Two-sided p against no difference, of the same test as `ci95`.
    pub p: f64,
    /// The rank-based second opinion that a claim must also pass.
    pub companion: Companion,
    /// Two-sided p of the exact sign test, where the plan is strict.
    #[serde(default)]
    pub sign_p: Option<f64>,
    /// What the verdict rests on: from the lower of both intervals' lower ends to the higher of
    /// their higher ones. A claim is made only if no difference lies outside.
    #[serde(default = "everything")]
    pub claim_ci95: [f64; 2],
    /// Effect in percent that this many units of this noise would show in 4 of 5 campaigns
    /// (80 % power at two-sided 5 %).
    pub mde80_percent: f64,
    /// What the user calls no difference, as a fraction of the ratio: 0.005 is half a percent.
    pub equivalence_margin: Option<f64>,
    /// What the data show.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// Valid blocks kept.
    pub blocks: u32,
    /// Blocks that the plan's rule made invalid, whatever their values. They are in `rows`.
    #[serde(default)]
    pub invalid_blocks: u32,
    /// Units that the interval rests on.
    #[serde(default)]
    pub n: u32,
    /// What a unit is.
    #[serde(default)]
    pub n_unit: UnitOf,
    /// What n counts, and what it does not: builds, boots, processes.
    pub n_counts: String,
    /// What each layer adds to the spread.
    #[serde(default)]
    pub layers: Vec<Layer>,
    /// How it ended.
    #[serde(default)]
    pub ending: Ending,
    /// The claim among others, if there are others.
    #[serde(default)]
    pub family: Option<Family>,
    /// Seed of the order of arms.
    pub seed: u64,
    /// Every block in the order it ran.
    pub rows: Vec<BlockRow>,
    /// Commands, cwd, start time and machine, for provenance.
    pub provenance: Provenance,
    /// The best of several arms against A again, on fresh blocks: the claim, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Box<BenchReport>>,
    /// The other arms, and then the other metrics of every arm, in the same form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<BenchReport>,
}

fn candidate_b() -> char {
    'B'
}

fn everything() -> [f64; 2] {
    [0.0, f64::MAX]
}

/// One block: one run of each of two arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// Index from 0, in the order in which blocks ran.
    pub block: u32,
    /// Which place of the design it fills; one that ran again after an invalid block has the
    /// same.
    #[serde(default)]
    pub slot: u32,
    /// Which pair of builds, from 0.
    #[serde(default)]
    pub build: u32,
    /// Whether A ran before B.
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
    /// How often the CPU was taken from A's run, for other work.
    #[serde(default)]
    pub a_involuntary_switches: u64,
    /// How often the CPU was taken from B's run, for other work.
    #[serde(default)]
    pub b_involuntary_switches: u64,
    /// What the machine did during A's run.
    #[serde(default)]
    pub a_conditions: RunConditions,
    /// What the machine did during B's run.
    #[serde(default)]
    pub b_conditions: RunConditions,
    /// Which sitting of the campaign ran it: 0, and one more after each interruption.
    pub session: u32,
    /// What makes it invalid under the plan's rule; it is not part of any figure then.
    #[serde(default)]
    pub invalid: Option<Disturbance>,
    /// Why it is an outlier, with the machine's evidence beside it. It stays part of all figures.
    #[serde(default)]
    pub outlier: Option<String>,
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
    /// Warnings about the machine and the metric, each with its remedy.
    pub warnings: Vec<String>,
    /// The machine at the start of every sitting.
    #[serde(default)]
    pub machines: Vec<crate::machine::Machine>,
}
