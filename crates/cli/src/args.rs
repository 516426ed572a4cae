//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::collect::import::Mapping;

mod bench;

pub(crate) use crate::verbs::reproduce::Mode as ReproduceMode;
pub(crate) use bench::{BenchArgs, Mode, Requirement};

/// Finds the few branch hints worth having, writes them as patches, and proves that they help.
#[derive(Debug, Parser)]
#[command(name = "unlikely", version, max_term_width = 100, after_help = include_str!("help/unlikely.txt"))]
pub(crate) struct Cli {
    /// When to colour the output; NO_COLOR is honoured.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// When to colour.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// A collector's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CollectorName {
    Gcov,
    Llvm,
}

/// Form of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Write a first unlikely.toml for the build system of the project.
    #[command(after_help = include_str!("help/init.txt"))]
    Init {
        /// Project folder.
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Write over the file that is there.
        #[arg(long)]
        force: bool,
    },
    /// Build with coverage and run each workload.
    #[command(after_help = include_str!("help/record.txt"))]
    Record {
        #[command(flatten)]
        dir: Dir,
        /// Where the counts come from [default: llvm where clang builds the project, else gcov].
        #[arg(long, value_enum)]
        collector: Option<CollectorName>,
    },
    /// Take counts recorded elsewhere as one workload: gcov, llvm-cov, lcov, counted hints.
    #[command(after_help = include_str!("help/import.txt"))]
    Import(ImportArgs),
    /// Join the recorded counts with the source: candidates and audit.
    #[command(after_help = include_str!("help/scan.txt"))]
    Scan {
        #[command(flatten)]
        dir: Dir,
        #[command(flatten)]
        scan: ScanArgs,
    },
    /// Compile each proposed site with and without its hint, and compare the machine code.
    #[command(after_help = include_str!("help/check.txt"))]
    Check {
        #[command(flatten)]
        dir: Dir,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Write a patch for each hint that changes the code; build and test each.
    #[command(after_help = include_str!("help/patch.txt"))]
    Patch {
        #[command(flatten)]
        dir: Dir,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Measure the patched tree against the baseline, or any two commands.
    #[command(after_help = include_str!("help/bench.txt"))]
    Bench {
        #[command(flatten)]
        dir: Dir,
        #[command(flatten)]
        bench: Box<BenchArgs>,
    },
    /// Write the evidence of the last run in one of its forms.
    #[command(after_help = include_str!("help/report.txt"))]
    Report {
        #[command(flatten)]
        dir: Dir,
        #[arg(long, value_enum, default_value_t)]
        format: ReportFormat,
        /// Id of one site, for its own commit message.
        #[arg(long, value_name = "ID")]
        site: Option<String>,
    },
    /// All of it: record, scan, check, patch, bench, report.
    #[command(after_help = include_str!("help/tune.txt"))]
    Tune {
        #[command(flatten)]
        dir: Dir,
        /// Where the counts come from [default: llvm where clang builds the project, else gcov].
        #[arg(long, value_enum)]
        collector: Option<CollectorName>,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Repeat published experiments on this machine: printed, recomputed and measured in one table.
    #[command(after_help = include_str!("help/reproduce.txt"))]
    Reproduce(ReproduceArgs),
    /// Recompute the figures of a published performance claim.
    #[command(after_help = include_str!("help/audit.txt"))]
    Audit {
        /// Commit message, mail or thread; - for standard input.
        message: PathBuf,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Say what is missing on this machine, what installs it, and how fit it is to measure.
    #[command(after_help = include_str!("help/doctor.txt"))]
    Doctor {
        /// Project folder; it need not have an unlikely.toml.
        #[arg(default_value = ".")]
        dir: PathBuf,
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Print the completions of a shell.
    #[command(after_help = include_str!("help/completions.txt"))]
    Completions {
        /// Which one.
        shell: Shell,
    },
    /// Print the man page, or write one for each verb into a folder.
    #[command(after_help = include_str!("help/man.txt"))]
    Man {
        /// Where unlikely.1 and one unlikely-VERB.1 for each verb are written.
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The project folder [default: .], then profiles, and folders of .gcda and .gcno files.
    #[arg(required = true, value_names = ["DIR", "PATH"])]
    pub(crate) paths: Vec<PathBuf>,
    /// The workload that the counts are of; takes the place of an imported one of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: String,
    /// What kind of work it stands for [default: as configured, else application].
    #[arg(long, value_enum)]
    pub(crate) class: Option<ClassName>,
    /// Files below FROM in the profile are those below TO in the project.
    #[arg(long, value_name = "FROM=TO")]
    pub(crate) map: Vec<Mapping>,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Experiment to repeat; may be given several times [default: all].
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Enough to make a claim: under three minutes.
    #[arg(long, conflicts_with_all = ["full", "smoke"])]
    quick: bool,
    /// As many tests of each side as were published: 100, 25.
    #[arg(long, conflicts_with = "smoke")]
    full: bool,
    /// Everything once with tiny counts, for its form alone.
    #[arg(long, hide = true)]
    smoke: bool,
    /// Measure again what an earlier run has finished.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Seed of the order of runs.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Folder for what is built and what is finished.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReproduceFormat,
    /// Answer for one process of an experiment.
    #[arg(long, hide = true, value_name = "REQUEST")]
    pub(crate) worker: Option<String>,
}

impl ReproduceArgs {
    /// How much is measured.
    pub(crate) fn mode(&self) -> ReproduceMode {
        match self {
            Self { smoke: true, .. } => ReproduceMode::Smoke,
            Self { quick: true, .. } => ReproduceMode::Quick,
            Self { full: true, .. } => ReproduceMode::Full,
            _ => ReproduceMode::Normal,
        }
    }
}

/// Form of a reproduction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReproduceFormat {
    #[default]
    Text,
    Json,
    Html,
}

/// What kind of work a workload stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClassName {
    Application,
    Benchmark,
    Stressor,
}

/// Form of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    #[default]
    Text,
    Json,
    Html,
    /// A commit message.
    Message,
}

/// The project.
#[derive(Debug, Args)]
pub(crate) struct Dir {
    /// Project folder, with an unlikely.toml.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Rows of each table in text output.
    #[arg(long, default_value_t = 20)]
    pub(crate) top: usize,
}
