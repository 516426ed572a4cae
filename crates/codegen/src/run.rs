//! One run of a compiler: no input, the C locale, a limit in time, a bound on what it may say.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) timed_out: bool,
    /// The beginning of standard output.
    pub(crate) stdout: Vec<u8>,
    /// The beginning of standard error.
    pub(crate) stderr: Vec<u8>,
}

/// Bytes of each stream that are kept; the rest is read and dropped.
const KEPT_BYTES: u64 = 16 * 1024;

/// Runs `program` in `dir`; when `limit` has passed, it and all it started are killed.
pub(crate) fn run(
    program: &str,
    args: &[OsString],
    dir: &Path,
    limit: Duration,
) -> io::Result<Outcome> {
    let mut child = Command::new(program)
        .args(args)
        .current_dir(dir)
        .env("LC_ALL", "C")
        // `__DATE__` and `__TIME__` must not differ between two runs.
        .env("SOURCE_DATE_EPOCH", "0")
        .env("CCACHE_DISABLE", "1")
        .env_remove("GCC_COLORS")
        .env_remove("DEPENDENCIES_OUTPUT")
        .env_remove("SUNPRO_DEPENDENCIES")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (done, watched) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let late = watched.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        if let (true, Some(group)) = (late, group) {
            // Fails only if the group is gone already.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        late
    });
    let stdout = child.stdout.take();
    let reader = thread::spawn(move || keep(stdout));
    let stderr = keep(child.stderr.take());
    let stdout = reader.join().unwrap_or_default();
    // The child stays unreaped until the watch has ended, so that its number cannot have become
    // another's when the watch uses it.
    if let Some(pid) = group {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = || rustix::process::waitid(WaitId::Pid(pid), options);
        while ended().is_err_and(|e| e == rustix::io::Errno::INTR) {}
    }
    drop(done);
    let timed_out = watch.join().unwrap_or(false);
    let status = child.wait()?;
    Ok(Outcome { success: status.success(), timed_out, stdout, stderr })
}

/// The beginning of a stream; all of it is read, so that the writer never blocks.
fn keep(stream: Option<impl Read>) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut stream) = stream {
        // An error ends the stream like its end; the exit status tells whether the run failed.
        let _ = stream.by_ref().take(KEPT_BYTES).read_to_end(&mut kept);
        let _ = io::copy(&mut stream, &mut io::sink());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Outcome {
        run("sh", &["-c".into(), script.into()], Path::new("/"), limit).unwrap()
    }

    #[test]
    fn output_is_bounded_and_never_blocks_the_child() {
        let outcome = sh("head -c 1000000 /dev/zero >&2; echo out", Duration::from_secs(60));
        assert_eq!(outcome.stderr.len() as u64, KEPT_BYTES);
        assert_eq!(outcome.stdout, b"out\n");
        assert!(outcome.success && !outcome.timed_out);
    }

    #[test]
    fn a_run_past_its_limit_is_stopped_with_all_it_started() {
        // Ends only because the whole group is killed: both hold the pipe open for ever.
        let outcome = sh("tail -f /dev/null & tail -f /dev/null", Duration::from_millis(50));
        assert!(outcome.timed_out && !outcome.success);
    }

    #[test]
    fn standard_input_is_empty() {
        assert_eq!(sh("cat", Duration::from_secs(60)).stdout, b"");
    }
}
