//! Student's t on differences of pairs: the primary estimate.
//!
//! Quantiles are found by bisection on the survival function. The library's own inverse has had
//! wrong answers for small arguments, and a bisection can be no further off than the function that
//! it inverts, which the tests hold against printed tables.

use super::normal;
use super::power::detectable_effect;
use super::root::turning_point;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A one-sample t test of differences against zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedT {
    /// Number of differences, at least 2.
    pub n: u32,
    /// Mean difference.
    pub mean: f64,
    /// Standard deviation of the differences (n − 1 in the denominator); 0 when all are equal.
    pub sd: f64,
}

impl PairedT {
    /// Summarises `differences`; `None` for fewer than two, or when one is not finite.
    ///
    /// The variance is taken in a second pass around the mean, so that a large common offset does
    /// not cancel the digits that matter.
    #[must_use]
    pub fn new(differences: &[f64]) -> Option<Self> {
        let n = u32::try_from(differences.len()).ok().filter(|&n| n >= 2)?;
        let count = f64::from(n);
        // Equal differences have no spread, whatever the rounding of their sum.
        let first = *differences.first()?;
        if differences.iter().all(|&d| d == first) {
            return first.is_finite().then_some(Self { n, mean: first, sd: 0.0 });
        }
        // Shifted by the first value, for the same reason as the second pass.
        let mean = first + differences.iter().map(|d| d - first).sum::<f64>() / count;
        let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
        let sd = (squares / (count - 1.0)).sqrt();
        (mean.is_finite() && sd.is_finite()).then_some(Self { n, mean, sd })
    }

    /// Degrees of freedom, n − 1.
    #[must_use]
    pub fn df(&self) -> f64 {
        f64::from(self.n) - 1.0
    }

    /// Standard error of the mean.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        self.sd / f64::from(self.n).sqrt()
    }

    /// The t statistic; `None` without spread, where it has no value.
    #[must_use]
    pub fn t(&self) -> Option<f64> {
        (self.sd > 0.0).then(|| self.mean / self.standard_error())
    }

    /// Two-sided p against a mean of zero. Without spread it is 1 for a mean of exactly zero and
    /// 0 otherwise.
    #[must_use]
    pub fn p(&self) -> f64 {
        match self.t() {
            Some(t) => (2.0 * upper_tail(t.abs(), self.df())).min(1.0),
            None if self.mean == 0.0 => 1.0,
            None => 0.0,
        }
    }

    /// The standard normal deviate with the same p and the sign of the mean: what group-sequential
    /// boundaries, which are made for a known spread, are compared with. Within ±37.
    #[must_use]
    pub fn z(&self) -> f64 {
        match self.t() {
            Some(t) => normal_deviate(t, self.df()),
            None if self.mean == 0.0 => 0.0,
            None => normal::DEVIATE_MAX.copysign(self.mean),
        }
    }

    /// Two-sided interval of the mean at `confidence` in (0, 1).
    #[must_use]
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let half = quantile(0.5 + confidence / 2.0, self.df()) * self.standard_error();
        [self.mean - half, self.mean + half]
    }

    /// The true difference that 4 of 5 such campaigns would show at two-sided 5 %. It tends to
    /// 2.80·s/√n for many blocks and is larger for few.
    #[must_use]
    pub fn mde80(&self) -> f64 {
        detectable_effect(self.n, self.sd, 0.80, 0.05).unwrap_or(f64::INFINITY)
    }
}

/// P(T > t) for `t` ≥ 0 and `df` degrees of freedom.
pub(super) fn upper_tail(t: f64, df: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, df).map_or(1.0, |distribution| distribution.sf(t))
}

/// The `p` quantile for `p` in [0.5, 1): the t with P(T ≤ t) = p.
pub(super) fn quantile(p: f64, df: f64) -> f64 {
    quantile_above(1.0 - p, df)
}

/// The t with P(T > t) = `tail`, for `tail` in (0, 0.5].
pub(super) fn quantile_above(tail: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, df) > tail && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    turning_point(low, high, |t| upper_tail(t, df) > tail)
}

/// The standard normal deviate that is as rare as `t` with `df` degrees of freedom, of its sign.
pub(super) fn normal_deviate(t: f64, df: f64) -> f64 {
    normal::deviate_above(upper_tail(t.abs(), df)).copysign(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, reference: f64, tolerance: f64) {
        assert!((value - reference).abs() <= tolerance, "{value} is not {reference}");
    }

    /// Extra sleep of ten patients under two drugs (Student 1908; R's data set `sleep`).
    const SLEEP: [(f64, f64); 10] = [
        (0.7, 1.9),
        (-1.6, 0.8),
        (-0.2, 1.1),
        (-1.2, 0.1),
        (-0.1, -0.1),
        (3.4, 4.4),
        (3.7, 5.5),
        (0.8, 1.6),
        (0.0, 4.6),
        (2.0, 3.4),
    ];

    #[test]
    fn sleep_data_give_the_published_paired_t() {
        let differences: Vec<f64> = SLEEP.iter().map(|(one, two)| one - two).collect();
        let test = PairedT::new(&differences).unwrap();
        close(test.t().unwrap(), -4.0621, 5e-5);
        close(test.df(), 9.0, 0.0);
        close(test.p(), 0.002833, 5e-7);
        let [low, high] = test.interval(0.95);
        close(low, -2.459_885_8, 5e-8);
        close(high, -0.700_114_2, 5e-8);
    }

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (p, df, table) in [
            (0.975, 1.0, 12.706_204_736),
            (0.975, 2.0, 4.302_652_730),
            (0.975, 4.0, 2.776_445_105),
            (0.975, 9.0, 2.262_157_163),
            (0.975, 24.0, 2.063_898_562),
            (0.975, 99.0, 1.984_216_952),
            (0.95, 9.0, 1.833_112_933),
            (0.80, 9.0, 0.883_403_859),
            (0.9995, 9.0, 4.780_912_586),
        ] {
            close(quantile(p, df), table, 2e-9 * table);
        }
        close(quantile(0.975, 1e6), 1.959_966, 5e-6);
        close(quantile(0.5, 3.0), 0.0, 1e-12);
    }

    #[test]
    fn a_large_offset_does_not_cancel_the_spread() {
        // NIST StRD NumAcc4: 1001 values around 10 000 000.2, certified sd 0.1.
        let mut values = vec![10_000_000.2];
        for _ in 0..500 {
            values.extend([10_000_000.1, 10_000_000.3]);
        }
        let summary = PairedT::new(&values).unwrap();
        close(summary.mean, 10_000_000.2, 1e-8);
        close(summary.sd, 0.1, 1e-8);
    }

    #[test]
    fn the_detectable_effect_tends_to_2_80_standard_errors() {
        let many: Vec<f64> = (0..2000).map(|i| f64::from(i % 2)).collect();
        let test = PairedT::new(&many).unwrap();
        close(test.mde80() / test.standard_error(), 2.80, 5e-3);
        let few = PairedT::new(&many[..4]).unwrap();
        assert!(few.mde80() / few.standard_error() > 4.0);
    }

    #[test]
    fn no_spread_is_a_value_and_not_a_division_by_zero() {
        let same = PairedT::new(&[0.1, 0.1, 0.1]).unwrap();
        assert_eq!((same.mean, same.sd, same.t(), same.p()), (0.1, 0.0, None, 0.0));
        assert_eq!(same.interval(0.95), [0.1, 0.1]);
        let zero = PairedT::new(&[0.0, 0.0]).unwrap();
        assert_eq!((zero.p(), zero.mde80()), (1.0, 0.0));
    }

    #[test]
    fn too_few_or_unusable_differences_have_no_summary() {
        assert_eq!(PairedT::new(&[]), None);
        assert_eq!(PairedT::new(&[1.0]), None);
        assert_eq!(PairedT::new(&[1.0, f64::NAN]), None);
        assert_eq!(PairedT::new(&[f64::INFINITY, f64::INFINITY]), None);
    }

    proptest! {
        #[test]
        fn p_is_below_5_percent_exactly_when_the_interval_excludes_zero(
            differences in prop::collection::vec(-10.0f64..10.0, 2..40),
        ) {
            let test = PairedT::new(&differences).unwrap();
            let [low, high] = test.interval(0.95);
            // Away from the boundary itself, where rounding decides.
            if (test.p() - 0.05).abs() > 1e-9 {
                prop_assert_eq!(test.p() < 0.05, low > 0.0 || high < 0.0);
            }
        }
    }
}
