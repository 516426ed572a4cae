//! A salted build by any command: it gets `CC`, `CXX` and an empty folder, and puts there what is
//! measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{Record, salting};
use crate::exit::{Exit, fail};
use crate::shell;
use crate::toolchain;
use crate::wrapper::{self, Orders};

/// A build command of the user's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandBuild<'a> {
    /// Run by `sh`.
    pub(crate) command: &'a str,
    /// Where it runs.
    pub(crate) dir: &'a Path,
    /// Holds the folders of all builds of a campaign; absolute.
    pub(crate) state: &'a Path,
    /// One of them, such as `a.3`. Names are equally long where folders are to be compared: a
    /// path's length moves the stack.
    pub(crate) name: &'a str,
    /// 0 for the plain build.
    pub(crate) salt: u64,
}

/// What a build command made.
#[derive(Debug)]
pub(crate) struct Built {
    /// The `BUILD_DIR` that it filled; a workload finds its program there.
    pub(crate) dir: PathBuf,
    /// What became of its objects; empty for salt 0.
    pub(crate) record: Record,
}

impl CommandBuild<'_> {
    /// Runs the command with `CC` and `CXX` (wrapped; the compilers that these name already, else
    /// `cc` and `c++`), `BUILD_DIR` (a fresh folder) and `UNLIKELY_SALT` in its environment.
    ///
    /// # Errors
    /// When there is no C compiler, the command fails, or it leaves `BUILD_DIR` empty. A missing
    /// C++ compiler leaves `CXX` as it is.
    pub(crate) fn build(&self) -> anyhow::Result<Built> {
        let at = |kind: &str| self.state.join(kind).join(self.name);
        let dir = at("build");
        if dir.exists() {
            fs::remove_dir_all(&dir).with_context(|| format!("cannot clear {}", dir.display()))?;
        }
        for folder in [&dir, &at("wrap"), &at("log")] {
            fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        }
        let record = at("wrap").join("salt");
        let _ = fs::remove_file(&record);
        let mut env = vec![
            ("BUILD_DIR".to_owned(), dir.display().to_string()),
            ("UNLIKELY_SALT".to_owned(), self.salt.to_string()),
        ];
        let mut folders = Vec::new();
        for (variable, usual) in [("CC", "cc"), ("CXX", "c++")] {
            let named = std::env::var(variable).ok().filter(|n| !n.trim().is_empty());
            let compiler = match (toolchain::find(named.as_deref().unwrap_or(usual)), named) {
                (Some(compiler), _) => compiler,
                (None, None) if variable == "CXX" => continue,
                (None, named) => return Err(no_compiler(variable, named.as_deref(), usual)),
            };
            let folder = at("wrap").join(variable);
            let orders = Orders {
                salting: salting(self.salt, &compiler, record.clone()),
                compiler,
                compile_flags: Vec::new(),
                link_flags: Vec::new(),
                log: at("wrap").join("calls"),
            };
            env.push((variable.to_owned(), wrapper::word(&wrapper::lay(&folder, &orders)?)));
            folders.push(folder);
        }
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        env.push(("PATH".to_owned(), wrapper::path(&folders)));
        let log = at("log").join("build.log");
        let what = format!("build {}", self.name);
        shell::run(&what, self.command, self.dir, &env, &log, Exit::Build)?;
        let empty = fs::read_dir(&dir).map_or(true, |mut entries| entries.next().is_none());
        if empty {
            let why = "the build left $BUILD_DIR empty: it must put there what is measured, as the \
                       folder it runs in is the same for every build";
            return Err(fail(Exit::Build, format!("{what}: {why}: {}", self.command)));
        }
        Ok(Built { dir, record: Record::read(&record) })
    }
}

fn no_compiler(variable: &str, named: Option<&str>, usual: &str) -> anyhow::Error {
    let text = match named {
        Some(named) => format!(
            "{variable}={named} names no program; it must be one word, flags belong in \
             {}",
            if variable == "CC" { "CFLAGS" } else { "CXXFLAGS" }
        ),
        None => format!("{usual} is not installed; `unlikely doctor` says how to"),
    };
    fail(Exit::Tool, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::code;

    /// Runs `command` as a build in a fresh folder; what it wrote to `said`, too.
    fn build(command: &str, salt: u64) -> anyhow::Result<(Vec<String>, Built)> {
        let state = tempfile::tempdir().unwrap();
        let dir = Path::new("/");
        let build = CommandBuild { command, dir, state: state.path(), name: "a.3", salt };
        // A folder of an earlier build must not be seen.
        fs::create_dir_all(state.path().join("build/a.3/old")).unwrap();
        let built = build.build()?;
        let said = fs::read_to_string(built.dir.join("said")).unwrap();
        Ok((said.split_whitespace().map(str::to_owned).collect(), built))
    }

    #[test]
    fn a_build_gets_an_empty_folder_its_salt_and_both_compilers() {
        let say = "n=$(ls $BUILD_DIR | wc -l); echo $n $UNLIKELY_SALT $CC $CXX \
                   $(command -v cc; command -v c++; command -v ld) >$BUILD_DIR/said";
        for salt in [0, 3] {
            let (said, built) = build(say, salt).unwrap();
            let [entries, told, cc, cxx, own_cc, own_cxx, ld] = &said[..] else {
                panic!("{said:?}")
            };
            assert_eq!((entries.as_str(), told), ("0", &salt.to_string()));
            let wrapped = |path: &str| path.contains("/wrap/a.3/");
            assert!([cc, cxx, own_cc, own_cxx].iter().all(|p| wrapped(p)), "{said:?}");
            // A plain build has the linkers of the machine.
            assert_eq!(wrapped(ld), salt != 0, "{said:?}");
            assert_eq!(built.record, Record::default());
        }
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let wrong = |command| {
            let error = build(command, 3).map(|(said, _)| said).unwrap_err();
            assert_eq!(code(&error), Exit::Build);
            error.to_string()
        };
        let failed = wrong("echo no rule >&2; exit 2");
        assert!(failed.contains("build a.3 failed") && failed.contains("no rule"), "{failed}");
        let empty = wrong("true");
        assert!(empty.contains("left $BUILD_DIR empty"), "{empty}");
        let error = no_compiler("CC", Some("gcc -m32"), "cc").to_string();
        assert!(error.contains("CC=gcc -m32 names no program"), "{error}");
    }
}
