//! Private builds: the project's own command in a copy of its tree, behind the compiler wrapper.

use std::fs;
use std::path::{Path, PathBuf};

use unlikely_codegen::Unit;

use crate::exit::Exit;
use crate::project::{Project, is_inside};
use crate::salt::{self, Record};
use crate::shell;
use crate::wrapper::{self, Call, Orders, is_c_source};

/// The placeholder for the tree's root in a [`Unit`].
const TREE: &str = "{tree}";

/// A private build of the project.
#[derive(Debug)]
pub(crate) struct PrivateBuild {
    /// `gcov`, `llvm`, `arm-a` …: names the log and the wrapper's folder.
    pub(crate) name: String,
    pub(crate) tree: PathBuf,
    /// The real compiler.
    pub(crate) compiler: PathBuf,
    pub(crate) compile_flags: Vec<String>,
    pub(crate) link_flags: Vec<String>,
    /// Decides where its functions lie; 0 leaves that to the compiler and the linker.
    pub(crate) salt: u64,
}

impl PrivateBuild {
    /// The same build with the layout of `salt`.
    pub(crate) fn salted(mut self, salt: u64) -> Self {
        self.salt = salt;
        self
    }

    /// What became of its objects; empty if it is not salted.
    pub(crate) fn salting(&self, project: &Project) -> Record {
        Record::read(&self.record(project))
    }

    /// Runs the project's build command in the tree.
    pub(crate) fn build(&self, project: &Project) -> anyhow::Result<()> {
        let env = self.env(project)?;
        let command = project.config.build.command.get_ref();
        let what = format!("the build ({})", self.name);
        shell::run(&what, command, &self.tree, &env, &self.log(project, "build"), Exit::Build)
    }

    /// Runs the project's test command in the tree.
    pub(crate) fn test(&self, project: &Project) -> anyhow::Result<()> {
        let env = self.env(project)?;
        let command = project.config.test.command.get_ref();
        let what = format!("the test command ({})", self.name);
        shell::run(&what, command, &self.tree, &env, &self.log(project, "test"), Exit::Test)
    }

    /// Runs a workload in the tree, with `extra` in its environment.
    pub(crate) fn workload(
        &self,
        project: &Project,
        name: &str,
        command: &str,
        extra: Option<(String, String)>,
    ) -> anyhow::Result<()> {
        let mut env = self.env(project)?;
        env.extend(extra);
        let what = format!("workload {name}");
        let log = self.log(project, &format!("workload-{name}"));
        shell::run(&what, command, &self.tree, &env, &log, Exit::Workload)
    }

    pub(crate) fn log(&self, project: &Project, what: &str) -> PathBuf {
        project.state(&format!("log/{}-{what}.log", self.name))
    }

    /// The environment of the build, after laying the wrapper.
    pub(crate) fn env(&self, project: &Project) -> anyhow::Result<Vec<(String, String)>> {
        let folder = project.state(&format!("wrap/{}", self.name));
        let orders = Orders {
            compiler: self.compiler.clone(),
            compile_flags: self.compile_flags.clone(),
            link_flags: self.link_flags.clone(),
            log: self.calls(project),
            salting: salt::salting(self.salt, &self.compiler, self.record(project)),
        };
        let cc = wrapper::lay(&folder, &orders)?;
        let build = &project.config.build;
        Ok(vec![
            ("PATH".to_owned(), wrapper::path(&[&folder])),
            ("CC".to_owned(), wrapper::word(&cc)),
            ("CFLAGS".to_owned(), build.cflags.clone()),
            ("LDFLAGS".to_owned(), build.ldflags.clone()),
        ])
    }

    fn calls(&self, project: &Project) -> PathBuf {
        project.state(&self.calls_path())
    }

    fn calls_path(&self) -> String {
        format!("wrap/{}.calls", self.name)
    }

    fn record(&self, project: &Project) -> PathBuf {
        project.state(&format!("wrap/{}.salt", self.name))
    }

    /// Forgets the compilations written down so far.
    pub(crate) fn forget_calls(&self, project: &Project) -> anyhow::Result<()> {
        project.forget(&self.calls_path())
    }

    /// The translation units that were compiled, the last compilation of each.
    pub(crate) fn units(&self, project: &Project) -> Vec<Unit> {
        let text = fs::read_to_string(self.calls(project)).unwrap_or_default();
        let mut units: Vec<Unit> = Vec::new();
        for call in text.lines().filter_map(|l| serde_json::from_str::<Call>(l).ok()) {
            for unit in units_of(&call, &self.tree) {
                units.retain(|u| u.source != unit.source || u.argv != unit.argv);
                units.push(unit);
            }
        }
        units
    }
}

/// One unit a source file of the call, as if it had been compiled alone.
fn units_of(call: &Call, tree: &Path) -> Vec<Unit> {
    let root = tree.display().to_string();
    let Some(dir) = relative(&call.dir, "", &root) else { return Vec::new() };
    let sources: Vec<&String> = call.argv.iter().skip(1).filter(|a| is_c_source(a)).collect();
    let alone = |source: &String| {
        let mut argv: Vec<String> = call
            .argv
            .iter()
            .filter(|a| *a == source || !is_c_source(a))
            .map(|a| a.replace(&root, TREE))
            .collect();
        if !argv.iter().any(|a| a == "-c") {
            argv.push("-c".to_owned());
        }
        argv
    };
    sources
        .iter()
        .filter_map(|source| {
            let path = relative(source, &call.dir, &root)?;
            Some(Unit { source: path, dir: dir.clone(), argv: alone(source) })
        })
        .collect()
}

/// `path`, seen from `dir`, relative to `root`; `None` if it lies elsewhere.
fn relative(path: &str, dir: &str, root: &str) -> Option<String> {
    let absolute = if path.starts_with('/') { path.to_owned() } else { format!("{dir}/{path}") };
    let clean = unlikely_profile::clean_path(&absolute);
    if clean == root {
        return Some(String::new());
    }
    let rest = clean.strip_prefix(root)?.strip_prefix('/')?;
    is_inside(rest).then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(dir: &str, argv: &str) -> Vec<Unit> {
        let argv = argv.split_whitespace().map(str::to_owned).collect();
        units_of(&Call { dir: dir.to_owned(), argv }, Path::new("/t"))
    }

    #[test]
    fn each_source_of_a_call_is_a_unit() {
        let units = call("/t/src", "gcc -I/t/inc -o x a.c ../b.c -lm");
        assert_eq!(units.len(), 2);
        assert_eq!(units[0].source, "src/a.c");
        assert_eq!(units[0].dir, "src");
        assert_eq!(units[0].argv, ["gcc", "-I{tree}/inc", "-o", "x", "a.c", "-lm", "-c"]);
        assert_eq!(units[1].source, "b.c");
    }

    #[test]
    fn what_lies_outside_the_tree_is_no_unit() {
        assert!(call("/tmp/conf", "gcc -c conftest.c").is_empty());
        assert!(call("/t", "gcc -c ../x.c").is_empty());
    }
}
