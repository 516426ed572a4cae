//! When a campaign may look at its data, and what a look must show: the arithmetic of stopping.
//!
//! A look is a pure function of the units seen, so a campaign that is resumed or reported again
//! comes to the decision that it came to before.

use crate::plan::{LOOKS, Plan, Stop};
use crate::stats::Boundaries;

/// Level of every claim: two-sided 5 %.
pub(crate) const ALPHA: f64 = 0.05;

/// A stopping rule, worked out for a number of units.
#[derive(Debug, Clone)]
pub(crate) enum Design {
    /// One look, at the end.
    Fixed,
    /// A look at each of `units`, against the boundary of the same index.
    Sequential {
        /// Units seen at each look, increasing; the last is all of them.
        units: Vec<u32>,
        /// What each look is held against.
        boundaries: Boundaries,
    },
    /// A look after every unit from [`OPEN_UNITS_MIN`] on.
    Open {
        /// Units planned at most, for which the sequence is tuned.
        units_max: u32,
    },
}

/// Units before which an asymptotic confidence sequence is not looked at.
pub(crate) const OPEN_UNITS_MIN: u32 = 10;

impl Design {
    pub(crate) fn of(plan: &Plan) -> Self {
        match plan.stop {
            Stop::Fixed => Self::Fixed,
            Stop::Sequential => Self::sequential(plan.units()),
            Stop::Open => Self::Open { units_max: plan.units() },
        }
    }

    /// [`LOOKS`] looks as evenly spaced as `units` allow, without those that are too early for a
    /// claim: ranks and signs of n units have no p below 2¹⁻ⁿ, so a look whose boundary is lower
    /// could stop nothing.
    pub(crate) fn sequential(units: u32) -> Self {
        let size = |look: u32| (u64::from(units) * u64::from(look)).div_ceil(LOOKS.into());
        let mut looks: Vec<u32> =
            (1..=LOOKS).filter_map(|look| u32::try_from(size(look).max(2)).ok()).collect();
        looks.retain(|&look| look <= units);
        looks.dedup();
        loop {
            let fractions: Vec<f64> =
                looks.iter().map(|&look| f64::from(look) / f64::from(units)).collect();
            let Some(boundaries) = Boundaries::obrien_fleming(&fractions, ALPHA) else {
                return Self::Fixed;
            };
            let first = looks.first().zip(boundaries.nominal_p(0));
            if looks.len() > 1 && first.is_some_and(|(&n, p)| rarest_p(n) > p) {
                looks.remove(0);
            } else {
                return Self::Sequential { units: looks, boundaries };
            }
        }
    }

    /// The two-sided p that every witness must reach at the look of `seen` units.
    pub(crate) fn p_needed(&self, seen: u32) -> f64 {
        match self {
            Self::Fixed | Self::Open { .. } => ALPHA,
            Self::Sequential { units, boundaries } => {
                boundaries.nominal_p(look_at(units, seen)).unwrap_or(0.0)
            }
        }
    }

    /// Whether the campaign may be looked at after `units` units, of which it has more to come.
    pub(crate) fn looks_at(&self, seen: u32) -> bool {
        match self {
            Self::Fixed => false,
            Self::Sequential { units, .. } => units.contains(&seen),
            Self::Open { .. } => seen >= OPEN_UNITS_MIN,
        }
    }
}

/// The lowest two-sided p that ranks or signs of `n` units can have: all on one side.
fn rarest_p(n: u32) -> f64 {
    f64::exp2(1.0 - f64::from(n))
}

/// Index of the look that `seen` units belong to: the first of that size, or the next.
pub(crate) fn look_at(looks: &[u32], seen: u32) -> usize {
    let last = looks.len().saturating_sub(1);
    looks.iter().position(|&size| size >= seen).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(units: u32) -> Vec<u32> {
        match Design::sequential(units) {
            Design::Sequential { units, .. } => units,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn looks_are_five_and_evenly_spaced_where_there_are_units_enough() {
        assert_eq!(looks(200), [40, 80, 120, 160, 200]);
        assert_eq!(looks(105), [21, 42, 63, 84, 105]);
        assert_eq!(looks(4096), [820, 1639, 2458, 3277, 4096]);
    }

    #[test]
    fn a_look_at_which_ranks_can_claim_nothing_is_none() {
        // 2⁻⁷ is above the second boundary of five, 0.0008, and 2⁻¹¹ below the third, 0.0074.
        assert_eq!(looks(20), [12, 16, 20]);
        assert_eq!(looks(33), [14, 20, 27, 33]);
        assert_eq!(looks(100), [40, 60, 80, 100]);
        assert_eq!((looks(6), looks(3), looks(2)), (vec![6], vec![3], vec![2]));
        for units in 6..300 {
            let design = Design::sequential(units);
            assert!(looks(units).iter().all(|&n| rarest_p(n) <= design.p_needed(n)), "{units}");
        }
    }

    #[test]
    fn only_looks_look() {
        let design = Design::sequential(20);
        assert_eq!((1..=20).filter(|&n| design.looks_at(n)).count(), 3);
        assert!(!Design::Fixed.looks_at(20));
        let open = Design::Open { units_max: 100 };
        assert!(!open.looks_at(9) && open.looks_at(10) && open.looks_at(11));
    }
}
