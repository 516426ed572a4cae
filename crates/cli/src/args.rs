//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finds the few branch hints worth having, writes them as patches, and proves that they help.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
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
    /// Build with coverage and run each workload.
    Record {
        #[command(flatten)]
        dir: Dir,
        /// Where the counts come from [default: llvm where clang builds the project, else gcov].
        #[arg(long, value_enum)]
        collector: Option<CollectorName>,
    },
    /// Join the recorded counts with the source: candidates and audit.
    Scan {
        #[command(flatten)]
        dir: Dir,
        #[command(flatten)]
        scan: ScanArgs,
    },
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
