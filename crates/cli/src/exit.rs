//! Exit codes: part of the public interface, as the output formats are.

use std::fmt;
use std::process::ExitCode;

/// What the process says to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done; for `tune` and `bench`: a significant gain.
    Done = 0,
    /// A negative verdict: no candidate, identical code, no significant gain.
    Negative = 1,
    /// Usage or input: arguments, `unlikely.toml`, unreadable profiles.
    Usage = 2,
    /// The project's build command failed.
    Build = 3,
    /// A workload failed, or printed no metric.
    Workload = 4,
    /// The project's test command failed on the unpatched tree.
    Test = 5,
    /// A needed tool is not installed.
    Tool = 6,
    /// Another `unlikely` works in this project.
    Busy = 7,
    /// The machine failed us: disk full, no permission.
    System = 8,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error that decides the exit code; its text says what, where, and the remedy.
#[derive(Debug)]
pub(crate) struct Fail {
    pub(crate) exit: Exit,
    message: String,
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fail {}

/// An error with an exit code of its own.
pub(crate) fn fail(exit: Exit, message: impl Into<String>) -> anyhow::Error {
    Fail { exit, message: message.into() }.into()
}

/// The exit code of any error; one that names none is the machine's.
pub(crate) fn code(error: &anyhow::Error) -> Exit {
    error.chain().find_map(|e| e.downcast_ref::<Fail>()).map_or(Exit::System, |f| f.exit)
}
