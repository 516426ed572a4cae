//! The chi-squared distribution: how far a standard deviation from few values may be off.

use super::root::turning_point;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The x with P(X ≤ x) = `p` for `df` degrees of freedom; `None` unless `p` is in (0, 1) and `df`
/// above zero.
pub(super) fn quantile(p: f64, df: f64) -> Option<f64> {
    let distribution = ChiSquared::new(df).ok().filter(|_| p > 0.0 && p < 1.0)?;
    let mut high = df.max(1.0);
    while distribution.cdf(high) < p && high < 1e300 {
        high *= 2.0;
    }
    Some(turning_point(0.0, high, |x| distribution.cdf(x) < p))
}

/// Upper bound, at `confidence` in (0, 1), of a standard deviation of which `sd` was seen with
/// `df` degrees of freedom: sd·√(df / χ²), with the quantile at 1 − `confidence`.
#[must_use]
pub fn sd_upper_bound(sd: f64, df: f64, confidence: f64) -> Option<f64> {
    Some(sd * (df / quantile(1.0 - confidence, df)?).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (p, df, printed) in
            [(0.95, 1.0, 3.841_459), (0.2, 11.0, 6.988_674), (0.05, 24.0, 13.848_425)]
        {
            let x = quantile(p, df).unwrap();
            assert!((x - printed).abs() < 1e-5, "{x} is not {printed}");
        }
        assert_eq!((quantile(0.0, 3.0), quantile(0.5, 0.0)), (None, None));
    }

    #[test]
    fn few_values_allow_a_much_larger_spread() {
        let bound = |df| sd_upper_bound(1.0, df, 0.8).unwrap();
        assert!((bound(11.0) - (11.0_f64 / 6.988_674).sqrt()).abs() < 1e-6);
        assert!(bound(3.0) > bound(11.0) && bound(1000.0) < 1.03);
    }
}
