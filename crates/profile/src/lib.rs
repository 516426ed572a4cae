//! Readers of branch profiles. Bytes in, [`Profile`] and [`Diagnostic`]s out.
//!
//! Every reader is total: whatever the bytes, it returns what could be read and says what could
//! not. No reader opens a file, runs a command or looks at source text.

mod model;

pub use model::{
    BranchRegion, Diagnostic, ExpansionSite, FileProfile, FunctionCount, LineArcs, Pos, Profile,
    RegionKind, Severity,
};
