//! Where campaigns stand between the looks of a design, integrated from look to look.
//!
//! Without drift the position B = Z√t is a Brownian motion. What has not stopped at one look spreads
//! by a normal step to the next, where what is beyond the boundaries is cut off. The density between
//! them is kept as nodes of a quadrature that is exact to about 1e-9.

use super::normal;

/// No statistic is followed further than this from its mean. The chance to come there is below 2e-15,
/// so a boundary here spends nothing that could be measured, and a result beyond it may stop even the
/// first of many looks.
pub(super) const REACH: f64 = 8.0;

/// Where the campaigns stand that have not stopped, as nodes of a quadrature, without drift.
///
/// Positions are B = Z√t, a Brownian motion.
pub(super) struct Walk {
    fraction: f64,
    /// Position and mass.
    nodes: Vec<(f64, f64)>,
}

impl Walk {
    /// Before the first look all stand at zero.
    pub(super) fn start() -> Self {
        Self { fraction: 0.0, nodes: vec![(0.0, 1.0)] }
    }

    /// P(still going and then above `z` at `fraction`).
    pub(super) fn above(&self, fraction: f64, z: f64) -> f64 {
        let (wanted, sd) = (z * fraction.sqrt(), (fraction - self.fraction).sqrt());
        self.nodes.iter().map(|&(b, mass)| mass * normal::above((wanted - b) / sd)).sum()
    }

    /// Those that are between the `bounds` of Z at `fraction`, for a next look at `following`.
    pub(super) fn going_on(&self, fraction: f64, bounds: [f64; 2], following: f64) -> Self {
        let sd = (fraction - self.fraction).sqrt();
        let density = |x: f64| {
            let terms = self.nodes.iter().map(|&(b, mass)| mass * normal::density((x - b) / sd));
            terms.sum::<f64>() / sd
        };
        // Both the density here and the step to come are smooth over such a width.
        let smooth = sd.min((following - fraction).sqrt());
        let ends = bounds.map(|z| z.clamp(-REACH, REACH) * fraction.sqrt());
        let nodes = quadrature(ends, smooth).map(|(x, weight)| (x, weight * density(x))).collect();
        Self { fraction, nodes }
    }
}

/// Nodes and weights of an integral between two ends: five-point Gauss–Legendre on equal panels not
/// wider than `width`.
fn quadrature([low, high]: [f64; 2], width: f64) -> impl Iterator<Item = (f64, f64)> {
    let root = (10.0_f64 / 7.0).sqrt();
    let (inner, outer) = ((5.0 - 2.0 * root).sqrt() / 3.0, (5.0 + 2.0 * root).sqrt() / 3.0);
    let (heavy, light) =
        ((322.0 + 13.0 * 70.0_f64.sqrt()) / 900.0, (322.0 - 13.0 * 70.0_f64.sqrt()) / 900.0);
    let rule =
        [(-outer, light), (-inner, heavy), (0.0, 128.0 / 225.0), (inner, heavy), (outer, light)];
    let panels = ((high - low) / width).ceil().max(1.0) as u32;
    let half = (high - low) / 2.0 / f64::from(panels);
    (0..panels).flat_map(move |panel| {
        let centre = low + half * f64::from(2 * panel + 1);
        rule.map(|(place, weight)| (centre + half * place, half * weight))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quadrature_integrates_ninth_powers_exactly() {
        let integral = |power: i32| {
            quadrature([-1.0, 2.0], 10.0).map(|(x, weight)| weight * x.powi(power)).sum::<f64>()
        };
        for power in 0..=9 {
            let exact =
                (2.0_f64.powi(power + 1) - (-1.0_f64).powi(power + 1)) / (f64::from(power) + 1.0);
            assert!((integral(power) - exact).abs() < 1e-12 * exact.abs().max(1.0), "{power}");
        }
        assert_eq!(quadrature([0.0, 1.0], 0.3).count(), 20);
    }

    #[test]
    fn what_is_cut_off_is_missing_and_nothing_else() {
        let open = Walk::start().going_on(0.25, [-9.0, 9.0], 1.0);
        for z in [-1.0, 0.0, 2.0] {
            assert!((open.above(1.0, z) - normal::above(z)).abs() < 1e-9);
        }
        let cut = Walk::start().going_on(0.25, [-0.5, 1.5], 1.0);
        let left = normal::above(-0.5) - normal::above(1.5);
        assert!((cut.above(1.0, -30.0) - left).abs() < 1e-9);
    }
}
