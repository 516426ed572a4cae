//! `unlikely.toml`: what a project says of its build, its tests and its workloads.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use unlikely_measure::{Direction, Metric};

use crate::exit::{Exit, fail};

/// Name of the file.
pub(crate) const FILE: &str = "unlikely.toml";

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) project: Project,
    pub(crate) build: Build,
    pub(crate) test: Test,
    #[serde(default, rename = "workload")]
    pub(crate) workloads: Vec<Spanned<Workload>>,
    #[serde(default)]
    pub(crate) advise: Advise,
    #[serde(default)]
    pub(crate) bench: Bench,
}

/// `[project]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Project {
    pub(crate) name: String,
    /// Read for validation only: one language so far.
    #[expect(dead_code, reason = "its type admits the one language that is supported")]
    pub(crate) language: Language,
}

/// Languages whose text is understood.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    C,
}

/// `[build]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    /// Run by `sh` in a private copy of the tree, with CC, CFLAGS and LDFLAGS set.
    pub(crate) command: Spanned<String>,
    #[serde(default)]
    pub(crate) cflags: String,
    #[serde(default)]
    pub(crate) ldflags: String,
    /// The compiler whose code is checked and measured.
    #[serde(default = "gcc")]
    pub(crate) cc: String,
}

fn gcc() -> String {
    "gcc".to_owned()
}

/// `[test]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    pub(crate) command: Spanned<String>,
}

/// `[[workload]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    pub(crate) name: Spanned<String>,
    pub(crate) class: Class,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) metric: MetricSpec,
}

/// What kind of work a workload stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Class {
    Application,
    Benchmark,
    Stressor,
}

impl Class {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Benchmark => "benchmark",
            Self::Stressor => "stressor",
        }
    }
}

/// `metric = "time"` or a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"time\" or { regex = \"…(group)…\", direction = \"higher\" | \"lower\", unit = \"…\" }"
)]
pub(crate) enum MetricSpec {
    Name(TimeName),
    Regex(RegexMetric),
}

impl Default for MetricSpec {
    fn default() -> Self {
        Self::Name(TimeName::Time)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TimeName {
    Time,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegexMetric {
    regex: String,
    direction: Direction,
    unit: String,
}

/// `[advise]`: when a branch is worth a hint.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Advise {
    /// Share of the rarer outcome, 0 to 0.5.
    pub(crate) rare_max: f64,
    /// Executions over all workloads.
    pub(crate) executed_min: u64,
    /// How many hints a patch may hold; the best are taken.
    pub(crate) sites_max: usize,
}

impl Default for Advise {
    fn default() -> Self {
        let unlikely_advise::Thresholds { rare_max, executed_min } = Default::default();
        Self { rare_max, executed_min, sites_max: 10 }
    }
}

/// `[bench]`: how much is measured.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Bench {
    /// Blocks a workload: one run of each build.
    pub(crate) blocks: u32,
    /// Discarded runs of each build.
    pub(crate) warmups: u32,
    /// Seconds that one run may take.
    pub(crate) timeout_s: u64,
    /// Difference in percent that counts as none.
    pub(crate) margin_percent: Option<f64>,
}

impl Default for Bench {
    fn default() -> Self {
        Self { blocks: 20, warmups: 1, timeout_s: 600, margin_percent: None }
    }
}

impl Workload {
    pub(crate) fn name(&self) -> &str {
        self.name.get_ref()
    }

    pub(crate) fn metric(&self) -> Metric {
        match &self.metric {
            MetricSpec::Name(TimeName::Time) => Metric::Time,
            MetricSpec::Regex(RegexMetric { regex, direction, unit }) => {
                Metric::Regex { pattern: regex.clone(), direction: *direction, unit: unit.clone() }
            }
        }
    }
}

impl Config {
    /// Reads `DIR/unlikely.toml`.
    pub(crate) fn read(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let remedy = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("`unlikely init {}` writes a first one", dir.display())
                }
                _ => "it must be a readable UTF-8 file".to_owned(),
            };
            fail(Exit::Usage, format!("{}: {error}; {remedy}", path.display()))
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    fn parse(path: &str, text: &str) -> anyhow::Result<Self> {
        let at = |span: Option<Range<usize>>, message: &str| {
            let line = text[..span.map_or(0, |s| s.start).min(text.len())].matches('\n').count();
            fail(Exit::Usage, format!("{path}:{}: {message}", line + 1))
        };
        let config: Self =
            toml::from_str(text).map_err(|error| at(error.span(), error.message().trim_end()))?;
        let mut names = HashSet::new();
        for workload in &config.workloads {
            let name = workload.get_ref().name();
            let span = Some(workload.get_ref().name.span());
            if !is_plain_name(name) {
                let rule = "expected a workload name of 1 to 64 letters, digits, '.', '_' or '-', \
                            not starting with '.'";
                return Err(at(span, rule));
            }
            if !names.insert(name.to_owned()) {
                return Err(at(
                    span,
                    &format!("expected each workload name once; {name} is taken"),
                ));
            }
            if let Metric::Regex { pattern, .. } = workload.get_ref().metric() {
                check_pattern(&pattern).map_err(|why| at(Some(workload.span()), &why))?;
            }
        }
        let rare = config.advise.rare_max;
        if !(0.0..0.5).contains(&rare) {
            let span = text.find("rare_max").map(|i| i..i);
            return Err(at(span, &format!("expected rare_max from 0 to 0.5, got {rare}")));
        }
        if config.bench.blocks < 2 {
            let span = text.find("blocks").map(|i| i..i);
            return Err(at(span, "expected blocks = 2 or more; one block has no spread"));
        }
        Ok(config)
    }

    /// The workloads, of which there must be one for what follows.
    pub(crate) fn workloads(&self, dir: &Path) -> anyhow::Result<Vec<&Workload>> {
        if self.workloads.is_empty() {
            return Err(fail(
                Exit::Usage,
                format!(
                    "{}: no [[workload]]; without one nothing can be profiled. Add\n  \
                     [[workload]]\n  name = \"…\"\n  class = \"application\"\n  command = \"…\"",
                    dir.join(FILE).display()
                ),
            ));
        }
        Ok(self.workloads.iter().map(Spanned::get_ref).collect())
    }
}

/// Names become file names.
pub(crate) fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    match regex::Regex::new(pattern) {
        Ok(regex) if regex.captures_len() >= 2 => Ok(()),
        Ok(_) => Err(format!("expected a group in the regex {pattern:?}, around the number")),
        Err(error) => Err(format!("expected a regex: {error}")),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
