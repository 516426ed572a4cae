//! `import`: take counts that were recorded elsewhere as one workload of this project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf, absolute};

use unlikely_profile::{Diagnostic, Severity};
use unlikely_report::Collector;

use super::record::{Recording, hash, tidy};
use crate::args::{ClassName, ImportArgs};
use crate::collect::import::{self, Inputs, Joined, Mapping, Moved};
use crate::config::{Class, FILE, is_plain_name};
use crate::exit::{Exit, fail};
use crate::output::print;
use crate::progress::warn;
use crate::project::Project;

/// Name of the collector of an imported recording.
const COLLECTOR: &str = "import";
/// Folders that are named when nothing matches.
const MOVED_MAX: usize = 3;

/// Runs the verb.
pub(crate) fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    if !is_plain_name(&args.workload) {
        let message = format!(
            "--workload {:?}: expected 1 to 64 letters, digits, '.', '_' or '-', not starting \
             with '.'",
            args.workload
        );
        return Err(fail(Exit::Usage, message));
    }
    let (dir, named) = folder_and_profiles(&args.paths)?;
    let project = Project::open(dir)?;
    let sources = project.texts()?;
    let mut inputs = import::read(named)?;
    let joined = join(&project, dir, &mut inputs, &args.map, &sources)?;
    let what = what_was_taken(&inputs);
    let files = joined.matched;
    keep(&project, args, &sources, joined, inputs, &what)?;
    print(&format!("imported workload {}: {what}, {files} files of the project\n", args.workload))?;
    Ok(Exit::Done)
}

/// The project's folder is the first path if it is one, else the current folder.
fn folder_and_profiles(paths: &[PathBuf]) -> anyhow::Result<(&Path, &[PathBuf])> {
    let (dir, named) = match paths {
        [first, rest @ ..] if first.join(FILE).is_file() => (first.as_path(), rest),
        all => (Path::new("."), all),
    };
    if named.is_empty() {
        let message = format!(
            "{}: name the profiles after the project's folder: files, or folders of .gcda and \
             .gcno",
            dir.display()
        );
        return Err(fail(Exit::Usage, message));
    }
    Ok((dir, named))
}

fn join(
    project: &Project,
    dir: &Path,
    inputs: &mut Inputs,
    mappings: &[Mapping],
    sources: &BTreeMap<String, Vec<u8>>,
) -> anyhow::Result<Joined> {
    if inputs.profile.files.is_empty() {
        let said: String = inputs.diagnostics.iter().map(|d| format!("\n  {}", named(d))).collect();
        return Err(fail(Exit::Usage, format!("no counts in what was named{said}")));
    }
    // Compilers write the path that they were called by, links and all.
    let called = absolute(dir)?;
    let profile = std::mem::take(&mut inputs.profile);
    let mut joined = import::into_project(profile, mappings, &[&called, &project.dir], sources);
    if joined.matched == 0 {
        return Err(nothing_matches(project, &joined.unmatched));
    }
    inputs.diagnostics.extend(drop_misnumbered(&mut joined, sources));
    if let Some(message) = left_out(&joined.unmatched) {
        inputs.diagnostics.push(Diagnostic::new(Severity::Note, "path-unmatched", message, None));
    }
    Ok(joined)
}

/// Drops the counts by line of files whose lines go by other numbers. Counts by column are those of
/// a compiler that does not follow `#line`.
fn drop_misnumbered(joined: &mut Joined, sources: &BTreeMap<String, Vec<u8>>) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    for (path, file) in &mut joined.profile.files {
        let by_line = file.regions.is_empty() || !file.arcs.is_empty();
        let misnumbered = |text: &Vec<u8>| import::is_misnumbered(path, text);
        if !by_line || !sources.get(path).is_some_and(misnumbered) {
            continue;
        }
        file.lines.clear();
        file.barriers.clear();
        file.arcs.clear();
        let message = format!(
            "{path} has #line directives that give its lines other numbers, so its counts by line \
             are set aside: build it without them (bison and flex: -l), or import llvm-cov JSON"
        );
        said.push(Diagnostic::new(Severity::Warning, "line-directive", message, Some(path)));
    }
    said
}

fn nothing_matches(project: &Project, unmatched: &[Moved]) -> anyhow::Error {
    let lines: String = unmatched
        .iter()
        .take(MOVED_MAX)
        .map(|moved| match moved.remedy() {
            Some(remedy) => format!("\n  {} ({} files): {remedy}", moved.prefix, moved.files),
            None => format!(
                "\n  {} ({} files): no file of the project has such a name",
                moved.prefix, moved.files
            ),
        })
        .collect();
    let dir = project.dir.display();
    fail(Exit::Usage, format!("no path in the profile names a source file of {dir}:{lines}"))
}

/// One sentence on the files that could be mapped but were not.
fn left_out(unmatched: &[Moved]) -> Option<String> {
    let moved = unmatched.iter().find(|m| m.here.is_some())?;
    let remedy = moved.remedy()?;
    Some(format!(
        "{} files below {} are not where the project has files of the same names; if they are the \
         same: {remedy}",
        moved.files, moved.prefix
    ))
}

fn what_was_taken(inputs: &Inputs) -> String {
    let kinds = inputs.kinds.iter().map(|(kind, files)| match files {
        1 => kind.to_string(),
        _ => format!("{kind}, {files} files"),
    });
    kinds.collect::<Vec<_>>().join(" and ")
}

fn keep(
    project: &Project,
    args: &ImportArgs,
    sources: &BTreeMap<String, Vec<u8>>,
    joined: Joined,
    inputs: Inputs,
    what: &str,
) -> anyhow::Result<()> {
    let name = &args.workload;
    let mut recording = recording(project, sources)?;
    let about = |text: &str| format!("{name}: {text}");
    recording.diagnostics.retain(|d| !d.message.starts_with(&about("")));
    let said: Vec<Diagnostic> = inputs
        .diagnostics
        .into_iter()
        .map(|d| Diagnostic { message: about(&named(&d)), ..d })
        .collect();
    let said = tidy(said);
    for d in said.iter().filter(|d| d.severity > Severity::Note) {
        warn(&d.message);
    }
    let class = class(project, args);
    recording.collector = collector(&recording, name, what);
    recording.add(project, name, class, (joined.profile, said))?;
    recording.keep(project)
}

/// What a diagnostic says, and of which file.
fn named(d: &Diagnostic) -> String {
    match &d.path {
        Some(path) if !d.message.contains(path.as_str()) => format!("{path}: {}", d.message),
        _ => d.message.clone(),
    }
}

/// The class as given, else as configured for a workload of this name.
fn class(project: &Project, args: &ImportArgs) -> &'static str {
    let configured = || {
        let mut all = project.config.workloads.iter().map(|w| w.get_ref());
        all.find(|w| w.name() == args.workload).map(|w| w.class)
    };
    match args.class {
        Some(ClassName::Application) => Class::Application.name(),
        Some(ClassName::Benchmark) => Class::Benchmark.name(),
        Some(ClassName::Stressor) => Class::Stressor.name(),
        None => configured().map_or("application", |class| class.name()),
    }
}

/// Says of each workload what its counts come from.
fn collector(recording: &Recording, name: &str, what: &str) -> Collector {
    let about = format!("{name}: ");
    let mut parts: Vec<&str> =
        recording.collector.why.split("; ").filter(|p| !p.is_empty()).collect();
    parts.retain(|part| !part.starts_with(&about));
    let this = format!("{about}{what}");
    parts.push(&this);
    Collector {
        name: COLLECTOR.to_owned(),
        version: format!("unlikely {}", env!("CARGO_PKG_VERSION")),
        why: parts.join("; "),
    }
}

/// The imported recording that is there, with only those counts that are of the present text;
/// else a new one.
fn recording(project: &Project, sources: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<Recording> {
    let blank =
        Collector { name: COLLECTOR.to_owned(), version: String::new(), why: String::new() };
    let fresh = Recording::new(blank, sources);
    let Ok(mut old) = Recording::load(project) else { return Ok(fresh) };
    if old.collector.name != COLLECTOR {
        warn(&format!(
            "this replaces the recording made with {}; to have it again: `unlikely record {}`",
            old.collector.name,
            project.dir.display()
        ));
        return Ok(fresh);
    }
    forget_changed(project, &mut old, sources)?;
    old.sources = fresh.sources;
    old.created_unix_s = fresh.created_unix_s;
    Ok(old)
}

/// Takes the counts of files that changed since out of the workloads imported before.
fn forget_changed(
    project: &Project,
    old: &mut Recording,
    sources: &BTreeMap<String, Vec<u8>>,
) -> anyhow::Result<()> {
    let changed: BTreeSet<String> = old
        .sources
        .iter()
        .filter(|(path, then)| sources.get(*path).is_some_and(|now| hash(now) != **then))
        .map(|(path, _)| path.clone())
        .collect();
    for workload in old.workloads.clone() {
        let mut profile = old.profile(project, &workload.name)?;
        let stale: Vec<String> =
            profile.files.keys().filter(|p| changed.contains(*p)).cloned().collect();
        if stale.is_empty() {
            continue;
        }
        profile.files.retain(|path, _| !stale.contains(path));
        let message = format!(
            "{}: {} changed since it was imported; its counts are set aside: import it again",
            workload.name,
            stale.join(", ")
        );
        warn(&message);
        let said = Diagnostic::new(Severity::Warning, "source-changed", message, None);
        old.add(project, &workload.name, &workload.class, (profile, vec![said]))?;
    }
    Ok(())
}
