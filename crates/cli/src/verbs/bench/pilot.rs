//! `bench --plan`: a short campaign of a command against itself, and what effects would take.

use std::io::IsTerminal;

use unlikely_measure::{PilotReport, Stop};

use super::setup::Bench;
use crate::args::{BenchArgs, Format};
use crate::exit::{Exit, fail};
use crate::output::{color, print};

/// Blocks of the pilot where none are asked for.
const PILOT_BLOCKS: u32 = 12;
/// Effects in percent that are planned for where none are asked for.
const EFFECTS: [f64; 5] = [0.3, 0.5, 1.0, 2.0, 5.0];

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<Exit> {
    let unfit = args.effect.iter().find(|effect| !(**effect > 0.0 && **effect < 100.0));
    if let Some(effect) = unfit {
        let why = format!("--effect {effect}: expected percent above 0 and below 100, such as 0.5");
        return Err(fail(Exit::Usage, why));
    }
    if !(args.hours > 0.0 && args.hours.is_finite()) {
        let why = format!("--hours {}: expected hours above 0, such as 8", args.hours);
        return Err(fail(Exit::Usage, why));
    }
    let mut bench = Bench::begin(args)?;
    let mut arms = bench.arms()?;
    let a = arms.first().cloned();
    arms.splice(1..1, a);
    let plan = bench.plan(arms, args.blocks.unwrap_or(PILOT_BLOCKS), Stop::Fixed);
    let pilot = bench.run(&plan, "plan", "pilot of A against itself")?;
    let effects = if args.effect.is_empty() { EFFECTS.to_vec() } else { args.effect.clone() };
    let report =
        PilotReport::of(pilot, &effects, super::compare::BLOCKS, args.hours).ok_or_else(|| {
            let why = "every run of the pilot gave the same value: this metric has no noise, and \
                       6 blocks show any difference";
            fail(Exit::Negative, why)
        })?;
    print(&match args.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => {
            unlikely_report::pilot_terminal(&report, color(std::io::stdout().is_terminal()))
        }
    })?;
    let all = report.needs.iter().all(|need| need.hopeless);
    Ok(if all { Exit::Negative } else { Exit::Done })
}
