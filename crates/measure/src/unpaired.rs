//! Two samples that others took, one command after the other: judged as well as they allow, and
//! never without saying what they do not allow.

use crate::report::{ArmSummary, Direction, Verdict};
use crate::stats::{MannWhitney, Welch};
use crate::verdict::summarise;
use serde::{Deserialize, Serialize};

/// Schema name of [`SamplesReport`].
pub const SAMPLES_SCHEMA: &str = "unlikely/samples/1";

/// What the order of running takes from every such verdict.
const CAUTION: &str = "the runs of A and B were not interleaved, so a machine that drifts looks \
                       like a difference: measure the two commands in random blocks to claim one";

/// Two unpaired samples compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SamplesReport {
    /// [`SAMPLES_SCHEMA`].
    pub schema: String,
    /// Name of A.
    pub name_a: String,
    /// Name of B.
    pub name_b: String,
    /// Which way is better.
    pub direction: Direction,
    /// A's figures.
    pub a: ArmSummary,
    /// B's figures.
    pub b: ArmSummary,
    /// B/A, a ratio of geometric means.
    pub ratio: f64,
    /// 95 % interval of `ratio`: Welch's t on the logarithms.
    pub ci95: [f64; 2],
    /// Two-sided p of Welch's t.
    pub p: f64,
    /// Two-sided p of Mann and Whitney's test, exact with ties where the samples are small.
    pub rank_p: f64,
    /// What the samples show.
    pub verdict: Verdict,
    /// Why, and the caution that belongs to it.
    pub reason: String,
}

impl SamplesReport {
    /// Compares the values `b` with `a`; `None` for fewer than two of either, or values that are
    /// not finite and above zero.
    #[must_use]
    pub fn of(a: (&str, &[f64]), b: (&str, &[f64]), direction: Direction) -> Option<Self> {
        let usable = |values: &[f64]| values.iter().all(|v| v.is_finite() && *v > 0.0);
        if !usable(a.1) || !usable(b.1) {
            return None;
        }
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let (logs_a, logs_b) = (logs(a.1), logs(b.1));
        let welch = Welch::new(&logs_b, &logs_a)?;
        let ranks = MannWhitney::new(&logs_b, &logs_a)?;
        let interval = welch.interval(0.95);
        let clear = interval[0] > 0.0 || interval[1] < 0.0;
        let less = welch.difference < 0.0;
        let (verdict, what) = match (clear, ranks.p() <= 0.05) {
            (true, true) if less == (direction == Direction::Lower) => {
                (Verdict::Faster, "both tests exclude no difference")
            }
            (true, true) => (Verdict::Slower, "both tests exclude no difference"),
            (false, false) => (Verdict::Inconclusive, "neither test excludes no difference"),
            _ => (Verdict::Inconclusive, "the two tests disagree (heavy tail)"),
        };
        Some(Self {
            schema: SAMPLES_SCHEMA.to_owned(),
            name_a: a.0.to_owned(),
            name_b: b.0.to_owned(),
            direction,
            a: summarise(a.1)?,
            b: summarise(b.1)?,
            ratio: welch.difference.exp(),
            ci95: interval.map(f64::exp),
            p: welch.p(),
            rank_p: ranks.p(),
            verdict,
            reason: format!("{what}; but {CAUTION}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 8] = [1.00, 1.01, 1.02, 0.99, 1.00, 1.01, 1.00, 1.02];

    fn judged(b: &[f64], direction: Direction) -> SamplesReport {
        SamplesReport::of(("old", &A), ("new", b), direction).unwrap()
    }

    #[test]
    fn a_clear_difference_is_a_verdict_that_warns_of_its_order() {
        let b = A.map(|value| value * 0.9);
        let report = judged(&b, Direction::Lower);
        assert_eq!(report.verdict, Verdict::Faster);
        assert!((report.ratio - 0.9).abs() < 1e-12);
        assert!(report.ci95[1] < 1.0 && report.p < 1e-6 && report.rank_p < 0.001);
        assert!(report.reason.contains("not interleaved"), "{}", report.reason);
        assert_eq!(judged(&b, Direction::Higher).verdict, Verdict::Slower);
    }

    #[test]
    fn tests_that_disagree_decide_nothing() {
        // One wild value moves the mean's interval over zero, but no rank.
        let mut b = A.map(|value| value * 0.9);
        b[7] = 30.0;
        let report = judged(&b, Direction::Lower);
        assert_eq!(report.verdict, Verdict::Inconclusive);
        assert!(report.reason.contains("disagree"), "{}", report.reason);
    }

    #[test]
    fn what_is_no_sample_has_no_report() {
        let of = |b: &[f64]| SamplesReport::of(("a", &A), ("b", b), Direction::Lower);
        assert!(
            of(&[1.0]).is_none() && of(&[1.0, 0.0]).is_none() && of(&[1.0, f64::NAN]).is_none()
        );
    }
}
