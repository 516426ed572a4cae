//! The outcome as text for a terminal.

use crate::report::{
    ArmReport, CodeReport, ComparisonReport, NotRun, ObjectReport, PublishedReport, Ratio, Report,
    UnitOf,
};
use std::fmt::Write;
use unlikely_measure::Verdict;

/// Instructions of a function that a line has room for.
const INSTRUCTIONS_SHOWN_MAX: usize = 12;

/// The report as text, lines of at most about 100 columns.
#[must_use]
pub fn table(report: &Report) -> String {
    let mut out = format!("{}: {}\n", report.experiment, report.title);
    let loud = report.warnings.iter().filter(|warning| warning.loud).count();
    if loud > 0 {
        line(
            &mut out,
            format_args!("the machine was loud ({loud} warnings): do not trust these figures"),
        );
    }
    for comparison in &report.comparisons {
        out.push('\n');
        write_comparison(&mut out, comparison);
    }
    for NotRun { name, why } in &report.not_run {
        line(&mut out, format_args!("\n{name}: not run: {why}"));
    }
    if !report.code.is_empty() {
        out.push('\n');
        write_code(&mut out, &report.code);
    }
    for ObjectReport { name, text_bytes } in &report.objects {
        line(&mut out, format_args!("  object {name}: {text_bytes} bytes of code"));
    }
    out
}

/// Writing to a string cannot fail.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
    out.push('\n');
}

fn write_comparison(out: &mut String, of: &ComparisonReport) {
    line(out, format_args!("{}: {}", of.name, of.title));
    let unit = match of.n_unit {
        UnitOf::Process => "processes",
        UnitOf::Block => "blocks of one process",
    };
    line(
        out,
        format_args!(
            "  ns for one {} ({} thread{}); n = {} {unit}, {} blocks, {} operations a run",
            of.operation,
            of.threads,
            if of.threads == 1 { "" } else { "s" },
            of.n,
            of.blocks,
            of.operations
        ),
    );
    let width = of.arms.iter().map(|arm| arm.name.chars().count()).max().unwrap_or(0);
    line(
        out,
        format_args!(
            "  {:width$}  {:>8}  {:>7}  {:17}  {:25}  {:13}",
            "", "ns", "ratio", "95 % interval", "Hodges–Lehmann", "by place, ns"
        ),
    );
    for arm in &of.arms {
        line(out, format_args!("  {:width$}  {}", arm.name, arm_columns(arm)));
    }
    let served = of.arms.iter().filter_map(|arm| Some((&arm.name, arm.most_by_least?)));
    let served: Vec<String> = served.map(|(name, uneven)| format!("{name} {uneven:.3}")).collect();
    if !served.is_empty() {
        line(out, format_args!("  served, most by least of the threads: {}", served.join(" · ")));
    }
    for bar in &of.bars {
        line(
            out,
            format_args!(
                "  asked of {}: at most {} × {}: {}",
                bar.arm, bar.at_most, of.baseline, bar.words
            ),
        );
    }
    for other in &of.published {
        line(out, format_args!("  published: {}", published(other)));
    }
}

fn arm_columns(arm: &ArmReport) -> String {
    let places = arm.copies.iter().map(|copy| copy.ns_per_operation);
    let (least, most) =
        places.fold((f64::MAX, 0.0), |(least, most), ns| (ns.min(least), ns.max(most)));
    let places = format!("{least:.3}–{most:.3}");
    let ns = arm.ns_per_operation;
    match &arm.ratio {
        None => format!("{ns:8.3}  {:>7}  {:17}  {:25}  {places:13}  the baseline", "1", "", ""),
        Some(ratio) => {
            let interval = format!("{:.4} to {:.4}", ratio.ci95[0], ratio.ci95[1]);
            let [low, high] = ratio.companion.ci;
            let rank = format!("{:.4}, {low:.4} to {high:.4}", ratio.companion.ratio);
            let words = words(arm, ratio);
            format!("{ns:8.3}  {:7.4}  {interval:17}  {rank:25}  {places:13}  {words}", ratio.ratio)
        }
    }
}

fn words(arm: &ArmReport, ratio: &Ratio) -> String {
    let percent = (ratio.ratio - 1.0) * 100.0;
    if arm.control {
        return format!("the same code, {percent:+.2} %");
    }
    match ratio.verdict {
        Verdict::Faster => format!("faster by {:.2} %", -percent),
        Verdict::Slower => format!("slower by {percent:.2} %"),
        Verdict::Equivalent => "equivalent".to_owned(),
        Verdict::Inconclusive if ratio.ci95[0] > 1.0 || ratio.ci95[1] < 1.0 => {
            "no more than the same code, or chance".to_owned()
        }
        Verdict::Inconclusive => {
            format!("no difference shown; {:.2} % would be", ratio.mde80_percent)
        }
    }
}

fn published(of: &PublishedReport) -> String {
    let PublishedReport { source, arm, baseline, value, unit, ratio } = of;
    format!("{arm} {ratio:.3} ({value} by {baseline} {unit}; {source})")
}

fn write_code(out: &mut String, code: &[CodeReport]) {
    let width = code.iter().map(|code| code.name.chars().count()).max().unwrap_or(0);
    line(
        out,
        format_args!(
            "machine code: bytes in all, bytes to the first return, branches and calls on that way"
        ),
    );
    for CodeReport { name, bytes, hot_bytes, instructions, hot, branches, calls } in code {
        let shown = match instructions.get(..*hot) {
            Some(few) if few.len() <= INSTRUCTIONS_SHOWN_MAX => few.join("; "),
            _ => format!("({hot} instructions; all are in --format json)"),
        };
        line(
            out,
            format_args!(
                "  {name:width$}  {bytes:5} {hot_bytes:5} {branches:2} {calls:2}  {shown}"
            ),
        );
    }
}
