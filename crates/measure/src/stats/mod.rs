//! The arithmetic behind a verdict: pure functions, no processes and no clocks, so that every
//! published reference value can be a test.
//!
//! Of one campaign: [`PairedT`] and [`SignedRank`] with [`RankInterval`] are the two witnesses,
//! [`SignTest`] the strict one, [`BootstrapMean`] a further opinion; [`LjungBox`] doubts that blocks
//! are independent, and [`Groups`] and [`Nested`] say which layer the noise is from. How large it must
//! be: [`blocks_for`], [`detectable_effect`]. When it may stop: [`Boundaries`] with a registered end,
//! [`ConfidenceSequence`] without. Of many: [`holm`], [`benjamini_hochberg`], and a rate of events with
//! [`clopper_pearson`]. Figures from elsewhere that are not paired: [`Welch`], [`MannWhitney`].

mod binomial;
mod bootstrap;
mod chi_squared;
mod layers;
mod multiple;
mod normal;
mod power;
mod root;
mod sequence;
mod sequential;
mod series;
mod signed_rank;
mod student;
mod two_sample;
mod walk;

#[cfg(test)]
pub(crate) mod simulation;
#[cfg(test)]
mod simulation_sequential;

pub use binomial::{SignTest, clopper_pearson};
pub use bootstrap::BootstrapMean;
pub use chi_squared::sd_upper_bound;
pub use layers::{Groups, Nested};
pub use multiple::{benjamini_hochberg, holm};
pub use power::{
    Sides, blocks_for, detectable_effect, noncentral_t_cdf, paired_power, two_sample_power,
};
pub use sequence::ConfidenceSequence;
pub use sequential::{Boundaries, LOOKS_MAX, StopAdjusted};
pub use series::{LjungBox, lag1_autocorrelation};
pub use signed_rank::{RankInterval, SignedRank};
pub use student::PairedT;
pub use two_sample::{MannWhitney, Welch};
