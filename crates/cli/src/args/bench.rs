//! The options of `bench`, which are many because a design is registered before it is run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use unlikely_measure::{Direction, Metric, Stop};

use super::Format;
use crate::config::BUILDS_MAX;

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionName {
    Higher,
    #[default]
    Lower,
}

/// When a campaign ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StopName {
    /// At one of up to five looks, when the difference is clear; after all blocks at the latest.
    Sequential,
    /// After all blocks.
    Fixed,
    /// At any time, by an asymptotic confidence sequence.
    Open,
}

impl From<StopName> for Stop {
    fn from(name: StopName) -> Self {
        match name {
            StopName::Sequential => Self::Sequential,
            StopName::Fixed => Self::Fixed,
            StopName::Open => Self::Open,
        }
    }
}

/// What must hold before the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Requirement {
    /// Nothing else uses the machine.
    Quiet,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Baseline command, run by sh in the current folder.
    #[arg(long, value_name = "CMD")]
    pub(crate) a: Option<String>,
    /// Candidate command; each one more is one more candidate.
    #[arg(long, value_name = "CMD", requires = "a")]
    pub(crate) b: Vec<String>,

    /// Pilot of A against itself: noise, and the blocks and hours that an effect takes.
    #[arg(
        long,
        requires = "a",
        conflicts_with_all = [
            "b", "aa", "count", "stop", "strict", "margin", "no_confirm", "export_hyperfine",
            "export_go",
        ],
        help_heading = "Instead of comparing"
    )]
    pub(crate) plan: bool,
    /// Compare A with itself: how often this machine makes a false claim.
    #[arg(
        long,
        requires = "a",
        conflicts_with_all = ["b", "count", "strict", "margin", "no_confirm"],
        help_heading = "Instead of comparing"
    )]
    pub(crate) aa: bool,
    /// Count jumps and instructions of A and B under callgrind, where time is too noisy; slow.
    #[arg(
        long,
        requires_all = ["a", "b"],
        conflicts_with_all = [
            "blocks", "stop", "warmups", "seed", "margin", "strict", "journal", "builds", "metric",
            "regex", "tune_machine",
        ],
        help_heading = "Instead of comparing"
    )]
    pub(crate) count: bool,
    /// Runs of each command that are counted; two show whether it is deterministic.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        requires = "count",
        conflicts_with_all = ["plan", "aa"],
        help_heading = "Instead of comparing"
    )]
    pub(crate) count_runs: u32,
    /// Judge two results of a file that `hyperfine --export-json` wrote.
    #[arg(long, value_name = "FILE", help_heading = "Instead of comparing")]
    pub(crate) hyperfine: Option<PathBuf>,

    /// Blocks at most: one run of each command in random order [default: 20; with --plan 12, with
    /// --aa 10 a comparison].
    #[arg(long, requires = "a", help_heading = "Design")]
    pub(crate) blocks: Option<u32>,
    /// When it ends [default: sequential; fixed where there are several candidates].
    #[arg(long, value_enum, value_name = "RULE", requires = "a", help_heading = "Design")]
    pub(crate) stop: Option<StopName>,
    /// Discarded runs of each command.
    #[arg(long, default_value_t = 1, requires = "a", help_heading = "Design")]
    pub(crate) warmups: u32,
    /// Seed of the order; drawn and printed if not given.
    #[arg(long, requires = "a", help_heading = "Design")]
    pub(crate) seed: Option<u64>,
    /// Seconds that one run may take.
    #[arg(long, default_value_t = 600, requires = "a", help_heading = "Design")]
    pub(crate) timeout: u64,
    /// Difference in percent that counts as none.
    #[arg(long, value_name = "PERCENT", requires = "a", help_heading = "Design")]
    pub(crate) margin: Option<f64>,
    /// Claim nothing that an exact sign test does not confirm.
    #[arg(long, requires = "a", help_heading = "Design")]
    pub(crate) strict: bool,
    /// Keep blocks that other work, stolen time or throttling disturbed.
    #[arg(long, requires = "a", conflicts_with = "count", help_heading = "Design")]
    pub(crate) keep_disturbed: bool,
    /// Do not confirm the best of several candidates on fresh blocks.
    #[arg(long, requires = "b", conflicts_with = "count", help_heading = "Design")]
    pub(crate) no_confirm: bool,
    /// Keep the blocks in this file, and go on with those that it holds.
    #[arg(long, value_name = "FILE", requires = "a", help_heading = "Design")]
    pub(crate) journal: Option<PathBuf>,

    /// Salted builds of each command: n counts builds, so that a lucky layout is no effect.
    #[arg(
        long,
        value_name = "K",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(BUILDS_MAX)),
        requires = "build_a",
        help_heading = "Builds"
    )]
    pub(crate) builds: Option<u32>,
    /// Builds A into $BUILD_DIR with $CC, once for each salt; --a then runs with $BUILD_DIR.
    #[arg(long, value_name = "CMD", requires = "builds", help_heading = "Builds")]
    pub(crate) build_a: Option<String>,
    /// Builds B into $BUILD_DIR with $CC; given once for each --b.
    #[arg(long, value_name = "CMD", requires = "builds", help_heading = "Builds")]
    pub(crate) build_b: Vec<String>,

    /// What a run is judged by: time, cpu, user, sys, rss, stress-ng:STRESSOR, perf:EVENT,
    /// json:PATH, regex:PATTERN. The first is the claim, more are explored [default: time].
    #[arg(
        long,
        value_name = "METRIC",
        requires = "a",
        conflicts_with = "regex",
        help_heading = "Metric"
    )]
    pub(crate) metric: Vec<String>,
    /// Metric from the output: its first group is the number.
    #[arg(long, requires = "a", help_heading = "Metric")]
    pub(crate) regex: Option<String>,
    /// Which way the metric of --regex improves.
    #[arg(long, value_enum, default_value_t, requires = "regex", help_heading = "Metric")]
    pub(crate) direction: DirectionName,
    /// Unit of the metric of --regex.
    #[arg(long, default_value = "", requires = "regex", help_heading = "Metric")]
    pub(crate) unit: String,

    /// Refuse to start while other work disturbs the machine.
    #[arg(
        long,
        value_enum,
        value_name = "STATE",
        conflicts_with_all = ["hyperfine", "count"],
        help_heading = "Machine"
    )]
    pub(crate) require: Option<Requirement>,
    /// Seconds to wait for what --require asks.
    #[arg(long, default_value_t = 0, requires = "require", help_heading = "Machine")]
    pub(crate) wait: u64,
    /// Set governor, turbo and the like for the campaign, and restore them whatever happens.
    #[arg(long, conflicts_with = "hyperfine", help_heading = "Machine")]
    pub(crate) tune_machine: bool,

    /// Effect in percent to plan for; may be given again [default: 0.3 0.5 1 2 5].
    #[arg(
        long,
        value_name = "PERCENT",
        requires = "plan",
        conflicts_with_all = ["aa", "count"],
        help_heading = "With --plan"
    )]
    pub(crate) effect: Vec<f64>,
    /// Hours that may be spent; an effect that takes more is called hopeless.
    #[arg(
        long,
        default_value_t = 8.0,
        requires = "plan",
        conflicts_with_all = ["aa", "count"],
        help_heading = "With --plan"
    )]
    pub(crate) hours: f64,
    /// Comparisons of A with itself.
    #[arg(
        long,
        default_value_t = 100,
        requires = "aa",
        conflicts_with_all = ["plan", "count"],
        help_heading = "With --aa"
    )]
    pub(crate) comparisons: u32,
    /// The same source built again, as a third arm.
    #[arg(
        long,
        value_name = "CMD",
        requires = "aa",
        conflicts_with_all = ["plan", "count"],
        help_heading = "With --aa"
    )]
    pub(crate) rebuild: Option<String>,

    /// Write all runs as hyperfine's JSON.
    #[arg(
        long,
        value_name = "FILE",
        requires = "a",
        conflicts_with = "count",
        help_heading = "Output"
    )]
    pub(crate) export_hyperfine: Option<PathBuf>,
    /// Write all runs as Go benchmark text, for `benchstat -col /arm FILE`.
    #[arg(
        long,
        value_name = "FILE",
        requires = "a",
        conflicts_with = "count",
        help_heading = "Output"
    )]
    pub(crate) export_go: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Format,
}

/// What `bench` was asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Measure the project's patched tree against its baseline.
    Project,
    /// Measure any commands.
    Compare,
    /// A pilot, and what it takes.
    Plan,
    /// A command against itself.
    Aa,
    /// Count under callgrind.
    Count,
}

impl BenchArgs {
    /// Which of its modes.
    pub(crate) fn mode(&self) -> Mode {
        match self {
            Self { a: None, .. } => Mode::Project,
            Self { plan: true, .. } => Mode::Plan,
            Self { aa: true, .. } => Mode::Aa,
            Self { count: true, .. } => Mode::Count,
            _ => Mode::Compare,
        }
    }

    /// The metrics asked for, wall time if none.
    pub(crate) fn metrics(&self) -> Result<Vec<Metric>, unlikely_measure::PlanError> {
        if let Some(pattern) = &self.regex {
            let direction = match self.direction {
                DirectionName::Higher => Direction::Higher,
                DirectionName::Lower => Direction::Lower,
            };
            let (pattern, unit) = (pattern.clone(), self.unit.clone());
            return Ok(vec![Metric::Regex { pattern, direction, unit }]);
        }
        if self.metric.is_empty() {
            return Ok(vec![Metric::Time]);
        }
        self.metric.iter().map(|text| Metric::parse(text)).collect()
    }
}
