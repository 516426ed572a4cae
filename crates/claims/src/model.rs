//! What an audit says: one record, which is also the JSON.

use serde::Serialize;

/// Schema of the JSON.
pub const SCHEMA: &str = "unlikely/audit/1";

/// All that was found in one text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Claims in the order of the text.
    pub claims: Vec<Claim>,
    /// What runs and spread that the text prints allow to be seen.
    pub precision: Vec<Precision>,
    /// Figures that follow from printed ones, and remarks on what printed ones mean.
    pub notes: Vec<Note>,
}

impl Audit {
    /// How many claims ended so.
    #[must_use]
    pub fn count(&self, finding: Finding) -> usize {
        self.claims.iter().filter(|claim| claim.finding == finding).count()
    }
}

/// One claim of the text, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// What is claimed.
    pub kind: Kind,
    /// Line of the text where the claim stands, from 1.
    pub line: u32,
    /// Other lines that repeat it, as quotes do.
    pub repeated_on: Vec<u32>,
    /// The words that it was read from, untrusted.
    pub excerpt: String,
    /// The claimed figure as it is printed.
    pub printed: String,
    /// The figure that the other figures of the text give; `None` where they give none.
    pub recomputed: Option<String>,
    /// The outcome.
    pub finding: Finding,
    /// Why, and what would fit.
    pub reason: String,
}

/// Kind of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A change in percent.
    Percent,
    /// "2.3x".
    Factor,
    /// A difference in the unit of the figures.
    Difference,
    /// A word such as "increased" between two figures.
    Direction,
    /// The clock that `perf stat` prints beside cycles.
    Clock,
    /// Another rate that `perf stat` prints beside a count.
    Rate,
    /// A sum or difference of `bloat-o-meter` or `size`.
    Size,
}

/// Outcome of a recomputation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The printed figure is what the others give, at its printed precision.
    Consistent,
    /// Not the nearest rounding, but within what its wording or one last digit allows.
    Rounded,
    /// The figures contradict each other.
    Inconsistent,
    /// The text does not hold what it takes, or it is not certain which figures belong together.
    NotRecomputable,
}

/// What a number of runs with a printed standard deviation can show.
///
/// Assumes independent arms of `runs` runs each, with the same standard deviation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Precision {
    /// Line of the standard deviation, from 1.
    pub line: u32,
    /// Runs of each arm.
    pub runs: u32,
    /// Standard deviation in percent, as printed.
    pub sd_percent: f64,
    /// If it is of single runs, the usual meaning.
    pub of_runs: Reading,
    /// If it is of the mean already.
    pub of_mean: Reading,
    /// The effect that it is held against, 100·ln(after ÷ before); `None` where the text has no
    /// single one.
    pub effect_log_percent: Option<f64>,
    /// All of it in words.
    pub reason: String,
}

/// One reading of a printed standard deviation. All values in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reading {
    /// Standard error of one arm's mean.
    pub standard_error: f64,
    /// 95 % interval of 100·ln(after ÷ before), by Student's t with runs − 1 degrees of freedom
    /// (the fewest that Welch's formula can give).
    pub interval: Option<[f64; 2]>,
    /// Smallest effect that is seen in 4 of 5 such comparisons at two-sided 5 %: 2.80 standard
    /// errors of the difference, so 2.80·sd·√(2/n) for the sd of runs.
    pub mde80: f64,
}

/// A figure or remark that answers no claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Line that it is about, from 1.
    pub line: u32,
    /// The remark.
    pub text: String,
}
