//! The arithmetic behind a verdict: pure functions over differences of pairs, no processes and no
//! clocks, so that every published reference value can be a test.

mod signed_rank;
mod student;

#[cfg(test)]
mod simulation;

pub use signed_rank::{RankInterval, SignedRank};
pub use student::PairedT;
