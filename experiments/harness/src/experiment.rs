//! What an experiment is made of, before anything runs.

use crate::error::ExperimentError;
use crate::object::{Build, Objects};

/// What one copy of an arm does. It is shared by the threads that run it.
pub trait Work: Send + Sync {
    /// Brings the state to its beginning, for a run by `threads` threads. Not timed.
    fn begin(&self, threads: u32);

    /// Does `operations` operations and returns what it saw, for [`Self::check`]. Timed; every thread
    /// calls it once. Implementations are `#[inline(never)]` and start with [`place`](fn@crate::place).
    fn run(&self, operations: u64) -> u64;

    /// Whether the state is what `operations` on each thread make of it; `seen` is what each thread
    /// returned. Not timed.
    ///
    /// # Errors
    /// What is and what should have been.
    fn check(&self, operations: u64, seen: &[u64]) -> Result<(), String>;

    /// Whether the threads take the operations of all from one stock, so that who is served more does
    /// more: `run` then returns how many the thread did.
    fn shares(&self) -> bool {
        false
    }
}

/// One of the things compared.
pub struct Arm {
    /// Its name in tables.
    pub name: String,
    /// The same code at several places; at least one.
    pub copies: Vec<Box<dyn Work>>,
    /// Whether it is the baseline once more: its ratio is what this program on this machine shows of no
    /// difference.
    pub control: bool,
}

impl Arm {
    /// An arm and its copies.
    #[must_use]
    pub fn new(name: impl Into<String>, copies: Vec<Box<dyn Work>>) -> Self {
        Self { name: name.into(), copies, control: false }
    }

    /// The same arm as the control of its comparison.
    #[must_use]
    pub fn control(self) -> Self {
        Self { control: true, ..self }
    }
}

/// What is asked of an arm: that its ratio to the baseline is at most this.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Name of the arm.
    pub arm: String,
    /// The greatest ratio of times that meets it.
    pub at_most: f64,
}

/// Two figures that somebody published, for the ratio between them.
#[derive(Debug, Clone)]
pub struct Published {
    /// Where and on what: `arm64, ThunderX2, 2019`.
    pub source: String,
    /// What was measured against the baseline, in this experiment's word for it.
    pub arm: String,
    /// The baseline's figure as printed.
    pub baseline: f64,
    /// The other figure as printed.
    pub value: f64,
    /// Unit of both.
    pub unit: String,
}

/// Arms that do the same work in different ways. The first is the baseline.
pub struct Comparison {
    /// Its name, by which it is asked for.
    pub name: String,
    /// What is compared, in some words.
    pub title: String,
    /// What one operation is.
    pub operation: String,
    /// Threads that do the work at the same time, on the same state.
    pub threads: u32,
    /// Threads that the work of one of these has running at the same time: 1 unless it starts its own.
    pub inner_threads: u32,
    /// Most operations of one run on one thread: what the arms can count to.
    pub operations_max: u64,
    /// At least two, with different names.
    pub arms: Vec<Arm>,
    /// What is asked of them.
    pub bars: Vec<Bar>,
    /// What others measured.
    pub published: Vec<Published>,
    /// Two listings, by name, whose machine code must differ for anything to be compared.
    pub code: Option<(String, String)>,
    /// Whether it runs when nothing is asked for by name.
    pub by_default: bool,
}

/// A function whose machine code is shown.
#[derive(Debug, Clone)]
pub struct Listing {
    /// What it is, in tables.
    pub name: String,
    /// The function's own name, without its path: unique in the program, and not inlined.
    pub function: String,
    /// Its address if it is in this program, which is why the linker keeps it there.
    pub kept: usize,
    /// The shared object that it is in, by name; `None` for this program.
    pub object: Option<String>,
}

/// How an experiment comes to be: what is built first, and what is made of that. Every process of an
/// experiment makes its own from the same objects.
pub struct Source {
    /// Short name: `refcount`.
    pub name: &'static str,
    /// Shared objects that it needs.
    pub builds: Vec<Build>,
    /// The experiment, given them.
    pub make: fn(&Objects) -> Result<Experiment, ExperimentError>,
}

/// Everything that one binary measures.
pub struct Experiment {
    /// Short name: `refcount`.
    pub name: String,
    /// One line.
    pub title: String,
    /// In the order in which they run.
    pub comparisons: Vec<Comparison>,
    /// Machine code that is shown.
    pub listings: Vec<Listing>,
}
