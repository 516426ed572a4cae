//! `bench --count`: two commands, counted under callgrind in place of timed.

use std::io::IsTerminal;
use std::time::Duration;

use unlikely_measure::{Arm, CountProgress, CountVerdict, MeasureError};

use crate::args::{BenchArgs, Format};
use crate::exit::{Exit, fail};
use crate::output::{color, print};
use crate::progress::stage;
use crate::steps::bench::failed;

/// Counts `--a` and `--b`.
pub(crate) fn run(a: &str, b: &str, args: &BenchArgs) -> anyhow::Result<Exit> {
    let here = std::env::current_dir()?;
    let [a, b] = [a, b].map(|command| Arm::new(command, &here));
    let runs = args.count_runs;
    let timeout = Duration::from_secs(args.timeout);
    let counting = stage("counting", u64::from(runs) * 2);
    let report = unlikely_measure::count(&a, &b, runs, timeout, &mut |_: CountProgress| {
        counting.step();
    })
    .map_err(not_counted)?;
    counting.done(&report.reason);
    print(&match args.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => {
            unlikely_report::count_terminal(&report, color(std::io::stdout().is_terminal()))
        }
    })?;
    Ok(match report.verdict {
        CountVerdict::Fewer => Exit::Done,
        CountVerdict::More | CountVerdict::Same | CountVerdict::Unclear => Exit::Negative,
    })
}

/// The exit code of an error in counting.
fn not_counted(error: MeasureError) -> anyhow::Error {
    match &error {
        MeasureError::NoValgrind { .. } => fail(Exit::Tool, error.to_string()),
        MeasureError::Counts { .. } => fail(Exit::Workload, error.to_string()),
        _ => failed(error),
    }
}
