//! `bench --hyperfine FILE`: what another tool measured, judged as well as its order allows.

use std::io::IsTerminal;
use std::path::Path;

use unlikely_measure::exchange::hyperfine::{Samples, read};
use unlikely_measure::{Direction, SamplesReport, Verdict};

use crate::args::{BenchArgs, Format};
use crate::exit::{Exit, fail};
use crate::output::{color, print};

pub(super) fn run(path: &Path, args: &BenchArgs) -> anyhow::Result<Exit> {
    let bad = |why: String| fail(Exit::Usage, format!("{}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
    let results = read(&bytes).map_err(|error| bad(error.to_string()))?;
    let [a, b] = results.as_slice() else {
        let why = format!("{} results, and two are compared: export just those", results.len());
        return Err(bad(why));
    };
    if let Some(failed) = [a, b].into_iter().find(|one| one.failures > 0) {
        let why = format!(
            "{} of the runs of {:?} did not exit with 0, so their times say nothing of it: export \
             runs that succeed",
            failed.failures, failed.command
        );
        return Err(bad(why));
    }
    let sample =
        |one: &'_ Samples| -> (String, Vec<f64>) { (one.command.clone(), one.times_s.clone()) };
    let ((name_a, a), (name_b, b)) = (sample(a), sample(b));
    let report = SamplesReport::of((&name_a, &a), (&name_b, &b), Direction::Lower)
        .ok_or_else(|| bad("each result takes two runs or more".to_owned()))?;
    print(&match args.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => {
            unlikely_report::samples_terminal(&report, color(std::io::stdout().is_terminal()))
        }
    })?;
    Ok(if report.verdict == Verdict::Faster { Exit::Done } else { Exit::Negative })
}
