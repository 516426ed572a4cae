//! Existing hints, every measured condition, and diagnostics.

use maud::{Markup, html};
use unlikely_advise::{AuditRow, AuditVerdict, Candidate, Scan};
use unlikely_profile::Severity;

use super::{cell, chip};
use crate::facts::{
    audit_counts, audit_verdict, condition, diagnostic_counts, function, place, polarity, rare,
    severity, site_verdict,
};
use crate::figures::{count, share};
use crate::text::{clip, named, prose};

/// Rows of a table; a remark states when there are more.
const ROWS_MAX: usize = 500;

fn more(n: usize) -> Markup {
    html! {
        @if n > ROWS_MAX {
            p class="soft" { "The first " (count(ROWS_MAX as u64)) " of " (count(n as u64))
                " are shown; all are in the record." }
        }
    }
}

/// Existing hints, the wrong ones first.
pub(super) fn audit(scan: &Scan) -> Markup {
    let mut rows: Vec<&AuditRow> = scan.audit.iter().collect();
    rows.sort_by_key(|row| match row.verdict {
        AuditVerdict::Wrong => 0,
        AuditVerdict::Redundant => 1,
        AuditVerdict::NotExecuted => 2,
        AuditVerdict::Right => 3,
    });
    html! {
        @if !rows.is_empty() {
            section {
                h2 { "Existing hints" }
                p class="soft" { (audit_counts(scan)) "." }
                div class="scroll wide" {
                    table {
                        thead {
                            tr {
                                th { "Site" } th { "Hint" } th { "Promises" }
                                th class="n" { "Against it" } th class="n" { "Evaluated" }
                                th class="n" { "Share" } th { "Verdict" }
                            }
                        }
                        tbody { @for row in rows.iter().take(ROWS_MAX) { (audit_row(row)) } }
                    }
                }
                (more(rows.len()))
            }
        }
    }
}

fn audit_row(row: &AuditRow) -> Markup {
    let (against, _) = rare(row.expect, row.executed, row.taken);
    let tone = match row.verdict {
        AuditVerdict::Right => "good",
        AuditVerdict::Wrong => "bad",
        AuditVerdict::Redundant | AuditVerdict::NotExecuted => "dim",
    };
    html! {
        tr {
            td { (clip(&named(&row.file, "(no file)"), 120)) ":" (row.line) }
            td { code { (cell(&row.hint, "(empty hint)")) } }
            td { (row.expect) }
            td class="n" { (count(against)) }
            td class="n" { (count(row.executed)) }
            td class="n" { (share(against, row.executed)) }
            td { (chip(tone, audit_verdict(row.verdict))) }
        }
    }
}

/// Every measured condition, closed at first: it is an appendix.
pub(super) fn conditions(scan: &Scan) -> Markup {
    let candidates = &scan.candidates;
    html! {
        @if !candidates.is_empty() {
            section {
                h2 { "All measured conditions" }
                details {
                    summary { (count(candidates.len() as u64)) " conditions, best first" }
                    div class="scroll wide" {
                        table {
                            thead {
                                tr {
                                    th { "Site" } th { "Condition" } th class="n" { "True" }
                                    th class="n" { "Evaluated" } th class="n" { "Share" }
                                    th { "Direction" } th { "Verdict" }
                                }
                            }
                            tbody {
                                @for one in candidates.iter().take(ROWS_MAX) {
                                    (condition_row(one))
                                }
                            }
                        }
                    }
                    (more(candidates.len()))
                }
            }
        }
    }
}

fn condition_row(one: &Candidate) -> Markup {
    html! {
        tr {
            td { (clip(&place(one), 120)) ":" (one.column)
                @if let Some(function) = function(one) { small { (clip(&function, 80)) "()" } } }
            td { code { (clip(&condition(one), 160)) } small { (cell(&one.kind, "condition")) } }
            td class="n" { (count(one.taken)) }
            td class="n" { (count(one.executed)) }
            td class="n" { (share(one.taken, one.executed)) }
            td { (polarity(one.polarity)) }
            td { (site_verdict(one.verdict)) small { (cell(&one.reason, "")) } }
        }
    }
}

/// Diagnostics, the worst first.
pub(super) fn diagnostics(scan: &Scan) -> Markup {
    let mut rows: Vec<_> = scan.diagnostics.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.severity));
    html! {
        section {
            h2 { "Diagnostics" }
            @if rows.is_empty() { p { "None: all data could be used." } }
            @else {
                p class="soft" { (diagnostic_counts(scan)) }
                div class="scroll wide" {
                    table {
                        thead {
                            tr {
                                th { "Severity" } th { "Code" }
                                th { "What happened, and the remedy" } th { "File" }
                            }
                        }
                        tbody {
                            @for row in rows.iter().take(ROWS_MAX) {
                                tr {
                                    td { (chip(tone(row.severity), severity(row.severity))) }
                                    td { code { (cell(&row.code, "–")) } }
                                    td { (prose(&row.message)) }
                                    td { (cell(row.path.as_deref().unwrap_or(""), "–")) }
                                }
                            }
                        }
                    }
                }
                (more(rows.len()))
            }
        }
    }
}

fn tone(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "dim",
        Severity::Warning => "warn",
        Severity::Error => "bad",
    }
}
