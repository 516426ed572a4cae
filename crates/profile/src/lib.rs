//! Readers of branch profiles. Bytes in, [`Profile`] and [`Diagnostic`]s out.
//!
//! Every reader is total: whatever the bytes, it returns what could be read and says what could
//! not. No reader opens a file, runs a command or looks at source text.

mod diag;
mod exceptions;
mod flow;
pub mod gcda;
pub mod gcno;
mod gcov_file;
pub mod gcov_json;
mod json;
pub mod lcov;
mod line_counts;
pub mod llvm_cov;
mod model;
mod ops;
mod paths;
pub mod probe;
mod ranges;
pub mod site_counts;

pub use gcno::Graphs;
pub use model::{
    BranchRegion, Diagnostic, ExpansionSite, FileProfile, FunctionCount, HintCount, LineArcs, Pos,
    Profile, RegionKind, Severity,
};
pub use paths::clean_path;
