//! Honest A/B measurement of any two commands. Knows nothing of hints.
//!
//! A [`Plan`] is fixed before the first run: two arms, a metric, a number of blocks. [`run`] carries
//! it out in randomised paired blocks, keeps each block in a journal that survives a kill at any
//! moment, and gives a [`BenchReport`] that claims no more than two intervals agree on.
//!
//! Rooms: `plan` and `order` say what will run, `command` and `guardian` run it, `metric` reads its
//! output, `journal` keeps it, `machine` notes the circumstances, [`stats`] is pure arithmetic, and
//! `verdict` turns it into words. `campaign` joins them and is the only one that knows all.

mod campaign;
mod command;
mod error;
mod guardian;
mod journal;
mod machine;
mod metric;
mod order;
mod plan;
mod report;
pub mod stats;
mod verdict;

pub use campaign::{Progress, campaigns, kept_rows, run};
pub use error::{MeasureError, PlanError, RunName, RunPhase};
pub use guardian::Guardian;
pub use machine::{Machine, Turbo, Warning};
pub use plan::{Arm, BLOCKS_MAX, Metric, Plan};
pub use report::{
    ArmSummary, BenchReport, BlockRow, Companion, Direction, Provenance, SCHEMA, Verdict,
};
