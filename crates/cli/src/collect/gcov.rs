//! The gcov collector: GCC with the project's own flags, every condition probed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use unlikely_profile::probe::{Probe, ProbedFile, resolve};
use unlikely_profile::{Diagnostic, Pos, Profile, Severity, gcda, gcno, gcov_json};
use unlikely_source::{MacroTable, has_line_directive, probe, sites};

use super::{Counted, files_below, has_extension, relative_to};
use crate::build::PrivateBuild;
use crate::exit::{Exit, code};
use crate::project::Project;
use crate::toolchain::{Tool, gcov_of};
use crate::tree;

/// Added to every compilation. Without early inlining each line belongs to its own function;
/// atomic updates keep counts right in threaded programs; the warnings of rewritten text are
/// nobody's concern; the counts of an LTO build lose their lines.
const COMPILE: [&str; 5] =
    ["--coverage", "-fprofile-update=prefer-atomic", "-fno-early-inlining", "-fno-lto", "-w"];
const LINK: [&str; 2] = ["--coverage", "-fno-lto"];
/// Builds in which probes that do not compile are taken back, before all of them are.
const ROUNDS_MAX: usize = 8;
/// Data files that one call of gcov reads.
const BATCH: usize = 64;

/// A tree built for counting with gcov.
#[derive(Debug)]
pub(crate) struct Gcov {
    build: PrivateBuild,
    gcov: PathBuf,
    probed: Vec<ProbedFile>,
}

impl Gcov {
    /// Copies the project, probes its conditions and builds it.
    pub(crate) fn prepare(
        project: &Project,
        gcc: &Tool,
        sources: &BTreeMap<String, Vec<u8>>,
        table: &MacroTable,
    ) -> anyhow::Result<(Self, Vec<Diagnostic>)> {
        let build = PrivateBuild {
            name: "gcov".to_owned(),
            tree: project.state("cov"),
            compiler: gcc.path.clone(),
            compile_flags: COMPILE.map(str::to_owned).to_vec(),
            link_flags: LINK.map(str::to_owned).to_vec(),
            salt: 0,
        };
        let gcov = gcov_of(&gcc.path)?;
        let mut this = Self { build, gcov, probed: Vec::new() };
        let mut bare = Bare::default();
        for round in 0.. {
            tree::copy(&project.dir, &this.build.tree)?;
            this.probed = match round {
                ROUNDS_MAX => Vec::new(),
                _ => write_probes(&this.build.tree, sources, table, &bare)?,
            };
            let Err(error) = this.build.build(project) else { break };
            if code(&error) != Exit::Build || this.probed.is_empty() {
                return Err(error);
            }
            if !this.blame(project, &mut bare) {
                // Nothing to blame: the whole text as it is, then.
                bare.files.extend(sources.keys().cloned());
            }
        }
        let mut diagnostics = bare.diagnostics();
        diagnostics.extend(sources.iter().filter(|(_, text)| has_line_directive(text)).map(
            |(path, _)| {
                let text = "has #line directives: its counts go to the files that they name. To \
                            have it counted itself, generate it without them (bison -l, flex -L)";
                Diagnostic::new(
                    Severity::Note,
                    "line-directive",
                    format!("{path} {text}"),
                    Some(path),
                )
            },
        ));
        Ok((this, diagnostics))
    }

    /// Adds to `bare` what the compiler complained of; whether that is anything new.
    fn blame(&self, project: &Project, bare: &mut Bare) -> bool {
        let log = fs::read(self.build.log(project, "build")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let before = bare.clone();
        let mut whole: Option<&str> = None;
        for said in log.lines() {
            let is_error = said.contains(": error:");
            // An error in a macro is reported where the macro is defined; its use is a note.
            if !is_error && !said.contains(": note: in expansion of macro") {
                continue;
            }
            if is_error {
                bare.files.extend(whole.take().map(str::to_owned));
            }
            let mut parts = said.split(':');
            let (Some(name), Some(line)) = (parts.next(), parts.next()) else { continue };
            let Some(file) = self.probed.iter().find(|f| is_called(&f.path, name)) else {
                continue;
            };
            let line = line.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let line = line.and_then(|n| file.line_map.get(n)).copied();
            let is_on = |line: &u32| {
                file.probes.iter().any(|p| p.start.line <= *line && *line <= p.end.line)
            };
            match line.filter(is_on) {
                Some(line) => {
                    bare.lines.entry(file.path.clone()).or_default().insert(line);
                    whole = None;
                }
                None if is_error => whole = Some(&file.path),
                None => {}
            }
        }
        bare.files.extend(whole.map(str::to_owned));
        *bare != before
    }

    /// Runs one workload and counts it alone.
    pub(crate) fn count(
        &self,
        project: &Project,
        name: &str,
        command: &str,
    ) -> anyhow::Result<Counted> {
        for file in self.data_files() {
            fs::remove_file(&file).with_context(|| format!("{}", file.display()))?;
        }
        self.build.workload(project, name, command, None)?;
        let (profile, mut diagnostics) = self.read()?;
        let (profile, more) = resolve(profile, &self.probed);
        // A project has files that a workload's program is not made of: no news.
        let counted = |d: &Diagnostic| {
            d.path
                .as_ref()
                .is_none_or(|p| profile.files.get(p).is_some_and(|f| !f.lines.is_empty()))
        };
        diagnostics.extend(more.into_iter().filter(counted));
        Ok((profile, diagnostics))
    }

    fn data_files(&self) -> Vec<PathBuf> {
        files_below(&self.build.tree, |p| has_extension(p, "gcda"))
    }

    fn read(&self) -> anyhow::Result<Counted> {
        let (profile, diagnostics) = read_folder(&self.gcov, &self.build.tree)?;
        Ok((relative_to(&self.build.tree, profile), diagnostics))
    }
}

/// Reads every data file below `folder`: by this project's own reader, which keeps inlined copies
/// apart, and through gcov where the compiler's version is not one that the reader knows.
pub(crate) fn read_folder(gcov: &Path, folder: &Path) -> anyhow::Result<Counted> {
    let mut profile = Profile::default();
    let mut diagnostics = Vec::new();
    let mut unknown = Vec::new();
    for data in files_below(folder, |p| has_extension(p, "gcda")) {
        let bytes = fs::read(&data).with_context(|| format!("{}", data.display()))?;
        let notes = data.with_extension("gcno");
        let (graphs, said) = match fs::read(&notes) {
            Ok(bytes) => {
                let (graphs, said) = gcno::read(&bytes, &notes.display().to_string());
                (Some(graphs), said)
            }
            Err(_) => (None, Vec::new()),
        };
        if said.iter().any(|d| d.code == "unsupported-version" || d.code == "unknown-version") {
            unknown.push(data);
            continue;
        }
        diagnostics.extend(said);
        let (more, said) = gcda::merge(graphs.as_ref(), &bytes, &data.display().to_string());
        profile.merge(more);
        diagnostics.extend(said);
    }
    let (more, said) = ask_gcov(gcov, folder, &unknown)?;
    profile.merge(more);
    diagnostics.extend(said);
    Ok((profile, diagnostics))
}

fn ask_gcov(gcov: &Path, folder: &Path, files: &[PathBuf]) -> anyhow::Result<Counted> {
    let mut profile = Profile::default();
    let mut diagnostics = Vec::new();
    for batch in files.chunks(BATCH) {
        let out = Command::new(gcov)
            .args(["--json-format", "--stdout", "--branch-probabilities"])
            .args(batch)
            .current_dir(folder)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {}", gcov.display()))?;
        let (more, said) = gcov_json::read(&out.stdout, "gcov");
        profile.merge(more);
        diagnostics.extend(said);
        let errors = String::from_utf8_lossy(&out.stderr);
        for line in errors.lines().filter(|l| !l.trim().is_empty()) {
            diagnostics.push(gcov_complaint(line));
        }
    }
    Ok((profile, diagnostics))
}

/// A line that gcov printed on stderr.
fn gcov_complaint(line: &str) -> Diagnostic {
    let path = line.split(':').next().filter(|p| p.contains('.'));
    let (code, remedy) = if line.contains("stamp mismatch") {
        ("stamp-mismatch", "the data are of another build: rebuild and record again")
    } else if line.contains("cannot open notes file") {
        ("gcno-missing", "the .gcno that the compiler wrote must stand beside the .gcda")
    } else {
        ("gcov", "these data are set aside")
    };
    Diagnostic::new(Severity::Warning, code, format!("{line}; {remedy}"), path)
}

/// What does not compile when it is probed, and stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bare {
    files: BTreeSet<String>,
    /// Lines of files, whose conditions are left alone.
    lines: BTreeMap<String, BTreeSet<u32>>,
}

impl Bare {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let say = |path: &str, message: String| {
            Diagnostic::new(Severity::Warning, "unprobed", message, Some(path))
        };
        let whole = self.files.iter().map(|path| {
            let text = "does not compile with its conditions probed; it is counted by line only";
            say(path, format!("{path} {text}"))
        });
        let some = self.lines.iter().filter(|(path, _)| !self.files.contains(*path));
        let lines = some.map(|(path, lines)| {
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            let text = "conditions do not compile when probed and are not counted: lines";
            say(path, format!("{path}: {text} {}", lines.join(", ")))
        });
        whole.chain(lines).collect()
    }
}

/// Whether a compiler that prints `name` may mean the project's `path`.
fn is_called(path: &str, name: &str) -> bool {
    let mut name = name;
    while let Some(rest) = name.strip_prefix("./").or_else(|| name.strip_prefix("../")) {
        name = rest;
    }
    path == name || path.ends_with(&format!("/{name}")) || name.ends_with(&format!("/{path}"))
}

/// Writes the probed text of every source file that has conditions, but for what is `bare`.
fn write_probes(
    tree: &Path,
    sources: &BTreeMap<String, Vec<u8>>,
    table: &MacroTable,
    bare: &Bare,
) -> anyhow::Result<Vec<ProbedFile>> {
    let mut out = Vec::new();
    let none = BTreeSet::new();
    for (path, text) in sources.iter().filter(|(path, _)| !bare.files.contains(*path)) {
        let except = bare.lines.get(path).unwrap_or(&none);
        let Some(probed) = probe(text, &sites(text, table), except) else { continue };
        let target = tree.join(path);
        let modified = fs::metadata(&target).and_then(|m| m.modified()).ok();
        tree::replace(&target, &probed.text)?;
        // Newer sources would make a build regenerate what is made from them.
        if let Some(modified) = modified {
            fs::File::options().write(true).open(&target)?.set_modified(modified)?;
        }
        let pos = |p: unlikely_source::Pos| Pos { line: p.line, column: p.column };
        out.push(ProbedFile {
            path: path.clone(),
            probes: probed
                .probes
                .iter()
                .map(|p| Probe {
                    start: pos(p.start),
                    end: pos(p.end),
                    true_line: p.true_line,
                    false_line: p.false_line,
                })
                .collect(),
            line_map: probed.line_map,
        });
    }
    Ok(out)
}
