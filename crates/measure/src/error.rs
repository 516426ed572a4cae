//! Everything that can stop a campaign, each with what, where and the remedy. None of them loses a
//! block: whatever was committed before is there when the campaign is started again.

use crate::design::OPEN_UNITS_MIN;
use crate::metric::{MetricError, PerfProblem};
use crate::plan::{METRICS_MAX, arm_name};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// Which run of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunName {
    /// Index of its arm.
    pub arm: u32,
    /// When in the campaign.
    pub when: RunPhase,
}

/// When in a campaign a run takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Before the first block; index from 0.
    Warmup(u32),
    /// In the block of this index, from 0.
    Block(u32),
    /// Under callgrind; index from 0.
    Count(u32),
}

impl fmt::Display for RunName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arm = arm_name(self.arm as usize);
        match self.when {
            RunPhase::Warmup(index) => write!(out, "warm-up {index} of {arm}"),
            RunPhase::Block(index) => write!(out, "the run of {arm} in block {index}"),
            RunPhase::Count(index) => write!(out, "counting run {index} of {arm}"),
        }
    }
}

/// A plan that cannot be carried out.
#[derive(Debug, Error)]
pub enum PlanError {
    /// No interval exists for fewer than two differences.
    #[error(
        "{blocks} block(s) give no interval: plan at least 2 blocks, and 6 or more for a claim"
    )]
    TooFewBlocks {
        /// Planned.
        blocks: u32,
    },
    /// More than the statistics can hold.
    #[error("{blocks} blocks are more than a campaign holds: plan at most 4096")]
    TooManyBlocks {
        /// Planned.
        blocks: u32,
    },
    /// A margin outside (0, 1).
    #[error(
        "an equivalence margin of {margin} is no fraction between 0 and 1: for half a percent give 0.005"
    )]
    Margin {
        /// Given.
        margin: f64,
    },
    /// A timeout of zero.
    #[error("a timeout of zero lets nothing run: give the longest time that one run may take")]
    NoTime,
    /// Nothing to count.
    #[error("no counting run was asked for: ask for 1, or for 2 to see whether they agree")]
    NoCountRuns,
    /// An arm without a command.
    #[error("the command of {arm} is empty: give what `sh -c` shall run")]
    EmptyCommand {
        /// Its letter.
        arm: char,
    },
    /// A directory that the journal cannot keep.
    #[error("the directory of {arm}, {dir:?}, is not UTF-8: work in one that is")]
    DirNotUtf8 {
        /// Its letter.
        arm: char,
        /// Given.
        dir: PathBuf,
    },
    /// Too few arms to compare, or too many.
    #[error("{arms} arm(s) are no campaign: give 2 to 26, the baseline first")]
    Arms {
        /// Given.
        arms: usize,
    },
    /// A stopping rule with more than two arms.
    #[error(
        "a campaign that may stop early compares two arms: run all blocks of several, and confirm \
         the winner on fresh blocks against the baseline"
    )]
    StopOfMany,
    /// An open end without a look.
    #[error(
        "an open end is looked at from {OPEN_UNITS_MIN} blocks or pairs of builds on, and {units} \
         are planned: plan {OPEN_UNITS_MIN} or more"
    )]
    OpenTooFew {
        /// Planned: blocks, or pairs of builds where there are several.
        units: u32,
    },
    /// Nothing to judge by, or too much.
    #[error("{metrics} metrics: give 1 to {METRICS_MAX}, the one that the claim is about first")]
    Metrics {
        /// Given.
        metrics: usize,
    },
    /// Arms of different numbers of builds.
    #[error("{arm} has {builds} builds: give every arm the same number of builds, one or more")]
    Builds {
        /// Its letter.
        arm: char,
        /// Given.
        builds: usize,
    },
    /// Blocks that cannot be shared among the builds.
    #[error("{blocks} blocks cannot be shared evenly: plan a multiple of {builds} builds")]
    UnevenBuilds {
        /// Planned.
        blocks: u32,
        /// Of each arm.
        builds: usize,
    },
    /// A metric that cannot be read.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// A pattern that is no regular expression, or one too large.
    #[error("the metric's pattern {pattern:?} is not a regular expression: {source}")]
    Pattern {
        /// Given.
        pattern: String,
        /// What is wrong with it.
        source: Box<regex::Error>,
    },
    /// A pattern that captures nothing.
    #[error("the metric's pattern {pattern:?} has no capture group: put ( ) around the number")]
    NoGroup {
        /// Given.
        pattern: String,
    },
}

/// What stopped a campaign.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A counter cannot be had on this machine.
    #[error(transparent)]
    Perf(#[from] PerfProblem),
    /// The private folder of a sitting could not be made.
    #[error(
        "no folder can be made in {}, which runs need for their metric files: {source}; free it, \
         or set TMPDIR",
        std::env::temp_dir().display()
    )]
    RunFolder {
        /// What the system said.
        source: io::Error,
    },
    /// A command could not be started or watched.
    #[error("{run} could not be started in {dir}: {source}")]
    Start {
        /// Which run.
        run: RunName,
        /// Its working directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A command ended with failure.
    #[error("{run} failed ({status}): `{command}`; its output ended:\n{tail}")]
    Failed {
        /// Which run.
        run: RunName,
        /// Its command.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Last lines of its output.
        tail: String,
    },
    /// A command took longer than the plan allows.
    #[error(
        "{run} was killed after {timeout:?}: `{command}`; raise the timeout if it may take longer. \
         Its output ended:\n{tail}"
    )]
    TimedOut {
        /// Which run.
        run: RunName,
        /// Its command.
        command: String,
        /// The plan's limit.
        timeout: Duration,
        /// Last lines of its output.
        tail: String,
    },
    /// The metric is not in a command's output, or is not usable.
    #[error("{run} gave no value: {reason}. Its output ended:\n{tail}")]
    NoValue {
        /// Which run.
        run: RunName,
        /// What is missing or wrong.
        reason: String,
        /// Last lines of its output.
        tail: String,
    },
    /// An arm that the plan does not have.
    #[error("{run} belongs to no arm of the plan")]
    NoArm {
        /// Which run.
        run: RunName,
    },
    /// There is no valgrind that runs.
    #[error("{what}: counting needs valgrind; on Debian `apt install valgrind` installs it")]
    NoValgrind {
        /// What was found instead.
        what: String,
    },
    /// A run under callgrind left nothing that can be used.
    #[error("{run} gave no counts: {what}")]
    Counts {
        /// Which run.
        run: RunName,
        /// What is missing.
        what: String,
    },
    /// The process that would clean up after this one could not be started.
    #[error("the process that kills a workload when this one dies could not be started: {source}")]
    Guardian {
        /// What the system said.
        source: io::Error,
    },
    /// Another process has the journal open.
    #[error(
        "the journal {path} is in use by another process: wait until that campaign ends, or give \
         this one a journal of its own"
    )]
    JournalLocked {
        /// The file.
        path: PathBuf,
    },
    /// The journal could not be read or written.
    #[error(
        "the journal {path} failed while {doing}: {source}; it must be a file that this tool wrote, \
         or one that is not there yet, on a disk with room"
    )]
    Journal {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the store said.
        source: Box<redb::Error>,
    },
    /// The journal's file could not be laid.
    #[error(
        "the journal {path} cannot be created: {source}; its folder must exist and be writable"
    )]
    JournalCreate {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The journal holds what this tool does not write.
    #[error(
        "the journal {path} holds something unusable for campaign {key:?}: {what}; start a new key \
         or another journal file, and keep this one for inspection"
    )]
    JournalContent {
        /// The file.
        path: PathBuf,
        /// Campaign.
        key: String,
        /// What is unusable.
        what: String,
    },
    /// A campaign of this key was begun with another plan.
    #[error(
        "campaign {key:?} in {path} was registered with another plan ({differs} differ): resume it \
         with the plan it began with, or begin another in a journal of its own"
    )]
    PlanDiffers {
        /// The file.
        path: PathBuf,
        /// Campaign.
        key: String,
        /// Fields that differ, comma-separated.
        differs: String,
    },
    /// The rows do not allow a summary.
    #[error("campaign {key:?} cannot be summarised: {what}")]
    Summary {
        /// Campaign.
        key: String,
        /// Why.
        what: &'static str,
    },
}
