//! A stressor's rate out of what `stress-ng --metrics --yaml FILE` writes.
//!
//! The file is YAML, but one of a fixed shape: each line comes from one print statement of
//! `stress-ng.c`, with no anchors, tags, nesting beyond three levels or values over several lines.
//! So it is read line by line: there is nothing in it to expand, and nothing that could nest. What
//! is not understood is passed over; what is needed and not there is an error.
//!
//! ```text
//! metrics:                                     up to 0.21.03     since 0.21.04
//!     - stressor: poll                              ×                 ×
//!       bogo-ops: 84000                             ×                 ×
//!       bogo-ops-per-second-real-time: 42000.0      ×                 ×
//!       instances:                                                    ×
//!           - instance: 0                                             ×
//!             bogo-ops: 44000                                         ×
//! exercised:                                             with --exercised alone
//!     - stressor: poll
//!       feature: ['bogo-ops-stable']
//! ```
//! In all versions the stressor's own rates are over all of its instances: their operations by
//! their mean wall time, or by the sum of their CPU time. That is the value; the instances are
//! looked at for those that did nothing.

use super::kind::Rate;
use super::stable::{STABLE_AS_OF, is_stable};

/// Most stressors, and most instances of one, that are read: stress-ng has 400, and a machine has
/// fewer CPUs.
const ENTRIES_MAX: usize = 4096;

/// What a file tells of one stressor.
#[derive(Debug, Default, PartialEq)]
struct Stressor<'t> {
    name: &'t str,
    real_time: Option<&'t str>,
    usr_sys_time: Option<&'t str>,
    /// Operations of each instance, where the version tells.
    instances: Vec<Option<u64>>,
}

/// A rate, and what is to be known beside it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    /// In bogo-ops per second.
    pub(crate) rate: f64,
    pub(crate) warnings: Vec<String>,
}

/// The rate of `stressor` (the only one, if not named) in `bytes`.
pub(crate) fn rate(bytes: &[u8], stressor: Option<&str>, rate: Rate) -> Result<Measured, String> {
    let text = String::from_utf8_lossy(bytes);
    let file = File::read(&text)?;
    let found = file.stressor(stressor)?;
    let text = match rate {
        Rate::RealTime => found.real_time,
        Rate::UsrSysTime => found.usr_sys_time,
    };
    let name = found.name;
    let text = text.ok_or_else(|| format!("stress-ng gave no {} of {name}", rate.key()))?;
    let value = text.parse().map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        format!("the {} of {name}, {shown:?}, is not a number", rate.key())
    })?;
    let warnings = [file.instability(name), idle(found)].into_iter().flatten().collect();
    Ok(Measured { rate: value, warnings })
}

/// A file, as far as it is needed.
#[derive(Debug, Default)]
struct File<'t> {
    /// Whether there was any section that stress-ng writes.
    is_stress_ng: bool,
    stressors: Vec<Stressor<'t>>,
    /// Stressors whose features are told, and whether they are stable.
    exercised: Vec<(&'t str, bool)>,
}

impl<'t> File<'t> {
    fn read(text: &'t str) -> Result<Self, String> {
        let mut file = Self::default();
        let mut section = "";
        for line in text.lines() {
            let content = line.trim_start_matches(' ');
            // Talk may stand between, where both go to standard output.
            if content.is_empty() || content.starts_with("stress-ng:") {
                continue;
            }
            let indent = line.len() - content.len();
            let (item, content) = match content.strip_prefix("- ") {
                Some(content) => (true, content),
                None => (false, content),
            };
            let Some((key, value)) = content.split_once(':') else { continue };
            let value = value.trim();
            match section {
                _ if indent == 0 => {
                    section = key;
                    file.is_stress_ng |= matches!(key, "system-info" | "metrics");
                }
                "metrics" => file.metric(item, key, value)?,
                "exercised" => file.exercise(item, key, value)?,
                _ => {}
            }
        }
        Ok(file)
    }

    fn metric(&mut self, item: bool, key: &str, value: &'t str) -> Result<(), String> {
        if item && key == "stressor" {
            bounded(self.stressors.len())?;
            self.stressors.push(Stressor { name: value, ..Stressor::default() });
            return Ok(());
        }
        let Some(stressor) = self.stressors.last_mut() else { return Ok(()) };
        if item && key == "instance" {
            bounded(stressor.instances.len())?;
            stressor.instances.push(None);
            return Ok(());
        }
        match (stressor.instances.last_mut(), key) {
            (Some(instance), "bogo-ops") => *instance = value.parse().ok(),
            (None, "bogo-ops-per-second-real-time") => stressor.real_time = Some(value),
            (None, "bogo-ops-per-second-usr-sys-time") => stressor.usr_sys_time = Some(value),
            _ => {}
        }
        Ok(())
    }

    fn exercise(&mut self, item: bool, key: &str, value: &'t str) -> Result<(), String> {
        if item && key == "stressor" {
            bounded(self.exercised.len())?;
            self.exercised.push((value, false));
        } else if key == "feature"
            && let Some((_, stable)) = self.exercised.last_mut()
        {
            *stable = value.contains("'bogo-ops-stable'");
        }
        Ok(())
    }

    fn stressor(&self, wanted: Option<&str>) -> Result<&Stressor<'t>, String> {
        if self.stressors.is_empty() {
            return Err(match self.is_stress_ng {
                true => "stress-ng's YAML holds no metrics: run it with --metrics".to_owned(),
                false => "there is no YAML of stress-ng: run it with --metrics --yaml \
                          \"$UNLIKELY_METRIC_FILE\""
                    .to_owned(),
            });
        }
        let matches = |stressor: &&Stressor<'_>| wanted.is_none_or(|name| name == stressor.name);
        let mut found = self.stressors.iter().filter(matches);
        match (found.next(), found.next(), wanted) {
            (Some(stressor), None, _) => Ok(stressor),
            (None, _, _) => {
                let wanted = wanted.unwrap_or_default();
                Err(format!("stress-ng ran no stressor {wanted:?}, only {}", self.names()))
            }
            (Some(_), Some(_), None) => Err(format!(
                "stress-ng ran several stressors, {}: name the one to judge by, as in stress-ng:{}",
                self.names(),
                self.stressors.first().map_or("poll", |stressor| stressor.name)
            )),
            (Some(_), Some(_), Some(wanted)) => {
                Err(format!("stress-ng ran {wanted:?} more than once: let it run once"))
            }
        }
    }

    fn names(&self) -> String {
        let names: Vec<String> = self
            .stressors
            .iter()
            .take(12)
            .map(|stressor| stressor.name.chars().take(40).collect())
            .collect();
        let more = if self.stressors.len() > names.len() { ", …" } else { "" };
        names.join(", ") + more
    }

    /// A warning, unless the operations of `name` are alike: by the file's own word, or by the list
    /// of a known version.
    fn instability(&self, name: &str) -> Option<String> {
        let told = self.exercised.iter().find(|(exercised, _)| *exercised == name);
        let (stable, by) = match told {
            Some((_, stable)) => (*stable, "this stress-ng".to_owned()),
            None => (is_stable(name), format!("stress-ng {STABLE_AS_OF}")),
        };
        (!stable).then(|| {
            format!(
                "{by} does not mark {name} as bogo-ops-stable: its operations are not all alike, \
                 so a difference in rate need not be one in speed; judge by a stressor that is \
                 marked, such as poll, or let it do a fixed number of operations (--{name}-ops N) \
                 and judge by time"
            )
        })
    }
}

/// A warning, if an instance did nothing while another worked.
fn idle(stressor: &Stressor<'_>) -> Option<String> {
    let idle = stressor.instances.iter().filter(|&&ops| ops == Some(0)).count();
    (idle > 0 && idle < stressor.instances.len()).then(|| {
        format!(
            "some of the instances of {} did no operation, so its rate is that of the others: see \
             what stress-ng says of them, and run fewer",
            stressor.name
        )
    })
}

fn bounded(entries: usize) -> Result<(), String> {
    if entries < ENTRIES_MAX {
        Ok(())
    } else {
        Err(format!("stress-ng's YAML has more than {ENTRIES_MAX} stressors or instances"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!("../../tests/fixtures/", $name))
        };
    }
    const ONE: &str = fixture!("stress-ng-0.15.06/one.yaml");
    const TWO: &str = fixture!("stress-ng-0.15.06/two.yaml");
    const SCIENTIFIC: &str = fixture!("stress-ng-0.15.06/scientific.yaml");
    const NO_METRICS: &str = fixture!("stress-ng-0.15.06/no-metrics.yaml");
    const NEW: &str = fixture!("stress-ng-0.22.00-by-hand/two.yaml");

    fn measured(text: &str, stressor: Option<&str>) -> Result<Measured, String> {
        rate(text.as_bytes(), stressor, Rate::RealTime)
    }

    /// The figure that stands behind `key` for the `index`th time.
    fn figure(text: &str, key: &str, index: usize) -> f64 {
        let mut lines =
            text.lines().filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
        lines.nth(index).unwrap().parse().unwrap()
    }

    #[test]
    fn the_only_stressor_need_not_be_named() {
        let rate = figure(ONE, "bogo-ops-per-second-real-time", 0);
        assert!(rate > 0.0);
        assert_eq!(measured(ONE, None), Ok(Measured { rate, warnings: vec![] }));
        assert_eq!(measured(ONE, Some("poll")), measured(ONE, None));
    }

    #[test]
    fn of_several_one_is_named_or_the_error_lists_them() {
        let rate = |index| figure(TWO, "bogo-ops-per-second-real-time", index);
        assert_eq!(measured(TWO, Some("poll")).unwrap().rate, rate(0));
        assert_eq!(measured(TWO, Some("urandom")).unwrap().rate, rate(1));
        let error = measured(TWO, None).unwrap_err();
        assert!(error.contains("poll, urandom: name the one"), "{error}");
        let error = measured(TWO, Some("vm")).unwrap_err();
        assert!(error.contains("\"vm\", only poll, urandom"), "{error}");
    }

    #[test]
    fn the_rate_by_cpu_time_is_had_on_request() {
        let by_cpu = rate(ONE.as_bytes(), None, Rate::UsrSysTime).unwrap().rate;
        assert_eq!(by_cpu, figure(ONE, "bogo-ops-per-second-usr-sys-time", 0));
        assert_ne!(by_cpu, measured(ONE, None).unwrap().rate);
    }

    #[test]
    fn scientific_notation_is_a_number_too() {
        let rate = figure(SCIENTIFIC, "bogo-ops-per-second-real-time", 0);
        assert!(SCIENTIFIC.contains("e+0"));
        assert_eq!(measured(SCIENTIFIC, None).unwrap().rate, rate);
    }

    #[test]
    fn the_rate_is_that_of_all_instances_not_of_the_last() {
        assert_eq!(measured(NEW, Some("poll")).unwrap().rate, 42000.0);
        let by_cpu = rate(NEW.as_bytes(), Some("poll"), Rate::UsrSysTime).unwrap().rate;
        assert_eq!(by_cpu, 96000.0);
    }

    #[test]
    fn a_stressor_whose_operations_are_not_alike_is_warned_of() {
        let warnings = |text, name| measured(text, Some(name)).unwrap().warnings.join("\n");
        assert_eq!(warnings(TWO, "poll"), "");
        let by_list = warnings(TWO, "urandom");
        assert!(by_list.contains("stress-ng 0.22.00 does not mark urandom"), "{by_list}");
        // The file's own word goes before the list.
        assert!(warnings(NEW, "urandom").contains("this stress-ng does not mark urandom"));
        let unmarked = NEW.replace("['bogo-ops-stable']", "[]");
        assert!(warnings(&unmarked, "poll").contains("this stress-ng does not mark poll"));
    }

    #[test]
    fn an_instance_that_did_nothing_is_warned_of() {
        let warned = |text: &str, name| {
            let warnings = measured(text, Some(name)).unwrap().warnings;
            warnings.iter().any(|warning| warning.contains("did no operation"))
        };
        assert!(warned(NEW, "urandom"));
        assert!(!warned(NEW, "poll"));
    }

    #[test]
    fn a_file_without_rates_says_what_to_run() {
        assert!(measured(NO_METRICS, None).unwrap_err().contains("--metrics"));
        assert!(measured("score 7\n", None).unwrap_err().contains("UNLIKELY_METRIC_FILE"));
        let bare = "metrics:\n    - stressor: poll\n      bogo-ops: 7\n";
        assert!(
            measured(bare, None).unwrap_err().contains("gave no bogo-ops-per-second-real-time")
        );
        let wrong = format!("{bare}      bogo-ops-per-second-real-time: many\n");
        assert!(measured(&wrong, None).unwrap_err().contains("\"many\", is not a number"));
        let twice = ONE.repeat(2);
        assert!(measured(&twice, Some("poll")).unwrap_err().contains("more than once"));
    }

    #[test]
    fn talk_between_the_lines_is_passed_over() {
        let mut mixed = String::new();
        for line in TWO.lines() {
            mixed += &format!("{line}\nstress-ng: info:  [7] so far: good\n");
        }
        assert_eq!(measured(&mixed, Some("urandom")), measured(TWO, Some("urandom")));
    }

    #[test]
    fn a_file_that_never_ends_is_refused() {
        let endless = "metrics:\n".to_owned() + &"    - stressor: a\n".repeat(ENTRIES_MAX + 1);
        assert!(measured(&endless, None).unwrap_err().contains("more than 4096"));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(at in 0usize..4000, bytes in prop::collection::vec(any::<u8>(), 0..6)) {
            let mut text = NEW.as_bytes().to_vec();
            let at = at % text.len();
            text.splice(at..at, bytes);
            let _ = rate(&text, Some("poll"), Rate::RealTime);
        }
    }
}
