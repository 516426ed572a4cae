//! What every reader produces: the counts of one run, as far as the format tells them.
//!
//! Two kinds of branch facts exist and are never mixed. A [`BranchRegion`] says where the
//! condition stands, to the column, and how often it was true and false. A [`LineArcs`] says only
//! that so many ways left a line, so many times each; which of them is "true" is for the join with
//! the source text to infer, or to leave unknown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A position in a file as compilers print it: both numbers count from 1, columns count bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pos {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// The counts of one file set under one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Counts by file, under the path that the format names (after any mapping).
    pub files: BTreeMap<String, FileProfile>,
}

/// The counts of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProfile {
    /// Executions of each instrumented line. A line that is absent was not measured, which is not
    /// the same as never run.
    pub lines: BTreeMap<u32, u64>,
    /// Executions of statements on the line from which control may not come back: calls and
    /// volatile `asm` (raw GCC graphs only, else empty). Exact for a line with one such
    /// statement, however often the optimiser copied it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub barriers: BTreeMap<u32, u64>,
    /// Conditions with exact position and polarity.
    pub regions: Vec<BranchRegion>,
    /// Branches known by line only, polarity unknown.
    pub arcs: Vec<LineArcs>,
    /// Function entries.
    pub functions: Vec<FunctionCount>,
    /// Hints of the source that the program itself counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<HintCount>,
}

/// What a [`BranchRegion`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegionKind {
    /// A condition that is true or false.
    Condition,
    /// A `case` label; true = the switch jumped here, false = it jumped elsewhere.
    Case,
}

/// A condition with exact position and polarity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRegion {
    /// First character of the condition.
    pub start: Pos,
    /// One past its last character.
    pub end: Pos,
    /// Times it was true.
    pub taken_true: u64,
    /// Times it was false.
    pub taken_false: u64,
    /// Condition or case label.
    pub kind: RegionKind,
    /// Where the macro was called whose expansion holds this condition; `start` and `end` then
    /// lie in the macro's definition.
    pub expanded_at: Option<ExpansionSite>,
}

/// The call of a macro.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExpansionSite {
    /// File of the macro call.
    pub file: String,
    /// Position of the macro call.
    pub start: Pos,
}

/// All arcs that leave one line in one function (or one copy of a function).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineArcs {
    /// The line that the format names.
    pub line: u32,
    /// The function, where the format names it.
    pub function: Option<String>,
    /// Times each arc was taken, in the format's own order, which says nothing of polarity.
    /// `None`: the branch was never reached (lcov's `-`).
    pub taken: Vec<Option<u64>>,
    /// First line of the code that each arc leads to, where the format tells (gcno graphs); same
    /// order and length as `taken`, or empty.
    pub leads_to: Vec<Option<u32>>,
}

/// Entries of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCount {
    /// The name that the format gives.
    pub name: String,
    /// First line.
    pub line: u32,
    /// Times entered.
    pub entered: u64,
}

/// A hint macro of the hint crate with its own counts: it says itself where it stands and what it
/// promises, so no grammar is needed to join it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintCount {
    /// Line of the macro call, from 1.
    pub line: u32,
    /// Its column from 1, in characters: compilers of Rust do not count bytes.
    pub column: u32,
    /// The outcome that it promises.
    pub expect: bool,
    /// The condition, as the compiler prints it.
    pub condition: String,
    /// Evaluations with the promised outcome.
    pub right: u64,
    /// Evaluations with the other one.
    pub wrong: u64,
}

/// How bad a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Some data were set aside.
    Warning,
    /// An input could not be used at all.
    Error,
}

/// One thing that a reader or the join wants its user to know: what, where, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable identifier such as `gcno-missing`.
    pub code: String,
    /// What happened and what mends it.
    pub message: String,
    /// The file it is about, if one.
    pub path: Option<String>,
}

impl Diagnostic {
    /// A diagnostic about `path`.
    pub fn new(
        severity: Severity,
        code: &str,
        message: impl Into<String>,
        path: Option<&str>,
    ) -> Self {
        Self {
            severity,
            code: code.to_owned(),
            message: message.into(),
            path: path.map(str::to_owned),
        }
    }
}
