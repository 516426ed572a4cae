//! What stands beside a run: a file for it to write its figures to, and perf around it where
//! counters are asked for.
//!
//! A sitting has one private folder, and each run a name of its own in it, so that nothing a
//! straggler of an earlier run writes is taken for this one's. All names are of one length: the
//! environment lies above the stack, so that a longer one would move what a program is measured by.

use crate::command::{Captured, KEPT_MAX};
use crate::error::MeasureError;
use crate::metric::{Reader, probe};
use rustix::fs::OFlags;
use std::cell::Cell;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use tempfile::TempDir;

/// The environment variable that names a run's metric file. What a command writes there is read in
/// place of its output.
pub(crate) const METRIC_FILE: &str = "UNLIKELY_METRIC_FILE";

/// A shell between perf and the command, which notes how the command ended. perf's own exit status
/// cannot be trusted: it is success when its child was killed by a signal, and now and then when the
/// child failed sooner than perf came to wait for it (seen with 6.1).
const BELOW_PERF: &str = r#"/bin/sh -c "$2"; status=$?; echo $status >"$1"; exit $status"#;

/// The instruments of a sitting.
pub(crate) struct Instruments {
    folder: TempDir,
    /// Runs so far.
    runs: Cell<u32>,
    /// Events that perf counts, comma-separated; none, and perf does not run.
    events: String,
}

impl Instruments {
    /// Makes the folder, and tries each counter that one of `readers` asks for.
    ///
    /// # Errors
    /// If there is no place for the folder, or a counter cannot be had here.
    pub(crate) fn new(readers: &[Reader]) -> Result<Self, MeasureError> {
        let mut events: Vec<&str> = Vec::new();
        for event in readers.iter().filter_map(Reader::event) {
            if !events.contains(&event) {
                probe(event)?;
                events.push(event);
            }
        }
        let folder = tempfile::Builder::new()
            .prefix("unlikely-run-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|source| MeasureError::RunFolder { source })?;
        Ok(Self { folder, runs: Cell::new(0), events: events.join(",") })
    }

    /// Names for the files of the next run.
    pub(crate) fn files(&self) -> RunFiles {
        let run = self.runs.get();
        self.runs.set(run.wrapping_add(1));
        let name = |kind: &str| self.folder.path().join(format!("{kind}-{run:010}"));
        let perf = || PerfFiles { counts: name("counts"), status: name("status") };
        RunFiles { metric: name("metric"), perf: (!self.events.is_empty()).then(perf) }
    }

    /// What runs `command` by a shell, under perf if it counts.
    pub(crate) fn command(&self, command: &str, files: &RunFiles) -> Command {
        let Some(perf) = &files.perf else {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", command]);
            return shell;
        };
        let mut under = Command::new("perf");
        under.args(["stat", "-j", "-e", &self.events, "-o"]).arg(&perf.counts);
        under.args(["--", "/bin/sh", "-c", BELOW_PERF, "sh"]).arg(&perf.status).arg(command);
        under
    }
}

/// The files of one run; removed when it is dropped.
pub(crate) struct RunFiles {
    metric: PathBuf,
    perf: Option<PerfFiles>,
}

struct PerfFiles {
    counts: PathBuf,
    /// Exit status of the command, as a shell has it.
    status: PathBuf,
}

impl RunFiles {
    /// Where the command may write its figures.
    pub(crate) fn metric(&self) -> &Path {
        &self.metric
    }

    /// What the command wrote to its metric file, if there is one.
    pub(crate) fn read_metric(&self) -> Option<Captured> {
        read(&self.metric)
    }

    /// What perf wrote, if it ran.
    pub(crate) fn read_perf(&self) -> Option<Captured> {
        read(&self.perf.as_ref()?.counts)
    }

    /// How the command ended, where the process that was started ended with `outer`. `None`, if
    /// perf lost it.
    pub(crate) fn status(&self, outer: ExitStatus) -> Option<ExitStatus> {
        let Some(perf) = self.perf.as_ref().filter(|_| outer.success()) else { return Some(outer) };
        let noted = read(&perf.status)?;
        let code: u8 = str::from_utf8(&noted.kept).ok()?.trim().parse().ok()?;
        Some(ExitStatus::from_raw(i32::from(code) << 8))
    }
}

impl Drop for RunFiles {
    fn drop(&mut self) {
        // Most runs write none.
        let _ = fs::remove_file(&self.metric);
        if let Some(perf) = &self.perf {
            let _ = fs::remove_file(&perf.counts);
            let _ = fs::remove_file(&perf.status);
        }
    }
}

/// The regular file `path`, as far as a metric is read. The command may have put anything there: a
/// pipe must not be waited for, and what never ends must end here.
fn read(path: &Path) -> Option<Captured> {
    let flags = OFlags::NONBLOCK.bits().try_into().ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    // One byte more than is kept shows that there is more.
    file.take(KEPT_MAX as u64 + 1).read_to_end(&mut bytes).ok()?;
    let mut captured = Captured::default();
    captured.push(&bytes);
    Some(captured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Call;
    use crate::command::{RunOutput, run};
    use crate::error::{RunName, RunPhase};
    use crate::guardian::Guardian;
    use crate::metric::Metric;
    use std::time::Duration;

    /// Runs of one sitting that is judged by `metrics`.
    struct Sitting {
        readers: Vec<Reader>,
        instruments: Instruments,
        guardian: Guardian,
    }

    impl Sitting {
        fn new(metrics: &[&str]) -> Self {
            let reader = |form: &&str| Reader::new(&Metric::parse(form).unwrap()).unwrap();
            let readers: Vec<Reader> = metrics.iter().map(reader).collect();
            let instruments = Instruments::new(&readers).unwrap();
            Self { readers, instruments, guardian: Guardian::start().unwrap() }
        }

        fn run(&self, command: &str) -> Result<RunOutput, MeasureError> {
            let call = Call { command: command.to_owned(), dir: "/".into(), env: vec![] };
            let name = RunName { arm: 0, when: RunPhase::Block(0) };
            run(&call, name, Duration::from_secs(600), &self.guardian, &self.instruments)
        }

        fn values(&self, command: &str) -> Vec<Result<f64, String>> {
            let output = self.run(command).unwrap();
            self.readers.iter().map(|reader| reader.value(&output)).collect()
        }

        fn left_in_folder(&self) -> usize {
            fs::read_dir(self.instruments.folder.path()).unwrap().count()
        }
    }

    #[test]
    fn a_command_writes_figures_to_its_metric_file() {
        let sitting = Sitting::new(&["json:$.v", "regex:([0-9]+)"]);
        let both = r#"echo '{"v": 8}' >"$UNLIKELY_METRIC_FILE"; echo '{"v": 9}'"#;
        assert_eq!(sitting.values(both), [Ok(8.0), Ok(8.0)]);
        // The file of one run is not there for the next.
        assert_eq!(sitting.values(r#"echo '{"v": 9}'"#), [Ok(9.0), Ok(9.0)]);
        assert_eq!(sitting.left_in_folder(), 0);
    }

    #[test]
    fn every_run_has_a_name_of_its_own_and_of_one_length() {
        let sitting = Sitting::new(&[]);
        let names = [(); 12].map(|()| {
            let output = sitting.run(r#"printf %s "$UNLIKELY_METRIC_FILE""#).unwrap();
            String::from_utf8(output.stdout.kept).unwrap()
        });
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
            assert_eq!(name.len(), names[0].len());
        }
    }

    #[test]
    fn nobody_else_can_lay_a_file_there() {
        let folder = Sitting::new(&[]).instruments.folder;
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_read() {
        let sitting = Sitting::new(&[]);
        for oddity in ["mkfifo", "mkdir"] {
            let output = sitting.run(&format!("{oddity} \"$UNLIKELY_METRIC_FILE\"")).unwrap();
            assert!(output.file.is_none(), "{oddity}");
        }
        let endless = sitting.run("ln -s /dev/zero \"$UNLIKELY_METRIC_FILE\"").unwrap();
        assert!(endless.file.is_none());
    }

    #[test]
    fn a_large_file_is_cut_and_marked_so() {
        let sitting = Sitting::new(&[]);
        let size = |bytes: usize| {
            let command = format!("head -c {bytes} /dev/zero >\"$UNLIKELY_METRIC_FILE\"");
            let file = sitting.run(&command).unwrap().file.unwrap();
            (file.kept.len(), file.truncated)
        };
        assert_eq!(size(KEPT_MAX), (KEPT_MAX, false));
        assert_eq!(size(KEPT_MAX + 1000), (KEPT_MAX, true));
    }

    #[test]
    fn perf_counts_the_command_and_its_children() {
        let sitting = Sitting::new(&["perf:page-faults", "perf:task-clock", "regex:(7)"]);
        let few = sitting.values("echo 7");
        // 64 MiB are 16384 pages of 4 KiB, in a child; fewer where pages are larger.
        let many = sitting.values("echo 7; dd if=/dev/zero of=/dev/null bs=64M count=1 2>&1; true");
        let faults = |values: &[Result<f64, String>]| values[0].clone().unwrap();
        assert!(faults(&many) > faults(&few) + 200.0, "{few:?} {many:?}");
        assert!(few[1].is_ok() && few[2] == Ok(7.0) && many[2] == Ok(7.0), "{few:?} {many:?}");
        assert_eq!(sitting.left_in_folder(), 0);
    }

    #[test]
    fn a_command_that_fails_or_dies_under_perf_is_not_a_success() {
        let sitting = Sitting::new(&["perf:page-faults"]);
        for (command, status) in [("exit 3", "status: 3"), ("kill -9 $$", "status: 137")] {
            let text = match sitting.run(command) {
                Err(error) => error.to_string(),
                Ok(output) => panic!("{command} succeeded: {output:?}"),
            };
            assert!(text.contains(status), "{text}");
        }
    }

    #[test]
    fn the_status_is_the_one_that_the_shell_noted_not_that_of_perf() {
        let sitting = Sitting::new(&["perf:page-faults"]);
        let files = sitting.instruments.files();
        let perf = files.perf.as_ref().unwrap();
        let (success, failure) = (ExitStatus::from_raw(0), ExitStatus::from_raw(7 << 8));
        assert_eq!(files.status(success), None);
        fs::write(&perf.status, "3\n").unwrap();
        assert_eq!(files.status(success).unwrap().code(), Some(3));
        assert_eq!(files.status(failure), Some(failure));
        assert_eq!(Sitting::new(&[]).instruments.files().status(success), Some(success));
    }

    #[test]
    fn a_counter_that_is_not_to_be_had_stops_before_the_first_run() {
        let reader = Reader::new(&Metric::parse("perf:no-such-event-at-all").unwrap()).unwrap();
        let error = Instruments::new(&[reader]).err().unwrap().to_string();
        assert!(error.contains("no-such-event-at-all"), "{error}");
    }

    #[test]
    fn stress_ng_itself_is_understood() {
        let sitting = Sitting::new(&["stress-ng:poll", "stress-ng:poll/usr-sys-time"]);
        let values = sitting.values(
            "stress-ng --poll 1 --poll-ops 200 --metrics --yaml \"$UNLIKELY_METRIC_FILE\" 2>&1",
        );
        assert!(values.iter().all(|value| matches!(value, Ok(rate) if *rate > 0.0)), "{values:?}");
    }
}
