//! Everything that can stop an experiment, with the remedy.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// What stopped an experiment.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// A number out of its range.
    #[error("{name} {value} is out of range: give more than 0 and at most {most}")]
    Setting {
        /// The flag.
        name: &'static str,
        /// Given.
        value: String,
        /// Allowed.
        most: u64,
    },
    /// One process with one block.
    #[error("one block in one process gives no interval: raise --processes to 2, or 6 for a claim")]
    OneUnit,
    /// A comparison that the experiment does not have.
    #[error("there is no comparison {name:?} here: choose of {known}")]
    NoComparison {
        /// Asked for.
        name: String,
        /// Those there are, comma-separated.
        known: String,
    },
    /// A comparison that cannot be judged. A defect of the experiment, not of its use.
    #[error("the comparison {comparison} cannot be run: {what}")]
    Malformed {
        /// Its name.
        comparison: String,
        /// What is missing.
        what: String,
    },
    /// An arm did not do what it was timed for.
    #[error(
        "{arm} (place {place}) of {comparison} did not do its work: {what}; its time means nothing, \
         and the code under it needs a look"
    )]
    Wrong {
        /// Which comparison.
        comparison: String,
        /// Which arm.
        arm: String,
        /// Which copy, from 0.
        place: usize,
        /// What is and what should have been.
        what: String,
    },
    /// A thread of an arm panicked.
    #[error("a thread of {arm} in {comparison} panicked; its message is above")]
    Panicked {
        /// Which comparison.
        comparison: String,
        /// Which arm.
        arm: String,
    },
    /// A fresh process of this program could not be had.
    #[error("process {process} could not be started: {source}")]
    Start {
        /// Index from 0.
        process: u32,
        /// What the system said.
        source: io::Error,
    },
    /// A fresh process ended with failure; it said why on standard error.
    #[error("process {process} of {comparison} failed ({status}); its message is above")]
    Worker {
        /// Which comparison.
        comparison: String,
        /// Index from 0.
        process: u32,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// A process wrote something else than its record, or was asked something unreadable.
    #[error("process {process} and the one that started it do not understand each other: {source}")]
    Protocol {
        /// Index from 0.
        process: u32,
        /// What is wrong with the text.
        source: serde_json::Error,
    },
    /// The threads cannot be kept on CPUs.
    #[error(
        "a thread could not be kept on CPU {cpu}: {source}; run without --pin, or allow more CPUs with `taskset`"
    )]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A shared object could not be built.
    #[error("the shared object {name:?} cannot be built: {what}")]
    Build {
        /// Its name in the experiment.
        name: String,
        /// Why, with the remedy.
        what: String,
    },
    /// A shared object could not be loaded.
    #[error("{path} cannot be loaded: {what}; remove its folder, so that it is built again")]
    Load {
        /// The file.
        path: PathBuf,
        /// What the loader said.
        what: String,
    },
    /// The program's own file cannot be read.
    #[error("the machine code of this program cannot be shown: {what}")]
    Listing {
        /// Why.
        what: String,
    },
    /// The outcome could not be printed.
    #[error("the outcome could not be written: {0}")]
    Output(#[from] io::Error),
}
