//! `experiment-lock`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    experiments::main(&experiment_lock::source())
}
