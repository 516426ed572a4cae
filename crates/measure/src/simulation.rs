//! The whole of it put to the test on machines whose truth is known: design, looks and verdict as
//! a campaign has them, and beside it what the order "all A, then all B" would have claimed of the
//! same runs.

use crate::design::Design;
use crate::order::order;
use crate::pilot::claim_blocks;
use crate::report::{Direction, UnitOf};
use crate::stats::simulation::normal;
use crate::stats::{PairedT, Welch};
use crate::verdict::{Rules, claims_as_run, judge, stops};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Noise of one run, as a fraction.
const SIGMA: f64 = 0.0018;
const CAMPAIGNS: u32 = 6000;

fn rules(design: &Design) -> Rules<'_> {
    let (direction, unit) = (Direction::Lower, UnitOf::Block);
    Rules { arm: 'B', direction, margin: None, strict: false, design, unit }
}

/// Share of campaigns of which `claims` is true.
fn rate(seed: u64, mut claims: impl FnMut(&mut ChaCha8Rng, u32) -> bool) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let claimed = (0..CAMPAIGNS).filter(|&campaign| claims(&mut rng, campaign)).count();
    claimed as f64 / f64::from(CAMPAIGNS)
}

/// How a machine's speed moves while one and the same program runs on it again and again.
#[derive(Debug, Clone, Copy)]
enum Drift {
    None,
    /// 0.4 % from the first run to the last.
    Linear,
    /// Each run remembers 0.9 of the one before (AR(1)), as large as the noise itself.
    Ar1,
}

/// Log values of `runs` runs of one program.
fn machine(drift: Drift, runs: u32, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut state = normal(rng) * SIGMA;
    let mut at = |i: u32, rng: &mut ChaCha8Rng| match drift {
        Drift::None => 0.0,
        Drift::Linear => 0.004 * f64::from(i) / f64::from(runs),
        Drift::Ar1 => {
            state = 0.9 * state + (1.0_f64 - 0.81).sqrt() * SIGMA * normal(rng);
            state
        }
    };
    (0..runs).map(|i| at(i, rng) + SIGMA * normal(rng)).collect()
}

/// Log-ratios of blocks whose order is drawn from `seed`.
fn blocks(runs: &[f64], seed: u32) -> Vec<f64> {
    let difference = |(slot, pair): (u32, &[f64])| match order(seed.into(), slot, 2)[0] {
        0 => pair[1] - pair[0],
        _ => pair[0] - pair[1],
    };
    (0..).zip(runs.chunks_exact(2)).map(difference).collect()
}

/// Whether the two halves differ by Student's t at 5 %.
fn halves_differ(runs: &[f64]) -> bool {
    let (a, b) = runs.split_at(runs.len() / 2);
    Welch::new(a, b).unwrap().p() <= 0.05
}

#[test]
fn no_drift_makes_more_than_one_false_claim_in_twenty() {
    for (drift, halves_fooled) in [(Drift::None, 0.0), (Drift::Linear, 0.99), (Drift::Ar1, 0.3)] {
        let ours = rate(1, |rng, campaign| {
            let units = blocks(&machine(drift, 100, rng), campaign);
            claims_as_run(&units, rules(&Design::Fixed))
        });
        println!("{drift:?}: {ours}");
        // Where both must speak, a claim is a little rarer.
        assert!((0.03..=0.05).contains(&ours), "{drift:?}: {ours}");
        let t_alone = rate(1, |rng, campaign| {
            PairedT::new(&blocks(&machine(drift, 100, rng), campaign)).unwrap().p() <= 0.05
        });
        assert!((0.04..=0.06).contains(&t_alone), "{drift:?}, t alone: {t_alone}");
        let halves = rate(1, |rng, _| halves_differ(&machine(drift, 100, rng)));
        assert!(halves >= halves_fooled, "{drift:?}, all A then all B: {halves}");
    }
}

#[test]
fn looking_five_times_makes_no_more_false_claims() {
    for blocks in [20, 40] {
        let design = Design::sequential(blocks);
        let claimed = rate(2, |rng, _| {
            let units: Vec<f64> = (0..blocks).map(|_| SIGMA * normal(rng)).collect();
            claims_as_run(&units, rules(&design))
        });
        assert!(claimed <= 0.055, "{blocks} blocks: {claimed}");
        // Held to its boundaries it is not merely timid.
        assert!(claimed >= 0.035, "{blocks} blocks: {claimed}");
    }
}

#[test]
fn the_interval_of_a_campaign_that_could_stop_holds_effects_of_any_size() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for (units, effect) in [(20, 0.5), (20, 2.0), (20, 5.0), (100, 0.4), (100, 2.0), (100, 5.0)] {
        let design = Design::sequential(units);
        let rules = rules(&design);
        let mut covered = 0;
        for campaign in 0..300 {
            let all: Vec<f64> = (0..units).map(|_| SIGMA * (effect + normal(&mut rng))).collect();
            let end = (2..all.len()).find(|&n| stops(&all[..n], rules)).unwrap_or(all.len());
            let [low, high] = judge(&all[..end], rules).unwrap().ci95.map(f64::ln);
            covered += u32::from((low..=high).contains(&(SIGMA * effect)));
            let mean = all[..end].iter().sum::<f64>() / end as f64;
            // It may leave out the plain mean, which exaggerates, but not by far.
            let half = (high - low) / 2.0;
            assert!(
                (low - half..=high + half).contains(&mean),
                "{units} units, effect {effect}, campaign {campaign}: {low} to {high}, mean {mean}"
            );
        }
        // Three standard errors of a simulated rate.
        let rate = f64::from(covered) / 300.0;
        assert!(rate >= 0.95 - 0.038, "{units} units, effect {effect}: {rate}");
    }
}

#[test]
fn looking_at_every_block_is_why_there_are_boundaries() {
    let peeked = rate(3, |rng, _| {
        let units: Vec<f64> = (0..60).map(|_| normal(rng)).collect();
        (5..=60).any(|n| PairedT::new(&units[..n]).unwrap().p() <= 0.05)
    });
    assert!(peeked > 0.2, "{peeked}");
}

#[test]
fn an_open_campaign_makes_no_more_false_claims_however_long_it_runs() {
    let design = Design::Open { units_max: 100 };
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let claimed = (0..400).filter(|_| {
        let units: Vec<f64> = (0..100).map(|_| normal(&mut rng)).collect();
        claims_as_run(&units, rules(&design))
    });
    assert!(claimed.count() <= 20);
}

#[test]
fn an_effect_that_would_show_in_4_of_5_campaigns_does() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for design in [Design::Fixed, Design::sequential(40), Design::Open { units_max: 40 }] {
        let rules = rules(&design);
        let noise: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { SIGMA } else { -SIGMA }).collect();
        let mde = judge(&noise, rules).unwrap().mde80_percent;
        let sd = PairedT::new(&noise).unwrap().sd;
        let shown = (0..1000).filter(|_| {
            let effect = (mde / 100.0).ln_1p();
            let units: Vec<f64> = (0..40).map(|_| effect + sd * normal(&mut rng)).collect();
            claims_as_run(&units, rules)
        });
        let power = shown.count() as f64 / 1000.0;
        // Two witnesses must speak, which costs a little; an open campaign looks more than once,
        // which gains some.
        assert!((0.73..=0.88).contains(&power), "{design:?}: {power} at {mde} %");
    }
}

/// Log-ratio of one block: noise, and if `spiked`, in one block of ten a run of B that something
/// disturbed, by five times the noise and more.
fn difference(spiked: bool, rng: &mut ChaCha8Rng) -> f64 {
    let noise = SIGMA * 2.0_f64.sqrt() * normal(rng);
    let uniform = (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
    if spiked && rng.next_u32().is_multiple_of(10) {
        noise + SIGMA * (5.0 - 10.0 * uniform.ln())
    } else {
        noise
    }
}

/// Shares of campaigns of 25 blocks in which the intervals of Student's t, of ranks, and of the
/// verdict hold `truth`.
fn coverage(seed: u64, spiked: bool, truth: f64) -> [f64; 3] {
    let mut covered = [0_u32; 3];
    rate(seed, |rng, _| {
        let units: Vec<f64> = (0..25).map(|_| difference(spiked, rng)).collect();
        let judged = judge(&units, rules(&Design::Fixed)).unwrap();
        let intervals = [judged.ci95, judged.companion.ci, judged.claim_ci95];
        for (count, [low, high]) in covered.iter_mut().zip(intervals) {
            *count += u32::from((low..=high).contains(&truth.exp()));
        }
        true
    });
    covered.map(|count| f64::from(count) / f64::from(CAMPAIGNS))
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    let covered = coverage(5, false, 0.0);
    for (name, covered) in ["Student's t", "ranks", "the verdict"].iter().zip(covered) {
        assert!((0.94..=0.96).contains(&covered), "{name}: {covered}");
    }
}

#[test]
fn spikes_in_one_arm_do_not_take_the_interval_that_the_verdict_rests_on() {
    // What ranks estimate is the pseudo-median, the median of the mean of two blocks, spikes and
    // all; what t estimates is the mean.
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut pairs: Vec<f64> = (0..200_000)
        .map(|_| f64::midpoint(difference(true, &mut rng), difference(true, &mut rng)))
        .collect();
    pairs.sort_by(f64::total_cmp);
    let pseudo_median = pairs[pairs.len() / 2];
    let mean = 0.1 * 15.0 * SIGMA;
    let [t, _, _] = coverage(6, true, mean);
    let [_, ranks, verdict] = coverage(6, true, pseudo_median);
    println!("mean by t {t}; pseudo-median by ranks {ranks}, by the verdict {verdict}");
    assert!(t < 0.9, "{t}");
    assert!((0.93..=0.97).contains(&ranks), "{ranks}");
    // Both must speak, so it covers a little more.
    assert!((0.94..=0.98).contains(&verdict), "{verdict}");
}

#[test]
fn a_plan_keeps_its_promise() {
    // Noise of a block is that of a difference.
    let sd = SIGMA * 2.0_f64.sqrt();
    for effect in [0.001, 0.0015, 0.002] {
        let blocks = claim_blocks(effect, sd).unwrap();
        let design = Design::sequential(blocks);
        let power = rate(7, |rng, _| {
            let units: Vec<f64> = (0..blocks).map(|_| effect + sd * normal(rng)).collect();
            claims_as_run(&units, rules(&design))
        });
        println!("effect {effect}: power {power} with {blocks} blocks");
        assert!((0.75..=0.85).contains(&power), "{effect}: {power} with {blocks} blocks");
    }
}

#[test]
fn a_difference_far_beyond_the_noise_is_covered_by_the_interval_that_allows_for_looks() {
    // Where t would have stopped long before ranks could: 15 times the noise of a block, or more.
    for (blocks, effect) in [(8, 0.1), (20, 0.1), (20, 0.01), (40, 0.04)] {
        let design = Design::sequential(blocks);
        let sd = SIGMA * 2.0_f64.sqrt();
        let covered = rate(9, |rng, _| {
            let units: Vec<f64> = (0..blocks).map(|_| effect + sd * normal(rng)).collect();
            let seen = (2..units.len()).find(|&n| stops(&units[..n], rules(&design)));
            let judged = judge(&units[..seen.unwrap_or(units.len())], rules(&design)).unwrap();
            let [low, high] = judged.ci95;
            (low..=high).contains(&f64::exp(effect))
        });
        println!("{blocks} blocks, {effect}: {covered}");
        assert!((0.94..=0.97).contains(&covered), "{blocks} blocks, {effect}: {covered}");
    }
}
