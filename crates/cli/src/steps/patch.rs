//! One patch a hint and one for all, each built and tested before anybody sees it.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};
use unlikely_report::Fate;
use unlikely_source::{HintEdit, apply, same_without_hints, unified_diff};

use super::baseline::{Baseline, plain_build};
use super::check::Checked;
use crate::build::PrivateBuild;
use crate::exit::{Exit, code, fail};
use crate::progress::stage;
use crate::project::Project;
use crate::tree;
use crate::verbs::scan::Scanned;

/// Verdicts on patches that were built and tested before, by [`key`].
const VERIFIED: &str = "verified.json";

/// The patches.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    /// One a checked hint, in the same order; empty where there is none. Bytes, since source need
    /// not be UTF-8.
    pub(crate) single: Vec<Vec<u8>>,
    /// All kept hints; empty if none is.
    pub(crate) combined: Vec<u8>,
    /// Hash of the combined patch and the baseline.
    pub(crate) fingerprint: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Verified {
    /// Why the patch fails; `None` if it builds and passes.
    verdicts: BTreeMap<String, Option<String>>,
}

/// Writes the patches of every kept hint; withdraws those that do not build or break the tests.
pub(crate) fn patch(
    project: &Project,
    scanned: &Scanned,
    baseline: &Baseline,
    checked: &mut [Checked],
) -> anyhow::Result<Patches> {
    let mut bench = Bench {
        project,
        scanned,
        baseline,
        verified: project.load(VERIFIED).unwrap_or_default(),
        tree: None,
    };
    let kept = checked.iter().filter(|c| c.fate == Fate::Kept).count();
    let testing = stage("building and testing each patch", kept as u64);
    let mut single = Vec::new();
    for hint in checked.iter_mut() {
        if hint.fate != Fate::Kept {
            single.push(Vec::new());
            continue;
        }
        let (patch, why) = bench.verdict(&[hint])?;
        if let Some(why) = why {
            hint.fate = Fate::Withdrawn;
            hint.reason = why;
        }
        single.push(patch);
        testing.step();
    }
    // Each passed alone. Should they fail together, the lowest in rank gives way.
    let combined = loop {
        let together: Vec<&Checked> = checked.iter().filter(|c| c.fate == Fate::Kept).collect();
        if together.is_empty() {
            break Vec::new();
        }
        let (patch, why) = bench.verdict(&together)?;
        let Some(why) = why else { break patch };
        let last = checked.iter_mut().rev().find(|c| c.fate == Fate::Kept);
        if let Some(last) = last {
            last.fate = Fate::Withdrawn;
            last.reason = format!("passes alone, but not together with the others: {why}");
        }
    };
    let kept = checked.iter().filter(|c| c.fate == Fate::Kept).count();
    testing.done(&format!("{kept} build and pass"));
    let fingerprint = key(&combined, baseline);
    write_out(project, scanned, checked, &single, &combined)?;
    Ok(Patches { single, combined, fingerprint })
}

/// Where patches are tried.
struct Bench<'s> {
    project: &'s Project,
    scanned: &'s Scanned,
    baseline: &'s Baseline,
    verified: Verified,
    tree: Option<PrivateBuild>,
}

impl Bench<'_> {
    /// The patch of these hints, and why it fails if it does.
    fn verdict(&mut self, hints: &[&Checked]) -> anyhow::Result<(Vec<u8>, Option<String>)> {
        let edited = edited(self.scanned, hints)?;
        let Some(patch) = self.diff(&edited) else {
            let why = "the text there is not plain C: the edit could change more than a hint";
            return Ok((Vec::new(), Some(why.to_owned())));
        };
        let key = key(&patch, self.baseline);
        if let Some(known) = self.verified.verdicts.get(&key) {
            return Ok((patch, known.clone()));
        }
        let why = match self.try_out(&edited) {
            Ok(()) => None,
            Err(error) if matches!(code(&error), Exit::Build | Exit::Test) => {
                Some(format!("{error:#}"))
            }
            Err(error) => return Err(error),
        };
        self.verified.verdicts.insert(key, why.clone());
        self.project.save(VERIFIED, &self.verified)?;
        Ok((patch, why))
    }

    /// The diff of the edited files; `None` if it would change more than hints, by the lexer's
    /// reading of them, which shares nothing with the parser that placed the edits.
    fn diff(&self, edited: &BTreeMap<String, Vec<u8>>) -> Option<Vec<u8>> {
        let mut patch = Vec::new();
        for (path, after) in edited {
            let before = self.scanned.sources.get(path)?;
            if !same_without_hints(before, after, &self.scanned.table) {
                return None;
            }
            patch.extend(unified_diff(path, before, after));
        }
        Some(patch)
    }

    fn try_out(&mut self, edited: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
        let build = match self.tree.take() {
            Some(build) => build,
            None => {
                // A build of its own, not a copy of one: CMake and Meson write the tree's path
                // into what they make, and would go on building there.
                let build = plain_build(self.project, "verify", &self.baseline.compiler);
                tree::copy(&self.project.dir, &build.tree)?;
                build.build(self.project)?;
                build
            }
        };
        for (path, text) in edited {
            tree::replace(&build.tree.join(path), text)?;
        }
        let result = build.build(self.project).and_then(|()| build.test(self.project));
        for path in edited.keys() {
            tree::replace(&build.tree.join(path), &self.scanned.sources[path])?;
        }
        self.tree = Some(build);
        result
    }
}

/// The text of every file that the hints touch, with them.
pub(crate) fn edited(
    scanned: &Scanned,
    hints: &[&Checked],
) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut edits: BTreeMap<&str, Vec<HintEdit>> = BTreeMap::new();
    for hint in hints {
        let file = scanned.advice.targets[hint.index].file.as_str();
        edits.entry(file).or_default().push(hint.edit.clone());
    }
    let mut out = BTreeMap::new();
    for (file, edits) in edits {
        let before = scanned.sources.get(file).map_or(&[][..], Vec::as_slice);
        let after =
            apply(before, &edits).map_err(|e| fail(Exit::System, format!("{file}: {e}")))?;
        out.insert(file.to_owned(), after);
    }
    Ok(out)
}

fn key(patch: &[u8], baseline: &Baseline) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(patch);
    hasher.update(baseline.fingerprint.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// `patches/NN-FILE-LINE.patch` and `patches/combined.patch`.
fn write_out(
    project: &Project,
    scanned: &Scanned,
    checked: &[Checked],
    single: &[Vec<u8>],
    combined: &[u8],
) -> anyhow::Result<()> {
    let folder = project.state("patches");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let kept = checked.iter().zip(single).filter(|(c, _)| c.fate == Fate::Kept);
    for (n, (hint, patch)) in kept.enumerate() {
        let target = &scanned.advice.targets[hint.index];
        let file = target.file.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
        let line = target.condition.start.line;
        let path = format!("patches/{:02}-{file}-{line}.patch", n + 1);
        project.save_bytes(&path, patch)?;
    }
    if !combined.is_empty() {
        project.save_bytes("patches/combined.patch", combined)?;
    }
    Ok(())
}
