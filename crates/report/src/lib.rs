//! Terminal, JSON, HTML and commit message, all from one evidence record. Pure.
//!
//! Every output is a function of the record alone: no clock, no file, no command. Text in the
//! record comes from other people's projects and is treated as hostile: each output escapes what
//! its medium would act on, and all of them spell out control characters and bidirectional
//! overrides. No number has more digits than its data hold.

mod commit;
mod dose;
mod evidence;
mod facts;
mod figures;
mod html;
mod json;
mod reproduce;
mod screen;
mod terminal;
mod terminal_aa;
mod terminal_audit;
mod terminal_bench;
mod terminal_count;
mod terminal_pilot;
mod terminal_reproduce;
mod terminal_samples;
mod terminal_scan;
mod text;

pub use commit::{commit_message, site_commit_message};
pub use dose::{CYCLES_MAX, Dose};
pub use evidence::{
    Collector, Evidence, ExcerptLine, Fate, Outcome, SCHEMA, SiteEvidence, WorkloadBench,
};
pub use html::{html, reproduce_html};
pub use json::json;
pub use reproduce::{
    AuditedFigure, CodePair, HotPath, Measured, PublishedClaim, REPRODUCE_SCHEMA, Rate,
    ReproduceVerdict, Reproduced, Reproduction, TextBytes, TextClaim,
};
pub use terminal::terminal;
pub use terminal_aa::aa_terminal;
pub use terminal_audit::audit_terminal;
pub use terminal_bench::bench_terminal;
pub use terminal_count::count_terminal;
pub use terminal_pilot::pilot_terminal;
pub use terminal_reproduce::reproduce_terminal;
pub use terminal_samples::samples_terminal;
pub use terminal_scan::scan_terminal;
pub use text::shown;

#[cfg(test)]
extern crate self as unlikely_report;
#[cfg(test)]
#[path = "../tests/fixture/mod.rs"]
mod fixture;
