//! Watches the machine for a moment: what other work runs, and whether it is quiet enough to begin.
//!
//! The kernel's averages are of no use for this: the load is high for a minute after the last
//! compiler has ended, though nothing runs any more. So two readings are taken and compared. This
//! process sleeps in between; what it uses itself is subtracted.

use super::counters::{Counts, Pressure, own_cpu, rise, seconds, total_us};
use super::cpu::throttles;
use super::files::Files;
use super::ledger::Machine;
use super::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the machine is watched. `/proc/stat` counts ticks of 10 ms, so that less would not
/// tell 2 % of a CPU from nothing.
const WATCHED: Duration = Duration::from_secs(1);
/// Processes that are named.
const NAMED_MAX: usize = 3;
/// CPUs' worth of time below which a process is not worth naming: one tick of a second.
const NAMED_CPUS_MIN: f64 = 0.01;

/// A process that used CPU time while the machine was watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BusyProcess {
    /// Process id.
    pub pid: u32,
    /// Its name, as it gave it: at most 15 bytes, and free of control characters.
    pub name: String,
    /// CPU time per time: 0.5 is half of one CPU.
    pub cpus: f64,
}

impl fmt::Display for BusyProcess {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (process {}): {:.2}", self.name, self.pid, self.cpus)
    }
}

/// What was seen while the machine was watched. CPU time is given per time: 0.5 is half of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activity {
    /// How long it was watched, in seconds.
    pub over_s: f64,
    /// CPUs' worth of time used by all but this process.
    pub foreign_cpus: Option<f64>,
    /// CPUs' worth of time that the hypervisor gave to others.
    pub steal_cpus: Option<f64>,
    /// Share of the time in which some task waited for a resource, in percent.
    pub pressure: Pressure<f64>,
    /// Thermal throttling events.
    pub throttles: Option<u64>,
    /// Processes that used most, busiest first. Those that ended meanwhile are not among them.
    pub busiest: Vec<BusyProcess>,
}

/// One of the two readings.
struct Look {
    counts: Counts,
    pressure_us: Pressure<u64>,
    throttles: Option<u64>,
    processes: HashMap<u32, Process>,
    own_cpu: Duration,
}

struct Process {
    name: String,
    /// Start time in ticks since boot: a process that has taken over a free id has another.
    started: u64,
    ticks: u64,
}

impl Look {
    fn take(files: &Files) -> Self {
        Self {
            counts: Counts::parse(&files.text("proc/stat").unwrap_or_default()),
            pressure_us: Pressure::each(|name| {
                total_us(&files.text(format!("proc/pressure/{name}"))?)
            }),
            throttles: throttles(files),
            processes: processes(files),
            own_cpu: own_cpu(),
        }
    }
}

fn processes(files: &Files) -> HashMap<u32, Process> {
    let pids = files.numbered("proc", "").into_iter();
    let others = pids.filter(|&pid| pid != std::process::id());
    others
        .filter_map(|pid| Some((pid, process(&files.text(format!("proc/{pid}/stat"))?)?)))
        .collect()
}

/// From the text of /proc/pid/stat. The name stands in parentheses and may hold some itself; the
/// state follows as field 3 (proc_pid_stat(5)).
fn process(stat: &str) -> Option<Process> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        name: name.chars().map(|c| if c.is_control() { '?' } else { c }).collect(),
        started: field(22)?,
        ticks: field(14)?.checked_add(field(15)?)?,
    })
}

impl Activity {
    fn between(before: &Look, after: &Look, passed: Duration) -> Self {
        let over_s = passed.as_secs_f64();
        let rate = |ticks: Option<u64>| ticks.map(|ticks| seconds(ticks) / over_s);
        let own = after.own_cpu.saturating_sub(before.own_cpu).as_secs_f64() / over_s;
        let busy = rate(rise(before.counts.busy, after.counts.busy));
        let waited = Pressure::rise(&before.pressure_us, &after.pressure_us);
        let percent = |us: Option<u64>| us.map(|us| us as f64 / 1e4 / over_s);
        Self {
            over_s,
            foreign_cpus: busy.map(|busy| (busy - own).max(0.0)),
            steal_cpus: rate(rise(before.counts.steal, after.counts.steal)),
            pressure: Pressure {
                cpu: percent(waited.cpu),
                io: percent(waited.io),
                memory: percent(waited.memory),
            },
            throttles: rise(before.throttles, after.throttles),
            busiest: busiest(&before.processes, &after.processes, over_s),
        }
    }
}

fn busiest(
    before: &HashMap<u32, Process>,
    after: &HashMap<u32, Process>,
    over_s: f64,
) -> Vec<BusyProcess> {
    let used = after.iter().map(|(&pid, process)| {
        let known = before.get(&pid).filter(|old| old.started == process.started);
        let ticks = process.ticks.saturating_sub(known.map_or(0, |old| old.ticks));
        BusyProcess { pid, name: process.name.clone(), cpus: seconds(ticks) / over_s }
    });
    let mut used: Vec<BusyProcess> = used.filter(|one| one.cpus >= NAMED_CPUS_MIN).collect();
    used.sort_by(|a, b| b.cpus.total_cmp(&a.cpus).then(a.pid.cmp(&b.pid)));
    used.truncate(NAMED_MAX);
    used
}

impl Machine {
    /// Reads the machine's state and watches for `period` what other work runs.
    #[must_use]
    pub fn watch(period: Duration) -> Self {
        Self::watch_below(Path::new("/"), || std::thread::sleep(period))
    }

    fn watch_below(root: &Path, pause: impl FnOnce()) -> Self {
        let files = Files::below(root);
        let (began, before) = (Instant::now(), Look::take(&files));
        pause();
        let (passed, after) = (began.elapsed(), Look::take(&files));
        let activity = Some(Activity::between(&before, &after, passed));
        Self { activity, ..Self::read_below(root) }
    }

    /// Watches the machine for about a second, and again until it is quiet, for as long as
    /// `within`; with zero it is watched once. After each second that was loud `on_wait` is told
    /// why, and how much time is left.
    ///
    /// # Errors
    /// The loud warnings of the last second, if the machine has not become quiet.
    pub fn quiet(
        within: Duration,
        on_wait: &mut dyn FnMut(&[Warning], Duration),
    ) -> Result<Self, Vec<Warning>> {
        let began = Instant::now();
        until_quiet(within, &mut || (Self::watch(WATCHED), began.elapsed()), on_wait)
    }
}

/// Calls `look` until its machine is quiet or the time that it tells has reached `within`.
fn until_quiet(
    within: Duration,
    look: &mut dyn FnMut() -> (Machine, Duration),
    on_wait: &mut dyn FnMut(&[Warning], Duration),
) -> Result<Machine, Vec<Warning>> {
    loop {
        let (machine, passed) = look();
        let loud = machine.loud();
        if loud.is_empty() {
            return Ok(machine);
        }
        let left = within.saturating_sub(passed);
        if left.is_zero() {
            return Err(loud);
        }
        on_wait(&loud, left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{machine, write};
    use super::*;
    use proptest::prelude::*;

    /// One line of /proc/pid/stat.
    fn stat(pid: u32, name: &str, utime: u64, stime: u64, started: u64) -> String {
        format!(
            "{pid} ({name}) S 1 1 1 0 -1 4194304 9 9 9 9 {utime} {stime} 5 5 20 0 1 0 {started} 9 9"
        )
    }

    fn look(busy: u64, steal: u64, processes: &[(u32, &str, u64, u64)]) -> Look {
        let named = processes.iter().map(|&(pid, name, ticks, started)| {
            (pid, process(&stat(pid, name, ticks, 0, started)).unwrap())
        });
        Look {
            counts: Counts { busy: Some(busy), steal: Some(steal), ..Default::default() },
            pressure_us: Pressure { cpu: Some(busy * 1000), io: None, memory: Some(0) },
            throttles: None,
            processes: named.collect(),
            own_cpu: Duration::from_millis(busy),
        }
    }

    #[test]
    fn foreign_time_is_busy_time_less_our_own() {
        let before = look(100, 0, &[]);
        // 50 ticks of 10 ms are busy in half a second, and 50 ms of them are ours.
        let after = look(150, 5, &[]);
        let seen = Activity::between(&before, &after, Duration::from_millis(500));
        assert!((seen.foreign_cpus.unwrap() - 0.9).abs() < 1e-9, "{seen:?}");
        assert!((seen.steal_cpus.unwrap() - 0.1).abs() < 1e-9, "{seen:?}");
        assert_eq!(seen.pressure, Pressure { cpu: Some(10.0), io: None, memory: Some(0.0) });
        let idle = Activity::between(&before, &before, Duration::from_secs(1));
        assert_eq!((idle.foreign_cpus, idle.busiest.len()), (Some(0.0), 0));
    }

    #[test]
    fn the_three_busiest_are_named() {
        let before =
            look(0, 0, &[(1, "a", 900, 1), (2, "b", 0, 1), (3, "c", 0, 1), (4, "d", 0, 1)]);
        let after = look(
            0,
            0,
            &[
                (1, "a", 900, 1),
                (2, "b", 30, 1),
                (3, "c", 50, 1),
                // Another process under the same id: all of its time counts.
                (4, "d2", 10, 2),
                (5, "new", 40, 9),
            ],
        );
        let seen = Activity::between(&before, &after, Duration::from_secs(1));
        let names: Vec<&str> = seen.busiest.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["c", "new", "b"]);
        assert!((seen.busiest[0].cpus - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_name_may_hold_what_stands_around_it() {
        let parsed = process(&stat(7, "a) R (b", 3, 4, 5)).unwrap();
        assert_eq!((parsed.name.as_str(), parsed.ticks, parsed.started), ("a) R (b", 7, 5));
        assert_eq!(process(&stat(7, "\x1b[31m", 0, 0, 0)).unwrap().name, "?[31m");
        assert!(process("7 (cut) S 1 1").is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_a_process_or_none(text in ".{0,80}|[0-9() ]{0,120}") {
            let _ = process(&text);
        }
    }

    #[test]
    fn a_watched_machine_is_told_what_ran() {
        let root = machine("guest");
        let path = root.path();
        write(path, "proc/40/stat", &stat(40, "cc1", 10, 0, 3));
        let found = Machine::watch_below(path, || {
            write(path, "proc/stat", "cpu  9000 100 900 0 0 0 0 9000 0 0");
            write(path, "proc/40/stat", &stat(40, "cc1", 80_000, 0, 3));
        });
        let seen = found.activity.as_ref().unwrap();
        assert!(seen.foreign_cpus.unwrap() > 0.15 && seen.steal_cpus.unwrap() > 0.02, "{seen:?}");
        assert_eq!(seen.busiest[0].pid, 40);
        assert_eq!(found.loud().len(), 2);
    }

    fn loud() -> Machine {
        Machine { on_battery: Some(true), ..Default::default() }
    }

    #[test]
    fn without_time_to_wait_a_loud_machine_is_refused_at_once() {
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            (loud(), Duration::from_secs(1))
        };
        let refused =
            until_quiet(Duration::ZERO, &mut look, &mut |_, _| panic!("it does not wait"));
        assert_eq!(refused, Err(vec![Warning::OnBattery]));
        assert_eq!(looks, 1);
    }

    #[test]
    fn it_is_waited_until_the_machine_is_quiet_or_the_time_is_over() {
        let run = |within, quiet_at| {
            let (mut second, mut waits) = (0, Vec::new());
            let mut look = || {
                second += 1;
                let machine = if second < quiet_at { loud() } else { Machine::default() };
                (machine, Duration::from_secs(second))
            };
            let mut on_wait = |why: &[Warning], left: Duration| {
                assert_eq!(why, [Warning::OnBattery]);
                waits.push(left.as_secs());
            };
            (until_quiet(Duration::from_secs(within), &mut look, &mut on_wait).is_ok(), waits)
        };
        assert_eq!(run(10, 1), (true, vec![]));
        assert_eq!(run(10, 4), (true, vec![9, 8, 7]));
        assert_eq!(run(2, 4), (false, vec![1]));
    }
}
