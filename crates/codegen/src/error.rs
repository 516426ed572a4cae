//! What can go wrong between a captured command and a comparison.

use std::io;
use std::path::PathBuf;

/// Why two versions of a translation unit could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A file of a worker's copy or of the cache could not be read or written.
    #[error("cannot {action} {}: {source}; check the space and the rights there", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A path that would leave the tree.
    #[error("{path}: {why}; paths must be relative to the project and stay inside it")]
    Path {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The captured command does not name the unit's source.
    #[error("{unit}: the captured command `{command}` does not name this file; record again")]
    NoSource {
        /// The unit.
        unit: String,
        /// The command.
        command: String,
    },
    /// The compiler could not be started.
    #[error("cannot run {program}: {source}; install it or correct the captured command")]
    Spawn {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The compiler refused one version.
    #[error("{unit} does not compile {version}:\n{stderr}")]
    Compile {
        /// The unit.
        unit: String,
        /// `as it stands` or `with the hint`.
        version: &'static str,
        /// The beginning of what the compiler printed.
        stderr: String,
    },
    /// The compiler was stopped.
    #[error("{unit}: the compiler ran longer than {seconds} s and was stopped")]
    Timeout {
        /// The unit.
        unit: String,
        /// The limit.
        seconds: u64,
    },
    /// The object could not be understood.
    #[error("{unit}: {source}")]
    Object {
        /// The unit.
        unit: String,
        /// What is wrong with the object.
        source: ObjectError,
    },
    /// The edit does not reach the unit.
    #[error("{unit} does not include {file}, so an edit of it cannot change the unit's code")]
    NotIncluded {
        /// The unit.
        unit: String,
        /// The edited file.
        file: String,
    },
    /// The unit reads the edited file from the original tree, not from the worker's copy.
    #[error(
        "{unit} includes {file} by an absolute path, so a private copy cannot be edited; \
         make the include path relative"
    )]
    Absolute {
        /// The unit.
        unit: String,
        /// The edited file.
        file: String,
    },
}

/// Why an object file could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// Not the ELF file it should be.
    #[error("the object file is malformed: {0}")]
    Malformed(String),
    /// Neither x86-64 nor aarch64.
    #[error("the object file is for another machine than x86-64 or aarch64 (little-endian)")]
    Machine,
    /// Compiler bytecode instead of machine code.
    #[error(
        "the object file holds {0} bytecode and no machine code, which cannot be compared; \
         compile without -flto or with -ffat-lto-objects"
    )]
    Bytecode(&'static str),
    /// The disassembler failed.
    #[error("cannot disassemble: {0}")]
    Disassembler(String),
}

impl ObjectError {
    pub(crate) fn malformed(what: impl std::fmt::Display) -> Self {
        Self::Malformed(what.to_string())
    }
}
