//! What a run is judged by: `kind` says what can be asked for, `parse` reads it from a command
//! line, `reader` finds it in what a run left, with one file for each format.

mod json;
mod kind;
mod parse;
mod perf;
mod probe;
mod reader;
mod stable;
mod stress_ng;

pub use kind::{Metric, Rate};
pub use parse::MetricError;
pub use probe::{PerfProblem, probe};
pub(crate) use reader::Reader;
