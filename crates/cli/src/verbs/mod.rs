//! One file a verb.

pub(crate) mod record;
pub(crate) mod scan;
