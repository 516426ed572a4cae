//! Makes the machine steadier for the time of a campaign, and always puts it back.
//!
//! Three hold the values to restore, so that no way of ending loses them: the process itself
//! ([`Tuned`], on return, error and panic), a shell that waits for this process to die (any signal,
//! SIGKILL too), and a record on disk (if the shell was killed as well), from which the next start
//! restores. A reboot restores everything by itself, since none of the settings outlives one.

mod error;
mod guard;
mod keeper;
mod knob;
mod plan;
mod record;

pub use error::TuneError;
pub use guard::{LeftOver, Refusal, Tuned};
pub use plan::{Change, Tuning};
