//! What repeating published experiments gave: one record, from which table, JSON and page are made.
//!
//! Three figures stand side by side, and each says what it is: the one that was printed, the one that
//! the printed figures give when they are recomputed, and the one that this machine measured. All
//! ratios are of times, after by before, so that below 1 is faster whatever was published.

use serde::{Deserialize, Serialize};
use unlikely_measure::Verdict;

/// Schema name of [`Reproduction`].
pub const REPRODUCE_SCHEMA: &str = "unlikely/reproduce/1";

/// Experiments repeated on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// [`REPRODUCE_SCHEMA`].
    pub schema: String,
    /// Name and version of the program.
    pub tool: String,
    /// How much was measured: `quick`, `normal`, `full`, or `smoke`, whose figures mean nothing.
    pub mode: String,
    /// CPU and kernel.
    pub machine: String,
    /// Start of the earliest measurement in it, seconds since the epoch.
    pub started_unix_s: u64,
    /// What the figures suffer from, with the remedy.
    pub warnings: Vec<String>,
    /// In the order in which they ran.
    pub experiments: Vec<Reproduced>,
}

/// One experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduced {
    /// Its name: `pollfd`.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// What was published.
    pub claim: PublishedClaim,
    /// The comparison that the claim is held against.
    pub measured: Measured,
    /// What else was published in figures, each with the name of the comparison it is held against.
    pub further_claims: Vec<PublishedClaim>,
    /// What was published about the size of the text; `None` where nothing was.
    pub text_claim: Option<TextClaim>,
    /// Bytes of code; `None` where it could not be read.
    pub text_bytes: Option<TextBytes>,
    /// Machine code of the hot path; `None` where it could not be read.
    pub code: Option<CodePair>,
    /// All comparisons, that one among them.
    pub comparisons: Vec<Measured>,
}

/// What somebody published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedClaim {
    /// Name of the comparison that it is held against.
    pub comparison: String,
    /// Its figures as they were printed, in a sentence of ours.
    pub text: String,
    /// Where and on what it was measured.
    pub source: String,
    /// The change in percent as printed, in the published unit; `None` where none is.
    pub printed_percent: Option<f64>,
    /// The change in percent that the two printed figures give, in the same unit.
    pub recomputed_percent: f64,
    /// The same as a ratio of times, after by before.
    pub time_ratio: f64,
    /// What an audit of the text finds.
    pub audit: Vec<AuditedFigure>,
}

/// What somebody published about the size of the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextClaim {
    /// Bytes before, as printed.
    pub before: u64,
    /// Bytes after, as printed.
    pub after: u64,
    /// The change in percent as printed.
    pub printed_percent: f64,
    /// The change in percent that the two printed figures give.
    pub recomputed_percent: f64,
}

/// A figure of the text that was recomputed from others of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedFigure {
    /// As printed.
    pub printed: String,
    /// From the other figures; `None` where they do not give it.
    pub recomputed: Option<String>,
    /// `consistent`, `rounded`, `inconsistent` or `not-recomputable`.
    pub finding: String,
    /// Why.
    pub reason: String,
}

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReproduceVerdict {
    /// After takes less time.
    Faster,
    /// After takes more time.
    Slower,
    /// The difference is too small to matter.
    Equivalent,
    /// Nothing can be said.
    Inconclusive,
    /// Both sides have the same machine code, so nothing was run.
    SameMachineCode,
}

impl From<Verdict> for ReproduceVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Self::Faster,
            Verdict::Slower => Self::Slower,
            Verdict::Equivalent => Self::Equivalent,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}

impl ReproduceVerdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::SameMachineCode => "same machine code: not run",
        }
    }
}

/// One arm against the baseline of its comparison, on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the comparison: `hint-stress`.
    pub comparison: String,
    /// What is compared; empty where nothing was run.
    pub title: String,
    /// What one operation is; empty where nothing was run.
    pub operation: String,
    /// The baseline's name.
    pub before: String,
    /// The other arm's.
    pub after: String,
    /// Time of one operation of either, in ns.
    pub ns: Option<[f64; 2]>,
    /// The same in the unit of the claim, where that is a rate.
    pub rate: Option<Rate>,
    /// Ratio of times, after by before; `None` where nothing was run.
    pub ratio: Option<f64>,
    /// Its 95 % interval by Student's t.
    pub ci95: Option<[f64; 2]>,
    /// What the verdict rests on: that interval and the exact ranks' together, made wider by what the
    /// baseline showed against itself.
    pub claim_ci95: Option<[f64; 2]>,
    /// Two-sided p of the same test.
    pub p: Option<f64>,
    /// What the data show.
    pub verdict: ReproduceVerdict,
    /// Blocks in all.
    pub blocks: u32,
    /// Units that the interval rests on.
    pub n: u32,
    /// What n counts, and what it does not; or why nothing was run.
    pub n_counts: String,
    /// Each unit's own ratio, in the order in which they ran.
    pub units: Vec<f64>,
}

/// Work by time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// `jobs/min`.
    pub unit: String,
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
}

/// Bytes of code before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextBytes {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
    /// Of what.
    pub of: String,
}

/// The hot path before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePair {
    /// Before.
    pub before: HotPath,
    /// After.
    pub after: HotPath,
}

/// A function up to and with its first return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotPath {
    /// What it is.
    pub name: String,
    /// Bytes of the hot path.
    pub bytes: u64,
    /// Conditional branches on it.
    pub branches: u32,
    /// Calls on it.
    pub calls: u32,
    /// Its instructions.
    pub instructions: Vec<String>,
}

impl Reproduction {
    /// The record as indented JSON, with a line break at its end.
    #[must_use]
    pub fn json(&self) -> String {
        // Serialising fails only for maps with keys that are not strings, and the record has no map.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// A line of a difference: `-`, `+` or a space, and the instruction.
pub(crate) fn difference(code: &CodePair) -> Vec<(char, &str)> {
    let (before, after) = (&code.before.instructions, &code.after.instructions);
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, before, after);
    let mut lines = Vec::new();
    let of =
        |list: &'_ [String], range: std::ops::Range<usize>| range.start..range.end.min(list.len());
    for op in &ops {
        let equal = op.tag() == similar::DiffTag::Equal;
        let old = before.get(of(before, op.old_range())).unwrap_or_default();
        let new = after.get(of(after, op.new_range())).unwrap_or_default();
        lines.extend(old.iter().map(|line| (if equal { ' ' } else { '-' }, &**line)));
        if !equal {
            lines.extend(new.iter().map(|line| ('+', &**line)));
        }
    }
    lines
}
