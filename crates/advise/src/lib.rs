//! Profile × source: ranked advice with verdict and reason. Pure.
//!
//! This is the only place where counts meet text. [`advise`] joins the counts of every workload
//! with the sites of every file, says how each direction is known, and ranks what is worth a hint.
//! What it cannot tell it calls unknown, and never proposes.

mod audit;
mod count;
mod counted;
mod infer;
mod model;
mod rank;
#[cfg(test)]
mod testing;
mod tokens;

use std::collections::BTreeMap;

use unlikely_profile::{Diagnostic, Profile, Severity};
use unlikely_source::{Site, Sites, Span};

pub use count::{Count, CountIndex};
pub use counted::audit_counted;
pub use model::{
    AuditRow, AuditVerdict, Candidate, Polarity, SCHEMA, Scan, SiteVerdict, WorkloadCount,
};

/// One workload's counts.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Its name in the configuration.
    pub name: String,
    /// `application`, `benchmark` or `stressor`.
    pub class: String,
    /// What the collector counted, under project-relative paths.
    pub profile: Profile,
}

/// When a branch is worth a hint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Share of the rarer outcome, 0 to 0.5, up to which a branch counts as one-sided.
    pub rare_max: f64,
    /// Executions, all workloads, from which a branch can matter.
    pub executed_min: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { rare_max: 0.01, executed_min: 1000 }
    }
}

/// Where a candidate stands in the text: what `check` and `patch` need beside the counts.
#[derive(Debug, Clone)]
pub struct Target {
    /// The candidate's id.
    pub id: String,
    /// File, relative to the project.
    pub file: String,
    /// The condition.
    pub condition: Span,
    /// What a hint goes around, in bytes.
    pub bare: std::ops::Range<usize>,
    /// The macro whose body holds it.
    pub in_macro: Option<String>,
    /// The code that runs when it is true.
    pub when_true: Option<Span>,
    /// The code that runs when it is false: its own arm, or what follows an arm that leaves.
    pub when_false: Option<Span>,
}

/// The scan and where its candidates stand, in the same order.
#[derive(Debug, Clone)]
pub struct Advice {
    /// What `scan` prints.
    pub scan: Scan,
    /// One target a candidate.
    pub targets: Vec<Target>,
}

/// Joins the counts of `workloads` with the sites of `files` (by project-relative path).
pub fn advise(
    workloads: &[Workload],
    files: &BTreeMap<String, Sites>,
    thresholds: Thresholds,
) -> Advice {
    let indexes: Vec<_> = workloads.iter().map(|w| CountIndex::new(&w.profile)).collect();
    let mut joined = Vec::new();
    let mut audit = Vec::new();
    let mut diagnostics = unjoined(workloads, files);
    for (path, sites) in files {
        let counts: Vec<Vec<Option<Count>>> =
            indexes.iter().map(|index| index.counts(path, sites)).collect();
        let (unknown, measured): (Vec<_>, Vec<_>) = measured(path, sites, workloads, &counts)
            .into_iter()
            .partition(|m| m.candidate.polarity == Polarity::Unknown);
        diagnostics.extend(untold(path, &unknown));
        audit.extend(audit::audit(path, sites, &measured));
        joined.extend(rank::judge(sites, measured, thresholds));
    }
    joined.sort_by(|a, b| rank::order(&a.0, &b.0));
    sort_audit(&mut audit);
    let (candidates, targets) = joined.into_iter().unzip();
    Advice { scan: Scan { schema: SCHEMA.to_owned(), candidates, audit, diagnostics }, targets }
}

/// The order of an audit: that of the text.
pub(crate) fn sort_audit(rows: &mut [AuditRow]) {
    rows.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
}

/// A site with its counts summed over workloads, not yet judged.
pub(crate) struct Measured {
    pub(crate) site: usize,
    pub(crate) candidate: Candidate,
    pub(crate) target: Target,
}

fn measured(
    path: &str,
    sites: &Sites,
    workloads: &[Workload],
    counts: &[Vec<Option<Count>>],
) -> Vec<Measured> {
    let ordinals = sites.ordinals();
    let mut out = Vec::new();
    for (i, site) in sites.sites.iter().enumerate() {
        let per: Vec<(&Workload, &Count)> = workloads
            .iter()
            .zip(counts)
            .filter_map(|(w, c)| Some((w, c.get(i)?.as_ref()?)))
            .collect();
        if per.iter().all(|(_, count)| count.executed == 0) {
            continue;
        }
        let ordinal = ordinals.get(i).copied().unwrap_or(0);
        out.push(Measured {
            site: i,
            candidate: candidate(path, site, ordinal, &per),
            target: Target {
                id: identity(path, site, ordinal),
                file: path.to_owned(),
                condition: site.span.clone(),
                bare: site.bare.clone(),
                in_macro: site.in_macro.clone(),
                when_true: site.when_true.clone(),
                when_false: site.when_false.clone().or_else(|| site.after.clone()),
            },
        });
    }
    out
}

fn candidate(path: &str, site: &Site, ordinal: u32, per: &[(&Workload, &Count)]) -> Candidate {
    let sum = |f: fn(&Count) -> u64| per.iter().fold(0_u64, |n, (_, c)| n.saturating_add(f(c)));
    let (executed, taken) = (sum(|c| c.executed), sum(|c| c.taken));
    // The weakest knowledge speaks for the whole.
    let weakest = per.iter().map(|(_, c)| *c).max_by_key(|c| match c.polarity {
        Polarity::Known => 0,
        Polarity::Inferred => 1,
        Polarity::Unknown => 2,
    });
    Candidate {
        id: identity(path, site, ordinal),
        file: path.to_owned(),
        line: site.span.start.line,
        column: site.span.start.column,
        end_line: site.span.end.line,
        end_column: site.span.end.column,
        function: site.function.clone(),
        kind: site.kind.name().to_owned(),
        condition: site.text.clone(),
        expect: taken.saturating_mul(2) > executed,
        executed,
        taken,
        polarity: weakest.map_or(Polarity::Unknown, |c| c.polarity),
        polarity_reason: weakest.map_or_else(String::new, |c| c.reason.clone()),
        workloads: per
            .iter()
            .map(|(w, c)| WorkloadCount {
                name: w.name.clone(),
                class: w.class.clone(),
                executed: c.executed,
                taken: c.taken,
            })
            .collect(),
        verdict: SiteVerdict::TooFew,
        reason: String::new(),
    }
}

/// Stable over moved lines: a hash of what a person would call the site by.
fn identity(path: &str, site: &Site, ordinal: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    let ordinal = ordinal.to_string();
    let function = site.function.as_deref().or(site.in_macro.as_deref()).unwrap_or_default();
    for part in [path, function, site.kind.name(), &site.text, &ordinal] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex().chars().take(12).collect()
}

/// Conditions whose direction could not be told are no candidates; they are listed here.
fn untold(path: &str, unknown: &[Measured]) -> Option<Diagnostic> {
    let first = unknown.first()?;
    let mut lines: Vec<u32> = unknown.iter().map(|m| m.candidate.line).collect();
    lines.sort_unstable();
    lines.dedup();
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    Some(Diagnostic::new(
        Severity::Note,
        "unknown-polarity",
        format!(
            "the direction of {} measured conditions could not be told ({}, for one); they are \
             not proposed: lines {}",
            unknown.len(),
            first.candidate.polarity_reason,
            lines.join(", ")
        ),
        Some(path),
    ))
}

/// Says which measured files have no source beside them, and where text did not parse.
fn unjoined(workloads: &[Workload], files: &BTreeMap<String, Sites>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut missing: Vec<&str> = workloads
        .iter()
        .flat_map(|w| w.profile.files.iter())
        .filter(|(path, counts)| !files.contains_key(*path) && !counts.lines.is_empty())
        .map(|(path, _)| path.as_str())
        .collect();
    missing.sort_unstable();
    missing.dedup();
    for path in missing {
        out.push(Diagnostic::new(
            Severity::Note,
            "source-missing",
            format!(
                "{path} has counts, but no C source of the project is called so: the build makes it, \
                 or it moved (then import with --map FROM=TO)"
            ),
            Some(path),
        ));
    }
    for (path, sites) in files {
        let counted = workloads.iter().any(|w| w.profile.files.contains_key(path));
        if sites.ifs_missed == 0 || !counted {
            continue;
        }
        out.push(Diagnostic::new(
            Severity::Note,
            "unread-text",
            format!(
                "{} `if`s of {path} could not be read: the text around them is not plain C \
                 (macros that stand for syntax, mostly)",
                sites.ifs_missed
            ),
            Some(path),
        ));
    }
    out
}
