//! What the join of counts and conditions says.

use serde::{Deserialize, Serialize};
use unlikely_profile::Diagnostic;

/// Schema name of [`Scan`].
pub const SCHEMA: &str = "unlikely/scan/1";

/// How the direction of a branch is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Polarity {
    /// The collector counts true and false apart.
    Known,
    /// Told from the counts of the code that each arc leads to.
    Inferred,
    /// Not told; never hinted.
    Unknown,
}

/// What is advised about one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteVerdict {
    /// Worth a hint, as far as the counts tell: `check` decides next.
    Propose,
    /// Its direction differs between workloads.
    WorkloadDependent,
    /// Neither outcome is rare enough.
    NotBiased,
    /// Too few executions to matter or to judge.
    TooFew,
    /// It carries a hint already: see the audit.
    Hinted,
    /// The condition is decided by an outer or inner one that is proposed instead.
    Covered,
    /// It cannot be hinted by an edit of this condition (a macro's body, a `case` label, a loop).
    NotHintable,
}

/// Counts of one site under one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadCount {
    /// Workload name.
    pub name: String,
    /// `application`, `benchmark` or `stressor`.
    pub class: String,
    /// Times the condition was evaluated.
    pub executed: u64,
    /// Times it was true.
    pub taken: u64,
}

/// One measured condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Stable over line moves: hash of file, function, condition text and its ordinal.
    pub id: String,
    /// File, relative to the project.
    pub file: String,
    /// Line of the condition's first character, from 1.
    pub line: u32,
    /// Column of it in bytes, from 1.
    pub column: u32,
    /// Line of one past the condition's last character.
    pub end_line: u32,
    /// Column of one past its last character.
    pub end_column: u32,
    /// Enclosing function.
    pub function: Option<String>,
    /// `if`, `else-if`, `while`, `do-while`, `for`, `ternary`, `operand`, `case`.
    pub kind: String,
    /// The condition's text, white space collapsed.
    pub condition: String,
    /// The usual outcome; `"true"` or `"false"` in JSON.
    #[serde(with = "outcome")]
    pub expect: bool,
    /// Times evaluated, all workloads.
    pub executed: u64,
    /// Times true, all workloads.
    pub taken: u64,
    /// How the direction is known.
    pub polarity: Polarity,
    /// In words.
    pub polarity_reason: String,
    /// Apart, by workload.
    pub workloads: Vec<WorkloadCount>,
    /// What is advised.
    pub verdict: SiteVerdict,
    /// Why, in one sentence.
    pub reason: String,
}

/// Whether an existing hint agrees with the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditVerdict {
    /// The counts agree.
    Right,
    /// The counts disagree.
    Wrong,
    /// The compiler lays the code out so without it, or an outer hint says it already.
    Redundant,
    /// It was measured, and never evaluated.
    #[serde(rename = "not-executed")]
    NotExecuted,
}

/// One existing hint against its counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// File, relative to the project.
    pub file: String,
    /// Line of the hint, from 1.
    pub line: u32,
    /// The hint as written, white space collapsed.
    pub hint: String,
    /// The outcome that it promises; `"true"` or `"false"` in JSON.
    #[serde(with = "outcome")]
    pub expect: bool,
    /// Times evaluated.
    pub executed: u64,
    /// Times true.
    pub taken: u64,
    /// Whether the counts agree.
    pub verdict: AuditVerdict,
}

/// What `scan` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// [`SCHEMA`].
    pub schema: String,
    /// Every measured condition, best first.
    pub candidates: Vec<Candidate>,
    /// Every measured existing hint.
    pub audit: Vec<AuditRow>,
    /// What could not be used, and the remedy.
    pub diagnostics: Vec<Diagnostic>,
}

/// An outcome as a word.
mod outcome {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(outcome: &bool, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(if *outcome { "true" } else { "false" })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
        match String::deserialize(from)?.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => {
                Err(D::Error::custom(format!("expected \"true\" or \"false\", got {other:?}")))
            }
        }
    }
}
