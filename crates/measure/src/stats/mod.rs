//! The arithmetic behind a verdict: pure functions, no processes and no clocks, so that every
//! published reference value can be a test.
//!
//! Of one campaign: [`PairedT`] and [`SignedRank`] are the two witnesses, [`SignTest`] the strict
//! one. Two samples that are not paired: [`Welch`], [`MannWhitney`]. Many campaigns: [`holm`],
//! [`benjamini_hochberg`].

mod binomial;
mod bootstrap;
mod layers;
mod multiple;
mod normal;
mod power;
mod root;
mod sequence;
mod series;
mod signed_rank;
mod student;
mod two_sample;

#[cfg(test)]
mod simulation;

pub use binomial::{SignTest, clopper_pearson};
pub use bootstrap::BootstrapMean;
pub use layers::{Groups, Nested};
pub use multiple::{benjamini_hochberg, holm};
pub use power::{
    Sides, blocks_for, detectable_effect, noncentral_t_cdf, paired_power, two_sample_power,
};
pub use sequence::ConfidenceSequence;
pub use series::{LjungBox, lag1_autocorrelation};
pub use signed_rank::{RankInterval, SignedRank};
pub use student::PairedT;
pub use two_sample::{MannWhitney, Welch};
