//! What a campaign is going to do, fixed before its first run: arms, metrics, and a design.
//!
//! Everything here is registered in the journal before anything is known, and a resume with
//! another plan is refused: a design that is changed after a look at the data proves nothing.

use crate::design::OPEN_UNITS_MIN;
use crate::error::{MeasureError, PlanError};
use crate::machine::Rule;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Most blocks of a campaign: the rank interval holds n²/2 means in memory.
pub const BLOCKS_MAX: u32 = 4096;
/// Most arms, the baseline among them.
pub const ARMS_MAX: usize = 26;
/// Most metrics read from one run.
pub const METRICS_MAX: usize = 16;
/// Most looks at the data of a sequential campaign, the last included: fewer than 105 units have
/// fewer, since the first ones could claim nothing.
pub const LOOKS: u32 = 5;

/// One of the things compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Run by `/bin/sh -c`. A plain command costs no extra process where the shell replaces
    /// itself by it (dash and bash do).
    pub command: String,
    /// The builds that it is run in, at least one. Build k of one arm is compared with build k of
    /// another: where they are salted, the two share their salt.
    pub builds: Vec<Build>,
}

/// Where an arm's command finds one build of its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Working directory. Must be UTF-8, as the journal keeps it.
    pub dir: PathBuf,
    /// Added to this process's environment and to `LC_ALL=C`, which it may override.
    pub env: Vec<(String, String)>,
}

impl Arm {
    /// An arm of one build: `command`, run in `dir`.
    #[must_use]
    pub fn new(command: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        let build = Build { dir: dir.into(), env: Vec::new() };
        Self { command: command.into(), builds: vec![build] }
    }
}

/// Letter of the arm of this index: A is the baseline.
#[must_use]
pub fn arm_name(index: usize) -> char {
    u8::try_from(index).ok().filter(|&i| i < 26).map_or('?', |i| char::from(b'A' + i))
}

/// When a campaign ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// After all blocks.
    Fixed,
    /// At one of at most [`LOOKS`] equally spaced looks, when both witnesses are beyond the boundary of
    /// O'Brien and Fleming there; after all blocks at the latest. Two arms only.
    #[default]
    Sequential,
    /// As soon as an asymptotic confidence sequence excludes no difference; after all blocks at
    /// the latest. Two arms only.
    Open,
}

/// A campaign, as the caller registers it before the first run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The baseline, then what is compared with it.
    pub arms: Vec<Arm>,
    /// What a run is judged by. The first metric is the claim; the others are explored.
    pub metrics: Vec<Metric>,
    /// Blocks of one run of each arm, at most: 2 to [`BLOCKS_MAX`]; below 6 no claim can be made.
    /// With several builds an equal number of blocks falls to each.
    pub blocks: u32,
    /// When it ends before that.
    pub stop: Stop,
    /// Runs of each arm, not kept, before the first block of every sitting and of every build.
    pub warmups: u32,
    /// Seed of the order of arms.
    pub seed: u64,
    /// Longest time for one run; its processes are killed after that.
    pub timeout: Duration,
    /// What counts as no difference, as a fraction of the ratio: 0.005 is half a percent.
    pub equivalence_margin: Option<f64>,
    /// Whether a claim must pass an exact sign test too, which asks for nothing but a median.
    pub strict: bool,
    /// Which circumstances make a block invalid, whatever its values; `None`: none do.
    pub rule: Option<Rule>,
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
        if !(1..=METRICS_MAX).contains(&self.metrics.len()) {
            return Err(PlanError::Metrics { metrics: self.metrics.len() }.into());
        }
        self.validate_arms()
    }

    fn validate_arms(&self) -> Result<(), MeasureError> {
        if !(2..=ARMS_MAX).contains(&self.arms.len()) {
            return Err(PlanError::Arms { arms: self.arms.len() }.into());
        }
        if self.stop == Stop::Open && self.units() < OPEN_UNITS_MIN {
            return Err(PlanError::OpenTooFew { units: self.units() }.into());
        }
        if self.arms.len() > 2 && self.stop != Stop::Fixed {
            return Err(PlanError::StopOfMany.into());
        }
        let builds = self.builds();
        for (index, arm) in self.arms.iter().enumerate() {
            let name = arm_name(index);
            if arm.command.trim().is_empty() {
                return Err(PlanError::EmptyCommand { arm: name }.into());
            }
            if arm.builds.len() != builds || builds == 0 {
                return Err(PlanError::Builds { arm: name, builds: arm.builds.len() }.into());
            }
            if let Some(build) = arm.builds.iter().find(|build| build.dir.to_str().is_none()) {
                return Err(PlanError::DirNotUtf8 { arm: name, dir: build.dir.clone() }.into());
            }
        }
        if builds > 1 && !(self.blocks as usize).is_multiple_of(builds) {
            return Err(PlanError::UnevenBuilds { blocks: self.blocks, builds }.into());
        }
        Ok(())
    }

    /// Builds of each arm.
    pub(crate) fn builds(&self) -> usize {
        self.arms.first().map_or(0, |arm| arm.builds.len())
    }

    /// Blocks that make one unit of the statistics: all those of one pair of builds where there
    /// are several, else one.
    pub(crate) fn blocks_per_unit(&self) -> u32 {
        match u32::try_from(self.builds()) {
            Ok(builds) if builds > 1 => self.blocks / builds,
            _ => 1,
        }
    }

    /// Units of the statistics at most: pairs of builds, or blocks.
    pub(crate) fn units(&self) -> u32 {
        self.blocks / self.blocks_per_unit()
    }

    /// The build that a slot runs in: those of one build follow each other, so that a campaign
    /// that stops early has compared whole builds.
    pub(crate) fn build_of(&self, slot: u32) -> u32 {
        if self.builds() > 1 { slot / self.blocks_per_unit() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let arm = Arm::new("true", "/");
        Plan {
            arms: vec![arm.clone(), arm],
            metrics: vec![Metric::Time],
            blocks: 2,
            stop: Stop::Fixed,
            warmups: 0,
            seed: 0,
            timeout: Duration::from_secs(1),
            equivalence_margin: None,
            strict: false,
            rule: None,
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
        assert!(refused(|p| p.arms[1].command = " ".into()).contains("command of B"));
        assert!(refused(|p| p.metrics.clear()).contains("metric"));
        assert!(refused(|p| p.arms.truncate(1)).contains("2 to 26"));
        assert!(refused(|p| p.arms[1].builds.clear()).contains("B has 0 builds"));
    }

    #[test]
    fn a_winner_among_many_is_not_chosen_by_stopping_early() {
        let mut three = plan();
        three.arms.push(Arm::new("true", "/"));
        assert!(three.validate().is_ok());
        three.stop = Stop::Sequential;
        assert!(three.validate().unwrap_err().to_string().contains("two arms"));
    }

    #[test]
    fn an_open_end_that_no_look_reaches_is_refused() {
        let open = |blocks| Plan { blocks, stop: Stop::Open, ..plan() }.validate();
        assert!(open(9).unwrap_err().to_string().contains("plan 10 or more"));
        assert!(open(10).is_ok());
    }

    #[test]
    fn builds_share_the_blocks_evenly_and_one_after_the_other() {
        let mut salted = plan();
        for arm in &mut salted.arms {
            let build = arm.builds[0].clone();
            arm.builds = vec![build; 3];
        }
        salted.blocks = 8;
        assert!(salted.validate().unwrap_err().to_string().contains("multiple of 3"));
        salted.blocks = 6;
        assert!(salted.validate().is_ok());
        assert_eq!((salted.blocks_per_unit(), salted.units()), (2, 3));
        let builds: Vec<u32> = (0..6).map(|slot| salted.build_of(slot)).collect();
        assert_eq!(builds, [0, 0, 1, 1, 2, 2]);
        assert_eq!((plan().blocks_per_unit(), plan().units(), plan().build_of(1)), (1, 2, 0));
    }
}
