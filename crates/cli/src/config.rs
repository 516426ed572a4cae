//! `unlikely.toml`: what a project says of its build, its tests and its workloads.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use unlikely_measure::{BLOCKS_MAX, Direction, Metric, PlanError, Stop};

use crate::exit::{Exit, fail};

/// Most builds of each arm.
pub(crate) const BUILDS_MAX: u32 = 64;
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
    /// What its sources are.
    pub(crate) language: Language,
}

/// Languages of projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    /// Understood: its conditions are counted, hinted and checked.
    C,
    /// Its hints count themselves, and are judged.
    Rust,
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
    /// Wall time if left out.
    metric: Option<Spanned<MetricSpec>>,
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

/// `metric = "time"`, another form that the command line takes, or a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"time\", \"cpu\", \"rss\", \"stress-ng:…\", \"json:…\" or { regex = \"…(group)…\", direction = \"higher\" | \"lower\", unit = \"…\" }"
)]
pub(crate) enum MetricSpec {
    Form(String),
    Regex(RegexMetric),
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
    /// Blocks a workload at most: one run of each arm. Rounded up to a multiple of `builds`.
    pub(crate) blocks: u32,
    /// Builds of each arm with different layouts; what n counts, where there are several.
    pub(crate) builds: u32,
    /// When a campaign ends.
    pub(crate) stop: Stop,
    /// Whether a claim needs the sign test too.
    pub(crate) strict: bool,
    /// Discarded runs of each build.
    pub(crate) warmups: u32,
    /// Seconds that one run may take.
    pub(crate) timeout_s: u64,
    /// Difference in percent that counts as none.
    pub(crate) margin_percent: Option<f64>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            blocks: 32,
            builds: 8,
            stop: Stop::Sequential,
            strict: false,
            warmups: 1,
            timeout_s: 600,
            margin_percent: None,
        }
    }
}

impl Workload {
    pub(crate) fn name(&self) -> &str {
        self.name.get_ref()
    }

    /// What its runs are judged by. [`Config::parse`] has refused what cannot be read.
    pub(crate) fn metric(&self) -> Metric {
        self.parsed_metric().unwrap_or(Metric::Time)
    }

    fn parsed_metric(&self) -> Result<Metric, PlanError> {
        match self.metric.as_ref().map(Spanned::get_ref) {
            None => Ok(Metric::Time),
            Some(MetricSpec::Form(text)) => Metric::parse(text),
            Some(MetricSpec::Regex(RegexMetric { regex, direction, unit })) => {
                let (pattern, unit) = (regex.clone(), unit.clone());
                Ok(Metric::Regex { pattern, direction: *direction, unit })
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
            let span = workload.get_ref().metric.as_ref().map(Spanned::span);
            let metric = workload.get_ref().parsed_metric();
            let metric = metric.map_err(|why| at(span.clone(), &why.to_string()))?;
            if let Metric::Regex { pattern, .. } = metric {
                check_pattern(&pattern).map_err(|why| at(span, &why))?;
            }
        }
        let rare = config.advise.rare_max;
        if !(0.0..0.5).contains(&rare) {
            let span = text.find("rare_max").map(|i| i..i);
            return Err(at(span, &format!("expected rare_max from 0 to 0.5, got {rare}")));
        }
        let Bench { blocks, builds, margin_percent, .. } = config.bench;
        if !(2..=BLOCKS_MAX).contains(&blocks) {
            let span = text.find("blocks").map(|i| i..i);
            let rule = format!(
                "expected blocks from 2 to {BLOCKS_MAX}, got {blocks}; one block has no spread"
            );
            return Err(at(span, &rule));
        }
        if let Some(margin) = margin_percent.filter(|margin| !(*margin > 0.0 && *margin < 100.0)) {
            let span = text.find("margin_percent").map(|i| i..i);
            let rule = format!("expected margin_percent above 0 and below 100, got {margin}");
            return Err(at(span, &rule));
        }
        if !(1..=BUILDS_MAX).contains(&builds) {
            let span = text.find("builds").map(|i| i..i);
            let rule = format!(
                "expected builds from 1 to {BUILDS_MAX}, got {builds}: 1 measures the project's own \
                 layout, 6 or more show that an effect is not the luck of one"
            );
            return Err(at(span, &rule));
        }
        Ok(config)
    }

    /// The workloads, of which there must be one for what follows; and it must be C, since no other
    /// text is rewritten, built and hinted.
    pub(crate) fn workloads(&self, dir: &Path) -> anyhow::Result<Vec<&Workload>> {
        if self.project.language == Language::Rust {
            let dir = dir.display();
            let message = format!(
                "{dir}: hints of Rust count themselves: build with RUSTFLAGS=\"--cfg \
                 unlikely_profile\", run with UNLIKELY_SITES=counts-%p.jsonl, then `unlikely import \
                 {dir} counts-*.jsonl --workload NAME` and `unlikely scan {dir}`"
            );
            return Err(fail(Exit::Usage, message));
        }
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
