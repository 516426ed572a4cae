//! What the outputs say alike: sums over the record, and the words for them.

use std::collections::BTreeMap;

use unlikely_advise::{AuditVerdict, Candidate, Polarity, Scan, SiteVerdict, WorkloadCount};
use unlikely_codegen::{CodeDelta, SizePair, TakenPair};
use unlikely_measure::{BenchReport, BlockRow, Direction, Provenance, UnitOf, Verdict};
use unlikely_profile::Severity;

use crate::dose::CYCLES_MAX;
use crate::evidence::{Evidence, Fate, Outcome, SiteEvidence, WorkloadBench};
use crate::figures::{
    bytes_change, count, counted, decimal, duration, percent, ratio, ratio_of, relative, rough,
    share, size_percent,
};
use crate::text::{NBSP, named};

/// The candidate that a site's evidence is about.
pub(crate) fn candidate<'a>(evidence: &'a Evidence, id: &str) -> Option<&'a Candidate> {
    evidence.scan.candidates.iter().find(|candidate| candidate.id == id)
}

/// The sites that became part of the combined patch.
pub(crate) fn kept(evidence: &Evidence) -> Vec<&SiteEvidence> {
    evidence.sites.iter().filter(|site| site.fate == Fate::Kept).collect()
}

/// `src/a.c:57`.
pub(crate) fn place(candidate: &Candidate) -> String {
    format!("{}:{}", named(&candidate.file, "(no file)"), candidate.line)
}

/// The enclosing function's name, where there is one.
pub(crate) fn function(candidate: &Candidate) -> Option<String> {
    candidate.function.as_deref().map(|name| named(name, "(unnamed)"))
}

/// The condition's text.
pub(crate) fn condition(candidate: &Candidate) -> String {
    named(&candidate.condition, "(empty condition)")
}

/// What a project calls a hint that expects this outcome.
pub(crate) fn hint(expect: bool) -> &'static str {
    if expect { "likely" } else { "unlikely" }
}

/// How often the outcome that is not expected came: its count and its name.
pub(crate) fn rare(expect: bool, executed: u64, taken: u64) -> (u64, &'static str) {
    if expect { (executed.saturating_sub(taken), "false") } else { (taken, "true") }
}

/// `true 0 of 204,936 (0 %)`: the rare outcome against all.
pub(crate) fn rare_of(expect: bool, executed: u64, taken: u64) -> String {
    let (rare, outcome) = rare(expect, executed, taken);
    if executed == 0 {
        return "not executed".to_owned();
    }
    let of = format!("{outcome} {} of {}", count(rare), count(executed));
    if rare == 0 { of } else { format!("{of} ({})", share(rare, executed)) }
}

/// The workloads that executed the condition.
fn executing(candidate: &Candidate) -> impl Iterator<Item = &WorkloadCount> {
    candidate.workloads.iter().filter(|workload| workload.executed > 0)
}

/// Whether nothing but stressor workloads ever reached the condition.
pub(crate) fn stressor_only(candidate: &Candidate) -> bool {
    let mut workloads = executing(candidate).peekable();
    workloads.peek().is_some() && workloads.all(|workload| workload.class == "stressor")
}

/// Each workload's name and class, in the order in which the record first names it.
pub(crate) fn workloads(evidence: &Evidence) -> Vec<(String, String)> {
    let scanned = evidence.scan.candidates.iter().flat_map(|c| &c.workloads);
    let scanned = scanned.map(|workload| (&workload.name, &workload.class));
    let benched = evidence.bench.iter().map(|bench| (&bench.workload, &bench.class));
    let mut seen = Vec::new();
    for (name, class) in benched.chain(scanned) {
        let entry = (named(name, "(unnamed)"), named(class, "unclassed"));
        if !seen.contains(&entry) {
            seen.push(entry);
        }
    }
    seen
}

/// `sort (application)`.
pub(crate) fn workload(bench: &WorkloadBench) -> String {
    format!("{} ({})", named(&bench.workload, "(unnamed)"), named(&bench.class, "unclassed"))
}

/// Machine code of one site over all its translation units.
pub(crate) struct CodeSummary {
    /// Units whose code differs.
    pub(crate) units: usize,
    /// Bytes in hot sections.
    pub(crate) hot: SizePair,
    /// Bytes in cold sections.
    pub(crate) cold: SizePair,
    /// Blocks that left the main body, where that could be told of any function.
    pub(crate) blocks_moved: Option<u64>,
    /// How often the condition's branch is taken; only where one unit differs, as units may share
    /// one profile.
    pub(crate) taken: Option<TakenPair>,
}

/// Sums what differs; `None` where no unit differs.
pub(crate) fn code_summary(code: &[CodeDelta]) -> Option<CodeSummary> {
    let differing: Vec<_> = code.iter().filter(|delta| !delta.identical).collect();
    let first = differing.first()?;
    let sum = |part: fn(&CodeDelta) -> SizePair| {
        differing.iter().map(|delta| part(delta)).fold(SizePair::default(), |a, b| SizePair {
            before: a.before.saturating_add(b.before),
            after: a.after.saturating_add(b.after),
        })
    };
    let functions = differing.iter().flat_map(|delta| &delta.functions);
    Some(CodeSummary {
        units: differing.len(),
        hot: sum(|delta| delta.hot_bytes),
        cold: sum(|delta| delta.cold_bytes),
        blocks_moved: functions
            .filter_map(|f| f.blocks_moved.map(u64::from))
            .reduce(u64::saturating_add),
        taken: if differing.len() == 1 { taken(first) } else { None },
    })
}

/// How often the condition's branch is taken in a unit, over its functions where that is known.
fn taken(delta: &CodeDelta) -> Option<TakenPair> {
    delta.functions.iter().filter_map(|function| function.hot_taken).reduce(|a, b| TakenPair {
        before: a.before.saturating_add(b.before),
        after: a.after.saturating_add(b.after),
    })
}

impl CodeSummary {
    /// `1 block moved out of line`, where any did.
    pub(crate) fn moved(&self) -> Option<String> {
        let n = self.blocks_moved.filter(|n| *n > 0)?;
        Some(format!("{} moved out of line", counted(n, "block")))
    }

    /// The change in words, one item a fact.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("hot text {}", bytes_change(self.hot.before, self.hot.after)),
            format!("cold text {}", bytes_change(self.cold.before, self.cold.after)),
        ];
        words.extend(self.moved());
        if let Some(taken) = self.taken {
            words.push(format!("jumps on the shortest pass, modelled: {}", taken_change(taken)));
        }
        if self.units > 1 {
            words.push(format!("summed over {}", counted(self.units as u64, "unit")));
        }
        words
    }
}

/// `-50.0 %`. A model of the machine code, not a count: so no absolute figure is shown.
pub(crate) fn taken_change(taken: TakenPair) -> String {
    relative(taken.before, taken.after).unwrap_or_else(|| {
        if taken.after == 0 { "none before or after" } else { "none before, some after" }.to_owned()
    })
}

/// What became of a hint, as one word.
pub(crate) fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::NoOp => "no-op",
        Fate::NoBenefit => "no use",
        Fate::Withdrawn => "withdrawn",
        Fate::NotTried => "not tried",
    }
}

/// How many sites met each fate: `1 kept, 2 no-op`.
pub(crate) fn fates(sites: &[SiteEvidence]) -> String {
    let order = [Fate::Kept, Fate::NoOp, Fate::NoBenefit, Fate::Withdrawn, Fate::NotTried];
    let parts: Vec<String> = order
        .iter()
        .map(|one| (one, sites.iter().filter(|site| site.fate == *one).count()))
        .filter(|(_, n)| *n > 0)
        .map(|(one, n)| format!("{}{NBSP}{}", count(n as u64), fate(*one)))
        .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// The outcome, as a heading.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Gain => "Gain",
        Outcome::NoGain => "No gain",
        Outcome::Loss => "Loss",
        Outcome::NotMeasured => "Not measured yet",
        Outcome::NoEffect => "No effect on the machine code",
        Outcome::NoCandidate => "No condition worth a hint",
    }
}

/// A verdict, as one word.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// A site's verdict in words.
pub(crate) fn site_verdict(verdict: SiteVerdict) -> &'static str {
    match verdict {
        SiteVerdict::Propose => "propose",
        SiteVerdict::WorkloadDependent => "workload-dependent",
        SiteVerdict::NotBiased => "not biased",
        SiteVerdict::TooFew => "too few executions",
        SiteVerdict::Hinted => "hinted already",
        SiteVerdict::Covered => "covered by another",
        SiteVerdict::NotHintable => "not hintable here",
    }
}

/// How the direction is known, as one word.
pub(crate) fn polarity(polarity: Polarity) -> &'static str {
    match polarity {
        Polarity::Known => "known",
        Polarity::Inferred => "inferred",
        Polarity::Unknown => "unknown",
    }
}

/// An audit's verdict, as one word.
pub(crate) fn audit_verdict(verdict: AuditVerdict) -> &'static str {
    match verdict {
        AuditVerdict::Right => "right",
        AuditVerdict::Wrong => "wrong",
        AuditVerdict::Redundant => "redundant",
        AuditVerdict::NotExecuted => "not executed",
    }
}

/// `11 right, 2 wrong, 1 redundant`; those not executed only where there are any, as only counts
/// that a program keeps of its own hints tell of them.
pub(crate) fn audit_counts(scan: &Scan) -> String {
    let of = |verdict| scan.audit.iter().filter(|row| row.verdict == verdict).count() as u64;
    let mut text = format!(
        "{} right, {} wrong, {} redundant",
        count(of(AuditVerdict::Right)),
        count(of(AuditVerdict::Wrong)),
        count(of(AuditVerdict::Redundant)),
    );
    let idle = of(AuditVerdict::NotExecuted);
    if idle > 0 {
        text.push_str(&format!(", {} not executed", count(idle)));
    }
    text
}

/// A severity, as one word.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// What the campaigns warn of, each once.
pub(crate) fn warnings(bench: &[WorkloadBench]) -> Vec<&str> {
    let mut seen = Vec::new();
    for warning in bench.iter().flat_map(|one| &one.report.provenance.warnings) {
        if !seen.contains(&warning.as_str()) {
            seen.push(warning.as_str());
        }
    }
    seen
}

/// `1 error, 2 warnings, 3 notes`; `none` where there is nothing.
pub(crate) fn diagnostic_counts(scan: &Scan) -> String {
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .iter()
        .map(|one| (one, scan.diagnostics.iter().filter(|d| d.severity == *one).count()))
        .filter(|(_, n)| *n > 0)
        .map(|(one, n)| counted(n as u64, severity(*one)))
        .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// How many conditions got each verdict, the most frequent first.
pub(crate) fn verdict_counts(scan: &Scan) -> Vec<(SiteVerdict, u64)> {
    let mut counts = BTreeMap::new();
    for candidate in &scan.candidates {
        *counts.entry(candidate.verdict).or_insert(0_u64) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(verdict, n)| (std::cmp::Reverse(*n), *verdict));
    counts
}

/// `20 blocks (one run of each build)` or `8 pairs of builds (24 blocks)`: n, and what it counts.
pub(crate) fn units(report: &BenchReport) -> String {
    let blocks = counted(report.blocks, "block");
    match report.n_unit {
        UnitOf::Block => format!("{blocks} (one run of each build)"),
        UnitOf::Build => format!("{} of builds ({blocks})", counted(report.n, "pair")),
    }
}

/// Whether the hints can explain the effect, where that can be told.
pub(crate) fn dose(one: &WorkloadBench) -> Option<String> {
    let dose = one.dose?;
    if !dose.follows {
        let text = "dose: not to be told, as the CPU time of a run did not change as the metric \
                    did (a workload of a fixed time, or one that waits)";
        return Some(text.to_owned());
    }
    let [low, high] = dose.cycles_ci95.map(|cycles| decimal(cycles, 1));
    let conditions = match dose.sites {
        1 => "the hinted condition".to_owned(),
        n => format!("one of the {}", counted(n, "hinted condition")),
    };
    let each = format!(
        "{low} to {high} cycles saved each time {conditions} is executed ({} a run)",
        rough(dose.executions as f64)
    );
    Some(if dose.suspicious {
        format!(
            "suspicious: the effect is larger than the hint can explain: {each}, and a hint \
             is worth {CYCLES_MAX} at the very most; look for another cause (layout, machine)"
        )
    } else {
        format!("dose: {each}, which hints can do")
    })
}

/// Which way the metric improves, in words.
pub(crate) fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
    }
}

/// ln(B/A) with the sign that makes more than 0 an improvement, in units of one percent.
pub(crate) fn improvement(ratio: f64, direction: Direction) -> Option<f64> {
    let log = (ratio.ln() * 100.0).is_finite().then(|| ratio.ln() * 100.0)?;
    Some(match direction {
        Direction::Higher => log,
        Direction::Lower => -log,
    })
}

/// Whether B's estimate lies on the better side, the worse side, or on A.
pub(crate) fn side(report: &BenchReport) -> &'static str {
    match percent(report.ratio).and_then(|_| improvement(report.ratio, report.direction)) {
        None => "not known",
        Some(0.0) => "the same",
        Some(gain) if gain > 0.0 => "better",
        Some(_) => "worse",
    }
}

/// `-0.56 % (95 % CI -0.62 % to -0.50 %)`.
pub(crate) fn ratio_with_interval(report: &BenchReport) -> String {
    let shown = ratio(report);
    match shown.interval {
        Some(interval) => format!("{} (95{NBSP}% CI {interval})", shown.change),
        None => format!("{} (no interval from {})", shown.change, counted(report.blocks, "block")),
    }
}

/// The metric's name.
pub(crate) fn metric(report: &BenchReport) -> String {
    named(&report.metric, "metric")
}

/// The effect that this design finds in 4 of 5 campaigns, where the record tells.
pub(crate) fn detectable(report: &BenchReport) -> Option<String> {
    let known = report.blocks >= 2 && report.mde80_percent > 0.0;
    known.then(|| size_percent(report.mde80_percent)).flatten()
}

/// The rank-based second opinion: its estimate, and its interval with the coverage that ranks
/// allow.
pub(crate) fn companion(report: &BenchReport) -> Option<String> {
    let companion = report.companion;
    let coverage = size_percent(companion.confidence * 100.0)?;
    let shown = ratio_of(companion.ratio, companion.ci, report.n);
    let interval = shown.interval?;
    Some(format!("{} ({coverage} CI {interval}, Hodges–Lehmann)", shown.change))
}

/// CPU, turbo state and kernel.
pub(crate) fn machine(provenance: &Provenance) -> String {
    format!(
        "{}, turbo {}, kernel {}",
        named(&provenance.cpu, "CPU unknown"),
        named(&provenance.turbo, "unknown"),
        named(&provenance.kernel, "unknown"),
    )
}

/// The median wall time of one run, both arms together.
pub(crate) fn run_time(report: &BenchReport) -> Option<String> {
    let mut walls: Vec<f64> =
        valid_rows(report).flat_map(|row| [row.a_wall_s, row.b_wall_s]).collect();
    walls.retain(|wall| wall.is_finite() && *wall > 0.0);
    walls.sort_by(f64::total_cmp);
    walls.get(walls.len() / 2).map(|median| duration(*median))
}

/// The blocks that figures are made of.
pub(crate) fn valid_rows(report: &BenchReport) -> impl Iterator<Item = &BlockRow> {
    report.rows.iter().filter(|row| row.invalid.is_none())
}

/// The workloads with this verdict.
pub(crate) fn with_verdict(bench: &[WorkloadBench], verdict: Verdict) -> Vec<&WorkloadBench> {
    bench.iter().filter(|one| one.report.verdict == verdict).collect()
}

/// The honest sentence about workloads, for those who read nothing else.
pub(crate) fn gain_sentence(bench: &[WorkloadBench]) -> String {
    let name = |one: &&WorkloadBench| format!("{} {}", workload(one), side_words(&one.report));
    let list = |some: &[&WorkloadBench]| some.iter().map(name).collect::<Vec<_>>().join("; ");
    let gains = with_verdict(bench, Verdict::Faster);
    let losses = with_verdict(bench, Verdict::Slower);
    if bench.is_empty() {
        return "No workload was benchmarked.".to_owned();
    }
    let mut sentence = if gains.is_empty() {
        let rest: Vec<_> =
            bench.iter().filter(|one| one.report.verdict != Verdict::Slower).collect();
        let rest = if rest.is_empty() { String::new() } else { format!(": {}", list(&rest)) };
        format!("No workload shows a gain{rest}.")
    } else {
        format!("Gain on {} of {}: {}.", gains.len(), workloads_word(bench.len()), list(&gains))
    };
    if !losses.is_empty() {
        sentence.push_str(&format!(" Slower: {}.", list(&losses)));
    }
    if !gains.is_empty() && gains.iter().all(|one| one.class == "stressor") {
        sentence.push_str(" Only stressor workloads show the gain.");
    }
    sentence
}

fn workloads_word(n: usize) -> String {
    counted(n as u64, "workload")
}

fn side_words(report: &BenchReport) -> String {
    let shown = ratio_with_interval(report);
    match (report.verdict, detectable(report)) {
        (Verdict::Inconclusive, Some(effect)) => {
            format!("{shown}, inconclusive ({effect} would show in 4 of 5 such campaigns)")
        }
        (Verdict::Inconclusive, None) => format!("{shown}, inconclusive"),
        (Verdict::Equivalent, _) => format!("{shown}, equivalent"),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{campaign, rich};

    fn bench(class: &str, effect_percent: f64) -> WorkloadBench {
        let report = campaign(20, 1.0, effect_percent, 0.2);
        WorkloadBench { workload: "w".into(), class: class.into(), report, dose: None }
    }

    #[test]
    fn the_rare_outcome_is_the_one_that_the_hint_does_not_expect() {
        assert_eq!(rare(false, 1000, 3), (3, "true"));
        assert_eq!(rare(true, 1000, 998), (2, "false"));
        assert_eq!(rare(true, 1, 2), (0, "false"), "counts that disagree do not wrap");
    }

    #[test]
    fn no_gain_is_said_first_and_with_its_interval() {
        let sentence = crate::text::plain(&gain_sentence(&[bench("application", -0.1)]));
        assert!(sentence.starts_with("No workload shows a gain: w (application)"), "{sentence}");
        assert!(sentence.contains("95 % CI"), "{sentence}");
        assert_eq!(gain_sentence(&[]), "No workload was benchmarked.");
    }

    #[test]
    fn a_loss_is_never_left_out() {
        let sentence = gain_sentence(&[bench("application", -3.0), bench("benchmark", 3.0)]);
        assert!(sentence.contains(" Slower: w (benchmark) +"), "{sentence}");
    }

    #[test]
    fn a_gain_that_only_stressors_show_is_marked() {
        let marked = |classes: &[&str]| {
            let bench: Vec<_> = classes.iter().map(|class| bench(class, -3.0)).collect();
            gain_sentence(&bench).ends_with("Only stressor workloads show the gain.")
        };
        assert!(marked(&["stressor"]));
        assert!(!marked(&["stressor", "application"]));
    }

    #[test]
    fn a_hint_is_supported_only_by_a_stressor_when_nothing_else_runs_it() {
        let mut candidate = rich().scan.candidates.swap_remove(3);
        assert!(stressor_only(&candidate));
        let mut idle = candidate.workloads[0].clone();
        (idle.class, idle.executed) = ("application".into(), 0);
        candidate.workloads.push(idle);
        assert!(stressor_only(&candidate), "an application that never reaches it is no support");
        candidate.workloads[1].executed = 1;
        assert!(!stressor_only(&candidate));
    }

    #[test]
    fn improvement_follows_the_direction_of_the_metric() {
        assert!(improvement(0.9, Direction::Lower) > Some(0.0));
        assert!(improvement(0.9, Direction::Higher) < Some(0.0));
        assert_eq!(improvement(0.0, Direction::Lower), None);
    }

    #[test]
    fn units_that_may_share_a_profile_are_not_added_up_to_taken_branches() {
        let evidence = rich();
        let one = code_summary(&evidence.sites[0].code).unwrap();
        assert_eq!(one.taken.unwrap().before, 266_140_113);
        let mut code = evidence.sites[0].code.clone();
        code.push(code[0].clone());
        let two = code_summary(&code).unwrap();
        assert_eq!((two.units, two.hot.before, two.blocks_moved), (2, 2408, Some(2)));
        assert_eq!(two.taken, None);
    }
}
