//! What the machine was like when a sitting began: read from /proc and /sys without privilege,
//! kept beside the rows, and turned into warnings that name their remedy. Nothing is changed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

/// Load above which something else was running: one benchmark alone brings it to 1.
const LOAD_QUIET_MAX: f64 = 1.5;

/// Whether the clock may rise above its nominal rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Turbo {
    /// It may.
    On,
    /// It may not.
    Off,
    /// The kernel does not say.
    Unknown,
}

impl fmt::Display for Turbo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Unknown => "unknown",
        })
    }
}

/// State of a machine at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// CPU model name, or `unknown`.
    pub cpu: String,
    /// Kernel release, or `unknown`.
    pub kernel: String,
    /// Random id that the kernel draws at each boot; empty if it does not say.
    pub boot_id: String,
    /// Turbo or boost.
    pub turbo: Turbo,
    /// Frequency governors in use, each once; empty where the kernel controls no frequency.
    pub governors: Vec<String>,
    /// Mean number of running tasks over the last minute.
    pub load1: Option<f64>,
    /// Whether the CPU says that it is a virtual one.
    pub hypervisor: bool,
    /// `kernel.randomize_va_space`: 0 off, 1 without heap, 2 full.
    pub aslr: Option<u8>,
}

/// Something about a machine that a measurement suffers from. Its text names the remedy.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Other work was running: the one-minute load.
    Loud(f64),
    /// The clock depends on temperature and on what the other cores do.
    TurboOn,
    /// A governor other than `performance`.
    Governor(String),
    /// Other guests share the hardware.
    VirtualMachine,
    /// Every run has one and the same address layout.
    FixedLayout,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loud(load) => write!(
                out,
                "the load average was {load:.2}: stop other work and wait until it is below \
                 {LOAD_QUIET_MAX}"
            ),
            Self::TurboOn => out.write_str(
                "turbo is on, so speed depends on heat and on other cores: write 1 to \
                 /sys/devices/system/cpu/intel_pstate/no_turbo or 0 to \
                 /sys/devices/system/cpu/cpufreq/boost",
            ),
            Self::Governor(name) => write!(
                out,
                "the frequency governor is {name}: `cpupower frequency-set -g performance`"
            ),
            Self::VirtualMachine => out.write_str(
                "this is a virtual machine, whose neighbours cannot be seen: repeat the campaign \
                 on bare metal before publishing small effects",
            ),
            Self::FixedLayout => out.write_str(
                "address layout is not randomised, so one lucky layout counts in every run: \
                 `sysctl kernel.randomize_va_space=2`",
            ),
        }
    }
}

impl Machine {
    /// Reads the machine's state. What cannot be read is unknown, never an error.
    #[must_use]
    pub fn read() -> Self {
        Self::read_below(Path::new("/"))
    }

    fn read_below(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let cpuinfo = text("proc/cpuinfo");
        Self {
            cpu: cpu_model(&cpuinfo),
            kernel: or_unknown(text("proc/sys/kernel/osrelease").trim()),
            boot_id: text("proc/sys/kernel/random/boot_id").trim().to_owned(),
            turbo: turbo(
                &text("sys/devices/system/cpu/intel_pstate/no_turbo"),
                &text("sys/devices/system/cpu/cpufreq/boost"),
            ),
            governors: governors(&root.join("sys/devices/system/cpu")),
            load1: load1(&text("proc/loadavg")),
            hypervisor: has_hypervisor_flag(&cpuinfo),
            aslr: text("proc/sys/kernel/randomize_va_space").trim().parse().ok(),
        }
    }

    /// What is wrong with it for a measurement.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        warnings.extend(self.load1.filter(|&load| load > LOAD_QUIET_MAX).map(Warning::Loud));
        if self.turbo == Turbo::On {
            warnings.push(Warning::TurboOn);
        }
        let others = self.governors.iter().filter(|name| *name != "performance");
        warnings.extend(others.cloned().map(Warning::Governor));
        if self.hypervisor {
            warnings.push(Warning::VirtualMachine);
        }
        if self.aslr == Some(0) {
            warnings.push(Warning::FixedLayout);
        }
        warnings
    }
}

/// Distinct governors of all CPUs below `cpus`.
fn governors(cpus: &Path) -> Vec<String> {
    let folders = fs::read_dir(cpus).into_iter().flatten().flatten();
    let names: BTreeSet<String> = folders
        .filter_map(|cpu| fs::read_to_string(cpu.path().join("cpufreq/scaling_governor")).ok())
        .map(|name| name.trim().to_owned())
        .collect();
    names.into_iter().collect()
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}

/// Value of the first line of /proc/cpuinfo named `key`.
fn cpuinfo_value<'t>(cpuinfo: &'t str, key: &str) -> Option<&'t str> {
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    fields.into_iter().find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

fn cpu_model(cpuinfo: &str) -> String {
    or_unknown(cpuinfo_value(cpuinfo, "model name").unwrap_or_default())
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    let flags = cpuinfo_value(cpuinfo, "flags").unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "hypervisor")
}

/// From the text of `intel_pstate/no_turbo` and `cpufreq/boost`, either of which may be missing.
fn turbo(no_turbo: &str, boost: &str) -> Turbo {
    match (no_turbo.trim(), boost.trim()) {
        ("0", _) | ("", "1") => Turbo::On,
        ("1", _) | ("", "0") => Turbo::Off,
        _ => Turbo::Unknown,
    }
}

fn load1(loadavg: &str) -> Option<f64> {
    loadavg.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\n\
        model name\t: Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz\nflags\t\t: fpu vme hypervisor sse2\n\
        \nprocessor\t: 1\nmodel name\t: another\n";

    fn machine() -> Machine {
        Machine {
            cpu: "unknown".into(),
            kernel: "unknown".into(),
            boot_id: String::new(),
            turbo: Turbo::Off,
            governors: vec!["performance".into()],
            load1: Some(0.3),
            hypervisor: false,
            aslr: Some(2),
        }
    }

    #[test]
    fn cpuinfo_gives_the_model_and_the_hypervisor() {
        assert_eq!(cpu_model(CPUINFO), "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz");
        assert!(has_hypervisor_flag(CPUINFO));
        assert!(!has_hypervisor_flag("flags : fpu hypervisor2 sse\n"));
        assert_eq!(cpu_model("processor: 0\nCPU part: 0xd0c\n"), "unknown");
    }

    #[test]
    fn either_turbo_file_may_be_missing() {
        assert_eq!(turbo("0\n", ""), Turbo::On);
        assert_eq!(turbo("1\n", "1\n"), Turbo::Off);
        assert_eq!(turbo("", "1\n"), Turbo::On);
        assert_eq!(turbo("", "0\n"), Turbo::Off);
        assert_eq!(turbo("", ""), Turbo::Unknown);
        assert_eq!(turbo("?", "?"), Turbo::Unknown);
    }

    #[test]
    fn load_is_the_first_number() {
        assert_eq!(load1("0.75 0.15 0.07 1/88 6635\n"), Some(0.75));
        assert_eq!(load1(""), None);
        assert_eq!(load1("nan 1 1"), None);
    }

    #[test]
    fn each_trouble_is_named_with_its_remedy() {
        let quiet = machine();
        assert_eq!(quiet.warnings(), []);
        let loud = Machine {
            turbo: Turbo::On,
            governors: vec!["performance".into(), "powersave".into()],
            load1: Some(2.5),
            hypervisor: true,
            aslr: Some(0),
            ..quiet
        };
        let texts: Vec<String> = loud.warnings().iter().map(ToString::to_string).collect();
        let remedies = ["stop other work", "no_turbo", "cpupower", "bare metal", "sysctl"];
        assert_eq!(texts.len(), remedies.len());
        for (text, remedy) in texts.iter().zip(remedies) {
            assert!(text.contains(remedy), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_warns_of_nothing() {
        let empty = tempfile::tempdir().unwrap();
        let machine = Machine::read_below(empty.path());
        assert_eq!((machine.cpu.as_str(), machine.turbo), ("unknown", Turbo::Unknown));
        assert_eq!((machine.load1, machine.aslr), (None, None));
        assert_eq!(machine.warnings(), []);
    }

    #[test]
    fn governors_are_gathered_over_all_cpus() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, governor) in
            [("cpu0", "powersave"), ("cpu1", "performance"), ("cpu2", "powersave")]
        {
            let folder = root.path().join("sys/devices/system/cpu").join(cpu).join("cpufreq");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scaling_governor"), format!("{governor}\n")).unwrap();
        }
        assert_eq!(Machine::read_below(root.path()).governors, ["performance", "powersave"]);
    }
}
