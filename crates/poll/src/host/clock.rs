//! The monotonic clock of this process.

use std::sync::OnceLock;
use std::time::Instant;

use crate::Time;

/// Nanoseconds since the first look at this clock.
pub fn now() -> Time {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    Time(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}
