//! What the journal keeps of a block, and the figures that are taken from it: log-ratios of
//! blocks, gathered to the units that the statistics count.

use crate::machine::{Disturbance, RunConditions};
use crate::plan::Plan;
use crate::report::BlockRow;
use serde::{Deserialize, Serialize};

/// How often a slot is run before its block is kept whatever the machine did meanwhile.
const ATTEMPTS_MAX: usize = 3;

/// One block: one run of each arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// Index from 0, in the order in which blocks ran.
    pub block: u32,
    /// Which place of the design it fills.
    pub slot: u32,
    /// Which build of every arm.
    pub build: u32,
    /// Which sitting of the campaign ran it.
    pub session: u32,
    /// The runs, in their order.
    pub runs: Vec<RunRecord>,
    /// What makes it invalid under the plan's rule.
    pub invalid: Option<Disturbance>,
    /// What the metrics warned of in its runs and not before in its sitting.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Index of its arm.
    pub arm: u32,
    /// Its value by each metric of the plan.
    pub values: Vec<f64>,
    /// Wall time, in seconds.
    pub wall_s: f64,
    /// User and system CPU time, in seconds.
    pub cpu_s: f64,
    /// Peak resident memory of its largest process, in bytes.
    pub max_rss_bytes: u64,
    /// How often its processes gave up the CPU to wait for something.
    pub voluntary_switches: u64,
    /// How often the CPU was taken from them, for other work.
    pub involuntary_switches: u64,
    /// What the machine did meanwhile.
    pub conditions: RunConditions,
}

impl BlockRecord {
    /// The run of an arm.
    #[must_use]
    pub fn run(&self, arm: u32) -> Option<&RunRecord> {
        self.runs.iter().find(|run| run.arm == arm)
    }

    /// ln(`arm` / baseline) by the metric of this index.
    #[must_use]
    pub fn log_ratio(&self, arm: u32, metric: usize) -> Option<f64> {
        let value = |arm| self.run(arm)?.values.get(metric).copied();
        Some(f64::ln(value(arm)?) - f64::ln(value(0)?))
    }

    /// The block as one of two arms, for a report.
    pub(crate) fn row(&self, arm: u32, metric: usize) -> Option<BlockRow> {
        let (a, b) = (self.run(0)?, self.run(arm)?);
        let a_at = self.runs.iter().position(|run| run.arm == 0)?;
        let b_at = self.runs.iter().position(|run| run.arm == arm)?;
        Some(BlockRow {
            block: self.block,
            slot: self.slot,
            build: self.build,
            a_first: a_at < b_at,
            a: *a.values.get(metric)?,
            b: *b.values.get(metric)?,
            a_wall_s: a.wall_s,
            b_wall_s: b.wall_s,
            a_cpu_s: a.cpu_s,
            b_cpu_s: b.cpu_s,
            a_max_rss_bytes: a.max_rss_bytes,
            b_max_rss_bytes: b.max_rss_bytes,
            a_involuntary_switches: a.involuntary_switches,
            b_involuntary_switches: b.involuntary_switches,
            a_conditions: a.conditions,
            b_conditions: b.conditions,
            session: self.session,
            invalid: self.invalid,
            outlier: None,
        })
    }
}

/// The slot that runs next, and whether its block may still be found invalid; `None` when all are
/// filled. A function of what is kept, so that a resume goes on where the campaign was.
pub(crate) fn next_slot(records: &[BlockRecord], slots: u32) -> Option<(u32, bool)> {
    let Some(last) = records.last() else { return Some((0, true)) };
    let slot = if last.invalid.is_some() { last.slot } else { last.slot + 1 };
    let attempts = records.iter().rev().take_while(|record| record.slot == slot).count();
    (slot < slots).then_some((slot, attempts + 1 < ATTEMPTS_MAX))
}

/// Valid blocks among `records`.
pub(crate) fn valid(records: &[BlockRecord]) -> impl Iterator<Item = &BlockRecord> {
    records.iter().filter(|record| record.invalid.is_none())
}

/// Log-ratios of all complete units, in order: each the mean of the unit's blocks.
pub(crate) fn units(plan: &Plan, records: &[BlockRecord], arm: u32, metric: usize) -> Vec<f64> {
    let ratios: Vec<f64> =
        valid(records).filter_map(|record| record.log_ratio(arm, metric)).collect();
    let per_unit = plan.blocks_per_unit() as usize;
    let mean = |unit: &[f64]| unit.iter().sum::<f64>() / unit.len() as f64;
    ratios.chunks_exact(per_unit).map(mean).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A valid block of two arms.
    pub(crate) fn block(block: u32, a: f64, b: f64) -> BlockRecord {
        let run = |arm, value| RunRecord {
            arm,
            values: vec![value],
            wall_s: 1.0,
            cpu_s: 1.0,
            max_rss_bytes: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            conditions: RunConditions::default(),
        };
        let runs = vec![run(0, a), run(1, b)];
        BlockRecord {
            block,
            slot: block,
            build: 0,
            session: 0,
            runs,
            invalid: None,
            warnings: vec![],
        }
    }
}
