//! The summary of a run for terminals.

use unlikely_measure::{UnitOf, Verdict};
use unlikely_profile::Severity;

use crate::evidence::{Evidence, Fate, Outcome, SiteEvidence, WorkloadBench};
use crate::facts::{
    candidate, code_summary, condition, diagnostic_counts, dose, fate, fates, function,
    gain_sentence, hint, machine, outcome, place, rare_of, stressor_only, units, verdict, warnings,
    workload, workloads,
};
use crate::figures::{arms, bytes_change, counted, ratio};
use crate::screen::{Align, Screen, Tone};
use crate::terminal_scan::{audit_rows, diagnostics};
use crate::text::{clip, clip_middle, columns, left, named, prose};

/// The whole run on one page of at most `width` columns (at least 40), for a terminal.
///
/// Text from outside is shown with its control characters and bidirectional overrides spelled
/// out; with `color`, SGR sequences repeat what words say.
pub fn terminal(evidence: &Evidence, width: usize, color: bool) -> String {
    let mut screen = Screen::new(width, color);
    opening(&mut screen, evidence);
    hints(&mut screen, evidence);
    benches(&mut screen, "A/B of the combined patch", &evidence.bench);
    for site in evidence.sites.iter().filter(|site| !site.bench.is_empty()) {
        let name = candidate(evidence, &site.id).map_or_else(|| prose(&site.id), place);
        benches(&mut screen, &format!("A/B of {name} alone"), &site.bench);
    }
    audit_rows(&mut screen, &evidence.scan, false);
    diagnostics(&mut screen, &evidence.scan, false);
    closing(&mut screen, evidence);
    screen.finish()
}

fn opening(screen: &mut Screen, evidence: &Evidence) {
    let project = named(&evidence.project, "(unnamed project)");
    screen.heading(&project, &prose(&evidence.tool));
    let names: Vec<String> =
        workloads(evidence).into_iter().map(|(name, class)| format!("{name} ({class})")).collect();
    let conditions = counted(evidence.scan.candidates.len() as u64, "condition");
    let profiled = if names.is_empty() {
        format!("{conditions}, no workload")
    } else {
        format!("{conditions} under {}", names.join(", "))
    };
    screen.field("profiled", &profiled);
    let collector = &evidence.collector;
    let why = prose(&collector.why);
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    screen.field("collector", &format!("{}{why}", named(&collector.name, "(unknown)")));
    let build = format!("{} {}", prose(&evidence.compiler), prose(&evidence.cflags));
    screen.field("build", build.trim());
    if let Some(provenance) = evidence.bench.first().map(|bench| &bench.report.provenance) {
        screen.field("machine", &machine(provenance));
    }
    if let Some((before, after)) = evidence.text_bytes {
        screen.field("text", &bytes_change(before, after));
    }
}

fn hints(screen: &mut Screen, evidence: &Evidence) {
    screen.heading("Hints", &fates(&evidence.sites));
    let of = |fate| evidence.sites.iter().filter(move |s| s.fate == fate);
    for site in of(Fate::Kept).chain(of(Fate::Withdrawn)) {
        hint_block(screen, evidence, site);
    }
    // What leaves the code as it is, or no better, is named and not described.
    named_only(screen, evidence, Fate::NoBenefit);
    named_only(screen, evidence, Fate::NoOp);
    let not_tried = of(Fate::NotTried).count();
    if not_tried > 0 {
        let text = format!("{} of lower rank", counted(not_tried as u64, "condition"));
        one_line(screen, Fate::NotTried, &text);
    }
}

fn named_only(screen: &mut Screen, evidence: &Evidence, fate: Fate) {
    let sites = evidence.sites.iter().filter(|s| s.fate == fate);
    let places: Vec<String> =
        sites.filter_map(|site| candidate(evidence, &site.id)).map(place).collect();
    if !places.is_empty() {
        let more = places.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = places[..places.len().min(NAMED_MAX)].join(", ");
        one_line(screen, fate, &format!("{named}{more}"));
    }
}

fn one_line(screen: &mut Screen, of: Fate, text: &str) {
    let word = screen.paint(Tone::Faint, &left(fate(of), 9));
    screen.paragraph(Tone::Plain, text, &format!("  {word}  "), &" ".repeat(INDENT));
}

/// Hints without use that are named one by one.
const NAMED_MAX: usize = 6;

fn fate_tone(fate: Fate) -> Tone {
    match fate {
        Fate::Kept => Tone::Good,
        Fate::Withdrawn => Tone::Bad,
        Fate::NoOp | Fate::NoBenefit | Fate::NotTried => Tone::Faint,
    }
}

/// Columns before the text of a hint.
const INDENT: usize = 13;

fn hint_block(screen: &mut Screen, evidence: &Evidence, site: &SiteEvidence) {
    let word = screen.paint(fate_tone(site.fate), &left(fate(site.fate), 9));
    let room = screen.width.saturating_sub(INDENT);
    let indent = " ".repeat(INDENT);
    let Some(candidate) = candidate(evidence, &site.id) else {
        let id = clip(&prose(&site.id), room);
        screen.line(&format!("  {word}  {id}"));
        return;
    };
    let at = clip_middle(&place(candidate), room);
    let inside = function(candidate).map(|name| format!("  {name}()")).unwrap_or_default();
    let inside = clip(&inside, room.saturating_sub(columns(&at)));
    screen.line(&format!("  {word}  {at}{inside}"));
    let code = clip(&condition(candidate), room.saturating_sub(12));
    screen.line(&format!("{indent}{}({code})", hint(candidate.expect)));
    let mut counts = rare_of(candidate.expect, candidate.executed, candidate.taken);
    if stressor_only(candidate) {
        counts.push_str("; only a stressor runs it");
    }
    screen.paragraph(Tone::Plain, &counts, &indent, &indent);
    if site.fate != Fate::NoOp
        && let Some(summary) = code_summary(&site.code)
    {
        screen.paragraph(Tone::Plain, &summary.words().join("; "), &indent, &indent);
    }
    if site.fate != Fate::Kept {
        screen.paragraph(Tone::Faint, &prose(&site.fate_reason), &indent, &indent);
    }
}

pub(crate) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster => Tone::Good,
        Verdict::Slower => Tone::Bad,
        Verdict::Equivalent => Tone::Plain,
        Verdict::Inconclusive => Tone::Warn,
    }
}

fn benches(screen: &mut Screen, title: &str, bench: &[WorkloadBench]) {
    let Some(first) = bench.first() else { return };
    let same_n = bench.iter().all(|one| units(&one.report) == units(&first.report));
    let n = match first.report.n_unit {
        _ if same_n => format!("n = {}", units(&first.report)),
        UnitOf::Block => "n counts blocks (one run of each build)".to_owned(),
        UnitOf::Build => "n counts pairs of salted builds".to_owned(),
    };
    screen.heading(title, &n);
    let mut head = vec![
        ("workload", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B/A", Align::Right),
        ("95 % CI", Align::Right),
        ("verdict", Align::Left),
    ];
    let mut rows: Vec<_> = bench.iter().map(bench_row).collect();
    if !same_n {
        head.push(("n", Align::Right));
        for (row, one) in rows.iter_mut().zip(bench) {
            row.push((one.report.n.to_string(), Tone::Plain));
        }
    }
    screen.table(&head, &rows);
    for one in bench {
        let name = clip_middle(&workload(one), 40);
        let why = format!("{name}: {}", prose(&one.report.reason));
        screen.paragraph(Tone::Faint, &why, "  ", "    ");
        if let Some(text) = dose(one) {
            let tone = if one.is_suspicious() { Tone::Warn } else { Tone::Faint };
            screen.paragraph(tone, &text, "    ", "      ");
        }
    }
    for warning in warnings(bench) {
        screen.paragraph(Tone::Warn, &format!("warning: {}", prose(warning)), "  ", "    ");
    }
}

fn bench_row(one: &WorkloadBench) -> Vec<(String, Tone)> {
    let report = &one.report;
    let (a, b) = arms(report);
    let shown = ratio(report);
    let plain = |text: String| (text, Tone::Plain);
    vec![
        plain(clip(&named(&one.workload, "(unnamed)"), 24)),
        plain(a),
        plain(b),
        plain(shown.change),
        plain(
            shown
                .interval
                .map_or_else(|| "none".to_owned(), |ci| ci.replacen("\u{a0}% to ", "…", 1)),
        ),
        (verdict(report.verdict).to_owned(), verdict_tone(report.verdict)),
    ]
}

fn closing(screen: &mut Screen, evidence: &Evidence) {
    let tone = match evidence.outcome {
        Outcome::Gain => Tone::Good,
        Outcome::Loss => Tone::Bad,
        Outcome::NoGain | Outcome::NoEffect | Outcome::NoCandidate | Outcome::NotMeasured => {
            Tone::Warn
        }
    };
    screen.heading("Verdict", "");
    let word = outcome(evidence.outcome);
    screen.paragraph(tone, &format!("{word}."), "  ", "  ");
    let summary = named(&evidence.summary, &gain_sentence(&evidence.bench));
    screen.paragraph(Tone::Plain, &summary, "  ", "  ");
    if evidence.scan.diagnostics.iter().all(|one| one.severity == Severity::Note) {
        let counts = format!("Diagnostics: {}.", diagnostic_counts(&evidence.scan));
        screen.paragraph(Tone::Faint, &counts, "  ", "  ");
    }
    let next = prose(&evidence.next);
    if !next.is_empty() {
        screen.paragraph(Tone::Strong, &format!("Next: {next}"), "  ", "  ");
    }
}
