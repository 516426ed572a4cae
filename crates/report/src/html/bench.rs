//! The A/B section: figures and plots of each workload, and how they came about.

use maud::{Markup, html};
use unlikely_measure::{BenchReport, UnitOf};

use super::{cell, chip, effect, fig, plot, verdict_tone};
use crate::evidence::WorkloadBench;
use crate::facts::{
    better, companion, detectable, dose, machine, metric, run_time, units, valid_rows, verdict,
    workload,
};
use crate::figures::{arms, count, counted, date, p_value, ratio, sd};
use crate::text::{clip, sentence};

/// Rows of the list of methods that come from the campaigns.
pub(super) fn method(bench: &[WorkloadBench]) -> Markup {
    let mut machines: Vec<String> = bench.iter().map(|b| machine(&b.report.provenance)).collect();
    machines.dedup();
    let warnings = distinct(bench.iter().flat_map(|one| &one.report.provenance.warnings));
    let n_counts = distinct(bench.iter().map(|one| &one.report.n_counts));
    html! {
        @if !bench.is_empty() {
            dt { "Machine" } dd { (machines.join("; ")) }
            dt { "Design" }
            dd { "Blocks of one run of A (without the patch) and one run of B (with it), their "
                "order drawn at random from a stored seed. The effect is the mean of ln(B/A) over "
                "what n counts, with a 95\u{a0}% interval by Student's t, adjusted where the "
                "campaign could stop early; a claim needs the rank interval too." }
        }
        @for one in bench {
            dt { (clip(&workload(one), 60)) }
            dd { (campaign(&one.report)) }
        }
        @for (name, texts) in [("What n counts", n_counts), ("Warnings", warnings)] {
            @if !texts.is_empty() { dt { (name) } dd { @for text in &texts { div { (text) } } } }
        }
    }
}

/// Each text once, as a sentence, in order of appearance.
fn distinct<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = Vec::new();
    for text in texts.map(|text| sentence(text)) {
        if !text.is_empty() && !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen
}

fn campaign(report: &BenchReport) -> Markup {
    let provenance = &report.provenance;
    html! {
        "n = " (units(report))
        @if let Some(time) = run_time(report) { ", about " (time) " a run" }
        "; seed " (report.seed)
        @if provenance.started_unix_s > 0 { "; from " (date(provenance.started_unix_s)) }
        div { "A: " code { (cell(&provenance.command_a, "(no command)")) }
            ", B: " code { (cell(&provenance.command_b, "(no command)")) } }
    }
}

/// A section with the figures and plots of `bench`; nothing where there is none.
pub(super) fn section(title: &str, bench: &[WorkloadBench], key: &str) -> Markup {
    html! {
        @if !bench.is_empty() {
            section {
                h2 { (title) }
                (table(bench))
                @if let Some(forest) = plot::forest(bench, &format!("{key}-forest")) {
                    figure class="forest" {
                        (forest)
                        figcaption { "Square: estimate. Whiskers: 95\u{a0}% interval. Right of "
                            "zero is better, whatever the metric's direction." }
                    }
                }
                @for (at, one) in bench.iter().enumerate() {
                    (workload_plots(one, &format!("{key}-{at}")))
                }
            }
        }
    }
}

/// One row a workload.
pub(super) fn table(bench: &[WorkloadBench]) -> Markup {
    html! {
        div class="scroll wide" {
            table {
                thead {
                    tr {
                        th { "Workload" } th { "Metric" } th class="n" { "A" } th class="n" { "B" }
                        th class="n" { "B/A" } th class="n" { "95\u{a0}% CI" } th class="n" { "p" }
                        th class="n" { "n" } th { "Verdict" }
                    }
                }
                tbody { @for one in bench { (row(one)) } }
            }
        }
    }
}

fn row(one: &WorkloadBench) -> Markup {
    let report = &one.report;
    let (a, b) = arms(report);
    let shown = ratio(report);
    html! {
        tr {
            td { (cell(&one.workload, "(unnamed)")) small { (cell(&one.class, "unclassed")) } }
            td { (clip(&metric(report), 80)) small { (better(report.direction)) } }
            td class="n" { (fig(&a)) small { "sd " (sd(&report.a)) } }
            td class="n" { (fig(&b)) small { "sd " (sd(&report.b)) } }
            td class="n" { strong { (fig(&shown.change)) } }
            td class="n" { (fig(&shown.interval.unwrap_or_else(|| "none".to_owned()))) }
            td class="n" { (p_value(report.p)) }
            td class="n" { (count(report.n)) small { (match report.n_unit { UnitOf::Block => "blocks", UnitOf::Build => "pairs of builds" }) } }
            td { (chip(verdict_tone(report.verdict), verdict(report.verdict))) }
        }
    }
}

fn workload_plots(one: &WorkloadBench, key: &str) -> Markup {
    let report = &one.report;
    let drawn = valid_rows(report).count();
    let invalid = report.rows.len() - drawn;
    let cut = if drawn > plot::BLOCKS_DRAWN_MAX {
        format!(
            " The first {} of {} are drawn.",
            count(plot::BLOCKS_DRAWN_MAX as u64),
            counted(drawn as u64, "block")
        )
    } else {
        String::new()
    };
    html! {
        h3 { (clip(&workload(one), 80)) ": " (effect(report)) }
        p { (sentence(&report.reason))
            @if let Some(ranks) = companion(report) { " By ranks: " (fig(&ranks)) "." }
            @if let Some(effect) = detectable(report) {
                " An effect of " (effect) " would show in 4 of 5 such campaigns."
            }
            @if let Some(dose) = dose(one) { " " (sentence(&dose)) }
            @if invalid > 0 {
                " " (counted(invalid as u64, "block")) " that the machine disturbed ran again."
            }
        }
        div class="plots" {
            @if let Some(blocks) = plot::blocks(report, &format!("{key}-blocks")) {
                figure {
                    (blocks)
                    figcaption { "One mark a block: ● A ran first, ◇ B ran first. Solid line: no "
                        "difference. Dashed line and band: mean and its 95\u{a0}% interval." (cut) }
                }
            }
            @if let Some(distribution) = plot::distribution(report, &format!("{key}-runs")) {
                figure {
                    (distribution)
                    figcaption { "One mark a run: ● A, ◆ B, stacked where they would overlap. "
                        "Vertical line: geometric mean. Bar: middle half of the runs." (cut) }
                }
            }
        }
    }
}
