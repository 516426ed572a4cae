//! What `unlikely scan` prints for people: the conditions worth a look, and what is wrong already.

use unlikely_advise::{AuditRow, AuditVerdict, Candidate, Scan, SiteVerdict};
use unlikely_profile::{Diagnostic, Severity};

use crate::facts::{
    audit_counts, audit_verdict, condition, diagnostic_counts, function, hint, place, polarity,
    rare, rare_of, severity, site_verdict, stressor_only, verdict_counts,
};
use crate::figures::{count, counted};
use crate::screen::{Screen, Tone};
use crate::text::{NBSP, clip, clip_middle, columns, left, named, prose, right};

/// Wrong hints and diagnostics that are listed before the rest is only counted.
const LISTED_MAX: usize = 20;

/// The `top` best proposals of a scan, what the other conditions are, wrong hints and diagnostics,
/// on a page of at most `width` columns (at least 40).
pub fn scan_terminal(scan: &Scan, top: usize, width: usize, color: bool) -> String {
    let mut screen = Screen::new(width, color);
    let proposed: Vec<_> =
        scan.candidates.iter().filter(|one| one.verdict == SiteVerdict::Propose).collect();
    let total = counted(scan.candidates.len() as u64, "measured condition");
    let shown = proposed.len().min(top);
    let cut = if shown < proposed.len() { format!(", best {shown} shown") } else { String::new() };
    let remark = format!("{} of {total}{cut}", count(proposed.len() as u64));
    screen.heading("Worth a hint, by the counts", &remark);
    for (at, candidate) in proposed.into_iter().take(top).enumerate() {
        proposal(&mut screen, at + 1, candidate);
    }
    others(&mut screen, scan);
    audit_rows(&mut screen, scan, true);
    diagnostics(&mut screen, scan, true);
    if shown > 0 {
        screen.heading("Next", "");
        let next = "`unlikely check` compiles each with and without its hint and drops those that \
                    leave the machine code as it is";
        screen.paragraph(Tone::Plain, next, "  ", "  ");
    }
    screen.finish()
}

fn proposal(screen: &mut Screen, rank: usize, candidate: &Candidate) {
    const INDENT: usize = 6;
    let indent = " ".repeat(INDENT);
    let room = screen.width.saturating_sub(INDENT);
    let at = clip_middle(&place(candidate), room);
    let inside = function(candidate).map(|name| format!("  {name}()")).unwrap_or_default();
    let inside = clip(&inside, room.saturating_sub(columns(&at)));
    screen.line(&format!("{}  {at}{inside}", right(&rank.to_string(), INDENT - 2)));
    let code = clip(&condition(candidate), room.saturating_sub(12));
    screen.line(&format!("{indent}{}({code})", hint(candidate.expect)));
    let mut facts = rare_of(candidate.expect, candidate.executed, candidate.taken);
    facts.push_str(&format!("; direction {}", polarity(candidate.polarity)));
    if stressor_only(candidate) {
        facts.push_str("; only a stressor runs it");
    }
    screen.paragraph(Tone::Plain, &facts, &indent, &indent);
    if candidate.workloads.len() > 1 {
        let each: Vec<String> = candidate
            .workloads
            .iter()
            .map(|one| {
                let name = clip(&named(&one.name, "(unnamed)"), 24);
                format!("{name}: {}", rare_of(candidate.expect, one.executed, one.taken))
            })
            .collect();
        screen.paragraph(Tone::Faint, &each.join("; "), &indent, &indent);
    }
}

fn others(screen: &mut Screen, scan: &Scan) {
    let rest: Vec<String> = verdict_counts(scan)
        .into_iter()
        .filter(|(verdict, _)| *verdict != SiteVerdict::Propose)
        .map(|(verdict, n)| format!("{}{NBSP}{}", count(n), site_verdict(verdict)))
        .collect();
    if !rest.is_empty() {
        screen.heading("Not proposed", "");
        screen.paragraph(Tone::Plain, &rest.join(", "), "  ", "  ");
    }
}

/// The existing hints: those that the counts contradict, the most broken promise first; with `all`
/// the others below them, a line each.
pub(crate) fn audit_rows(screen: &mut Screen, scan: &Scan, all: bool) {
    if scan.audit.is_empty() {
        return;
    }
    let total = count(scan.audit.len() as u64);
    screen.heading("Existing hints", &format!("{total}: {}", audit_counts(scan)));
    let of = |verdict| scan.audit.iter().filter(move |row| row.verdict == verdict);
    let mut wrong: Vec<&AuditRow> = of(AuditVerdict::Wrong).collect();
    // By the share of broken promises; a sort keeps the order of the text where it is the same.
    wrong.sort_by(|a, b| broken_share(b).total_cmp(&broken_share(a)));
    for row in wrong.iter().take(LISTED_MAX) {
        wrong_row(screen, row);
    }
    and_more(screen, wrong.len());
    if !all {
        return;
    }
    for verdict in [AuditVerdict::NotExecuted, AuditVerdict::Redundant, AuditVerdict::Right] {
        for row in of(verdict).take(LISTED_MAX) {
            other_row(screen, row);
        }
        and_more(screen, of(verdict).count());
    }
}

fn broken_share(row: &AuditRow) -> f64 {
    rare(row.expect, row.executed, row.taken).0 as f64 / row.executed.max(1) as f64
}

fn audit_place(row: &AuditRow) -> String {
    format!("{}:{}", named(&row.file, "(no file)"), row.line)
}

fn wrong_row(screen: &mut Screen, row: &AuditRow) {
    let at = clip_middle(&audit_place(row), screen.width.saturating_sub(10));
    let word = screen.paint(Tone::Bad, audit_verdict(row.verdict));
    screen.line(&format!("  {word}  {at}"));
    let room = screen.width.saturating_sub(9);
    screen.line(&format!("         {}", clip(&named(&row.hint, "(empty hint)"), room)));
    let counts =
        format!("promises {}; {}", row.expect, rare_of(row.expect, row.executed, row.taken));
    screen.paragraph(Tone::Plain, &counts, "         ", "         ");
}

/// A hint that is not wrong: its verdict, place and text, and what speaks against it.
fn other_row(screen: &mut Screen, row: &AuditRow) {
    const WORD: usize = 14;
    let word = left(audit_verdict(row.verdict), WORD);
    let room = screen.width.saturating_sub(WORD + 2);
    let counts = match row.verdict {
        AuditVerdict::NotExecuted => String::new(),
        _ => format!("  {}", rare_of(row.expect, row.executed, row.taken)),
    };
    let hint = named(&row.hint, "(empty hint)");
    let text = format!("{}  {hint}{counts}", audit_place(row));
    if columns(&text) <= room {
        screen.line(&format!("  {word}{text}"));
    } else {
        let at = clip_middle(&audit_place(row), room);
        screen.line(&format!("  {word}{at}"));
        let indent = " ".repeat(WORD + 2);
        screen.line(&format!("{indent}{}", clip(&hint, room)));
        screen.paragraph(Tone::Plain, counts.trim_start(), &indent, &indent);
    }
}

fn and_more(screen: &mut Screen, n: usize) {
    if n > LISTED_MAX {
        screen.line(&format!("  and {} more in the JSON", count((n - LISTED_MAX) as u64)));
    }
}

/// Errors and warnings in words (`all`: notes too); the counts stand in the heading.
pub(crate) fn diagnostics(screen: &mut Screen, scan: &Scan, all: bool) {
    let mut listed: Vec<&Diagnostic> =
        scan.diagnostics.iter().filter(|d| all || d.severity > Severity::Note).collect();
    if listed.is_empty() {
        return;
    }
    listed.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    screen.heading("Diagnostics", &diagnostic_counts(scan));
    for diagnostic in listed.iter().take(LISTED_MAX) {
        let path = diagnostic.path.as_deref().map(prose).filter(|path| !path.is_empty());
        let path = path.map(|path| format!(" ({path})")).unwrap_or_default();
        let text = format!(
            "{}[{}]: {}{path}",
            severity(diagnostic.severity),
            prose(&diagnostic.code),
            prose(&diagnostic.message),
        );
        let tone = match diagnostic.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Warn,
            Severity::Note => Tone::Plain,
        };
        screen.paragraph(tone, &text, "  ", "    ");
    }
    and_more(screen, listed.len());
}
