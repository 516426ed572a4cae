//! The circumstances of a measurement: what the machine is like, whether it is quiet, what happened
//! beside each run, and how to make it steadier for a while.

mod counters;
mod cpu;
mod files;
#[cfg(test)]
mod fixture;
mod ledger;
mod probe;
mod quiet;
mod rule;
mod system;
mod tuning;
mod warning;

pub use counters::Pressure;
pub use cpu::{Cpus, Frequency, Idle, Turbo};
pub use ledger::Machine;
pub use probe::{Reading, RunConditions, RunProbe};
pub use quiet::{Activity, BusyProcess};
pub use rule::{Disturbance, Rule};
pub use system::Memory;
pub use tuning::{Change, LeftOver, Refusal, TuneError, Tuned, Tuning};
pub use warning::Warning;
