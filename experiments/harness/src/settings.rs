//! How much is measured.

use crate::error::ExperimentError;
use serde::{Deserialize, Serialize};

/// How much is measured, and how. Kept in the report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Fresh processes of each comparison, 1 to 1024: with 2 or more they are what n counts.
    pub processes: u32,
    /// Blocks in each process, 1 to 4096.
    pub blocks: u32,
    /// Blocks of each process that run first and are not kept.
    pub warmups: u32,
    /// Length of one run of one copy of the baseline, in ms, above 0.
    pub run_ms: f64,
    /// Operations of one run of each thread, instead of as many as fill `run_ms`.
    pub operations: Option<u64>,
    /// Seed of the order of runs.
    pub seed: u64,
    /// Whether one thread is kept on one CPU too; several always are, each on one of its own.
    pub pin: bool,
    /// Whether the machine is watched for a second before anything runs.
    pub watch: bool,
}

impl Settings {
    /// What a claim takes: some seconds for an arm.
    pub const NORMAL: Self = Self {
        processes: 12,
        blocks: 10,
        warmups: 1,
        run_ms: 5.0,
        operations: None,
        seed: 1,
        pin: false,
        watch: true,
    };
    /// The least that can make a claim.
    pub const QUICK: Self = Self { processes: 6, blocks: 4, ..Self::NORMAL };
    /// Several minutes.
    pub const FULL: Self = Self { processes: 30, blocks: 20, ..Self::NORMAL };
    /// Everything once, for its results and not for its time.
    pub const SMOKE: Self = Self {
        processes: 2,
        blocks: 2,
        warmups: 0,
        operations: Some(1000),
        watch: false,
        ..Self::NORMAL
    };

    /// Checks the ranges.
    pub(crate) fn validate(&self) -> Result<(), ExperimentError> {
        let within = |name, value: u64, most| match value {
            value if (1..=most).contains(&value) => Ok(()),
            _ => Err(ExperimentError::Setting { name, value: value.to_string(), most }),
        };
        within("--processes", self.processes.into(), 1024)?;
        within("--blocks", self.blocks.into(), 4096)?;
        if let Some(operations) = self.operations {
            within("--operations", operations, u64::MAX)?;
        }
        if self.processes == 1 && self.blocks == 1 {
            return Err(ExperimentError::OneUnit);
        }
        if !(self.run_ms > 0.0 && self.run_ms <= 10_000.0) {
            let value = self.run_ms.to_string();
            return Err(ExperimentError::Setting { name: "--run-ms", value, most: 10_000 });
        }
        Ok(())
    }
}
