//! The standard normal distribution, by its tails: what is small keeps its digits.

use super::root::turning_point;
use statrs::function::erf::erfc;
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Largest deviate told apart from infinity: beyond it a tail is below 1e-300.
pub(super) const DEVIATE_MAX: f64 = 37.0;

/// Density at `z`.
pub(super) fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / TAU.sqrt()
}

/// P(Z > z).
pub(super) fn above(z: f64) -> f64 {
    0.5 * erfc(z * FRAC_1_SQRT_2)
}

/// P(Z ≤ z).
pub(super) fn below(z: f64) -> f64 {
    above(-z)
}

/// The z with P(Z > z) = `tail`, for `tail` in [0, 1], within ±[`DEVIATE_MAX`].
pub(super) fn deviate_above(tail: f64) -> f64 {
    turning_point(-DEVIATE_MAX, DEVIATE_MAX, |z| above(z) > tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_deviates_are_those_of_the_printed_tables() {
        for (tail, z) in [
            (0.025, 1.959_963_984_540),
            (0.05, 1.644_853_626_951),
            (0.2, 0.841_621_233_573),
            (0.9, -1.281_551_565_545),
            (1e-9, 5.997_807_015_008),
        ] {
            assert!((deviate_above(tail) - z).abs() < 1e-10, "{}", deviate_above(tail));
            assert!((above(z) / tail - 1.0).abs() < 1e-9);
        }
        assert!((density(0.0) - 0.398_942_280_401).abs() < 1e-12);
        assert!(deviate_above(0.5).abs() < 1e-15);
    }

    #[test]
    fn a_tail_of_nothing_is_as_far_as_deviates_go() {
        assert!((deviate_above(0.0) - DEVIATE_MAX).abs() < 1e-9);
        assert!(deviate_above(1.0) < -8.0);
        assert_eq!((above(f64::INFINITY), below(f64::INFINITY)), (0.0, 1.0));
    }
}
