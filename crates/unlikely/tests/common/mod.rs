//! What these tests share: this crate built as it is or counting, and programs that use it.
//!
//! The crate's own test build cannot be both, so the compiler is called directly: the one that
//! `rustc` is here, which is the one that cargo calls.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How the hint crate is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// Hints, with std.
    Hints,
    /// Counts, with std.
    Counts,
    /// Counts, core alone.
    CountsWithoutStd,
}

/// A folder with a build of the crate, in which programs are compiled.
pub(crate) struct Workshop {
    pub(crate) dir: tempfile::TempDir,
    build: Build,
}

impl Workshop {
    pub(crate) fn new(build: Build) -> Self {
        Self::of_kind(build, "rlib")
    }

    /// The hint crate as `rlib` or `dylib`.
    pub(crate) fn of_kind(build: Build, kind: &str) -> Self {
        let shop = Self { dir: tempfile::tempdir().expect("a folder"), build };
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
        let mut rustc = shop.rustc("2024");
        rustc.args([source, "--crate-name", "unlikely", "--crate-type", kind]);
        if build != Build::CountsWithoutStd {
            rustc.args(["--cfg", "feature=\"std\""]);
        }
        if kind == "dylib" {
            rustc.args(["-C", "prefer-dynamic"]);
        }
        must(&mut rustc);
        shop
    }

    /// The compiler, in this folder, optimising, under the flags of the build.
    pub(crate) fn rustc(&self, edition: &str) -> Command {
        let mut rustc = Command::new("rustc");
        rustc.current_dir(self.dir.path()).args(["-O", "-L", ".", "--edition", edition]);
        // Flags of the tests' own build are not these programs'.
        rustc.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        if self.build != Build::Hints {
            rustc.args(["--cfg", "unlikely_profile"]);
        }
        rustc
    }

    /// Writes a source file.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// Compiles `name.rs` of this text, with more arguments.
    pub(crate) fn compile(&self, name: &str, text: &str, more: &[&str]) {
        self.compile_edition("2024", name, text, more);
    }

    /// As [`Self::compile`], in another edition.
    pub(crate) fn compile_edition(&self, edition: &str, name: &str, text: &str, more: &[&str]) {
        let source = format!("{name}.rs");
        self.file(&source, text);
        must(self.rustc(edition).arg(&source).args(["--extern", "unlikely"]).args(more));
    }

    /// The assembly of a library of this text.
    pub(crate) fn assembly(&self, text: &str) -> String {
        let more = ["--crate-type", "lib", "--emit", "asm", "-C", "codegen-units=1", "-o", "a.s"];
        self.compile("a", text, &more);
        fs::read_to_string(self.dir.path().join("a.s")).expect("assembly")
    }

    /// Runs a program of this folder; its standard output.
    pub(crate) fn run<'e>(
        &self,
        name: &str,
        env: impl IntoIterator<Item = (&'e str, &'e str)>,
    ) -> String {
        let mut command = self.command(name);
        let out = must(command.envs(env));
        String::from_utf8(out.stdout).expect("UTF-8")
    }

    pub(crate) fn command(&self, name: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(self.dir.path().join(name.as_ref()));
        command.current_dir(self.dir.path()).env_remove("UNLIKELY_SITES");
        command.env("LD_LIBRARY_PATH", format!("{}:{}", self.dir.path().display(), sysroot_lib()));
        command
    }
}

/// Where the dynamic standard library is.
fn sysroot_lib() -> String {
    let out = must(Command::new("rustc").args(["--print", "target-libdir"]));
    String::from_utf8(out.stdout).expect("UTF-8").trim().to_owned()
}

/// A command that must succeed.
#[track_caller]
pub(crate) fn must(command: &mut Command) -> Output {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {}\n{said}", out.status);
    out
}

/// One site of a table in writing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) condition: String,
    pub(crate) right: u64,
    pub(crate) wrong: u64,
}

/// The sites of a table, by condition; the table must be whole.
#[track_caller]
pub(crate) fn rows(table: &str) -> Vec<Row> {
    let lines: Vec<serde_json::Value> = table
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert_eq!(lines.first().map(|l| &l["schema"]), Some(&"unlikely/sites/1".into()), "{table}");
    let end = lines.last().and_then(|l| l["end"].as_u64());
    assert_eq!(end, Some(lines.len() as u64 - 2), "{table}");
    let number = |value: &serde_json::Value| value.as_u64().expect("a count");
    let mut rows: Vec<Row> = lines[1..lines.len() - 1]
        .iter()
        .map(|l| Row {
            condition: l["condition"].as_str().expect("a condition").to_owned(),
            right: number(&l["right"]),
            wrong: number(&l["wrong"]),
        })
        .collect();
    rows.sort();
    rows
}

pub(crate) fn row(condition: &str, right: u64, wrong: u64) -> Row {
    Row { condition: condition.to_owned(), right, wrong }
}

/// The text of a file.
#[track_caller]
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
