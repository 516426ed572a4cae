//! When a run counts as disturbed, decided from its circumstances alone.
//!
//! A rule that saw the value would choose the result. This one is fixed before the first run, is
//! given no value, and its thresholds are kept with the campaign. Blind to the outcome is not yet
//! blind to the arm, though: an arm that heats more is throttled more, and one that writes more
//! leaves the kernel more to do. So how often each arm was disturbed has to be told with the result.
//! For the same reason pressure is not in the rule: the run's own tasks make most of it.

use super::probe::RunConditions;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What ticks of 10 ms cannot tell from nothing, in seconds of foreign CPU time. User and system
/// time of before and after are each cut to whole ticks, and kernels sample them besides.
const FOREIGN_RESOLUTION_S: f64 = 0.05;
/// The same for stolen time, which is one figure and not sampled.
const STEAL_RESOLUTION_S: f64 = 0.01;

/// Thresholds above which a run is disturbed. Runs too short for the kernel's ticks are given the
/// benefit of the doubt: below a third of a second hardly any is found to be disturbed by others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    /// Stolen time as a share of the time for which the CPUs were wanted (used or stolen). A share
    /// of all CPUs' time would not see a run of one thread robbed on a machine with many.
    pub steal_share_max: f64,
    /// CPU time of others per wall time, in CPUs. More than this is likely to have met the run,
    /// on its core, its sibling thread or its cache.
    pub foreign_cpus_max: f64,
    /// Thermal throttling events.
    pub throttles_max: u64,
    /// Time for which the control group was stopped, as a share of the wall time.
    pub quota_share_max: f64,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            steal_share_max: 0.02,
            foreign_cpus_max: 0.15,
            throttles_max: 0,
            quota_share_max: 0.0,
        }
    }
}

/// Why a run counts as disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// The hypervisor ran others in its place.
    Steal {
        /// Stolen time as a share of the time wanted.
        share: f64,
    },
    /// Other work used the CPUs.
    ForeignCpu {
        /// CPU time per wall time, in CPUs.
        cpus: f64,
    },
    /// The CPU was slowed for heat.
    Throttled {
        /// Events.
        events: u64,
    },
    /// The control group had used up its quota.
    QuotaStopped {
        /// For how long it was stopped, in µs.
        us: u64,
    },
}

impl fmt::Display for Disturbance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steal { share } => {
                write!(out, "the hypervisor took {:.1} % of the CPU time", share * 100.0)
            }
            Self::ForeignCpu { cpus } => write!(out, "other work used {cpus:.2} CPUs"),
            Self::Throttled { events } => {
                write!(out, "the CPU was slowed for heat {events} time(s)")
            }
            Self::QuotaStopped { us } => {
                write!(out, "the control group's quota stopped it for {:.1} ms", *us as f64 / 1e3)
            }
        }
    }
}

impl Rule {
    /// What disturbed a run of length `wall`, if anything: the first that holds of heat, quota,
    /// stolen time and other work. What is unknown disturbs nothing.
    #[must_use]
    pub fn violated(&self, during: &RunConditions, wall: Duration) -> Option<Disturbance> {
        let throttled = during.throttles.filter(|&events| events > self.throttles_max);
        throttled
            .map(|events| Disturbance::Throttled { events })
            .or_else(|| self.stopped(during, wall))
            .or_else(|| self.stolen(during))
            .or_else(|| self.foreign(during, wall))
    }

    fn stopped(&self, during: &RunConditions, wall: Duration) -> Option<Disturbance> {
        let us = during.quota_stopped_us?;
        let max_us = self.quota_share_max * wall.as_secs_f64() * 1e6;
        (us as f64 > max_us).then_some(Disturbance::QuotaStopped { us })
    }

    fn stolen(&self, during: &RunConditions) -> Option<Disturbance> {
        let (steal_s, busy_s) = (during.steal_s?, during.busy_cpu_s?);
        let wanted_s = steal_s + busy_s;
        let disturbed = steal_s > self.steal_share_max * wanted_s + STEAL_RESOLUTION_S;
        disturbed.then(|| Disturbance::Steal { share: steal_s / wanted_s })
    }

    fn foreign(&self, during: &RunConditions, wall: Duration) -> Option<Disturbance> {
        let (foreign_s, wall_s) = (during.foreign_cpu_s?, wall.as_secs_f64());
        if wall_s == 0.0 {
            return None;
        }
        let disturbed = foreign_s > self.foreign_cpus_max * wall_s + FOREIGN_RESOLUTION_S;
        disturbed.then(|| Disturbance::ForeignCpu { cpus: foreign_s / wall_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn violated(during: RunConditions) -> Option<Disturbance> {
        Rule::default().violated(&during, SECOND)
    }

    fn busy(busy_cpu_s: f64) -> RunConditions {
        RunConditions { busy_cpu_s: Some(busy_cpu_s), ..Default::default() }
    }

    #[test]
    fn what_is_unknown_disturbs_nothing() {
        assert_eq!(violated(RunConditions::default()), None);
        assert_eq!(violated(RunConditions { steal_s: Some(9.0), ..Default::default() }), None);
    }

    #[test]
    fn stolen_time_is_a_share_of_what_was_wanted() {
        let stolen = |steal_s| violated(RunConditions { steal_s: Some(steal_s), ..busy(0.98) });
        assert_eq!(stolen(0.02), None);
        // 2 % of 1.0 s and one tick are still allowed.
        assert_eq!(stolen(0.03), None);
        assert_eq!(stolen(0.05), Some(Disturbance::Steal { share: 0.05 / 1.03 }));
        // One tick in a run of a few milliseconds says nothing yet.
        assert_eq!(violated(RunConditions { steal_s: Some(0.01), ..busy(0.0) }), None);
    }

    #[test]
    fn other_work_is_measured_in_cpus() {
        let foreign = |foreign_cpu_s, wall| {
            let during = RunConditions { foreign_cpu_s: Some(foreign_cpu_s), ..busy(1.0) };
            Rule::default().violated(&during, wall)
        };
        assert_eq!(foreign(0.19, SECOND), None);
        assert_eq!(foreign(0.21, SECOND), Some(Disturbance::ForeignCpu { cpus: 0.21 }));
        assert_eq!(foreign(0.04, SECOND / 100), None);
        assert_eq!(foreign(9.0, Duration::ZERO), None);
        assert_eq!(foreign(1.6, SECOND * 10), Some(Disturbance::ForeignCpu { cpus: 0.16 }));
    }

    #[test]
    fn any_heat_and_any_stop_disturbs() {
        let hot = RunConditions { throttles: Some(1), ..Default::default() };
        assert_eq!(violated(hot), Some(Disturbance::Throttled { events: 1 }));
        let stopped = RunConditions { quota_stopped_us: Some(1), ..Default::default() };
        assert_eq!(violated(stopped), Some(Disturbance::QuotaStopped { us: 1 }));
        let neither = RunConditions { throttles: Some(0), quota_stopped_us: Some(0), ..hot };
        assert_eq!(violated(neither), None);
    }

    #[test]
    fn pressure_and_switches_alone_disturb_nothing() {
        let during = RunConditions {
            pressure_us: super::super::Pressure { cpu: Some(900_000), ..Default::default() },
            context_switches: Some(1_000_000),
            interrupts: Some(1_000_000),
            ..Default::default()
        };
        assert_eq!(violated(during), None);
    }

    #[test]
    fn each_disturbance_says_what_and_how_much() {
        for (disturbance, text) in [
            (Disturbance::Steal { share: 0.051 }, "5.1 %"),
            (Disturbance::ForeignCpu { cpus: 0.21 }, "0.21 CPUs"),
            (Disturbance::Throttled { events: 3 }, "3 time(s)"),
            (Disturbance::QuotaStopped { us: 1500 }, "1.5 ms"),
        ] {
            assert!(disturbance.to_string().contains(text), "{disturbance}");
        }
    }
}
