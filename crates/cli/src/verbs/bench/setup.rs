//! What every campaign of commands needs before its first run: arms, a plan, a journal, and a
//! machine that is fit for it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use unlikely_measure::machine::{Rule, Tuned};
use unlikely_measure::{Arm, BenchReport, Build, Metric, Plan, Stop};

use crate::args::BenchArgs;
use crate::exit::{Exit, fail};
use crate::fit;
use crate::progress::stage;
use crate::salt::command::CommandBuild;
use crate::salt::effect::no_effect;
use crate::steps::bench::{failed, show};

use super::export;

/// A journal, the user's or one that lives as long as the process; and the machine's settings,
/// which are restored when this is dropped.
pub(crate) struct Bench<'a> {
    args: &'a BenchArgs,
    seed: u64,
    metrics: Vec<Metric>,
    journal: PathBuf,
    /// Holds the builds: beside the journal, whose campaigns are of these very folders.
    builds: PathBuf,
    scratch: TempDir,
    /// Why the salted builds are not what they should be, if they are not.
    warning: Option<String>,
    _tuned: Option<Tuned>,
}

impl<'a> Bench<'a> {
    /// Checks the machine and changes it as asked.
    pub(crate) fn begin(args: &'a BenchArgs) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let journal = args.journal.clone().unwrap_or_else(|| scratch.path().join("journal.redb"));
        if args.journal.is_some() && args.seed.is_none() && journal.exists() {
            let why = "a campaign is resumed with the seed it was begun with: add --seed N";
            return Err(fail(Exit::Usage, format!("{}: {why}", journal.display())));
        }
        let metrics = args.metrics().map_err(|error| fail(Exit::Usage, error.to_string()))?;
        once(&metrics)?;
        if let Some(percent) = args.margin
            && !(percent > 0.0 && percent < 100.0)
        {
            let why = "expected percent above 0 and below 100, such as 0.5";
            return Err(fail(Exit::Usage, format!("--margin {percent}: {why}")));
        }
        for path in [&args.export_hyperfine, &args.export_go].into_iter().flatten() {
            writable(path)?;
        }
        let builds = match &args.journal {
            Some(journal) => std::path::absolute(journal.with_added_extension("builds"))?,
            None => scratch.path().to_owned(),
        };
        let tuned = fit::machine(args)?;
        let seed = args.seed.unwrap_or_else(fresh_seed);
        Ok(Self { args, seed, metrics, journal, builds, scratch, warning: None, _tuned: tuned })
    }

    /// The arms that the options name: the baseline, then each candidate, then the rebuild.
    pub(crate) fn arms(&mut self) -> anyhow::Result<Vec<Arm>> {
        let args = self.args;
        let commands: Vec<&String> = args.a.iter().chain(&args.b).chain(&args.rebuild).collect();
        let here = std::env::current_dir()?;
        let Some(salts) = args.builds else {
            return Ok(commands.into_iter().map(|command| Arm::new(command, &here)).collect());
        };
        let build_commands: Vec<&String> = args.build_a.iter().chain(&args.build_b).collect();
        if build_commands.len() != commands.len() {
            let why = format!(
                "{} commands and {} build commands: give --build-b once for each --b",
                commands.len(),
                build_commands.len()
            );
            return Err(fail(Exit::Usage, why));
        }
        let building =
            stage("building with salted layouts", u64::from(salts) * commands.len() as u64);
        let mut arms = Vec::new();
        let mut warning = None;
        for (index, (command, build)) in commands.into_iter().zip(build_commands).enumerate() {
            let letter = unlikely_measure::arm_name(index);
            let mut builds = Vec::new();
            for salt in 1..=salts {
                let command = CommandBuild {
                    command: build,
                    dir: &here,
                    state: &self.builds,
                    name: &format!("{letter}.{salt:03}"),
                    // One build is the one that the command makes by itself.
                    salt: if salts == 1 { 0 } else { salt.into() },
                };
                builds.push(command.build().inspect_err(|_| self.keep())?);
                building.step();
            }
            let dirs: Vec<&Path> = builds.iter().map(|built| built.dir.as_path()).collect();
            let record = builds.first().map(|built| &built.record);
            warning = warning.or_else(|| no_effect(&dirs, record?));
            let place = |dir: &&Path| Build {
                dir: here.clone(),
                env: vec![("BUILD_DIR".to_owned(), dir.display().to_string())],
            };
            arms.push(Arm { command: command.clone(), builds: dirs.iter().map(place).collect() });
        }
        self.warning.clone_from(&warning);
        building.done(warning.as_deref().unwrap_or("done"));
        Ok(arms)
    }

    /// Leaves the builds and their logs where an error says that they are.
    fn keep(&mut self) {
        self.scratch.disable_cleanup(true);
    }

    /// The plan that the options describe, for `arms`.
    pub(crate) fn plan(&self, arms: Vec<Arm>, blocks: u32, stop: Stop) -> Plan {
        let args = self.args;
        Plan {
            arms,
            metrics: self.metrics.clone(),
            // Too many to count are too many to run, which the plan says.
            blocks: blocks
                .checked_next_multiple_of(args.builds.unwrap_or(1).max(1))
                .unwrap_or(u32::MAX),
            stop,
            warmups: args.warmups,
            seed: self.seed,
            timeout: Duration::from_secs(args.timeout),
            equivalence_margin: args.margin.map(|percent| percent / 100.0),
            strict: args.strict,
            rule: (!args.keep_disturbed).then(Rule::default),
        }
    }

    /// Runs what is left of the campaign of this name.
    pub(crate) fn run(&self, plan: &Plan, key: &str, doing: &str) -> anyhow::Result<BenchReport> {
        self.run_as('B', plan, key, doing)
    }

    /// The same of one candidate, which has had this letter in another campaign and keeps it.
    pub(crate) fn run_as(
        &self,
        arm: char,
        plan: &Plan,
        key: &str,
        doing: &str,
    ) -> anyhow::Result<BenchReport> {
        let measuring = stage(doing, plan.blocks.into());
        let mut report = unlikely_measure::run(plan, &self.journal, key, &mut |at| {
            show(&measuring, &at);
        })
        .map_err(failed)?;
        if let Some(rest) = report.reason.strip_prefix("B changes") {
            report.reason = format!("{arm} changes{rest}");
        }
        report.arm = arm;
        measuring.done(&report.reason);
        report.provenance.warnings.extend(self.warning.clone());
        for other in &mut report.others {
            other.provenance.warnings.extend(self.warning.clone());
        }
        Ok(report)
    }

    /// Writes the runs in the forms of other tools, where that was asked for.
    pub(crate) fn export(&self, report: &BenchReport) -> anyhow::Result<()> {
        if let Some(path) = &self.args.export_hyperfine {
            export::hyperfine(path, report)?;
        }
        if let Some(path) = &self.args.export_go {
            export::go(path, report)?;
        }
        Ok(())
    }
}

/// Refuses a metric that is there twice: figures are told apart by its name.
fn once(metrics: &[Metric]) -> anyhow::Result<()> {
    let names: Vec<String> = metrics.iter().map(Metric::name).collect();
    let twice =
        names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|n| n == *name));
    match twice {
        Some((_, name)) => {
            Err(fail(Exit::Usage, format!("--metric {name}: give each metric once")))
        }
        None => Ok(()),
    }
}

/// Refuses a file that could not be written when all has been measured.
fn writable(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        let why = "cannot be written: name a file in a folder that exists";
        return Err(fail(Exit::Usage, format!("{} {why}", path.display())));
    }
    Ok(())
}

/// A seed from the clock and the process.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&now.as_nanos().to_le_bytes());
    hasher.update(&std::process::id().to_le_bytes());
    hasher.finalize().as_bytes().iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
}
