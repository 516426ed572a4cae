//! `experiment-unlock`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    experiments::main(&experiment_unlock::source())
}
