//! Honest A/B measurement of any commands. Knows nothing of hints.
//!
//! A [`Plan`] is fixed before the first run: a baseline and what is compared with it, metrics, a
//! number of blocks, a rule for stopping. [`run`] carries it out in randomised blocks, keeps each
//! block in a journal that survives a kill at any moment, and gives a [`BenchReport`] that claims
//! no more than two intervals agree on. [`PilotReport`] says beforehand what a campaign could
//! show, and [`AaReport`] what the machine says of a program compared with itself.
//!
//! Rooms: `plan`, `order` and `design` say what will run and when it may stop, `command` and
//! `guardian` run it, `instruments` lays what it writes beside its output, [`metric`] reads that,
//! `journal` keeps it as `record`s, [`machine`] notes the circumstances, [`stats`] is pure
//! arithmetic, and `verdict`, `family` and `summary` turn it into words. `campaign` joins them and
//! is the only one that knows all. [`exchange`] speaks the formats of other tools. `counting`
//! is the other way to compare: by what is executed, under callgrind.

mod aa;
mod campaign;
mod command;
mod counting;
mod design;
mod error;
pub mod exchange;
mod family;
mod guardian;
mod instruments;
mod journal;
mod layers;
pub mod machine;
pub mod metric;
mod order;
mod outlier;
mod pilot;
mod plan;
mod record;
mod report;
#[cfg(test)]
mod simulation;
pub mod stats;
mod summary;
mod unpaired;
mod verdict;

pub use aa::{AA_SCHEMA, AaReport, Change, FalseRate};
pub use campaign::{Progress, campaigns, kept_blocks, run};
#[doc(hidden)]
pub use counting::fuzz_callgrind;
pub use counting::{
    ArmCounts, COUNT_SCHEMA, CountProgress, CountProvenance, CountReport, CountVerdict,
    CountedProcess, Counts, FunctionChange, FunctionCounts, LineChange, LineCounts, Side, count,
};
pub use error::{MeasureError, PlanError, RunName, RunPhase};
pub use family::{claim_together, explore, leader};
pub use guardian::Guardian;
pub use machine::Machine;
pub use metric::Metric;
pub use order::order;
pub use pilot::{Need, PILOT_SCHEMA, POWER, PilotReport};
pub use plan::{ARMS_MAX, Arm, BLOCKS_MAX, Build, LOOKS, METRICS_MAX, Plan, Stop, arm_name};
pub use record::{BlockRecord, RunRecord};
pub use report::{
    Adjustment, ArmSummary, BenchReport, BlockRow, Companion, Direction, Ending, Family, Layer,
    Look, Provenance, SCHEMA, UnitOf, Verdict,
};
pub use unpaired::{SAMPLES_SCHEMA, SamplesReport};
