//! One counter out of what `perf stat -j -o FILE` writes: a JSON object a line, below a comment.
//!
//! Field names and the two words for a missing count are those of perf's `stat-display.c`, checked
//! against perf 6.1. Counts are strings there. A newer perf leaves `metric-*` fields out where
//! there is no metric, and writes lines that hold nothing else.

use super::kind::is_time_event;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    event: Option<String>,
    counter_value: Option<Value>,
    #[serde(default)]
    unit: String,
    /// Percent of the time in which the counter had hardware to count with.
    pcnt_running: Option<f64>,
}

/// An event's count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Count {
    /// In milliseconds for an event of time.
    pub(crate) value: f64,
    /// Whether it was counted for a part of the time only and extrapolated.
    pub(crate) scaled: bool,
    /// Whether the kernel allowed to count in user mode only, where more was asked.
    pub(crate) user_only: bool,
}

/// Why an event has no count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoCount {
    /// The kernel or the CPU does not have the event.
    NotSupported,
    /// It never had hardware to count with.
    NotCounted,
    /// The text does not say.
    Other(String),
}

impl NoCount {
    /// In words, with the remedy.
    pub(crate) fn describe(&self, event: &str) -> String {
        match self {
            Self::NotSupported => format!(
                "perf says that the event {event:?} is not supported on this machine: `perf list` \
                 shows what is"
            ),
            Self::NotCounted => format!(
                "perf could not count the event {event:?} at any time: ask for fewer events in one \
                 run, and turn off what else holds a counter (sysctl kernel.nmi_watchdog=0)"
            ),
            Self::Other(what) => what.clone(),
        }
    }
}

/// The count of `event` in `bytes`.
pub(crate) fn count(bytes: &[u8], event: &str) -> Result<Count, NoCount> {
    let lines: Vec<Line> = bytes
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Line>(line.trim_ascii()).ok())
        .filter(|line| line.counter_value.is_some())
        .collect();
    if let Some(line) = lines.iter().find(|line| names(line) == event) {
        return read(line, event, false);
    }
    // Where only user mode may be counted, perf asks again with a modifier and shows it.
    if let Some(line) = lines.iter().find(|line| names(line).strip_suffix(":u") == Some(event)) {
        return read(line, event, true);
    }
    let present: Vec<String> =
        lines.iter().take(8).map(|line| names(line).chars().take(40).collect()).collect();
    Err(NoCount::Other(if present.is_empty() {
        format!("perf wrote no count of the event {event:?}")
    } else {
        format!(
            "perf wrote no count of the event {event:?}, only of {}: name it so; on a CPU with two \
             kinds of cores name one kind",
            present.join(", ")
        )
    }))
}

fn names(line: &Line) -> &str {
    line.event.as_deref().unwrap_or_default()
}

fn read(line: &Line, event: &str, user_only: bool) -> Result<Count, NoCount> {
    let value = match &line.counter_value {
        Some(Value::String(text)) if text == "<not supported>" => {
            return Err(NoCount::NotSupported);
        }
        Some(Value::String(text)) if text == "<not counted>" => return Err(NoCount::NotCounted),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(Value::Number(number)) => number.as_f64(),
        _ => None,
    };
    let scale = match (is_time_event(event), line.unit.as_str()) {
        (false, _) | (true, "msec") => Some(1.0),
        (true, "ns" | "nsec" | "") => Some(1e-6),
        (true, _) => None,
    };
    let (Some(value), Some(scale)) = (value, scale) else {
        let unit: String = line.unit.chars().take(40).collect();
        let what = format!("what perf wrote for the event {event:?} is no number, or in {unit:?}");
        return Err(NoCount::Other(what));
    };
    let scaled = line.pcnt_running.is_some_and(|percent| percent < 100.0);
    Ok(Count { value: value * scale, scaled, user_only })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOFTWARE: &[u8] = include_bytes!("../../tests/fixtures/perf-6.1/software.json");
    const NO_PMU: &[u8] = include_bytes!("../../tests/fixtures/perf-6.1/no-pmu.json");
    const COUNTERS: &[u8] = include_bytes!("../../tests/fixtures/perf-by-hand/counters.json");

    #[test]
    fn a_count_is_found_by_the_name_of_its_event() {
        let whole = |value| Ok(Count { value, scaled: false, user_only: false });
        assert_eq!(count(SOFTWARE, "page-faults"), whole(121.0));
        assert_eq!(count(SOFTWARE, "task-clock"), whole(1.416728));
        assert_eq!(count(COUNTERS, "instructions"), whole(1234567890.0));
    }

    #[test]
    fn time_is_in_milliseconds_whatever_the_unit_of_perf() {
        let line = r#"{"counter-value": "2500000.0", "unit": "ns", "event": "duration_time"}"#;
        assert_eq!(count(line.as_bytes(), "duration_time").unwrap().value, 2.5);
        let line = line.replace("\"ns\"", "\"fortnights\"");
        let error = count(line.as_bytes(), "duration_time").unwrap_err();
        assert!(error.describe("duration_time").contains("fortnights"));
    }

    #[test]
    fn an_extrapolated_count_and_one_of_user_mode_alone_say_so() {
        assert!(count(COUNTERS, "branch-misses").unwrap().scaled);
        let cycles = count(COUNTERS, "cycles").unwrap();
        assert!(cycles.user_only && !cycles.scaled);
        assert!(!count(COUNTERS, "cycles:u").unwrap().user_only);
    }

    #[test]
    fn what_was_not_counted_says_why() {
        assert_eq!(count(NO_PMU, "instructions"), Err(NoCount::NotSupported));
        assert_eq!(count(NO_PMU, "cycles"), Err(NoCount::NotSupported));
        assert_eq!(count(COUNTERS, "cache-misses"), Err(NoCount::NotCounted));
        let text = |event| count(COUNTERS, event).unwrap_err().describe(event);
        assert!(text("cache-misses").contains("nmi_watchdog"));
        assert!(text("branches").contains("cpu_core/branches/, cpu_atom/branches/"));
        assert!(
            count(b"", "branches").unwrap_err().describe("branches").contains("wrote no count")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(at in 0usize..900, byte in any::<u8>()) {
            let mut bytes = COUNTERS.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            for event in ["instructions", "cycles", "branches", ""] {
                let _ = count(&bytes, event);
            }
        }
    }
}
