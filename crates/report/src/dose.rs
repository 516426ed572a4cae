//! The dose check: whether the hints can explain the effect at all.
//!
//! A hint acts where its condition is executed, and by a few cycles at most each time: a jump less
//! is worth one or two, registers that need no saving some more, and at the very most a
//! misprediction is avoided, 15 to 20 cycles on current cores (Agner Fog, The microarchitecture of
//! Intel, AMD and VIA CPUs). So the executions that the profile counted bound the CPU time that
//! the hints can save or cost. An effect beyond that bound has another cause: another layout,
//! another build, another machine state.
//!
//! This holds where a run is a fixed amount of work. A workload that runs for a fixed time has the
//! same CPU time however fast it is, and under a profiler it comes to fewer executions; one that
//! waits changes its metric without its CPU time. So where metric and CPU time changed differently,
//! there is no telling.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unlikely_measure::stats::PairedT;
use unlikely_measure::{BenchReport, BlockRow, Direction, UnitOf};

/// Most cycles that a hint can save or cost each time its condition is executed.
pub const CYCLES_MAX: f64 = 20.0;

/// What the hints did, spread over the executions of their conditions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dose {
    /// Hinted conditions that the workload executes.
    pub sites: u32,
    /// Executions of them in one run, as the profile counted.
    pub executions: u64,
    /// Clock by which seconds become cycles, in Hz: the highest that the machine names.
    pub clock_hz: f64,
    /// CPU seconds that B saves in one run: 95 % interval of the mean of A − B over blocks.
    pub saved_s_ci95: [f64; 2],
    /// The same as cycles per execution.
    pub cycles_ci95: [f64; 2],
    /// Whether the CPU time of a run may have changed as the metric did: their 95 % intervals
    /// have a ratio in common. Where not, the cycles say nothing of the effect.
    #[serde(default = "follows")]
    pub follows: bool,
    /// Whether it can be told and the whole interval lies beyond [`CYCLES_MAX`] either way.
    pub suspicious: bool,
}

fn follows() -> bool {
    true
}

impl Dose {
    /// The dose of `executions` of `sites` conditions; `None` where nothing was executed, or the
    /// clock or the CPU time is not known.
    #[must_use]
    pub fn of(report: &BenchReport, sites: u32, executions: u64, clock_hz: f64) -> Option<Self> {
        let saved = units(report, |row| row.a_cpu_s - row.b_cpu_s);
        let interval = PairedT::new(&saved)?.interval(0.95);
        let follows = follows_cpu(report)?;
        let known = executions > 0 && clock_hz.is_finite() && clock_hz > 0.0;
        let per_second = clock_hz / executions as f64;
        known.then(|| {
            let cycles = interval.map(|seconds| seconds * per_second);
            Self {
                sites,
                executions,
                clock_hz,
                saved_s_ci95: interval,
                cycles_ci95: cycles,
                follows,
                suspicious: follows && (cycles[0] > CYCLES_MAX || cycles[1] < -CYCLES_MAX),
            }
        })
    }
}

/// `of` each valid block, or its mean over those of each build where n counts builds.
fn units(report: &BenchReport, of: fn(&BlockRow) -> f64) -> Vec<f64> {
    let valid = report.rows.iter().filter(|row| row.invalid.is_none());
    if report.n_unit == UnitOf::Block {
        return valid.map(of).collect();
    }
    let mut builds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in valid {
        builds.entry(row.build).or_default().push(of(row));
    }
    builds.values().map(|values| values.iter().sum::<f64>() / values.len() as f64).collect()
}

/// Whether the intervals of B/A by CPU time and by the metric, as a cost, meet; `None` where a run
/// has no CPU time.
fn follows_cpu(report: &BenchReport) -> Option<bool> {
    let logs = units(report, |row| row.b_cpu_s.ln() - row.a_cpu_s.ln());
    let [low, high] = PairedT::new(&logs)?.interval(0.95);
    let [metric_low, metric_high] = match (report.direction, report.ci95.map(f64::ln)) {
        (Direction::Lower, ends) => ends,
        (Direction::Higher, [low, high]) => [-high, -low],
    };
    Some(low <= metric_high && metric_low <= high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::campaign;

    /// B takes `saved_s` less CPU time than A in each run, give or take a microsecond.
    fn saving(saved_s: f64) -> BenchReport {
        let mut report = campaign(20, 2.0, -1.0, 0.1);
        for (row, at) in report.rows.iter_mut().zip(0_u32..) {
            row.a_cpu_s = 2.0 + f64::from(at % 3) * 1e-6;
            row.b_cpu_s = 2.0 - saved_s;
        }
        report.ratio = (2.0 - saved_s) / 2.0;
        report.ci95 = [report.ratio - 1e-5, report.ratio + 1e-5];
        report
    }

    #[test]
    fn a_saving_of_a_few_cycles_an_execution_is_explained() {
        // 0.1 s at 3 GHz over 10⁸ executions: 3 cycles each.
        let dose = Dose::of(&saving(0.1), 2, 100_000_000, 3e9).unwrap();
        assert!(dose.cycles_ci95[0] > 2.9 && dose.cycles_ci95[1] < 3.1, "{dose:?}");
        assert!(!dose.suspicious);
    }

    #[test]
    fn an_effect_beyond_what_hints_can_do_is_suspicious_either_way() {
        // 0.1 s over 10⁶ executions: 300 cycles each.
        assert!(Dose::of(&saving(0.1), 1, 1_000_000, 3e9).unwrap().suspicious);
        assert!(Dose::of(&saving(-0.1), 1, 1_000_000, 3e9).unwrap().suspicious);
    }

    #[test]
    fn noise_that_may_be_nothing_is_not_suspicious() {
        let mut noisy = saving(0.0);
        for (row, at) in noisy.rows.iter_mut().zip(0_u32..) {
            row.a_cpu_s += if at % 2 == 0 { 0.5 } else { -0.4 };
        }
        assert!(!Dose::of(&noisy, 1, 1, 3e9).unwrap().suspicious);
    }

    #[test]
    fn a_metric_that_cpu_time_does_not_follow_has_no_dose_to_judge() {
        // Half as many operations again in the same time: of 10³ executions, or of none at all.
        let mut rate = saving(0.0);
        (rate.direction, rate.ratio, rate.ci95) = (Direction::Higher, 1.5, [1.49, 1.51]);
        let dose = Dose::of(&rate, 1, 1000, 3e9).unwrap();
        assert!(!dose.follows && !dose.suspicious, "{dose:?}");
        // A rate of a fixed amount of work does follow.
        let mut work = saving(0.1);
        work.direction = Direction::Higher;
        work.ci95 = [2.0 / 1.9 - 1e-5, 2.0 / 1.9 + 1e-5];
        let dose = Dose::of(&work, 1, 1000, 3e9).unwrap();
        assert!(dose.follows && dose.suspicious, "{dose:?}");
    }

    #[test]
    fn where_n_counts_builds_the_dose_does_too() {
        // Ten builds of two blocks, each of which has a saving of its own.
        let mut builds = saving(0.0);
        builds.n_unit = UnitOf::Build;
        for (row, at) in builds.rows.iter_mut().zip(0_u32..) {
            row.build = at / 2;
            row.b_cpu_s = 2.0 - f64::from(row.build % 2) * 0.1;
        }
        builds.ci95 = [0.95, 1.0];
        let [low, high] = Dose::of(&builds, 1, 1000, 3e9).unwrap().saved_s_ci95;
        // s is 0.0527 over ten, so 2.262·s/√10 is 0.0377.
        assert!((high - low - 2.0 * 0.0377).abs() < 1e-3, "{low} to {high}");
    }

    #[test]
    fn without_executions_or_a_clock_there_is_no_dose() {
        assert_eq!(Dose::of(&saving(0.1), 0, 0, 3e9), None);
        assert_eq!(Dose::of(&saving(0.1), 1, 1, f64::NAN), None);
    }
}
