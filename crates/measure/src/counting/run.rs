//! Runs a command and all its children under callgrind.
//!
//! A forked child goes on with its parent's counters, so its file would repeat all that the parent
//! had done. A dump resets the counters; so one is made at each entry into `fork` and its kin, and
//! the child inherits a few instructions only. In a program whose C library has no symbols these
//! cannot be found. Then the child's file begins with the parent's past, which is seen and said.

use super::gather::{Gathered, gather};
use super::objects::Objects;
use crate::command;
use crate::command::Call;
use crate::error::{MeasureError, RunName};
use crate::guardian::Guardian;
use crate::instruments::Instruments;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Functions that a new process begins in: of glibc and musl, old and new.
const FORKS: [&str; 5] = ["_Fork", "fork", "__libc_fork", "vfork", "__vfork"];

/// An installed valgrind.
#[derive(Debug, Clone)]
pub(crate) struct Valgrind {
    program: PathBuf,
    /// As it prints it: `valgrind-3.19.0`.
    pub(crate) version: String,
}

impl Valgrind {
    /// The first valgrind of `path`, a list as in `PATH`.
    ///
    /// # Errors
    /// [`MeasureError::NoValgrind`] if there is none that runs.
    pub(crate) fn find(path: &OsStr) -> Result<Self, MeasureError> {
        let missing = |what: &str| MeasureError::NoValgrind { what: what.to_owned() };
        let program = std::env::split_paths(path)
            .map(|folder| folder.join("valgrind"))
            .find(|program| program.is_absolute() && program.is_file())
            .ok_or_else(|| missing("there is no valgrind on PATH"))?;
        let output =
            Command::new(&program).arg("--version").stdin(Stdio::null()).output().map_err(
                |error| missing(&format!("{} does not run: {error}", program.display())),
            )?;
        if !output.status.success() {
            return Err(missing(&format!("{} --version fails", program.display())));
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self { program, version })
    }
}

/// Runs `call` once under callgrind.
///
/// # Errors
/// As for any run; and [`MeasureError::Counts`] if no process left counts.
pub(crate) fn run(
    call: &Call,
    name: RunName,
    timeout: Duration,
    guardian: &Guardian,
    valgrind: &Valgrind,
    objects: &mut Objects,
) -> Result<Gathered, MeasureError> {
    let failed = |what: String| MeasureError::Counts { run: name, what };
    let folder = tempfile::Builder::new()
        .prefix("unlikely-count-")
        .tempdir()
        .map_err(|error| failed(format!("no private folder could be made: {error}")))?;
    let wrapped = Call { command: wrapped(&call.command, valgrind, folder.path()), ..call.clone() };
    let instruments = Instruments::new(&[])?;
    command::run(&wrapped, name, timeout, guardian, &instruments)
        .map_err(|error| unwrapped(error, call))?;
    let gathered = gather(folder.path(), &call.command, objects)
        .map_err(|error| failed(format!("callgrind's files could not be read: {error}")))?;
    if gathered.processes.is_empty() {
        return Err(failed(format!(
            "no process but the shell left counts ({} lost): `{}` must run a program, and wait \
             for it",
            gathered.lost_processes, call.command
        )));
    }
    Ok(gathered)
}

/// `command` under callgrind, as a command.
fn wrapped(command: &str, valgrind: &Valgrind, folder: &Path) -> String {
    // valgrind replaces %p by the process id, and %% by a percent sign.
    let file = |name: &str| folder.join(name).to_string_lossy().replace('%', "%%") + ".%p";
    let mut words = vec![
        valgrind.program.to_string_lossy().into_owned(),
        "--tool=callgrind".to_owned(),
        // Twice: so the log says where each file was mapped.
        "--verbose".to_owned(),
        "--verbose".to_owned(),
        "--trace-children=yes".to_owned(),
        "--collect-jumps=yes".to_owned(),
        "--dump-instr=yes".to_owned(),
        "--dump-line=yes".to_owned(),
        // Each jump through a PLT where it is, not as part of the call.
        "--skip-plt=no".to_owned(),
        // Recursion makes no second function of one.
        "--separate-recs=1".to_owned(),
        "--demangle=no".to_owned(),
        format!("--callgrind-out-file={}", file("out")),
        format!("--log-file={}", file("log")),
    ];
    words.extend(FORKS.map(|name| format!("--dump-before={name}")));
    words.extend(["/bin/sh", "-c", command].map(str::to_owned));
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("exec {}", quoted.join(" "))
}

/// `word` as one word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// An error about the user's command, not about the one around it.
fn unwrapped(error: MeasureError, call: &Call) -> MeasureError {
    let original = call.command.clone();
    match error {
        MeasureError::Failed { run, status, tail, .. } => {
            MeasureError::Failed { run, command: original, status, tail }
        }
        MeasureError::TimedOut { run, timeout, tail, .. } => {
            MeasureError::TimedOut { run, command: original, timeout, tail }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_missing_valgrind_is_named_with_what_installs_it() {
        let empty = tempfile::tempdir().unwrap();
        let text = Valgrind::find(empty.path().as_os_str()).unwrap_err().to_string();
        assert!(text.contains("no valgrind on PATH"), "{text}");
        assert!(text.contains("apt install valgrind"), "{text}");
    }

    #[test]
    fn a_valgrind_that_does_not_run_is_not_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("valgrind"), "no program").unwrap();
        let text = Valgrind::find(folder.path().as_os_str()).unwrap_err().to_string();
        assert!(text.contains("does not run"), "{text}");
    }

    #[test]
    fn a_command_is_one_word_whatever_it_holds() {
        for text in ["a 'b' c", "$(id)", "x\ny", "'", "\\"] {
            let echoed = Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", quoted(text))])
                .output()
                .unwrap();
            assert_eq!(echoed.stdout, text.as_bytes());
        }
    }
}
