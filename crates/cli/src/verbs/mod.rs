//! One file a verb.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod complete;
pub(crate) mod count;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod scan;
pub(crate) mod tune;
