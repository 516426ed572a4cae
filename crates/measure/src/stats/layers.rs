//! Which layer the noise comes from: build, boot, process or run.
//!
//! Repeating the cheapest layer cannot average out the noise of one above it. The analysis of
//! Kalibera and Jones (2013, "Rigorous benchmarking in reasonable time") splits the variance of a
//! nested design into what each layer adds, and says how often each is worth repeating for its cost.
//! [`Nested`] is their balanced design; [`Groups`] are two layers of unequal size, such as builds
//! with the blocks that each of them ran.

/// A balanced nested experiment: every unit of a layer holds as many units of the layer below.
#[derive(Debug, Clone, PartialEq)]
pub struct Nested {
    /// Units per unit of the layer above, the innermost layer first.
    repetitions: Vec<usize>,
    /// Variance among the means of units within one unit of the layer above, averaged; innermost
    /// first.
    spreads: Vec<f64>,
}

impl Nested {
    /// `values` in order, the innermost layer varying fastest, with the number of `repetitions` of
    /// each layer, outermost first: `[builds, processes, runs]`.
    ///
    /// `None` unless there is a layer, each is repeated at least twice, the product is the number of
    /// values, and all values are finite.
    #[must_use]
    pub fn new(values: &[f64], repetitions: &[usize]) -> Option<Self> {
        let product = repetitions.iter().try_fold(1_usize, |p, &count| p.checked_mul(count))?;
        if repetitions.is_empty()
            || repetitions.iter().any(|&count| count < 2)
            || product != values.len()
            || values.iter().any(|value| !value.is_finite())
        {
            return None;
        }
        let repetitions: Vec<usize> = repetitions.iter().rev().copied().collect();
        let mut means = values.to_vec();
        let mut spreads = Vec::with_capacity(repetitions.len());
        for &count in &repetitions {
            let units = means.chunks_exact(count);
            spreads.push(mean(&units.clone().map(variance).collect::<Vec<_>>()));
            means = units.map(mean).collect();
        }
        Some(Self { repetitions, spreads })
    }

    /// T²: the variance that each layer adds by itself, innermost first, without bias.
    ///
    /// An estimate may be below zero, where the layers below explain more than all there is: that
    /// layer adds nothing that can be seen.
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        let inherited = self.spreads.iter().zip(&self.repetitions);
        let inherited =
            std::iter::once(0.0).chain(inherited.map(|(spread, &count)| spread / count as f64));
        self.spreads.iter().zip(inherited).map(|(spread, below)| spread - below).collect()
    }

    /// How often to repeat each layer but the outermost within one unit of the layer above,
    /// innermost first, for the least variance at a given total cost: √((c₊/c)·(T²/T²₊)), with ₊ the
    /// layer above. The outermost layer takes what money is left.
    ///
    /// `costs` are of one unit of each layer by itself, innermost first, in any one unit. The numbers
    /// are not rounded: take the next whole one, at least 1. Infinite where the layer above adds no
    /// variance, so that there is no reason to repeat it; 0 where the layer itself adds none. `None`
    /// unless there is one cost above zero for each layer.
    #[must_use]
    pub fn optimal_repetitions(&self, costs: &[f64]) -> Option<Vec<f64>> {
        if costs.len() != self.spreads.len() || !costs.iter().all(|&c| c > 0.0 && c.is_finite()) {
            return None;
        }
        let layers: Vec<(f64, f64)> =
            self.variances().into_iter().zip(costs.iter().copied()).collect();
        let above = layers.iter().skip(1);
        Some(layers.iter().zip(above).map(|(layer, above)| repeat(*layer, *above)).collect())
    }
}

/// Repetitions of a layer for its variance and cost, and those of the layer above.
fn repeat((variance, cost): (f64, f64), (variance_above, cost_above): (f64, f64)) -> f64 {
    if variance <= 0.0 {
        0.0
    } else if variance_above <= 0.0 {
        f64::INFINITY
    } else {
        (cost_above / cost * variance / variance_above).sqrt()
    }
}

/// Two layers of unequal size: groups, such as builds, and the values within each, such as blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Groups {
    /// Number of groups that have values.
    pub groups: u32,
    /// Standard deviation that the group adds: by the method of moments, 0 where the values within
    /// groups explain all there is.
    pub between_sd: f64,
    /// Standard deviation within a group.
    pub within_sd: f64,
    /// Standard error of the mean of group means, with groups as the units: n is `groups`, however
    /// many values each has.
    pub standard_error: f64,
}

impl Groups {
    /// One-way analysis of variance with random groups. Empty groups do not count.
    ///
    /// `None` for fewer than two groups, no group with two values, or values that are not finite.
    #[must_use]
    pub fn new<G: AsRef<[f64]>>(groups: &[G]) -> Option<Self> {
        let groups: Vec<&[f64]> =
            groups.iter().map(AsRef::as_ref).filter(|group: &&[f64]| !group.is_empty()).collect();
        let values = groups.concat();
        let (k, n) = (groups.len() as f64, values.len() as f64);
        if groups.len() < 2 || n <= k || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let (grand, means) = (mean(&values), groups.iter().map(|group| mean(group)));
        let sizes = groups.iter().map(|group| group.len() as f64);
        let between: f64 =
            sizes.clone().zip(means.clone()).map(|(size, m)| size * (m - grand).powi(2)).sum();
        let within: f64 = groups.iter().map(|group| squares(group)).sum();
        let (between, within) = (between / (k - 1.0), within / (n - k));
        // The size that groups would have if they were equal and as informative.
        let size = (n - sizes.map(|size| size * size).sum::<f64>() / n) / (k - 1.0);
        Some(Self {
            groups: u32::try_from(groups.len()).ok()?,
            between_sd: ((between - within) / size).max(0.0).sqrt(),
            within_sd: within.sqrt(),
            standard_error: (variance(&means.collect::<Vec<_>>()) / k).sqrt(),
        })
    }
}

/// Mean, summed around the first value so that a large offset does not cancel digits.
fn mean(values: &[f64]) -> f64 {
    let first = values.first().copied().unwrap_or(f64::NAN);
    first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64
}

/// Sum of squares around the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn variance(values: &[f64]) -> f64 {
    squares(values) / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulation::normal;
    use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

    /// Two builds of two processes of three runs: the test data of libkalibera.
    const VALUES: [f64; 12] = [3.0, 4.0, 3.0, 1.2, 3.1, 3.0, 0.2, 1.0, 1.5, 1.0, 2.0, 3.0];

    fn close(value: f64, reference: f64, tolerance: f64) {
        assert!((value - reference).abs() <= tolerance, "{value} is not {reference}");
    }

    #[test]
    fn three_layers_give_the_published_variances() {
        let variances = Nested::new(&VALUES, &[2, 2, 3]).unwrap().variances();
        assert_eq!(variances.len(), 3);
        close(variances[0], 0.726_666_7, 5e-8);
        close(variances[1], 0.262_777_8, 5e-8);
        close(variances[2], 0.774_7, 5e-5);
    }

    #[test]
    fn costs_give_the_published_repetitions() {
        let nested = Nested::new(&VALUES, &[2, 2, 3]).unwrap();
        let repetitions = nested.optimal_repetitions(&[3.0, 20.0, 100.0]).unwrap();
        close(repetitions[0], 4.293_7, 5e-5);
        close(repetitions[1], 1.302_3, 5e-5);
        assert_eq!(repetitions.iter().map(|r| r.ceil()).collect::<Vec<_>>(), [5.0, 2.0]);
    }

    #[test]
    fn the_worked_example_of_the_paper_has_a_layer_that_adds_nothing() {
        // Kalibera & Jones 2013: three builds of two executions of two iterations.
        let values = [9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0];
        let nested = Nested::new(&values, &[3, 2, 2]).unwrap();
        let variances = nested.variances();
        close(variances[0], 16.5, 0.05);
        close(variances[1], -5.7, 0.05);
        close(variances[2], 2.3, 0.05);
        assert_eq!(nested.optimal_repetitions(&[1.0; 3]).unwrap(), [f64::INFINITY, 0.0]);
        let two = Nested::new(&values, &[3, 4]).unwrap().variances();
        close(two[0], 12.7, 0.05);
        close(two[1], 0.4, 0.05);
    }

    #[test]
    fn a_design_that_does_not_fit_its_values_is_refused() {
        assert_eq!(Nested::new(&VALUES, &[2, 3]), None);
        assert_eq!(Nested::new(&VALUES, &[1, 12]), None);
        assert_eq!(Nested::new(&VALUES, &[]), None);
        assert_eq!(Nested::new(&[1.0, f64::NAN], &[2]), None);
        assert_eq!(Nested::new(&VALUES, &[usize::MAX, 2]), None);
        let nested = Nested::new(&VALUES, &[4, 3]).unwrap();
        assert_eq!(nested.optimal_repetitions(&[1.0]), None);
        assert_eq!(nested.optimal_repetitions(&[1.0, 0.0]), None);
    }

    #[test]
    fn equal_groups_are_the_nested_design_of_two_layers() {
        let groups: Vec<&[f64]> = VALUES.chunks_exact(3).collect();
        let layers = Groups::new(&groups).unwrap();
        let variances = Nested::new(&VALUES, &[4, 3]).unwrap().variances();
        assert_eq!(layers.groups, 4);
        close(layers.within_sd.powi(2), variances[0], 1e-12);
        close(layers.between_sd.powi(2), variances[1], 1e-12);
    }

    #[test]
    fn unequal_groups_by_hand() {
        // Means 2 and 6 of 2 and 4 values; squares within 2 and 2; grand mean 14/3.
        let layers = Groups::new(&[vec![1.0, 3.0], vec![5.0, 6.0, 6.0, 7.0], vec![]]).unwrap();
        let between = 2.0 * (2.0_f64 - 14.0 / 3.0).powi(2) + 4.0 * (6.0_f64 - 14.0 / 3.0).powi(2);
        close(layers.within_sd.powi(2), 1.0, 1e-12);
        close(layers.between_sd.powi(2), (between - 1.0) / (6.0 - 20.0 / 6.0), 1e-12);
        close(layers.standard_error, 2.0, 1e-12);
        assert_eq!(layers.groups, 2);
    }

    #[test]
    fn groups_that_do_not_differ_add_nothing() {
        let layers = Groups::new(&[[1.0, 3.0], [3.0, 1.0]]).unwrap();
        assert_eq!((layers.between_sd, layers.standard_error), (0.0, 0.0));
        assert_eq!(Groups::new(&[[1.0, 3.0]]), None);
        assert_eq!(Groups::new(&[[1.0], [3.0]]), None);
        assert_eq!(Groups::new(&[[1.0, 2.0], [3.0, f64::INFINITY]]), None);
        assert_eq!(Groups::new::<Vec<f64>>(&[]), None);
    }

    #[test]
    fn planted_variances_are_found_without_bias() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let (mut between, mut within) = (0.0, 0.0);
        const CAMPAIGNS: u32 = 2000;
        for _ in 0..CAMPAIGNS {
            let groups: Vec<Vec<f64>> = [4, 6, 8, 10, 12, 20]
                .iter()
                .map(|&size| {
                    let build = 2.0 * normal(&mut rng);
                    (0..size).map(|_| build + normal(&mut rng)).collect()
                })
                .collect();
            let layers = Groups::new(&groups).unwrap();
            between += layers.between_sd.powi(2);
            within += layers.within_sd.powi(2);
        }
        close(between / f64::from(CAMPAIGNS), 4.0, 0.2);
        close(within / f64::from(CAMPAIGNS), 1.0, 0.02);
    }
}
