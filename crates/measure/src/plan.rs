//! What a campaign is going to do, fixed before its first run: two arms, a metric, and a design.

use crate::error::{MeasureError, PlanError};
use crate::report::Direction;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Most blocks of a campaign: the rank interval holds n²/2 means in memory.
pub const BLOCKS_MAX: u32 = 4096;

/// One of the two things compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Run by `/bin/sh -c`. A plain command costs no extra process where the shell replaces
    /// itself by it (dash and bash do).
    pub command: String,
    /// Working directory. Must be UTF-8, as the journal keeps it.
    pub dir: PathBuf,
    /// Added to this process's environment and to `LC_ALL=C`, which it may override.
    pub env: Vec<(String, String)>,
}

/// What a run is judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Wall time of the command in seconds; lower is better.
    Time,
    /// A number that the command prints.
    Regex {
        /// Its first capture group is the number: a finite one above zero. Of several matches the
        /// first counts; standard output is searched before standard error.
        pattern: String,
        /// Which way is better.
        direction: Direction,
        /// Unit, for display.
        unit: String,
    },
}

impl Metric {
    /// Which way is better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        match self {
            Self::Time => Direction::Lower,
            Self::Regex { direction, .. } => *direction,
        }
    }

    /// Name for display: `time` or the pattern.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Time => "time",
            Self::Regex { pattern, .. } => pattern,
        }
    }

    /// Unit of the values: `s` for time.
    #[must_use]
    pub fn unit(&self) -> &str {
        match self {
            Self::Time => "s",
            Self::Regex { unit, .. } => unit,
        }
    }
}

/// A campaign, as the caller registers it before the first run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Baseline.
    pub a: Arm,
    /// Candidate.
    pub b: Arm,
    /// What a run is judged by.
    pub metric: Metric,
    /// Blocks of one A and one B run each: 2 to [`BLOCKS_MAX`]; below 6 no claim can be made.
    pub blocks: u32,
    /// Runs of each arm before the first block of every sitting, not kept.
    pub warmups: u32,
    /// Seed of the order of arms.
    pub seed: u64,
    /// Longest time for one run; its processes are killed after that.
    pub timeout: Duration,
    /// What counts as no difference, as a fraction of the ratio: 0.005 is half a percent.
    pub equivalence_margin: Option<f64>,
}

impl Plan {
    /// Checks what can be checked before anything runs.
    ///
    /// # Errors
    /// [`MeasureError::Plan`] names the field and the remedy.
    pub(crate) fn validate(&self) -> Result<(), MeasureError> {
        if self.blocks < 2 {
            return Err(PlanError::TooFewBlocks { blocks: self.blocks }.into());
        }
        if self.blocks > BLOCKS_MAX {
            return Err(PlanError::TooManyBlocks { blocks: self.blocks }.into());
        }
        if let Some(margin) = self.equivalence_margin
            && !(margin > 0.0 && margin < 1.0)
        {
            return Err(PlanError::Margin { margin }.into());
        }
        if self.timeout.is_zero() {
            return Err(PlanError::NoTime.into());
        }
        for (name, arm) in [("A", &self.a), ("B", &self.b)] {
            if arm.command.trim().is_empty() {
                return Err(PlanError::EmptyCommand { arm: name }.into());
            }
            if arm.dir.to_str().is_none() {
                return Err(PlanError::DirNotUtf8 { arm: name, dir: arm.dir.clone() }.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let arm = Arm { command: "true".into(), dir: "/".into(), env: vec![] };
        Plan {
            a: arm.clone(),
            b: arm,
            metric: Metric::Time,
            blocks: 2,
            warmups: 0,
            seed: 0,
            timeout: Duration::from_secs(1),
            equivalence_margin: None,
        }
    }

    #[test]
    fn a_plan_that_cannot_end_in_an_interval_is_refused_before_it_runs() {
        assert!(plan().validate().is_ok());
        let refused = |change: fn(&mut Plan)| {
            let mut changed = plan();
            change(&mut changed);
            changed.validate().unwrap_err().to_string()
        };
        assert!(refused(|p| p.blocks = 1).contains("at least 2 blocks"));
        assert!(refused(|p| p.blocks = BLOCKS_MAX + 1).contains("4096"));
        assert!(refused(|p| p.equivalence_margin = Some(0.0)).contains("0.005"));
        assert!(refused(|p| p.equivalence_margin = Some(f64::NAN)).contains("margin"));
        assert!(refused(|p| p.timeout = Duration::ZERO).contains("timeout"));
        assert!(refused(|p| p.b.command = " ".into()).contains("command of B"));
    }
}
