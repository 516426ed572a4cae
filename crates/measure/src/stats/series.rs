//! Whether one block remembers the one before: the independence that every interval here assumes.

use super::PairedT;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Autocorrelation at lag 1: Σ(xᵢ−x̄)(xᵢ₊₁−x̄) / Σ(xᵢ−x̄)², in [−1, 1].
///
/// About −1/n for independent values, and outside ±2/√n for one series in twenty of them. `None`
/// for fewer than two values, values that are not finite, or values that are all equal.
#[must_use]
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    Some(Deviations::of(values)?.autocorrelation(1))
}

/// Portmanteau test of Ljung and Box (1978) that the first autocorrelations are all zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LjungBox {
    /// n(n+2)·Σ rₖ²/(n−k) over lags 1 to `lags`.
    pub q: f64,
    /// Number of lags, the degrees of freedom.
    pub lags: u32,
    /// Upper tail of χ² at `q`. The approximation wants a series several times as long as `lags`.
    pub p: f64,
}

impl LjungBox {
    /// Tests `values` over `lags`, from 1 to one less than their number; `None` outside that range
    /// and where [`lag1_autocorrelation`] has no value.
    #[must_use]
    pub fn new(values: &[f64], lags: u32) -> Option<Self> {
        if lags == 0 || lags as usize >= values.len() {
            return None;
        }
        let deviations = Deviations::of(values)?;
        let n = values.len() as f64;
        let terms = (1..=lags)
            .map(|lag| deviations.autocorrelation(lag as usize).powi(2) / (n - f64::from(lag)));
        let q = n * (n + 2.0) * terms.sum::<f64>();
        let p = ChiSquared::new(f64::from(lags)).map_or(1.0, |distribution| distribution.sf(q));
        Some(Self { q, lags, p })
    }
}

/// Values less their mean, and the sum of their squares, which is not zero.
struct Deviations {
    values: Vec<f64>,
    squares: f64,
}

impl Deviations {
    fn of(values: &[f64]) -> Option<Self> {
        let mean = PairedT::new(values).filter(|summary| summary.sd > 0.0)?.mean;
        let values: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let squares = values.iter().map(|deviation| deviation * deviation).sum();
        Some(Self { values, squares })
    }

    fn autocorrelation(&self, lag: usize) -> f64 {
        let later = self.values.iter().skip(lag);
        self.values.iter().zip(later).map(|(one, other)| one * other).sum::<f64>() / self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternation_around_a_large_offset_gives_the_certified_autocorrelation() {
        // NIST StRD NumAcc4.
        let mut values = vec![10_000_000.2];
        for _ in 0..500 {
            values.extend([10_000_000.1, 10_000_000.3]);
        }
        let r = lag1_autocorrelation(&values).unwrap();
        assert!((r + 0.999).abs() < 1e-6, "{r}");
    }

    #[test]
    fn a_short_series_by_hand() {
        // Deviations −1.5, −.5, .5, 1.5: r₁ = (.75 − .25 + .75)/5, r₂ = (−.75 − .75)/5.
        let values = [1.0, 2.0, 3.0, 4.0];
        assert!((lag1_autocorrelation(&values).unwrap() - 0.25).abs() < 1e-15);
        let test = LjungBox::new(&values, 2).unwrap();
        let q = 24.0 * (0.25_f64.powi(2) / 3.0 + 0.3_f64.powi(2) / 2.0);
        assert!((test.q - q).abs() < 1e-14, "{test:?}");
        // χ² with two degrees of freedom is an exponential.
        assert!((test.p - (-q / 2.0).exp()).abs() < 1e-12, "{test:?}");
    }

    #[test]
    fn what_has_no_spread_or_no_length_has_no_memory() {
        assert_eq!(lag1_autocorrelation(&[]), None);
        assert_eq!(lag1_autocorrelation(&[1.0, 1.0, 1.0]), None);
        assert_eq!(lag1_autocorrelation(&[1.0, f64::NAN]), None);
        assert_eq!(LjungBox::new(&[1.0, 2.0, 3.0], 3), None);
        assert_eq!(LjungBox::new(&[1.0, 2.0, 3.0], 0), None);
    }

    #[test]
    fn independent_series_are_suspected_one_time_in_twenty_and_remembering_ones_nearly_always() {
        use crate::stats::simulation::normal;
        use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
        const SERIES: u32 = 2000;
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut suspected = |memory: f64| {
            let hits = (0..SERIES).filter(|_| {
                let mut last = 0.0;
                let values: Vec<f64> = (0..100)
                    .map(|_| {
                        last = memory * last + normal(&mut rng);
                        last
                    })
                    .collect();
                LjungBox::new(&values, 10).unwrap().p < 0.05
            });
            hits.count() as f64 / f64::from(SERIES)
        };
        let (independent, remembering) = (suspected(0.0), suspected(0.6));
        assert!((independent - 0.05).abs() < 0.015, "{independent}");
        assert!(remembering > 0.98, "{remembering}");
    }
}
