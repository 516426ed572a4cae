//! What `unlikely bench --aa` prints for people: how often the machine makes a false claim.

use unlikely_measure::{AaReport, Change};

use crate::facts::{machine, run_time};
use crate::figures::{count, counted, decimal, p_value, signed, size_percent};
use crate::screen::{Align, Screen, Tone};
use crate::terminal_bench::WIDTH;
use crate::text::{NBSP, prose};

/// The false claims of each way to judge, the noise floor, and what the blocks know of each other.
pub fn aa_terminal(report: &AaReport, color: bool) -> String {
    let mut screen = Screen::new(WIDTH, color);
    screen.heading("A against itself", "every difference found is false");
    let head = [
        ("judged by", Align::Left),
        ("false claims", Align::Right),
        ("rate", Align::Right),
        ("95 % interval", Align::Right),
    ];
    let rows: Vec<_> = report
        .ways
        .iter()
        .map(|way| {
            let [low, high] = way.ci95.map(|end| decimal(end * 100.0, 1));
            [
                prose(&way.way),
                format!("{} of {}", count(way.claims), count(way.of)),
                format!("{}{NBSP}%", decimal(way.rate() * 100.0, 1)),
                format!("{low} to {high}{NBSP}%"),
            ]
            .map(|text| (text, Tone::Plain))
            .to_vec()
        })
        .collect();
    screen.table(&head, &rows);
    screen.line("");
    let each = counted(report.blocks_each, "block");
    let mut blocks = format!("{each} a comparison");
    if let Some(time) = run_time(&report.whole) {
        blocks += &format!(", about {time} a run");
    }
    screen.field("blocks", &blocks);
    if let (Some(sd), Some(floor)) =
        (size_percent(report.sd_percent), size_percent(report.noise_floor_percent))
    {
        let text = format!("sd {sd} a block; {each} would show {floor} in 4 of 5 comparisons");
        screen.field("noise", &text);
    }
    screen.field("slot", &format!("second run of a block {}", change(&report.slot)));
    let series = format!(
        "lag-1 {}; Ljung-Box over {} lags: Q = {}, p {}",
        signed(report.lag1, 3),
        report.lags,
        decimal(report.ljung_box_q, 1),
        p_value(report.ljung_box_p)
    );
    screen.field("series", &series);
    if let Some(rebuild) = &report.rebuild {
        screen.field("rebuild", &format!("the same source built again {}", change(rebuild)));
    }
    screen.field("seed", &report.whole.seed.to_string());
    screen.field("machine", &machine(&report.whole.provenance));
    for warning in &report.whole.provenance.warnings {
        screen.field("warning", &prose(warning));
    }
    screen.finish()
}

/// `-0.02 % (-0.10 to +0.06 %, p 0.6)`.
fn change(change: &Change) -> String {
    let percent = |ratio: f64| signed((ratio - 1.0) * 100.0, 3);
    let [low, high] = change.ci95.map(percent);
    format!("{}{NBSP}% ({low} to {high}{NBSP}%, p {})", percent(change.ratio), p_value(change.p))
}
