//! Which measured conditions are worth a hint, and in which order.

use std::cmp::Ordering;

use unlikely_source::{Barrier, Site, SiteKind, Sites};

use crate::model::{Candidate, SiteVerdict, WorkloadCount};
use crate::{Measured, Target, Thresholds};

/// Judges every measured site of one file.
pub(crate) fn judge(
    sites: &Sites,
    measured: Vec<Measured>,
    thresholds: Thresholds,
) -> Vec<(Candidate, Target)> {
    let mut proposed = vec![false; sites.sites.len()];
    let mut out = Vec::with_capacity(measured.len());
    // Roots come before their operands, so an outer proposal is known when an inner one is judged.
    for Measured { site: i, mut candidate, target } in measured {
        let site = &sites.sites[i];
        let (verdict, reason) = match covered_by(sites, i, &proposed) {
            Some(outer) => (
                SiteVerdict::Covered,
                format!("the whole condition on line {} is proposed", outer.span.start.line),
            ),
            None => verdict(site, &candidate, thresholds),
        };
        proposed[i] = verdict == SiteVerdict::Propose;
        candidate.verdict = verdict;
        candidate.reason = reason;
        out.push((candidate, target));
    }
    out
}

fn covered_by<'s>(sites: &'s Sites, i: usize, proposed: &[bool]) -> Option<&'s Site> {
    let mut at = sites.sites[i].parent;
    while let Some(parent) = at {
        let site = sites.sites.get(parent)?;
        if proposed[parent] || site.hint.is_some() {
            return Some(site).filter(|_| proposed[parent]);
        }
        at = site.parent;
    }
    None
}

fn verdict(site: &Site, c: &Candidate, thresholds: Thresholds) -> (SiteVerdict, String) {
    use SiteVerdict::{Hinted, NotBiased, Propose, TooFew, WorkloadDependent};
    let rare = rare(c.executed, c.taken);
    if let Some(hint) = &site.hint {
        return (Hinted, format!("carries {} already", hint.spelling));
    }
    if let Some(why) = not_hintable(site) {
        return (SiteVerdict::NotHintable, why);
    }
    if c.executed < thresholds.executed_min {
        return (TooFew, format!("fewer than {} executions", thresholds.executed_min));
    }
    if let Some(why) = disagreement(c, thresholds) {
        return (WorkloadDependent, why);
    }
    let share = share(rare, c.executed);
    if share > thresholds.rare_max {
        let percent = share * 100.0;
        return (NotBiased, format!("the rarer outcome is {percent:.2} % of executions"));
    }
    let usual = if c.expect { "true" } else { "false" };
    let stressor = c.workloads.iter().all(|w| w.class == "stressor");
    let only = if stressor { "; only stressors support it" } else { "" };
    (Propose, format!("{usual} in all but {rare} of {} executions{only}", c.executed))
}

/// Two workloads that each matter and do not agree on a one-sided outcome.
fn disagreement(c: &Candidate, thresholds: Thresholds) -> Option<String> {
    let mut heavy: Vec<&WorkloadCount> =
        c.workloads.iter().filter(|w| w.executed >= thresholds.executed_min).collect();
    heavy.sort_by_key(|w| std::cmp::Reverse(w.executed));
    let one_sided = |w: &WorkloadCount| {
        (share(rare(w.executed, w.taken), w.executed) <= thresholds.rare_max)
            .then(|| w.taken.saturating_mul(2) > w.executed)
    };
    let sides: Vec<_> = heavy.iter().map(|w| (w, one_sided(w))).collect();
    let (first, side) = sides.iter().find(|(_, side)| side.is_some())?;
    let (other, _) = sides.iter().find(|(_, s)| s != side)?;
    let say = |w: &WorkloadCount| format!("true in {} of {} under {}", w.taken, w.executed, w.name);
    Some(format!("{}, but {}: do not hint", say(first), say(other)))
}

fn not_hintable(site: &Site) -> Option<String> {
    if let Some(barrier) = &site.barrier {
        return Some(match barrier {
            Barrier::ParseError => "the text around it is not plain C".to_owned(),
            Barrier::Directive => "a preprocessor directive lies inside it".to_owned(),
            Barrier::MacroArgument(name) => {
                format!("it stands in the argument of {name}, which may repeat or quote it")
            }
            Barrier::CaseLabel => "a case label takes no hint".to_owned(),
            Barrier::Constant => "its value must be a constant there".to_owned(),
            Barrier::Trivial => "it is a constant".to_owned(),
        });
    }
    match &site.in_macro {
        Some(name) if !matches!(site.kind, SiteKind::If | SiteKind::ElseIf) => {
            Some(format!("it is part of the body of {name}, whose uses may need a constant"))
        }
        _ => None,
    }
}

fn rare(executed: u64, taken: u64) -> u64 {
    taken.min(executed.saturating_sub(taken))
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn share(rare: u64, executed: u64) -> f64 {
    if executed == 0 { 0.0 } else { rare as f64 / executed as f64 }
}

/// Proposals first, then by what a hint can move: executions × one-sidedness × how often the
/// compiler lays such a branch out by itself.
pub(crate) fn order(a: &Candidate, b: &Candidate) -> Ordering {
    a.verdict
        .cmp(&b.verdict)
        .then_with(|| score(b).total_cmp(&score(a)))
        .then_with(|| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)))
}

#[expect(clippy::cast_precision_loss, reason = "a rank needs no more than 53 bits")]
fn score(c: &Candidate) -> f64 {
    let one_sided = 1.0 - 2.0 * share(rare(c.executed, c.taken), c.executed);
    let movable = match c.kind.as_str() {
        "if" | "else-if" => 1.0,
        "operand" => 0.8,
        // Often a conditional move; and compilers take loops for repeating by themselves.
        "ternary" => 0.5,
        _ => 0.25,
    };
    c.executed as f64 * one_sided * movable
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
