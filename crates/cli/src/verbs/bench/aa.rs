//! `bench --aa`: a command against itself, and against a rebuild of the same source.

use std::io::IsTerminal;

use unlikely_measure::{AaReport, BLOCKS_MAX, Stop};

use super::setup::Bench;
use crate::args::{BenchArgs, Format};
use crate::exit::{Exit, fail};
use crate::output::{color, print};

/// Blocks of one comparison where none are asked for.
const BLOCKS: u32 = 10;

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<Exit> {
    let each = args.blocks.unwrap_or(BLOCKS);
    if each < 2 || args.comparisons == 0 {
        let why = "there is at least one comparison, of 2 blocks or more: raise --comparisons or \
                   --blocks";
        return Err(fail(Exit::Usage, why));
    }
    let blocks = each.saturating_mul(args.comparisons);
    if blocks > BLOCKS_MAX {
        let why = format!(
            "{} comparisons of {each} blocks are {blocks}, and a campaign holds {BLOCKS_MAX}: \
             lower --comparisons or --blocks",
            args.comparisons
        );
        return Err(fail(Exit::Usage, why));
    }
    let mut bench = Bench::begin(args)?;
    let mut arms = bench.arms()?;
    let a = arms.first().cloned();
    arms.splice(1..1, a);
    // The whole is judged in pieces, each as a campaign of its own would be.
    let plan = bench.plan(arms, blocks, Stop::Fixed);
    let whole = bench.run(&plan, "aa", "measuring A against itself")?;
    let stop = args.stop.map_or(Stop::Sequential, Stop::from);
    let report = AaReport::of(whole, each, stop)
        .ok_or_else(|| fail(Exit::System, "no comparison could be judged"))?;
    print(&match args.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => {
            unlikely_report::aa_terminal(&report, color(std::io::stdout().is_terminal()))
        }
    })?;
    bench.export(&report.whole)?;
    // More false claims than 5 % allow by chance: this machine or command is not fit to measure.
    let sound = report.ways.first().is_some_and(|ours| ours.ci95[0] <= 0.05);
    Ok(if sound { Exit::Done } else { Exit::Negative })
}
