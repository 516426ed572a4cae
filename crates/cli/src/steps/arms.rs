//! The builds that are measured: the baseline and the patched tree, each once as the project
//! builds it, or several times with its functions in different places.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unlikely_measure::Build;
use unlikely_report::Fate;

use super::baseline::{Baseline, plain_build};
use super::check::Checked;
use super::patch::{Patches, edited};
use crate::progress::stage;
use crate::project::Project;
use crate::salt::effect::no_effect;
use crate::tree;
use crate::verbs::scan::Scanned;

/// What stands below the state folder, by name of the build.
const ARMS: &str = "arms.json";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Standing {
    fingerprint: String,
    names: Vec<String>,
}

/// What both arms are built from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub(crate) project: &'s Project,
    pub(crate) scanned: &'s Scanned,
    pub(crate) baseline: &'s Baseline,
    pub(crate) checked: &'s [Checked],
    pub(crate) patches: &'s Patches,
}

/// The builds of both arms; those of one index share their salt.
#[derive(Debug, Default)]
pub(crate) struct Arms {
    pub(crate) a: Vec<Build>,
    pub(crate) b: Vec<Build>,
    /// Why the salted builds are not what they should be, if they are not.
    pub(crate) warning: Option<String>,
}

impl Source<'_> {
    /// The patched tree, built as the project builds it.
    pub(crate) fn patched(&self) -> anyhow::Result<PathBuf> {
        let building = stage("building the patched tree", 0);
        let tree = self.build("arm-b", true, 0)?;
        building.done("done");
        Ok(tree)
    }

    /// Both arms, built with each of `salts` salts, or as the project builds them for one.
    pub(crate) fn arms(&self, salts: u32) -> anyhow::Result<Arms> {
        if salts < 2 {
            let a = vec![build(self.baseline.build.tree.clone())];
            return Ok(Arms { a, b: vec![build(self.patched()?)], warning: None });
        }
        let building = stage("building both arms with salted layouts", u64::from(salts) * 2);
        let mut arms = Arms::default();
        for salt in 1..=salts {
            for (patched, letter, builds) in [(false, 'a', &mut arms.a), (true, 'b', &mut arms.b)] {
                // Paths are equally long for both arms: a path's length moves the stack.
                let name = format!("salted-{letter}{salt:03}");
                builds.push(build(self.build(&name, patched, salt.into())?));
                building.step();
            }
        }
        arms.warning = self.no_effect(&arms);
        building.done(arms.warning.as_deref().unwrap_or("done"));
        Ok(arms)
    }

    /// Builds `name` unless the very same stands already; its tree.
    fn build(&self, name: &str, patched: bool, salt: u64) -> anyhow::Result<PathBuf> {
        let project = self.project;
        let build = plain_build(project, name, &self.baseline.compiler).salted(salt);
        let mut standing: Standing = project.load(ARMS).unwrap_or_default();
        if standing.fingerprint != self.patches.fingerprint {
            standing =
                Standing { fingerprint: self.patches.fingerprint.clone(), names: Vec::new() };
        }
        if standing.names.iter().any(|one| one == name) && build.tree.is_dir() {
            return Ok(build.tree);
        }
        standing.names.retain(|one| one != name);
        project.save(ARMS, &standing)?;
        tree::copy(&project.dir, &build.tree)?;
        if patched {
            let kept: Vec<&Checked> =
                self.checked.iter().filter(|hint| hint.fate == Fate::Kept).collect();
            for (path, text) in edited(self.scanned, &kept)? {
                tree::replace(&build.tree.join(path), &text)?;
            }
        }
        build.build(project)?;
        standing.names.push(name.to_owned());
        project.save(ARMS, &standing)?;
        Ok(build.tree)
    }

    /// Why the salts moved nothing, if they did not in any build of A.
    fn no_effect(&self, arms: &Arms) -> Option<String> {
        let build = plain_build(self.project, "salted-a001", &self.baseline.compiler).salted(1);
        let record = build.salting(self.project);
        let dirs: Vec<&Path> = arms.a.iter().map(|build| build.dir.as_path()).collect();
        no_effect(&dirs, &record)
    }
}

fn build(dir: PathBuf) -> Build {
    Build { dir, env: Vec::new() }
}
