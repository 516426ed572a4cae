//! Honest A/B measurement of any two commands. Knows nothing of hints.

mod report;

pub use report::{ArmSummary, BenchReport, BlockRow, Direction, Provenance, SCHEMA, Verdict};
