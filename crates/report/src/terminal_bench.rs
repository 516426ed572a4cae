//! What `unlikely bench` prints for people: one campaign on any two commands.

use unlikely_measure::{ArmSummary, BenchReport};

use crate::facts::{better, companion, detectable, machine, metric, run_time, side, verdict};
use crate::figures::{arms, counted, p_value, ratio, sd};
use crate::screen::{Align, Screen, Tone};
use crate::terminal::verdict_tone;
use crate::text::{NBSP, clip, prose};

/// Columns of the page: it is written for any terminal.
const WIDTH: usize = 80;

/// The outcome of one campaign: both arms, the ratio with its interval, what n counts, and the
/// verdict with its reason.
pub fn bench_terminal(report: &BenchReport, color: bool) -> String {
    let mut screen = Screen::new(WIDTH, color);
    screen.heading(&metric(report), better(report.direction));
    let (a, b) = arms(report);
    let provenance = &report.provenance;
    let head = [
        ("arm", Align::Left),
        ("geomean", Align::Right),
        ("sd", Align::Right),
        ("runs", Align::Right),
        ("command", Align::Left),
    ];
    let row = |name: &str, mean: String, arm: &ArmSummary, command: &str| {
        [name.to_owned(), mean, sd(arm), arm.n.to_string(), clip(&prose(command), 40)]
            .map(|text| (text, Tone::Plain))
            .to_vec()
    };
    let rows = [
        row("A", a, &report.a, &provenance.command_a),
        row("B", b, &report.b, &provenance.command_b),
    ];
    screen.table(&head, &rows);
    screen.line("");
    effect(&mut screen, report);
    screen.field("machine", &machine(provenance));
    for warning in &provenance.warnings {
        screen.field("warning", &prose(warning));
    }
    screen.line("");
    let word = verdict(report.verdict);
    screen.paragraph(
        verdict_tone(report.verdict),
        &format!("{word}: {}", prose(&report.reason)),
        "",
        "  ",
    );
    screen.finish()
}

fn effect(screen: &mut Screen, report: &BenchReport) {
    let shown = ratio(report);
    screen.field("B/A", &format!("{} ({})", shown.change, side(report)));
    let interval = shown.interval.unwrap_or_else(|| "none: it takes two blocks".to_owned());
    screen.field(&format!("95{NBSP}% CI"), &interval);
    screen.field("p", &format!("{} (Student's t)", p_value(report.p)));
    if let Some(companion) = companion(report) {
        screen.field("by ranks", &companion);
    }
    let mut n = format!("n = {} (one run of each command)", counted(report.blocks, "block"));
    if let Some(time) = run_time(report) {
        n.push_str(&format!(", about {time} a run"));
    }
    screen.field("blocks", &n);
    screen.field("n counts", &prose(&report.n_counts));
    if let Some(effect) = detectable(report) {
        screen.field("power", &format!("{effect} would show in 4 of 5 such campaigns"));
    }
    screen.field("seed", &report.seed.to_string());
}
