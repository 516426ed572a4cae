//! The baseline: the project as it is, built as its users build it, its tests passing.

use std::fs;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use unlikely_codegen::Unit;

use crate::build::PrivateBuild;
use crate::exit::{Exit, fail};
use crate::progress::stage;
use crate::project::Project;
use crate::toolchain::{self, Tool};
use crate::tree;

const PATH: &str = "baseline.json";

/// A baseline build whose tests passed.
#[derive(Debug)]
pub(crate) struct Baseline {
    pub(crate) build: PrivateBuild,
    pub(crate) compiler: Tool,
    pub(crate) units: Vec<Unit>,
    /// Hash of the text and of the commands that made it.
    pub(crate) fingerprint: String,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    fingerprint: String,
    units: Vec<Unit>,
}

/// A plain build in the state folder `name`, by the project's own compiler.
pub(crate) fn plain_build(project: &Project, name: &str, compiler: &Tool) -> PrivateBuild {
    PrivateBuild {
        name: name.to_owned(),
        tree: project.state(name),
        compiler: compiler.path.clone(),
        compile_flags: Vec::new(),
        link_flags: Vec::new(),
        salt: 0,
    }
}

/// Builds and tests the baseline, unless the very same stands already.
pub(crate) fn baseline(project: &Project) -> anyhow::Result<Baseline> {
    let compiler = toolchain::need(&project.config.build.cc)?;
    // Both arms' paths are equally long: a path's length moves the stack.
    let build = plain_build(project, "arm-a", &compiler);
    let fingerprint = fingerprint(project, &compiler)?;
    if let Some(kept) = project.load::<Kept>(PATH).filter(|k| k.fingerprint == fingerprint)
        && build.tree.is_dir()
    {
        return Ok(Baseline { build, compiler, units: kept.units, fingerprint });
    }
    let building = stage("building the baseline", 0);
    project.forget(PATH)?;
    tree::copy(&project.dir, &build.tree)?;
    build.forget_calls(project)?;
    build.build(project)?;
    let units = build.units(project);
    if units.is_empty() {
        let why = "the build command compiled no C file of the project through $CC: it must build \
                   from source, with the compiler that CC names";
        return Err(fail(Exit::Build, why));
    }
    let plural = if units.len() == 1 { "" } else { "s" };
    building.done(&format!("{} translation unit{plural}", units.len()));
    let testing = stage("testing the baseline", 0);
    build.test(project)?;
    testing.done("its tests pass");
    project.save(PATH, &Kept { fingerprint: fingerprint.clone(), units: units.clone() })?;
    Ok(Baseline { build, compiler, units, fingerprint })
}

/// Every file of the project decides what is built, not the sources alone.
fn fingerprint(project: &Project, compiler: &Tool) -> anyhow::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let config = &project.config;
    let test = config.test.command.get_ref();
    hasher.update(format!("{:?} {test:?} {compiler:?}", config.build).as_bytes());
    for (path, file) in tree::files(&project.dir)? {
        hasher.update(path.as_bytes());
        let bytes = fs::read(&file).with_context(|| format!("{}", file.display()))?;
        hasher.update(blake3::hash(&bytes).as_bytes());
    }
    Ok(hasher.finalize().to_hex().to_string())
}
