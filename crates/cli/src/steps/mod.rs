//! The steps of a tuning run after the scan, each from the state that the one before left.
//!
//! Every step keeps what it found under a key that covers all that it was made from. A run that
//! was killed, or that changes nothing, finds it again; a run on changed text does not.

pub(crate) mod arms;
pub(crate) mod baseline;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod evidence;
pub(crate) mod patch;
