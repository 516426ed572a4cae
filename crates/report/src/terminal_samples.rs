//! What `unlikely bench --hyperfine` prints for people: two samples that another tool took.

use unlikely_measure::SamplesReport;

use crate::facts::{better, verdict};
use crate::figures::{p_value, ratio_of, rough};
use crate::screen::Screen;
use crate::terminal::verdict_tone;
use crate::terminal_bench::{ARM_HEAD, WIDTH, arm_row};
use crate::text::{NBSP, prose};

/// Both samples, their ratio with its interval, and the verdict with its caution.
pub fn samples_terminal(report: &SamplesReport, color: bool) -> String {
    let mut screen = Screen::new(WIDTH, color);
    screen.heading("time", better(report.direction));
    let arms = [("A", &report.a, &report.name_a), ("B", &report.b, &report.name_b)];
    let rows = arms.map(|(letter, arm, name)| {
        let mean = format!("{}{NBSP}s", rough(arm.geomean));
        arm_row(letter.to_owned(), mean, arm, name)
    });
    screen.table(&ARM_HEAD, &rows);
    screen.line("");
    let shown = ratio_of(report.ratio, report.ci95, report.a.n.min(report.b.n));
    screen.field("B/A", &shown.change);
    screen.field(&format!("95{NBSP}% CI"), &shown.interval.unwrap_or_else(|| "none".to_owned()));
    screen.field("p", &format!("{} (Welch's t)", p_value(report.p)));
    screen.field("by ranks", &format!("p {} (Mann-Whitney)", p_value(report.rank_p)));
    screen.line("");
    let word = verdict(report.verdict);
    let text = format!("{word}: {}", prose(&report.reason));
    screen.paragraph(verdict_tone(report.verdict), &text, "", "  ");
    screen.finish()
}
