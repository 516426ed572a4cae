//! What would be changed on this machine, without changing it.

use super::super::files::Files;
use super::knob::{GOVERNOR_FILE, Knob, MIN_FREQUENCY_FILE, SINGLE, policy};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// One setting, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its file, absolute.
    pub path: PathBuf,
    /// Its value before.
    pub from: String,
    /// The value that is wanted.
    pub to: String,
    /// What for.
    pub why: &'static str,
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} -> {}, {}", self.path.display(), self.from, self.to, self.why)
    }
}

/// The settings of one machine, and the folder where the record of changed ones is kept.
#[derive(Debug, Clone)]
pub struct Tuning {
    root: PathBuf,
    state_dir: PathBuf,
}

impl Tuning {
    /// Of this machine. All who tune it should share one `state_dir`, since only then does one of
    /// them see that another is at it.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self::below(Path::new("/"), state_dir)
    }

    /// Of the machine whose /proc and /sys lie below `root`.
    #[must_use]
    pub fn below(root: &Path, state_dir: &Path) -> Self {
        Self { root: root.to_owned(), state_dir: state_dir.to_owned() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    pub(super) fn files(&self) -> Files {
        Files::below(&self.root)
    }

    /// What would be changed, in the order of change. Empty if the machine is as wanted, or has
    /// none of the settings. A setting whose value is not one that could be put back is left out.
    #[must_use]
    pub fn plan(&self) -> Vec<Change> {
        let files = self.files();
        let mut changes = Vec::new();
        for number in files.numbered("sys/devices/system/cpu/cpufreq", "policy") {
            changes.extend(governor(&files, &policy(number)));
        }
        for (knob, path) in SINGLE {
            let now = files.word(path);
            let wanted = now.as_deref().and_then(|now| knob.wanted(now));
            changes.extend(wanted.and_then(|to| change(&files, knob, path.to_owned(), to)));
        }
        // After turbo, which moves the limits.
        for number in files.numbered("sys/devices/system/cpu/cpufreq", "policy") {
            changes.extend(min_frequency(&files, &policy(number)));
        }
        changes
    }
}

fn change(files: &Files, knob: Knob, path: String, to: &str) -> Option<Change> {
    let from = files.word(&path).filter(|from| knob.accepts(from))?;
    (from != to).then(|| Change {
        path: files.path(path),
        from,
        to: to.to_owned(),
        why: knob.why(),
    })
}

/// To `performance`, where the kernel has it.
fn governor(files: &Files, policy: &str) -> Option<Change> {
    const WANTED: &str = "performance";
    let known = files.text(format!("{policy}/scaling_available_governors"))?;
    let has = known.split_whitespace().any(|name| name == WANTED);
    has.then(|| change(files, Knob::Governor, format!("{policy}/{GOVERNOR_FILE}"), WANTED))?
}

/// Up to the nominal rate, where the driver tells it and the limits allow it.
fn min_frequency(files: &Files, policy: &str) -> Option<Change> {
    let number = |name: &str| files.number::<u32>(format!("{policy}/{name}"));
    let (base, max) = (number("base_frequency")?, number("scaling_max_freq")?);
    let path = format!("{policy}/{MIN_FREQUENCY_FILE}");
    let low = number(MIN_FREQUENCY_FILE)? < base && base <= max;
    low.then(|| change(files, Knob::MinFrequency, path, &base.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{machine, tree};
    use super::*;

    /// File name, value before and wanted value of each change.
    fn plan(root: &Path) -> Vec<(String, String, String)> {
        let name = |change: &Change| change.path.strip_prefix(root).unwrap().display().to_string();
        let changes = Tuning::below(root, root).plan().into_iter();
        changes.map(|change| (name(&change), change.from, change.to)).collect()
    }

    fn triple(path: &str, from: &str, to: &str) -> (String, String, String) {
        (path.to_owned(), from.to_owned(), to.to_owned())
    }

    #[test]
    fn a_laptop_gets_a_steady_clock() {
        let found = plan(machine("laptop").path());
        let cpu = "sys/devices/system/cpu";
        let governor = |n| format!("{cpu}/cpufreq/policy{n}/scaling_governor");
        let lowest = |n| format!("{cpu}/cpufreq/policy{n}/scaling_min_freq");
        assert_eq!(found.len(), 8 + 2 + 8);
        assert_eq!(found[0], triple(&governor(0), "powersave", "performance"));
        assert_eq!(found[8], triple(&format!("{cpu}/intel_pstate/no_turbo"), "0", "1"));
        assert_eq!(found[9], triple("proc/sys/kernel/nmi_watchdog", "1", "0"));
        assert_eq!(found[17], triple(&lowest(7), "400000", "2800000"));
    }

    #[test]
    fn a_server_that_is_ready_loses_its_background_work() {
        let found = plan(machine("server").path());
        let expected = [
            triple("sys/kernel/mm/ksm/run", "1", "0"),
            triple("proc/sys/kernel/numa_balancing", "1", "0"),
            triple("proc/sys/kernel/nmi_watchdog", "1", "0"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_governor_that_the_kernel_has_not_is_not_asked_for() {
        let path = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
        let expected = [triple(path, "schedutil", "performance")];
        assert_eq!(plan(machine("board").path()), expected);
    }

    #[test]
    fn a_guest_has_nothing_to_tune_and_what_could_not_be_put_back_is_left() {
        assert_eq!(plan(machine("guest").path()), []);
        assert_eq!(plan(tree("== sys/kernel/mm/ksm/run\n7").path()), []);
    }

    #[test]
    fn randomisation_huge_pages_and_swap_are_left_alone() {
        for (path, ..) in plan(machine("laptop").path()) {
            for other in ["randomize_va_space", "hugepage", "swap", "smt", "cpuidle"] {
                assert!(!path.contains(other), "{path}");
            }
        }
    }
}
