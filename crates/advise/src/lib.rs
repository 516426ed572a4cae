//! Profile × source: ranked advice with verdict and reason.

mod model;

pub use model::{
    AuditRow, AuditVerdict, Candidate, Polarity, SCHEMA, Scan, SiteVerdict, WorkloadCount,
};
