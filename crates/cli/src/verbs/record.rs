//! `record`: build with coverage, run each workload, keep its counts apart.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use unlikely_profile::{Diagnostic, Profile, Severity};
use unlikely_report::Collector;
use unlikely_source::MacroTable;

use crate::args::CollectorName;
use crate::collect::Counted;
use crate::collect::gcov::Gcov;
use crate::collect::llvm::LlvmCov;
use crate::config::Config;
use crate::exit::{Exit, code, fail};
use crate::output::print;
use crate::progress::{stage, warn};
use crate::project::Project;
use crate::toolchain;

/// Schema of [`Recording`].
const SCHEMA: &str = "unlikely/recording/1";
/// Where it is kept.
const PATH: &str = "recording.json";

/// What a recording holds; the counts stand beside it, one file a workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Recording {
    pub(crate) schema: String,
    pub(crate) created_unix_s: u64,
    pub(crate) collector: Collector,
    pub(crate) workloads: Vec<RecordedWorkload>,
    /// Hash of each source file that was counted.
    pub(crate) sources: BTreeMap<String, String>,
    /// Hash of what decides the recording, to tell whether it is still of use.
    pub(crate) fingerprint: String,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// One workload of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecordedWorkload {
    pub(crate) name: String,
    pub(crate) class: String,
}

impl Recording {
    /// A recording made now, not yet kept.
    pub(crate) fn new(collector: Collector, sources: &BTreeMap<String, Vec<u8>>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            created_unix_s: now_unix_s(),
            collector,
            workloads: Vec::new(),
            sources: sources.iter().map(|(p, t)| (p.clone(), hash(t))).collect(),
            fingerprint: String::new(),
            diagnostics: Vec::new(),
        }
    }

    /// The kept recording, or the error that says how to make one.
    pub(crate) fn load(project: &Project) -> anyhow::Result<Self> {
        Self::find(project).ok_or_else(|| {
            let dir = project.dir.display();
            fail(Exit::Usage, format!("nothing is recorded yet: `unlikely record {dir}`"))
        })
    }

    fn find(project: &Project) -> Option<Self> {
        project.load::<Self>(PATH).filter(|r| r.schema == SCHEMA)
    }

    /// Keeps the counts of one workload.
    pub(crate) fn add(
        &mut self,
        project: &Project,
        name: &str,
        class: &str,
        (profile, diagnostics): Counted,
    ) -> anyhow::Result<()> {
        project.save(&profile_path(name), &profile)?;
        self.workloads.retain(|w| w.name != name);
        self.workloads.push(RecordedWorkload { name: name.to_owned(), class: class.to_owned() });
        self.diagnostics.extend(diagnostics);
        Ok(())
    }

    /// Keeps the recording itself.
    pub(crate) fn keep(&self, project: &Project) -> anyhow::Result<()> {
        project.save(PATH, self)
    }

    /// The counts of one workload.
    pub(crate) fn profile(&self, project: &Project, name: &str) -> anyhow::Result<Profile> {
        project.load(&profile_path(name)).ok_or_else(|| {
            let path = project.state(&profile_path(name));
            fail(Exit::Usage, format!("{}: unreadable; record again", path.display()))
        })
    }
}

fn profile_path(workload: &str) -> String {
    format!("counts/{workload}.json")
}

/// Runs the verb.
pub(crate) fn run(dir: &Path, collector: Option<CollectorName>) -> anyhow::Result<Exit> {
    let project = Project::open(dir)?;
    let recording = record(&project, collector)?;
    print(&format!(
        "recorded {} with {} ({})\n",
        recording.workloads.iter().map(|w| w.name.as_str()).collect::<Vec<_>>().join(", "),
        recording.collector.name,
        recording.collector.why
    ))?;
    for d in recording.diagnostics.iter().filter(|d| d.severity > Severity::Note) {
        warn(&d.message);
    }
    Ok(Exit::Done)
}

/// The recording of just this text, configuration and collector, made now if there is none.
pub(crate) fn recorded(
    project: &Project,
    collector: Option<CollectorName>,
) -> anyhow::Result<Recording> {
    let wanted = fingerprint(&project.config, &project.sources()?, collector);
    match Recording::find(project).filter(|r| r.fingerprint == wanted) {
        Some(recording) => Ok(recording),
        None => record(project, collector),
    }
}

fn record(project: &Project, wanted: Option<CollectorName>) -> anyhow::Result<Recording> {
    let workloads = project.config.workloads(&project.dir)?;
    let sources = project.sources()?;
    let mut table = MacroTable::default();
    for (path, text) in &sources {
        table.add(path, text);
    }
    project.forget(PATH)?;
    let building = stage("building with coverage", 0);
    let (collector, ready, diagnostics) = prepare(project, wanted, &sources, &table)?;
    building.done(&format!("{}: {}", collector.name, collector.why));
    let mut recording = Recording::new(collector, &sources);
    recording.diagnostics = diagnostics;
    let counting = stage("running workloads with coverage", workloads.len() as u64);
    for workload in workloads {
        counting.note(workload.name());
        let counted = ready.count(project, workload.name(), &workload.command)?;
        if counted.0.files.values().all(|f| f.lines.values().all(|n| *n == 0)) {
            return Err(no_counts(workload.name(), &counted.1));
        }
        recording.add(project, workload.name(), workload.class.name(), counted)?;
        counting.step();
    }
    counting.done(&format!("{} kept", recording.workloads.len()));
    recording.diagnostics = tidy(std::mem::take(&mut recording.diagnostics));
    recording.fingerprint = fingerprint(&project.config, &sources, wanted);
    recording.keep(project)?;
    Ok(recording)
}

/// Diagnostics of one kind that are named one by one.
const NAMED_MAX: usize = 3;

/// The same said of many files is said once.
pub(crate) fn tidy(all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kinds: Vec<(String, Vec<Diagnostic>)> = Vec::new();
    for d in all {
        match kinds.iter_mut().find(|(code, _)| *code == d.code) {
            Some((_, same)) if same.contains(&d) => {}
            Some((_, same)) => same.push(d),
            None => kinds.push((d.code.clone(), vec![d])),
        }
    }
    let mut out = Vec::new();
    for (_, mut same) in kinds {
        let more = same.len().saturating_sub(NAMED_MAX);
        if more > 0 {
            same.truncate(NAMED_MAX);
            if let Some(last) = same.last_mut() {
                last.message.push_str(&format!(" (and {more} more of this kind)"));
            }
        }
        out.extend(same);
    }
    out
}

fn no_counts(workload: &str, said: &[Diagnostic]) -> anyhow::Error {
    let said: String = said.iter().map(|d| format!("\n  {}", d.message)).collect();
    fail(
        Exit::Workload,
        format!(
            "workload {workload} ran, but nothing was counted: it must run the program that the \
             build makes in its own tree (a relative path), and that program must end by itself, \
             not by a signal or _exit{said}"
        ),
    )
}

/// A tree built for counting.
enum Ready {
    Gcov(Gcov),
    Llvm(LlvmCov),
}

impl Ready {
    fn count(&self, project: &Project, name: &str, command: &str) -> anyhow::Result<Counted> {
        match self {
            Self::Gcov(gcov) => gcov.count(project, name, command),
            Self::Llvm(llvm) => llvm.count(project, name, command),
        }
    }
}

/// Builds for the wanted collector; if none is named, for llvm where clang is there and builds
/// the project, else for gcov.
fn prepare(
    project: &Project,
    wanted: Option<CollectorName>,
    sources: &BTreeMap<String, Vec<u8>>,
    table: &MacroTable,
) -> anyhow::Result<(Collector, Ready, Vec<Diagnostic>)> {
    let why_not = match (wanted, toolchain::llvm()) {
        (Some(CollectorName::Gcov), _) => "asked for".to_owned(),
        (Some(CollectorName::Llvm), None) => {
            let tools = "clang, llvm-profdata and llvm-cov of one release are not installed; \
                         `unlikely doctor` says how to";
            return Err(fail(Exit::Tool, tools));
        }
        (None, None) => "clang with llvm-profdata and llvm-cov is not installed".to_owned(),
        (_, Some(tools)) => match LlvmCov::prepare(project, &tools) {
            Ok(ready) => {
                let why = match wanted {
                    Some(_) => "asked for",
                    None => "clang builds the project, and its counts are exact to the column",
                };
                let collector = Collector {
                    name: "llvm".to_owned(),
                    version: tools.clang.version.clone(),
                    why: why.to_owned(),
                };
                return Ok((collector, Ready::Llvm(ready), Vec::new()));
            }
            Err(error) if wanted.is_some() || code(&error) != Exit::Build => return Err(error),
            Err(_) => "clang does not build the project (log/llvm-build.log)".to_owned(),
        },
    };
    let gcc = gcc_for(&project.config)?;
    let (ready, diagnostics) = Gcov::prepare(project, &gcc, sources, table)?;
    let collector = Collector { name: "gcov".to_owned(), version: gcc.version, why: why_not };
    Ok((collector, Ready::Gcov(ready), diagnostics))
}

/// The project's own compiler where it is a GCC, else `gcc`.
fn gcc_for(config: &Config) -> anyhow::Result<toolchain::Tool> {
    let own = &config.build.cc;
    let name = if own.contains("gcc") { own.as_str() } else { "gcc" };
    toolchain::need(name)
}

fn fingerprint(
    config: &Config,
    sources: &BTreeMap<String, Vec<u8>>,
    collector: Option<CollectorName>,
) -> String {
    let mut hasher = blake3::Hasher::new();
    // The debug form covers every field that there is.
    hasher.update(
        format!("{SCHEMA} {collector:?} {:?} {:?}", config.build, config.workloads).as_bytes(),
    );
    for (path, text) in sources {
        hasher.update(path.as_bytes());
        hasher.update(blake3::hash(text).as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Hash of a source text, as kept in a recording.
pub(crate) fn hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex().to_string()
}

/// Seconds since the epoch.
pub(crate) fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
