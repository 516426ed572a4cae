//! What `unlikely bench` prints for people: one campaign on any commands.

use unlikely_measure::{Adjustment, ArmSummary, BenchReport, Layer, Stop, UnitOf};

use crate::facts::{better, companion, detectable, machine, metric, run_time, side, verdict};
use crate::figures::{arms, counted, p_value, ratio, sd, size_percent};
use crate::screen::{Align, Screen, Tone};
use crate::terminal::verdict_tone;
use crate::text::{NBSP, clip, prose};

/// Columns of the page: it is written for any terminal.
pub(crate) const WIDTH: usize = 80;
/// Rows named as outliers or invalid; more are counted only.
const ROWS_NAMED_MAX: usize = 5;

/// The outcome of one campaign: arms, ratios with their intervals, what n counts, and each
/// verdict with its reason.
pub fn bench_terminal(report: &BenchReport, color: bool) -> String {
    let mut screen = Screen::new(WIDTH, color);
    comparison(&mut screen, report);
    for other in &report.others {
        comparison(&mut screen, other);
    }
    if let Some(confirmed) = &report.confirmed {
        screen.heading(
            &format!("{} on fresh blocks", confirmed.arm),
            "the best of several, measured again: this is the claim",
        );
        comparison(&mut screen, confirmed);
    }
    screen.finish()
}

fn comparison(screen: &mut Screen, report: &BenchReport) {
    screen.heading(&metric(report), better(report.direction));
    arm_table(screen, report);
    screen.line("");
    effect(screen, report);
    design(screen, report);
    let provenance = &report.provenance;
    screen.field("machine", &machine(provenance));
    for warning in &provenance.warnings {
        screen.field("warning", &prose(warning));
    }
    odd_rows(screen, report);
    screen.line("");
    let word = verdict(report.verdict);
    screen.paragraph(
        verdict_tone(report.verdict),
        &format!("{word}: {}", prose(&report.reason)),
        "",
        "  ",
    );
}

/// Head of the table of arms.
pub(crate) const ARM_HEAD: [(&str, Align); 5] = [
    ("arm", Align::Left),
    ("geomean", Align::Right),
    ("sd", Align::Right),
    ("runs", Align::Right),
    ("command", Align::Left),
];

/// One arm's row under [`ARM_HEAD`].
pub(crate) fn arm_row(
    name: String,
    mean: String,
    arm: &ArmSummary,
    command: &str,
) -> Vec<(String, Tone)> {
    [name, mean, sd(arm), arm.n.to_string(), clip(&prose(command), 40)]
        .map(|text| (text, Tone::Plain))
        .to_vec()
}

fn arm_table(screen: &mut Screen, report: &BenchReport) {
    let (a, b) = arms(report);
    let rows = [
        arm_row("A".to_owned(), a, &report.a, &report.provenance.command_a),
        arm_row(report.arm.to_string(), b, &report.b, &report.provenance.command_b),
    ];
    screen.table(&ARM_HEAD, &rows);
}

fn effect(screen: &mut Screen, report: &BenchReport) {
    let shown = ratio(report);
    screen.field(&format!("{}/A", report.arm), &format!("{} ({})", shown.change, side(report)));
    let interval = shown.interval.unwrap_or_else(|| "none: it takes two blocks".to_owned());
    let (kind, test) = match report.ending.rule {
        Stop::Sequential if report.ending.looks.len() > 1 => {
            (" (adjusted for the looks)", "Student's t, adjusted for the looks")
        }
        Stop::Open => (" (asymptotic confidence sequence)", "confidence sequence"),
        _ => ("", "Student's t"),
    };
    screen.field(&format!("95{NBSP}% CI"), &format!("{interval}{kind}"));
    if report.ending.early
        && let Some(unbiased) = report.ending.ratio_unbiased
    {
        let change = size_percent(100.0 * (unbiased - 1.0).abs()).unwrap_or_default();
        let sign = if unbiased < 1.0 { "-" } else { "+" };
        screen.field("unbiased", &format!("{sign}{change} (median-unbiased, as it stopped early)"));
    }
    screen.field("p", &format!("{} ({test})", p_value(report.p)));
    if let Some(companion) = companion(report) {
        screen.field("by ranks", &companion);
    }
    if let Some(p) = report.sign_p {
        screen.field("by signs", &format!("{} (exact, strict)", p_value(p)));
    }
    if let Some(family) = report.family {
        let method = match family.method {
            Adjustment::Holm => "Holm",
            Adjustment::BenjaminiHochberg => "Benjamini-Hochberg, explored only",
        };
        let text = format!("p {} among {} ({method})", p_value(family.p), family.size);
        screen.field("adjusted", &text);
    }
}

fn design(screen: &mut Screen, report: &BenchReport) {
    let mut n = match report.n_unit {
        UnitOf::Block => {
            format!("n = {} (one run of each command)", counted(report.blocks, "block"))
        }
        UnitOf::Build => format!(
            "n = {}, {} in all",
            counted(report.n, "pair") + " of builds",
            counted(report.blocks, "block")
        ),
    };
    if let Some(time) = run_time(report) {
        n.push_str(&format!(", about {time} a run"));
    }
    screen.field("blocks", &n);
    let looks = report.ending.looks.len();
    if looks > 1 || report.ending.early {
        let end = if report.ending.early { "stopped early" } else { "went to the end" };
        let text = format!(
            "{end}: {} of at most {}, {} (O'Brien-Fleming)",
            report.blocks,
            counted(report.ending.blocks_max, "block"),
            counted(looks as u64, "look"),
        );
        let open = format!("{end}: {} of at most {}", report.blocks, report.ending.blocks_max);
        screen.field("stop", if report.ending.rule == Stop::Open { &open } else { &text });
    }
    screen.field("n counts", &prose(&report.n_counts));
    if !report.layers.is_empty() {
        let layers: Vec<String> = report.layers.iter().map(layer).collect();
        screen.field("layers", &layers.join("; "));
    }
    if let Some(effect) = detectable(report) {
        screen.field("power", &format!("{effect} would show in 4 of 5 such campaigns"));
    }
    screen.field("seed", &report.seed.to_string());
}

/// `build sd 0.80 % (8)`.
fn layer(layer: &Layer) -> String {
    let name = prose(&layer.name);
    match layer.sd_percent.and_then(size_percent) {
        Some(sd) => format!("{name} adds sd {sd} ({})", layer.groups),
        None if layer.sd_percent.is_some() => format!("{name} adds nothing ({})", layer.groups),
        None => format!("{name} not sampled"),
    }
}

/// Blocks that were left out, and runs that lie far off, with the machine's evidence.
fn odd_rows(screen: &mut Screen, report: &BenchReport) {
    let invalid = report.rows.iter().filter_map(|row| Some((row.block, row.invalid.as_ref()?)));
    let invalid: Vec<String> =
        invalid.map(|(block, why)| format!("block {block}: {why}")).collect();
    let outliers = report.rows.iter().filter_map(|row| Some((row.block, row.outlier.as_ref()?)));
    let outliers: Vec<String> =
        outliers.map(|(block, why)| format!("block {block}: {why}")).collect();
    for (name, rows) in [("invalid", invalid), ("outlier", outliers)] {
        for row in rows.iter().take(ROWS_NAMED_MAX) {
            screen.field(name, &prose(row));
        }
        if let Some(more) = rows.len().checked_sub(ROWS_NAMED_MAX).filter(|more| *more > 0) {
            screen.field(name, &format!("and {} more: see the rows in the JSON", more));
        }
    }
}
