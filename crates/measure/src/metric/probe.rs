//! Whether `perf stat` can count an event here, and if not, what to do about it.
//!
//! There are four hurdles, each with its own remedy: perf is not installed; the kernel does not let
//! this user count; the event has no such name; the machine has no counter of that kind, as most
//! virtual machines have none at all.

use super::parse::{MetricError, check_event};
use super::perf::{NoCount, count};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use thiserror::Error;

/// Why an event cannot be counted here. Each text names the remedy.
#[derive(Debug, Error)]
pub enum PerfProblem {
    /// perf cannot be started.
    #[error(
        "perf cannot be started ({source}): install it (`apt install linux-perf` on Debian, \
         `linux-tools-generic` on Ubuntu, `perf` elsewhere)"
    )]
    Missing {
        /// What the system said.
        source: io::Error,
    },
    /// perf is older than its JSON output.
    #[error("this perf has no JSON output (-j): install that of Linux 6.0 or newer")]
    TooOld,
    /// The kernel does not let this user count.
    #[error(
        "the kernel does not allow this user to count {event} (kernel.perf_event_paranoid is \
         {level}): `sudo sysctl kernel.perf_event_paranoid=1`, or give perf CAP_PERFMON"
    )]
    Forbidden {
        /// Asked for.
        event: String,
        /// The setting, or `unknown`.
        level: String,
    },
    /// The machine offers no CPU counters at all.
    #[error(
        "this machine has no hardware counters (the kernel lists no CPU under \
         /sys/bus/event_source/devices), so {event} cannot be counted: in a virtual machine the \
         host must pass them on (QEMU: -cpu host,pmu=on; clouds: bare-metal or larger sizes). \
         Software events such as task-clock and page-faults work all the same"
    )]
    NoCounters {
        /// Asked for.
        event: String,
    },
    /// The CPU has counters, but none for this event.
    #[error("this CPU cannot count {event}: `perf list` shows what it can")]
    NotSupported {
        /// Asked for.
        event: String,
    },
    /// Anything else.
    #[error("perf could not count {event}: {what}")]
    Other {
        /// Asked for.
        event: String,
        /// In perf's words, or ours.
        what: String,
    },
    /// Not an event at all.
    #[error(transparent)]
    Event(#[from] MetricError),
}

/// Counts `event` over a command that does nothing. Takes about as long as perf takes to start.
///
/// # Errors
/// [`PerfProblem`] says why it cannot be counted here.
pub fn probe(event: &str) -> Result<(), PerfProblem> {
    check_event(event)?;
    let output = Command::new("perf")
        // To standard error, where no output file is named.
        .args(["stat", "-j", "-e", event, "--", "true"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| PerfProblem::Missing { source })?;
    judge(event, &output, Path::new("/"))
}

/// What perf's `output` says of `event`, on the machine below `root`.
fn judge(event: &str, output: &Output, root: &Path) -> Result<(), PerfProblem> {
    let event = event.to_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    match count(&output.stderr, &event) {
        Ok(_) if output.status.success() => Ok(()),
        // Both are said where counters exist and this user may not have them, too.
        _ if said.contains("perf_event_paranoid") || said.contains("No permission") => {
            Err(PerfProblem::Forbidden { event, level: paranoid(root) })
        }
        _ if said.contains("unknown switch `j'") => Err(PerfProblem::TooOld),
        Err(NoCount::NotSupported) if !has_cpu_counters(root) => {
            Err(PerfProblem::NoCounters { event })
        }
        Err(NoCount::NotSupported) => Err(PerfProblem::NotSupported { event }),
        Err(problem @ NoCount::NotCounted) => {
            let what = problem.describe(&event);
            Err(PerfProblem::Other { event, what })
        }
        _ => {
            let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
            let what: String = lines.take(3).collect::<Vec<_>>().join("; ");
            let what = what.chars().take(300).collect();
            Err(PerfProblem::Other { event, what })
        }
    }
}

fn paranoid(root: &Path) -> String {
    fs::read_to_string(root.join("proc/sys/kernel/perf_event_paranoid"))
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Whether the kernel lists a CPU's counters: `cpu` on x86, `cpu_core` and `cpu_atom` where cores
/// differ, `armv8_…` on Arm.
fn has_cpu_counters(root: &Path) -> bool {
    let Ok(devices) = fs::read_dir(root.join("sys/bus/event_source/devices")) else { return false };
    devices.flatten().any(|device| {
        let name = device.file_name();
        let name = name.to_string_lossy();
        name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn machine(devices: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for device in devices {
            fs::create_dir_all(root.path().join("sys/bus/event_source/devices").join(device))
                .unwrap();
        }
        let settings = root.path().join("proc/sys/kernel");
        fs::create_dir_all(&settings).unwrap();
        fs::write(settings.join("perf_event_paranoid"), "3\n").unwrap();
        root
    }

    fn judged(code: i32, said: &str, devices: &[&str]) -> Result<(), PerfProblem> {
        let status = ExitStatus::from_raw(code << 8);
        let output = Output { status, stdout: vec![], stderr: said.as_bytes().to_vec() };
        judge("instructions", &output, machine(devices).path())
    }

    const NO_PMU: &str = include_str!("../../tests/fixtures/perf-6.1/no-pmu.json");
    const COUNTERS: &str = include_str!("../../tests/fixtures/perf-by-hand/counters.json");

    #[test]
    fn an_event_that_perf_counts_is_no_problem() {
        assert!(judged(0, COUNTERS, &["cpu"]).is_ok());
    }

    #[test]
    fn each_hurdle_names_its_remedy() {
        let remedy = |code, said, devices| judged(code, said, devices).unwrap_err().to_string();
        assert!(remedy(0, NO_PMU, &["software", "msr"]).contains("pmu=on"));
        assert!(remedy(0, NO_PMU, &["software", "cpu"]).contains("perf list"));
        assert!(remedy(0, NO_PMU, &["armv8_pmuv3_0"]).contains("perf list"));
        let refused = "Error:\nAccess to performance monitoring and observability operations is \
                       limited.\nConsider adjusting /proc/sys/kernel/perf_event_paranoid setting";
        let refused = remedy(255, refused, &["cpu"]);
        assert!(refused.contains("perf_event_paranoid is 3") && refused.contains("sysctl"));
        assert!(remedy(129, "  Error: unknown switch `j'", &["cpu"]).contains("6.0 or newer"));
        let unknown = remedy(129, "\nevent syntax error: 'instructions'\n", &["cpu"]);
        assert!(unknown.contains("event syntax error"), "{unknown}");
    }

    #[test]
    fn what_is_no_event_is_not_given_to_perf() {
        assert!(matches!(probe("a,b"), Err(PerfProblem::Event(_))));
    }
}
