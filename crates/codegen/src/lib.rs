//! Does a hint change the machine code, and how?
//!
//! Compilers guess branches well, so most hints change nothing, and of those that do many only
//! shift padding or turn a loop round. Before anything is timed, a translation unit is therefore
//! compiled twice by its own command, with and without the hint, and the two objects are held
//! against each other: by the bytes of their executable sections and by what those refer to. Where
//! they differ, the line table leads from the condition to its machine branch and to its two
//! sides, from which follow the blocks that left the main body and the jumps taken per pass.
//!
//! What cannot be told is `None`; nothing is estimated.
//!
//! The way of one question: [`Checker::check`] (`checker`) settles the captured command
//! (`command`), tries the edit in a private copy (`worker`), compiles (`run`, `cache`), reads the
//! objects (`object`, `insn`, `refs`, `code`) and compares (`compare`, with `lines`, `site`,
//! `anchors`, `moved`, `blocks`, `excerpt`). [`listing`] lays an object's instructions open to others.

mod anchors;
mod blocks;
mod cache;
mod checker;
mod code;
mod command;
mod compare;
mod delta;
mod error;
mod excerpt;
mod insn;
mod lines;
pub mod listing;
mod moved;
mod object;
mod refs;
mod run;
mod site;
#[cfg(test)]
mod testing;
mod unit;
mod worker;

pub use checker::{COMPILE_SECONDS_MAX, Checker};
pub use delta::{CodeDelta, FunctionDelta, SizePair, TakenPair};
pub use error::{CheckError, ObjectError};
pub use unit::{Edit, Pos, SiteQuery, Span, TREE_PLACEHOLDER, Unit};
