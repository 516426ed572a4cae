//! The formats of other tools: samples of theirs to judge, and samples of ours for them to show.

pub mod go;
pub mod hyperfine;
