//! hyperfine's `--export-json`, in and out.
//!
//! In: two of its results become two samples. They are as good as the way they were taken, one
//! command after the other, so no pairing can be had from them. Out: samples of ours, for the
//! scripts that plot hyperfine's files. The format is that of hyperfine 1.15 to 1.20:
//!
//! ```text
//! { "results": [ { "command", "mean", "stddev", "median", "user", "system", "min", "max",
//!                  "times": […], "memory_usage_byte": […], "exit_codes": […] }, … ] }
//! ```
//! All times are in seconds. `memory_usage_byte` came with 1.19; `stddev` is null for one run.

use crate::stats::PairedT;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Largest file that is read, in bytes.
const BYTES_MAX: usize = 64 << 20;

/// One command's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// The command, or the name that it was given.
    pub command: String,
    /// Wall time of each run in seconds, in the order of running; each finite and above zero.
    pub times_s: Vec<f64>,
    /// Mean user CPU time in seconds, where it is known.
    pub user_s: Option<f64>,
    /// Mean system CPU time in seconds, where it is known.
    pub system_s: Option<f64>,
    /// Peak memory of each run in bytes, in the order of `times_s`; empty where it is not known.
    pub memory_bytes: Vec<u64>,
    /// Runs that did not exit with 0. Their times are in `times_s` too, as hyperfine keeps them.
    pub failures: usize,
}

/// What is wrong with a file of hyperfine's, or with samples to be written as one.
#[derive(Debug, Error)]
pub enum HyperfineError {
    /// Not what `--export-json` writes.
    #[error("not what `hyperfine --export-json` writes: {source}")]
    Json {
        /// Where and why.
        source: serde_json::Error,
    },
    /// Larger than is read.
    #[error("{bytes} bytes are more than the 64 MiB that are read: export fewer results")]
    TooLarge {
        /// Size.
        bytes: usize,
    },
    /// Without single times.
    #[error(
        "the result {command:?} has no single times: export JSON with --export-json, and with \
         every run in it"
    )]
    NoTimes {
        /// Whose.
        command: String,
    },
    /// A time that is none.
    #[error("the result {command:?} has the time {time}, but ratios need finite ones above zero")]
    Time {
        /// Whose.
        command: String,
        /// In seconds.
        time: f64,
    },
    /// No result of that name.
    #[error("no result is named {wanted:?}; there are: {present}")]
    NoSuch {
        /// Asked for.
        wanted: String,
        /// The names that there are.
        present: String,
    },
    /// Several results of that name.
    #[error("{count} results are named {wanted:?}: give them names with `hyperfine -n`")]
    Ambiguous {
        /// Asked for.
        wanted: String,
        /// How many have it.
        count: usize,
    },
}

#[derive(Serialize, Deserialize)]
struct File {
    results: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    command: String,
    #[serde(default)]
    mean: f64,
    #[serde(default)]
    stddev: Option<f64>,
    #[serde(default)]
    median: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<f64>,
    #[serde(default)]
    min: f64,
    #[serde(default)]
    max: f64,
    #[serde(default)]
    times: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
}

/// Reads all results of a file.
///
/// # Errors
/// If it is not what hyperfine writes, or a result's times are missing or unusable.
pub fn read(bytes: &[u8]) -> Result<Vec<Samples>, HyperfineError> {
    if bytes.len() > BYTES_MAX {
        return Err(HyperfineError::TooLarge { bytes: bytes.len() });
    }
    let file: File =
        serde_json::from_slice(bytes).map_err(|source| HyperfineError::Json { source })?;
    file.results.into_iter().map(samples).collect()
}

fn samples(entry: Entry) -> Result<Samples, HyperfineError> {
    let samples = Samples {
        failures: entry.exit_codes.iter().filter(|&&code| code != Some(0)).count(),
        command: entry.command,
        times_s: entry.times.unwrap_or_default(),
        user_s: entry.user,
        system_s: entry.system,
        memory_bytes: entry.memory_usage_byte.unwrap_or_default(),
    };
    check(&samples)?;
    Ok(samples)
}

fn check(samples: &Samples) -> Result<(), HyperfineError> {
    let command = || samples.command.clone();
    if samples.times_s.is_empty() {
        return Err(HyperfineError::NoTimes { command: command() });
    }
    match samples.times_s.iter().find(|time| !(time.is_finite() && **time > 0.0)) {
        Some(&time) => Err(HyperfineError::Time { command: command(), time }),
        None => Ok(()),
    }
}

/// The result that is named `wanted`.
///
/// # Errors
/// If there is none, or several.
pub fn named<'s>(results: &'s [Samples], wanted: &str) -> Result<&'s Samples, HyperfineError> {
    let mut found = results.iter().filter(|samples| samples.command == wanted);
    let wanted = wanted.to_owned();
    match (found.next(), found.count()) {
        (Some(samples), 0) => Ok(samples),
        (Some(_), more) => Err(HyperfineError::Ambiguous { wanted, count: more + 1 }),
        (None, _) => {
            let names = results.iter().take(12).map(|samples| {
                let name: String = samples.command.chars().take(60).collect();
                format!("{name:?}")
            });
            let present = names.collect::<Vec<_>>().join(", ");
            Err(HyperfineError::NoSuch { wanted, present })
        }
    }
}

/// Writes samples as hyperfine would, each with the summary that its scripts show.
///
/// # Errors
/// If a command has no times, or one that is no time.
pub fn write(results: &[Samples]) -> Result<String, HyperfineError> {
    let results = results.iter().map(entry).collect::<Result<_, _>>()?;
    let mut text = serde_json::to_string_pretty(&File { results })
        .map_err(|source| HyperfineError::Json { source })?;
    text.push('\n');
    Ok(text)
}

fn entry(samples: &Samples) -> Result<Entry, HyperfineError> {
    check(samples)?;
    let mut sorted = samples.times_s.clone();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (first(&sorted), sorted.last().copied().unwrap_or_default());
    let spread = PairedT::new(&samples.times_s);
    // Which runs failed, and with what code, is not kept; null is hyperfine's word for no code.
    let codes = (0..sorted.len()).map(|run| (run >= samples.failures).then_some(0)).collect();
    Ok(Entry {
        command: samples.command.clone(),
        mean: spread.as_ref().map_or(min, |spread| spread.mean),
        stddev: spread.map(|spread| spread.sd),
        median: median(&sorted),
        user: samples.user_s,
        system: samples.system_s,
        min,
        max,
        times: Some(samples.times_s.clone()),
        memory_usage_byte: (!samples.memory_bytes.is_empty()).then(|| samples.memory_bytes.clone()),
        exit_codes: codes,
    })
}

fn first(sorted: &[f64]) -> f64 {
    sorted.first().copied().unwrap_or_default()
}

/// Of values in order: the middle one, or the mean of the middle two.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = sorted.split_at(sorted.len() / 2);
    match low.last() {
        Some(&below) if low.len() == high.len() => below + (first(high) - below) / 2.0,
        _ => first(high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO: &[u8] = include_bytes!("../../tests/fixtures/hyperfine-1.15/two.json");
    const FAILING: &[u8] = include_bytes!("../../tests/fixtures/hyperfine-1.15/failing.json");

    fn of(command: &str, times_s: &[f64]) -> Samples {
        Samples {
            command: command.to_owned(),
            times_s: times_s.to_vec(),
            user_s: Some(0.5),
            system_s: None,
            memory_bytes: vec![],
            failures: 0,
        }
    }

    #[test]
    fn the_times_of_two_named_results_are_read() {
        let results = read(TWO).unwrap();
        let (one, two) = (named(&results, "one").unwrap(), named(&results, "two").unwrap());
        assert_eq!((one.times_s.len(), two.times_s.len()), (3, 3));
        assert!(two.times_s.iter().all(|&time| time >= 0.01));
        assert!(one.user_s.is_some() && one.system_s.is_some() && one.failures == 0);
    }

    #[test]
    fn failed_runs_are_counted() {
        assert_eq!(read(FAILING).unwrap()[0].failures, 2);
    }

    #[test]
    fn a_name_that_is_not_there_or_there_twice_is_refused() {
        let results = [of("a", &[1.0]), of("b", &[1.0]), of("b", &[2.0])];
        let error = named(&results, "c").unwrap_err().to_string();
        assert!(error.contains(r#""c"; there are: "a", "b", "b""#), "{error}");
        assert!(named(&results, "b").unwrap_err().to_string().contains("hyperfine -n"));
    }

    #[test]
    fn a_file_of_another_kind_says_what_is_missing() {
        let complaint = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert!(complaint("{}").contains("missing field `results`"));
        assert!(complaint("time,1").contains("--export-json"));
        assert!(complaint(r#"{"results":[{"command":"x"}]}"#).contains("no single times"));
        let zero = r#"{"results":[{"command":"x","times":[1.0,0.0]}]}"#;
        assert!(complaint(zero).contains("the time 0"));
    }

    #[test]
    fn what_hyperfine_wrote_is_written_again_with_the_same_summary() {
        let (old, new) = (
            serde_json::from_slice::<serde_json::Value>(TWO).unwrap(),
            serde_json::from_str::<serde_json::Value>(&write(&read(TWO).unwrap()).unwrap())
                .unwrap(),
        );
        for result in 0..2 {
            let (old, new) = (&old["results"][result], &new["results"][result]);
            for key in ["command", "times", "user", "system", "min", "max", "exit_codes"] {
                assert_eq!(old[key], new[key], "{key}");
            }
            for key in ["mean", "stddev", "median"] {
                let (old, new) = (old[key].as_f64().unwrap(), new[key].as_f64().unwrap());
                assert!((old - new).abs() <= old * 1e-9, "{key}: {old} {new}");
            }
        }
    }

    #[test]
    fn one_run_has_no_spread_and_an_even_number_of_runs_a_median_between() {
        let text = write(&[of("x", &[3.0]), of("y", &[4.0, 1.0, 2.0, 8.0])]).unwrap();
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(file["results"][0]["stddev"].is_null());
        assert_eq!(file["results"][0]["mean"], 3.0);
        assert_eq!(file["results"][1]["median"], 3.0);
        // What was not measured is not zero.
        assert!(file["results"][0].get("system").is_none());
        assert!(write(&[of("x", &[])]).is_err() && write(&[of("x", &[f64::NAN])]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            times in prop::collection::vec(1e-9..1e6f64, 1..9),
            command in "\\PC{0,12}",
            failures in 0usize..2,
        ) {
            let samples = Samples { failures, ..of(&command, &times) };
            let text = write(std::slice::from_ref(&samples)).unwrap();
            prop_assert_eq!(read(text.as_bytes()).unwrap(), [samples]);
        }

        #[test]
        fn no_bytes_are_too_much(at in any::<usize>(), byte in any::<u8>()) {
            let mut bytes = TWO.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = read(&bytes);
        }
    }
}
