//! One file a verb.

pub(crate) mod bench;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod scan;
pub(crate) mod tune;
