//! The settings that this tool may write: where they lie, which values they take, and why they are
//! changed. Nothing outside this list is ever written, whatever a record says.
//!
//! | setting | to | why |
//! |---|---|---|
//! | governor | `performance` | the clock does not follow the load |
//! | turbo, boost | off | the clock does not follow heat and the other cores |
//! | lowest frequency | the nominal one | where the driver may still go below under that governor |
//! | KSM | 0 | its daemon runs beside the workload, and writes to merged pages fault |
//! | NUMA balancing | 0 | it unmaps pages to see who uses them |
//! | NMI watchdog | 0 | it interrupts every CPU, and holds a hardware counter |
//!
//! Left alone on purpose: address randomisation, since one fixed layout would count as an effect;
//! huge pages, sleep states and mitigations, since users run with them and a change under one
//! setting may be none under the other; swap, since switching it off can kill processes; SMT, since
//! switching it off moves every pinned task.

use std::path::Path;

const CPU: &str = "sys/devices/system/cpu";
/// The kernel's own bound on the name of a governor (`CPUFREQ_NAME_LEN`) leaves 15 characters.
const GOVERNOR_MAX: usize = 15;

/// A kind of setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knob {
    Governor,
    MinFrequency,
    NoTurbo,
    Boost,
    Ksm,
    NumaBalancing,
    NmiWatchdog,
}

/// Settings that each are one file, in the order of change.
pub(super) const SINGLE: [(Knob, &str); 5] = [
    (Knob::NoTurbo, "sys/devices/system/cpu/intel_pstate/no_turbo"),
    (Knob::Boost, "sys/devices/system/cpu/cpufreq/boost"),
    (Knob::Ksm, "sys/kernel/mm/ksm/run"),
    (Knob::NumaBalancing, "proc/sys/kernel/numa_balancing"),
    (Knob::NmiWatchdog, "proc/sys/kernel/nmi_watchdog"),
];

/// Folder of the frequency policy of this number.
pub(super) fn policy(number: u32) -> String {
    format!("{CPU}/cpufreq/policy{number}")
}

/// Names of a policy's settings within its folder.
pub(super) const GOVERNOR_FILE: &str = "scaling_governor";
pub(super) const MIN_FREQUENCY_FILE: &str = "scaling_min_freq";

impl Knob {
    /// What kind of setting the file at `path` below the root is; `None` for every other file.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let path = path.to_str()?;
        if let Some((knob, _)) = SINGLE.iter().find(|(_, file)| *file == path) {
            return Some(*knob);
        }
        let rest = path.strip_prefix(CPU)?.strip_prefix("/cpufreq/policy")?;
        let (number, file) = rest.split_once('/')?;
        // Written as the kernel does, so that no two paths name one file.
        number.parse::<u32>().ok().filter(|value| value.to_string() == number)?;
        match file {
            GOVERNOR_FILE => Some(Self::Governor),
            MIN_FREQUENCY_FILE => Some(Self::MinFrequency),
            _ => None,
        }
    }

    /// Whether this is a value that the setting can have.
    pub(super) fn accepts(self, value: &str) -> bool {
        match self {
            Self::Governor => {
                (1..=GOVERNOR_MAX).contains(&value.len())
                    && value
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
            }
            Self::MinFrequency => {
                (1..=9).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit())
            }
            Self::NoTurbo | Self::Boost | Self::NmiWatchdog => matches!(value, "0" | "1"),
            Self::Ksm => matches!(value, "0" | "1" | "2"),
            // A set of two bits: balancing, and promotion between memory tiers.
            Self::NumaBalancing => matches!(value, "0" | "1" | "2" | "3"),
        }
    }

    /// Value wanted of a setting that is one file, if it is not `now`.
    pub(super) fn wanted(self, now: &str) -> Option<&'static str> {
        let wanted = match self {
            Self::NoTurbo => "1",
            // What is merged stays merged; 2 would split it, which takes long and is no need.
            Self::Ksm if now == "2" => return None,
            _ => "0",
        };
        (now != wanted).then_some(wanted)
    }

    /// Why it is changed.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Governor => "so that the clock does not follow the load",
            Self::MinFrequency => "so that the clock does not sink below its nominal rate",
            Self::NoTurbo | Self::Boost => {
                "so that the clock does not depend on heat and on the other cores"
            }
            Self::Ksm => "so that no pages are merged beside the runs",
            Self::NumaBalancing => "so that no pages are unmapped to see who uses them",
            Self::NmiWatchdog => "so that it neither interrupts the runs nor holds a counter",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_listed_files_are_known() {
        for (knob, path) in SINGLE {
            assert_eq!(Knob::at(Path::new(path)), Some(knob));
        }
        let policies = "sys/devices/system/cpu/cpufreq";
        let at = |path: &str| Knob::at(Path::new(&format!("{policies}/{path}")));
        assert_eq!(at("policy12/scaling_governor"), Some(Knob::Governor));
        assert_eq!(at("policy0/scaling_min_freq"), Some(Knob::MinFrequency));
        for path in [
            "policy0/scaling_max_freq",
            "policy/scaling_governor",
            "policy01/scaling_governor",
            "policy+1/scaling_governor",
            "policy0/../policy1/scaling_governor",
            "policy0//scaling_governor",
            "policy0/scaling_governor/",
        ] {
            assert_eq!(at(path), None, "{path}");
        }
        for path in ["/sys/kernel/mm/ksm/run", "etc/passwd", "proc/sys/kernel/core_pattern", ""] {
            assert_eq!(Knob::at(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn values_are_those_that_the_kernel_prints() {
        assert!(Knob::Governor.accepts("schedutil") && Knob::Governor.accepts("sugov_ext"));
        assert!(Knob::MinFrequency.accepts("400000"));
        assert!(Knob::Ksm.accepts("2") && Knob::NumaBalancing.accepts("3"));
        for (knob, value) in [
            (Knob::Governor, ""),
            (Knob::Governor, "a; reboot"),
            (Knob::Governor, "sixteenletterss_"),
            (Knob::MinFrequency, "-1"),
            (Knob::MinFrequency, "9999999999"),
            (Knob::NoTurbo, "2"),
            (Knob::Ksm, "3"),
            (Knob::NmiWatchdog, "1\n1"),
        ] {
            assert!(!knob.accepts(value), "{knob:?} {value:?}");
        }
    }

    #[test]
    fn what_is_as_wanted_is_not_changed() {
        assert_eq!((Knob::NoTurbo.wanted("0"), Knob::NoTurbo.wanted("1")), (Some("1"), None));
        assert_eq!((Knob::Boost.wanted("1"), Knob::Boost.wanted("0")), (Some("0"), None));
        assert_eq!((Knob::Ksm.wanted("1"), Knob::Ksm.wanted("2")), (Some("0"), None));
        assert_eq!(Knob::NumaBalancing.wanted("2"), Some("0"));
    }

    proptest! {
        #[test]
        fn a_known_path_leads_down_to_a_setting(
            path in "(sys/devices/system/cpu/cpufreq/policy)?[0-9./a-z_]{0,40}",
        ) {
            if Knob::at(Path::new(&path)).is_some() {
                prop_assert!(path.starts_with("sys/") || path.starts_with("proc/"));
                prop_assert!(!path.contains(".."));
            }
        }
    }
}
