//! The design put to the test on noise whose truth is known: what the randomised pairs claim, and
//! what the order "all A, then all B" would have claimed from the same machine.

use super::{PairedT, RankInterval};
use crate::order::a_first;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const BLOCKS: u32 = 50;
/// Noise of one run, as a fraction.
const SIGMA: f64 = 0.0018;
/// Growth from the first run to the last, as a fraction.
const DRIFT: f64 = 0.004;

/// A standard normal deviate (Box–Muller).
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let uniform = |rng: &mut ChaCha8Rng| (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
    let radius = (-2.0 * uniform(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

/// Log values of 2·[`BLOCKS`] runs of one and the same program on a machine that drifts.
fn drifting_runs(rng: &mut ChaCha8Rng) -> Vec<f64> {
    let runs = 2 * BLOCKS;
    (0..runs).map(|i| DRIFT * f64::from(i) / f64::from(runs) + SIGMA * normal(rng)).collect()
}

fn excludes_zero(interval: [f64; 2]) -> bool {
    interval[0] > 0.0 || interval[1] < 0.0
}

/// Differences of blocks whose order is drawn from `seed`.
fn paired(runs: &[f64], seed: u64) -> Vec<f64> {
    let blocks = runs.chunks_exact(2).zip(0..);
    blocks
        .map(
            |(pair, block)| {
                if a_first(seed, block) { pair[1] - pair[0] } else { pair[0] - pair[1] }
            },
        )
        .collect()
}

/// Whether the two halves differ by the pooled two-sample t at 5 % (critical value for 98
/// degrees of freedom).
fn halves_differ(runs: &[f64]) -> bool {
    let (a, b) = runs.split_at(runs.len() / 2);
    let (a, b) = (PairedT::new(a).unwrap(), PairedT::new(b).unwrap());
    let error = (a.standard_error().powi(2) + b.standard_error().powi(2)).sqrt();
    ((b.mean - a.mean) / error).abs() > 1.984_467
}

#[test]
fn drift_fools_one_arm_after_the_other_but_not_randomised_blocks() {
    const CAMPAIGNS: u32 = 2000;
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_607);
    let (mut ours, mut sequential) = (0, 0);
    for campaign in 0..CAMPAIGNS {
        let runs = drifting_runs(&mut rng);
        let test = PairedT::new(&paired(&runs, u64::from(campaign))).unwrap();
        ours += u32::from(excludes_zero(test.interval(0.95)));
        sequential += u32::from(halves_differ(&runs));
    }
    let rate = |claims: u32| f64::from(claims) / f64::from(CAMPAIGNS);
    assert!((rate(ours) - 0.05).abs() <= 0.015, "randomised blocks: {}", rate(ours));
    assert!(rate(sequential) > 0.99, "A block then B block: {}", rate(sequential));
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    const CAMPAIGNS: u32 = 2000;
    const TRUTH: f64 = 0.005;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut t, mut rank) = (0, 0);
    for _ in 0..CAMPAIGNS {
        let differences: Vec<f64> = (0..25).map(|_| TRUTH + SIGMA * normal(&mut rng)).collect();
        let [low, high] = PairedT::new(&differences).unwrap().interval(0.95);
        t += u32::from((low..=high).contains(&TRUTH));
        let interval = RankInterval::new(&differences, 0.95).unwrap();
        rank += u32::from((interval.low..=interval.high).contains(&TRUTH));
    }
    for (name, covered) in [("t", t), ("rank", rank)] {
        let rate = f64::from(covered) / f64::from(CAMPAIGNS);
        assert!((rate - 0.95).abs() <= 0.015, "the {name} interval covers {rate}");
    }
}

#[test]
fn four_of_five_campaigns_see_the_effect_that_the_mde_names() {
    const CAMPAIGNS: u32 = 2000;
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    // For a known sigma and n = 12 the formula gives the effect to plant.
    let unit: Vec<f64> = (0..12).map(|i| if i % 2 == 0 { SIGMA } else { -SIGMA }).collect();
    let shape = PairedT::new(&unit).unwrap();
    let effect = shape.mde80() * SIGMA / shape.sd;
    let seen = (0..CAMPAIGNS).filter(|_| {
        let differences: Vec<f64> = (0..12).map(|_| effect + SIGMA * normal(&mut rng)).collect();
        excludes_zero(PairedT::new(&differences).unwrap().interval(0.95))
    });
    let rate = seen.count() as f64 / f64::from(CAMPAIGNS);
    assert!((rate - 0.80).abs() <= 0.03, "power is {rate}");
}
