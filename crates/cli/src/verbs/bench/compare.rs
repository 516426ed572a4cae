//! `bench --a CMD --b CMD …`: candidates against a baseline, and the best of several again on
//! fresh blocks.

use std::io::IsTerminal;

use unlikely_measure::{Arm, BenchReport, Stop, Verdict, leader};

use super::export::candidates;
use super::setup::Bench;
use crate::args::{BenchArgs, Format};
use crate::exit::Exit;
use crate::output::{color, print};

/// Blocks where none are asked for.
pub(super) const BLOCKS: u32 = 20;

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<Exit> {
    let mut bench = Bench::begin(args)?;
    let arms = bench.arms()?;
    let many = arms.len() > 2;
    let stop = match args.stop {
        Some(stop) => stop.into(),
        None if many => Stop::Fixed,
        None => Stop::Sequential,
    };
    let plan = bench.plan(arms, args.blocks.unwrap_or(BLOCKS), stop);
    let mut report = bench.run(&plan, "bench", "measuring")?;
    if many && !args.no_confirm {
        report.confirmed = confirm(&bench, &plan, &report)?.map(Box::new);
    }
    print(&match args.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => {
            unlikely_report::bench_terminal(&report, color(std::io::stdout().is_terminal()))
        }
    })?;
    bench.export(&report)?;
    Ok(exit(&report))
}

/// Measures the best of several candidates again: chosen for its figures, it needs fresh ones.
fn confirm(
    bench: &Bench<'_>,
    plan: &unlikely_measure::Plan,
    report: &BenchReport,
) -> anyhow::Result<Option<BenchReport>> {
    let Some(leader) = leader(report).map(|one| one.arm) else { return Ok(None) };
    let index = ('A'..=leader).count() - 1;
    let pair = [plan.arms.first(), plan.arms.get(index)];
    let arms: Vec<Arm> = pair.into_iter().flatten().cloned().collect();
    let mut plan = bench.plan(arms, plan.blocks, Stop::Sequential);
    plan.seed = plan.seed.wrapping_add(1);
    let (key, doing) = (format!("confirm {leader}"), format!("confirming {leader}"));
    bench.run_as(leader, &plan, &key, &doing).map(Some)
}

/// A confirmation decides where there was one, else whether any candidate is better.
fn exit(report: &BenchReport) -> Exit {
    let better = |one: &BenchReport| one.verdict == Verdict::Faster;
    let found = match &report.confirmed {
        Some(confirmed) => better(confirmed),
        None => candidates(report).any(better),
    };
    if found { Exit::Done } else { Exit::Negative }
}
