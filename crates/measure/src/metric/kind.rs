//! The quantities that a run can be judged by, with their directions, names and units.

use crate::report::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a run is judged by.
///
/// A command may print its figures, or write them to its *metric file*: every run finds a fresh path
/// for one in the environment variable `UNLIKELY_METRIC_FILE`.
///
/// Its [`fmt::Display`] is the form that [`Metric::parse`] reads, unless the unit holds a colon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Wall time of the command in seconds; lower is better.
    Time,
    /// User and system CPU time of the command and the descendants that it waited for, in seconds;
    /// lower is better. The kernel adds up what the scheduler saw, to the nanosecond.
    Cpu,
    /// The user part of [`Metric::Cpu`]. Most kernels split the sum by what each tick of the timer
    /// found running, so a run of less than a second has a coarse split.
    User,
    /// The system part of [`Metric::Cpu`]; see [`Metric::User`].
    Sys,
    /// Peak resident memory of the command's largest process, in bytes; lower is better. Linux
    /// starts the count with the memory of the process that spawned it, so values up to this
    /// tool's own size say nothing.
    Rss,
    /// A number that the command prints.
    Regex {
        /// Its first capture group is the number: a finite one above zero. Of several matches the
        /// first counts. The metric file is searched if the command wrote one; else standard
        /// output, then standard error.
        pattern: String,
        /// Which way is better.
        direction: Direction,
        /// Unit, for display.
        unit: String,
    },
    /// A number in JSON: in the metric file if the command wrote one, else on standard output. The
    /// text must be JSON as a whole, or its last line that is an object or an array counts.
    Json {
        /// JSONPath (RFC 9535) that selects exactly one number.
        path: String,
        /// Which way is better.
        direction: Direction,
        /// Unit, for display.
        unit: String,
    },
    /// A rate of stress-ng (0.15 and newer), from what `--metrics --yaml FILE` writes; higher is
    /// better. The file is the metric file, or standard output.
    StressNg {
        /// Which stressor. May be left out where the command runs only one.
        stressor: Option<String>,
        /// Which of its rates.
        #[serde(default)]
        rate: Rate,
    },
    /// A counter of `perf stat`, for the command and all its descendants; lower is better. Time
    /// events are in milliseconds. The command then runs under perf, whose own start is part of
    /// its wall and CPU time.
    Perf {
        /// As `perf stat -e` takes it; one event.
        event: String,
    },
}

/// Which rate of a stressor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// `bogo-ops-per-second-real-time`: operations of all instances by their mean wall time.
    #[default]
    RealTime,
    /// `bogo-ops-per-second-usr-sys-time`: operations of all instances by the CPU time of all.
    UsrSysTime,
}

impl Rate {
    /// Its name in stress-ng's YAML.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::RealTime => "bogo-ops-per-second-real-time",
            Self::UsrSysTime => "bogo-ops-per-second-usr-sys-time",
        }
    }
}

impl Metric {
    /// Which way is better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        match self {
            Self::Regex { direction, .. } | Self::Json { direction, .. } => *direction,
            Self::StressNg { .. } => Direction::Higher,
            _ => Direction::Lower,
        }
    }

    /// Whether the command prints its value, with digits of its choice.
    #[must_use]
    pub fn is_printed(&self) -> bool {
        matches!(self, Self::Regex { .. } | Self::Json { .. } | Self::StressNg { .. })
    }

    /// Name for display: the form that is parsed, but a regular expression or a JSON path stands
    /// alone.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Regex { pattern: text, .. } | Self::Json { path: text, .. } => text.clone(),
            other => other.to_string(),
        }
    }

    /// Unit of the values: `s` for times, `B` for memory, empty for counts.
    #[must_use]
    pub fn unit(&self) -> &str {
        match self {
            Self::Time | Self::Cpu | Self::User | Self::Sys => "s",
            Self::Rss => "B",
            Self::Regex { unit, .. } | Self::Json { unit, .. } => unit,
            Self::StressNg { .. } => "bogo-ops/s",
            Self::Perf { event } if is_time_event(event) => "ms",
            Self::Perf { .. } => "",
        }
    }
}

/// Whether perf gives `event` in a unit of time rather than as a count.
pub(crate) fn is_time_event(event: &str) -> bool {
    let name = event.split_once(':').map_or(event, |(name, _)| name);
    matches!(name, "task-clock" | "cpu-clock" | "duration_time" | "user_time" | "system_time")
}

impl fmt::Display for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => out.write_str("time"),
            Self::Cpu => out.write_str("cpu"),
            Self::User => out.write_str("user"),
            Self::Sys => out.write_str("sys"),
            Self::Rss => out.write_str("rss"),
            Self::Regex { pattern, direction, unit } => {
                write!(out, "regex,{},{unit}:{pattern}", word(*direction))
            }
            Self::Json { path, direction, unit } => {
                write!(out, "json,{},{unit}:{path}", word(*direction))
            }
            Self::StressNg { stressor, rate } => {
                out.write_str("stress-ng")?;
                if let Some(stressor) = stressor {
                    write!(out, ":{stressor}")?;
                }
                out.write_str(if *rate == Rate::UsrSysTime { "/usr-sys-time" } else { "" })
            }
            Self::Perf { event } => write!(out, "perf:{event}"),
        }
    }
}

/// A direction as the command line spells it.
pub(crate) fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(form: &str) -> Metric {
        Metric::parse(form).unwrap()
    }

    #[test]
    fn costs_are_better_low_and_rates_high() {
        for cost in ["time", "cpu", "user", "sys", "rss", "perf:instructions"] {
            assert_eq!(metric(cost).direction(), Direction::Lower, "{cost}");
        }
        assert_eq!(metric("stress-ng:poll").direction(), Direction::Higher);
        assert_eq!(metric("json,higher:$.a").direction(), Direction::Higher);
    }

    #[test]
    fn values_have_the_units_that_the_reader_gives_them() {
        for (form, unit) in [
            ("time", "s"),
            ("sys", "s"),
            ("rss", "B"),
            ("stress-ng", "bogo-ops/s"),
            ("perf:task-clock:u", "ms"),
            ("perf:instructions:u", ""),
            ("regex,higher,MB/s:(.)", "MB/s"),
        ] {
            assert_eq!(metric(form).unit(), unit, "{form}");
        }
    }

    #[test]
    fn a_journal_of_an_earlier_version_is_still_read() {
        let read = |json| serde_json::from_str::<Metric>(json).unwrap();
        assert_eq!(read(r#""time""#), Metric::Time);
        let regex = r#"{"regex":{"pattern":"(.)","direction":"higher","unit":"x"}}"#;
        assert_eq!(read(regex), metric("regex,higher,x:(.)"));
        assert_eq!(
            serde_json::to_string(&metric("stress-ng:poll")).unwrap(),
            r#"{"stress-ng":{"stressor":"poll","rate":"real-time"}}"#
        );
    }
}
