//! Go benchmark text, so that `benchstat -col /arm FILE` reads a campaign.
//!
//! The format is that of Go's design document 14313 and of `golang.org/x/perf/benchfmt`:
//!
//! ```text
//! goos: linux
//! Unit MB/s better=higher
//!
//! BenchmarkSort/arm=A 1 123456 ns/op 7.5 MB/s
//! BenchmarkSort/arm=B 1 122822 ns/op 7.6 MB/s
//! ```
//! One line is one run. benchstat knows of no pairs: what it tests is whether two unpaired samples
//! differ, by Mann–Whitney's U.

use crate::report::Direction;
use std::fmt::Write;
use thiserror::Error;

/// A quantity that each run has a value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity<'t> {
    /// As [`crate::Metric::unit`] has it. `s` becomes `ns/op`, the others stay what they are.
    pub unit: &'t str,
    /// Which way is better; benchstat reads it beside the unit.
    pub direction: Direction,
}

/// One run: its arm, and one value for each quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run<'t> {
    /// Name of the arm.
    pub arm: &'t str,
    /// Values in the units of the quantities, in their order.
    pub values: &'t [f64],
}

/// What cannot be written in this format.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GoError {
    /// A run with too many values, or too few.
    #[error("a run of {arm} has {values} values for {quantities} quantities")]
    Values {
        /// Whose.
        arm: String,
        /// Given.
        values: usize,
        /// Asked for.
        quantities: usize,
    },
    /// A value that is no number.
    #[error("a run of {arm} has the value {value}, which is no finite number")]
    Value {
        /// Whose.
        arm: String,
        /// Given.
        value: f64,
    },
    /// A configuration line that would be read as something else.
    #[error(
        "the configuration key {key:?} must begin with a lower-case letter and hold no space, \
         capital or colon"
    )]
    Key {
        /// Given.
        key: String,
    },
    /// Two quantities of one unit, which benchstat would take for one.
    #[error("two quantities have the unit {unit:?}: write them to two files")]
    SameUnit {
        /// Shared.
        unit: String,
    },
}

/// Writes `runs` of the benchmark `name`, in the order given.
///
/// `config` are the lines above them, such as `goos`, `goarch`, `cpu`. In names, what the format
/// gives a meaning (spaces, `/`, `=`, a number after a last `-`) becomes `_`.
///
/// # Errors
/// See [`GoError`].
pub fn write<'t>(
    name: &str,
    config: &[(&str, &str)],
    quantities: &[Quantity<'_>],
    runs: impl IntoIterator<Item = Run<'t>>,
) -> Result<String, GoError> {
    let mut text = String::new();
    for (key, value) in config {
        if !is_key(key) {
            return Err(GoError::Key { key: (*key).to_owned() });
        }
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        line(&mut text, format_args!("{key}: {value}"));
    }
    let columns: Vec<Column> = quantities.iter().map(column).collect();
    for (index, column) in columns.iter().enumerate() {
        if columns.iter().take(index).any(|earlier| earlier.unit == column.unit) {
            return Err(GoError::SameUnit { unit: column.unit.clone() });
        }
        line(&mut text, format_args!("Unit {} better={}", column.unit, column.better));
    }
    text.push('\n');
    let name = base_name(name);
    for run in runs {
        let arm = arm_name(run.arm);
        line(&mut text, format_args!("{name}/arm={arm} 1{}", values(&columns, &run)?));
    }
    Ok(text)
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{what}");
}

/// A quantity, as the format has it.
struct Column {
    unit: String,
    scale: f64,
    better: &'static str,
}

fn column(quantity: &Quantity<'_>) -> Column {
    let (unit, scale) = match quantity.unit {
        "s" => ("ns/op".to_owned(), 1e9),
        "ms" => ("ns/op".to_owned(), 1e6),
        // What is counted without a unit is counted for a run.
        "" => ("count/op".to_owned(), 1.0),
        "B" => ("B/op".to_owned(), 1.0),
        other => (other.split_whitespace().collect::<Vec<_>>().join("_"), 1.0),
    };
    let better = match quantity.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    };
    Column { unit, scale, better }
}

fn values(columns: &[Column], run: &Run<'_>) -> Result<String, GoError> {
    if run.values.len() != columns.len() {
        return Err(GoError::Values {
            arm: run.arm.to_owned(),
            values: run.values.len(),
            quantities: columns.len(),
        });
    }
    let mut text = String::new();
    for (&value, column) in run.values.iter().zip(columns) {
        if !(value * column.scale).is_finite() {
            return Err(GoError::Value { arm: run.arm.to_owned(), value });
        }
        let _ = write!(text, " {} {}", value * column.scale, column.unit);
    }
    Ok(text)
}

/// `key` as benchfmt takes one: from a lower-case letter to the colon without space or capital.
fn is_key(key: &str) -> bool {
    let wrong = |c: char| c.is_whitespace() || c.is_uppercase() || c == ':';
    key.starts_with(char::is_lowercase) && !key.contains(wrong)
}

/// `Benchmark`, and a name that does not go on in lower case.
fn base_name(name: &str) -> String {
    let name = plain(name);
    let mut chars = name.chars();
    let first = chars.next().map_or_else(|| "_".to_owned(), |c| c.to_uppercase().to_string());
    // A letter without a capital of its own.
    let gap = if first.starts_with(char::is_lowercase) { "_" } else { "" };
    format!("Benchmark{gap}{first}{}", chars.as_str())
}

/// A name that stands last, where `-8` would be read as a number of processors.
fn arm_name(arm: &str) -> String {
    let arm = plain(arm);
    match arm.rsplit_once('-') {
        Some((front, back)) if !back.is_empty() && back.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{front}_{back}")
        }
        _ => arm,
    }
}

fn plain(name: &str) -> String {
    let meant = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '=');
    let name: String = name.chars().map(|c| if meant(c) { '_' } else { c }).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIME: Quantity<'_> = Quantity { unit: "s", direction: Direction::Lower };
    const RATE: Quantity<'_> = Quantity { unit: "MB/s", direction: Direction::Higher };

    fn run<'t>(arm: &'t str, values: &'t [f64]) -> Run<'t> {
        Run { arm, values }
    }

    #[test]
    fn a_run_is_a_line_with_a_value_for_each_unit() {
        let runs = [run("A", &[0.000123456, 7.5]), run("B", &[0.000122, 7.6])];
        let text = write("sort", &[("goos", "linux")], &[TIME, RATE], runs).unwrap();
        assert_eq!(
            text,
            "goos: linux\nUnit ns/op better=lower\nUnit MB/s better=higher\n\n\
             BenchmarkSort/arm=A 1 123456 ns/op 7.5 MB/s\n\
             BenchmarkSort/arm=B 1 122000 ns/op 7.6 MB/s\n"
        );
    }

    #[test]
    fn units_become_those_that_go_knows() {
        let unit = |unit| column(&Quantity { unit, direction: Direction::Lower }).unit;
        let units = ["s", "ms", "B", "", "bogo-ops/s", "runs a day"].map(unit);
        assert_eq!(units, ["ns/op", "ns/op", "B/op", "count/op", "bogo-ops/s", "runs_a_day"]);
    }

    #[test]
    fn names_hold_nothing_that_the_format_gives_a_meaning() {
        let line = |name, arm| {
            let text = write(name, &[], &[TIME], [run(arm, &[1.0])]).unwrap();
            text.lines().last().unwrap().split(' ').next().unwrap().to_owned()
        };
        assert_eq!(line("a b/c=d", "x/y"), "BenchmarkA_b_c_d/arm=x_y");
        // A trailing number would be a number of processors, and salts 1 and 2 one arm.
        assert_eq!(line("p", "salt-2"), "BenchmarkP/arm=salt_2");
        assert_eq!(line("p-2", "a-b"), "BenchmarkP-2/arm=a-b");
        assert_eq!(line("", ""), "Benchmark_/arm=_");
    }

    #[test]
    fn what_would_be_read_as_something_else_is_refused() {
        let refused = |config: &[(&str, &str)], quantities: &[Quantity<'_>], values: &[f64]| {
            write("n", config, quantities, [run("A", values)]).unwrap_err().to_string()
        };
        assert!(refused(&[("Goos", "x")], &[TIME], &[1.0]).contains("lower-case"));
        assert!(refused(&[("1x", "x")], &[TIME], &[1.0]).contains("lower-case"));
        assert!(refused(&[("a b", "x")], &[TIME], &[1.0]).contains("lower-case"));
        assert!(refused(&[], &[TIME, RATE], &[1.0]).contains("1 values for 2"));
        assert!(refused(&[], &[TIME], &[f64::NAN]).contains("no finite"));
        assert!(refused(&[], &[TIME, TIME], &[1.0, 1.0]).contains("ns/op"));
        let text = write("n", &[("cpu", "a\nb")], &[], []).unwrap();
        assert_eq!(text, "cpu: a b\n\n");
    }

    proptest! {
        #[test]
        fn every_line_has_the_shape_of_the_format(
            name in "\\PC{0,8}",
            arm in "\\PC{0,8}",
            unit in "\\PC{0,8}",
            value in -1e300..1e300f64,
        ) {
            let quantity = Quantity { unit: &unit, direction: Direction::Lower };
            prop_assume!(!unit.trim().is_empty() && unit != "s" && unit != "ms");
            let text = write(&name, &[], &[quantity], [run(&arm, &[value])]).unwrap();
            prop_assert_eq!(text.lines().count(), 3);
            let fields: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
            prop_assert_eq!(fields.len(), 4);
            let after = fields[0].strip_prefix("Benchmark").unwrap();
            prop_assert!(!after.starts_with(char::is_lowercase));
            prop_assert_eq!((fields[0].matches('/').count(), fields[1]), (1, "1"));
            prop_assert_eq!(fields[2].parse::<f64>().unwrap(), value);
        }
    }
}
