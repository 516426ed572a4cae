//! The evidence record: everything one `tune` run learned, from which every output is made.

use serde::{Deserialize, Serialize};
use unlikely_advise::Scan;
use unlikely_codegen::CodeDelta;
use unlikely_measure::BenchReport;

use crate::dose::Dose;

/// Schema name of [`Evidence`].
pub const SCHEMA: &str = "unlikely/evidence/1";

/// All of it, one record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Evidence {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of this tool.
    pub tool: String,
    /// Project name.
    pub project: String,
    /// Seconds since the epoch.
    pub created_unix_s: u64,
    /// Collector used and why.
    pub collector: Collector,
    /// First line of the benchmarked compiler's `--version`.
    pub compiler: String,
    /// Flags of the benchmarked build.
    pub cflags: String,
    /// The join of counts and conditions.
    pub scan: Scan,
    /// One entry a proposed site, best first.
    pub sites: Vec<SiteEvidence>,
    /// A/B of the combined patch, one entry a workload.
    pub bench: Vec<WorkloadBench>,
    /// The combined patch, empty if none survived.
    pub combined_patch: String,
    /// Size of the benchmarked program's text sections, in bytes, before and after the combined
    /// patch.
    pub text_bytes: Option<(u64, u64)>,
    /// What the run says in the end.
    pub outcome: Outcome,
    /// The outcome in one or two sentences that a person can act on.
    pub summary: String,
    /// The command to run or the file to read next, as the caller that wrote the files names it;
    /// empty: nothing.
    #[serde(default)]
    pub next: String,
}

/// The collector and the reason it was chosen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Collector {
    /// `gcov` or `llvm`.
    pub name: String,
    /// Version line of the tool.
    pub version: String,
    /// Why this one.
    pub why: String,
}

/// Everything known of one proposed site.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SiteEvidence {
    /// The candidate's id in the scan.
    pub id: String,
    /// A few lines around the site, with each line's number and count where measured.
    pub excerpt: Vec<ExcerptLine>,
    /// Machine code with and without the hint, one a translation unit that holds the site.
    pub code: Vec<CodeDelta>,
    /// The patch, empty if none was made.
    pub patch: String,
    /// What became of it.
    pub fate: Fate,
    /// In words.
    pub fate_reason: String,
    /// A/B of this hint alone, where it was asked for.
    pub bench: Vec<WorkloadBench>,
}

/// One source line with its count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExcerptLine {
    /// Line number, from 1.
    pub line: u32,
    /// Executions, all workloads; `None`: not measured.
    pub count: Option<u64>,
    /// The text.
    pub text: String,
}

/// What became of a proposed hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Part of the combined patch.
    Kept,
    /// The machine code is the same with it, or with the hints that rank above it, as far
    /// as the order of blocks and the jumps between them go.
    NoOp,
    /// It changes the machine code, but within blocks only, or it saves no jump and moves no block.
    NoBenefit,
    /// Its patch does not build or breaks the project's tests.
    Withdrawn,
    /// It ranks below the number of hints asked for.
    NotTried,
}

/// One workload's A/B.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkloadBench {
    /// Workload name.
    pub workload: String,
    /// `application`, `benchmark` or `stressor`.
    pub class: String,
    /// The campaign's outcome.
    pub report: BenchReport,
    /// Whether the hints can explain it, where that can be told.
    #[serde(default)]
    pub dose: Option<Dose>,
}

impl WorkloadBench {
    /// Whether the effect is larger than the hints can explain.
    #[must_use]
    pub fn is_suspicious(&self) -> bool {
        self.dose.is_some_and(|dose| dose.suspicious)
    }
}

/// What a run says in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// At least one workload is faster and none is slower.
    Gain,
    /// Hints change the code, but no workload shows a gain.
    NoGain,
    /// A workload is slower.
    Loss,
    /// Hints change the code; what that does is not measured yet.
    NotMeasured,
    /// Every proposed hint leaves the machine code as it is, or was withdrawn.
    NoEffect,
    /// No condition is worth a hint.
    NoCandidate,
}
