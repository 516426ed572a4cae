//! `bench` of any two commands.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use unlikely_measure::{Arm, Direction, Metric, Plan, Verdict};

use crate::args::{BenchArgs, DirectionName, Format};
use crate::exit::{Exit, fail};
use crate::output::{color, print};
use crate::progress::stage;
use crate::steps::bench::{failed, show};

/// Measures `--a` against `--b`.
pub(crate) fn run(a: &str, b: &str, args: &BenchArgs) -> anyhow::Result<Exit> {
    let here = std::env::current_dir()?;
    let arm = |command: &str| Arm { command: command.to_owned(), dir: here.clone(), env: vec![] };
    let metric = match &args.regex {
        None => Metric::Time,
        Some(pattern) => Metric::Regex {
            pattern: pattern.clone(),
            direction: match args.direction {
                DirectionName::Higher => Direction::Higher,
                DirectionName::Lower => Direction::Lower,
            },
            unit: args.unit.clone(),
        },
    };
    let plan = Plan {
        a: arm(a),
        b: arm(b),
        metric,
        blocks: args.blocks,
        warmups: args.warmups,
        seed: args.seed.unwrap_or_else(fresh_seed),
        timeout: Duration::from_secs(args.timeout),
        equivalence_margin: args.margin.map(|percent| percent / 100.0),
    };
    // Without a journal of the user's, this campaign's lives as long as the process.
    let scratch = tempfile::tempdir()?;
    let journal: PathBuf =
        args.journal.clone().unwrap_or_else(|| scratch.path().join("journal.redb"));
    if args.journal.is_some() && args.seed.is_none() && journal.exists() {
        let why = "a campaign is resumed with the seed it was begun with: add --seed N";
        return Err(fail(Exit::Usage, format!("{}: {why}", journal.display())));
    }
    let measuring = stage("measuring", args.blocks.into());
    let report = unlikely_measure::run(&plan, Path::new(&journal), "bench", &mut |at| {
        show(&measuring, &at);
    })
    .map_err(failed)?;
    measuring.done(&report.reason);
    print(&match args.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => {
            unlikely_report::bench_terminal(&report, color(std::io::stdout().is_terminal()))
        }
    })?;
    Ok(match report.verdict {
        Verdict::Faster => Exit::Done,
        Verdict::Slower | Verdict::Equivalent | Verdict::Inconclusive => Exit::Negative,
    })
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&now.as_nanos().to_le_bytes());
    hasher.update(&std::process::id().to_le_bytes());
    hasher.finalize().as_bytes().iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
}
