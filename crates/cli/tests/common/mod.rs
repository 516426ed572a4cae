//! What the end-to-end tests share: running the program, and projects to run it on.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The program, under a quiet environment.
pub(crate) fn unlikely() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unlikely"));
    command.env("NO_COLOR", "1");
    command
}

/// Runs the program; its exit code and output.
pub(crate) fn run<'a>(args: impl IntoIterator<Item = &'a str>) -> (i32, String, String) {
    let out = unlikely().args(args).output().expect("the program starts");
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

/// As [`run`], and its standard output must be JSON.
pub(crate) fn json<'a>(args: impl IntoIterator<Item = &'a str>) -> (i32, Value) {
    let (code, out, err) = run(args);
    let value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
    (code, value)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command that must succeed.
pub(crate) fn must(command: &mut Command) -> Output {
    let out = command.output().unwrap_or_else(|e| {
        panic!("{command:?}: {e}; scripts/install-test-tools installs what the tests need")
    });
    let said = format!("{}\n{}", text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{command:?}: {}\n{said}", out.status);
    out
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A fresh folder that holds a copy of `from`.
pub(crate) fn copy_of(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().expect("a folder");
    must(Command::new("cp").arg("-r").arg(from.join(".")).arg(to.path()));
    let _ = fs::remove_dir_all(to.path().join(".unlikely"));
    to
}

/// A fresh folder with these files.
pub(crate) fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    dir
}

/// A fresh copy of one of the real projects, fetched from Debian once.
pub(crate) fn real(name: &str) -> tempfile::TempDir {
    let store = root().join("target/real");
    must(Command::new(root().join("scripts/fetch-real")).arg(&store).arg(name));
    // The configuration is this repository's, as it is now.
    let dir = copy_of(&store.join(name));
    must(
        Command::new("cp")
            .arg("-r")
            .arg(root().join("examples/real").join(name).join("."))
            .arg(dir.path()),
    );
    dir
}

pub(crate) fn path(dir: &tempfile::TempDir) -> &str {
    dir.path().to_str().expect("a UTF-8 path")
}

/// `unlikely.toml` of a project, as TOML.
pub(crate) fn config(dir: &Path) -> toml::Table {
    let text = fs::read_to_string(dir.join("unlikely.toml")).expect("a configuration");
    toml::from_str(&text).expect("TOML")
}

/// A program with one condition that a hint moves: GCC takes the usual way, a negative return,
/// for the rare one.
pub(crate) const HINTABLE: &str = r#"
#include <stdio.h>
struct entry { int fd; short events, revents; };
struct source { unsigned ready, armed; };
static struct source sources[64];
static unsigned long skipped;
static int arm(struct entry *e)
{
	int fd = e->fd;
	struct source *s;

	if (fd < 0) {
		e->revents = 0;
		skipped++;
		return 0;
	}
	s = &sources[fd];
	e->revents = s->ready & e->events;
	s->armed++;
	return -11;
}
__attribute__((noinline)) static int arm_all(struct entry *set, int n)
{
	int waiting = 0;

	for (int i = 0; i < n; i++)
		if (arm(&set[i]) == -11)
			waiting++;
	return waiting;
}
int main(void)
{
	static struct entry set[64];
	long waiting = 0;

	for (int i = 0; i < 64; i++)
		set[i].fd = i;
	for (int i = 0; i < 20000; i++)
		waiting += arm_all(set, 64);
	printf("%ld %lu\n", waiting, skipped);
	return 0;
}
"#;

/// Prints the next of the values that it is given, and counts its runs in the file of its name.
const ARM: &str = r#"name=$1; shift
n=$(cat "$name" 2>/dev/null || echo 0)
echo $((n + 1)) >"$name"
shift $((n % $#))
echo "v=$1"
"#;

/// A folder for campaigns whose every value is known beforehand: there, `sh arm NAME VALUE…`
/// prints the values in turn, whatever the machine does.
pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { dir: project(&[("arm", ARM)]) }
    }

    /// `bench` with these arguments, run in the folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = unlikely();
        command.current_dir(self.dir.path()).arg("bench").args(args);
        command
    }

    /// Its exit code, standard output and standard error.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, String, String) {
        let out = self.command(args).output().expect("the program starts");
        (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
    }

    /// Its exit code and report.
    pub(crate) fn json(&self, args: &[&str]) -> (i32, Value) {
        let (code, out, err) = self.run(&[args, &["--format", "json"]].concat());
        let value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
        (code, value)
    }

    /// What it says where it refuses, with this exit code and nothing on standard output.
    pub(crate) fn refused(&self, with: i32, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!((code, out.as_str()), (with, ""), "{args:?}: {err}");
        err
    }

    /// How often the arm of this name has run.
    pub(crate) fn runs_of(&self, name: &str) -> u32 {
        let text = fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }
}

/// A program that runs beside the test, and does not outlive it.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(silent.spawn().expect("the program starts"))
    }

    /// Returns once `path` is there, which the program must bring about.
    pub(crate) fn until(&mut self, path: &Path) {
        while !path.exists() {
            assert!(self.0.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::yield_now();
        }
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.0.kill().expect("a child");
        self.0.wait().expect("its end");
    }

    /// Waits for its end; its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.0.wait().expect("its end").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `text` with every stretch of white space as one space: as it reads before it is wrapped.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `value` must have every field that `expected` has, however deep; it may have more.
#[track_caller]
pub(crate) fn has(value: &Value, expected: Value) {
    let Value::Object(fields) = expected else {
        assert_eq!(*value, expected);
        return;
    };
    for (name, expected) in fields {
        let found = value.get(&name).unwrap_or_else(|| panic!("no {name} in {value}"));
        match &expected {
            Value::Object(_) => has(found, expected),
            _ => assert_eq!(*found, expected, "{name}"),
        }
    }
}
