//! Hodges–Lehmann estimate and Wilcoxon signed-rank test: the companion that a few wild blocks
//! cannot move.
//!
//! The null distribution is exact, by counting sign patterns rank by rank; tied magnitudes share
//! their mean rank and the counting is done over those (ranks are doubled to stay whole). Above
//! [`EXACT_MAX`] pairs the normal approximation takes over; its error there is below 5e-4, and less in the tails.
//! Differences of exactly zero carry no sign and are left out of the test; the interval keeps them.

use statrs::distribution::{ContinuousCDF, Normal};

/// Most pairs for which the distribution is counted exactly (cost grows with n³).
const EXACT_MAX: usize = 200;

/// Signed-rank test of differences against zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// Differences that are not zero.
    pub n: usize,
    /// V: the sum of the ranks of positive differences.
    pub v: f64,
    /// One-sided p for "differences are greater than zero".
    pub p_greater: f64,
    /// One-sided p for "differences are less than zero".
    pub p_less: f64,
}

/// Hodges–Lehmann estimate of the centre of symmetry and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankInterval {
    /// Median of the pairwise means.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Coverage that the interval has: the asked-for one or a little more, or less if so few
    /// pairs cannot give it, and then the interval spans all of them.
    pub confidence: f64,
}

impl SignedRank {
    /// Tests `differences`, which must be finite.
    #[must_use]
    pub fn new(differences: &[f64]) -> Self {
        let mut nonzero: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
        nonzero.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
        let doubled = doubled_ranks(&nonzero);
        let total: u64 = doubled.iter().sum();
        let positive: u64 =
            nonzero.iter().zip(&doubled).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
        let null = Null::of(&doubled);
        Self {
            n: nonzero.len(),
            v: positive as f64 / 2.0,
            // The distribution is symmetric: P(V ≥ v) = P(V ≤ total − v).
            p_greater: null.at_most(total - positive),
            p_less: null.at_most(positive),
        }
    }

    /// Two-sided p: twice the smaller tail, at most 1.
    #[must_use]
    pub fn p(&self) -> f64 {
        (2.0 * self.p_greater.min(self.p_less)).min(1.0)
    }
}

impl RankInterval {
    /// The intervals of `differences` at each of `confidences` in (0, 1); `None` for no
    /// differences or when one is not finite.
    ///
    /// Ends are order statistics of the n(n+1)/2 pairwise means (Walsh averages), each taken with
    /// itself too, at the rank below which the test rejects. Time and memory grow with n².
    #[must_use]
    pub fn at<const N: usize>(differences: &[f64], confidences: [f64; N]) -> Option<[Self; N]> {
        if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
            return None;
        }
        let means = pairwise_means(differences);
        let ranks: Vec<u64> = (1..=differences.len() as u64).map(|rank| 2 * rank).collect();
        let null = Null::of(&ranks);
        // There is a mean of the first difference with itself at least.
        let mean = |index: usize| means.get(index).copied().unwrap_or(f64::NAN);
        let estimate = f64::midpoint(mean((means.len() - 1) / 2), mean(means.len() / 2));
        Some(confidences.map(|confidence| {
            let rank = critical_rank(&null, means.len(), (1.0 - confidence) / 2.0);
            Self {
                estimate,
                low: mean(rank - 1),
                high: mean(means.len() - rank),
                confidence: (1.0 - 2.0 * null.at_most(2 * (rank as u64 - 1))).max(0.0),
            }
        }))
    }

    /// The interval of `differences` at `confidence`; see [`RankInterval::at`].
    #[must_use]
    pub fn new(differences: &[f64], confidence: f64) -> Option<Self> {
        Self::at(differences, [confidence]).map(|[interval]| interval)
    }
}

/// Mean of every pair of values, each with itself too, in order.
fn pairwise_means(values: &[f64]) -> Vec<f64> {
    let mut means = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, &one) in values.iter().enumerate() {
        means.extend(values.iter().skip(index).map(|&other| f64::midpoint(one, other)));
    }
    means.sort_unstable_by(f64::total_cmp);
    means
}

/// Smallest rank, from 1, whose lower tail reaches `tail`; at most half of `count`.
fn critical_rank(null: &Null, count: usize, tail: f64) -> usize {
    let (mut below, mut reached) = (0, count.div_ceil(2).max(1));
    while reached - below > 1 {
        let middle = below + (reached - below) / 2;
        if null.at_most(2 * middle as u64) >= tail {
            reached = middle;
        } else {
            below = middle;
        }
    }
    reached
}

/// Twice the mean rank of each magnitude in `sorted`, so that shared ranks stay whole numbers.
fn doubled_ranks(sorted: &[f64]) -> Vec<u64> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(|x, y| x.abs() == y.abs()) {
        let before = ranks.len() as u64;
        // First rank before+1 and last before+len: their sum is twice their mean.
        let doubled = 2 * before + 1 + tied.len() as u64;
        ranks.extend(std::iter::repeat_n(doubled, tied.len()));
    }
    ranks
}

/// Distribution of twice the sum of positive ranks if each sign is a fair coin.
enum Null {
    /// P(2V ≤ index).
    Exact(Vec<f64>),
    /// Moments of 2V.
    Normal { mean: f64, sd: f64 },
}

impl Null {
    fn of(doubled_ranks: &[u64]) -> Self {
        if doubled_ranks.len() > EXACT_MAX {
            let mean = doubled_ranks.iter().map(|&rank| rank as f64).sum::<f64>() / 2.0;
            let variance: f64 = doubled_ranks.iter().map(|&rank| (rank as f64).powi(2) / 4.0).sum();
            return Self::Normal { mean, sd: variance.sqrt() };
        }
        let total: u64 = doubled_ranks.iter().sum();
        let mut probability = vec![0.0; total as usize + 1];
        if let Some(first) = probability.first_mut() {
            *first = 1.0;
        }
        let mut before = Vec::new();
        for &rank in doubled_ranks {
            before.clone_from(&probability);
            for p in &mut probability {
                *p /= 2.0;
            }
            for (p, without) in probability.iter_mut().skip(rank as usize).zip(&before) {
                *p += without / 2.0;
            }
        }
        let mut running = 0.0;
        for p in &mut probability {
            running += *p;
            *p = running;
        }
        Self::Exact(probability)
    }

    /// P(2V ≤ `doubled`).
    fn at_most(&self, doubled: u64) -> f64 {
        match self {
            Self::Exact(cumulative) => {
                cumulative.get(doubled as usize).copied().unwrap_or(1.0).min(1.0)
            }
            // Half a step of 2 is the continuity correction.
            Self::Normal { mean, sd } => Normal::new(*mean, *sd)
                .map_or(1.0, |distribution| distribution.cdf(doubled as f64 + 1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hamilton depression scores before and after a tranquilizer (Hollander & Wolfe 1973,
    /// p. 29; the example of R's `?wilcox.test`).
    const BEFORE: [f64; 9] = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    #[expect(clippy::approx_constant, reason = "one of the patients scored 3.14")]
    const AFTER: [f64; 9] = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];

    fn depression() -> Vec<f64> {
        BEFORE.iter().zip(AFTER).map(|(before, after)| before - after).collect()
    }

    #[test]
    fn depression_data_give_the_published_signed_rank_test() {
        let test = SignedRank::new(&depression());
        assert_eq!((test.n, test.v), (9, 40.0));
        assert_eq!(test.p_greater, 0.019_531_25);
        assert_eq!(test.p(), 0.039_062_5);
    }

    #[test]
    fn depression_data_give_the_published_estimate_and_interval() {
        let interval = RankInterval::new(&depression(), 0.95).unwrap();
        assert!((interval.estimate - 0.46).abs() < 1e-12, "{interval:?}");
        assert!((interval.low - 0.010).abs() < 1e-12, "{interval:?}");
        assert!((interval.high - 0.786).abs() < 5e-4, "{interval:?}");
        assert_eq!(interval.confidence, 0.960_937_5);
    }

    #[test]
    fn tied_magnitudes_are_counted_over_their_shared_ranks() {
        // Ranks 1.5, 1.5, 3: of 8 sign patterns only all-positive reaches V = 6.
        let test = SignedRank::new(&[1.0, 1.0, 2.0]);
        assert_eq!((test.v, test.p_greater), (6.0, 0.125));
        // V = 4.5 is reached by {1.5, 3} twice and by all three.
        assert_eq!(SignedRank::new(&[-1.0, 1.0, 2.0]).p_greater, 0.375);
    }

    #[test]
    fn zeros_have_no_sign_and_no_vote() {
        let test = SignedRank::new(&[0.0, 1.0, 2.0, 0.0]);
        assert_eq!((test.n, test.v, test.p_greater), (2, 3.0, 0.25));
        assert_eq!(SignedRank::new(&[0.0; 5]).p(), 1.0);
    }

    #[test]
    fn few_pairs_say_how_little_they_cover() {
        let five = RankInterval::new(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!((five.low, five.high, five.confidence), (1.0, 5.0, 0.9375));
        let six = RankInterval::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        assert_eq!((six.low, six.high, six.confidence), (1.0, 6.0, 0.96875));
        let one = RankInterval::new(&[2.0], 0.95).unwrap();
        assert_eq!((one.estimate, one.low, one.high, one.confidence), (2.0, 2.0, 2.0, 0.0));
        assert_eq!(RankInterval::new(&[], 0.95), None);
        assert_eq!(RankInterval::new(&[f64::NAN], 0.95), None);
    }

    #[test]
    fn the_approximation_takes_over_without_a_step() {
        let differences: Vec<f64> = (0..=EXACT_MAX)
            .map(|i| f64::from(u32::try_from(i * 37 % 201).unwrap()) - 88.5)
            .collect();
        let ranks = |n: usize| (1..=n as u64).map(|rank| 2 * rank).collect::<Vec<_>>();
        let exact = Null::of(&ranks(EXACT_MAX));
        let (n, total) = (EXACT_MAX as f64, (EXACT_MAX * (EXACT_MAX + 1)) as f64);
        let normal =
            Null::Normal { mean: total / 2.0, sd: (n * (n + 1.0) * (2.0 * n + 1.0) / 6.0).sqrt() };
        for doubled in (0..total as u64).step_by(200) {
            let error = (exact.at_most(doubled) - normal.at_most(doubled)).abs();
            assert!(error < 5e-4, "off by {error} at {doubled}");
        }
        let over = RankInterval::new(&differences, 0.95).unwrap();
        let under = RankInterval::new(&differences[..EXACT_MAX], 0.95).unwrap();
        assert!((over.confidence - under.confidence).abs() < 1e-3);
        assert!((over.low - under.low).abs() < 1.0 && (over.high - under.high).abs() < 1.0);
    }

    proptest! {
        #[test]
        fn the_interval_excludes_zero_exactly_when_the_test_rejects(
            differences in prop::collection::vec(-10.0f64..14.0, 6..30),
        ) {
            // Continuous values: neither ties nor zeros, where the two are the same procedure.
            let p = SignedRank::new(&differences).p();
            let interval = RankInterval::new(&differences, 0.95).unwrap();
            let excludes = interval.low > 0.0 || interval.high < 0.0;
            prop_assert_eq!(p < 1.0 - interval.confidence + 1e-12, excludes);
            prop_assert!(interval.confidence >= 0.95);
        }
    }
}
