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
use std::io;
use std::path::{Path, PathBuf};
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

/// What a comparison has measured so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// Start of the first process, seconds since the epoch.
    pub started_unix_s: u64,
    /// Operations of one run of each thread, which are the same in all processes.
    pub operations: u64,
    /// The processes that are done, from the first on.
    pub rows: Vec<ProcessRecord>,
}

/// Where comparisons that are not finished are kept, so that a killed campaign loses no process.
pub trait Keep: std::fmt::Debug {
    /// What of this comparison an earlier campaign of the same settings and the same objects measured.
    fn begun(&self, comparison: &str) -> Option<Begun>;

    /// Hears that what [`begun`](Self::begun) gave is not what these settings measure, so that it is measured
    /// again.
    fn unfit(&self, comparison: &str);

    /// Keeps what is measured by now; called after each process.
    ///
    /// # Errors
    /// What stops the campaign.
    fn keep(&self, comparison: &str, begun: &Begun) -> io::Result<()>;
}

/// Who measures what, and where it is kept.
#[derive(Debug, Clone, Copy)]
pub struct Host<'h> {
    /// The binary that answers for fresh processes: one that hands what follows `--worker` to [`answer`],
    /// and in whose file the code of this program's own listings is.
    pub program: &'h Path,
    /// Its arguments before `--worker`.
    pub arguments: &'h [&'h str],
    /// The objects of the experiment, as [`build`] made them.
    pub objects: &'h Objects,
    /// Where unfinished comparisons are kept, if they are.
    pub keep: Option<&'h dyn Keep>,
}

/// What a fresh process is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) experiment: String,
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
    let objects = &build(source, &beside(program))?;
    run_in(&Host { program, arguments: &[], objects, keep: None }, source, selection, settings, on)
}

/// As [`run`], by a program that is more than one experiment and has built the objects of this one.
///
/// # Errors
/// As of [`run`].
pub fn run_in(
    host: &Host<'_>,
    source: &Source,
    selection: &Selection,
    settings: &Settings,
    on: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, ExperimentError> {
    settings.validate()?;
    let experiment = (source.make)(host.objects)?;
    let chosen = selection.of(&experiment)?;
    let code = listing::read(host.program, host.objects, &experiment.listings)?;
    let mut started_unix_s = now_unix_s();
    let machine = if settings.watch { Machine::watch(WATCHED) } else { Machine::read() };
    let (mut comparisons, mut not_run) = (Vec::new(), Vec::new());
    for comparison in chosen {
        match same_code(comparison, &code) {
            Some(why) => not_run.push(NotRun { name: comparison.name.clone(), why }),
            None => {
                let (started, report) = compare(comparison, source.name, settings, host, on)?;
                started_unix_s = started_unix_s.min(started);
                comparisons.push(report);
            }
        }
    }
    Ok(Report {
        schema: SCHEMA.to_owned(),
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        tool: format!("unlikely {}", env!("CARGO_PKG_VERSION")),
        started_unix_s,
        settings: *settings,
        warnings: warnings(&machine, &comparisons),
        machine,
        comparisons,
        not_run,
        code,
        objects: listing::sizes(host.objects)?,
    })
}

/// Where an experiment's own binary has its objects.
pub(crate) fn beside(program: &Path) -> PathBuf {
    program.parent().unwrap_or(Path::new(".")).join("objects")
}

/// Builds the objects of `source`, in its folder below `objects`, where they are kept for the next time.
///
/// # Errors
/// See [`ExperimentError`].
pub fn build(source: &Source, objects: &Path) -> Result<Objects, ExperimentError> {
    Objects::build(&source.builds, &objects.join(source.name))
}

/// Why there is nothing to time, if the machine code of both sides is the same.
fn same_code(comparison: &Comparison, code: &[CodeReport]) -> Option<String> {
    let (before, after) = comparison.code.as_ref()?;
    let of = |name: &str| Some(&code.iter().find(|one| one.name == name)?.instructions);
    (of(before)? == of(after)?).then(|| {
        format!("the machine code of {before} and {after} is the same: the hint changes nothing")
    })
}

/// When the comparison was begun, and what it came to.
fn compare(
    comparison: &Comparison,
    experiment: &str,
    settings: &Settings,
    host: &Host<'_>,
    on: &mut dyn FnMut(Progress<'_>),
) -> Result<(u64, ComparisonReport), ExperimentError> {
    let kept = host.keep.and_then(|keep| {
        let begun = keep.begun(&comparison.name)?;
        let fits = process::fits(&begun, comparison, settings);
        if !fits {
            keep.unfit(&comparison.name);
        }
        fits.then_some(begun)
    });
    let mut begun = match kept {
        Some(begun) => begun,
        None => Begun {
            started_unix_s: now_unix_s(),
            operations: process::operations(comparison, settings)?,
            rows: Vec::new(),
        },
    };
    for process in 0..settings.processes {
        if process as usize >= begun.rows.len() {
            let request = Request {
                experiment: experiment.to_owned(),
                comparison: comparison.name.clone(),
                process,
                operations: begun.operations,
                settings: *settings,
                objects: host.objects.clone(),
            };
            begun.rows.push(ask(host, &request)?);
            if let Some(keep) = host.keep {
                keep.keep(&comparison.name, &begun)?;
            }
        }
        let (comparison, done, of) = (&*comparison.name, process + 1, settings.processes);
        on(Progress::Process { comparison, done, of });
    }
    let cpus = process::cpus(comparison);
    let report = judge::report(comparison, begun.operations, cpus, begun.rows);
    let report = report.ok_or_else(|| ExperimentError::Malformed {
        comparison: comparison.name.clone(),
        what: "it has fewer than two arms, or a run that took no time".to_owned(),
    })?;
    Ok((begun.started_unix_s, report))
}

fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Has a fresh process do what `request` says.
fn ask(host: &Host<'_>, request: &Request) -> Result<ProcessRecord, ExperimentError> {
    let process = request.process;
    let protocol = |source| ExperimentError::Protocol { process, source };
    let text = serde_json::to_string(request).map_err(protocol)?;
    let output = Command::new(host.program)
        .args(host.arguments)
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

/// The other side of a request: does what the text after `--worker` says, in this process, and returns
/// what is to be printed.
///
/// # Errors
/// See [`ExperimentError`]; also if none of `sources` is what is asked for.
pub fn answer(sources: &[Source], text: &str) -> Result<String, ExperimentError> {
    let protocol = |source| ExperimentError::Protocol { process: 0, source };
    let request: Request = serde_json::from_str(text).map_err(protocol)?;
    let source = sources.iter().find(|one| one.name == request.experiment).ok_or_else(|| {
        let known: Vec<&str> = sources.iter().map(|one| one.name).collect();
        ExperimentError::NoComparison { name: request.experiment.clone(), known: known.join(", ") }
    })?;
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
    let threads = comparison.threads * comparison.inner_threads;
    (threads as usize > allowed).then(|| WarningReport {
        loud: true,
        text: format!(
            "{}: {threads} threads share {allowed} CPU(s), so they take turns instead of contending: allow \
             more CPUs with `taskset`",
            comparison.name
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
            inner_threads: 1,
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
            inner_threads: 1,
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
            experiment: "e".into(),
            comparison: "c".into(),
            process: 3,
            operations: 1,
            settings: Settings::SMOKE,
            objects: Objects::default(),
        };
        let told = |program: &str| {
            let (program, objects) = (Path::new(program), &Objects::default());
            let host = Host { program, arguments: &[], objects, keep: None };
            ask(&host, &request).unwrap_err().to_string()
        };
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
        let inner = ComparisonReport { inner_threads: 50_000, ..report([0.0; 2], 1.0, 2) };
        let told = warnings(&Machine::default(), &[inner]);
        assert!(told[0].text.contains("100000 threads share"), "{told:?}");
    }
}
