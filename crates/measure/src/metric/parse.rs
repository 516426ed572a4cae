//! A metric as a command line or a configuration file spells it.
//!
//! ```text
//! time | cpu | user | sys | rss
//! stress-ng[:STRESSOR][/usr-sys-time]
//! perf:EVENT
//! json[,DIRECTION[,UNIT]]:PATH
//! regex[,DIRECTION[,UNIT]]:PATTERN
//! ```
//! Direction and unit stand before the colon, as a path or a pattern may hold any character.

use super::kind::{Metric, Rate, word};
use super::reader::Reader;
use crate::error::PlanError;
use crate::report::Direction;
use std::str::FromStr;
use thiserror::Error;

/// The forms that are understood, for messages.
const FORMS: &str = "time, cpu, user, sys, rss, stress-ng:STRESSOR, stress-ng:STRESSOR/usr-sys-time, \
                     perf:EVENT, json:PATH, json,higher,UNIT:PATH, regex:PATTERN or \
                     regex,higher,UNIT:PATTERN";

/// Longest JSON path, perf event or stressor name, in bytes.
pub(crate) const TEXT_MAX: usize = 256;

/// A metric that cannot be measured, whatever the command prints.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetricError {
    /// No form of a metric.
    #[error("{text:?} is no metric: expected {FORMS}")]
    Unknown {
        /// Given.
        text: String,
    },
    /// A direction other than the two.
    #[error("{direction:?} in the metric {text:?} is no direction: expected higher or lower")]
    Direction {
        /// Given.
        text: String,
        /// Its second part.
        direction: String,
    },
    /// Not a JSONPath, or one that could take for ever.
    #[error("the metric's JSON path {path:?} {what}; a path looks like $.results[0].mean")]
    JsonPath {
        /// Given.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// Not a stressor's name.
    #[error(
        "the metric's stressor {stressor:?} is no name of one: expected letters, digits, '-' or \
         '_', as in stress-ng:poll"
    )]
    Stressor {
        /// Given.
        stressor: String,
    },
    /// Not one event.
    #[error(
        "the metric's perf event {event:?} is not one event: expected a name of `perf list`, such \
         as perf:instructions or perf:cpu/event=0x3c,umask=0/; give several as several metrics"
    )]
    Event {
        /// Given.
        event: String,
    },
}

impl Metric {
    /// Reads the form that [`Metric`]'s `Display` writes. Direction and unit of `json` and `regex`
    /// may be left out: lower is better then, as for all costs.
    ///
    /// # Errors
    /// If it has none of the forms (the message lists them), or if the path, pattern or event is
    /// not valid.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let metric = parse(text)?;
        metric.check()?;
        Ok(metric)
    }

    /// Whether it can be read at all, before anything runs.
    ///
    /// # Errors
    /// If the path, pattern, stressor or event is not valid.
    pub fn check(&self) -> Result<(), PlanError> {
        Reader::new(self).map(drop)
    }
}

impl FromStr for Metric {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        Self::parse(text)
    }
}

fn parse(text: &str) -> Result<Metric, MetricError> {
    let unknown = || MetricError::Unknown { text: text.to_owned() };
    let (head, rest) = match text.split_once(':') {
        Some((head, rest)) => (head, Some(rest)),
        None => (text, None),
    };
    let (head, rate) = match head.strip_suffix("/usr-sys-time") {
        Some(head) if rest.is_none() => (head, Rate::UsrSysTime),
        _ => (head, Rate::RealTime),
    };
    match (head, rest) {
        ("stress-ng", None) => Ok(Metric::StressNg { stressor: None, rate }),
        _ if rate != Rate::RealTime => Err(unknown()),
        ("time", None) => Ok(Metric::Time),
        ("cpu", None) => Ok(Metric::Cpu),
        ("user", None) => Ok(Metric::User),
        ("sys", None) => Ok(Metric::Sys),
        ("rss", None) => Ok(Metric::Rss),
        ("stress-ng", Some(rest)) => Ok(stress_ng(rest)),
        ("perf", Some(event)) => Ok(Metric::Perf { event: event.to_owned() }),
        (head, Some(rest)) => printed(text, head, rest),
        _ => Err(unknown()),
    }
}

fn stress_ng(text: &str) -> Metric {
    let (stressor, rate) = match text.strip_suffix("/usr-sys-time") {
        Some(stressor) => (stressor, Rate::UsrSysTime),
        None => (text.strip_suffix("/real-time").unwrap_or(text), Rate::RealTime),
    };
    Metric::StressNg { stressor: Some(stressor.to_owned()), rate }
}

/// A metric found in output: `head` holds kind, direction and unit.
fn printed(text: &str, head: &str, rest: &str) -> Result<Metric, MetricError> {
    let mut parts = head.splitn(3, ',');
    let kind = parts.next().unwrap_or_default();
    if !matches!(kind, "json" | "regex") {
        return Err(MetricError::Unknown { text: text.to_owned() });
    }
    let direction = match parts.next() {
        None => Direction::Lower,
        Some(given) => [Direction::Higher, Direction::Lower]
            .into_iter()
            .find(|direction| word(*direction) == given)
            .ok_or_else(|| MetricError::Direction {
                text: text.to_owned(),
                direction: given.to_owned(),
            })?,
    };
    let unit = parts.next().unwrap_or_default().to_owned();
    let rest = rest.to_owned();
    Ok(match kind {
        "json" => Metric::Json { path: rest, direction, unit },
        _ => Metric::Regex { pattern: rest, direction, unit },
    })
}

/// A stressor's name, as stress-ng prints it: it takes `_` for `-`.
pub(crate) fn stressor_name(stressor: &str) -> Result<String, MetricError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if stressor.is_empty() || stressor.len() > TEXT_MAX || !stressor.bytes().all(plain) {
        return Err(MetricError::Stressor { stressor: stressor.to_owned() });
    }
    Ok(stressor.replace('_', "-"))
}

/// Whether `event` is one event of printable characters. A comma is part of one only between the
/// slashes of a PMU's terms.
pub(crate) fn check_event(event: &str) -> Result<(), MetricError> {
    let mut in_terms = false;
    let plain = event.bytes().all(|byte| {
        in_terms ^= byte == b'/';
        byte.is_ascii_graphic() && !matches!(byte, b'{' | b'}') && (in_terms || byte != b',')
    });
    let one = plain && !in_terms && !event.is_empty() && !event.starts_with('-');
    if one && event.len() <= TEXT_MAX {
        Ok(())
    } else {
        Err(MetricError::Event { event: event.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn complaint(text: &str) -> String {
        Metric::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn each_form_is_understood() {
        let stress_ng = |stressor: Option<&str>, rate| Metric::StressNg {
            stressor: stressor.map(str::to_owned),
            rate,
        };
        let direction = Direction::Higher;
        for (text, metric) in [
            ("time", Metric::Time),
            ("cpu", Metric::Cpu),
            ("user", Metric::User),
            ("sys", Metric::Sys),
            ("rss", Metric::Rss),
            ("stress-ng", stress_ng(None, Rate::RealTime)),
            ("stress-ng/usr-sys-time", stress_ng(None, Rate::UsrSysTime)),
            ("stress-ng:poll", stress_ng(Some("poll"), Rate::RealTime)),
            ("stress-ng:poll/real-time", stress_ng(Some("poll"), Rate::RealTime)),
            ("stress-ng:vm-rw/usr-sys-time", stress_ng(Some("vm-rw"), Rate::UsrSysTime)),
            ("perf:cycles:u", Metric::Perf { event: "cycles:u".into() }),
            (
                "perf:cpu/event=0x3c,umask=0/",
                Metric::Perf { event: "cpu/event=0x3c,umask=0/".into() },
            ),
            (
                "json:$.results[0].mean",
                Metric::Json {
                    path: "$.results[0].mean".into(),
                    direction: Direction::Lower,
                    unit: String::new(),
                },
            ),
            (
                "json,higher,req/s:$['a:b']",
                Metric::Json { path: "$['a:b']".into(), direction, unit: "req/s".into() },
            ),
            (
                "regex,higher:rate: (.*),",
                Metric::Regex { pattern: "rate: (.*),".into(), direction, unit: String::new() },
            ),
        ] {
            assert_eq!(Metric::parse(text).unwrap(), metric, "{text}");
        }
    }

    #[test]
    fn what_has_no_form_is_told_the_forms() {
        for text in
            ["", "tiem", "time:1", "rss/usr-sys-time", "perf", "json", "xml:$.a", "cpu,lower"]
        {
            let complaint = complaint(text);
            assert!(complaint.contains(&format!("{text:?}")), "{complaint}");
            for form in ["cpu", "stress-ng:STRESSOR", "perf:EVENT", "json:PATH", "regex:PATTERN"] {
                assert!(complaint.contains(form), "{complaint}");
            }
        }
    }

    #[test]
    fn each_part_is_checked_before_anything_runs() {
        assert!(complaint("regex,up:(.)").contains("expected higher or lower"));
        assert!(complaint("regex:score").contains("no capture group"));
        assert!(complaint("json:results").contains("$.results[0].mean"));
        for event in ["", "a,b", "{a,b}", "a b", "cpu/a=1", "-a", "a\n"] {
            assert!(complaint(&format!("perf:{event}")).contains("not one event"), "{event:?}");
        }
        for stressor in ["", "a b", "a/b", "/usr-sys-time"] {
            assert!(complaint(&format!("stress-ng:{stressor}")).contains("no name"), "{stressor}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in "\\PC{0,40}") {
            let _ = Metric::parse(&text);
        }

        #[test]
        fn what_is_displayed_is_parsed(
            kind in 0..9,
            name in "[a-z]([a-z-]{0,8}[a-z])?",
            unit in "[ -9;-~&&[^,]]{0,6}",
            higher in any::<bool>(),
        ) {
            let direction = if higher { Direction::Higher } else { Direction::Lower };
            let rate = if higher { Rate::UsrSysTime } else { Rate::RealTime };
            let metric = match kind {
                0 => Metric::Time,
                1 => Metric::Cpu,
                2 => Metric::User,
                3 => Metric::Sys,
                4 => Metric::Rss,
                5 => Metric::StressNg { stressor: higher.then_some(name), rate },
                6 => Metric::Perf { event: name },
                7 => Metric::Json { path: format!("$['{name}']"), direction, unit },
                _ => Metric::Regex { pattern: format!("{name}: (.*)"), direction, unit },
            };
            prop_assert_eq!(Metric::parse(&metric.to_string()).unwrap(), metric);
        }
    }
}
