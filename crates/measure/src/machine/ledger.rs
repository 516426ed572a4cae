//! What the machine was like when a sitting began: read from /proc and /sys without privilege and
//! kept beside the rows. Nothing is changed, and what cannot be read is unknown.

use super::counters::{Counts, Pressure, avg10, seconds};
use super::cpu::{Cpus, Frequency, Idle, Turbo, field, governors, model, throttles, turbo};
use super::files::Files;
use super::quiet::Activity;
use super::system::{Memory, container, hypervisor, mitigations, on_battery};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// State of a machine at one moment. `None` is unknown: the kernel has no such file, or this
/// process may not read it. Records of older versions lack fields; those are unknown too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Limits of the clock.
    pub frequency: Frequency,
    /// Rate that /proc/cpuinfo tells for the first CPU, in MHz: the rate at the moment on bare
    /// metal, the nominal one in most virtual machines.
    pub clock_mhz: Option<f64>,
    /// Sleep states.
    pub idle: Idle,
    /// Which CPUs there are and may be used.
    pub cpus: Cpus,
    /// Mean number of running tasks over the last minute.
    pub load1: Option<f64>,
    /// Share of the last ten seconds in which some task waited for a resource, in percent.
    pub pressure: Pressure<f64>,
    /// CPU time since boot, over all CPUs, that a hypervisor gave to others, in seconds.
    pub steal_s: Option<f64>,
    /// Thermal throttling events since boot.
    pub throttles: Option<u64>,
    /// Whether the machine runs from its battery; `None` also if it has none.
    pub on_battery: Option<bool>,
    /// Whether this is a virtual machine.
    pub hypervisor: bool,
    /// Hypervisor, or maker of the virtual machine.
    pub hypervisor_name: Option<String>,
    /// Whether this process is in a container.
    pub container: bool,
    /// Memory settings.
    pub memory: Memory,
    /// `kernel.randomize_va_space`: 0 off, 1 without heap, 2 full.
    pub aslr: Option<u8>,
    /// Where the kernel has its time from, such as `tsc`.
    pub clock_source: Option<String>,
    /// Whether the scheduler shares the CPUs between sessions rather than tasks.
    pub autogroup: Option<bool>,
    /// Whether a watchdog holds one hardware counter of each CPU.
    pub nmi_watchdog: Option<bool>,
    /// What the kernel says of each weakness of this CPU.
    pub mitigations: BTreeMap<String, String>,
    /// What other work was seen while the machine was watched, if it was.
    pub activity: Option<Activity>,
}

impl Machine {
    /// Reads the machine's state. What cannot be read is unknown, never an error.
    #[must_use]
    pub fn read() -> Self {
        Self::read_below(Path::new("/"))
    }

    pub(super) fn read_below(root: &Path) -> Self {
        let files = Files::below(root);
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let unknown = || "unknown".to_owned();
        let (hypervisor, hypervisor_name) = hypervisor(&files, &cpuinfo);
        let counts = Counts::parse(&files.text("proc/stat").unwrap_or_default());
        Self {
            cpu: model(&files, &cpuinfo).unwrap_or_else(unknown),
            kernel: files.word("proc/sys/kernel/osrelease").unwrap_or_else(unknown),
            boot_id: files.text("proc/sys/kernel/random/boot_id").unwrap_or_default(),
            turbo: turbo(&files),
            governors: governors(&files),
            frequency: Frequency::read(&files),
            clock_mhz: clock_mhz(&cpuinfo),
            idle: Idle::read(&files),
            cpus: Cpus::read(&files, &cpuinfo),
            load1: files.text("proc/loadavg").and_then(|text| load1(&text)),
            pressure: Pressure::each(|name| avg10(&files.text(format!("proc/pressure/{name}"))?)),
            steal_s: counts.steal.map(seconds),
            throttles: throttles(&files),
            on_battery: on_battery(&files),
            hypervisor,
            hypervisor_name,
            container: container(&files),
            memory: Memory::read(&files),
            aslr: files.number("proc/sys/kernel/randomize_va_space"),
            clock_source: files
                .word("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            autogroup: files.switch("proc/sys/kernel/sched_autogroup_enabled"),
            nmi_watchdog: files.switch("proc/sys/kernel/nmi_watchdog"),
            mitigations: mitigations(&files),
            activity: None,
        }
    }
}

impl Machine {
    /// The highest clock rate that the machine names, in Hz: of its limits, its model's name and
    /// what it runs at. Turbo beyond that is possible where the limits are not told.
    #[must_use]
    pub fn clock_hz_max(&self) -> Option<f64> {
        let limit = self.frequency.max_khz.map(|khz| khz as f64 * 1e3);
        let named = self
            .cpu
            .split_whitespace()
            .filter_map(|word| word.strip_suffix("GHz")?.parse::<f64>().ok().map(|ghz| ghz * 1e9));
        let now = self.clock_mhz.map(|mhz| mhz * 1e6);
        named.chain(limit).chain(now).filter(|hz| hz.is_finite() && *hz > 0.0).reduce(f64::max)
    }
}

fn clock_mhz(cpuinfo: &str) -> Option<f64> {
    field(cpuinfo, "cpu MHz")?.parse().ok().filter(|mhz: &f64| mhz.is_finite() && *mhz > 0.0)
}

fn load1(loadavg: &str) -> Option<f64> {
    loadavg.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite())
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn read(name: &str) -> Machine {
        Machine::read_below(fixture::machine(name).path())
    }

    #[test]
    fn the_highest_clock_named_anywhere_counts() {
        let clock = |cpu: &str, clock_mhz, max_khz| {
            let frequency = Frequency { max_khz, ..Frequency::default() };
            Machine { cpu: cpu.into(), clock_mhz, frequency, ..Machine::default() }.clock_hz_max()
        };
        assert_eq!(clock("Xeon(R) CPU @ 2.80GHz", Some(2100.5), None), Some(2.8e9));
        assert_eq!(clock("Xeon(R) CPU @ 2.80GHz", None, Some(4_700_000)), Some(4.7e9));
        assert_eq!(clock("EPYC 7763", Some(2445.0), None), Some(2.445e9));
        assert_eq!(clock("unknown", None, None), None);
        assert_eq!(clock_mhz("cpu MHz\t\t: 2445.406\n"), Some(2445.406));
    }

    #[test]
    fn a_laptop_tells_its_clock_its_sleep_and_its_battery() {
        let found = read("laptop");
        assert_eq!(found.cpu, "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz");
        assert_eq!((found.turbo, found.governors), (Turbo::On, vec!["powersave".into()]));
        assert_eq!(found.frequency.driver.as_deref(), Some("intel_pstate"));
        assert_eq!(found.frequency.min_khz, Some(400_000));
        assert_eq!(found.frequency.max_khz, Some(4_700_000));
        assert_eq!(found.frequency.fixed, Some(false));
        assert_eq!(found.idle.driver.as_deref(), Some("intel_idle"));
        assert_eq!(found.idle.deepest.as_deref(), Some("C3_ACPI"));
        assert_eq!((found.idle.latency_us, found.idle.max_cstate), (Some(1034), Some(9)));
        assert_eq!(found.cpus.smt, Some(true));
        assert_eq!(found.cpus.slowest, Some(1.0));
        assert_eq!(found.cpus.microcode.as_deref(), Some("0xbc"));
        assert_eq!(found.on_battery, Some(true));
        assert_eq!(found.throttles, Some(38));
        assert!(!found.hypervisor && !found.container);
        assert_eq!(found.memory.thp.as_deref(), Some("madvise"));
        assert_eq!(found.memory.swap_used_bytes, Some(524_288 << 10));
        assert_eq!((found.nmi_watchdog, found.autogroup), (Some(true), Some(true)));
        assert_eq!(found.clock_source.as_deref(), Some("tsc"));
        assert_eq!(found.mitigations.len(), 2);
    }

    #[test]
    fn a_server_tells_which_cpus_are_kept_free() {
        let found = read("server");
        assert_eq!(found.cpus.isolated.as_deref(), Some("4-7"));
        assert_eq!(found.cpus.nohz_full.as_deref(), Some("4-7"));
        assert_eq!(found.cpus.affinity.as_deref(), Some("0-3,8-11"));
        assert_eq!(found.cpus.irq_affinity.as_deref(), Some("0f0f"));
        assert_eq!(found.cpus.online_count(), Some(16));
        assert_eq!((found.turbo, found.frequency.fixed), (Turbo::Off, Some(true)));
        assert_eq!(found.memory.numa_balancing, Some(true));
        assert_eq!(found.memory.ksm, Some(true));
        assert_eq!(found.pressure.cpu, Some(0.12));
        assert_eq!(found.on_battery, None);
    }

    #[test]
    fn a_guest_tells_its_hypervisor_and_what_was_stolen() {
        let found = read("guest");
        assert!(found.hypervisor);
        assert_eq!(found.hypervisor_name.as_deref(), Some("QEMU Standard PC (Q35 + ICH9, 2009)"));
        assert_eq!(found.steal_s, Some(12.34));
        assert_eq!(found.clock_source.as_deref(), Some("kvm-clock"));
        assert_eq!((found.turbo, found.throttles), (Turbo::Unknown, None));
    }

    #[test]
    fn a_board_has_big_and_little_cores() {
        let found = read("board");
        assert_eq!(found.cpu, "Radxa ROCK 5B");
        assert_eq!(found.cpus.slowest, Some(530.0 / 1024.0));
        assert_eq!(found.governors, ["ondemand", "schedutil"]);
        assert_eq!(found.cpus.nohz_full.as_deref(), Some(""));
        assert!(!found.hypervisor);
    }

    #[test]
    fn a_container_tells_its_quota_and_little_else() {
        let found = read("container");
        assert!(found.container);
        assert_eq!(found.cpus.quota, Some(1.5));
        assert_eq!((found.boot_id.as_str(), found.steal_s), ("", None));
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_warns_of_nothing() {
        let empty = tempfile::tempdir().unwrap();
        let machine = Machine::read_below(empty.path());
        let unknown =
            Machine { cpu: "unknown".into(), kernel: "unknown".into(), ..Default::default() };
        assert_eq!(machine, unknown);
        assert_eq!(machine.warnings(), []);
    }

    #[test]
    fn a_record_of_an_older_version_reads_and_a_new_one_reads_back() {
        let old = r#"{"cpu":"X","kernel":"6.1","boot_id":"b","turbo":"off","governors":[],
                      "load1":0.5,"hypervisor":true,"aslr":2}"#;
        let machine: Machine = serde_json::from_str(old).unwrap();
        assert_eq!((machine.load1, machine.turbo), (Some(0.5), Turbo::Off));
        assert_eq!(machine.cpus, Cpus::default());
        let laptop = read("laptop");
        let json = serde_json::to_string(&laptop).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), laptop);
    }

    #[test]
    fn arm_without_a_board_name_has_part_numbers() {
        let text = "== proc/cpuinfo\nprocessor: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c";
        let machine = Machine::read_below(fixture::tree(text).path());
        assert_eq!(machine.cpu, "CPU implementer 0x41 part 0xd0c");
    }

    #[test]
    fn load_is_the_first_number() {
        assert_eq!(load1("0.75 0.15 0.07 1/88 6635\n"), Some(0.75));
        assert_eq!(load1(""), None);
        assert_eq!(load1("nan 1 1"), None);
    }
}
