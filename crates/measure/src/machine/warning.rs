//! What a measurement suffers from on a machine, in words that name the remedy.
//!
//! A warning is *loud* if it makes a start unreasonable: something disturbs the runs now, or will
//! stop them now and then, and can be ended or waited for. The others widen the interval or narrow
//! what the result says, and many machines cannot do without: they are told once and stop nobody.
//!
//! Not warned of, though in the ledger: CPUs that are not isolated, transparent huge pages, deep
//! sleep states, mitigations, swap in use, the NMI watchdog, autogroup, past throttling. Nearly
//! every machine has them, both arms run under them, and the blocks hold what they add. Nor of
//! pressure on io: a thread that waits in io_uring for nothing in particular counts as pressed, so
//! that some idle servers show 100 %.

use super::cpu::Turbo;
use super::ledger::Machine;
use super::quiet::BusyProcess;
use std::fmt;

/// Load above which something else was running: one benchmark alone brings it to 1.
const LOAD_QUIET_MAX: f64 = 1.5;
/// CPU time of other work that a quiet machine may show, as a share of one CPU. An idle desktop
/// uses some hundredths.
const FOREIGN_QUIET_MAX: f64 = 0.15;
/// CPU time that a hypervisor may take while little runs, as a share of one CPU.
const STEAL_QUIET_MAX: f64 = 0.02;
/// Share of time in which some task may wait for a CPU.
const CPU_PRESSURE_QUIET_MAX_PERCENT: f64 = 10.0;
/// Share of time in which some task may wait for memory. A machine with enough has none.
const MEMORY_PRESSURE_QUIET_MAX_PERCENT: f64 = 1.0;
/// A workload of one thread and this tool never need more CPUs at once.
const QUOTA_AMPLE_MIN: f64 = 2.0;
/// CPUs slower than this share of the fastest are of another kind. Cores of one kind differ by a
/// few percent in their top frequency.
const SAME_KIND_MIN: f64 = 0.9;

/// Something about a machine that a measurement suffers from. Its text names the remedy.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Other processes use the CPUs: how many CPUs' worth, and which use most. Loud.
    ForeignCpu {
        /// In CPUs: 0.5 is half of one.
        cpus: f64,
        /// Busiest first; empty if none of them can be seen.
        busiest: Vec<BusyProcess>,
    },
    /// Other work was running in the last minute: the load. Loud, and given only where the machine
    /// was not watched, since it stays high after the work has ended.
    Load(f64),
    /// The hypervisor runs others on this guest's CPUs: how many CPUs' worth. Loud.
    Steal(f64),
    /// Tasks wait for a CPU: percent of the time. Loud.
    CpuPressure(f64),
    /// Tasks wait for memory: percent of the time. Loud.
    MemoryPressure(f64),
    /// The CPU was slowed for heat while the machine was watched: events. Loud.
    Throttling(u64),
    /// Running from the battery, which lowers the power limits. Loud.
    OnBattery,
    /// The control group is stopped when it has used this many CPUs' worth of time. Loud below 2,
    /// where one busy thread and this tool reach it.
    Quota(f64),
    /// The clock depends on temperature and on what the other cores do.
    TurboOn,
    /// A governor other than `performance`.
    Governor(String),
    /// Two threads share a core, and slow each other.
    Smt,
    /// CPUs of different speeds: the slowest as a share of the fastest.
    UnequalCpus(f64),
    /// Other guests share the hardware.
    VirtualMachine,
    /// Every run has one and the same address layout.
    FixedLayout,
    /// A clock that is read through the kernel, slowly.
    SlowClock(String),
    /// Equal pages are merged in the background, and split when they are written to.
    Ksm,
}

impl Warning {
    /// Whether it makes a start unreasonable.
    #[must_use]
    pub fn is_loud(&self) -> bool {
        match self {
            Self::ForeignCpu { .. }
            | Self::Load(_)
            | Self::Steal(_)
            | Self::CpuPressure(_)
            | Self::MemoryPressure(_)
            | Self::Throttling(_)
            | Self::OnBattery => true,
            Self::Quota(cpus) => *cpus < QUOTA_AMPLE_MIN,
            Self::TurboOn
            | Self::Governor(_)
            | Self::Smt
            | Self::UnequalCpus(_)
            | Self::VirtualMachine
            | Self::FixedLayout
            | Self::SlowClock(_)
            | Self::Ksm => false,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignCpu { cpus, busiest } => foreign(out, *cpus, busiest),
            Self::Load(load) => write!(
                out,
                "the load average was {load:.2}: stop other work and wait until it is below \
                 {LOAD_QUIET_MAX}"
            ),
            Self::Steal(cpus) => write!(
                out,
                "the hypervisor takes {cpus:.2} of a CPU away for other guests: wait, or measure \
                 on a dedicated host"
            ),
            Self::CpuPressure(percent) => write!(
                out,
                "tasks waited for a CPU {percent:.0} % of the time: stop other work, or give the \
                 workload CPUs of its own with `taskset`"
            ),
            Self::MemoryPressure(percent) => write!(
                out,
                "tasks waited for memory {percent:.0} % of the time: stop what uses the memory, or \
                 shrink the workload"
            ),
            Self::Throttling(events) => write!(
                out,
                "the CPU was slowed for heat {events} time(s) while it was watched: let it cool, \
                 better its cooling, or turn turbo off"
            ),
            Self::OnBattery => out.write_str("the machine runs from its battery: plug it in"),
            Self::Quota(cpus) => write!(
                out,
                "the control group may use {cpus:.2} CPUs and is stopped when it has used them \
                 up: raise its `cpu.max` (`docker run --cpus`), or measure outside of it"
            ),
            other => other.write_note(out),
        }
    }
}

impl Warning {
    fn write_note(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Governor(name) => write!(
                out,
                "the frequency governor is {name}: `cpupower frequency-set -g performance`"
            ),
            Self::UnequalCpus(share) => write!(
                out,
                "the slowest CPU has {:.0} % of the fastest one's speed, and a run may be on \
                 either: keep the workload on one kind with `taskset -c`",
                share * 100.0
            ),
            Self::SlowClock(name) => write!(
                out,
                "the clock source is {name}, which is slow to read: if the TSC is sound here, \
                 boot with `tsc=reliable`"
            ),
            Self::TurboOn => out.write_str(
                "turbo is on, so speed depends on heat and on other cores: write 1 to \
                 /sys/devices/system/cpu/intel_pstate/no_turbo or 0 to \
                 /sys/devices/system/cpu/cpufreq/boost",
            ),
            Self::Smt => out.write_str(
                "two threads share each core, so other work on the sibling slows a run: write off \
                 to /sys/devices/system/cpu/smt/control, or leave the siblings idle",
            ),
            Self::VirtualMachine => out.write_str(
                "this is a virtual machine, whose neighbours cannot be seen: repeat the campaign \
                 on bare metal before publishing small effects",
            ),
            Self::FixedLayout => out.write_str(
                "address layout is not randomised, so one lucky layout counts in every run: \
                 `sysctl kernel.randomize_va_space=2`",
            ),
            Self::Ksm => out.write_str(
                "equal pages are merged in the background (KSM): write 0 to /sys/kernel/mm/ksm/run",
            ),
            // Those that `fmt` writes itself.
            _ => Ok(()),
        }
    }
}

fn foreign(out: &mut fmt::Formatter<'_>, cpus: f64, busiest: &[BusyProcess]) -> fmt::Result {
    write!(out, "other work used {cpus:.2} CPUs")?;
    match busiest {
        [] => out.write_str(
            ", by processes that were over too soon or cannot be seen from here: stop it, or wait",
        ),
        _ => {
            let names: Vec<String> = busiest.iter().map(ToString::to_string).collect();
            write!(out, "; the busiest: {}. Stop them, or wait", names.join(", "))
        }
    }
}

impl Machine {
    /// What is wrong with it for a measurement, the loud first.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.disturbances();
        warnings.extend(self.limits());
        warnings.extend(self.notes());
        warnings.sort_by_key(|warning| !warning.is_loud());
        warnings
    }

    /// Those of its warnings that make a start unreasonable.
    #[must_use]
    pub fn loud(&self) -> Vec<Warning> {
        let mut warnings = self.warnings();
        warnings.retain(Warning::is_loud);
        warnings
    }

    /// Other work: as it was seen if the machine was watched, and else from the kernel's averages.
    fn disturbances(&self) -> Vec<Warning> {
        let above = |value: Option<f64>, max: f64| value.filter(|&value| value > max);
        let (pressure, mut found) = match &self.activity {
            Some(seen) => {
                let foreign = above(seen.foreign_cpus, FOREIGN_QUIET_MAX);
                let foreign =
                    foreign.map(|cpus| Warning::ForeignCpu { cpus, busiest: seen.busiest.clone() });
                let steal = above(seen.steal_cpus, STEAL_QUIET_MAX).map(Warning::Steal);
                let heat = seen.throttles.filter(|&events| events > 0).map(Warning::Throttling);
                (&seen.pressure, foreign.into_iter().chain(steal).chain(heat).collect())
            }
            None => {
                let load = above(self.load1, LOAD_QUIET_MAX).map(Warning::Load);
                (&self.pressure, load.into_iter().collect::<Vec<_>>())
            }
        };
        let cpu = above(pressure.cpu, CPU_PRESSURE_QUIET_MAX_PERCENT);
        let memory = above(pressure.memory, MEMORY_PRESSURE_QUIET_MAX_PERCENT);
        found.extend(cpu.map(Warning::CpuPressure));
        found.extend(memory.map(Warning::MemoryPressure));
        found
    }

    /// What takes power or time away from a run by rule.
    fn limits(&self) -> impl Iterator<Item = Warning> {
        let battery = (self.on_battery == Some(true)).then_some(Warning::OnBattery);
        // A quota of every CPU never stops anything.
        let all = self.cpus.online_count().map_or(f64::INFINITY, |count| count as f64);
        let quota = self.cpus.quota.filter(|&cpus| cpus < all).map(Warning::Quota);
        battery.into_iter().chain(quota)
    }

    /// What is only worth knowing.
    fn notes(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        let mut add = |holds: bool, warning: Warning| found.extend(holds.then_some(warning));
        add(self.turbo == Turbo::On, Warning::TurboOn);
        for name in self.governors.iter().filter(|name| *name != "performance") {
            add(true, Warning::Governor(name.clone()));
        }
        // What a guest is told of its siblings need not be so.
        add(self.cpus.smt == Some(true) && !self.hypervisor, Warning::Smt);
        if let Some(share) = self.cpus.slowest {
            add(share < SAME_KIND_MIN, Warning::UnequalCpus(share));
        }
        add(self.hypervisor, Warning::VirtualMachine);
        add(self.aslr == Some(0), Warning::FixedLayout);
        if let Some(name) = &self.clock_source {
            let is_slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&&**name);
            add(is_slow, Warning::SlowClock(name.clone()));
        }
        add(self.memory.ksm == Some(true), Warning::Ksm);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::counters::Pressure;
    use super::super::cpu::Cpus;
    use super::super::fixture;
    use super::super::quiet::Activity;
    use super::super::system::Memory;
    use super::*;

    fn quiet_machine() -> Machine {
        Machine {
            turbo: Turbo::Off,
            governors: vec!["performance".into()],
            load1: Some(0.3),
            aslr: Some(2),
            clock_source: Some("tsc".into()),
            on_battery: Some(false),
            cpus: Cpus {
                smt: Some(false),
                slowest: Some(0.97),
                online: Some("0-3".into()),
                quota: Some(4.0),
                ..Default::default()
            },
            ..Default::default()
        }
    }

    fn check(machine: &Machine, remedies: &[&str]) {
        let texts: Vec<String> = machine.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), remedies.len(), "{texts:#?}");
        for (text, remedy) in texts.iter().zip(remedies) {
            assert!(text.contains(remedy), "{text}");
        }
    }

    #[test]
    fn each_note_names_its_remedy_and_stops_nobody() {
        check(&quiet_machine(), &[]);
        let quiet = quiet_machine();
        let noted = Machine {
            turbo: Turbo::On,
            governors: vec!["performance".into(), "powersave".into()],
            aslr: Some(0),
            clock_source: Some("hpet".into()),
            memory: Memory { ksm: Some(true), ..Default::default() },
            cpus: Cpus { smt: Some(true), slowest: Some(0.5), quota: Some(3.0), ..quiet.cpus },
            ..quiet
        };
        check(
            &noted,
            &[
                "cpu.max",
                "no_turbo",
                "cpupower",
                "smt/control",
                "taskset",
                "sysctl",
                "tsc=",
                "ksm/run",
            ],
        );
        assert_eq!(noted.loud(), []);
        let guest = Machine { hypervisor: true, ..noted };
        assert!(guest.warnings().contains(&Warning::VirtualMachine));
        assert!(!guest.warnings().contains(&Warning::Smt));
    }

    #[test]
    fn each_loud_warning_names_its_remedy() {
        let quiet = quiet_machine();
        let unwatched = Machine {
            load1: Some(2.5),
            pressure: Pressure { cpu: Some(10.1), io: Some(99.0), memory: Some(1.1) },
            on_battery: Some(true),
            cpus: Cpus { quota: Some(1.5), ..quiet.cpus.clone() },
            ..quiet.clone()
        };
        check(
            &unwatched,
            &["stop other work", "taskset", "shrink the workload", "plug it in", "cpu.max"],
        );
        assert_eq!(unwatched.loud().len(), 5);
        let busiest = vec![BusyProcess { pid: 7, name: "cc1".into(), cpus: 0.9 }];
        let watched = Machine {
            activity: Some(Activity {
                foreign_cpus: Some(0.95),
                steal_cpus: Some(0.03),
                throttles: Some(2),
                busiest,
                ..Default::default()
            }),
            ..quiet
        };
        check(&watched, &["cc1 (process 7): 0.90", "dedicated host", "let it cool"]);
        assert_eq!(watched.loud().len(), 3);
    }

    #[test]
    fn a_machine_seen_to_be_quiet_is_quiet_though_its_averages_are_still_high() {
        let machine = Machine {
            load1: Some(9.0),
            pressure: Pressure { cpu: Some(80.0), ..Default::default() },
            activity: Some(Activity { foreign_cpus: Some(0.1), ..Default::default() }),
            ..quiet_machine()
        };
        assert_eq!(machine.warnings(), []);
    }

    #[test]
    fn the_loud_come_first() {
        let laptop = Machine::read_below(fixture::machine("laptop").path());
        let loud: Vec<bool> = laptop.warnings().iter().map(Warning::is_loud).collect();
        assert_eq!(loud, [true, false, false, false]);
        assert_eq!(laptop.loud(), [Warning::OnBattery]);
    }

    #[test]
    fn what_machines_are_warned_of() {
        let of = |name| Machine::read_below(fixture::machine(name).path()).warnings();
        assert_eq!(of("server"), [Warning::Smt, Warning::Ksm]);
        assert_eq!(of("guest"), [Warning::VirtualMachine]);
        let governors = ["ondemand", "schedutil"].map(|name| Warning::Governor(name.into()));
        assert_eq!(of("board")[..2], governors);
        assert_eq!(of("board")[2..], [Warning::UnequalCpus(530.0 / 1024.0)]);
        assert_eq!(of("container"), [Warning::Quota(1.5)]);
    }
}
