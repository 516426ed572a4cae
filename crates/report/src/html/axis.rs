//! From data to pixels: a linear scale with round ticks, made of finite numbers only.

use crate::figures::decimal;

/// Beyond this, sums and differences of data could leave the range of a float.
const DATA_MAX: f64 = 1e300;

/// About how many intervals between ticks an axis gets.
const INTERVALS: f64 = 7.0;

/// A number that can be drawn.
pub(crate) fn drawable(value: f64) -> Option<f64> {
    (value.abs() < DATA_MAX).then_some(value)
}

/// A linear scale.
pub(crate) struct Axis {
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
    step: f64,
}

impl Axis {
    /// A scale that holds every drawable value with a margin; `None` without one.
    pub(crate) fn new(
        values: impl IntoIterator<Item = f64>,
        (from_px, to_px): (f64, f64),
    ) -> Option<Self> {
        let range = values.into_iter().filter_map(drawable).map(|v| (v, v));
        let (low, high) = range.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let span = high - low;
        let tiny = low.abs().max(high.abs()) * 1e-9;
        let margin = if span > tiny {
            span * 0.06
        } else if low == 0.0 {
            1.0
        } else {
            low.abs() * 0.01
        };
        // A margin below the smallest normal number would vanish in the division below.
        let margin = margin.max(f64::MIN_POSITIVE * 1e16);
        let (low, high) = (low - margin, high + margin);
        Some(Self { low, high, from_px, to_px, step: round_step((high - low) / INTERVALS) })
    }

    /// Where a value stands, in pixels, kept within the scale.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let px = self.from_px + share * (self.to_px - self.from_px);
        if px.is_finite() { px } else { self.from_px }
    }

    /// Round values within the scale, with their labels.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step).ceil();
        let decimals = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        (0..12)
            .map(|i| (first + f64::from(i)) * self.step)
            .take_while(|tick| *tick <= self.high)
            .map(|tick| (tick, self.label(tick, decimals)))
            .collect()
    }

    fn label(&self, tick: f64, decimals: usize) -> String {
        let largest = self.low.abs().max(self.high.abs());
        if !(1e-6..1e7).contains(&largest) {
            let digits = (largest / self.step).log10().ceil().clamp(0.0, 12.0) as usize;
            return if tick == 0.0 { "0".to_owned() } else { format!("{tick:.digits$e}") };
        }
        decimal(tick, decimals)
    }
}

/// The least of 1, 2 and 5 times a power of ten that is no smaller than `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * 0.999_999);
    let rounded = factor.unwrap_or(10.0) * power;
    if rounded.is_normal() { rounded } else { step }
}

/// A coordinate as SVG takes it: finite, to a hundredth.
pub(crate) fn px(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-10_000.0, 10_000.0) } else { 0.0 };
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_within_the_data() {
        let axis = Axis::new([-0.62, 0.1], (0.0, 100.0)).unwrap();
        let labels: Vec<String> = axis.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["-0.6", "-0.4", "-0.2", "0.0"]);
    }

    #[test]
    fn a_single_value_still_has_a_scale() {
        let axis = Axis::new([7.0], (0.0, 100.0)).unwrap();
        assert_eq!(axis.at(7.0), 50.0);
        assert!(Axis::new([f64::NAN, f64::INFINITY], (0.0, 100.0)).is_none());
    }

    proptest! {
        #[test]
        fn every_coordinate_is_finite_and_inside(
            a in any::<u64>(),
            b in any::<u64>(),
            c in any::<u64>(),
        ) {
            let values = [a, b, c].map(f64::from_bits);
            if let Some(axis) = Axis::new(values, (10.0, 90.0)) {
                for value in values {
                    let at = axis.at(value);
                    prop_assert!((10.0..=90.0).contains(&at), "{value} at {at}");
                }
                let ticks = axis.ticks();
                prop_assert!(ticks.len() <= 12);
                for (tick, label) in ticks {
                    prop_assert!(tick.is_finite() && label.len() < 40, "{label}");
                }
            }
        }
    }
}
