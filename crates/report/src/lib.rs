//! Terminal, JSON, HTML and commit message, all from one evidence record. Pure.

mod evidence;

pub use evidence::{
    Collector, Evidence, ExcerptLine, Fate, Outcome, SCHEMA, SiteEvidence, WorkloadBench,
};
