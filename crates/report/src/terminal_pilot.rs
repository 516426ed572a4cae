//! What `unlikely bench --plan` prints for people: what a campaign could show, before it is run.

use unlikely_measure::PilotReport;

use crate::facts::machine;
use crate::figures::{UNKNOWN, count, counted, duration, rough, size_percent};
use crate::screen::{Align, Screen, Tone};
use crate::terminal_bench::WIDTH;
use crate::text::{NBSP, prose};

/// The noise of a block, and the blocks and hours that effects take.
pub fn pilot_terminal(report: &PilotReport, color: bool) -> String {
    let mut screen = Screen::new(WIDTH, color);
    screen.heading("Plan", "blocks that show an effect in 4 of 5 campaigns");
    let head = [
        ("effect", Align::Right),
        ("blocks", Align::Right),
        ("or up to", Align::Right),
        ("time", Align::Right),
        ("", Align::Left),
    ];
    let rows: Vec<_> = report
        .needs
        .iter()
        .map(|need| {
            let tone = if need.hopeless { Tone::Bad } else { Tone::Plain };
            let blocks = |blocks: Option<u32>| blocks.map_or(UNKNOWN.to_owned(), count);
            [
                format!("{}{NBSP}%", rough(need.effect_percent)),
                blocks(need.blocks),
                blocks(need.blocks_high),
                need.hours.map_or(UNKNOWN.to_owned(), |hours| duration(hours * 3600.0)),
                if need.hopeless { "hopeless here".to_owned() } else { String::new() },
            ]
            .map(|text| (text, tone))
            .to_vec()
        })
        .collect();
    screen.table(&head, &rows);
    screen.line("");
    let sd = |percent: f64| size_percent(percent).unwrap_or_else(|| UNKNOWN.to_owned());
    let noise = format!(
        "sd {} a block, from {}; up to {} if that pilot was lucky (1 in 5 are)",
        sd(report.sd_percent),
        counted(report.pilot.blocks, "block"),
        sd(report.sd_percent_high),
    );
    screen.field("noise", &noise);
    let shows = format!(
        "{} of {} would show {} in 4 of 5 campaigns",
        counted(report.blocks, "block"),
        duration(report.block_s),
        sd(report.mde80_percent)
    );
    screen.field("power", &shows);
    screen.field("n counts", &prose(&report.pilot.n_counts));
    screen.field("seed", &report.pilot.seed.to_string());
    screen.field("machine", &machine(&report.pilot.provenance));
    for warning in &report.pilot.provenance.warnings {
        screen.field("warning", &prose(warning));
    }
    screen.finish()
}
