//! The `unlikely` binary: only wiring. One file a verb.

mod args;
mod build;
mod collect;
mod config;
mod exit;
mod fit;
mod output;
mod progress;
mod project;
mod salt;
mod shell;
mod steps;
mod toolchain;
mod tree;
mod verbs;
mod wrapper;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Verb};
use exit::Exit;
use steps::evidence::Reached;

fn main() -> ExitCode {
    if let Some(code) = wrapper::become_compiler_if_called_so() {
        return code;
    }
    let cli = Cli::parse();
    output::choose_color(cli.color);
    let code = match run(&cli.verb) {
        Ok(exit) => exit.into(),
        Err(error) => {
            progress::error(&format!("{error:#}"));
            exit::code(&error).into()
        }
    };
    shell::close();
    code
}

fn run(verb: &Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Init { dir, force } => verbs::init::run(dir, *force),
        Verb::Record { dir, collector } => verbs::record::run(&dir.dir, *collector),
        Verb::Import(import) => verbs::import::run(import),
        Verb::Scan { dir, scan } => verbs::scan::run(&dir.dir, scan),
        Verb::Check { dir, format } => verbs::tune::run_to(&dir.dir, Reached::Checked, *format),
        Verb::Patch { dir, format } => verbs::tune::run_to(&dir.dir, Reached::Patched, *format),
        Verb::Bench { dir, bench } => verbs::bench::run(&dir.dir, bench),
        Verb::Report { dir, format, site } => {
            verbs::report::run(&dir.dir, *format, site.as_deref())
        }
        Verb::Tune { dir, collector, format } => verbs::tune::run(&dir.dir, *collector, *format),
        Verb::Reproduce(reproduce) => verbs::reproduce::run(reproduce),
        Verb::Audit { message, format } => verbs::audit::run(message, *format),
        Verb::Doctor { dir, format } => verbs::doctor::run(dir, *format),
        Verb::Completions { shell } => verbs::complete::completions(*shell),
        Verb::Man { folder } => verbs::complete::man(folder.as_deref()),
    }
}
