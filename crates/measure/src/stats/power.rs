//! How large an experiment must be: power of t tests, from the noncentral t distribution.
//!
//! If t = (Z + δ)/√(V/ν) with V of χ² with ν degrees of freedom, then P(t ≤ x) is the mean of
//! Φ(x·s − δ) over s = √(V/ν). Written in ln s, both that density and Φ are smooth and fall off
//! quickly, so equal steps (the trapezoid rule) give all digits.

use super::normal;
use super::root::turning_point;
use super::student::quantile;
use statrs::function::gamma::ln_gamma;

/// Whether a difference in only one direction counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Only an increase.
    One,
    /// Either direction.
    Two,
}

/// Largest noncentrality, either way: steps grow finer with it.
pub(super) const DELTA_MAX: f64 = 1e3;

/// Blocks beyond which a campaign is not worth naming a number for.
const BLOCKS_END: u32 = 1 << 30;

/// P(T ≤ `t`) for a noncentral t with `df` degrees of freedom, from 0.5 up, and noncentrality
/// `delta`, up to a thousand either way. The error is below 1e-9; NaN outside the domain.
#[must_use]
pub fn noncentral_t_cdf(t: f64, df: f64, delta: f64) -> f64 {
    if !(df >= 0.5 && df.is_finite() && delta.abs() <= DELTA_MAX) || t.is_nan() {
        return f64::NAN;
    }
    // Log density of u = ln s, at its peak u = 0 and elsewhere.
    let peak = (2.0 / df).ln().mul_add(-df / 2.0, std::f64::consts::LN_2) - ln_gamma(df / 2.0);
    let density = |u: f64| (peak + df * (u - (2.0 * u).exp() / 2.0)).exp();
    // A quarter of the narrower of two widths: of the density, and of the step of Φ.
    let step = 0.25 * (2.0 * df).sqrt().recip().min(1.0 / (1.0 + delta.abs()));
    let term = |u: f64| density(u) * normal::below(t * u.exp() - delta);
    let negligible = 1e-14 * density(0.0);
    let side = |direction: f64| {
        (1_u32..)
            .map(|k| direction * step * f64::from(k))
            .take_while(|&u| density(u) > negligible)
            .map(term)
            .sum::<f64>()
    };
    (step * (term(0.0) + side(1.0) + side(-1.0))).clamp(0.0, 1.0)
}

/// Power of a two-sample t test with `n` values per arm that share a standard deviation: the chance
/// that a true `difference`, in standard deviations, is found at level `alpha`. Significance
/// in the wrong direction finds nothing: with two sides and no difference this is half of `alpha`
/// (the default of R's `power.t.test`).
///
/// `n` from 1.5 up, and not necessarily whole; NaN outside the domain.
#[must_use]
pub fn two_sample_power(n: f64, difference: f64, alpha: f64, sides: Sides) -> f64 {
    t_power(2.0 * (n - 1.0), difference * (n / 2.0).sqrt(), alpha, sides)
}

/// Power of a paired or one-sample t test with `n` differences: the chance that a true `mean`, in
/// standard deviations of a difference, is found at level `alpha`; otherwise as
/// [`two_sample_power`].
#[must_use]
pub fn paired_power(n: f64, mean: f64, alpha: f64, sides: Sides) -> f64 {
    t_power(n - 1.0, mean * n.sqrt(), alpha, sides)
}

/// The fewest blocks with which a two-sided paired t test at level `alpha` shows a true mean
/// log-ratio `effect_log` with probability `power` or more, where the log-ratios of blocks have
/// standard deviation `sd`.
///
/// At least 2. `None` when no number does: no effect, arguments that are not finite, `sd` below 0,
/// levels outside (0, 1), or more than a thousand million blocks.
#[must_use]
pub fn blocks_for(effect_log: f64, sd: f64, power: f64, alpha: f64) -> Option<u32> {
    if !(effect_log.abs() > 0.0 && effect_log.is_finite() && usable(sd, power, alpha)) {
        return None;
    }
    let mean = effect_log.abs() / sd;
    let enough = |n: u32| paired_power(f64::from(n), mean, alpha, Sides::Two) >= power;
    let mut reached = 2;
    while !enough(reached) {
        reached = reached.checked_mul(2).filter(|&n| n <= BLOCKS_END)?;
    }
    let mut below = reached / 2;
    while reached - below > 1 {
        let middle = below + (reached - below) / 2;
        if enough(middle) {
            reached = middle;
        } else {
            below = middle;
        }
    }
    Some(reached.max(2))
}

/// The true mean log-ratio that `n` blocks of standard deviation `sd` show with probability
/// `power` in a two-sided paired t test at level `alpha`: the inverse of [`blocks_for`].
///
/// `None` for fewer than two blocks, arguments outside the domain of [`blocks_for`], or levels so
/// strict that even a thousand standard errors are too few.
#[must_use]
pub fn detectable_effect(n: u32, sd: f64, power: f64, alpha: f64) -> Option<f64> {
    if n < 2 || !usable(sd, power, alpha) {
        return None;
    }
    let df = f64::from(n) - 1.0;
    let critical = quantile(1.0 - alpha / 2.0, df);
    let reaches = |delta: f64| noncentral_t_cdf(-critical, df, -delta) >= power;
    let mut high = 2.0 * critical.max(1.0);
    while high < DELTA_MAX && !reaches(high) {
        high = (2.0 * high).min(DELTA_MAX);
    }
    let error = sd / f64::from(n).sqrt();
    (high <= DELTA_MAX && reaches(high))
        .then(|| error * turning_point(0.0, high, |delta| !reaches(delta)))
}

/// Whether a spread and two levels are within their domains.
fn usable(sd: f64, power: f64, alpha: f64) -> bool {
    let level = |p: f64| p > 0.0 && p < 1.0;
    sd >= 0.0 && sd.is_finite() && level(power) && level(alpha)
}

fn t_power(df: f64, delta: f64, alpha: f64, sides: Sides) -> f64 {
    if !(df >= 0.5 && alpha > 0.0 && alpha < 1.0) {
        return f64::NAN;
    }
    let (tail, delta) = match sides {
        Sides::One => (alpha, delta),
        Sides::Two => (alpha / 2.0, delta.abs()),
    };
    // The quantile of a level above one half is the mirror image.
    let critical = if tail <= 0.5 { quantile(1.0 - tail, df) } else { -quantile(tail, df) };
    // An effect beyond the domain is seen at least as often as one at its end.
    let delta = delta.clamp(-DELTA_MAX, DELTA_MAX);
    // The upper tail as the lower tail of the mirror image, which keeps its digits.
    noncentral_t_cdf(-critical, df, -delta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, reference: f64, tolerance: f64) {
        assert!((value - reference).abs() <= tolerance, "{value} is not {reference}");
    }

    #[test]
    fn the_noncentral_distribution_agrees_with_integration_at_25_digits() {
        for (t, df, delta, reference) in [
            (2.262_157, 9.0, 1.0, 0.856_144_061_182_7),
            (1.96, 200.0, 2.8, 0.200_892_033_294_0),
            (0.0, 5.0, 1.5, 0.066_807_201_268_86),
            (-1.0, 3.0, 0.5, 0.092_121_209_814_36),
            (12.0, 2.0, 4.0, 0.890_042_843_996_2),
            (0.3, 1.0, 0.2, 0.515_079_247_477_8),
            (60.0, 4.0, 50.0, 0.595_631_923_792_2),
            (-2.0, 10.0, -3.0, 0.831_514_161_412_0),
        ] {
            close(noncentral_t_cdf(t, df, delta), reference, 1e-9);
        }
    }

    #[test]
    fn without_a_shift_it_is_students_distribution() {
        for (p, df) in [(0.975, 4.0), (0.8, 9.0), (0.9995, 99.0), (0.975, 1e6)] {
            close(noncentral_t_cdf(quantile(p, df), df, 0.0), p, 1e-9);
        }
    }

    #[test]
    fn outside_the_domain_there_is_no_value() {
        assert!(noncentral_t_cdf(1.0, 0.1, 0.0).is_nan());
        assert!(noncentral_t_cdf(1.0, f64::INFINITY, 0.0).is_nan());
        assert!(noncentral_t_cdf(1.0, 5.0, 1e4).is_nan());
        assert!(paired_power(1.0, 1.0, 0.05, Sides::Two).is_nan());
        assert!(paired_power(10.0, 1.0, 1.0, Sides::Two).is_nan());
        assert!(two_sample_power(f64::NAN, 1.0, 0.05, Sides::One).is_nan());
    }

    #[test]
    fn twenty_per_arm_have_the_published_power() {
        close(two_sample_power(20.0, 1.0, 0.05, Sides::Two), 0.868_952_8, 5e-8);
    }

    #[test]
    fn ninety_percent_power_needs_the_published_numbers() {
        for (sides, published) in [(Sides::Two, 22.021), (Sides::One, 17.847)] {
            let n = turning_point(2.0, 100.0, |n| two_sample_power(n, 1.0, 0.05, sides) < 0.9);
            close(n, published, 5e-4);
        }
    }

    #[test]
    fn without_an_effect_power_is_the_level_of_one_direction() {
        for alpha in [0.01, 0.05, 0.6, 0.9] {
            for (sides, level) in [(Sides::One, alpha), (Sides::Two, alpha / 2.0)] {
                close(paired_power(7.0, 0.0, alpha, sides), level, 1e-9);
                close(two_sample_power(7.0, 0.0, alpha, sides), level, 1e-9);
            }
        }
    }

    #[test]
    fn half_a_percent_in_half_a_percent_of_noise_is_cheap_and_a_tenth_of_it_is_not() {
        // (1.960 + 0.842)² = 7.85 noise variances per squared effect, and a little for t.
        assert_eq!(blocks_for(0.005, 0.005, 0.8, 0.05), Some(10));
        assert_eq!(blocks_for(-0.0005, 0.005, 0.8, 0.05), Some(787));
        assert_eq!(blocks_for(0.005, 0.0, 0.8, 0.05), Some(2));
        assert_eq!(blocks_for(0.0, 0.005, 0.8, 0.05), None);
        assert_eq!(blocks_for(1e-9, 0.5, 0.8, 0.05), None);
        assert_eq!(blocks_for(0.005, f64::NAN, 0.8, 0.05), None);
        assert_eq!(blocks_for(0.005, 0.005, 1.0, 0.05), None);
    }

    #[test]
    fn the_detectable_effect_of_few_blocks_is_more_than_2_80_standard_errors() {
        let standard_errors =
            |n: u32| detectable_effect(n, 1.0, 0.8, 0.05).unwrap() * f64::from(n).sqrt();
        close(standard_errors(100_000), 2.801_6, 5e-4);
        close(standard_errors(10), 3.149_6, 5e-5);
        close(standard_errors(4), 4.255_9, 5e-5);
        assert_eq!(detectable_effect(1, 1.0, 0.8, 0.05), None);
        assert_eq!(detectable_effect(5, 0.0, 0.8, 0.05), Some(0.0));
        assert_eq!(detectable_effect(5, -1.0, 0.8, 0.05), None);
    }

    #[test]
    fn the_formula_is_what_campaigns_show() {
        use crate::stats::{PairedT, simulation::normal};
        use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
        const CAMPAIGNS: u32 = 4000;
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (n, mean) in [(6, 1.2), (12, -0.9), (40, 0.35)] {
            let seen = (0..CAMPAIGNS).filter(|_| {
                let values: Vec<f64> = (0..n).map(|_| mean + normal(&mut rng)).collect();
                let test = PairedT::new(&values).unwrap();
                test.p() < 0.05 && test.mean * mean > 0.0
            });
            let rate = seen.count() as f64 / f64::from(CAMPAIGNS);
            // Three standard errors of a simulated rate.
            close(rate, paired_power(f64::from(n), mean, 0.05, Sides::Two), 0.024);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_number_of_blocks_is_the_smallest_that_suffices(
            ratio in 0.02f64..4.0, power in 0.5f64..0.99,
        ) {
            let n = blocks_for(ratio, 1.0, power, 0.05).unwrap();
            let reached = |n: u32| paired_power(f64::from(n), ratio, 0.05, Sides::Two);
            prop_assert!(reached(n) >= power);
            prop_assert!(n == 2 || reached(n - 1) < power);
            let effect = detectable_effect(n, 1.0, power, 0.05).unwrap();
            prop_assert!(effect <= ratio + 1e-9, "{} blocks show {}", n, effect);
        }
    }
}
