//! The tools that the work calls, and whether they answer and do what they are there for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use super::packages::Distribution;
use crate::config::Config;
use crate::toolchain::{self, gcov_of};
use crate::verbs::init;

/// A tool that was looked for.
#[derive(Debug, Serialize)]
pub(super) struct Tool {
    pub(super) name: String,
    /// Without it the work cannot be done.
    pub(super) required: bool,
    /// What it is for.
    purpose: &'static str,
    /// Where it was found.
    path: Option<PathBuf>,
    /// First line of what it says of its version.
    version: Option<String>,
    /// Why it is of no use although it was found.
    problem: Option<String>,
    /// The command that installs it.
    install: Option<String>,
}

impl Tool {
    pub(super) fn works(&self) -> bool {
        self.path.is_some() && self.problem.is_none()
    }

    /// What is said of it in a line of text.
    pub(super) fn said(&self) -> String {
        let install = self.install.as_ref().map_or_else(
            || "install the package that has it".to_owned(),
            |command| format!("install: {command}"),
        );
        match (&self.path, &self.problem) {
            (None, _) => format!("{:<9} {}\n{install}", "missing", self.purpose),
            (_, Some(problem)) => format!("{:<9} {problem}\n{install}", "broken"),
            (_, None) => {
                let version = self.version.as_deref().map_or("", number);
                format!("{version:<9} {}", self.purpose)
            }
        }
    }
}

/// The number in a version line: what follows the word "version", else the last that looks so.
fn number(version: &str) -> &str {
    let words = || version.split(|c: char| c.is_whitespace() || "()+~,-".contains(c));
    let numeric =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let named = words().skip_while(|w| *w != "version").find(numeric);
    named.or_else(|| words().rfind(numeric)).unwrap_or(version)
}

/// Looks for every tool that a project with this configuration needs or has use for.
pub(super) fn look(dir: &Path, config: Option<&Config>, on: &Distribution) -> Vec<Tool> {
    let mut tools = compilers(config, on);
    let words = words(dir, config);
    let called = |programs: &[&str]| words.iter().any(|w| programs.contains(&w.as_str()));
    for helper in HELPERS {
        let required = called(helper.callers) && !called(helper.instead);
        if helper.always || required {
            let found = toolchain::tool(helper.name);
            tools.push(Tool {
                name: helper.name.to_owned(),
                required,
                purpose: helper.purpose,
                path: found.as_ref().map(|t| t.path.clone()),
                version: found.map(|t| t.version),
                problem: None,
                install: on.install(helper.name),
            });
        }
    }
    tools.push(cargo());
    tools
}

/// What `reproduce` builds with, and the sources that it builds.
fn cargo() -> Tool {
    let found = toolchain::tool("cargo");
    let sources = experiments::workspace();
    let (problem, install) = if sources.is_dir() {
        // A distribution's own is often too old for these sources.
        (None, format!("rustup toolchain install {}", env!("CARGO_PKG_RUST_VERSION")))
    } else {
        let gone = format!("the sources of this program are no longer at {}", sources.display());
        (Some(gone), "cargo install --path crates/cli, in another checkout".to_owned())
    };
    Tool {
        name: "cargo".to_owned(),
        required: false,
        purpose: "`reproduce`, which builds what it measures from the sources of this program",
        path: found.as_ref().map(|t| t.path.clone()),
        version: found.map(|t| t.version),
        problem,
        install: Some(install),
    }
}

/// A tool of which it is enough that it answers.
struct Helper {
    name: &'static str,
    /// Words of the project's commands that stand for a call of it …
    callers: &'static [&'static str],
    /// … unless one of these is there, too.
    instead: &'static [&'static str],
    /// Of use whether or not the project calls it.
    always: bool,
    purpose: &'static str,
}

impl Helper {
    const fn build(name: &'static str, callers: &'static [&'static str]) -> Self {
        Self { name, callers, instead: &[], always: false, purpose: "builds the project" }
    }

    const fn useful(name: &'static str, purpose: &'static str) -> Self {
        Self { name, callers: &[], instead: &[], always: true, purpose }
    }
}

const HELPERS: [Helper; 9] = [
    Helper {
        instead: &["Ninja"],
        always: true,
        purpose: "builds projects that have makefiles",
        ..Helper::build("make", &["make", "cmake"])
    },
    Helper::build("cmake", &["cmake", "ctest"]),
    Helper::build("meson", &["meson"]),
    Helper::build("ninja", &["ninja", "meson", "Ninja"]),
    Helper::build("autoreconf", &["autoreconf", "autogen.sh"]),
    Helper::build("automake", &["autoreconf", "autogen.sh"]),
    Helper::useful("git", "`git apply` of the patches that are written"),
    Helper { callers: &["valgrind"], ..Helper::useful("valgrind", COUNTS) },
    Helper {
        callers: &["stress-ng"],
        ..Helper::useful("stress-ng", "workloads of class stressor")
    },
];
const COUNTS: &str = "`bench --count`; instruction counts, where time is too noisy";

/// The words of the project's commands; of those that `init` would write, if there are none yet.
fn words(dir: &Path, config: Option<&Config>) -> Vec<String> {
    let commands = match config {
        Some(config) => {
            let mut all =
                vec![config.build.command.get_ref().clone(), config.test.command.get_ref().clone()];
            all.extend(config.workloads.iter().map(|w| w.get_ref().command.clone()));
            all
        }
        None => init::choose(dir).map_or_else(
            |_| Vec::new(),
            |choice| vec![choice.recipe.build, choice.recipe.test.unwrap_or_default()],
        ),
    };
    let lines = commands.iter().flat_map(|c| c.lines());
    let ends = |c: char| c.is_whitespace() || "\"'();&|$`{}".contains(c);
    lines
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| line.split(ends))
        .map(|word| word.trim_start_matches("./").trim_start_matches("/usr/bin/").to_owned())
        .collect()
}

/// The project's compiler, gcov and clang.
fn compilers(config: Option<&Config>, on: &Distribution) -> Vec<Tool> {
    let cc = config.map_or("gcc", |c| c.build.cc.as_str());
    let found = toolchain::tool(cc);
    let compiler = Tool {
        name: cc.to_owned(),
        required: true,
        purpose: "compiles what is checked and measured",
        problem: found.as_ref().and_then(|t| cannot_link(&t.path, &[])),
        path: found.as_ref().map(|t| t.path.clone()),
        version: found.map(|t| t.version),
        install: on.install(cc),
    };
    let llvm = llvm(on);
    // One of the two collectors must work.
    let gcov = gcov(config, on, !llvm.works());
    vec![compiler, gcov, llvm]
}

/// The gcov of the GCC that `record` takes.
fn gcov(config: Option<&Config>, on: &Distribution, required: bool) -> Tool {
    let own = config.map_or("gcc", |c| c.build.cc.as_str());
    let gcc = if own.contains("gcc") { own } else { "gcc" };
    let compiler = toolchain::tool(gcc);
    let path = compiler.as_ref().and_then(|gcc| gcov_of(&gcc.path).ok());
    let problem =
        compiler.filter(|_| path.is_some()).and_then(|gcc| cannot_link(&gcc.path, &["--coverage"]));
    Tool {
        name: path
            .as_ref()
            .and_then(|p| p.file_name())
            .map_or_else(|| "gcov".to_owned(), |n| n.to_string_lossy().into_owned()),
        required,
        purpose: "counts branches, where clang does not build the project",
        version: path
            .as_ref()
            .and_then(|p| toolchain::tool(&p.display().to_string()))
            .map(|t| t.version),
        path,
        problem,
        install: on.install(gcc),
    }
}

/// Clang and the tools that read its counts.
fn llvm(on: &Distribution) -> Tool {
    let found = toolchain::llvm();
    let mut tool = Tool {
        name: "clang+llvm".to_owned(),
        required: false,
        purpose: "counts branches exactly; preferred where it builds the project",
        path: None,
        version: None,
        problem: None,
        install: on.install("llvm"),
    };
    if let Some(llvm) = found {
        tool.problem =
            cannot_link(&llvm.clang.path, &["-fprofile-instr-generate", "-fcoverage-mapping"]);
        tool.install = on.clang_runtime(&llvm.clang.path);
        tool.path = Some(llvm.clang.path);
        tool.version = Some(llvm.clang.version);
    } else if let Some(clang) = toolchain::tool("clang") {
        tool.problem = Some("llvm-profdata and llvm-cov of its release are missing".to_owned());
        tool.path = Some(clang.path);
        tool.version = Some(clang.version);
    }
    tool
}

/// Links a program; what the compiler says if it cannot.
fn cannot_link(compiler: &Path, flags: &[&str]) -> Option<String> {
    let why = match try_to_link(compiler, flags) {
        Ok(why) => why?,
        Err(error) => error.to_string(),
    };
    let flags = if flags.is_empty() { String::new() } else { format!(" with {}", flags.join(" ")) };
    Some(format!("it cannot link a program{flags}: {why}"))
}

fn try_to_link(compiler: &Path, flags: &[&str]) -> std::io::Result<Option<String>> {
    let folder = tempfile::tempdir()?;
    fs::write(
        folder.path().join("probe.c"),
        "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n",
    )?;
    let out = Command::new(compiler)
        .args(flags)
        .args(["-o", "probe", "probe.c"])
        .current_dir(folder.path())
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()?;
    if out.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&out.stderr);
    let telling = |line: &&str| line.contains("error") || line.contains("cannot");
    let line = said.lines().find(telling).or_else(|| said.lines().next());
    Ok(Some(line.unwrap_or("it says nothing").trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_number_whatever_stands_around_it() {
        for (line, expected) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
            ("gcc (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)", "14.2.1"),
            ("Debian clang version 22.1.0 (++2025-1~exp1~22.9)", "22.1.0"),
            ("git version 2.39.5", "2.39.5"),
            ("GNU Make 4.3", "4.3"),
            ("valgrind-3.19.0", "3.19.0"),
            ("stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux 6.1)", "0.15.06"),
            ("1.0.1", "1.0.1"),
            ("none at all", "none at all"),
        ] {
            assert_eq!(number(line), expected, "{line}");
        }
    }

    #[test]
    fn a_compiler_that_cannot_link_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cc");
        fs::write(&path, "#!/bin/sh\necho hello >&2\necho 'ld: cannot find -lc' >&2\nexit 1\n")
            .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
        let why = cannot_link(&path, &["--coverage"]).unwrap();
        assert_eq!(why, "it cannot link a program with --coverage: ld: cannot find -lc");
    }
}
