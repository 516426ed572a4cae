//! Units as benchmark texts write them: what they measure, their size, and which way is better.
//!
//! A unit that is not known is no failure: two figures with the same unknown unit still make a
//! ratio. Only the direction is then unknown.

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// A unit of measure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unit {
    /// As printed.
    pub(crate) name: String,
    /// What it measures: two figures are comparable if these are equal.
    pub(crate) key: String,
    /// Size in the base unit of its key.
    pub(crate) scale: f64,
    /// Which way it improves, if that is certain enough.
    pub(crate) better: Option<Better>,
}

/// Spellings, key, size.
const TIMES: [(&[&str], f64); 6] = [
    (&["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"], 1e-9),
    (&["us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds", "µ", "μ"], 1e-6),
    (&["ms", "msec", "msecs", "millisecond", "milliseconds"], 1e-3),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["min", "mins", "minute", "minutes"], 60.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0),
];

const SIZES: [(&[&str], f64); 9] = [
    (&["b", "byte", "bytes"], 1.0),
    (&["kb", "kilobyte", "kilobytes"], 1e3),
    (&["kib", "ki"], 1024.0),
    (&["mb", "megabyte", "megabytes"], 1e6),
    (&["mib", "mi"], 1_048_576.0),
    (&["gb", "gigabyte", "gigabytes"], 1e9),
    (&["gib", "gi"], 1_073_741_824.0),
    (&["tb"], 1e12),
    (&["tib"], 1_099_511_627_776.0),
];

const BIT_RATES: [(&[&str], f64); 4] = [
    (&["bps", "bit/s", "bits/s", "bits/sec", "bit/sec"], 1.0),
    (&["kbps", "kbit/s", "kbits/s", "kbits/sec", "kbit/sec"], 1e3),
    (&["mbps", "mbit/s", "mbits/s", "mbits/sec", "mbit/sec"], 1e6),
    (&["gbps", "gbit/s", "gbits/s", "gbits/sec", "gbit/sec"], 1e9),
];

/// Abbreviated rates: events a second.
const RATES: &[&str] = &["pps", "ops", "iops", "rps", "qps", "tps", "fps", "flops", "cps", "mips"];

/// Counts of which fewer are better.
const COSTS: &[&str] = &[
    "cycles",
    "cycle",
    "instructions",
    "instruction",
    "insns",
    "insn",
    "instrs",
    "allocs",
    "allocations",
    "misses",
    "branch-misses",
    "cache-misses",
    "faults",
    "page-faults",
    "clocks",
    "ticks",
];

/// Counts of which it is not certain whether fewer are better.
const COUNTS: &[&str] =
    &["jobs", "requests", "transactions", "packets", "calls", "points", "switches", "bogo-ops"];

fn scale_in(table: &[(&[&str], f64)], word: &str) -> Option<f64> {
    table.iter().find(|(names, _)| names.contains(&word)).map(|(_, scale)| *scale)
}

/// Multiplier of a metric prefix or of a word for a large number.
pub(crate) fn magnitude(word: &str) -> Option<f64> {
    Some(match word {
        "k" | "K" | "thousand" => 1e3,
        "M" | "million" | "mln" => 1e6,
        "G" | "billion" | "bn" => 1e9,
        "T" | "trillion" => 1e12,
        _ => return None,
    })
}

impl Unit {
    fn new(name: &str, key: impl Into<String>, scale: f64, better: Option<Better>) -> Self {
        Self { name: name.to_owned(), key: key.into(), scale, better }
    }

    /// Reads `word`; `None` for a word that is no unit.
    pub(crate) fn read(word: &str) -> Option<Self> {
        if word.len() > 40 {
            return None;
        }
        let lower = word.to_lowercase();
        if let Some(unit) = Self::simple(word, &lower) {
            return Some(unit);
        }
        if let Some(scale) = scale_in(&BIT_RATES, &lower) {
            return Some(Self::new(word, "bit/s", scale, Some(Better::Higher)));
        }
        let (part, per) = lower.split_once('/').filter(|(a, b)| !a.is_empty() && !b.is_empty())?;
        let letters = |text: &str| {
            text.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '/' | 'µ' | 'μ'))
        };
        if !letters(part) || !letters(per) {
            return None;
        }
        let part_as_written = word.split_once('/').map_or("", |(part, _)| part);
        Some(Self::ratio(word, part_as_written, part, per))
    }

    /// Units of one part.
    fn simple(word: &str, lower: &str) -> Option<Self> {
        // A capital S, H or MIN is something else.
        if let Some(scale) = scale_in(&TIMES, lower).filter(|_| word.len() > 1 || word == lower) {
            return Some(Self::new(word, "time", scale, Some(Better::Lower)));
        }
        if word == "b" {
            return None;
        }
        if let Some(scale) = scale_in(&SIZES, lower) {
            // Mb is megabit.
            if word.ends_with('b') && matches!(word, "Mb" | "Gb" | "Kb") {
                return Some(Self::new(word, "bit", scale, None));
            }
            return Some(Self::new(word, "size", scale, Some(Better::Lower)));
        }
        match lower {
            "hz" | "khz" | "mhz" | "ghz" => {
                let scale = match lower {
                    "hz" => 1.0,
                    "khz" => 1e3,
                    "mhz" => 1e6,
                    _ => 1e9,
                };
                return Some(Self::new(word, "frequency", scale, None));
            }
            _ => {}
        }
        if COSTS.contains(&lower) {
            return Some(Self::new(word, lower.trim_end_matches('s'), 1.0, Some(Better::Lower)));
        }
        if COUNTS.contains(&lower) {
            return Some(Self::new(word, lower.trim_end_matches('s'), 1.0, None));
        }
        Self::abbreviated_rate(word, lower)
    }

    /// "pps", "Mpps", "kIOPS", "TFLOPS".
    fn abbreviated_rate(word: &str, lower: &str) -> Option<Self> {
        let rate = RATES.iter().find(|rate| {
            lower
                .strip_suffix(**rate)
                .is_some_and(|prefix| prefix.is_empty() || matches!(prefix, "k" | "m" | "g" | "t"))
        })?;
        let scale = match lower.strip_suffix(rate) {
            Some("k") => 1e3,
            Some("m") => 1e6,
            Some("g") => 1e9,
            Some("t") => 1e12,
            _ => 1.0,
        };
        Some(Self::new(word, *rate, scale, Some(Better::Higher)))
    }

    /// "MB/s" and "ns/op": a rate in time is better high, a cost for each thing low.
    fn ratio(word: &str, part_as_written: &str, part: &str, per: &str) -> Self {
        let numerator = Self::simple(part_as_written, part);
        if let Some(seconds) = scale_in(&TIMES, per) {
            let (key, scale) = match &numerator {
                Some(unit) => (unit.key.clone(), unit.scale),
                None => match part.split_at_checked(1) {
                    Some(("k", "ops")) => ("ops".to_owned(), 1e3),
                    Some(("m", "ops")) => ("ops".to_owned(), 1e6),
                    _ => (part.to_owned(), 1.0),
                },
            };
            let key = match key.as_str() {
                "op" | "ops" => "ops".to_owned(),
                other => format!("{other}/s"),
            };
            return Self::new(word, key, scale / seconds, Some(Better::Higher));
        }
        match numerator {
            Some(unit) => {
                Self::new(word, format!("{}/{per}", unit.key), unit.scale, Some(Better::Lower))
            }
            None => Self::new(word, format!("{part}/{per}"), 1.0, None),
        }
    }

    /// This unit "per" another: "jobs per minute".
    pub(crate) fn per(&self, per: &str) -> Option<Self> {
        let name = format!("{} per {per}", self.name);
        Some(Self { name, ..Self::read(&format!("{}/{per}", self.name))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Unit {
        Unit::read(word).unwrap_or_else(|| panic!("{word} is a unit"))
    }

    #[test]
    fn rates_are_better_high_and_costs_low() {
        for rate in ["ops/s", "bogo-ops/sec", "jobs/min", "MB/s", "Mpps", "Gbps", "kIOPS", "req/s"]
        {
            assert_eq!(read(rate).better, Some(Better::Higher), "{rate}");
        }
        for cost in ["ns", "ms", "µs", "ns/op", "cycles", "B/op", "allocs/op", "cycles/packet"] {
            assert_eq!(read(cost).better, Some(Better::Lower), "{cost}");
        }
    }

    #[test]
    fn spellings_of_one_thing_compare() {
        for (one, other, ratio) in [
            ("ms", "us", 1e3),
            ("KiB", "bytes", 1024.0),
            ("Mpps", "kpps", 1e3),
            ("jobs/min", "jobs/s", 1.0 / 60.0),
            ("Gbps", "Mbit/s", 1e3),
            ("ops/sec", "ops/s", 1.0),
        ] {
            let (one, other) = (read(one), read(other));
            assert_eq!(one.key, other.key);
            assert!((one.scale / other.scale / ratio - 1.0).abs() < 1e-12, "{one:?} {other:?}");
        }
        assert_ne!(read("ns").key, read("ns/op").key);
        assert_ne!(read("MB").key, read("MB/s").key);
    }

    #[test]
    fn ordinary_words_are_no_units() {
        for word in ["patch", "6.15", "S", "b", "and/or4", "/s", "to", "x86", "fs/", "", "threads"]
        {
            assert_eq!(Unit::read(word), None, "{word}");
        }
    }
}
