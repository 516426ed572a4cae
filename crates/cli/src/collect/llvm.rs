//! The llvm collector: clang's source-based coverage, exact to the column.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use object::{Object, ObjectKind};
use unlikely_profile::{Profile, llvm_cov};

use super::{Counted, files_below, has_extension, relative_to};
use crate::build::PrivateBuild;
use crate::exit::{Exit, fail};
use crate::project::Project;
use crate::shell;
use crate::toolchain::Llvm;
use crate::tree;

const COMPILE: [&str; 5] =
    ["-fprofile-instr-generate", "-fcoverage-mapping", "-fprofile-update=atomic", "-fno-lto", "-w"];
const LINK: [&str; 2] = ["-fprofile-instr-generate", "-fno-lto"];
/// Section that a program with a coverage mapping has.
const MAPPING: &str = "__llvm_covmap";

/// A tree built for counting with clang.
#[derive(Debug)]
pub(crate) struct LlvmCov {
    build: PrivateBuild,
    tools: Llvm,
    /// The programs and libraries with a coverage mapping.
    objects: Vec<PathBuf>,
}

impl LlvmCov {
    /// Copies the project and builds it.
    pub(crate) fn prepare(project: &Project, tools: &Llvm) -> anyhow::Result<Self> {
        let build = PrivateBuild {
            name: "llvm".to_owned(),
            tree: project.state("cov"),
            compiler: tools.clang.path.clone(),
            compile_flags: COMPILE.map(str::to_owned).to_vec(),
            link_flags: LINK.map(str::to_owned).to_vec(),
        };
        tree::copy(&project.dir, &build.tree)?;
        build.build(project)?;
        let objects = files_below(&build.tree, has_mapping);
        if objects.is_empty() {
            let why = "the build made no program with a coverage mapping: does it use $CC?";
            return Err(fail(Exit::Build, why));
        }
        Ok(Self { build, tools: tools.clone(), objects })
    }

    /// Runs one workload and counts it alone.
    pub(crate) fn count(
        &self,
        project: &Project,
        name: &str,
        command: &str,
    ) -> anyhow::Result<Counted> {
        let raw = project.state("raw");
        if raw.exists() {
            fs::remove_dir_all(&raw).with_context(|| format!("{}", raw.display()))?;
        }
        fs::create_dir_all(&raw).with_context(|| format!("{}", raw.display()))?;
        let mut env = self.build.env(project)?;
        // A pool of four files per program: processes merge their counts into it under a lock.
        let pattern = raw.join("%4m.profraw").display().to_string();
        env.push(("LLVM_PROFILE_FILE".to_owned(), pattern));
        let log = project.state(&format!("log/llvm-workload-{name}.log"));
        let what = format!("workload {name}");
        shell::run(&what, command, &self.build.tree, &env, &log, Exit::Workload)?;
        let files = files_below(&raw, |p| has_extension(p, "profraw"));
        if files.is_empty() {
            return Ok((Profile::default(), Vec::new()));
        }
        let merged = raw.join("merged.profdata");
        self.tool(&self.tools.profdata, |c| {
            c.arg("merge").arg("-o").arg(&merged).args(&files);
        })?;
        let json = self.tool(&self.tools.cov, |c| {
            c.arg("export").arg("-instr-profile").arg(&merged);
            for object in &self.objects {
                c.arg("-object").arg(object);
            }
        })?;
        let (profile, diagnostics) = llvm_cov::read(&json, "llvm-cov");
        Ok((relative_to(&self.build.tree, profile), diagnostics))
    }

    fn tool(&self, path: &Path, arguments: impl FnOnce(&mut Command)) -> anyhow::Result<Vec<u8>> {
        let mut command = Command::new(path);
        arguments(&mut command);
        let out = command
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {}", path.display()))?;
        if !out.status.success() {
            let said = String::from_utf8_lossy(&out.stderr);
            let message = format!("{} failed: {}", path.display(), said.trim());
            return Err(fail(Exit::System, message));
        }
        Ok(out.stdout)
    }
}

fn has_mapping(path: &Path) -> bool {
    let Ok(data) = fs::read(path) else { return false };
    if !data.starts_with(b"\x7fELF") {
        return false;
    }
    object::File::parse(&*data).is_ok_and(|file| {
        matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic)
            && file.section_by_name(MAPPING).is_some()
    })
}
