//! `unlikely doctor` on machines that lack one thing or another: folders of links stand for them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{must, path, project, run, text, unlikely};
use serde_json::Value;
use tempfile::TempDir;

/// Where the program of this name is on this machine.
fn which(name: &str) -> PathBuf {
    let out = must(Command::new("sh").args(["-c", &format!("command -v {name}")]));
    PathBuf::from(text(&out.stdout).trim())
}

/// A machine that has these programs alone.
fn machine(programs: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in programs {
        symlink(which(name), dir.path().join(name)).unwrap();
    }
    dir
}

/// What a C compiler calls beside itself.
const BINUTILS: [&str; 2] = ["as", "ld"];

fn doctor(machine: &Path, arguments: &[&str]) -> (i32, String) {
    let out = unlikely().arg("doctor").args(arguments).env("PATH", machine).output().unwrap();
    (out.status.code().unwrap(), text(&out.stdout))
}

fn json(machine: &Path, dir: &str) -> (i32, Value) {
    let (code, out) = doctor(machine, &[dir, "--format", "json"]);
    (code, serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}")))
}

fn tool<'j>(diagnosis: &'j Value, name: &str) -> &'j Value {
    let tools = diagnosis["tools"].as_array().unwrap();
    tools.iter().find(|t| t["name"] == name).unwrap_or_else(|| panic!("no {name}: {diagnosis:#}"))
}

/// A project whose commands are these.
fn configured(build: &str, test: &str) -> TempDir {
    let config = format!(
        "[project]\nname = \"x\"\nlanguage = \"c\"\n[build]\ncommand = '''{build}'''\n\
         [test]\ncommand = '''{test}'''\n"
    );
    project(&[("unlikely.toml", &config)])
}

#[test]
fn a_machine_with_gcc_alone_can_work() {
    let machine = machine(&[&["gcc", "gcov"][..], &BINUTILS].concat());
    let empty = project(&[]);
    let (code, found) = json(machine.path(), path(&empty));
    assert_eq!(code, 0, "{found:#}");
    assert_eq!(found["schema"], "unlikely/doctor/1");
    assert_eq!(tool(&found, "gcc")["required"], true);
    assert!(tool(&found, "gcc")["version"].as_str().unwrap().contains("gcc"), "{found:#}");
    // With no clang to count with, gcov must be there.
    assert_eq!(tool(&found, "gcov")["required"], true);
    for optional in ["clang+llvm", "make", "git", "valgrind", "stress-ng", "cargo"] {
        assert_eq!(tool(&found, optional)["required"], false, "{optional}");
        assert_eq!(tool(&found, optional)["path"], Value::Null, "{optional}");
        assert!(tool(&found, optional)["purpose"].as_str().unwrap().len() > 5, "{optional}");
    }
    assert_eq!(found["project"]["config"], "none");
    assert!(found["machine"]["kernel"].as_str().unwrap().len() > 2, "{found:#}");
    let warnings = found["warnings"].as_array().unwrap().len();
    assert!(found["loud"].as_u64().unwrap() as usize <= warnings, "{found:#}");
    // The machine was watched, not only read.
    assert!(found["machine"]["activity"]["over_s"].as_f64().unwrap() > 0.0, "{found:#}");
}

#[test]
fn a_machine_without_a_compiler_cannot() {
    let machine = machine(&["make"]);
    let empty = project(&[]);
    let (code, out) = doctor(machine.path(), &[path(&empty)]);
    assert_eq!(code, 6, "{out}");
    let row = out.lines().find(|l| l.contains(" gcc ")).unwrap();
    assert!(row.starts_with("!!") && row.contains("missing"), "{out}");
    assert!(out.contains("install"), "{out}");
}

#[test]
fn a_compiler_that_cannot_link_is_broken() {
    let machine = machine(&["gcov"]);
    let fake = machine.path().join("gcc");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'gcc 12.2.0' && exit\n\
                  echo 'fatal error: stdio.h: No such file' >&2\nexit 1\n";
    std::fs::write(&fake, script).unwrap();
    std::fs::set_permissions(&fake, PermissionsExt::from_mode(0o755)).unwrap();
    let (code, out) = doctor(machine.path(), &[path(&project(&[]))]);
    assert_eq!(code, 6, "{out}");
    assert!(out.contains("broken") && out.contains("fatal error: stdio.h"), "{out}");
}

#[test]
fn what_the_projects_commands_call_is_required() {
    let machine = machine(&[&["gcc", "gcov"][..], &BINUTILS].concat());
    for (build, test, required) in [
        ("# cmake is not called\nmake", "make check", &["make"][..]),
        ("cmake -B b && cmake --build b", "ctest", &["cmake", "make"]),
        ("cmake -G Ninja -B b", "ctest", &["cmake", "ninja"]),
        ("meson setup b", "ninja -C b test", &["meson", "ninja"]),
        ("autoreconf -fi; ./configure", "/usr/bin/make check", &["automake", "autoreconf", "make"]),
        ("$CC -o x x.c", "true", &[]),
    ] {
        let project = configured(build, test);
        let (code, found) = json(machine.path(), path(&project));
        let expected = if required.is_empty() { 0 } else { 6 };
        assert_eq!(code, expected, "{build}: {found:#}");
        let missing: Vec<&str> = found["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|t| t["required"] == true && t["path"].is_null())
            .map(|t| t["name"].as_str().unwrap())
            .collect();
        let mut sorted = missing.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, required, "{build}");
    }
}

#[test]
fn without_a_configuration_the_build_files_tell_what_is_required() {
    let machine = machine(&[&["gcc", "gcov"][..], &BINUTILS].concat());
    let project = project(&[("meson.build", "project('x', 'c')\n")]);
    let (code, found) = json(machine.path(), path(&project));
    assert_eq!(code, 6, "{found:#}");
    assert_eq!(tool(&found, "meson")["required"], true);
}

#[test]
fn a_configuration_that_does_not_read_is_named() {
    let good = configured("$CC x.c", "true");
    let (code, out, _) = run(["doctor", path(&good)]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("reads, but has no [[workload]]"), "{out}");
    let bad = project(&[("unlikely.toml", "[project]\nnam = 1\n")]);
    let (code, out, _) = run(["doctor", path(&bad)]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("unlikely.toml:2: unknown field `nam`"), "{out}");
    let (code, _, err) = run(["doctor", "/nowhere/at/all"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn the_machine_takes_five_lines_and_one_for_each_warning() {
    let empty = project(&[]);
    let (_, out, _) = run(["doctor", path(&empty)]);
    let (_, machine) = out.split_once("\nMachine\n").unwrap();
    let named = |name: &str| machine.lines().any(|line| line.split(' ').nth(1) == Some(name));
    for name in ["cpu", "clock", "kernel", "place", "now"] {
        assert!(named(name), "no {name}: {out}");
    }
    for line in machine.lines().filter(|line| line.starts_with("!!")) {
        assert_eq!(line.split(' ').nth(1), Some("loud"), "{line}");
    }
}

#[test]
fn colour_is_there_when_it_is_asked_for() {
    let project = project(&[]);
    let colored = |when| run(["doctor", path(&project), "--color", when]).1.contains('\x1b');
    assert!(colored("always"));
    assert!(!colored("never") && !colored("auto"));
}
