//! Why a hot path could not be read, or is not what was promised.

use std::path::PathBuf;
use std::{fmt, io};

use unlikely_codegen::ObjectError;

/// Why there is no answer, or a bad one.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AsmError {
    /// A file of the probe crate could not be written or its object not be read.
    #[error("cannot {action} {}: {source}; check the space and the rights there", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot run {program}: {source}; it must be on PATH")]
    Spawn {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// No compiler for aarch64.
    #[error("no aarch64 toolchain in {}; run scripts/install-aarch64", root.display())]
    NoToolchain {
        /// Where it was looked for.
        root: PathBuf,
    },
    /// The probe does not compile.
    #[error("the probe does not compile for {target}:\n{stderr}")]
    Compile {
        /// The triple.
        target: &'static str,
        /// What cargo printed.
        stderr: String,
    },
    /// The compiler was content but left no object.
    #[error("the compiler left {found} objects of the probe in {}, one was expected", folder.display())]
    Objects {
        /// How many.
        found: usize,
        /// Where.
        folder: PathBuf,
    },
    /// The object cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// No such function.
    #[error(
        "the probe has no function `{name}`, only {known:?}; it must be `pub` and `#[unsafe(no_mangle)]`"
    )]
    NoFunction {
        /// As asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The hot path does not come to an end that can be read.
    #[error("the hot path of `{name}` {why}; what it is like until then:\n{text}")]
    NoEnd {
        /// The function.
        name: String,
        /// Where it went.
        why: &'static str,
        /// The instructions so far.
        text: String,
    },
    /// The hot path does what it must not do.
    #[error("the hot path of `{name}` is not as promised:\n{}\n{text}", faults.join("\n"))]
    Shape {
        /// The function.
        name: String,
        /// One sentence for each fault.
        faults: Vec<String>,
        /// The whole path.
        text: String,
    },
}

/// As [`fmt::Display`]: a test that unwraps is to show the path with its lines.
impl fmt::Debug for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
