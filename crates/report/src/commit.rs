//! The commit message, in the form that kernel maintainers ask for.
//!
//! It states the site and condition, the counts under each named workload, what changed in the
//! machine code, what was measured before and after, on what, and with what. Where nothing was
//! gained it says so. A person adds the trailers.

use unlikely_advise::Candidate;
use unlikely_measure::UnitOf;

use crate::evidence::{Evidence, Fate, SiteEvidence, WorkloadBench};
use crate::facts::{
    better, candidate, code_summary, condition, dose, fate, function, gain_sentence, hint, kept,
    machine, metric, place, rare, ratio_with_interval, run_time, stressor_only, verdict, workload,
};
use crate::figures::{arms, bytes_change, count, counted, duration, sd};
use crate::text::{ascii, clip, clip_middle, columns, left, named, prose, right, wrap};

/// Columns of a subject.
const SUBJECT_MAX: usize = 75;
/// Columns of the body, less one: [`inert`] may have to indent a line.
const BODY_MAX: usize = 71;
/// Conditions that were tried and left out, before the rest is only counted.
const LEFT_OUT_MAX: usize = 5;

type Site<'a> = (&'a SiteEvidence, &'a Candidate);

/// The message of the combined patch; `None` when no hint was kept.
pub fn commit_message(evidence: &Evidence) -> Option<String> {
    let sites: Vec<Site<'_>> = kept(evidence)
        .into_iter()
        .filter_map(|site| Some((site, candidate(evidence, &site.id)?)))
        .collect();
    message(evidence, &sites, &evidence.bench, "")
}

/// The message of the patch of one hint; `None` when `id` names no kept hint.
pub fn site_commit_message(evidence: &Evidence, id: &str) -> Option<String> {
    let all = kept(evidence);
    let site = *all.iter().find(|site| site.id == id)?;
    let sites = [(site, candidate(evidence, id)?)];
    let others = all.len() - 1;
    if !site.bench.is_empty() {
        return message(evidence, &sites, &site.bench, "");
    }
    let together = if others == 0 || evidence.bench.is_empty() {
        String::new()
    } else {
        format!("Not measured alone, but together with {}:", counted(others as u64, "other hint"))
    };
    message(evidence, &sites, &evidence.bench, &together)
}

fn message(
    evidence: &Evidence,
    sites: &[Site<'_>],
    bench: &[WorkloadBench],
    caveat: &str,
) -> Option<String> {
    if sites.is_empty() {
        return None;
    }
    let mut body = Body::default();
    for site in sites {
        counts(&mut body, site);
        code(&mut body, site.0);
    }
    body.paragraph(caveat);
    bench.iter().for_each(|one| measured(&mut body, one));
    body.paragraph(&ascii(&gain_sentence(bench)));
    left_out(&mut body, evidence);
    if let (Some((before, after)), "") = (evidence.text_bytes, caveat) {
        body.paragraph(&ascii(&format!("Text of the program: {}.", bytes_change(before, after))));
    }
    provenance(&mut body, evidence, bench);
    Some(format!("{}\n\n{}", subject(evidence, sites), body.finish()))
}

/// The most telling subject that fits.
fn subject(evidence: &Evidence, sites: &[Site<'_>]) -> String {
    let project = clip(&named(&evidence.project, "project"), 30);
    let one = |part: &dyn Fn(&Candidate) -> Option<String>| {
        let first = part(sites.first()?.1)?;
        sites.iter().all(|(_, c)| part(c).as_ref() == Some(&first)).then_some(first)
    };
    let word = one(&|c| Some(hint(c.expect).to_owned()));
    let word = word.map(|word| format!("{word} ")).unwrap_or_default();
    let what = match sites.len() {
        1 => format!("add {word}branch hint"),
        n => format!("add {} {word}branch hints", count(n as u64)),
    };
    let function = one(&|c| function(c));
    let file = one(&|c| Some(named(&c.file, "(no file)")));
    let base = file.as_ref().and_then(|file| file.rsplit('/').next());
    let condition = one(&|c| Some(condition(c))).filter(|_| sites.len() == 1);
    let mut tries = Vec::new();
    if let (Some(function), Some(condition)) = (&function, condition) {
        tries.push(format!("{project}: {function}: {what} on {condition}"));
    }
    tries.extend(function.map(|function| format!("{project}: {function}: {what}")));
    tries.extend(base.map(|base| format!("{project}: {base}: {what}")));
    tries.push(format!("{project}: {what}"));
    let fits = tries.iter().find(|subject| columns(subject) <= SUBJECT_MAX);
    let subject = fits.or(tries.last()).cloned().unwrap_or(what);
    inert(ascii_clip(&subject, SUBJECT_MAX - 1))
}

/// As [`clip`], with the sign of the cut in ASCII.
fn ascii_clip(text: &str, max: usize) -> String {
    if columns(text) <= max {
        text.to_owned()
    } else {
        format!("{}...", clip(text, max.saturating_sub(2)).trim_end_matches('…'))
    }
}

/// Site, condition, and its counts under each workload.
fn counts(body: &mut Body, (_, candidate): &Site<'_>) {
    let (rare_total, outcome) = rare(candidate.expect, candidate.executed, candidate.taken);
    let inside = function(candidate).map_or_else(
        || format!("At {}", place(candidate)),
        |name| format!("In {name}(), {}", place(candidate)),
    );
    body.paragraph(&format!(
        "{inside}, the condition {} was {outcome} in {} of {} evaluations:",
        ascii_clip(&condition(candidate), 200),
        count(rare_total),
        count(candidate.executed),
    ));
    let head = ["workload".to_owned(), outcome.to_owned(), "evaluated".to_owned()];
    let rows = candidate.workloads.iter().map(|one| {
        let name =
            format!("{} ({})", named(&one.name, "(unnamed)"), named(&one.class, "unclassed"));
        let (rare, _) = rare(candidate.expect, one.executed, one.taken);
        [clip_middle(&name, 28), count(rare), count(one.executed)]
    });
    let rows: Vec<[String; 3]> = std::iter::once(head).chain(rows).collect();
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|c| columns(c)).max();
    let [name, part, whole] = [0, 1, 2].map(|at| width(at).unwrap_or(0));
    for [a, b, c] in &rows {
        body.line(&format!("  {}  {}  {}", left(a, name), right(b, part), right(c, whole)));
    }
    body.end();
    if stressor_only(candidate) {
        body.paragraph(
            "Only a stressor workload runs this condition; no application or benchmark \
             supports the hint.",
        );
    }
}

/// What the hint changes in the machine code.
fn code(body: &mut Body, site: &SiteEvidence) {
    let Some(summary) = code_summary(&site.code) else { return };
    let mut units: Vec<String> = site
        .code
        .iter()
        .filter(|delta| !delta.identical)
        .map(|delta| format!("{} ({})", prose(&delta.unit), prose(&delta.arch)))
        .collect();
    let more = units.len().saturating_sub(3);
    units.truncate(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let words = ascii(&summary.words().join("; "));
    body.paragraph(&format!("Machine code of {}{more}: {words}.", units.join(", ")));
}

/// One workload, before and after.
fn measured(body: &mut Body, one: &WorkloadBench) {
    let report = &one.report;
    let (a, b) = arms(report);
    let name = clip_middle(&workload(one), 40);
    body.paragraph(&format!(
        "{name}: {}, {}:",
        clip_middle(&metric(report), 60),
        better(report.direction)
    ));
    body.line(&ascii(&format!("  without patch: {a} (sd {})", sd(&report.a))));
    body.line(&ascii(&format!("  with patch:    {b} (sd {})", sd(&report.b))));
    let shown = ascii(&ratio_with_interval(report));
    body.line(&format!("  change:        {shown}, {}", verdict(report.verdict)));
    let time = run_time(report).unwrap_or_else(|| format!("{} known", duration(f64::NAN)));
    let n = ascii(&match report.n_unit {
        UnitOf::Block => format!("{} × {time} of each build", report.blocks),
        UnitOf::Build => {
            format!("{} × {time} of each, {} of builds", report.blocks, counted(report.n, "pair"))
        }
    });
    body.line(&format!("  runs:          {n}, paired, random order"));
    if report.n_unit == UnitOf::Build {
        body.line("                 (each pair of builds has another layout)");
    }
    if report.ending.early {
        body.line("                 (ended early, at a look that was planned)");
    }
    body.end();
    if one.is_suspicious()
        && let Some(text) = dose(one)
    {
        body.paragraph(&ascii(&text));
    }
}

/// The siblings that were considered.
fn left_out(body: &mut Body, evidence: &Evidence) {
    let out: Vec<String> = evidence
        .sites
        .iter()
        .filter(|site| matches!(site.fate, Fate::NoOp | Fate::NoBenefit | Fate::Withdrawn))
        .filter_map(|site| {
            let candidate = candidate(evidence, &site.id)?;
            let condition = ascii_clip(&condition(candidate), 60);
            let why = prose(&site.fate_reason);
            Some(format!("{}, {condition} ({}: {why})", place(candidate), fate(site.fate)))
        })
        .collect();
    if out.is_empty() {
        return;
    }
    let more = out.len().saturating_sub(LEFT_OUT_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let listed: Vec<_> = out.into_iter().take(LEFT_OUT_MAX).collect();
    body.paragraph(&format!("Also tried and left out: {}{more}.", listed.join("; ")));
}

/// Compiler, flags, machine.
fn provenance(body: &mut Body, evidence: &Evidence, bench: &[WorkloadBench]) {
    let compiler = named(&evidence.compiler, "an unknown compiler");
    let flags = prose(&evidence.cflags);
    let flags = if flags.is_empty() { String::new() } else { format!(", flags {flags}") };
    let mut text = format!("Built with {compiler}{flags}.");
    if let Some(one) = bench.first() {
        text.push_str(&format!(" Measured on {}.", machine(&one.report.provenance)));
    }
    body.paragraph(&text);
}

/// The lines of a message's body.
#[derive(Default)]
struct Body {
    out: String,
}

impl Body {
    fn line(&mut self, text: &str) {
        self.out.push_str(&inert(ascii_clip(text.trim_end(), BODY_MAX)));
        self.out.push('\n');
    }

    fn end(&mut self) {
        self.out.push('\n');
    }

    fn paragraph(&mut self, text: &str) {
        let lines = wrap(&crate::text::plain(text), BODY_MAX, "", "");
        lines.iter().for_each(|line| self.line(line));
        if !lines.is_empty() {
            self.end();
        }
    }

    fn finish(self) -> String {
        format!("{}\n", self.out.trim_end())
    }
}

/// A line that neither git nor mail takes for more than text: comments, cuts, patches, trailers
/// and mail headers begin in the first column, so such a line is moved to the second.
fn inert(line: String) -> String {
    let key = line.split_once(':').map_or("", |(key, _)| key);
    let header = !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && (key.contains('-')
            || matches!(key, "Fixes" | "Cc" | "Link" | "From" | "Subject" | "Date"));
    let special = ["#", "---", "diff ", "Index:", "From ", "@@", ">"];
    if header || special.iter().any(|start| line.starts_with(start)) {
        format!(" {line}")
    } else {
        line
    }
}
