//! Where a monotone condition turns: the one way in which this module inverts a function.
//!
//! Bisection is slow and cannot fail. It is no further off than the function that it inverts, which
//! matters more here than speed: library inverses have had wrong answers in the tails.

/// Halvings after which the bracket has shrunk by 2⁻¹²⁰ and floats have long met.
const HALVINGS_MAX: u32 = 120;

/// The place between `low` and `high` where `before` turns from true to false.
///
/// `before` must be true up to that place and false from there on; where it is the same everywhere
/// the nearer end is the answer.
pub(super) fn turning_point(mut low: f64, mut high: f64, before: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS_MAX {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if before(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_is_found_to_the_last_bits() {
        let root = turning_point(0.0, 10.0, |x| x * x < 2.0);
        assert!((root - 2.0_f64.sqrt()).abs() < 1e-15, "{root}");
        assert!(turning_point(-50.0, 70.0, |x| x < 0.0).abs() < 1e-30);
    }

    #[test]
    fn a_condition_that_never_turns_gives_an_end() {
        assert!((turning_point(1.0, 2.0, |_| true) - 2.0).abs() < 1e-15);
        assert!((turning_point(1.0, 2.0, |_| false) - 1.0).abs() < 1e-15);
    }
}
