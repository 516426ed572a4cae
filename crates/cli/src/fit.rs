//! A machine that is fit to measure: refused while it is loud, changed and put back on request.

use std::path::Path;
use std::time::Duration;

use unlikely_measure::Machine;
use unlikely_measure::machine::{LeftOver, Tuned, Tuning};

use crate::args::{BenchArgs, Requirement};
use crate::exit::{Exit, fail};
use crate::progress::{stage, tell};

/// Where it is written down what has to be put back. Gone at a reboot, as the settings are; one
/// for all users, since there is one machine.
const STATE: &str = "/run/unlikely";

/// Does what the options ask before the first run; the machine is put back when the guard drops.
pub(crate) fn machine(args: &BenchArgs) -> anyhow::Result<Option<Tuned>> {
    let tuned = if args.tune_machine { Some(tune()?) } else { None };
    if args.require == Some(Requirement::Quiet) {
        quiet(Duration::from_secs(args.wait))?;
    }
    Ok(tuned)
}

fn tune() -> anyhow::Result<Tuned> {
    let tuning = Tuning::new(Path::new(STATE));
    let system = |error: &dyn std::fmt::Display| fail(Exit::System, error.to_string());
    match tuning.restore_left_over().map_err(|error| system(&error))? {
        LeftOver::Restored(paths) => {
            tell(&format!("put back what a killed campaign had changed: {} settings", paths.len()));
        }
        LeftOver::None | LeftOver::OtherBoot => {}
    }
    let tuned = tuning.apply().map_err(|error| system(&error))?;
    if tuned.changes().is_empty() {
        tell("--tune-machine: nothing to change on this machine");
    }
    for change in tuned.changes() {
        tell(&format!("changed until the end: {change}"));
    }
    for refusal in tuned.refusals() {
        tell(&format!("not changed: {refusal}"));
    }
    Ok(tuned)
}

fn quiet(within: Duration) -> anyhow::Result<()> {
    let waiting = stage("waiting for a quiet machine", 0);
    let loud = Machine::quiet(within, &mut |warnings, left| {
        let why = warnings.first().map(ToString::to_string).unwrap_or_default();
        waiting.note(&format!("{why} ({} s left)", left.as_secs()));
    });
    match loud {
        Ok(_) => {
            waiting.done("quiet");
            Ok(())
        }
        Err(warnings) => {
            let why: Vec<String> = warnings.iter().map(|one| format!("\n  {one}")).collect();
            let text = format!(
                "--require quiet: this machine is loud:{}\n  or give it time with --wait SECONDS",
                why.concat()
            );
            Err(fail(Exit::Busy, text))
        }
    }
}
