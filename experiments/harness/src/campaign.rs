//! All comparisons of an experiment, each over fresh processes of the program.

use crate::error::ExperimentError;
use crate::experiment::{Comparison, Experiment, Source};
use crate::listing;
use crate::object::Objects;
use crate::process::{self, ProcessRecord};
use crate::report::{CodeReport, ComparisonReport, NotRun, Report, SCHEMA, WarningReport};
use crate::settings::Settings;
use crate::{judge, scatter, timing};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use unlikely_measure::Machine;

/// How long the machine is watched before anything runs.
const WATCHED: Duration = Duration::from_secs(1);
/// CPUs' worth of other work during a process above which it is said.
const FOREIGN_QUIET_MAX: f64 = 0.15;
/// Share of a run without all its threads above which it is said.
const ALONE_MAX: f64 = 0.1;

/// What has just been done, for display.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress<'e> {
    /// A process has measured its blocks.
    Process {
        /// Name of the comparison.
        comparison: &'e str,
        /// Processes done.
        done: u32,
        /// Planned.
        of: u32,
    },
}

/// What a fresh process is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) comparison: String,
    pub(crate) process: u32,
    pub(crate) operations: u64,
    pub(crate) settings: Settings,
    pub(crate) objects: Objects,
}

/// Which comparisons of an experiment are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Those that run when nothing is asked for.
    Default,
    /// All.
    All,
    /// Those of these names, in this order.
    Named(Vec<String>),
}

impl Selection {
    fn of<'e>(&self, experiment: &'e Experiment) -> Result<Vec<&'e Comparison>, ExperimentError> {
        let all = &experiment.comparisons;
        match self {
            Self::Default => Ok(all.iter().filter(|one| one.by_default).collect()),
            Self::All => Ok(all.iter().collect()),
            Self::Named(names) => names.iter().map(|name| find(experiment, name)).collect(),
        }
    }
}

fn find<'e>(experiment: &'e Experiment, name: &str) -> Result<&'e Comparison, ExperimentError> {
    experiment.comparisons.iter().find(|one| one.name == name).ok_or_else(|| {
        let known: Vec<&str> = experiment.comparisons.iter().map(|one| &*one.name).collect();
        ExperimentError::NoComparison { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Builds what `source` needs, and runs those of its comparisons that are selected.
///
/// `program` is the binary that answers for fresh processes: the one whose [`main`](crate::main) has
/// this experiment. Objects are built beside it.
///
/// # Errors
/// See [`ExperimentError`]. An arm whose outcome is wrong stops all.
pub fn run(
    source: &Source,
    selection: &Selection,
    settings: &Settings,
    program: &Path,
    on: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, ExperimentError> {
    settings.validate()?;
    let objects = build(source, program)?;
    let experiment = (source.make)(&objects)?;
    let chosen = selection.of(&experiment)?;
    let code = listing::read(program, &objects, &experiment.listings)?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let machine = if settings.watch { Machine::watch(WATCHED) } else { Machine::read() };
    let (mut comparisons, mut not_run) = (Vec::new(), Vec::new());
    for comparison in chosen {
        match same_code(comparison, &code) {
            Some(why) => not_run.push(NotRun { name: comparison.name.clone(), why }),
            None => comparisons.push(compare(comparison, &objects, settings, program, on)?),
        }
    }
    Ok(Report {
        schema: SCHEMA.to_owned(),
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        tool: format!("unlikely {}", env!("CARGO_PKG_VERSION")),
        started_unix_s: started.as_secs(),
        settings: *settings,
        warnings: warnings(&machine, &comparisons),
        machine,
        comparisons,
        not_run,
        code,
        objects: listing::sizes(&objects)?,
    })
}

/// The objects of `source`, in a folder beside `program`.
pub(crate) fn build(source: &Source, program: &Path) -> Result<Objects, ExperimentError> {
    let beside = program.parent().unwrap_or(Path::new("."));
    Objects::build(&source.builds, &beside.join("objects").join(source.name))
}

/// Why there is nothing to time, if the machine code of both sides is the same.
fn same_code(comparison: &Comparison, code: &[CodeReport]) -> Option<String> {
    let (before, after) = comparison.code.as_ref()?;
    let of = |name: &str| Some(&code.iter().find(|one| one.name == name)?.instructions);
    (of(before)? == of(after)?).then(|| {
        format!("the machine code of {before} and {after} is the same: the hint changes nothing")
    })
}

fn compare(
    comparison: &Comparison,
    objects: &Objects,
    settings: &Settings,
    program: &Path,
    on: &mut dyn FnMut(Progress<'_>),
) -> Result<ComparisonReport, ExperimentError> {
    let operations = process::operations(comparison, settings)?;
    let mut rows = Vec::new();
    for process in 0..settings.processes {
        let settings = *settings;
        let (name, objects) = (comparison.name.clone(), objects.clone());
        let request = Request { comparison: name, process, operations, settings, objects };
        rows.push(ask(program, &request)?);
        let (comparison, done, of) = (&*comparison.name, process + 1, settings.processes);
        on(Progress::Process { comparison, done, of });
    }
    let cpus = process::cpus(comparison);
    judge::report(comparison, operations, cpus, rows).ok_or_else(|| ExperimentError::Malformed {
        comparison: comparison.name.clone(),
        what: "it has fewer than two arms, or a run that took no time".to_owned(),
    })
}

/// Has a fresh process of `program` do what `request` says.
fn ask(program: &Path, request: &Request) -> Result<ProcessRecord, ExperimentError> {
    let process = request.process;
    let protocol = |source| ExperimentError::Protocol { process, source };
    let text = serde_json::to_string(request).map_err(protocol)?;
    let output = Command::new(program)
        .args(["--worker", &text])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| ExperimentError::Start { process, source })?;
    if !output.status.success() {
        let (comparison, status) = (request.comparison.clone(), output.status);
        return Err(ExperimentError::Worker { comparison, process, status });
    }
    serde_json::from_slice(&output.stdout).map_err(protocol)
}

/// The other side of [`ask`]: does what the text of a request says, in this process.
pub(crate) fn answer(source: &Source, text: &str) -> Result<String, ExperimentError> {
    let protocol = |source| ExperimentError::Protocol { process: 0, source };
    let request: Request = serde_json::from_str(text).map_err(protocol)?;
    request.settings.validate()?;
    scatter::begin(request.settings.seed, request.process);
    let experiment = (source.make)(&request.objects)?;
    let comparison = find(&experiment, &request.comparison)?;
    let record =
        process::measure(comparison, &request.settings, request.operations, request.process)?;
    serde_json::to_string(&record).map_err(protocol)
}

/// Those of the machine, and what was seen while the processes ran.
fn warnings(machine: &Machine, comparisons: &[ComparisonReport]) -> Vec<WarningReport> {
    let of_machine = machine.warnings();
    let mut found: Vec<WarningReport> = of_machine
        .iter()
        .map(|warning| WarningReport { loud: warning.is_loud(), text: warning.to_string() })
        .collect();
    for comparison in comparisons {
        found.extend(disturbed(comparison));
        found.extend(alone(comparison));
        found.extend(crowded(comparison));
    }
    found.sort_by_key(|warning| !warning.loud);
    found
}

fn disturbed(comparison: &ComparisonReport) -> Option<WarningReport> {
    let foreign = |row: &ProcessRecord| {
        let share = row.conditions.foreign_cpu_s? / row.wall_s;
        (share > FOREIGN_QUIET_MAX).then_some(share)
    };
    let shares: Vec<f64> = comparison.rows.iter().filter_map(foreign).collect();
    let most = shares.iter().copied().reduce(f64::max)?;
    let text = format!(
        "{}: other work ran beside {} of {} processes, up to {most:.2} CPUs: stop it, and measure \
         again",
        comparison.name,
        shares.len(),
        comparison.rows.len(),
    );
    Some(WarningReport { loud: true, text })
}

fn alone(comparison: &ComparisonReport) -> Option<WarningReport> {
    let share = 1.0 - comparison.overlap_min;
    (share > ALONE_MAX).then(|| WarningReport {
        loud: false,
        text: format!(
            "{}: in one run a thread was alone for {:.0} % of the time, as the others had not begun or \
             were done: the figure is of less contention than it says",
            comparison.name,
            share * 100.0
        ),
    })
}

fn crowded(comparison: &ComparisonReport) -> Option<WarningReport> {
    let allowed = timing::allowed_cpus().len();
    (comparison.threads as usize > allowed).then(|| WarningReport {
        loud: true,
        text: format!(
            "{}: {} threads share {allowed} CPU(s), so they take turns instead of contending: allow \
             more CPUs with `taskset`",
            comparison.name, comparison.threads
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::UnitOf;
    use unlikely_measure::machine::RunConditions;

    fn comparison(code: Option<(&str, &str)>) -> Comparison {
        Comparison {
            name: "c".into(),
            title: String::new(),
            operation: String::new(),
            threads: 1,
            operations_max: 1,
            arms: vec![],
            bars: vec![],
            published: vec![],
            code: code.map(|(before, after)| (before.to_owned(), after.to_owned())),
            by_default: true,
        }
    }

    fn code(name: &str, instructions: &[&str]) -> CodeReport {
        CodeReport {
            name: name.into(),
            bytes: 1,
            hot_bytes: 1,
            instructions: instructions.iter().map(|&one| one.to_owned()).collect(),
            hot: 1,
            branches: 0,
            calls: 0,
        }
    }

    #[test]
    fn nothing_is_timed_where_the_code_is_the_same() {
        let listed = [code("a", &["inc", "ret"]), code("b", &["inc", "ret"]), code("c", &["ret"])];
        let why = same_code(&comparison(Some(("a", "b"))), &listed).unwrap();
        assert!(why.contains("the machine code of a and b is the same"), "{why}");
        assert_eq!(same_code(&comparison(Some(("a", "c"))), &listed), None);
        assert_eq!(same_code(&comparison(None), &listed), None);
        assert_eq!(same_code(&comparison(Some(("a", "nowhere"))), &listed), None);
    }

    /// A report of two processes, which used so many CPUs' worth of other work each.
    fn report(foreign: [f64; 2], overlap_min: f64, threads: u32) -> ComparisonReport {
        let row = |foreign_cpu_s| ProcessRecord {
            process: 0,
            blocks: vec![],
            overlap_min: 1.0,
            wall_s: 2.0,
            conditions: RunConditions {
                foreign_cpu_s: Some(2.0 * foreign_cpu_s),
                ..RunConditions::default()
            },
        };
        ComparisonReport {
            name: "c".into(),
            title: String::new(),
            operation: String::new(),
            threads,
            cpus: vec![],
            operations: 1,
            baseline: String::new(),
            processes: 2,
            blocks: 2,
            n: 2,
            n_unit: UnitOf::Process,
            n_counts: String::new(),
            overlap_min,
            floor_percent: None,
            arms: vec![],
            bars: vec![],
            published: vec![],
            rows: foreign.map(row).into(),
        }
    }

    #[test]
    fn a_process_that_fails_or_says_something_else_is_named() {
        let request = Request {
            comparison: "c".into(),
            process: 3,
            operations: 1,
            settings: Settings::SMOKE,
            objects: Objects::default(),
        };
        let told = |program: &str| ask(Path::new(program), &request).unwrap_err().to_string();
        assert!(told("false").starts_with("process 3 of c failed (exit status: 1)"));
        assert!(told("true").starts_with("process 3 and the one that started it"));
        assert!(told("/nowhere/at/all").starts_with("process 3 could not be started"));
    }

    #[test]
    fn what_disturbed_a_comparison_is_said_and_the_loud_comes_first() {
        let quiet = warnings(&Machine::default(), &[report([0.0, 0.1], 0.95, 1)]);
        assert_eq!(quiet, []);
        let told = warnings(&Machine::default(), &[report([0.0, 1.5], 0.6, 100_000)]);
        let texts: Vec<(bool, &str)> = told.iter().map(|one| (one.loud, &*one.text)).collect();
        let [(true, disturbed), (true, crowded), (false, alone)] = texts[..] else {
            panic!("{texts:?}")
        };
        assert!(disturbed.contains("beside 1 of 2 processes, up to 1.50 CPUs"), "{disturbed}");
        assert!(crowded.contains("100000 threads share"), "{crowded}");
        assert!(alone.contains("alone for 40 % of the time"), "{alone}");
    }
}
