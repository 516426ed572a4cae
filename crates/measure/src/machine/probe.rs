//! What happened to the machine during one run: CPU time of others, stolen time, pressure,
//! throttling. It stands beside the run's value in the journal, so that an outlier can be seen to
//! have had company, and [`Rule`](super::Rule) can tell a disturbed run without looking at it.
//!
//! It runs beside every run, so the files stay open and are read again from their beginning into
//! one buffer. The figures are the kernel's: CPU time comes in ticks of 10 ms over all CPUs, of
//! which a run of some milliseconds sees none or one.

use super::counters::{Counts, Pressure, own_cpu, rise, seconds, total_us};
use super::cpu::{frequency_files, throttle_files};
use super::files::{FILE_MAX, Files};
use super::system::Quota;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time that reading the frequencies may take. Some kernels interrupt each CPU or sleep for it,
/// which would cost more than the figure is worth; they are not asked again.
const FREQUENCIES_COST_MAX: Duration = Duration::from_millis(1);

/// What was different about the machine between a run's start and its end. `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunConditions {
    /// CPU time that all CPUs spent on anything, in seconds.
    pub busy_cpu_s: Option<f64>,
    /// That without the run's and this tool's own, in seconds; at least 0. Processes that the run
    /// left behind and threads of the kernel that work for it count as foreign.
    pub foreign_cpu_s: Option<f64>,
    /// CPU time that the hypervisor gave to others, over all CPUs, in seconds.
    pub steal_s: Option<f64>,
    /// Time in which some task of the machine waited for a resource, in µs. The run's own tasks
    /// count too.
    pub pressure_us: Pressure<u64>,
    /// Thermal throttling events of all cores and packages.
    pub throttles: Option<u64>,
    /// Time for which the control group was stopped for having used up its quota, in µs.
    pub quota_stopped_us: Option<u64>,
    /// Context switches of the whole machine.
    pub context_switches: Option<u64>,
    /// Interrupts of the whole machine.
    pub interrupts: Option<u64>,
    /// Mean frequency of all CPUs at the run's end, in kHz. Idle CPUs draw it down.
    pub frequency_mean_khz: Option<u64>,
    /// Highest frequency of any CPU at the run's end, in kHz: most likely that of the run.
    pub frequency_max_khz: Option<u64>,
}

/// The counts at a run's start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    counts: Counts,
    pressure_us: Pressure<u64>,
    throttles: Option<u64>,
    quota_stopped_us: Option<u64>,
    tool_cpu: Duration,
}

/// The open files. One serves all runs of a sitting, one after the other.
#[derive(Debug)]
pub struct RunProbe {
    stat: Option<File>,
    pressure: [Option<File>; 3],
    throttles: Vec<File>,
    frequencies: Vec<File>,
    group: Option<File>,
    buffer: Vec<u8>,
}

impl RunProbe {
    /// Opens what this machine has of the files.
    #[must_use]
    pub fn open() -> Self {
        Self::open_below(Path::new("/"), FREQUENCIES_COST_MAX)
    }

    fn open_below(root: &Path, frequencies_cost_max: Duration) -> Self {
        let files = Files::below(root);
        let open = |path: &str| File::open(files.path(path)).ok();
        let open_all = |paths: Vec<String>| paths.iter().filter_map(|path| open(path)).collect();
        let group = Quota::read(&files).map(|quota| quota.folder.join("cpu.stat"));
        let mut probe = Self {
            stat: open("proc/stat"),
            pressure: ["cpu", "io", "memory"].map(|name| open(&format!("proc/pressure/{name}"))),
            throttles: open_all(throttle_files(&files)),
            frequencies: open_all(frequency_files(&files)),
            group: group.and_then(|path| File::open(files.path(path)).ok()),
            buffer: vec![0; FILE_MAX],
        };
        let began = Instant::now();
        probe.frequencies_khz();
        if began.elapsed() > frequencies_cost_max {
            probe.frequencies.clear();
        }
        probe
    }

    /// Reads the counts; to be called just before a run.
    pub fn start(&mut self) -> Reading {
        let buffer = &mut self.buffer;
        let mut total = |file: &Option<File>| total_us(text(file.as_ref()?, buffer)?);
        let [cpu, io, memory] = &self.pressure;
        let pressure_us = Pressure { cpu: total(cpu), io: total(io), memory: total(memory) };
        let counts = self.throttles.iter().filter_map(|file| number(file, buffer));
        let throttles = counts.reduce(u64::saturating_add);
        let group = self.group.as_ref().and_then(|file| text(file, buffer));
        let quota_stopped_us = group.and_then(stopped_us);
        // Last, so that the ticks of these readings themselves are not in the run.
        let stat = self.stat.as_ref().and_then(|file| text(file, buffer)).unwrap_or_default();
        let counts = Counts::parse(stat);
        Reading { counts, pressure_us, throttles, quota_stopped_us, tool_cpu: own_cpu() }
    }

    /// What has happened since `start`; to be called just after a run that used `own_cpu`, user
    /// and system time together, with the descendants that it waited for.
    pub fn finish(&mut self, start: &Reading, own_cpu: Duration) -> RunConditions {
        let end = self.start();
        let busy_cpu_s = rise(start.counts.busy, end.counts.busy).map(seconds);
        let known = own_cpu + end.tool_cpu.saturating_sub(start.tool_cpu);
        let (frequency_mean_khz, frequency_max_khz) = self.frequencies_khz().unzip();
        RunConditions {
            busy_cpu_s,
            foreign_cpu_s: busy_cpu_s.map(|busy| (busy - known.as_secs_f64()).max(0.0)),
            steal_s: rise(start.counts.steal, end.counts.steal).map(seconds),
            pressure_us: Pressure::rise(&start.pressure_us, &end.pressure_us),
            throttles: rise(start.throttles, end.throttles),
            quota_stopped_us: rise(start.quota_stopped_us, end.quota_stopped_us),
            context_switches: rise(start.counts.context_switches, end.counts.context_switches),
            interrupts: rise(start.counts.interrupts, end.counts.interrupts),
            frequency_mean_khz,
            frequency_max_khz,
        }
    }

    /// Mean and highest present frequency.
    fn frequencies_khz(&mut self) -> Option<(u64, u64)> {
        let (mut sum, mut max, mut count) = (0_u64, 0, 0);
        for file in &self.frequencies {
            if let Some(khz) = number(file, &mut self.buffer) {
                (sum, max, count) = (sum.saturating_add(khz), max.max(khz), count + 1);
            }
        }
        Some((sum.checked_div(count)?, max))
    }
}

/// A file's text from its beginning, in `buffer`. The kernel gives these files whole in one read.
fn text<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b str> {
    let length = file.read_at(buffer, 0).ok()?;
    std::str::from_utf8(buffer.get(..length)?).ok()
}

fn number(file: &File, buffer: &mut [u8]) -> Option<u64> {
    text(file, buffer)?.trim().parse().ok()
}

/// Time stopped, of a group's `cpu.stat`: version 2 gives µs, version 1 ns.
fn stopped_us(cpu_stat: &str) -> Option<u64> {
    let mut fields = cpu_stat.lines().filter_map(|line| line.split_once(' '));
    fields.find_map(|(name, value)| match name {
        "throttled_usec" => value.trim().parse().ok(),
        "throttled_time" => value.trim().parse().ok().map(|nanos: u64| nanos / 1000),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{machine, tree, write};
    use super::*;

    fn open(root: &Path) -> RunProbe {
        RunProbe::open_below(root, Duration::MAX)
    }

    #[test]
    fn the_differences_over_a_run_are_its_conditions() {
        let root = machine("laptop");
        let path = root.path();
        let mut probe = open(path);
        let start = probe.start();
        write(
            path,
            "proc/stat",
            "cpu  100240 1000 20080 900000 100 10 20 3 0 0\nintr 500100 1\nctxt 900300",
        );
        write(path, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1250");
        let throttle = "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count";
        write(path, throttle, "32");
        write(path, "sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "4700000");
        let found = probe.finish(&start, Duration::from_millis(2500));
        // 240 user ticks and 80 system ticks of 10 ms.
        assert_eq!(found.busy_cpu_s, Some(3.2));
        assert!((found.foreign_cpu_s.unwrap() - 0.7).abs() < 0.1, "{found:?}");
        assert_eq!((found.steal_s, found.throttles), (Some(0.03), Some(2)));
        assert_eq!((found.context_switches, found.interrupts), (Some(300), Some(100)));
        let pressure_us = Pressure { cpu: Some(250), io: Some(0), memory: Some(0) };
        assert_eq!(found.pressure_us, pressure_us);
        assert_eq!(found.frequency_max_khz, Some(4_700_000));
        assert_eq!(found.frequency_mean_khz, Some(2_162_500));
    }

    #[test]
    fn a_run_that_used_more_than_was_counted_has_no_foreign_time() {
        let root = machine("laptop");
        let mut probe = open(root.path());
        let start = probe.start();
        let found = probe.finish(&start, Duration::from_secs(1));
        assert_eq!(found.foreign_cpu_s, Some(0.0));
    }

    #[test]
    fn the_group_that_has_the_quota_tells_for_how_long_it_was_stopped() {
        let root = machine("container");
        let mut probe = open(root.path());
        let start = probe.start();
        let stat = "usage_usec 900\nnr_periods 8\nnr_throttled 2\nthrottled_usec 61500";
        write(root.path(), "sys/fs/cgroup/cpu.stat", stat);
        assert_eq!(probe.finish(&start, Duration::ZERO).quota_stopped_us, Some(60_000));
        assert_eq!(stopped_us("nr_throttled 2\nthrottled_time 5000\n"), Some(5));
    }

    #[test]
    fn a_machine_that_tells_nothing_has_unknown_conditions() {
        let root = tree("");
        let mut probe = open(root.path());
        let start = probe.start();
        assert_eq!(probe.finish(&start, Duration::ZERO), RunConditions::default());
    }

    #[test]
    fn frequencies_that_are_dear_to_read_are_not_asked_for() {
        let root = machine("laptop");
        assert_eq!(open(root.path()).frequencies.len(), 8);
        assert_eq!(RunProbe::open_below(root.path(), Duration::ZERO).frequencies.len(), 0);
    }

    #[test]
    fn conditions_read_back_from_json_also_where_fields_are_missing() {
        let found = RunConditions { steal_s: Some(0.01), throttles: Some(3), ..Default::default() };
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<RunConditions>(&json).unwrap(), found);
        assert_eq!(serde_json::from_str::<RunConditions>("{}").unwrap(), RunConditions::default());
    }

    #[test]
    fn this_machine_tells_what_a_run_met() {
        let mut probe = RunProbe::open();
        let start = probe.start();
        let found = probe.finish(&start, Duration::ZERO);
        assert!(found.busy_cpu_s.is_some() && found.context_switches.is_some(), "{found:?}");
    }
}
