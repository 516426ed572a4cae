//! What the kernel counts since boot: CPU time, switches, interrupts (`/proc/stat`, proc(5)) and
//! pressure (`/proc/pressure/*`, Documentation/accounting/psi.rst). Two readings make a difference.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Counts of `/proc/stat` since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Ticks of all CPUs with something to do: user, nice, system, irq and softirq. Guests are
    /// within user.
    pub(super) busy: Option<u64>,
    /// Ticks in which the hypervisor ran something else while a CPU of this guest wanted to run.
    pub(super) steal: Option<u64>,
    pub(super) context_switches: Option<u64>,
    pub(super) interrupts: Option<u64>,
}

impl Counts {
    pub(super) fn parse(stat: &str) -> Self {
        let mut counts = Self::default();
        for line in stat.lines() {
            let Some((name, rest)) = line.split_once(' ') else { continue };
            let first = || rest.split_whitespace().next()?.parse().ok();
            match name {
                "cpu" => (counts.busy, counts.steal) = cpu_times(rest),
                "intr" => counts.interrupts = first(),
                "ctxt" => counts.context_switches = first(),
                _ => {}
            }
            if counts.context_switches.is_some() {
                break; // Nothing of interest follows.
            }
        }
        counts
    }
}

/// Busy and stolen ticks of a line with user, nice, system, idle, iowait, irq, softirq and steal.
fn cpu_times(fields: &str) -> (Option<u64>, Option<u64>) {
    let mut times = [None; 8];
    for (time, field) in times.iter_mut().zip(fields.split_whitespace()) {
        *time = field.parse::<u64>().ok();
    }
    let [user, nice, system, _, _, irq, softirq, steal] = times;
    let mut busy = [user, nice, system, irq, softirq].into_iter();
    (busy.try_fold(0, |sum: u64, time| sum.checked_add(time?)), steal)
}

/// Ticks of `/proc/stat` as seconds.
pub(super) fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// How far a count rose. A count that fell (steal does when a guest is moved) did not rise.
pub(super) fn rise(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    Some(after?.saturating_sub(before?))
}

/// CPU time that this process has used, by all its threads.
pub(super) fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec)) else {
        return Duration::ZERO;
    };
    Duration::new(seconds, nanos)
}

/// One figure for each resource that tasks wait for; `None` where the kernel does not keep it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure<T> {
    /// Runnable tasks that waited for a CPU.
    pub cpu: Option<T>,
    /// Tasks that waited for a disk or a network file system.
    pub io: Option<T>,
    /// Tasks that waited because memory was short.
    pub memory: Option<T>,
}

impl<T> Pressure<T> {
    /// Applies `of` to the name of each resource.
    pub(super) fn each(mut of: impl FnMut(&'static str) -> Option<T>) -> Self {
        Self { cpu: of("cpu"), io: of("io"), memory: of("memory") }
    }
}

impl Pressure<u64> {
    /// How far each total rose.
    pub(super) fn rise(before: &Self, after: &Self) -> Self {
        Self {
            cpu: rise(before.cpu, after.cpu),
            io: rise(before.io, after.io),
            memory: rise(before.memory, after.memory),
        }
    }
}

/// Share of the last ten seconds in percent, of a pressure file's line `some`.
pub(super) fn avg10(pressure: &str) -> Option<f64> {
    some(pressure, "avg10=")?.parse().ok().filter(|share: &f64| share.is_finite())
}

/// Microseconds since boot, of a pressure file's line `some`.
pub(super) fn total_us(pressure: &str) -> Option<u64> {
    some(pressure, "total=")?.parse().ok()
}

fn some<'t>(pressure: &'t str, key: &str) -> Option<&'t str> {
    let line = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|field| field.strip_prefix(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  100 20 30 4000 500 6 7 80 9 1\ncpu0 1 2 3 4 5 6 7 8 9 1\n\
                        intr 12345 0 9 0\nctxt 67890\nbtime 1\n";

    #[test]
    fn busy_is_neither_idle_nor_waiting_nor_stolen() {
        let counts = Counts::parse(STAT);
        assert_eq!(counts.busy, Some(100 + 20 + 30 + 6 + 7));
        assert_eq!(counts.steal, Some(80));
        assert_eq!((counts.interrupts, counts.context_switches), (Some(12345), Some(67890)));
    }

    #[test]
    fn a_line_cut_short_gives_no_figure() {
        assert_eq!(Counts::parse("cpu  100 20\n").busy, None);
        assert_eq!(Counts::parse("cpu  100 20 30 4000 500 6 7\n").steal, None);
        assert_eq!(Counts::parse(""), Counts::default());
    }

    #[test]
    fn pressure_is_that_of_some_tasks_not_of_all() {
        let text = "some avg10=1.25 avg60=0.40 avg300=0.10 total=123456\n\
                    full avg10=9.00 avg60=9.00 avg300=9.00 total=9\n";
        assert_eq!((avg10(text), total_us(text)), (Some(1.25), Some(123_456)));
        assert_eq!((avg10("some avg10=nan"), total_us("full total=1")), (None, None));
    }

    #[test]
    fn a_count_that_fell_did_not_rise() {
        assert_eq!(rise(Some(5), Some(9)), Some(4));
        assert_eq!(rise(Some(9), Some(5)), Some(0));
        assert_eq!(rise(None, Some(5)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(cpu|intr|ctxt|some)?[ 0-9a-z=.\n]{0,80}") {
            let _ = (Counts::parse(&text), avg10(&text), total_us(&text));
        }
    }
}
