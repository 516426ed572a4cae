//! The llvm collector: clang's source-based coverage, exact to the column.

use std::collections::BTreeMap;
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
use crate::toolchain::Llvm;
use crate::tree;

const COMPILE: [&str; 5] =
    ["-fprofile-instr-generate", "-fcoverage-mapping", "-fprofile-update=atomic", "-fno-lto", "-w"];
/// The build id tells which program a profile is of: functions of the same name and shape in two
/// programs would else take each other's counts.
const LINK: [&str; 3] = ["-fprofile-instr-generate", "-fno-lto", "-Wl,--build-id"];
/// Section that a program with a coverage mapping has.
const MAPPING: &str = "__llvm_covmap";

/// A tree built for counting with clang.
#[derive(Debug)]
pub(crate) struct LlvmCov {
    build: PrivateBuild,
    tools: Llvm,
    /// The programs and libraries with a coverage mapping, by build id in hexadecimal.
    objects: BTreeMap<String, PathBuf>,
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
            salt: 0,
        };
        tree::copy(&project.dir, &build.tree)?;
        build.build(project)?;
        let objects: BTreeMap<String, PathBuf> = files_below(&build.tree, |_| true)
            .into_iter()
            .filter_map(|path| Some((mapped_build_id(&path)?, path)))
            .collect();
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
        // A pool of four files a build id: processes merge their counts into it under a lock.
        let pattern = raw.join("%b-%4m.profraw").display().to_string();
        let extra = Some(("LLVM_PROFILE_FILE".to_owned(), pattern));
        self.build.workload(project, name, command, extra)?;
        let files = files_below(&raw, |p| has_extension(p, "profraw"));
        let mut profile = Profile::default();
        let mut diagnostics = Vec::new();
        for (id, object) in &self.objects {
            let own = |file: &&PathBuf| {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                name.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with('-'))
            };
            let own: Vec<&PathBuf> = files.iter().filter(own).collect();
            if !own.is_empty() {
                let (more, said) =
                    self.export(&raw.join(format!("{id}.profdata")), &own, object)?;
                profile.merge(more);
                diagnostics.extend(said);
            }
        }
        let root = format!("{}/", self.build.tree.display());
        for d in &mut diagnostics {
            d.message = d.message.replace(&root, "");
            d.path = d.path.take().map(|p| p.replace(&root, ""));
        }
        Ok((relative_to(&self.build.tree, profile), diagnostics))
    }

    /// The counts of one program.
    fn export(&self, merged: &Path, raw: &[&PathBuf], object: &Path) -> anyhow::Result<Counted> {
        self.tool(&self.tools.profdata, |c| {
            c.arg("merge").arg("-o").arg(merged).args(raw);
        })?;
        let json = self.tool(&self.tools.cov, |c| {
            c.arg("export").arg("-instr-profile").arg(merged).arg("-object").arg(object);
        })?;
        Ok(llvm_cov::read(&json, "llvm-cov"))
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

/// The build id of a program or library that has a coverage mapping.
fn mapped_build_id(path: &Path) -> Option<String> {
    let data = fs::read(path).ok().filter(|data| data.starts_with(b"\x7fELF"))?;
    let file = object::File::parse(&*data).ok()?;
    let linked = matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic);
    if !linked || file.section_by_name(MAPPING).is_none() {
        return None;
    }
    let id = file.build_id().ok().flatten()?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
