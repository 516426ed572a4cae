//! Compares small pieces of code inside one process: what a check costs beside no check.
//!
//! Two commands are compared by `unlikely-measure`; an increment that takes a nanosecond cannot be,
//! since the start of a process is a million times as long. Here the things compared are functions
//! of one program, called in random order in blocks of some milliseconds each. Three kinds of luck
//! would otherwise pass for an effect:
//!
//! - **time**: what the machine does meanwhile. Every block runs all arms, in an order drawn by the
//!   seed, and every second block in reverse; a ratio is always taken within one block.
//! - **code layout**: a loop that lies across a boundary of cache lines may take a tenth longer. Every
//!   arm is compiled in several copies that begin at different places of a cache line ([`place`]); an
//!   arm's figure is the mean over its copies, and how far they lie apart is reported beside it. The
//!   loop itself is the same in all of them ([`times`], [`until`]).
//! - **data layout**: where stack, heap and pages lie is drawn when a process starts, and where in its
//!   page a state lies by [`scatter()`]. So the blocks are shared among fresh processes, and these are
//!   what n counts.
//!
//! What luck is left shows in a *control*: the baseline once more, as an arm of its own. As far as it
//! comes out different from itself, every interval that a verdict rests on is made wider.
//!
//! After each run the arm's state must be what its operations make of it, so that nothing is timed
//! that was not done. All arithmetic of ratios and intervals is `unlikely-measure`'s.
//!
//! What differs by how it is compiled, such as a hint, stands in shared objects that are loaded side by
//! side ([`Objects`]); where two of them have the same machine code, nothing is timed.
//!
//! An experiment is a library value, [`Source`]; its binary is one call of [`main`]. The outcome is
//! a [`Report`], printed as a table or as JSON ([`SCHEMA`]).
#![expect(unsafe_code, reason = "calls into shared objects")]

mod campaign;
mod cli;
mod error;
mod experiment;
mod judge;
mod listing;
mod object;
mod process;
mod report;
mod scatter;
mod settings;
mod table;
mod timing;

pub use arm::{PLACE_BYTES, PLACES, place, times, until};
pub use campaign::{Begun, Host, Keep, Progress, Selection, answer, build, run, run_in};
pub use cli::{Options, main};
pub use error::ExperimentError;
pub use experiment::{Arm, Bar, Comparison, Experiment, Listing, Published, Source, Work};
pub use object::{Build, Objects, Recipe, workspace};
pub use process::{BlockRow, ProcessRecord};
pub use report::{
    ArmReport, BarOutcome, BarReport, CodeReport, ComparisonReport, CopyReport, NotRun,
    ObjectReport, PublishedReport, Ratio, Report, SCHEMA, UnitOf, WarningReport,
};
pub use scatter::scatter;
pub use settings::Settings;
pub use table::table;
