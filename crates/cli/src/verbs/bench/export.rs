//! A campaign's runs in the forms of other tools.

use std::path::Path;

use anyhow::Context;
use unlikely_measure::exchange::{go, hyperfine as hf};
use unlikely_measure::{BenchReport, BlockRow};

use crate::exit::{Exit, fail};

/// The comparisons by the first metric: one a candidate.
pub(super) fn candidates(report: &BenchReport) -> impl Iterator<Item = &BenchReport> {
    let same = report.others.iter().filter(|other| other.metric == report.metric);
    std::iter::once(report).chain(same)
}

fn valid(report: &BenchReport) -> impl Iterator<Item = &BlockRow> {
    report.rows.iter().filter(|row| row.invalid.is_none())
}

/// Wall times of every arm, as `hyperfine --export-json` writes them.
pub(super) fn hyperfine(path: &Path, report: &BenchReport) -> anyhow::Result<()> {
    let baseline = hf::Samples {
        command: report.provenance.command_a.clone(),
        times_s: valid(report).map(|row| row.a_wall_s).collect(),
        user_s: None,
        system_s: None,
        memory_bytes: valid(report).map(|row| row.a_max_rss_bytes).collect(),
        failures: 0,
    };
    let others = candidates(report).map(|one| hf::Samples {
        command: one.provenance.command_b.clone(),
        times_s: valid(one).map(|row| row.b_wall_s).collect(),
        memory_bytes: valid(one).map(|row| row.b_max_rss_bytes).collect(),
        ..baseline.clone()
    });
    let all: Vec<hf::Samples> = std::iter::once(baseline.clone()).chain(others).collect();
    write(path, hf::write(&all).map_err(|error| fail(Exit::Usage, error.to_string()))?)
}

/// The first metric of every arm, as Go's benchmarks print it.
pub(super) fn go(path: &Path, report: &BenchReport) -> anyhow::Result<()> {
    let quantity = go::Quantity { unit: &report.unit, direction: report.direction };
    let names: Vec<String> = candidates(report).map(|one| one.arm.to_string()).collect();
    let mut values: Vec<(&str, [f64; 1])> = valid(report).map(|row| ("A", [row.a])).collect();
    for (one, name) in candidates(report).zip(&names) {
        values.extend(valid(one).map(|row| (name.as_str(), [row.b])));
    }
    let runs = values.iter().map(|(arm, values)| go::Run { arm, values });
    let config = [
        ("goos", std::env::consts::OS),
        ("goarch", std::env::consts::ARCH),
        ("cpu", report.provenance.cpu.as_str()),
    ];
    let text = go::write(&report.metric, &config, &[quantity], runs);
    write(path, text.map_err(|error| fail(Exit::Usage, error.to_string()))?)
}

fn write(path: &Path, text: String) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
