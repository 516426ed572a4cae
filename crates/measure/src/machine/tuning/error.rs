//! What can keep the machine from being tuned or put back.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why the machine was not tuned, or not put back. After a failed start nothing is left changed.
#[derive(Debug, Error)]
pub enum TuneError {
    /// A setting may not be written, or the record of a process with more rights not be read.
    #[error("{path} cannot be opened ({source}): run this with `sudo`")]
    Permission {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The settings are mounted without the right to write, as in a container.
    #[error(
        "{path} is on a read-only file system, as in a container: tune the host, outside of it"
    )]
    ReadOnly {
        /// The setting's file.
        path: PathBuf,
    },
    /// A setting could not be put back. The record stays, for the next start to try again.
    #[error(
        "{path} could not be put back to {value}: {source}; write it by hand with \
         `echo {value} | sudo tee {path}`"
    )]
    Restore {
        /// The setting's file.
        path: PathBuf,
        /// Its value before.
        value: String,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has tuned the machine.
    #[error(
        "another process has tuned this machine and is still at it (its record is {path}): wait \
         until it ends"
    )]
    InUse {
        /// The record.
        path: PathBuf,
    },
    /// The record of a killed process has not been dealt with.
    #[error("{path} holds settings that a killed process left changed: restore them first")]
    LeftOver {
        /// The record.
        path: PathBuf,
    },
    /// The record could not be written, read or removed.
    #[error("the record of changed settings {path} failed while {doing}: {source}")]
    Record {
        /// The record.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The record holds what this tool does not write. Nothing of it was restored.
    #[error(
        "the record of changed settings {path} holds something else: {what}; nothing of it was \
         written. Look at it, and delete it if it is not yours"
    )]
    RecordContent {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The shell that would restore after a kill could not be started.
    #[error(
        "the process that restores the machine when this one dies could not be started: {source}"
    )]
    Keeper {
        /// What the system said.
        source: io::Error,
    },
}
