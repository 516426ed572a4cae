//! The hints: one table, then all that is known of each.

use maud::{Markup, html};
use unlikely_advise::Candidate;
use unlikely_codegen::{CodeDelta, FunctionDelta};

use super::{bench, cell, chip, code, fate_tone, fig};
use crate::evidence::{Evidence, SiteEvidence};
use crate::facts::{
    candidate, code_summary, condition, fate, function, hint, place, polarity, rare, stressor_only,
    taken_change,
};
use crate::figures::{bytes_change, count, difference, share};
use crate::text::{clip, prose, sentence};

/// Sites whose details are shown; a remark states when there are more.
const SITES_MAX: usize = 100;

pub(super) fn section(evidence: &Evidence) -> Markup {
    let sites = &evidence.sites;
    html! {
        section {
            h2 { "Hints" }
            @if sites.is_empty() { p { "No condition was proposed." } }
            @else { (table(evidence)) }
            @for (at, site) in sites.iter().take(SITES_MAX).enumerate() {
                (details(evidence, site, at))
            }
            @if sites.len() > SITES_MAX {
                p class="soft" { "Details of " (count((sites.len() - SITES_MAX) as u64))
                    " more are in the record." }
            }
        }
    }
}

fn table(evidence: &Evidence) -> Markup {
    html! {
        div class="scroll wide" {
            table {
                thead {
                    tr {
                        th { "Site" } th { "Condition" } th class="n" { "Rare outcome" }
                        th class="n" { "Evaluated" } th { "Machine code" } th { "Fate" }
                    }
                }
                tbody {
                    @for (at, site) in evidence.sites.iter().enumerate() {
                        (row(evidence, site, at))
                    }
                }
            }
        }
    }
}

fn row(evidence: &Evidence, site: &SiteEvidence, at: usize) -> Markup {
    let candidate = candidate(evidence, &site.id);
    let changed = code_summary(&site.code);
    html! {
        tr {
            td {
                @if at < SITES_MAX {
                    a href=(format!("#site-{}", at + 1)) { (name(site, candidate)) }
                } @else { (name(site, candidate)) }
                @if let Some(function) = candidate.and_then(function) {
                    small { (clip(&function, 80)) "()" }
                }
            }
            @if let Some(candidate) = candidate {
                @let (n, outcome) = rare(candidate.expect, candidate.executed, candidate.taken);
                td { code { (hint(candidate.expect)) "(" (clip(&condition(candidate), 120)) ")" } }
                td class="n" { (outcome) " " (count(n)) small { (share(n, candidate.executed)) } }
                td class="n" { (count(candidate.executed)) }
            } @else { td {} td {} td {} }
            td {
                @if let Some(changed) = changed {
                    div { "hot " (fig(&difference(changed.hot.before, changed.hot.after))) ", cold "
                        (fig(&difference(changed.cold.before, changed.cold.after))) "\u{a0}bytes" }
                    @if let Some(moved) = changed.moved() { div { (moved) } }
                } @else if site.code.is_empty() { "not compared" } @else { "the same" }
            }
            td { (chip(fate_tone(site.fate), fate(site.fate))) }
        }
    }
}

fn name(site: &SiteEvidence, candidate: Option<&Candidate>) -> String {
    candidate.map_or_else(|| clip(&prose(&site.id), 60), |c| clip(&place(c), 120))
}

fn details(evidence: &Evidence, site: &SiteEvidence, at: usize) -> Markup {
    let candidate = candidate(evidence, &site.id);
    html! {
        article id=(format!("site-{}", at + 1)) {
            h3 {
                (chip(fate_tone(site.fate), fate(site.fate)))
                @if let Some(candidate) = candidate {
                    code { (hint(candidate.expect)) "(" (clip(&condition(candidate), 200)) ")" }
                } @else { code { (cell(&site.id, "(no id)")) } }
            }
            p class="soft" {
                (name(site, candidate))
                @if let Some(function) = candidate.and_then(function) {
                    ", in " code { (clip(&function, 120)) "()" }
                }
                @if !site.fate_reason.trim().is_empty() { " — " (prose(&site.fate_reason)) }
            }
            @if let Some(candidate) = candidate { (counts(candidate)) }
            @if !site.excerpt.is_empty() {
                @let hits = candidate.map_or(0..=0, |c| c.line..=c.end_line.max(c.line));
                h4 { "Source, with executions under all workloads (– not measured)" }
                (code::excerpt(&site.excerpt, hits))
            }
            @if !site.code.is_empty() { (machine_code(&site.code)) }
            @if !site.patch.is_empty() { h4 { "Patch" } (code::diff(&site.patch)) }
            @if !site.bench.is_empty() {
                h4 { "A/B of this hint alone" }
                (bench::table(&site.bench))
            }
        }
    }
}

fn counts(candidate: &Candidate) -> Markup {
    let (_, outcome) = rare(candidate.expect, candidate.executed, candidate.taken);
    html! {
        @if stressor_only(candidate) {
            p { strong { "Only a stressor workload runs this condition." }
                " No application or benchmark supports the hint." }
        }
        div class="scroll" {
            table {
                thead {
                    tr {
                        th { "Workload" } th { "Class" } th class="n" { (outcome) }
                        th class="n" { "Evaluated" } th class="n" { "Share" }
                    }
                }
                tbody {
                    @for one in &candidate.workloads {
                        @let (n, _) = rare(candidate.expect, one.executed, one.taken);
                        tr {
                            td { (cell(&one.name, "(unnamed)")) }
                            td { (cell(&one.class, "unclassed")) }
                            td class="n" { (count(n)) }
                            td class="n" { (count(one.executed)) }
                            td class="n" { (share(n, one.executed)) }
                        }
                    }
                }
            }
        }
        p class="soft" {
            (sentence(&candidate.reason)) " Direction " (polarity(candidate.polarity))
            @if !candidate.polarity_reason.trim().is_empty() {
                ": " (prose(&candidate.polarity_reason))
            }
            "."
        }
    }
}

fn machine_code(deltas: &[CodeDelta]) -> Markup {
    html! {
        h4 { "Machine code" }
        div class="scroll wide" {
            table {
                thead {
                    tr {
                        th { "Unit" } th { "Hot text" } th { "Cold text" } th { "Function" }
                        th class="n" { "Blocks moved" } th { "Jumps on the shortest pass (modelled)" }
                    }
                }
                tbody { @for delta in deltas { (unit(delta)) } }
            }
        }
        @for delta in deltas {
            @for note in &delta.notes { p class="soft" { (sentence(note)) } }
            @for function in &delta.functions {
                @if !function.asm_before.is_empty() || !function.asm_after.is_empty() {
                    h4 {
                        code { (clip(&prose(&function.name), 120)) }
                        " in " (cell(&delta.unit, "(no unit)"))
                    }
                    (code::side_by_side(&function.asm_before, &function.asm_after))
                }
            }
        }
    }
}

fn unknown() -> String {
    "not known".to_owned()
}

fn unit(delta: &CodeDelta) -> Markup {
    let none = [None];
    let functions: Vec<Option<&FunctionDelta>> = if delta.functions.is_empty() {
        none.to_vec()
    } else {
        delta.functions.iter().map(Some).collect()
    };
    html! {
        @for (at, function) in functions.into_iter().enumerate() {
            tr {
                @if at == 0 {
                    td { (cell(&delta.unit, "(no unit)"))
                        small {
                            (cell(&delta.arch, "unknown")) ", " (cell(&delta.compiler, "unknown"))
                        } }
                    td { (fig(&bytes_change(delta.hot_bytes.before, delta.hot_bytes.after))) }
                    td { (fig(&bytes_change(delta.cold_bytes.before, delta.cold_bytes.after))) }
                } @else { td {} td {} td {} }
                @if let Some(function) = function {
                    td { code { (clip(&prose(&function.name), 80)) }
                        small {
                            (fig(&bytes_change(function.bytes.before, function.bytes.after)))
                        } }
                    td class="n" { (function.blocks_moved.map_or_else(unknown, count)) }
                    td { (function.hot_taken.map_or_else(unknown, |pair| fig(&taken_change(pair)))) }
                } @else {
                    td { (if delta.identical { "identical" } else { "order or placement only" }) }
                    td {} td {}
                }
            }
        }
    }
}
