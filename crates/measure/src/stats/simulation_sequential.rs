//! The group-sequential design put to the test on campaigns whose truth is known.

use super::root::turning_point;
use super::sequential::{Boundaries, Estimated};
use super::simulation::normal;
use super::student::PairedT;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Sizes of a campaign of at most `n` blocks at its five looks.
fn looks(n: u32) -> [u32; 5] {
    [1, 2, 3, 4, 5].map(|look| (n * look).div_ceil(5))
}

fn design(n: u32) -> Boundaries {
    let fractions = looks(n).map(|size| f64::from(size) / f64::from(n));
    Boundaries::obrien_fleming(&fractions, 0.05).unwrap()
}

/// The drift that the design sees with probability 0.8.
fn design_drift(design: &Boundaries) -> f64 {
    turning_point(0.0, 10.0, |drift| design.power(drift) < 0.8)
}

/// One campaign of unit noise: the look at which it stopped and the blocks until then.
fn campaign(design: &Boundaries, n: u32, mean: f64, rng: &mut ChaCha8Rng) -> (usize, PairedT) {
    let mut values: Vec<f64> = Vec::with_capacity(n as usize);
    for (look, size) in looks(n).into_iter().enumerate() {
        while values.len() < size as usize {
            values.push(mean + normal(rng));
        }
        let summary = PairedT::new(&values).unwrap();
        if size == n || summary.p() <= design.nominal_p(look).unwrap() {
            return (look, summary);
        }
    }
    unreachable!("the last look is at n");
}

fn rate(count: usize, of: u32) -> f64 {
    count as f64 / f64::from(of)
}

#[test]
fn five_looks_mislead_one_campaign_in_twenty() {
    const CAMPAIGNS: u32 = 10_000;
    let mut rng = ChaCha8Rng::seed_from_u64(41);
    for n in [20, 27, 35, 50] {
        let design = design(n);
        let claims = (0..CAMPAIGNS).filter(|_| {
            let (look, summary) = campaign(&design, n, 0.0, &mut rng);
            summary.p() <= design.nominal_p(look).unwrap()
        });
        let rate = rate(claims.count(), CAMPAIGNS);
        assert!((0.045..=0.055).contains(&rate), "at most {n} blocks: {rate}");
    }
}

#[test]
fn looking_five_times_with_the_ordinary_level_misleads_one_in_seven() {
    const CAMPAIGNS: u32 = 4_000;
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    let claims = (0..CAMPAIGNS).filter(|_| {
        let values: Vec<f64> = (0..50).map(|_| normal(&mut rng)).collect();
        looks(50).iter().any(|&size| PairedT::new(&values[..size as usize]).unwrap().p() < 0.05)
    });
    let rate = rate(claims.count(), CAMPAIGNS);
    assert!((0.12..0.17).contains(&rate), "{rate}");
}

#[test]
fn a_stop_of_known_spread_is_covered_at_every_effect() {
    const CAMPAIGNS: u32 = 10_000;
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    let design = design(50);
    for effect in [0.0, 0.5, 1.0, 2.0] {
        let drift = effect * design_drift(&design);
        // The statistics at each look between which the interval holds the true drift, and the one
        // at which the estimate is the drift.
        let limits: Vec<[f64; 3]> = (0..5)
            .map(|look| {
                [0.975, 0.5, 0.025].map(|tail| {
                    turning_point(-37.0, 37.0, |z| design.at_least(look, z, drift) > tail)
                })
            })
            .collect();
        let (mut covered, mut above) = (0, 0);
        for _ in 0..CAMPAIGNS {
            let (look, z) = campaign_of_known_spread(&design, drift, &mut rng);
            covered += usize::from((limits[look][0]..=limits[look][2]).contains(&z));
            above += usize::from(z > limits[look][1]);
        }
        let (covered, above) = (rate(covered, CAMPAIGNS), rate(above, CAMPAIGNS));
        assert!((covered - 0.95).abs() <= 0.007, "effect {effect}: {covered}");
        assert!((above - 0.5).abs() <= 0.015, "effect {effect}: {above}");
    }
}

/// The look at which a campaign with steps of exactly known spread stopped, and its statistic.
fn campaign_of_known_spread(design: &Boundaries, drift: f64, rng: &mut ChaCha8Rng) -> (usize, f64) {
    let mut position = 0.0;
    for look in 0..5_u8 {
        position += drift * 0.2 + 0.2_f64.sqrt() * normal(rng);
        let z = position / (0.2 * f64::from(look + 1)).sqrt();
        if look == 4 || design.crossed(look.into(), z).unwrap() {
            return (look.into(), z);
        }
    }
    unreachable!("the last look stops");
}

/// Of 20 000 campaigns each, 94.7, 94.9, 96.1 and 95.2 % were covered, and 49, 50, 49 and 50 % of the
/// estimates were above the truth.
#[test]
fn a_stop_of_few_blocks_and_unknown_spread_is_covered_too() {
    const CAMPAIGNS: u32 = 1_000;
    let mut rng = ChaCha8Rng::seed_from_u64(44);
    let (n, design) = (20, design(20));
    let stops: Vec<Estimated<'_>> = looks(n)
        .into_iter()
        .enumerate()
        .map(|(look, size)| Estimated::new(&design, look, size).unwrap())
        .collect();
    for effect in [0.0, 0.5, 1.0, 2.0] {
        let mean = effect * design_drift(&design) / f64::from(n).sqrt();
        let (mut covered, mut above) = (0, 0);
        for _ in 0..CAMPAIGNS {
            let (look, summary) = campaign(&design, n, mean, &mut rng);
            let drift = mean / summary.standard_error() / (0.2 * (look + 1) as f64).sqrt();
            let tail = stops[look].at_least(summary.t().unwrap(), drift);
            covered += usize::from((0.025..=0.975).contains(&tail));
            above += usize::from(tail < 0.5);
        }
        let (covered, above) = (rate(covered, CAMPAIGNS), rate(above, CAMPAIGNS));
        assert!((covered - 0.95).abs() <= 0.02, "effect {effect}: {covered}");
        assert!((above - 0.5).abs() <= 0.06, "effect {effect}: {above}");
    }
}

#[test]
fn power_is_the_share_of_campaigns_that_claim() {
    const CAMPAIGNS: u32 = 10_000;
    let mut rng = ChaCha8Rng::seed_from_u64(45);
    let design = design(50);
    let drift = design_drift(&design);
    let claims = (0..CAMPAIGNS).filter(|_| {
        let (look, z) = campaign_of_known_spread(&design, drift, &mut rng);
        z > 0.0 && design.crossed(look, z).unwrap()
    });
    let rate = rate(claims.count(), CAMPAIGNS);
    assert!((rate - 0.8).abs() <= 0.012, "{rate}");
}
