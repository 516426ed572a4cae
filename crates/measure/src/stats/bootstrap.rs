//! Bootstrap intervals of a mean: no assumption about the shape of the noise, and no miracle either.
//!
//! Both intervals know only the values at hand. With few of them the tails are missing from the
//! sample and so from the interval: at 25 differences with one spike in ten, a nominal 95 % BCa
//! interval covers 78 %. Not below about 50 values.

use super::PairedT;
use super::normal;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Means of resamples, drawn once, from which intervals of any confidence are read.
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapMean {
    /// Mean of the values themselves.
    pub mean: f64,
    /// In order.
    resampled: Vec<f64>,
    /// Third moment of the jackknife: Σd³ / 6(Σd²)^1.5, 0 without spread.
    acceleration: f64,
}

impl BootstrapMean {
    /// Draws `resamples` times, with replacement, as many values as there are. The same `seed`
    /// gives the same draws.
    ///
    /// `None` for fewer than two values, values that are not finite, or no resamples. An end of a
    /// 95 % interval is steady to a few percent of the width from 10 000 resamples.
    #[must_use]
    pub fn new(values: &[f64], resamples: u32, seed: u64) -> Option<Self> {
        let summary = PairedT::new(values).filter(|_| resamples > 0)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut resampled: Vec<f64> =
            (0..resamples).map(|_| resampled_mean(values, summary, &mut rng)).collect();
        resampled.sort_unstable_by(f64::total_cmp);
        let moment =
            |power: i32| values.iter().map(|value| (value - summary.mean).powi(power)).sum::<f64>();
        let acceleration =
            if summary.sd > 0.0 { moment(3) / (6.0 * moment(2).powf(1.5)) } else { 0.0 };
        Some(Self { mean: summary.mean, resampled, acceleration })
    }

    /// Percentile interval at `confidence` in (0, 1): the middle of the resampled means.
    #[must_use]
    pub fn percentile(&self, confidence: f64) -> [f64; 2] {
        let tail = (1.0 - confidence) / 2.0;
        [self.quantile(tail), self.quantile(1.0 - tail)]
    }

    /// Bias-corrected and accelerated interval (Efron 1987) at `confidence` in (0, 1).
    #[must_use]
    pub fn bca(&self, confidence: f64) -> [f64; 2] {
        let below = self.resampled.partition_point(|&mean| mean < self.mean);
        let up_to = self.resampled.partition_point(|&mean| mean <= self.mean);
        // Means that equal the observed one count half.
        let share = (below + up_to) as f64 / (2 * self.resampled.len()) as f64;
        let bias = normal::deviate_above(1.0 - share);
        let tail = (1.0 - confidence) / 2.0;
        [tail, 1.0 - tail].map(|p| {
            let shifted = bias + normal::deviate_above(1.0 - p);
            self.quantile(normal::below(bias + shifted / (1.0 - self.acceleration * shifted)))
        })
    }

    /// The `p` quantile of the resampled means, linear between neighbours.
    fn quantile(&self, p: f64) -> f64 {
        let last = self.resampled.len() - 1;
        let place = p.clamp(0.0, 1.0) * last as f64;
        let index = (place as usize).min(last);
        let at = |index: usize| self.resampled.get(index).copied().unwrap_or(self.mean);
        let low = at(index);
        low + (place - index as f64) * (at((index + 1).min(last)) - low)
    }
}

/// Mean of one resample, summed around the mean so that a large offset does not cancel digits.
fn resampled_mean(values: &[f64], summary: PairedT, rng: &mut ChaCha8Rng) -> f64 {
    let n = values.len() as u64;
    let drawn = values.iter().map(|_| {
        // The high half of the product is uniform below n, but for n parts in 2³².
        let index = (u64::from(rng.next_u32()) * n) >> 32;
        values.get(index as usize).map_or(0.0, |value| value - summary.mean)
    });
    summary.mean + drawn.sum::<f64>() / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data on which SciPy and R's package `boot` agree.
    const SKEWED: [f64; 16] = [
        10.0, 12.0, 12.5, 12.5, 13.9, 15.0, 21.0, 22.0, 23.0, 34.0, 50.0, 81.0, 89.0, 121.0, 134.0,
        213.0,
    ];

    #[test]
    fn skewed_data_give_the_published_intervals() {
        let bootstrap = BootstrapMean::new(&SKEWED, 400_000, 1).unwrap();
        let near = |[low, high]: [f64; 2], reference: [f64; 2]| {
            for (value, reference) in [(low, reference[0]), (high, reference[1])] {
                assert!((value / reference - 1.0).abs() < 0.005, "{value} is not {reference}");
            }
        };
        near(bootstrap.percentile(0.95), [28.86, 84.21]);
        near(bootstrap.bca(0.95), [32.31, 91.43]);
    }

    #[test]
    fn the_seed_decides_the_draws() {
        let draw = |seed| BootstrapMean::new(&SKEWED, 200, seed).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn no_spread_is_a_point_and_too_little_is_nothing() {
        let same = BootstrapMean::new(&[10_000_000.2; 5], 50, 1).unwrap();
        assert_eq!((same.percentile(0.95), same.bca(0.95)), ([10_000_000.2; 2], [10_000_000.2; 2]));
        assert_eq!(BootstrapMean::new(&[1.0], 50, 1), None);
        assert_eq!(BootstrapMean::new(&[1.0, f64::NAN], 50, 1), None);
        assert_eq!(BootstrapMean::new(&[1.0, 2.0], 0, 1), None);
        // A single resample is its own quantile.
        let one = BootstrapMean::new(&SKEWED, 1, 1).unwrap();
        let [low, high] = one.percentile(0.95);
        assert_eq!(low, high);
    }

    #[test]
    fn on_enough_normal_values_both_agree_with_students_t() {
        use crate::stats::simulation::normal;
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let values: Vec<f64> = (0..200).map(|_| 5.0 + normal(&mut rng)).collect();
        let t = PairedT::new(&values).unwrap();
        let bootstrap = BootstrapMean::new(&values, 20_000, 1).unwrap();
        for [low, high] in [bootstrap.percentile(0.95), bootstrap.bca(0.95)] {
            let [t_low, t_high] = t.interval(0.95);
            let tenth = 0.1 * (t_high - t_low);
            assert!((low - t_low).abs() < tenth && (high - t_high).abs() < tenth, "{low} {high}");
        }
    }
}
