//! Counting instead of measuring: the sign test, and how well a rate is known from few events.
//!
//! The sign test asks only which arm won each block. It is the strict mode: no value, however wild,
//! weighs more than one block.

use super::root::turning_point;
use statrs::function::beta::beta_reg;

/// Exact two-sided sign test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignTest {
    /// Differences above zero.
    pub positive: u64,
    /// Differences below zero.
    pub negative: u64,
    /// Two-sided p: twice the smaller tail of a fair coin, at most 1.
    pub p: f64,
}

impl SignTest {
    /// Tests `differences` against a median of zero. Differences of exactly zero, and those that
    /// are not numbers, have no sign and are left out.
    #[must_use]
    pub fn new(differences: &[f64]) -> Self {
        let positive = differences.iter().filter(|&&d| d > 0.0).count() as u64;
        let negative = differences.iter().filter(|&&d| d < 0.0).count() as u64;
        let tail = at_least(positive.max(negative), positive + negative, 0.5);
        Self { positive, negative, p: (2.0 * tail).min(1.0) }
    }
}

/// Interval of a rate of which `events` of `trials` were seen, at `confidence` in (0, 1), by
/// Clopper and Pearson (1934): it covers at least as often as it says, for every rate.
///
/// `None` for no trials, for more events than trials, or a confidence outside (0, 1).
#[must_use]
pub fn clopper_pearson(events: u64, trials: u64, confidence: f64) -> Option<[f64; 2]> {
    if trials == 0 || events > trials || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let low = if events == 0 {
        0.0
    } else {
        turning_point(0.0, 1.0, |rate| at_least(events, trials, rate) < tail)
    };
    let high = if events == trials {
        1.0
    } else {
        // P(X ≤ events) falls as the rate grows.
        turning_point(0.0, 1.0, |rate| at_most(events, trials, rate) > tail)
    };
    Some([low, high])
}

/// P(X ≥ `events`) for `trials` of a `rate` in (0, 1), by the incomplete beta function.
fn at_least(events: u64, trials: u64, rate: f64) -> f64 {
    if events == 0 {
        return 1.0;
    }
    if events > trials {
        return 0.0;
    }
    beta_reg(events as f64, (trials - events + 1) as f64, rate)
}

/// P(X ≤ `events`): as many misses, counted from the other side.
fn at_most(events: u64, trials: u64, rate: f64) -> f64 {
    if events >= trials {
        return 1.0;
    }
    at_least(trials - events, trials, 1.0 - rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_sign_test_counts_coins() {
        // 9 of 10: (10 + 1) / 1024, and the other side as often.
        let mut differences = vec![1.0; 9];
        differences.push(-50.0);
        let test = SignTest::new(&differences);
        assert_eq!((test.positive, test.negative), (9, 1));
        assert!((test.p - 22.0 / 1024.0).abs() < 1e-14, "{test:?}");
        // Which side wins makes no difference.
        let other: Vec<f64> = differences.iter().map(|d| -d).collect();
        assert_eq!(SignTest::new(&other).p, test.p);
    }

    #[test]
    fn zeros_have_no_vote_and_a_tie_proves_nothing() {
        let test = SignTest::new(&[0.0, 1.0, -1.0, 0.0, f64::NAN]);
        assert_eq!((test.positive, test.negative, test.p), (1, 1, 1.0));
        assert_eq!(SignTest::new(&[]).p, 1.0);
    }

    #[test]
    fn few_events_give_the_tabulated_interval() {
        // R: binom.test(682, 925) and binom.test(1, 20).
        for (events, trials, low, high) in
            [(682, 925, 0.707_668_3, 0.765_406_6), (1, 20, 0.001_265_089, 0.248_732_8)]
        {
            let [l, h] = clopper_pearson(events, trials, 0.95).unwrap();
            assert!((l - low).abs() < 5e-8 && (h - high).abs() < 5e-8, "{l} {h}");
        }
    }

    #[test]
    fn none_of_n_is_bounded_by_the_rule_of_three() {
        let [low, high] = clopper_pearson(0, 400, 0.95).unwrap();
        assert_eq!(low, 0.0);
        assert!((high - (1.0 - 0.025_f64.powf(1.0 / 400.0))).abs() < 1e-12, "{high}");
        assert_eq!(clopper_pearson(5, 5, 0.95).unwrap()[1], 1.0);
    }

    #[test]
    fn questions_without_an_answer_get_none() {
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
        assert_eq!(clopper_pearson(2, 1, 0.95), None);
        assert_eq!(clopper_pearson(1, 2, 1.0), None);
        assert_eq!(clopper_pearson(1, 2, f64::NAN), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_observed_rate_and_mirrors(
            trials in 1u64..2000, share in 0.0f64..=1.0,
        ) {
            let events = (share * trials as f64) as u64;
            let [low, high] = clopper_pearson(events, trials, 0.95).unwrap();
            let rate = events as f64 / trials as f64;
            prop_assert!(0.0 <= low && low <= rate && rate <= high && high <= 1.0);
            let [mirror_low, mirror_high] = clopper_pearson(trials - events, trials, 0.95).unwrap();
            prop_assert!((low + mirror_high - 1.0).abs() < 1e-9);
            prop_assert!((high + mirror_low - 1.0).abs() < 1e-9);
        }
    }
}
