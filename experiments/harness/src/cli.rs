//! The command line that all experiments share.

use crate::campaign::{self, Progress, Selection};
use crate::error::ExperimentError;
use crate::experiment::Source;
use crate::settings::Settings;
use crate::table::table;
use clap::{Parser, ValueEnum};
use std::io::{self, Write};
use std::process::ExitCode;

/// Measures pieces of code against each other in randomised blocks over fresh processes.
///
/// Figures go to standard output, progress and warnings to standard error. What is found decides no
/// exit code: 0 is done, 1 is an experiment that could not be finished, 2 a wrong use.
#[derive(Debug, Clone, Parser)]
#[command(version, about)]
pub struct Options {
    /// Comparison to run; may be given several times [default: those marked * by --list].
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Run every comparison.
    #[arg(long, conflicts_with = "only")]
    all: bool,
    /// Tell the comparisons and run nothing.
    #[arg(long)]
    list: bool,
    /// The least that can make a claim: some seconds a comparison.
    #[arg(long, conflicts_with_all = ["full", "smoke"])]
    quick: bool,
    /// Several minutes.
    #[arg(long, conflicts_with = "smoke")]
    full: bool,
    /// Run everything once with tiny counts, to see that it works.
    #[arg(long)]
    smoke: bool,
    /// Fresh processes of each comparison.
    #[arg(long)]
    processes: Option<u32>,
    /// Blocks in each process.
    #[arg(long)]
    blocks: Option<u32>,
    /// Length of one run, in ms.
    #[arg(long)]
    run_ms: Option<f64>,
    /// Operations of one run of each thread, instead of as many as take that long.
    #[arg(long)]
    operations: Option<u64>,
    /// Seed of the order of runs.
    #[arg(long)]
    seed: Option<u64>,
    /// Keep one thread on one CPU. (Several always have one each.)
    #[arg(long)]
    pin: bool,
    /// How the outcome is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Answer for one process of an experiment.
    #[arg(long, hide = true, value_name = "REQUEST")]
    worker: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Options {
    /// How much is to be measured.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let base = match self {
            Self { smoke: true, .. } => Settings::SMOKE,
            Self { quick: true, .. } => Settings::QUICK,
            Self { full: true, .. } => Settings::FULL,
            _ => Settings::NORMAL,
        };
        Settings {
            processes: self.processes.unwrap_or(base.processes),
            blocks: self.blocks.unwrap_or(base.blocks),
            run_ms: self.run_ms.unwrap_or(base.run_ms),
            operations: self.operations.or(base.operations),
            seed: self.seed.unwrap_or(base.seed),
            pin: self.pin,
            ..base
        }
    }

    /// Which comparisons are asked for.
    #[must_use]
    pub fn selection(&self) -> Selection {
        match &self.only[..] {
            _ if self.all => Selection::All,
            [] => Selection::Default,
            names => Selection::Named(names.to_vec()),
        }
    }
}

/// What the binary of an experiment does.
#[must_use]
pub fn main(source: &Source) -> ExitCode {
    let options = Options::parse();
    match obey(source, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ExperimentError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            match error {
                ExperimentError::Setting { .. }
                | ExperimentError::OneUnit
                | ExperimentError::NoComparison { .. } => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn obey(source: &Source, options: &Options) -> Result<(), ExperimentError> {
    let mut out = io::stdout().lock();
    if let Some(request) = &options.worker {
        writeln!(out, "{}", campaign::answer(std::slice::from_ref(source), request)?)?;
        return Ok(());
    }
    let program = std::env::current_exe()?;
    if options.list {
        let experiment = (source.make)(&campaign::build(source, &campaign::beside(&program))?)?;
        for one in &experiment.comparisons {
            let mark = if one.by_default { '*' } else { ' ' };
            writeln!(out, "{mark} {:10} {}", one.name, one.title)?;
        }
        return Ok(());
    }
    let (selection, settings) = (options.selection(), options.settings());
    let report = campaign::run(source, &selection, &settings, &program, &mut |step| {
        let Progress::Process { comparison, done, of } = step;
        let _ = writeln!(io::stderr(), "{comparison}: process {done} of {of}");
    })?;
    match options.format {
        Format::Text => write!(out, "{}", table(&report))?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    for warning in &report.warnings {
        let kind = if warning.loud { "warning" } else { "note" };
        writeln!(io::stderr(), "{kind}: {}", warning.text)?;
    }
    Ok(out.flush()?)
}
