//! Claims that are made together: each is adjusted for the others, since of twenty comparisons of
//! a program with itself one is expected to be "significant".

use crate::design::Design;
use crate::plan::Stop;
use crate::report::{Adjustment, BenchReport, Family, Verdict};
use crate::stats::{Boundaries, benjamini_hochberg, holm};

/// Level of the whole family.
const LEVEL: f64 = 0.05;

/// Adjusts claims that will be made together by Holm's method: a claim that does not survive it
/// becomes inconclusive, and its reason says so. A single claim stays as it is.
pub fn claim_together<'r>(reports: impl Iterator<Item = &'r mut BenchReport>) {
    adjust(reports, Adjustment::Holm, holm);
}

/// Adjusts figures that are only explored, by the method of Benjamini and Hochberg.
pub fn explore<'r>(reports: impl Iterator<Item = &'r mut BenchReport>) {
    adjust(reports, Adjustment::BenjaminiHochberg, benjamini_hochberg);
}

fn adjust<'r>(
    reports: impl Iterator<Item = &'r mut BenchReport>,
    method: Adjustment,
    adjusted: fn(&[f64]) -> Vec<f64>,
) {
    let mut reports: Vec<&mut BenchReport> = reports.collect();
    if reports.len() < 2 {
        return;
    }
    let size = u32::try_from(reports.len()).unwrap_or(u32::MAX);
    let p_values: Vec<f64> = reports.iter().map(|report| claim_p(report)).collect();
    for (report, p) in reports.iter_mut().zip(adjusted(&p_values)) {
        report.family = Some(Family { size, method, p });
        let claims = matches!(report.verdict, Verdict::Faster | Verdict::Slower);
        if claims && p > LEVEL {
            report.verdict = Verdict::Inconclusive;
            report.reason = format!(
                "alone this would be a claim (p = {:.3}), but it is one of {size}, and {} p is \
                 {p:.3}: measure it again by itself, on fresh blocks",
                claim_p(report),
                match method {
                    Adjustment::Holm => "Holm's",
                    Adjustment::BenjaminiHochberg => "Benjamini and Hochberg's",
                }
            );
        }
    }
}

/// The p of a claim, for which all witnesses must speak. Where the campaign could stop early the
/// companions were held to the look's boundary already.
fn claim_p(report: &BenchReport) -> f64 {
    match report.ending.rule {
        Stop::Fixed => report.p.max(report.companion.p).max(report.sign_p.unwrap_or(0.0)),
        Stop::Sequential => repeated_p(report).unwrap_or(report.p),
        Stop::Open => report.p,
    }
}

/// The lowest level whose boundaries would have been crossed at the look that ended the campaign:
/// what Holm's method takes of sequential campaigns (Jennison and Turnbull's repeated p-value; Ye,
/// Li, Liu and Yao 2013). The p that is ordered by looks does not serve here, as at the last look
/// it is never below what the earlier looks have spent.
fn repeated_p(report: &BenchReport) -> Option<f64> {
    let last = report.ending.looks.last()?;
    let blocks = u64::from(report.blocks.max(1));
    let units = u64::from(report.ending.blocks_max) * u64::from(report.n) / blocks;
    let Design::Sequential { units: sizes, .. } = Design::sequential(u32::try_from(units).ok()?)
    else {
        return None;
    };
    let of = f64::from(*sizes.last()?);
    let fractions: Vec<f64> = sizes.iter().map(|&size| f64::from(size) / of).collect();
    let look = sizes.iter().position(|&size| size == last.n)?;
    let crossed = |level: f64| {
        let needed = Boundaries::obrien_fleming(&fractions, level).and_then(|b| b.nominal_p(look));
        needed.is_some_and(|needed| last.p <= needed)
    };
    let (mut low, mut high) = (1e-6_f64, 0.99_f64);
    if crossed(low) {
        return Some(low);
    }
    for _ in 0..20 {
        let middle = (low * high).sqrt();
        if crossed(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Of several arms, the one to confirm: the best of those that exploring finds better than the
/// baseline (at most 5 % false discoveries). Chosen from many, it looks better than it is, so it
/// is no winner before fresh blocks say so.
#[must_use]
pub fn leader(first: &BenchReport) -> Option<&BenchReport> {
    use crate::report::Direction;
    let arms: Vec<&BenchReport> = std::iter::once(first)
        .chain(first.others.iter().filter(|other| other.metric == first.metric))
        .collect();
    let found = benjamini_hochberg(&arms.iter().map(|arm| claim_p(arm)).collect::<Vec<_>>());
    let better = |arm: &BenchReport| match arm.direction {
        Direction::Lower => arm.ratio,
        Direction::Higher => -arm.ratio,
    };
    let no_change = |arm: &BenchReport| match arm.direction {
        Direction::Lower => 1.0,
        Direction::Higher => -1.0,
    };
    arms.into_iter()
        .zip(found)
        .filter(|(arm, p)| *p <= LEVEL && better(arm) < no_change(arm))
        .map(|(arm, _)| arm)
        .min_by(|x, y| better(x).total_cmp(&better(y)))
}
