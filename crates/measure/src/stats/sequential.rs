//! Stopping when it is clear, without paying for the looks in false claims.
//!
//! A campaign registers its largest size and a few looks on the way there. At each look the statistic
//! is compared with a boundary that is high at first and comes down to nearly the ordinary one, so
//! that all looks together claim a difference that is not there with probability α. The boundaries
//! are those of the spending function of Lan and DeMets (1983) that imitates O'Brien and Fleming,
//! with α/2 spent on each side. How the probability of having crossed builds up from look to look is
//! integrated numerically (Armitage, McPherson and Rowe 1969).
//!
//! A campaign that stopped early stopped because it was extreme, so its plain mean exaggerates and
//! its plain interval covers too rarely. The inference here is of the *stage-wise ordering*
//! (Tsiatis, Rosner and Mehta 1984): a crossing at an earlier look is more extreme than any at a
//! later one, and at one look the larger statistic is. p, estimate and interval come from that one
//! order, and so they agree: the interval at level 1 − α excludes zero exactly when a boundary was
//! crossed, at the last look as at any other. (At the boundary itself it touches zero.)
//!
//! Statistics are normal: Z at a look with information fraction t has mean θ√t and variance 1, where
//! θ, the *drift*, is the mean of Z at the last look. [`Boundaries::mean_at_stop`] takes an estimated
//! spread instead. Student's t is exchanged for the normal deviate with the same p, and the chance to
//! have crossed an earlier boundary is that of the noncentral t: with four blocks it takes a large
//! effect to cross, and a θ that ignores this comes out far too small (of 20 blocks and twice the
//! effect that they are planned for, the interval would cover 74 % instead of 95 %).

use super::PairedT;
use super::normal;
use super::power::{DELTA_MAX, noncentral_t_cdf};
use super::root::turning_point;
use super::student::{normal_deviate, quantile_above};
use super::walk::{REACH, Walk};

/// Most looks of a design.
pub const LOOKS_MAX: usize = 50;

/// Least part of the information from one look to the next: the grid grows finer with it.
const FRACTION_STEP_MIN: f64 = 0.001;

/// A two-sided group-sequential design.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundaries {
    stages: Vec<Stage>,
}

/// One look.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stage {
    /// Share of the information of the last look.
    fraction: f64,
    /// A boundary is crossed at this statistic or beyond it, in either direction; at most [`REACH`].
    critical_z: f64,
}

/// What may be said of a campaign that stopped, taking into account that it could have stopped
/// earlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopAdjusted {
    /// Two-sided p against no difference.
    pub p: f64,
    /// Median-unbiased estimate: as likely too high as too low.
    pub estimate: f64,
    /// Interval at the confidence that was asked for.
    pub interval: [f64; 2],
}

impl Boundaries {
    /// The O'Brien–Fleming-type design with looks at these `fractions` of the full information, for
    /// blocks n/n_max, and level `alpha` for both sides together.
    ///
    /// `None` unless there are 1 to [`LOOKS_MAX`] fractions, each at least 0.001 above the one before
    /// it (the first above zero), the last is 1, and `alpha` is in (0, 1).
    #[must_use]
    pub fn obrien_fleming(fractions: &[f64], alpha: f64) -> Option<Self> {
        if !(alpha > 0.0 && alpha < 1.0) {
            return None;
        }
        // Per side: 2·(1 − Φ(z/√t)) with z such that half of alpha is spent at t = 1.
        let z = normal::deviate_above(alpha / 4.0);
        let spent = |fraction: f64| 2.0 * normal::above(z / fraction.sqrt());
        let mut before = 0.0;
        Self::build(fractions, |arriving, fraction| {
            let spend = spent(fraction) - spent(before);
            before = fraction;
            turning_point(0.0, REACH, |z| arriving.above(fraction, z) > spend)
        })
    }

    /// Stages one after the other, each with the boundary that `critical` names for it.
    fn build(fractions: &[f64], mut critical: impl FnMut(&Walk, f64) -> f64) -> Option<Self> {
        let mut steps = std::iter::once(&0.0).chain(fractions).zip(fractions);
        if fractions.len() > LOOKS_MAX
            || fractions.last() != Some(&1.0)
            || !steps.all(|(last, next)| next - last >= FRACTION_STEP_MIN)
        {
            return None;
        }
        let mut arriving = Walk::start();
        let mut stages = Vec::with_capacity(fractions.len());
        let following = fractions.iter().skip(1).chain(std::iter::once(&f64::INFINITY));
        for (&fraction, &following) in fractions.iter().zip(following) {
            let critical_z = critical(&arriving, fraction);
            stages.push(Stage { fraction, critical_z });
            arriving = arriving.going_on(fraction, [-critical_z, critical_z], following);
        }
        Some(Self { stages })
    }

    /// Number of looks.
    #[must_use]
    pub fn looks(&self) -> usize {
        self.stages.len()
    }

    /// The boundary at every look: |Z| there or above it stops the campaign.
    #[must_use]
    pub fn critical_z(&self) -> Vec<f64> {
        self.stages.iter().map(|stage| stage.critical_z).collect()
    }

    /// The boundary at `look`, from 0, as an ordinary two-sided p: that or a smaller one stops the
    /// campaign. `None` for a look that is not in the design.
    #[must_use]
    pub fn nominal_p(&self, look: usize) -> Option<f64> {
        self.stages.get(look).map(|stage| 2.0 * normal::above(stage.critical_z))
    }

    /// Whether `z` stops the campaign at `look`, from 0; `None` for a look that is not in the design.
    #[must_use]
    pub fn crossed(&self, look: usize, z: f64) -> Option<bool> {
        self.stages.get(look).map(|stage| z.abs() >= stage.critical_z)
    }

    /// The chance that a campaign with `drift` crosses the upper boundary at some look.
    #[must_use]
    pub fn power(&self, drift: f64) -> f64 {
        let last = self.stages.last().map_or(0.0, |stage| stage.critical_z);
        self.at_least(self.looks() - 1, last, drift)
    }

    /// Inference on the drift after a stop at `look`, from 0, with statistic `z` of known spread.
    ///
    /// `None` unless it was a stop, by a crossed boundary or at the last look, `z` is a number, and
    /// `confidence` is in (0, 1). An infinite `z` counts as one of p = 1e-300.
    #[must_use]
    pub fn drift_at_stop(&self, look: usize, z: f64, confidence: f64) -> Option<StopAdjusted> {
        let z = z.clamp(-normal::DEVIATE_MAX, normal::DEVIATE_MAX);
        self.stopped(look, z, confidence)?;
        let reach = self.reach(z);
        Some(StopAdjusted::solve(self.p(look, z), confidence, |target| {
            turning_point(-reach, reach, |drift| self.at_least(look, z, drift) < target)
        }))
    }

    /// Inference on the mean difference after a stop at `look`, from 0, with the differences in
    /// `summary`; earlier looks had as many as the fractions say.
    ///
    /// At the first look this is Student's t interval itself. `None` as in
    /// [`Boundaries::drift_at_stop`], where Z is [`PairedT::z`].
    #[must_use]
    pub fn mean_at_stop(
        &self,
        look: usize,
        summary: &PairedT,
        confidence: f64,
    ) -> Option<StopAdjusted> {
        let z = summary.z();
        self.stopped(look, z, confidence)?;
        let Some(t) = summary.t() else {
            let mean = summary.mean;
            return Some(StopAdjusted { p: self.p(look, z), estimate: mean, interval: [mean; 2] });
        };
        let estimated = Estimated::new(self, look, summary.n)?;
        // Means that many standard errors away are beyond any end of the interval.
        let reach = self.reach(t.abs() + quantile_above((1.0 - confidence) / 2.0, summary.df()));
        let unit = estimated.fraction.sqrt() * summary.standard_error();
        Some(StopAdjusted::solve(self.p(look, z), confidence, |target| {
            unit * turning_point(-reach, reach, |drift| estimated.at_least(t, drift) < target)
        }))
    }

    /// Repeated confidence interval of the mean at `look`, from 0: the boundary turned into an
    /// interval at level 1 − α. It holds whether or not the campaign stops here, so it is what may be
    /// shown of a campaign that goes on. `None` for a look that is not in the design.
    #[must_use]
    pub fn repeated_interval(&self, look: usize, summary: &PairedT) -> Option<[f64; 2]> {
        let tail = normal::above(self.stages.get(look)?.critical_z);
        let half = quantile_above(tail, summary.df()) * summary.standard_error();
        Some([summary.mean - half, summary.mean + half])
    }

    /// Something, if the campaign did stop at `look` and the confidence is one.
    fn stopped(&self, look: usize, z: f64, confidence: f64) -> Option<()> {
        let stop = self.crossed(look, z)? || look + 1 == self.looks();
        (stop && !z.is_nan() && confidence > 0.0 && confidence < 1.0).then_some(())
    }

    /// Two-sided p in the stage-wise order: twice the smaller tail.
    fn p(&self, look: usize, z: f64) -> f64 {
        (2.0 * self.at_least(look, z, 0.0).min(self.at_least(look, -z, 0.0))).min(1.0)
    }

    /// P(an outcome as high as `z` at `look`, or higher) for a drift, in the stage-wise order. Grows
    /// with the drift.
    pub(super) fn at_least(&self, look: usize, z: f64, drift: f64) -> f64 {
        let mean = |stage: &Stage| drift * stage.fraction.sqrt();
        let last = self.stages.get(look).map_or(z, |stage| z - mean(stage));
        self.centred_at_least(look, last, |_, stage| {
            [-stage.critical_z - mean(stage), stage.critical_z - mean(stage)]
        })
    }

    /// The same where all statistics, and the `bounds` at each earlier look, are less their means.
    ///
    /// The sum holds for a stop at either boundary and at the last look: what stopped earlier below,
    /// what reached the look and is below `z`, and what is counted here are all there is.
    fn centred_at_least(
        &self,
        look: usize,
        z: f64,
        bounds: impl Fn(usize, &Stage) -> [f64; 2],
    ) -> f64 {
        let (mut arriving, mut earlier) = (Walk::start(), 0.0);
        let following = self.stages.iter().skip(1);
        for (index, (stage, following)) in self.stages.iter().zip(following).enumerate().take(look)
        {
            let bounds = bounds(index, stage);
            earlier += arriving.above(stage.fraction, bounds[1]);
            arriving = arriving.going_on(stage.fraction, bounds, following.fraction);
        }
        earlier + self.stages.get(look).map_or(0.0, |stage| arriving.above(stage.fraction, z))
    }

    /// Drifts beyond this, either way, make an outcome within `statistic` nearly impossible.
    fn reach(&self, statistic: f64) -> f64 {
        let first = self.stages.first().map_or(1.0, |stage| stage.fraction);
        (statistic.abs() + 2.0 * REACH) / first.sqrt()
    }
}

impl StopAdjusted {
    /// The three values at which the outcome has its three places in the stage-wise order.
    fn solve(p: f64, confidence: f64, value: impl Fn(f64) -> f64) -> Self {
        let tail = (1.0 - confidence) / 2.0;
        Self { p, estimate: value(0.5), interval: [value(tail), value(1.0 - tail)] }
    }
}

/// A stop whose statistic is Student's t, of a spread estimated at each look.
pub(super) struct Estimated<'a> {
    boundaries: &'a Boundaries,
    look: usize,
    /// Of the look at which it stopped.
    fraction: f64,
    /// Degrees of freedom there.
    df: f64,
    /// Degrees of freedom and boundary, as a t statistic, of every look before.
    earlier: Vec<(f64, f64)>,
}

impl<'a> Estimated<'a> {
    pub(super) fn new(boundaries: &'a Boundaries, look: usize, n: u32) -> Option<Self> {
        let fraction = boundaries.stages.get(look)?.fraction;
        let earlier = boundaries.stages.iter().take(look).map(|stage| {
            let df = (f64::from(n) * stage.fraction / fraction - 1.0).max(1.0);
            (df, quantile_above(normal::above(stage.critical_z), df))
        });
        let earlier = earlier.collect();
        Some(Self { boundaries, look, fraction, df: f64::from(n) - 1.0, earlier })
    }

    /// P(an outcome as high as `t`, or higher) for a drift, in the stage-wise order. Grows with it.
    ///
    /// Less its mean, each boundary is the normal deviate of its chance to be crossed at that look;
    /// the looks hang together as those of a known spread do. Without drift these are the boundaries
    /// themselves.
    pub(super) fn at_least(&self, t: f64, drift: f64) -> f64 {
        let shift = drift * self.fraction.sqrt();
        let last = normal_deviate(t - shift, self.df);
        self.boundaries.centred_at_least(self.look, last, |index, stage| {
            let Some(&(df, critical)) = self.earlier.get(index) else {
                return [-stage.critical_z, stage.critical_z];
            };
            let delta = (drift * stage.fraction.sqrt()).clamp(-DELTA_MAX, DELTA_MAX);
            let beyond = |delta| normal::deviate_above(noncentral_t_cdf(-critical, df, delta));
            [-beyond(delta), beyond(-delta)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIFTHS: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];

    fn design() -> Boundaries {
        Boundaries::obrien_fleming(&FIFTHS, 0.05).unwrap()
    }

    fn close(value: f64, reference: f64, tolerance: f64) {
        assert!((value - reference).abs() <= tolerance, "{value} is not {reference}");
    }

    #[test]
    fn five_equal_looks_give_the_published_boundaries() {
        for (z, published) in design().critical_z().iter().zip([4.877, 3.357, 2.680, 2.290, 2.031])
        {
            close(*z, published, 5e-4);
        }
        close(design().nominal_p(4).unwrap(), 2.0 * normal::above(2.031), 5e-5);
        assert_eq!(design().nominal_p(5), None);
    }

    #[test]
    fn one_look_is_the_ordinary_test() {
        let single = Boundaries::obrien_fleming(&[1.0], 0.05).unwrap();
        close(single.critical_z()[0], 1.959_963_985, 1e-8);
        let plain = single.drift_at_stop(0, 3.0, 0.95).unwrap();
        close(plain.p, 2.0 * normal::above(3.0), 1e-12);
        close(plain.estimate, 3.0, 1e-9);
        close(plain.interval[0], 3.0 - 1.959_963_985, 1e-8);
        close(plain.interval[1], 3.0 + 1.959_963_985, 1e-8);
    }

    #[test]
    fn pococks_constant_spends_five_percent_over_five_looks() {
        let pocock = Boundaries::build(&FIFTHS, |_, _| 2.413).unwrap();
        close(2.0 * pocock.power(0.0), 0.05, 5e-5);
    }

    #[test]
    fn all_looks_together_spend_alpha_whatever_their_spacing() {
        for fractions in [&FIFTHS[..], &[0.013, 0.3, 0.31, 0.99, 1.0], &[0.5, 1.0]] {
            for alpha in [0.001, 0.05, 0.3] {
                let boundaries = Boundaries::obrien_fleming(fractions, alpha).unwrap();
                close(2.0 * boundaries.power(0.0), alpha, 1e-9);
            }
        }
        let many: Vec<f64> = (1..=50).map(|look| f64::from(look) / 50.0).collect();
        let many = Boundaries::obrien_fleming(&many, 0.05).unwrap();
        close(2.0 * many.power(0.0), 0.05, 1e-9);
    }

    #[test]
    fn inference_after_a_stop_agrees_with_an_independent_integration() {
        // The same recursion with Simpson's rule under each drift itself, in another language.
        for (look, z, p, estimate, low, high) in [
            (2, 3.0, 0.003_121_213_5, 3.851_546_18, 1.304_445_27, 6.388_892_01),
            (4, 2.1, 0.044_635_327_6, 2.044_961_47, 0.049_444_76, 4.021_622_41),
            (4, 1.0, 0.317_575_834_8, 0.999_556_43, -0.960_668_81, 2.959_642_38),
        ] {
            let stop = design().drift_at_stop(look, z, 0.95).unwrap();
            close(stop.p, p, 1e-8);
            close(stop.estimate, estimate, 1e-6);
            close(stop.interval[0], low, 1e-6);
            close(stop.interval[1], high, 1e-6);
        }
    }

    #[test]
    fn a_campaign_that_goes_on_has_no_final_inference() {
        assert_eq!(design().drift_at_stop(2, 2.5, 0.95), None);
        assert_eq!(design().drift_at_stop(5, 9.0, 0.95), None);
        assert_eq!(design().drift_at_stop(4, 1.0, 1.0), None);
        assert_eq!(design().drift_at_stop(4, f64::NAN, 0.95), None);
        assert!(design().drift_at_stop(2, -2.7, 0.95).is_some());
        assert_eq!(design().crossed(2, -2.7), Some(true));
        assert_eq!(design().crossed(2, 2.6), Some(false));
        assert_eq!(design().crossed(5, 2.6), None);
    }

    #[test]
    fn designs_that_cannot_be_carried_out_are_refused() {
        let refused = |fractions: &[f64]| Boundaries::obrien_fleming(fractions, 0.05).is_none();
        assert!(refused(&[]) && refused(&[0.5]) && refused(&[0.5, 0.5, 1.0]));
        assert!(refused(&[0.0, 1.0]) && refused(&[f64::NAN, 1.0]) && refused(&[0.5, f64::NAN]));
        assert!(refused(&[0.999_9, 1.0]) && refused(&[-0.5, 1.0]) && refused(&[0.5, 2.0]));
        assert!(Boundaries::obrien_fleming(&FIFTHS, 0.0).is_none());
        assert!(Boundaries::obrien_fleming(&FIFTHS, f64::NAN).is_none());
    }

    fn summary(n: u32, mean: f64) -> PairedT {
        PairedT { n, mean, sd: 1.0 }
    }

    #[test]
    fn at_the_first_look_the_interval_is_students_own() {
        let (t, early) = (summary(10, 4.0), design());
        assert_eq!(early.crossed(0, t.z()), Some(true));
        let stop = early.mean_at_stop(0, &t, 0.95).unwrap();
        let [low, high] = t.interval(0.95);
        close(stop.estimate, 4.0, 1e-6);
        close(stop.interval[0], low, 1e-6);
        close(stop.interval[1], high, 1e-6);
        close(stop.p, t.p(), 1e-9);
    }

    #[test]
    fn many_blocks_make_the_mean_of_known_spread() {
        let t = summary(1_000_000, 0.003);
        let by_t = design().mean_at_stop(2, &t, 0.95).unwrap();
        let by_z = design().drift_at_stop(2, t.z(), 0.95).unwrap();
        let scale = 0.6_f64.sqrt() * t.standard_error();
        close(by_t.estimate / scale, by_z.estimate, 1e-4);
        close(by_t.interval[0] / scale, by_z.interval[0], 1e-4);
        close(by_t.interval[1] / scale, by_z.interval[1], 1e-4);
    }

    #[test]
    fn differences_without_spread_are_a_point() {
        let same = PairedT { n: 10, mean: 0.5, sd: 0.0 };
        let stop = design().mean_at_stop(0, &same, 0.95).unwrap();
        assert_eq!((stop.estimate, stop.interval), (0.5, [0.5, 0.5]));
        assert!(stop.p < 1e-200);
        let zero = PairedT { n: 50, mean: 0.0, sd: 0.0 };
        assert_eq!(design().mean_at_stop(4, &zero, 0.95).unwrap().p, 1.0);
        assert_eq!(design().mean_at_stop(0, &zero, 0.95), None);
    }

    #[test]
    fn stopping_early_takes_something_off_the_mean() {
        let t = summary(30, 0.6);
        let stop = design().mean_at_stop(2, &t, 0.95).unwrap();
        assert!(0.5 < stop.estimate && stop.estimate < 0.6, "{stop:?}");
        let [low, high] = design().repeated_interval(2, &t).unwrap();
        assert!(0.0 < low && low < stop.interval[0] && stop.interval[1] < high, "{stop:?}");
    }

    #[test]
    fn the_repeated_interval_excludes_zero_exactly_beyond_the_boundary() {
        for look in 0..5 {
            let critical = quantile_above(design().nominal_p(look).unwrap() / 2.0, 9.0);
            for (factor, beyond) in [(0.999_99, false), (1.000_01, true)] {
                let t = summary(10, factor * critical / 10.0_f64.sqrt());
                let [low, _] = design().repeated_interval(look, &t).unwrap();
                assert_eq!(low > 0.0, beyond, "look {look}");
                assert_eq!(design().crossed(look, t.z()), Some(beyond), "look {look}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_interval_excludes_zero_exactly_when_a_boundary_was_crossed(
            look in 0usize..5, z in -9.0f64..9.0, n in 4u32..60,
        ) {
            let boundaries = design();
            let crossed = boundaries.crossed(look, z).unwrap();
            let t = quantile_above(normal::above(z.abs()).min(0.5), f64::from(n) - 1.0);
            let t = summary(n, t.copysign(z) / f64::from(n).sqrt());
            let stops =
                [boundaries.drift_at_stop(look, z, 0.95), boundaries.mean_at_stop(look, &t, 0.95)];
            for stop in stops {
                prop_assert_eq!(stop.is_some(), crossed || look == 4);
                let Some(StopAdjusted { p, estimate, interval: [low, high] }) = stop else {
                    continue;
                };
                prop_assert_eq!(low > 0.0 || high < 0.0, crossed, "{} {}", low, high);
                prop_assert_eq!(p < 0.05, crossed);
                prop_assert!(low < estimate && estimate < high);
            }
        }

        #[test]
        fn inference_mirrors_and_grows_with_the_statistic(
            look in 0usize..5, z in 0.0f64..9.0, more in 0.01f64..1.0,
        ) {
            let boundaries = design();
            let stop = |z| boundaries.drift_at_stop(look, z, 0.95);
            if let (Some(stop), Some(mirror)) = (stop(z), stop(-z)) {
                prop_assert!((stop.p - mirror.p).abs() < 1e-12);
                prop_assert!((stop.estimate + mirror.estimate).abs() < 1e-6);
                prop_assert!((stop.interval[0] + mirror.interval[1]).abs() < 1e-6);
            }
            if let (Some(less), Some(more)) = (stop(z), stop(z + more)) {
                // Far out, all of it is decided by having come so far, to the last bits.
                let least = if z < 3.0 { 1e-12 } else { -1e-9 };
                prop_assert!(less.p - more.p >= least);
                prop_assert!(more.estimate - less.estimate >= least);
                prop_assert!(more.interval[0] - less.interval[0] >= least);
                prop_assert!(more.interval[1] - less.interval[1] >= least);
            }
        }
    }
}
