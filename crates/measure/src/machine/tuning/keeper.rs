//! The process that puts the machine back when this one is killed.
//!
//! A small shell in a process group of its own waits at a pipe whose other end only this process
//! holds. A line from it says that all is done; the end of the pipe without one, that this process
//! is dead. Files and values reach it as arguments, never as text of the script. It ignores the
//! signals that a terminal or a session's end sends, and its standard output is the record, so that
//! the record's lock is held for as long as it may still write.

use super::super::super::guardian::quiet;
use super::record::{Record, Setting};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};

/// Arguments: the record, then a file and a value for each setting. A file that is gone (a CPU was
/// taken out) has nothing to restore. The record goes once everything is restored.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
read -r line && exit
record=$1 left=
shift
while [ $# -ge 2 ]; do
    [ ! -e "$1" ] || { printf '%s\n' "$2" >"$1"; } || left=some
    shift 2
done
[ "$left" ] || rm -f -- "$record"
"#;

/// The waiting shell. Dropped without [`Keeper::dismiss`], it restores.
#[derive(Debug)]
pub(super) struct Keeper {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Keeper {
    /// Starts it, to restore `settings` in this order.
    pub(super) fn start(root: &Path, record: &Record, settings: &[Setting]) -> io::Result<Self> {
        let mut command = quiet("/bin/sh");
        // The shell works in /, and what it is to find must be found from there.
        command.args(["-c", SCRIPT, "sh"]).arg(std::path::absolute(record.path())?);
        let root = std::path::absolute(root)?;
        for setting in settings {
            command.arg(root.join(&setting.path)).arg(&setting.value);
        }
        let stdout = Stdio::from(record.file().try_clone()?);
        let mut shell = command.stdin(Stdio::piped()).stdout(stdout).spawn()?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }

    /// Its process.
    #[cfg(test)]
    pub(super) fn id(&self) -> u32 {
        self.shell.id()
    }

    /// Tells it that everything is restored.
    pub(super) fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // Should the shell be gone, there is nobody left to tell.
            let _ = pipe.write_all(b"\n");
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.pipe = None;
        // Its work is a few writes; waited for, so that the machine is as it was once this returns.
        let _ = self.shell.wait();
    }
}
