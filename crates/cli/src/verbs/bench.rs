//! `bench`: the project's patch, any commands against each other, or one against itself.

mod aa;
mod compare;
mod export;
mod hyperfine;
mod pilot;
mod setup;

use std::path::Path;

use crate::args::{BenchArgs, Mode};
use crate::exit::{Exit, fail};
use crate::fit;
use crate::steps::evidence::Reached;
use crate::verbs::{count, tune};

/// Does what the options ask for.
pub(crate) fn run(dir: &Path, args: &BenchArgs) -> anyhow::Result<Exit> {
    // What is measured is told once. Options that need --a are refused without it, so none is
    // ignored; that is why this is not left to the parser, which allows them beside a conflict.
    let project = dir != Path::new(".");
    if usize::from(project) + usize::from(args.a.is_some()) + usize::from(args.hyperfine.is_some())
        > 1
    {
        let why =
            "a project folder, --a and --hyperfine each say what is measured: give one of them";
        return Err(fail(Exit::Usage, why));
    }
    if let Some(path) = &args.hyperfine {
        return hyperfine::run(path, args);
    }
    match args.mode() {
        Mode::Project => {
            let _tuned = fit::machine(args)?;
            tune::run_to(dir, Reached::Measured, args.format)
        }
        Mode::Plan => pilot::run(args),
        Mode::Aa => aa::run(args),
        Mode::Count => match (&args.a, args.b.as_slice()) {
            (Some(a), [b]) => count::run(a, b, args),
            _ => Err(fail(Exit::Usage, "--count compares two commands: give one --a and one --b")),
        },
        Mode::Compare if args.b.is_empty() => Err(fail(
            Exit::Usage,
            "--a alone compares nothing: add --b CMD, or --aa or --plan for A by itself",
        )),
        Mode::Compare => compare::run(args),
    }
}
