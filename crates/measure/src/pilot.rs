//! How many blocks a wanted effect takes, from a short campaign of a program against itself: so
//! that a hopeless campaign is called so before it is run.

use crate::plan::BLOCKS_MAX;
use crate::report::BenchReport;
use crate::stats::{PairedT, blocks_for, detectable_effect, sd_upper_bound};
use serde::{Deserialize, Serialize};

/// Schema name of [`PilotReport`].
pub const PILOT_SCHEMA: &str = "unlikely/plan/1";

/// Power that is planned for.
pub const POWER: f64 = 0.80;
/// What the second witness and the looks cost: a claim takes about this many more blocks than
/// Student's t alone at one look. 1.03 for five looks of O'Brien and Fleming, 1/0.955 for ranks.
const WITNESSES_AND_LOOKS: f64 = 1.03 / 0.955;
/// Share of pilots whose standard deviation would come out lower than this bound says.
const LUCK: f64 = 0.80;

/// What a pilot found, and what it takes to see effects of given sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PilotReport {
    /// [`PILOT_SCHEMA`].
    pub schema: String,
    /// Standard deviation of B/A over blocks, in percent: the noise of one block.
    pub sd_percent: f64,
    /// The same, as large as a pilot of this size allows (upper 80 % bound, chi-squared).
    pub sd_percent_high: f64,
    /// Seconds that one block takes.
    pub block_s: f64,
    /// Blocks that the caller has in mind.
    pub blocks: u32,
    /// Effect in percent that this many blocks show in 4 of 5 campaigns.
    pub mde80_percent: f64,
    /// One row an effect.
    pub needs: Vec<Need>,
    /// The pilot itself.
    pub pilot: BenchReport,
}

/// What one effect takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// Effect, in percent.
    pub effect_percent: f64,
    /// Blocks for 80 % power; `None` above what a campaign can hold.
    pub blocks: Option<u32>,
    /// The same if the pilot was lucky (see `sd_percent_high`).
    pub blocks_high: Option<u32>,
    /// Hours for `blocks`.
    pub hours: Option<f64>,
    /// Whether it is out of reach: more blocks than a campaign holds, or more hours than given.
    pub hopeless: bool,
}

impl PilotReport {
    /// Plans from `pilot`, a campaign of a program against itself. `effects` are in percent,
    /// `hours_max` is what the caller would spend. `None` if the pilot shows no spread at all, or
    /// `blocks` are fewer than three.
    #[must_use]
    pub fn of(pilot: BenchReport, effects: &[f64], blocks: u32, hours_max: f64) -> Option<Self> {
        let rows = || pilot.rows.iter().filter(|row| row.invalid.is_none());
        let logs: Vec<f64> = rows().map(|row| row.b.ln() - row.a.ln()).collect();
        let t = PairedT::new(&logs).filter(|t| t.sd > 0.0)?;
        let high = sd_upper_bound(t.sd, t.df(), LUCK)?;
        let block_s =
            rows().map(|row| row.a_wall_s + row.b_wall_s).sum::<f64>() / logs.len() as f64;
        let needs = effects
            .iter()
            .map(|&effect_percent| {
                let effect = (effect_percent / 100.0).ln_1p().abs();
                let blocks = claim_blocks(effect, t.sd);
                let hours = blocks.map(|blocks| f64::from(blocks) * block_s / 3600.0);
                Need {
                    effect_percent,
                    blocks,
                    blocks_high: claim_blocks(effect, high),
                    hours,
                    hopeless: hours.is_none_or(|hours| hours > hours_max),
                }
            })
            .collect();
        Some(Self {
            schema: PILOT_SCHEMA.to_owned(),
            sd_percent: t.sd.exp_m1() * 100.0,
            sd_percent_high: high.exp_m1() * 100.0,
            block_s,
            blocks,
            mde80_percent: claim_effect(blocks, t.sd)?.exp_m1() * 100.0,
            needs,
            pilot,
        })
    }
}

/// Blocks for a claim on an effect of this log-ratio with [`POWER`]; `None` above [`BLOCKS_MAX`].
pub(crate) fn claim_blocks(effect: f64, sd: f64) -> Option<u32> {
    let by_t = blocks_for(effect, sd, POWER, 0.05)?;
    let blocks = (f64::from(by_t) * WITNESSES_AND_LOOKS).ceil();
    // Fewer cannot make a claim, whatever the effect.
    (blocks <= f64::from(BLOCKS_MAX)).then_some((blocks as u32).max(8))
}

/// The log-ratio on which this many blocks make a claim with [`POWER`]: the inverse of
/// [`claim_blocks`]. `None` for fewer than three blocks, which leave Student's t but one.
pub(crate) fn claim_effect(blocks: u32, sd: f64) -> Option<f64> {
    let by_t = (f64::from(blocks) / WITNESSES_AND_LOOKS).floor() as u32;
    detectable_effect(by_t, sd, POWER, 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_effect_are_two_readings_of_one_plan() {
        for blocks in [8, 12, 20, 100, 1000] {
            let effect = claim_effect(blocks, 0.01).unwrap();
            assert!(claim_blocks(effect * 1.0001, 0.01).unwrap() <= blocks, "{blocks}: {effect}");
            let less = claim_blocks(effect * 0.98, 0.01).unwrap();
            assert!(less > blocks || less == 8, "{blocks}: {effect}, and {less} for less");
        }
        // Of few blocks it is more than 2.8 standard errors.
        assert!(claim_effect(8, 0.01).unwrap() > 3.4 * 0.01 / 8_f64.sqrt());
        assert_eq!((claim_effect(2, 0.01), claim_blocks(0.0, 0.01)), (None, None));
    }
}
