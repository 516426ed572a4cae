//! The evidence as one HTML page that stands alone.
//!
//! It is what people show to maintainers: it loads nothing, runs nothing, follows the reader's
//! light or dark scheme and prints. A content security policy forbids everything but its own
//! style sheet, and every text from outside is escaped by the template engine after
//! [`crate::text`] has spelled out control characters and bidirectional overrides.

mod axis;
mod bench;
mod code;
mod lists;
mod plot;
mod reproduce;
mod sites;

pub use reproduce::reproduce_html;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use unlikely_measure::Verdict;

use crate::commit::commit_message;
use crate::evidence::{Evidence, Fate, Outcome};
use crate::facts::{
    audit_counts, fates, gain_sentence, kept, outcome, ratio_with_interval, with_verdict, workloads,
};
use crate::figures::{bytes_change, count, counted, date, difference};
use crate::text::{clip, named, prose};

const STYLE: &str = include_str!("style.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The whole record as a single HTML file: no scripts, nothing loaded, all input escaped.
pub fn html(evidence: &Evidence) -> String {
    let project = named(&evidence.project, "(unnamed project)");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (project) ": branch hints" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p class="eyebrow" { "Branch hints · " (date(evidence.created_unix_s)) }
                    h1 { (project) }
                }
                main {
                    (verdict(evidence))
                    (key_facts(evidence))
                    (method(evidence))
                    (bench::section("A/B of the combined patch", &evidence.bench, "all"))
                    (sites::section(evidence))
                    (patch(evidence))
                    (lists::audit(&evidence.scan))
                    (lists::conditions(&evidence.scan))
                    (lists::diagnostics(&evidence.scan))
                }
                footer {
                    (named(&evidence.tool, "unlikely"))
                    " · record " code { (prose(&evidence.schema)) }
                    " · every figure here is in that record"
                }
            }
        }
    };
    page.into_string()
}

/// A figure with a true minus sign.
fn fig(text: &str) -> String {
    text.replace('-', "−")
}

fn outcome_tone(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Gain => "good",
        Outcome::Loss => "bad",
        Outcome::NoGain | Outcome::NoEffect | Outcome::NoCandidate | Outcome::NotMeasured => "warn",
    }
}

fn fate_tone(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "good",
        Fate::Withdrawn => "bad",
        Fate::NoOp | Fate::NoBenefit | Fate::NotTried => "dim",
    }
}

fn verdict_tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "good",
        Verdict::Slower => "bad",
        Verdict::Equivalent => "dim",
        Verdict::Inconclusive => "warn",
    }
}

fn verdict(evidence: &Evidence) -> Markup {
    let next = prose(&evidence.next);
    html! {
        section class=(format!("verdict {}", outcome_tone(evidence.outcome))) {
            h2 { (outcome(evidence.outcome)) }
            p { (named(&evidence.summary, &gain_sentence(&evidence.bench))) }
            @if !next.is_empty() { p class="soft" { "Next: " code { (next) } } }
        }
    }
}

fn key_facts(evidence: &Evidence) -> Markup {
    let gains = with_verdict(&evidence.bench, Verdict::Faster).len() as u64;
    let losses = with_verdict(&evidence.bench, Verdict::Slower).len() as u64;
    let names = workloads(evidence).len() as u64;
    html! {
        dl class="facts" {
            div {
                dt { "Hints kept" }
                dd {
                    (count(kept(evidence).len() as u64))
                    " of " (count(evidence.sites.len() as u64))
                    small { (fates(&evidence.sites)) }
                }
            }
            @if !evidence.bench.is_empty() {
                div {
                    dt { "Workloads faster" }
                    dd { (count(gains)) " of " (count(evidence.bench.len() as u64))
                        small { (count(losses)) " slower" } }
                }
            }
            @if let Some((before, after)) = evidence.text_bytes {
                div {
                    dt { "Program text" }
                    dd { (fig(&difference(before, after))) "\u{a0}bytes"
                        small { (count(before)) " → " (count(after)) } }
                }
            }
            div {
                dt { "Conditions measured" }
                dd { (count(evidence.scan.candidates.len() as u64))
                    small { (counted(names, "workload")) } }
            }
            @if !evidence.scan.audit.is_empty() {
                div {
                    dt { "Existing hints" }
                    dd { (count(evidence.scan.audit.len() as u64))
                        small { (audit_counts(&evidence.scan)) } }
                }
            }
        }
    }
}

fn method(evidence: &Evidence) -> Markup {
    let collector = &evidence.collector;
    let names: Vec<String> =
        workloads(evidence).into_iter().map(|(name, class)| format!("{name} ({class})")).collect();
    html! {
        section {
            h2 { "How it was measured" }
            dl class="method" {
                dt { "Workloads" }
                dd { (if names.is_empty() { "none".to_owned() } else { names.join(", ") }) }
                dt { "Counts" }
                dd { (named(&collector.name, "unknown collector"))
                    @if !collector.version.trim().is_empty() { ": " (prose(&collector.version)) }
                    @if !collector.why.trim().is_empty() {
                        " — chosen because " (prose(&collector.why))
                    } }
                dt { "Compiler" }
                dd { (named(&evidence.compiler, "unknown")) }
                dt { "Flags" }
                dd { code { (named(&evidence.cflags, "none")) } }
                @if let Some((before, after)) = evidence.text_bytes {
                    dt { "Program text" } dd { (fig(&bytes_change(before, after))) }
                }
                (bench::method(&evidence.bench))
            }
        }
    }
}

fn patch(evidence: &Evidence) -> Markup {
    let message = commit_message(evidence);
    html! {
        @if !evidence.combined_patch.is_empty() || message.is_some() {
            section {
                h2 { "The patch" }
                @if let Some(message) = message {
                    h4 { "Commit message" }
                    div class="code commit" { (message.trim_end()) }
                }
                @if !evidence.combined_patch.is_empty() {
                    h4 { "All kept hints" }
                    (code::diff(&evidence.combined_patch))
                }
            }
        }
    }
}

/// A word in a coloured frame; the colour repeats what the word says.
fn chip(tone: &str, word: &str) -> Markup {
    html! { span class=(format!("chip {tone}")) { (word) } }
}

/// A short text for a cell.
fn cell(text: &str, otherwise: &str) -> String {
    clip(&named(text, otherwise), 240)
}

/// The ratio with its interval, as the page shows it.
fn effect(report: &unlikely_measure::BenchReport) -> String {
    fig(&ratio_with_interval(report))
}
