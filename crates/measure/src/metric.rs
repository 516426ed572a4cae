//! From a command's output to the one number that it is judged by.

use crate::command::{Captured, RunOutput};
use crate::error::PlanError;
use crate::plan::Metric;
use regex::bytes::Regex;

/// A metric whose pattern has been checked.
pub(crate) enum Reader {
    Time,
    Regex(Regex),
}

impl Reader {
    pub(crate) fn new(metric: &Metric) -> Result<Self, PlanError> {
        let Metric::Regex { pattern, .. } = metric else { return Ok(Self::Time) };
        let regex = Regex::new(pattern).map_err(|source| PlanError::Pattern {
            pattern: pattern.clone(),
            source: Box::new(source),
        })?;
        // Group 0 is the whole match.
        if regex.captures_len() < 2 {
            return Err(PlanError::NoGroup { pattern: pattern.clone() });
        }
        Ok(Self::Regex(regex))
    }

    /// The value of a run, finite and above zero; or what is wrong, in words.
    pub(crate) fn value(&self, output: &RunOutput) -> Result<f64, String> {
        let Self::Regex(regex) = self else {
            return usable(output.wall.as_secs_f64(), "the wall time");
        };
        let text = find(regex, &output.stdout).or_else(|| find(regex, &output.stderr));
        let Some(text) = text else { return Err(no_match(regex, output)) };
        let text = String::from_utf8_lossy(text);
        let shown: String = text.chars().take(80).collect();
        let source = format!("what {:?} captured, {shown:?},", regex.as_str());
        match text.trim().parse() {
            Ok(value) => usable(value, &source),
            Err(_) => Err(format!("{source} is not a number")),
        }
    }
}

/// Text of the first match's first group. A match that ends where the kept output was cut may
/// have lost digits, so it is none.
fn find<'t>(regex: &Regex, stream: &'t Captured) -> Option<&'t [u8]> {
    let captures = regex.captures(&stream.kept)?;
    let cut = stream.truncated && captures.get(0)?.end() == stream.kept.len();
    if cut { None } else { Some(captures.get(1)?.as_bytes()) }
}

fn no_match(regex: &Regex, output: &RunOutput) -> String {
    let pattern = regex.as_str();
    if output.stdout.truncated || output.stderr.truncated {
        format!(
            "the pattern {pattern:?} does not match in the first 8 MiB of its output, and there is \
             more: let the command print less"
        )
    } else {
        format!("the pattern {pattern:?} does not match its output")
    }
}

fn usable(value: f64, source: &str) -> Result<f64, String> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(format!("{source} is {value}, but ratios need a finite number above zero"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Direction;
    use std::time::Duration;

    fn output(stdout: &[u8], stderr: &[u8]) -> RunOutput {
        let mut streams = [Captured::default(), Captured::default()];
        for (stream, bytes) in streams.iter_mut().zip([stdout, stderr]) {
            stream.push(bytes);
        }
        let [stdout, stderr] = streams;
        let (wall, cpu) = (Duration::from_millis(1500), Duration::ZERO);
        RunOutput { wall, cpu, max_rss_bytes: 0, stdout, stderr }
    }

    fn reader(pattern: &str) -> Result<Reader, PlanError> {
        let (direction, unit) = (Direction::Higher, "ops/s".to_owned());
        Reader::new(&Metric::Regex { pattern: pattern.to_owned(), direction, unit })
    }

    fn value(pattern: &str, stdout: &str, stderr: &str) -> Result<f64, String> {
        reader(pattern).unwrap().value(&output(stdout.as_bytes(), stderr.as_bytes()))
    }

    #[test]
    fn time_is_the_wall_time_in_seconds() {
        assert_eq!(Reader::new(&Metric::Time).unwrap().value(&output(b"", b"")), Ok(1.5));
    }

    #[test]
    fn the_first_group_of_the_first_match_counts() {
        assert_eq!(value(r"score (\S+)", "score 12.5e1 of score 9", ""), Ok(125.0));
        assert_eq!(value(r"score (\S+)", "nothing", "score 3"), Ok(3.0));
        assert_eq!(value(r"score (\S+)", "score 4", "score 3"), Ok(4.0));
        assert_eq!(value(r"(?m)^total:\s*(\d+)$", "a total: 1\ntotal:  77\n", ""), Ok(77.0));
    }

    #[test]
    fn output_need_not_be_utf8() {
        let bytes = output(b"\xff\xfe score 8\n", b"");
        assert_eq!(reader(r"score (\d+)").unwrap().value(&bytes), Ok(8.0));
    }

    #[test]
    fn what_is_no_positive_number_is_refused_in_words() {
        for (text, complaint) in [
            ("score 0", "above zero"),
            ("score -3", "above zero"),
            ("score inf", "above zero"),
            ("score NaN", "above zero"),
            ("score 1,234", "is not a number"),
            ("points 7", "does not match"),
        ] {
            let error = value(r"score (\S+)", text, "").unwrap_err();
            assert!(error.contains(complaint) && error.contains("score"), "{error}");
        }
        assert!(value("score(x)?", "score", "").unwrap_err().contains("does not match"));
    }

    #[test]
    fn a_number_cut_by_the_end_of_what_is_kept_is_no_number() {
        let mut long = vec![b' '; 8 << 20];
        let end = long.len();
        long[end - 3..].copy_from_slice(b"v=1");
        assert_eq!(reader(r"v=(\d+)").unwrap().value(&output(&long, b"")), Ok(1.0));
        long.extend(b"23");
        let error = reader(r"v=(\d+)").unwrap().value(&output(&long, b"")).unwrap_err();
        assert!(error.contains("print less"), "{error}");
    }

    #[test]
    fn a_pattern_is_checked_before_anything_runs() {
        let complaint = |pattern| reader(pattern).err().unwrap().to_string();
        assert!(complaint("score (").contains("not a regular expression"));
        assert!(complaint("score").contains("no capture group"));
    }
}
