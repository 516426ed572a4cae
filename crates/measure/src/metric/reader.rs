//! From what a run left to the one number that it is judged by.

use super::json;
use super::kind::{Metric, Rate};
use super::parse::{check_event, stressor_name};
use super::perf;
use super::stress_ng;
use crate::command::{Captured, RunOutput};
use crate::error::PlanError;
use nix::sys::resource::{UsageWho, getrusage};
use regex::bytes::Regex;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

/// CPU time of a run below which its split by the timer's ticks is coarse: 100 to 1000 ticks.
const SPLIT_FINE: Duration = Duration::from_secs(1);

/// A metric whose parts have been checked, and what was noticed while reading it.
pub(crate) struct Reader {
    source: Source,
    /// Texts without figures, so that a long campaign does not collect one from each run.
    warnings: RefCell<BTreeSet<String>>,
}

/// Where the number is.
enum Source {
    Time,
    Cpu,
    User,
    Sys,
    Rss,
    Regex(Regex),
    Json(json::Path),
    StressNg { stressor: Option<String>, rate: Rate },
    Perf { event: String },
}

impl Source {
    /// Whether it is seen from outside the command, not in what it or perf wrote.
    fn is_measured(&self) -> bool {
        matches!(self, Self::Time | Self::Cpu | Self::User | Self::Sys | Self::Rss)
    }
}

impl Reader {
    /// # Errors
    /// If a pattern, path, stressor or event is not valid.
    pub(crate) fn new(metric: &Metric) -> Result<Self, PlanError> {
        let source = match metric {
            Metric::Time => Source::Time,
            Metric::Cpu => Source::Cpu,
            Metric::User => Source::User,
            Metric::Sys => Source::Sys,
            Metric::Rss => Source::Rss,
            Metric::Regex { pattern, .. } => Source::Regex(compile(pattern)?),
            Metric::Json { path, .. } => Source::Json(json::Path::new(path)?),
            Metric::StressNg { stressor, rate } => {
                let stressor = stressor.as_deref().map(stressor_name).transpose()?;
                Source::StressNg { stressor, rate: *rate }
            }
            Metric::Perf { event } => {
                check_event(event)?;
                Source::Perf { event: event.clone() }
            }
        };
        Ok(Self { source, warnings: RefCell::default() })
    }

    /// The event that perf has to count beside the run.
    pub(crate) fn event(&self) -> Option<&str> {
        match &self.source {
            Source::Perf { event } => Some(event),
            _ => None,
        }
    }

    /// What is to be known beside the values read so far, each text once.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().iter().cloned().collect()
    }

    /// The value of a run, finite and above zero; or what is wrong, in words.
    pub(crate) fn value(&self, output: &RunOutput) -> Result<f64, String> {
        if self.source.is_measured() && output.perf.is_some() {
            self.warn(
                "perf ran around the command, and its own start and end are in the run's time and \
                 memory: measure those in a campaign without perf events"
                    .to_owned(),
            );
        }
        match &self.source {
            Source::Time => usable(output.wall.as_secs_f64(), "the wall time"),
            Source::Cpu => usable(output.cpu().as_secs_f64(), "the CPU time"),
            Source::User => self.split(output, output.user, "the user part of the CPU time"),
            Source::Sys => self.split(output, output.sys, "the system part of the CPU time"),
            Source::Rss => self.memory(output.max_rss_bytes),
            Source::Regex(regex) => matched(regex, output),
            Source::Json(path) => usable(path.value(printed(output)?)?, "what the path selects"),
            Source::StressNg { stressor, rate } => {
                let measured = stress_ng::rate(printed(output)?, stressor.as_deref(), *rate)?;
                self.warnings.borrow_mut().extend(measured.warnings);
                usable(measured.rate, "the rate of stress-ng")
            }
            Source::Perf { event } => self.counted(output, event),
        }
    }

    fn warn(&self, warning: String) {
        self.warnings.borrow_mut().insert(warning);
    }

    /// `part` of the CPU time of a run.
    fn split(&self, output: &RunOutput, part: Duration, name: &str) -> Result<f64, String> {
        if output.cpu() < SPLIT_FINE {
            self.warn(
                "runs had less than a second of CPU time, and most kernels split that into user \
                 and system by what a tick of the timer finds running: judge by cpu, or let runs \
                 take longer"
                    .to_owned(),
            );
        }
        usable(part.as_secs_f64(), name).map_err(|error| format!("{error}; judge by cpu instead"))
    }

    fn memory(&self, max_rss_bytes: u64) -> Result<f64, String> {
        if max_rss_bytes <= own_peak_bytes() {
            self.warn(
                "the peak memory of a run was not above that of this tool, which Linux counts as \
                 the run's own since it is spawned from here: it says nothing of the command"
                    .to_owned(),
            );
        }
        // Above 2^53 bytes, the nearest float.
        usable(max_rss_bytes as f64, "the peak memory")
    }

    fn counted(&self, output: &RunOutput, event: &str) -> Result<f64, String> {
        let Some(file) = &output.perf else { return Err("perf did not run".to_owned()) };
        let count = perf::count(&file.kept, event).map_err(|why| why.describe(event))?;
        if count.scaled {
            self.warn(format!(
                "the event {event} was counted for a part of the time and extrapolated, as the CPU \
                 has fewer counters than were asked for: measure fewer events at once"
            ));
        }
        if count.user_only {
            self.warn(format!(
                "the event {event} was counted in user mode only: name it {event}:u, or set \
                 kernel.perf_event_paranoid to 1 to count the kernel too"
            ));
        }
        usable(count.value, &format!("the event {event}"))
    }
}

impl Metric {
    /// The value that a run would have which left `output` on its standard output, in its metric
    /// file, or as what perf wrote: to try a metric on saved output.
    ///
    /// # Errors
    /// In words, if the metric is not valid, if the value is not there, or if it is not in the
    /// output at all (times and memory).
    pub fn value_in(&self, output: &[u8]) -> Result<f64, String> {
        let reader = Reader::new(self).map_err(|error| error.to_string())?;
        if reader.source.is_measured() {
            return Err(format!("{} is measured, not printed", self.name()));
        }
        let mut run = RunOutput::default();
        run.stdout.push(output);
        run.perf = reader.event().map(|_| std::mem::take(&mut run.stdout));
        reader.value(&run)
    }
}

/// Highest resident memory of this process so far.
fn own_peak_bytes() -> u64 {
    let kib = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
    u64::try_from(kib).unwrap_or(0).saturating_mul(1024)
}

fn compile(pattern: &str) -> Result<Regex, PlanError> {
    let regex = Regex::new(pattern).map_err(|source| PlanError::Pattern {
        pattern: pattern.to_owned(),
        source: Box::new(source),
    })?;
    // Group 0 is the whole match.
    if regex.captures_len() < 2 {
        return Err(PlanError::NoGroup { pattern: pattern.to_owned() });
    }
    Ok(regex)
}

/// All of what a structured metric is read from: the metric file, or standard output.
fn printed(output: &RunOutput) -> Result<&[u8], String> {
    let stream = output.file.as_ref().unwrap_or(&output.stdout);
    if stream.truncated {
        return Err("its output is larger than 8 MiB: let the command print less".to_owned());
    }
    Ok(&stream.kept)
}

fn matched(regex: &Regex, output: &RunOutput) -> Result<f64, String> {
    let streams = match &output.file {
        Some(file) => [Some(file), None],
        None => [Some(&output.stdout), Some(&output.stderr)],
    };
    let text = streams.iter().flatten().find_map(|stream| find(regex, stream));
    let Some(text) = text else {
        let truncated = streams.iter().flatten().any(|stream| stream.truncated);
        return Err(no_match(regex, truncated));
    };
    let text = String::from_utf8_lossy(text);
    let shown: String = text.chars().take(80).collect();
    let source = format!("what {:?} captured, {shown:?},", regex.as_str());
    match text.trim().parse() {
        Ok(value) => usable(value, &source),
        Err(_) => Err(format!("{source} is not a number")),
    }
}

/// Text of the first match's first group. A match that ends where the kept output was cut may
/// have lost digits, so it is none.
fn find<'t>(regex: &Regex, stream: &'t Captured) -> Option<&'t [u8]> {
    let captures = regex.captures(&stream.kept)?;
    let cut = stream.truncated && captures.get(0)?.end() == stream.kept.len();
    if cut { None } else { Some(captures.get(1)?.as_bytes()) }
}

fn no_match(regex: &Regex, truncated: bool) -> String {
    let pattern = regex.as_str();
    if truncated {
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

    fn output(stdout: &[u8], stderr: &[u8]) -> RunOutput {
        let mut streams = [Captured::default(), Captured::default()];
        for (stream, bytes) in streams.iter_mut().zip([stdout, stderr]) {
            stream.push(bytes);
        }
        let [stdout, stderr] = streams;
        let wall = Duration::from_millis(1500);
        RunOutput { wall, stdout, stderr, ..RunOutput::default() }
    }

    /// A run that left `file` in its metric file, beside other things in its output.
    fn with_file(file: &[u8]) -> RunOutput {
        let mut captured = Captured::default();
        captured.push(file);
        RunOutput { file: Some(captured), ..output(b"score 1\n{\"v\": 1}", b"score 2") }
    }

    fn read(form: &str, output: &RunOutput) -> (Result<f64, String>, Vec<String>) {
        let reader = Reader::new(&Metric::parse(form).unwrap()).unwrap();
        (reader.value(output), reader.warnings())
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
    fn what_a_run_used_is_in_seconds_and_bytes() {
        let (user, sys) = (Duration::from_millis(1250), Duration::from_millis(250));
        let used = RunOutput { user, sys, max_rss_bytes: 1 << 40, ..output(b"", b"") };
        for (form, value) in [("cpu", 1.5), ("user", 1.25), ("sys", 0.25), ("rss", 2f64.powi(40))] {
            assert_eq!(read(form, &used), (Ok(value), vec![]), "{form}");
        }
        let error = read("sys", &RunOutput { sys: Duration::ZERO, ..used }).0.unwrap_err();
        assert!(error.contains("judge by cpu"), "{error}");
    }

    #[test]
    fn a_short_run_has_no_fine_split_of_its_cpu_time() {
        let user = Duration::from_millis(900);
        let short = RunOutput { user, ..output(b"", b"") };
        assert!(read("user", &short).1.concat().contains("judge by cpu"));
        assert!(read("cpu", &short).1.is_empty());
    }

    #[test]
    fn memory_that_may_be_this_tools_own_says_nothing() {
        let warned = |max_rss_bytes| {
            let (value, warnings) = read("rss", &RunOutput { max_rss_bytes, ..output(b"", b"") });
            assert_eq!(value, Ok(max_rss_bytes as f64));
            warnings.concat().contains("says nothing of the command")
        };
        assert!(warned(1 << 12));
        assert!(!warned(1 << 50));
    }

    #[test]
    fn a_metric_file_is_read_in_place_of_the_output() {
        assert_eq!(read(r"regex:score (\d+)", &with_file(b"score 7")).0, Ok(7.0));
        assert_eq!(read("json:$.v", &with_file(b"{\"v\": 7}")).0, Ok(7.0));
        // What stands on standard output does not count then, be it there or not.
        assert!(read(r"regex:score (\d+)", &with_file(b"")).0.is_err());
        assert!(read("json:$.v", &with_file(b"7")).0.is_err());
        assert_eq!(read("json:$.v", &output(b"score 1\n{\"v\": 1}", b"")).0, Ok(1.0));
    }

    #[test]
    fn a_structured_file_that_was_cut_is_not_read() {
        let mut long = b"{\"v\": 1}\n".repeat(1 << 20);
        assert!(read("json:$.v", &with_file(&long)).0.unwrap_err().contains("print less"));
        long.truncate(9 << 10);
        assert_eq!(read("json:$.v", &with_file(&long)).0, Ok(1.0));
    }

    #[test]
    fn a_rate_of_stress_ng_is_read_with_what_is_to_be_known_of_it() {
        let yaml = include_bytes!("../../tests/fixtures/stress-ng-0.22.00-by-hand/two.yaml");
        assert_eq!(read("stress-ng:poll", &with_file(yaml)), (Ok(42000.0), vec![]));
        let (value, warnings) = read("stress-ng:urandom/usr-sys-time", &output(yaml, b""));
        assert_eq!((value, warnings.len()), (Ok(26776.051667), 2));
        // stress-ng takes either spelling, and prints one.
        let error = read("stress-ng:vm_rw", &output(yaml, b"")).0.unwrap_err();
        assert!(error.contains("\"vm-rw\", only poll"), "{error}");
    }

    #[test]
    fn a_counter_is_read_from_what_perf_wrote_and_only_there() {
        let counters = include_bytes!("../../tests/fixtures/perf-by-hand/counters.json");
        let mut captured = Captured::default();
        captured.push(counters);
        let run = RunOutput { perf: Some(captured), ..output(b"", b"") };
        assert_eq!(read("perf:instructions", &run), (Ok(1234567890.0), vec![]));
        assert!(read("perf:branch-misses", &run).1.concat().contains("extrapolated"));
        assert!(read("perf:cycles", &run).1.concat().contains("user mode only"));
        assert!(read("perf:instructions", &output(counters, counters)).0.is_err());
        // The command did not run alone.
        assert!(read("time", &run).1.concat().contains("without perf events"));
    }

    #[test]
    fn many_runs_warn_once() {
        let reader = Reader::new(&Metric::Rss).unwrap();
        for max_rss_bytes in 1..100 {
            reader.value(&RunOutput { max_rss_bytes, ..output(b"", b"") }).unwrap();
        }
        assert_eq!(reader.warnings().len(), 1);
    }

    #[test]
    fn a_metric_can_be_tried_on_saved_output() {
        let value = |form: &str, text: &[u8]| Metric::parse(form).unwrap().value_in(text);
        assert_eq!(value("json:$.v", b"{\"v\": 3}"), Ok(3.0));
        let counters = include_bytes!("../../tests/fixtures/perf-by-hand/counters.json");
        assert_eq!(value("perf:instructions", counters), Ok(1234567890.0));
        assert_eq!(value("time", b""), Err("time is measured, not printed".to_owned()));
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
