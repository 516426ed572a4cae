//! Runs one command of an arm: in the campaign's process group, its output drained into bounded
//! memory, its time taken from just before the spawn until its exit is seen.
//!
//! One thread waits for output, exit (a pidfd) and the timeout at once, so there is nothing to join
//! and nothing that can deadlock: a command that prints gigabytes is drained, and a descendant that
//! holds the pipes open is not waited for. What is left of the group after the shell has ended is
//! killed, since it would disturb the next run.

use crate::error::{MeasureError, RunName};
use crate::guardian::Guardian;
use crate::instruments::{Instruments, METRIC_FILE, RunFiles};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use wait4::{ResUse, Wait4};

/// Bytes of each stream, and of each file, that are kept for the metric.
pub(crate) const KEPT_MAX: usize = 8 << 20;
/// Bytes of each stream's end that are kept for messages.
const TAIL_MAX: usize = 2048;
/// Bytes read from a stream at once.
const CHUNK: usize = 64 << 10;

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// Run by `/bin/sh -c`.
    pub(crate) command: String,
    /// Working directory.
    pub(crate) dir: PathBuf,
    /// Added to this process's environment and to `LC_ALL=C`, which it may override.
    pub(crate) env: Vec<(String, String)>,
}

/// One stream of a command's output: its beginning for the metric, its end for messages.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// The first [`KEPT_MAX`] bytes.
    pub(crate) kept: Vec<u8>,
    /// Whether there was more than `kept` holds.
    pub(crate) truncated: bool,
    tail: VecDeque<u8>,
}

impl Captured {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (keep, rest) = bytes.split_at(bytes.len().min(KEPT_MAX - self.kept.len()));
        self.kept.extend_from_slice(keep);
        self.truncated |= !rest.is_empty();
        self.tail.extend(bytes.iter().skip(bytes.len().saturating_sub(TAIL_MAX)));
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_MAX));
    }
}

/// A command that ended with success.
#[derive(Debug, Default)]
pub(crate) struct RunOutput {
    pub(crate) wall: Duration,
    /// User time of the command and the descendants it waited for.
    pub(crate) user: Duration,
    /// System time of the command and the descendants it waited for.
    pub(crate) sys: Duration,
    /// Peak resident memory of the largest of them.
    pub(crate) max_rss_bytes: u64,
    /// How often they gave up the CPU, to wait.
    pub(crate) voluntary_switches: u64,
    /// How often the CPU was taken from them, for other work.
    pub(crate) involuntary_switches: u64,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    /// The metric file, if the command wrote one.
    pub(crate) file: Option<Captured>,
    /// What perf wrote, if it counted.
    pub(crate) perf: Option<Captured>,
}

impl RunOutput {
    /// User and system time together.
    pub(crate) fn cpu(&self) -> Duration {
        self.user + self.sys
    }

    /// Last lines of both streams, for a message.
    pub(crate) fn tail(&self) -> String {
        tail(&self.stdout, &self.stderr)
    }
}

/// Runs `call` once.
///
/// # Errors
/// When it cannot be started, fails, or takes longer than `timeout`; its group is dead then.
pub(crate) fn run(
    call: &Call,
    name: RunName,
    timeout: Duration,
    guardian: &Guardian,
    instruments: &Instruments,
) -> Result<RunOutput, MeasureError> {
    let start_error = |source| MeasureError::Start { run: name, dir: call.dir.clone(), source };
    let files = instruments.files();
    let mut command = instruments.command(&call.command, &files);
    dress(&mut command, call, &files, guardian);
    let started = Instant::now();
    let mut shell = Shell::spawn(&mut command, guardian).map_err(start_error)?;
    let mut streams = Streams::of(&mut shell.child).map_err(start_error)?;
    let exit = streams.until_exit(&shell.exit, started, timeout).map_err(start_error)?;
    let switches = Switches::so_far();
    let reaped = shell.kill_and_reap().map_err(start_error)?;
    let switches = Switches::so_far().since(switches);
    streams.drain();
    let (stdout, stderr) = (streams.out.captured, streams.err.captured);
    let Some(wall) = exit else {
        return Err(MeasureError::TimedOut {
            run: name,
            command: call.command.clone(),
            timeout,
            tail: tail(&stdout, &stderr),
        });
    };
    match files.status(reaped.status) {
        Some(status) if status.success() => {}
        Some(status) => return Err(failed(name, call, status, tail(&stdout, &stderr))),
        None => return Err(lost(name, tail(&stdout, &stderr))),
    }
    Ok(RunOutput {
        wall,
        user: reaped.rusage.utime,
        sys: reaped.rusage.stime,
        max_rss_bytes: reaped.rusage.maxrss,
        voluntary_switches: switches.voluntary,
        involuntary_switches: switches.involuntary,
        stdout,
        stderr,
        file: files.read_metric(),
        perf: files.read_perf(),
    })
}

/// Gives `command` its surroundings, pipes, and the campaign's process group.
fn dress(command: &mut Command, call: &Call, files: &RunFiles, guardian: &Guardian) {
    command
        .current_dir(&call.dir)
        .env("LC_ALL", "C")
        .envs(call.env.iter().map(|(key, value)| (key, value)))
        .env(METRIC_FILE, files.metric())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(guardian.group().as_raw_pid());
}

/// Context switches of all children that this process has waited for. The kernel gives those of
/// one child only as the difference that waiting for it makes, so a child that another thread waits
/// for at the same moment is counted in.
#[derive(Clone, Copy, Default)]
struct Switches {
    voluntary: u64,
    involuntary: u64,
}

impl Switches {
    fn so_far() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Self::default() };
        let count = |value| u64::try_from(value).unwrap_or(0);
        Self {
            voluntary: count(usage.voluntary_context_switches()),
            involuntary: count(usage.involuntary_context_switches()),
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

fn failed(run: RunName, call: &Call, status: ExitStatus, tail: String) -> MeasureError {
    MeasureError::Failed { run, command: call.command.clone(), status, tail }
}

fn lost(run: RunName, tail: String) -> MeasureError {
    let reason = "the shell below perf was killed before it could tell how the command ended";
    MeasureError::NoValue { run, reason: reason.to_owned(), tail }
}

fn tail(stdout: &Captured, stderr: &Captured) -> String {
    let mut text = String::new();
    for stream in [stdout, stderr] {
        let (front, back) = stream.tail.as_slices();
        let bytes = [front, back].concat();
        let part = String::from_utf8_lossy(&bytes);
        if !text.is_empty() && !part.trim().is_empty() {
            text.push('\n');
        }
        text.push_str(part.trim_end());
    }
    if text.is_empty() { "(nothing)".to_owned() } else { text }
}

/// A spawned shell; killed with its group and reaped whatever way its owner leaves.
struct Shell<'g> {
    child: Child,
    /// Readable once the shell has ended.
    exit: OwnedFd,
    guardian: &'g Guardian,
    reaped: bool,
}

impl<'g> Shell<'g> {
    fn spawn(command: &mut Command, guardian: &'g Guardian) -> io::Result<Self> {
        let mut child = command.spawn()?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(exit) => Ok(Self { child, exit, guardian, reaped: false }),
            Err(error) => {
                guardian.kill_group();
                child.wait()?;
                Err(error.into())
            }
        }
    }

    /// Kills what is left of the group, then waits for the shell.
    fn kill_and_reap(&mut self) -> io::Result<ResUse> {
        self.guardian.kill_group();
        self.reaped = true;
        // Killed or ended, it does not keep this waiting.
        loop {
            if let Some(reaped) = self.child.try_wait4()? {
                return Ok(reaped);
            }
            retry_on_intr(|| poll(&mut [PollFd::new(&self.exit, PollFlags::IN)], None))?;
        }
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.kill_and_reap();
        }
    }
}

/// One pipe from the command.
struct Stream<R> {
    pipe: R,
    open: bool,
    captured: Captured,
}

impl<R: Read + AsFd> Stream<R> {
    fn new(pipe: Option<R>) -> io::Result<Self> {
        let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
        ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe, open: true, captured: Captured::default() })
    }

    /// Reads what is there, at most one chunk; whether there was anything.
    fn read(&mut self, chunk: &mut [u8]) -> bool {
        match self.pipe.read(chunk) {
            Ok(length) if length > 0 => {
                self.captured.push(chunk.get(..length).unwrap_or_default());
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            // The end, or a pipe that cannot be read any more.
            _ => {
                self.open = false;
                false
            }
        }
    }
}

/// Both pipes of a command.
struct Streams {
    out: Stream<std::process::ChildStdout>,
    err: Stream<std::process::ChildStderr>,
    chunk: Vec<u8>,
}

impl Streams {
    fn of(shell: &mut Child) -> io::Result<Self> {
        Ok(Self {
            out: Stream::new(shell.stdout.take())?,
            err: Stream::new(shell.stderr.take())?,
            chunk: vec![0; CHUNK],
        })
    }

    /// Drains both pipes until the shell ends: its wall time, or `None` at the timeout.
    fn until_exit(
        &mut self,
        exit: &OwnedFd,
        started: Instant,
        timeout: Duration,
    ) -> io::Result<Option<Duration>> {
        loop {
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            let ready = self.wait(exit, left)?;
            if ready.exited {
                return Ok(Some(started.elapsed()));
            }
            if ready.out {
                self.out.read(&mut self.chunk);
            }
            if ready.err {
                self.err.read(&mut self.chunk);
            }
        }
    }

    /// Sleeps until one of the three has news, at most for `left`.
    fn wait(&self, exit: &OwnedFd, left: Duration) -> io::Result<Ready> {
        // A time that does not fit is longer than this machine will run.
        let left = Timespec::try_from(left).ok();
        // A closed pipe is always ready; asking for the exit twice instead costs nothing.
        let out = if self.out.open { self.out.pipe.as_fd() } else { exit.as_fd() };
        let err = if self.err.open { self.err.pipe.as_fd() } else { exit.as_fd() };
        let mut asked =
            [exit.as_fd(), out, err].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut asked, left.as_ref()) {
            Ok(_) => {}
            // Back to the caller, who knows how much time is left now.
            Err(Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(error.into()),
        }
        let [exited, out, err] = asked.map(|fd| !fd.revents().is_empty());
        Ok(Ready { exited, out: out && self.out.open, err: err && self.err.open })
    }

    /// Reads what the pipes still hold after the group is dead. Bounded, as a process that left
    /// the group may write for ever.
    fn drain(&mut self) {
        for _ in 0..KEPT_MAX / CHUNK {
            let out = self.out.open && self.out.read(&mut self.chunk);
            let err = self.err.open && self.err.read(&mut self.chunk);
            if !out && !err {
                break;
            }
        }
    }
}

#[derive(Default)]
struct Ready {
    exited: bool,
    out: bool,
    err: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RunPhase;
    use crate::guardian::dies;
    use std::fs;
    use std::path::Path;

    const LONG: Duration = Duration::from_secs(600);
    const NAME: RunName = RunName { arm: 0, when: RunPhase::Block(3) };

    fn run_in(dir: &Path, command: &str, timeout: Duration) -> Result<RunOutput, MeasureError> {
        let env = vec![("ARM".to_owned(), "b c".to_owned())];
        let call = Call { command: command.to_owned(), dir: dir.to_owned(), env };
        let instruments = Instruments::new(&[]).unwrap();
        run(&call, NAME, timeout, &Guardian::start().unwrap(), &instruments)
    }

    fn run_command(command: &str) -> Result<RunOutput, MeasureError> {
        run_in(Path::new("/"), command, LONG)
    }

    /// The process whose id a command wrote to `pid`.
    fn process_in(dir: &tempfile::TempDir) -> Pid {
        let text = fs::read_to_string(dir.path().join("pid")).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    #[test]
    fn both_streams_are_captured() {
        let output = run_command("echo out; echo err >&2").unwrap();
        assert_eq!(output.stdout.kept, b"out\n");
        assert_eq!(output.stderr.kept, b"err\n");
        assert_eq!(output.tail(), "out\nerr");
    }

    #[test]
    fn gigabytes_of_output_are_drained_into_bounded_memory() {
        let output =
            run_command("head -c 20000000 /dev/zero; head -c 9000000 /dev/zero >&2; echo end")
                .unwrap();
        for stream in [&output.stdout, &output.stderr] {
            assert_eq!((stream.kept.len(), stream.truncated), (KEPT_MAX, true));
            assert!(stream.tail.len() <= TAIL_MAX);
        }
        assert!(output.tail().contains("end"));
    }

    #[test]
    fn the_command_sees_its_environment_and_no_input() {
        let output =
            run_command(r#"printf '%s|%s|%s' "$LC_ALL" "$ARM" "$(cat)"; test -n "$PATH""#).unwrap();
        assert_eq!(output.stdout.kept, b"C|b c|");
    }

    #[test]
    fn cpu_time_and_memory_are_those_of_the_command() {
        // 64 MiB in one piece of memory, read over and over: well above this test's own size.
        let output = run_command(
            "dd if=/dev/zero of=/dev/null bs=64M count=4 2>/dev/null; i=0; \
             while [ $i -lt 20000 ]; do i=$((i+1)); done",
        )
        .unwrap();
        assert!(output.max_rss_bytes > 64 << 20, "{}", output.max_rss_bytes);
        assert!(output.cpu() > Duration::ZERO && output.cpu() == output.user + output.sys);
        // Two CPUs at most work for it at a time.
        assert!(output.cpu() <= output.wall * 2 + Duration::from_millis(20), "{output:?}");
    }

    #[test]
    fn a_run_that_waits_gives_up_the_cpu() {
        // Each `true` is one more process to wait for.
        let output = run_command("for i in 1 2 3 4 5 6 7 8; do /bin/true; done").unwrap();
        assert!(output.voluntary_switches >= 8, "{output:?}");
        assert!(output.involuntary_switches < 1_000_000, "{output:?}");
    }

    #[test]
    fn failure_is_an_error_with_the_end_of_the_output() {
        let text =
            run_command("echo progress; echo 'no such file' >&2; exit 7").unwrap_err().to_string();
        for part in ["A in block 3", "exit status: 7", "progress\nno such file"] {
            assert!(text.contains(part), "{text}");
        }
        let text = run_command("kill -9 $$").unwrap_err().to_string();
        assert!(text.contains("signal: 9"), "{text}");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let text = run_in(Path::new("/no/such/folder"), "true", LONG).unwrap_err().to_string();
        assert!(text.contains("/no/such/folder"), "{text}");
    }

    #[test]
    fn the_timeout_kills_the_whole_group() {
        let dir = tempfile::tempdir().unwrap();
        // The child of the shell ignores gentler signals.
        let command = "(trap '' TERM HUP; exec sleep 1000) & echo $! >pid; echo begun; wait";
        // A loaded machine may not come as far as `begun` in the first of these times.
        let tail = [200, 2_000, 20_000].into_iter().find_map(|limit| {
            match run_in(dir.path(), command, Duration::from_millis(limit)) {
                Err(MeasureError::TimedOut { tail, .. }) => (tail == "begun").then_some(tail),
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(tail.as_deref(), Some("begun"));
        assert!(dies(process_in(&dir)));
    }

    #[test]
    fn what_a_command_leaves_running_is_neither_waited_for_nor_left() {
        let dir = tempfile::tempdir().unwrap();
        let output = run_in(dir.path(), "sleep 1000 & echo $! >pid; echo 5", LONG).unwrap();
        assert_eq!(output.stdout.kept, b"5\n");
        assert!(dies(process_in(&dir)));
    }
}
