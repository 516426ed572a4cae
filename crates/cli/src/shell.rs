//! Running a project's own commands: by `sh`, with the output kept in a log beside the state.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use unlikely_measure::Guardian;

use crate::exit::{Exit, fail};

/// Bytes of a log's end that an error shows.
const TAIL_BYTES: u64 = 4096;
/// Lines of it.
const TAIL_LINES: usize = 15;

/// The group of all that is run. A build that outlives a killed run would write into the trees of
/// the next one.
static GROUP: Mutex<Option<Guardian>> = Mutex::new(None);

fn group() -> anyhow::Result<i32> {
    let mut group = GROUP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(guardian) = group.as_ref() {
        return Ok(guardian.group_id());
    }
    let guardian = Guardian::start().context("cannot start sh")?;
    let id = guardian.group_id();
    *group = Some(guardian);
    Ok(id)
}

/// Lets the group go; called once, before this process ends.
pub(crate) fn close() {
    drop(GROUP.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Runs `command` by `sh` in `dir`; its output goes to `log`.
///
/// # Errors
/// With `exit` when the command fails; the message holds the end of its output.
pub(crate) fn run(
    what: &str,
    command: &str,
    dir: &Path,
    env: &[(String, String)],
    log: &Path,
    exit: Exit,
) -> anyhow::Result<()> {
    if let Some(parent) = log.parent() {
        fs::create_dir_all(parent).with_context(|| format!("{}", parent.display()))?;
    }
    let out = File::create(log).with_context(|| format!("{}", log.display()))?;
    let err = out.try_clone().with_context(|| format!("{}", log.display()))?;
    let status = Command::new("sh")
        .arg("-c")
        .arg(command)
        .current_dir(dir)
        .envs(env.iter().map(|(k, v)| (k, v)))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .process_group(group()?)
        .status()
        .with_context(|| format!("cannot start sh in {}", dir.display()))?;
    if status.success() {
        return Ok(());
    }
    Err(fail(
        exit,
        format!(
            "{what} failed ({status}): {command}\n{}\nwhole output: {}",
            indent(&tail(log)),
            log.display()
        ),
    ))
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    let Ok(mut file) = File::open(log) else { return String::new() };
    let length = file.metadata().map_or(0, |m| m.len());
    let _ = file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)));
    let mut bytes = Vec::new();
    let _ = file.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}
