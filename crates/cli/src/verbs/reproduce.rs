//! `reproduce`: published experiments, repeated on this machine, in one table.
//!
//! Each comparison of an experiment is measured by fresh processes of this same binary, and each process
//! is kept as soon as it is done, so that a run that was killed goes on where it was. What is found decides no
//! exit code: it describes, and nobody asked for a gain.

mod claim;
mod journal;
mod plan;
mod record;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use experiments::{ExperimentError, Host, Progress, Report, Selection, Settings, Source};
use unlikely_report::{REPRODUCE_SCHEMA, Reproduction};

use crate::args::{ReproduceArgs, ReproduceFormat};
use crate::exit::{Exit, fail};
use crate::output::{color, print, width};
use crate::progress::{Stage, stage, tell};

use journal::Journal;
pub(crate) use plan::Mode;
use plan::{PLANS, Plan};

/// Runs the verb.
pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<Exit> {
    if let Some(request) = &args.worker {
        // Whoever asked is gone after a kill, and the next one must measure alone.
        let killed = rustix::process::Signal::KILL;
        rustix::process::set_parent_process_death_signal(Some(killed))?;
        let sources: Vec<_> = PLANS.iter().map(|plan| (plan.source)()).collect();
        print(&format!("{}\n", experiments::answer(&sources, request).map_err(failed)?))?;
        return Ok(Exit::Done);
    }
    let plans = chosen(&args.only)?;
    let journal = Journal::open(&state(args)?)?;
    let program = std::env::current_exe()?;
    let run = Run { args, journal, program: &program };
    if args.fresh {
        // All at once: if this run is killed, the next one must not go on with what is older.
        for plan in &plans {
            run.journal.forget(plan, args.mode(), &plan.settings(args.mode(), args.seed))?;
        }
    }
    announce(args.mode(), &plans);
    let mut measured = Vec::new();
    for plan in plans {
        measured.push((plan, run.experiment(plan)?));
    }
    let record = reproduction(args.mode(), &measured)?;
    print(&match args.format {
        ReproduceFormat::Text => unlikely_report::reproduce_terminal(
            &record,
            width(),
            color(std::io::stdout().is_terminal()),
        ),
        ReproduceFormat::Json => record.json(),
        ReproduceFormat::Html => unlikely_report::reproduce_html(&record),
    })?;
    Ok(Exit::Done)
}

fn chosen(only: &[String]) -> anyhow::Result<Vec<&'static Plan>> {
    if only.is_empty() {
        return Ok(PLANS.iter().collect());
    }
    let find = |name: &String| {
        PLANS.iter().find(|plan| plan.name == name).ok_or_else(|| {
            let known: Vec<&str> = PLANS.iter().map(|plan| plan.name).collect();
            let known = known.join(", ");
            fail(Exit::Usage, format!("there is no experiment {name:?}: choose of {known}"))
        })
    };
    let mut plans: Vec<&Plan> = Vec::new();
    for plan in only.iter().map(find) {
        let plan = plan?;
        // Asked for twice is asked for.
        if !plans.iter().any(|one| one.name == plan.name) {
            plans.push(plan);
        }
    }
    Ok(plans)
}

/// Says how long it will take.
fn announce(mode: Mode, plans: &[&Plan]) {
    if mode == Mode::Smoke {
        return;
    }
    let seconds: f64 = plans.iter().map(|plan| plan.seconds(mode)).sum();
    let names: Vec<&str> = plans.iter().map(|plan| plan.name).collect();
    tell(&format!(
        "{}: about {:.0} s of measuring, and at first one or two minutes to build; what is kept from an \
         earlier run is not measured again",
        names.join(", "),
        seconds
    ));
}

/// Where objects and finished comparisons are kept.
fn state(args: &ReproduceArgs) -> anyhow::Result<PathBuf> {
    let folder = match &args.state {
        // Builds and workers have other working folders.
        Some(folder) => std::path::absolute(folder)?,
        None => usual_state()?,
    };
    if folder.to_str().is_none() {
        let why = "cargo takes no folder whose name is not UTF-8: give another with --state DIR";
        return Err(fail(Exit::Usage, format!("{}: {why}", folder.display())));
    }
    Ok(folder)
}

fn usual_state() -> anyhow::Result<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    let base = base.ok_or_else(|| {
        fail(Exit::Usage, "neither XDG_STATE_HOME nor HOME is a folder: say where with --state DIR")
    })?;
    Ok(base.join("unlikely/reproduce"))
}

/// One call of the verb.
struct Run<'r> {
    args: &'r ReproduceArgs,
    journal: Journal,
    program: &'r Path,
}

impl Run<'_> {
    /// The reports of an experiment's comparisons, each measured now or by an earlier run.
    fn experiment(&self, plan: &'static Plan) -> anyhow::Result<Vec<Report>> {
        let settings = plan.settings(self.args.mode(), self.args.seed);
        let total = u64::from(settings.processes) * plan.comparisons.len() as u64;
        let bar = stage(format!("reproduce {}", plan.name), total);
        bar.note("building");
        let source = (plan.source)();
        let objects = experiments::build(&source, &self.journal.objects()).map_err(failed)?;
        let records =
            self.journal.records(plan, self.args.mode(), &settings, (self.program, &objects))?;
        let host = Host {
            program: self.program,
            arguments: &["reproduce"],
            objects: &objects,
            keep: Some(&records),
        };
        let (mut reports, mut kept) = (Vec::new(), 0);
        for (at, name) in plan.comparisons.iter().enumerate() {
            if let Some(report) = records.load(name) {
                (0..settings.processes).for_each(|_| bar.step());
                kept += 1;
                reports.push(report);
                continue;
            }
            // A watch of the machine takes a second: once is enough.
            let settings = Settings {
                watch: settings.watch && at == 0 && plan.name == PLANS[0].name,
                ..settings
            };
            let report = comparison(&host, &source, name, &settings, &bar)?;
            records.save(name, &report)?;
            reports.push(report);
        }
        let again = if kept == 0 { "" } else { " (--fresh measures them again)" };
        bar.done(&format!(
            "comparisons: {} measured, {kept} kept from an earlier run{again}",
            reports.len() - kept
        ));
        Ok(reports)
    }
}

fn comparison(
    host: &Host<'_>,
    source: &Source,
    name: &str,
    settings: &Settings,
    bar: &Stage,
) -> anyhow::Result<Report> {
    let selection = Selection::Named(vec![name.to_owned()]);
    let mut on = |step: Progress<'_>| {
        let Progress::Process { comparison, done, of } = step;
        bar.note(&format!("{comparison}: process {done} of {of}"));
        bar.step();
    };
    experiments::run_in(host, source, &selection, settings, &mut on).map_err(failed)
}

/// An experiment's error with the exit code that it means here.
fn failed(error: ExperimentError) -> anyhow::Error {
    let exit = match error {
        ExperimentError::Build { .. } => Exit::Build,
        ExperimentError::Worker { .. }
        | ExperimentError::Wrong { .. }
        | ExperimentError::Panicked { .. } => Exit::Workload,
        ExperimentError::Setting { .. }
        | ExperimentError::OneUnit
        | ExperimentError::NoComparison { .. } => Exit::Usage,
        _ => Exit::System,
    };
    fail(exit, error.to_string())
}

fn reproduction(
    mode: plan::Mode,
    measured: &[(&Plan, Vec<Report>)],
) -> anyhow::Result<Reproduction> {
    let reports = || measured.iter().flat_map(|(_, reports)| reports);
    let machine = reports().next().map(|report| &report.machine);
    Ok(Reproduction {
        schema: REPRODUCE_SCHEMA.to_owned(),
        tool: format!("unlikely {}", env!("CARGO_PKG_VERSION")),
        mode: mode.name().to_owned(),
        machine: machine
            .map_or_else(String::new, |one| format!("{}, kernel {}", one.cpu, one.kernel)),
        started_unix_s: reports().map(|report| report.started_unix_s).min().unwrap_or_default(),
        warnings: unoptimised(measured).into_iter().chain(warnings(reports())).collect(),
        experiments: measured
            .iter()
            .map(|(plan, reports)| record::experiment(plan, reports))
            .collect::<anyhow::Result<_>>()?,
    })
}

/// The objects are always built for release, but what `refcount` compares is code of this program.
fn unoptimised(measured: &[(&Plan, Vec<Report>)]) -> Option<String> {
    let here = measured.iter().any(|(plan, _)| (plan.source)().builds.is_empty());
    (cfg!(debug_assertions) && here).then(|| {
        "this program is a debug build, and refcount compares code of the program itself: its figures are \
         not those of a release; say `cargo run --release -- reproduce`"
            .to_owned()
    })
}

/// Those of the machine as the first comparison found it, and those of each comparison itself.
fn warnings<'r>(reports: impl Iterator<Item = &'r Report>) -> Vec<String> {
    let of = |report: &Report, text: &str| {
        report.comparisons.iter().any(|one| text.starts_with(&format!("{}: ", one.name)))
    };
    let mut all: Vec<String> = Vec::new();
    for (at, report) in reports.enumerate() {
        let loud = report.warnings.iter().filter(|warning| warning.loud);
        all.extend(loud.map(|one| one.text.clone()).filter(|text| at == 0 || of(report, text)));
    }
    all
}
