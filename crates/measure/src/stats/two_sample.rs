//! Two samples that are not paired: Welch's t and the Mann–Whitney test.
//!
//! Campaigns of this crate are paired and do not need them. They are for figures from elsewhere: two
//! files of benchmark results, a published table, the same data judged the usual way.

use super::normal;
use super::student::{PairedT, quantile, upper_tail};

/// Most values, both samples together, for which rank sums are counted exactly; the work grows with
/// the fourth power of it.
const EXACT_MAX: usize = 100;

/// Welch's t test: the difference of two means, each with its own spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Mean of the first sample less mean of the second.
    pub difference: f64,
    /// Standard error of `difference`; 0 when neither sample has spread.
    pub standard_error: f64,
    /// Degrees of freedom by Satterthwaite's formula; infinite without spread.
    pub df: f64,
}

impl Welch {
    /// Compares two samples; `None` when one has fewer than two values or one that is not finite.
    #[must_use]
    pub fn new(first: &[f64], second: &[f64]) -> Option<Self> {
        let (first, second) = (PairedT::new(first)?, PairedT::new(second)?);
        let variances = [first.standard_error().powi(2), second.standard_error().powi(2)];
        let sum = variances[0] + variances[1];
        let df = if sum > 0.0 {
            // Shares of the variance, so that tiny variances do not vanish when squared.
            let shares = variances.map(|variance| variance / sum);
            1.0 / (shares[0].powi(2) / first.df() + shares[1].powi(2) / second.df())
        } else {
            f64::INFINITY
        };
        Some(Self { difference: first.mean - second.mean, standard_error: sum.sqrt(), df })
    }

    /// The t statistic; `None` without spread, where it has no value.
    #[must_use]
    pub fn t(&self) -> Option<f64> {
        (self.standard_error > 0.0).then(|| self.difference / self.standard_error)
    }

    /// Two-sided p against equal means. Without spread it is 1 for equal means and 0 otherwise.
    #[must_use]
    pub fn p(&self) -> f64 {
        match self.t() {
            Some(t) => (2.0 * upper_tail(t.abs(), self.df)).min(1.0),
            None if self.difference == 0.0 => 1.0,
            None => 0.0,
        }
    }

    /// Two-sided interval of the difference at `confidence` in (0, 1).
    #[must_use]
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        if self.standard_error == 0.0 {
            return [self.difference; 2];
        }
        let half = quantile(0.5 + confidence / 2.0, self.df) * self.standard_error;
        [self.difference - half, self.difference + half]
    }
}

/// Mann–Whitney test, also named Wilcoxon's rank-sum test.
///
/// Tied values share their mean rank. Up to 100 values in all, p is exact given the ties: every
/// choice of which ranks make up the first sample is counted. Above, the normal approximation with
/// the variance that the ties leave and a continuity correction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// W as R gives it: pairs in which the first sample's value is larger, a tie counting half.
    pub w: f64,
    /// One-sided p for "the first sample is greater".
    pub p_greater: f64,
    /// One-sided p for "the first sample is less".
    pub p_less: f64,
}

impl MannWhitney {
    /// Compares two samples; `None` when one is empty or has a value that is not a number.
    #[must_use]
    pub fn new(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.is_empty() || second.is_empty() {
            return None;
        }
        let ranked = Ranked::of(first, second)?;
        let n = first.len() as u64;
        let (p_greater, p_less) = if ranked.doubled.len() <= EXACT_MAX {
            ranked.exact_tails(first.len())
        } else {
            ranked.normal_tails(first.len(), second.len())
        };
        let w = (ranked.first_sum - n * (n + 1)) as f64 / 2.0;
        Some(Self { w, p_greater, p_less })
    }

    /// Two-sided p: twice the smaller tail, at most 1.
    #[must_use]
    pub fn p(&self) -> f64 {
        (2.0 * self.p_greater.min(self.p_less)).min(1.0)
    }
}

/// Doubled mean ranks of both samples together, so that shared ranks stay whole numbers.
struct Ranked {
    /// Of every value, in order.
    doubled: Vec<u64>,
    /// Sum over the first sample.
    first_sum: u64,
    /// Σ(t³ − t) over groups of t tied values.
    ties: f64,
}

impl Ranked {
    fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        let mut values: Vec<(f64, bool)> = first.iter().map(|&value| (value, true)).collect();
        values.extend(second.iter().map(|&value| (value, false)));
        if values.iter().any(|(value, _)| value.is_nan()) {
            return None;
        }
        values.sort_by(|x, y| x.0.total_cmp(&y.0));
        let mut ranked =
            Self { doubled: Vec::with_capacity(values.len()), first_sum: 0, ties: 0.0 };
        for tied in values.chunk_by(|x, y| x.0 == y.0) {
            let size = tied.len() as u64;
            let rank = 2 * ranked.doubled.len() as u64 + 1 + size;
            ranked.first_sum += rank * tied.iter().filter(|(_, is_first)| *is_first).count() as u64;
            ranked.doubled.extend(std::iter::repeat_n(rank, tied.len()));
            ranked.ties += (size as f64).powi(3) - size as f64;
        }
        Some(ranked)
    }

    /// Upper and lower tail, both with the observed sum, over all choices of `chosen` of the ranks.
    fn exact_tails(&self, chosen: usize) -> (f64, f64) {
        let sums = self.doubled.iter().sum::<u64>() as usize + 1;
        // ways[size][sum]: choices of `size` ranks with that sum.
        let mut ways = vec![vec![0.0_f64; sums]; chosen + 1];
        if let Some(nothing) = ways.first_mut().and_then(|row| row.first_mut()) {
            *nothing = 1.0;
        }
        for &rank in &self.doubled {
            // From large sizes down, so that no rank is taken twice.
            for size in (1..=chosen).rev() {
                let (smaller, larger) = ways.split_at_mut(size);
                if let (Some(from), Some(to)) = (smaller.last(), larger.first_mut()) {
                    for (to, from) in to.iter_mut().skip(rank as usize).zip(from) {
                        *to += from;
                    }
                }
            }
        }
        let Some(counts) = ways.last() else { return (1.0, 1.0) };
        let observed = self.first_sum as usize;
        let all: f64 = counts.iter().sum();
        let greater: f64 = counts.iter().skip(observed).sum();
        let less: f64 = counts.iter().take(observed + 1).sum();
        (greater / all, less / all)
    }

    fn normal_tails(&self, n: usize, m: usize) -> (f64, f64) {
        let (n, m, observed) = (n as f64, m as f64, self.first_sum as f64 / 2.0);
        let all = n + m;
        let mean = n * (all + 1.0) / 2.0;
        let variance = n * m / 12.0 * (all + 1.0 - self.ties / (all * (all - 1.0)));
        if variance <= 0.0 {
            return (1.0, 1.0);
        }
        let tail = |distance: f64| normal::above((distance - 0.5) / variance.sqrt());
        (tail(observed - mean), tail(mean - observed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Extra sleep under either drug (R's data set `sleep`), here as if of two groups.
    const SLEEP: [[f64; 10]; 2] = [
        [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
        [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
    ];
    /// Permeability of the human chorioamnion at term and in weeks 12 to 26 (Hollander & Wolfe
    /// 1973, p. 69; the second example of R's `?wilcox.test`).
    const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLY: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];
    /// Nanoseconds of encoding with gob before and after (the example in the documentation of Go's
    /// benchstat).
    const GOB: [[f64; 10]; 2] = [
        [3069.0, 3075.0, 3069.0, 3067.0, 3207.0, 3064.0, 3064.0, 3058.0, 3059.0, 3062.0],
        [3075.0, 3065.0, 3059.0, 3065.0, 3060.0, 3081.0, 3186.0, 3135.0, 3087.0, 3062.0],
    ];
    /// The same with JSON.
    const JSON: [[f64; 10]; 2] = [
        [1726.0, 1723.0, 1707.0, 1707.0, 1713.0, 1729.0, 1736.0, 1707.0, 1705.0, 1774.0],
        [1423.0, 1416.0, 1411.0, 1413.0, 1412.0, 1426.0, 1422.0, 1424.0, 1447.0, 1425.0],
    ];

    fn close(value: f64, reference: f64, tolerance: f64) {
        assert!((value - reference).abs() <= tolerance, "{value} is not {reference}");
    }

    #[test]
    fn sleep_data_give_the_published_welch_test() {
        let test = Welch::new(&SLEEP[0], &SLEEP[1]).unwrap();
        close(test.t().unwrap(), -1.8608, 5e-5);
        close(test.df, 17.776, 5e-4);
        close(test.p(), 0.07939, 5e-6);
        let [low, high] = test.interval(0.95);
        close(low, -3.365_483_2, 5e-8);
        close(high, 0.205_483_2, 5e-8);
    }

    #[test]
    fn samples_without_spread_differ_or_do_not() {
        let test = Welch::new(&[1.0, 1.0], &[2.0, 2.0]).unwrap();
        assert_eq!((test.t(), test.p(), test.interval(0.95)), (None, 0.0, [-1.0, -1.0]));
        assert_eq!(Welch::new(&[1.0, 1.0], &[1.0, 1.0]).unwrap().p(), 1.0);
        assert_eq!(Welch::new(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(Welch::new(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }

    #[test]
    fn permeability_data_give_the_published_rank_sum_test() {
        let test = MannWhitney::new(&TERM, &EARLY).unwrap();
        assert_eq!(test.w, 35.0);
        close(test.p_greater, 0.127_206_1, 5e-8);
        close(test.p(), 2.0 * 0.127_206_1, 1e-7);
        // The samples exchanged: the other 15 of 50 pairs.
        let exchanged = MannWhitney::new(&EARLY, &TERM).unwrap();
        assert_eq!(exchanged.w, 15.0);
        close(exchanged.p_less, test.p_greater, 1e-15);
    }

    #[test]
    fn benchmark_times_with_ties_give_the_documented_p() {
        let [old, new] = GOB;
        let test = MannWhitney::new(&old, &new).unwrap();
        assert_eq!(test.w, 39.5);
        close(test.p(), 0.446_101_9, 5e-8);
        let ranked = Ranked::of(&old, &new).unwrap();
        let (greater, less) = ranked.normal_tails(10, 10);
        close(2.0 * greater.min(less), 0.4487, 5e-5);
        // What the ties are worth: the exact p of 20 distinct values with W ≤ 40, the next whole number.
        let distinct = Ranked {
            doubled: (1..=20).map(|rank| 2 * rank).collect(),
            first_sum: 2 * (40 + 55),
            ties: 0.0,
        };
        close(2.0 * distinct.exact_tails(10).1, 0.4813, 5e-5);
    }

    #[test]
    fn a_clear_difference_is_as_rare_as_one_order_of_all() {
        let [old, new] = JSON;
        let test = MannWhitney::new(&old, &new).unwrap();
        assert_eq!(test.w, 100.0);
        close(test.p(), 2.0 / 184_756.0, 1e-15);
        let median = |mut values: [f64; 10]| {
            values.sort_by(f64::total_cmp);
            f64::midpoint(values[4], values[5])
        };
        close(100.0 * (median(new) / median(old) - 1.0), -17.20, 5e-3);
    }

    #[test]
    fn ties_are_counted_over_their_shared_ranks() {
        // Ranks 1.5, 1.5, 3.5, 3.5: of 6 choices of two, one has the sum 7 and one the sum 3.
        let test = MannWhitney::new(&[2.0, 2.0], &[1.0, 1.0]).unwrap();
        assert_eq!(test.w, 4.0);
        close(test.p_greater, 1.0 / 6.0, 1e-15);
        close(test.p_less, 1.0, 1e-15);
        let same = MannWhitney::new(&[1.0; 3], &[1.0; 4]).unwrap();
        assert_eq!((same.w, same.p()), (6.0, 1.0));
        let many = MannWhitney::new(&[1.0; 80], &[1.0; 40]).unwrap();
        assert_eq!((many.w, many.p()), (1600.0, 1.0));
        assert_eq!(MannWhitney::new(&[], &[1.0]), None);
        assert_eq!(MannWhitney::new(&[f64::NAN], &[1.0]), None);
        // A negative and a positive zero are one value.
        assert_eq!(MannWhitney::new(&[0.0], &[-0.0]).unwrap().w, 0.5);
    }

    #[test]
    fn the_approximation_takes_over_without_a_step() {
        for shift in [0, 7, 20, 40] {
            let first: Vec<f64> = (0..50).map(|i| f64::from(i * 13 % 50 + shift)).collect();
            let second: Vec<f64> = (0..50).map(|i| f64::from(i * 7 % 50) + 0.5).collect();
            let ranked = Ranked::of(&first, &second).unwrap();
            let (exact, normal) = (ranked.exact_tails(50), ranked.normal_tails(50, 50));
            close(exact.0, normal.0, 5e-4);
            close(exact.1, normal.1, 5e-4);
        }
    }

    proptest! {
        #[test]
        fn tails_cover_everything_and_exchange_with_the_samples(
            first in prop::collection::vec(0u8..9, 1..9),
            second in prop::collection::vec(0u8..9, 1..9),
        ) {
            let floats = |sample: &[u8]| sample.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let (first, second) = (floats(&first), floats(&second));
            let test = MannWhitney::new(&first, &second).unwrap();
            let exchanged = MannWhitney::new(&second, &first).unwrap();
            // Both tails hold the observed outcome.
            prop_assert!(test.p_greater + test.p_less > 1.0);
            prop_assert!((test.p_greater - exchanged.p_less).abs() < 1e-12);
            prop_assert_eq!(test.w + exchanged.w, (first.len() * second.len()) as f64);
        }
    }
}
