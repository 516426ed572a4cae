//! What the CPUs are like: model, clock, sleep states, and which of them a workload may use.
//! (Documentation/ABI/testing/sysfs-devices-system-cpu, Documentation/admin-guide/pm/.)

use super::files::{Files, cpu_list};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

const CPU: &str = "sys/devices/system/cpu";

/// Whether the clock may rise above its nominal rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Turbo {
    /// It may.
    On,
    /// It may not.
    Off,
    /// The kernel does not say.
    #[default]
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

/// Which CPUs there are, and which are kept free. Lists are the kernel's, such as `0-3,8`, and
/// empty where it has none in them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpus {
    /// Switched on.
    pub online: Option<String>,
    /// Those that this process, and so a workload, may run on.
    pub affinity: Option<String>,
    /// Left alone by the scheduler's balancing (`isolcpus=`).
    pub isolated: Option<String>,
    /// Without a tick while one task runs (`nohz_full=`).
    pub nohz_full: Option<String>,
    /// Mask in hexadecimal of the CPUs that new interrupts go to.
    pub irq_affinity: Option<String>,
    /// Whether two or more threads share a core.
    pub smt: Option<bool>,
    /// Speed of the slowest CPU of `affinity` as a share of the fastest one's: 1 where all are
    /// alike, less on machines with big and little cores.
    pub slowest: Option<f64>,
    /// Version of the microcode.
    pub microcode: Option<String>,
    /// CPUs' worth of time that the control group may use: the least of its own quota and those
    /// above it. `None` also where there is no quota.
    pub quota: Option<f64>,
}

impl Cpus {
    pub(super) fn read(files: &Files, cpuinfo: &str) -> Self {
        let status = files.text("proc/self/status").unwrap_or_default();
        let affinity = field(&status, "Cpus_allowed_list").map(str::to_owned);
        let list = |path: &str| {
            let text = files.text(format!("{CPU}/{path}"))?;
            Some(if text == "(null)" { String::new() } else { text })
        };
        Self {
            online: list("online"),
            isolated: list("isolated"),
            nohz_full: list("nohz_full"),
            irq_affinity: files.word("proc/irq/default_smp_affinity"),
            smt: files.switch(format!("{CPU}/smt/active")),
            slowest: slowest(files, affinity.as_deref()),
            microcode: field(cpuinfo, "microcode").map(str::to_owned),
            quota: super::system::Quota::read(files).map(|quota| quota.cpus),
            affinity,
        }
    }

    /// How many CPUs are online.
    pub(super) fn online_count(&self) -> Option<usize> {
        self.online.as_deref().and_then(cpu_list).map(|cpus| cpus.len()).filter(|&count| count > 0)
    }
}

/// Least over greatest capacity (or, where the kernel tells none, top frequency) of the CPUs in
/// `allowed`, or of all.
fn slowest(files: &Files, allowed: Option<&str>) -> Option<f64> {
    let allowed = allowed.and_then(cpu_list);
    let cpus = files.numbered(CPU, "cpu").into_iter();
    let cpus: Vec<u32> =
        cpus.filter(|cpu| allowed.as_ref().is_none_or(|list| list.contains(cpu))).collect();
    let ratio = |file: &str| {
        let speeds = cpus.iter().map(|cpu| files.number::<u32>(format!("{CPU}/cpu{cpu}/{file}")));
        let speeds = speeds.collect::<Option<Vec<u32>>>()?;
        let (least, most) = (speeds.iter().min()?, speeds.iter().max()?);
        (*least > 0).then(|| f64::from(*least) / f64::from(*most))
    };
    ratio("cpu_capacity").or_else(|| ratio("cpufreq/cpuinfo_max_freq"))
}

/// How the clock is governed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequency {
    /// Driver that sets it, such as `intel_pstate`.
    pub driver: Option<String>,
    /// Lowest rate that any CPU may be set to, in kHz.
    pub min_khz: Option<u64>,
    /// Highest rate that any CPU may be set to, in kHz.
    pub max_khz: Option<u64>,
    /// Whether every CPU has one rate only.
    pub fixed: Option<bool>,
}

impl Frequency {
    pub(super) fn read(files: &Files) -> Self {
        let mut found = Self::default();
        for cpu in files.numbered(CPU, "cpu") {
            let file = |name: &str| format!("{CPU}/cpu{cpu}/cpufreq/{name}");
            let least: Option<u64> = files.number(file("scaling_min_freq"));
            let most: Option<u64> = files.number(file("scaling_max_freq"));
            found.driver = found.driver.or_else(|| files.word(file("scaling_driver")));
            if let (Some(least), Some(most)) = (least, most) {
                found.min_khz = Some(found.min_khz.map_or(least, |min| min.min(least)));
                found.max_khz = found.max_khz.max(Some(most));
                found.fixed = Some(found.fixed.unwrap_or(true) && least == most);
            }
        }
        found
    }
}

/// How deeply an idle CPU may sleep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    /// Driver that chooses the states, such as `intel_idle`.
    pub driver: Option<String>,
    /// Name of the enabled state that takes longest to leave, over all CPUs.
    pub deepest: Option<String>,
    /// Time that leaving it takes, in µs.
    pub latency_us: Option<u64>,
    /// `intel_idle.max_cstate` of the kernel's command line.
    pub max_cstate: Option<u32>,
}

impl Idle {
    pub(super) fn read(files: &Files) -> Self {
        let mut deepest: Option<(u64, String)> = None;
        for cpu in files.numbered(CPU, "cpu") {
            let folder = format!("{CPU}/cpu{cpu}/cpuidle");
            for state in files.numbered(&folder, "state") {
                let file = |name: &str| format!("{folder}/state{state}/{name}");
                let latency: Option<u64> = files.number(file("latency"));
                // Cheap to skip a state that is not deeper than the deepest known.
                let deeper =
                    latency.filter(|new| deepest.as_ref().is_none_or(|(old, _)| new > old));
                if let Some(latency) = deeper
                    && files.switch(file("disable")) != Some(true)
                {
                    deepest = files.word(file("name")).map(|name| (latency, name)).or(deepest);
                }
            }
        }
        let (latency_us, deepest) = deepest.unzip();
        Self {
            driver: files.word(format!("{CPU}/cpuidle/current_driver")),
            deepest,
            latency_us,
            max_cstate: files.number("sys/module/intel_idle/parameters/max_cstate"),
        }
    }
}

/// Distinct governors of all CPUs.
pub(super) fn governors(files: &Files) -> Vec<String> {
    let cpus = files.numbered(CPU, "cpu").into_iter();
    let names: BTreeSet<String> = cpus
        .filter_map(|cpu| files.word(format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor")))
        .collect();
    names.into_iter().collect()
}

/// Turbo of Intel's own driver, or boost of the others.
pub(super) fn turbo(files: &Files) -> Turbo {
    let no_turbo = files.switch(format!("{CPU}/intel_pstate/no_turbo"));
    let on = no_turbo.map(|off| !off).or_else(|| files.switch(format!("{CPU}/cpufreq/boost")));
    match on {
        Some(true) => Turbo::On,
        Some(false) => Turbo::Off,
        None => Turbo::Unknown,
    }
}

/// Value of the first line `key: value`, the form of /proc/cpuinfo and /proc/self/status.
pub(super) fn field<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// Model name; on ARM, which tells none, the board's name or the part numbers.
pub(super) fn model(files: &Files, cpuinfo: &str) -> Option<String> {
    let parts = || {
        let (maker, part) = (field(cpuinfo, "CPU implementer")?, field(cpuinfo, "CPU part")?);
        Some(format!("CPU implementer {maker} part {part}"))
    };
    let name = field(cpuinfo, "model name").filter(|name| !name.is_empty()).map(str::to_owned);
    name.or_else(|| files.word("sys/firmware/devicetree/base/model")).or_else(parts)
}

/// Thermal throttling events since boot, each core and each package counted once.
pub(super) fn throttles(files: &Files) -> Option<u64> {
    let counts = throttle_files(files).into_iter().filter_map(|path| files.number::<u64>(path));
    counts.reduce(u64::saturating_add)
}

/// The files that count throttling: of one thread of each core, and of one CPU of each package,
/// since the others of it repeat the figure.
pub(super) fn throttle_files(files: &Files) -> Vec<String> {
    let (mut cores, mut packages) = (BTreeSet::new(), BTreeSet::new());
    let mut paths = Vec::new();
    for cpu in files.numbered(CPU, "cpu") {
        let topology = |name: &str| files.word(format!("{CPU}/cpu{cpu}/topology/{name}"));
        let mut add = |name: &str| {
            let path = format!("{CPU}/cpu{cpu}/thermal_throttle/{name}");
            paths.extend(files.exists(&path).then_some(path));
        };
        // A CPU without a known place stands for itself.
        let core = topology("thread_siblings_list").unwrap_or_else(|| format!("cpu{cpu}"));
        if cores.insert(core) {
            add("core_throttle_count");
        }
        let package = topology("physical_package_id").unwrap_or_else(|| format!("cpu{cpu}"));
        if packages.insert(package) {
            add("package_throttle_count");
        }
    }
    paths
}

/// The files that tell each CPU's present frequency in kHz.
pub(super) fn frequency_files(files: &Files) -> Vec<String> {
    let cpus = files.numbered(CPU, "cpu").into_iter();
    let paths = cpus.map(|cpu| format!("{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq"));
    paths.filter(|path| files.exists(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{tree, write};
    use super::*;

    fn turbo_of(text: &str) -> Turbo {
        turbo(&Files::below(tree(text).path()))
    }

    #[test]
    fn either_turbo_file_may_be_missing() {
        let no_turbo = "== sys/devices/system/cpu/intel_pstate/no_turbo\n";
        let boost = "== sys/devices/system/cpu/cpufreq/boost\n";
        assert_eq!(turbo_of(&format!("{no_turbo}0")), Turbo::On);
        assert_eq!(turbo_of(&format!("{no_turbo}1\n{boost}1")), Turbo::Off);
        assert_eq!(turbo_of(&format!("{boost}1")), Turbo::On);
        assert_eq!(turbo_of(&format!("{boost}0")), Turbo::Off);
        assert_eq!(turbo_of(""), Turbo::Unknown);
        assert_eq!(turbo_of(&format!("{no_turbo}?\n{boost}?")), Turbo::Unknown);
    }

    #[test]
    fn governors_are_gathered_over_all_cpus() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, governor) in [(0, "powersave"), (1, "performance"), (2, "powersave")] {
            write(root.path(), &format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"), governor);
        }
        assert_eq!(governors(&Files::below(root.path())), ["performance", "powersave"]);
    }

    #[test]
    fn a_frequency_is_fixed_only_if_every_cpus_is() {
        let rate = |cpu, least, most| {
            format!(
                "== {CPU}/cpu{cpu}/cpufreq/scaling_min_freq\n{least}\n\
                 == {CPU}/cpu{cpu}/cpufreq/scaling_max_freq\n{most}\n"
            )
        };
        let read = |text: &str| Frequency::read(&Files::below(tree(text).path()));
        let mixed = read(&(rate(0, 2_000, 2_000) + &rate(1, 1_000, 2_000)));
        assert_eq!((mixed.min_khz, mixed.max_khz), (Some(1_000), Some(2_000)));
        assert_eq!(mixed.fixed, Some(false));
        assert_eq!(read(&(rate(0, 9, 9) + &rate(1, 7, 7))).fixed, Some(true));
        assert_eq!(read("").fixed, None);
    }

    #[test]
    fn a_disabled_sleep_state_is_not_the_deepest() {
        let state = |state, name, latency, disable| {
            let folder = format!("{CPU}/cpu0/cpuidle/state{state}");
            format!(
                "== {folder}/name\n{name}\n== {folder}/latency\n{latency}\n\
                 == {folder}/disable\n{disable}\n"
            )
        };
        let text = state(0, "POLL", 0, 0) + &state(1, "C1", 2, 0) + &state(2, "C6", 170, 1);
        let idle = Idle::read(&Files::below(tree(&text).path()));
        assert_eq!((idle.deepest.as_deref(), idle.latency_us), (Some("C1"), Some(2)));
    }

    #[test]
    fn unequal_cpus_count_only_where_the_workload_may_run() {
        let text: String =
            [(0, 1024), (1, 1024), (2, 512)].iter().fold(String::new(), |text, (cpu, speed)| {
                text + &format!("== {CPU}/cpu{cpu}/cpu_capacity\n{speed}\n")
            });
        let root = tree(&text);
        let files = Files::below(root.path());
        assert_eq!(slowest(&files, None), Some(0.5));
        assert_eq!(slowest(&files, Some("0-1")), Some(1.0));
    }

    #[test]
    fn throttling_is_counted_once_a_core_and_once_a_package() {
        let mut text = String::new();
        for (cpu, siblings) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            text += &format!(
                "== {CPU}/cpu{cpu}/topology/thread_siblings_list\n{siblings}\n\
                 == {CPU}/cpu{cpu}/topology/physical_package_id\n0\n\
                 == {CPU}/cpu{cpu}/thermal_throttle/core_throttle_count\n10\n\
                 == {CPU}/cpu{cpu}/thermal_throttle/package_throttle_count\n7\n"
            );
        }
        assert_eq!(throttles(&Files::below(tree(&text).path())), Some(27));
        assert_eq!(throttles(&Files::below(tree("").path())), None);
    }
}
