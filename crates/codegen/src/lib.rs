//! Does a hint change the machine code, and how?

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
