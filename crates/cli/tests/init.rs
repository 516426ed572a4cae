//! `unlikely init` by what it is for: the file that it writes builds a real project, twice, with
//! the flags that it is given, and its test command tells a passing project from a failing one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use common::{config, must, path, run, text};
use tempfile::TempDir;

const WORKLOAD: &str = "\n[[workload]]\nname = \"count\"\nclass = \"application\"\n";

/// A program of two files, whose branches depend on what it is given.
const MAIN_C: &str = r#"#include <stdio.h>
#include <stdlib.h>
#include "part.h"
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0, sum = 0;
    for (long i = 0; i < n; i++)
        sum += part(i);
    printf("%ld\n", sum);
    return sum < 0;
}
"#;
const PART_C: &str = "#include \"part.h\"\nlong part(long i)\n{\n    if (i == 77777)\n        return -1;\n    return i & 3;\n}\n";
const PART_H: &str = "long part(long i);\n";

fn project(files: &[(&str, &str)]) -> TempDir {
    let sources = [("main.c", MAIN_C), ("part.c", PART_C), ("part.h", PART_H)];
    common::project(&[&sources, files].concat())
}

fn write(dir: &Path, path: &str, text: &str) {
    fs::write(dir.join(path), text).unwrap();
}

/// Writes a source file so that it is newer than all that was built, whatever the clock's grain.
fn edit(dir: &Path, path: &str, text: &str) {
    write(dir, path, text);
    let file = fs::File::options().write(true).open(dir.join(path)).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(2)).unwrap();
}

fn write_program(dir: &Path, path: &str, text: &str) {
    write(dir, path, text);
    fs::set_permissions(dir.join(path), PermissionsExt::from_mode(0o755)).unwrap();
}

/// Runs `init`, which must do its work; what it said.
fn init(project: &TempDir) -> String {
    let (code, out, err) = run(["init", path(project)]);
    assert_eq!(code, 0, "{out}\n{err}");
    out
}

/// The file as it was written.
fn written(project: &TempDir) -> String {
    fs::read_to_string(project.path().join("unlikely.toml")).unwrap()
}

/// Fills in a workload, and records the project.
fn record(project: &TempDir, workload: &str) {
    let text = written(project) + WORKLOAD + &format!("command = \"{workload}\"\n");
    write(project.path(), "unlikely.toml", &text);
    let (code, out, err) = run(["record", path(project), "--collector", "gcov"]);
    assert_eq!(code, 0, "{out}\n{err}\n{text}");
    let (_, scan, err) = run(["scan", path(project), "--format", "json"]);
    assert!(scan.contains("\"condition\": \"i == 77777\""), "{scan}\n{err}");
}

/// Runs a command of the file as the tool does; whether it succeeded, and what it said.
fn sh(project: &TempDir, table: &str, at: &Path) -> (bool, String) {
    let config = config(project.path());
    let value = |table: &str, key: &str| {
        config[table].get(key).map_or("", |v| v.as_str().unwrap()).to_owned()
    };
    let out = Command::new("sh")
        .args(["-c", &value(table, "command")])
        .current_dir(at)
        .env("CC", "gcc")
        .env("CFLAGS", value("build", "cflags") + " -DGIVEN")
        .env("LDFLAGS", value("build", "ldflags"))
        .output()
        .unwrap();
    (out.status.success(), text(&out.stdout) + &text(&out.stderr))
}

/// A copy as the tool makes it: with all that lies around, and the times of the files.
fn copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    must(Command::new("cp").arg("-a").arg(from.join(".")).arg(to.path()));
    to
}

fn sum(dir: &TempDir, program: &str) -> String {
    text(&must(Command::new(dir.path().join(program)).arg("8")).stdout)
}

/// What the commands of every project must do: see the assertions.
fn holds_what_it_promises(project: &TempDir, program: &str) {
    let first = copy(project.path());
    let given = "#ifndef GIVEN\n#error flags\n#endif\n";
    edit(first.path(), "part.c", &format!("{given}{PART_C}"));
    let (built, said) = sh(project, "build", first.path());
    assert!(built, "it takes the flags: {said}");
    let (passed, said) = sh(project, "test", first.path());
    assert!(passed, "its tests pass: {said}");
    assert_eq!(sum(&first, program), "12\n");

    edit(first.path(), "part.c", &PART_C.replace("i & 3", "5"));
    let (built, said) = sh(project, "build", first.path());
    assert!(built, "it runs again: {said}");
    assert_eq!(sum(&first, program), "40\n", "an edit is built");
    let (passed, said) = sh(project, "test", first.path());
    assert!(!passed, "its tests fail: {said}");

    // Hints are tried in a copy of a built tree, which is full of paths of that tree.
    let second = copy(first.path());
    edit(second.path(), "part.c", PART_C);
    let (built, said) = sh(project, "build", second.path());
    assert!(built, "a copy is built: {said}");
    assert_eq!(sum(&second, program), "12\n", "a copy is built from its own text");
    assert_eq!(sum(&first, program), "40\n", "a copy leaves the other alone");
    let (passed, said) = sh(project, "test", second.path());
    assert!(passed, "a copy tests itself: {said}");
}

const MAKEFILE: &str = "CFLAGS = -O2 -Wall
prog: main.o part.o
\t$(CC) $(LDFLAGS) -o $@ main.o part.o
main.o part.o: part.h
check: prog
\ttest `./prog 8` = 12
clean:
\trm -f prog main.o part.o
";

#[test]
fn make() {
    let project = project(&[("Makefile", MAKEFILE)]);
    let said = init(&project);
    record(&project, "./prog 100000");
    assert!(said.contains("for make (Makefile)"), "{said}");
    assert!(written(&project).contains("cflags = \"-O2 -Wall\""), "{}", written(&project));
    holds_what_it_promises(&project, "prog");
}

#[test]
fn make_with_flags_that_an_argument_would_take_away() {
    let makefile = MAKEFILE.replace("CFLAGS = -O2 -Wall", "CFLAGS += -Iinclude$(EMPTY)");
    let project = project(&[("Makefile", &makefile)]);
    fs::create_dir(project.path().join("include")).unwrap();
    fs::rename(project.path().join("part.h"), project.path().join("include/part.h")).unwrap();
    let makefile = makefile.replace("part.o: part.h", "part.o: include/part.h");
    write(project.path(), "Makefile", &makefile);
    init(&project);
    record(&project, "./prog 100000");
    holds_what_it_promises(&project, "prog");
}

#[test]
fn make_with_flags_of_its_own() {
    let makefile = MAKEFILE.replace("-O2 -Wall", "-O2 $(WARNINGS)");
    let project = project(&[("src/Makefile", &makefile)]);
    for file in ["main.c", "part.c", "part.h"] {
        fs::rename(project.path().join(file), project.path().join("src").join(file)).unwrap();
    }
    init(&project);
    record(&project, "./src/prog 100000");
    let text = written(&project);
    assert!(text.contains("env -u CFLAGS make -C src CC"), "{text}");
    assert!(text.contains("cflags = \"\""), "{text}");
}

#[test]
fn what_an_older_build_left_is_not_taken_for_this_one() {
    let makefile =
        "prog: main.c part.c\n\t$(CC) $(CFLAGS) -o $@ main.c part.c\nclean:\n\trm -f prog\n";
    let project = project(&[("Makefile", makefile)]);
    write_program(project.path(), "prog", "#!/bin/sh\nexit 0\n");
    edit(project.path(), "prog", "#!/bin/sh\nexit 0\n");
    init(&project);
    record(&project, "./prog 100000");
}

#[test]
fn cmake() {
    let lists = "cmake_minimum_required(VERSION 3.16)
project(x C)
add_executable(prog main.c part.c)
enable_testing()
add_test(NAME sum COMMAND prog 8)
set_tests_properties(sum PROPERTIES PASS_REGULAR_EXPRESSION \"^12\")
";
    let stray = "# CMAKE generated file: DO NOT EDIT!\nall:\n\tfalse\n";
    let files =
        [("CMakeLists.txt", lists), ("build/Makefile", stray), ("build/CMakeCache.txt", "")];
    let project = project(&files);
    let said = init(&project);
    record(&project, "./build/prog 100000");
    assert!(said.contains("for CMake (CMakeLists.txt)"), "{said}");
    holds_what_it_promises(&project, "build/prog");
}

#[test]
fn cmake_beside_a_folder_that_is_called_build_already() {
    let lists =
        "cmake_minimum_required(VERSION 3.16)\nproject(x C)\nadd_executable(prog main.c part.c)\n";
    let files = [("CMakeLists.txt", lists), ("build/notes", "ours"), ("Makefile", MAKEFILE)];
    let project = project(&files);
    let said = init(&project);
    record(&project, "test -f build/notes && ./build-unlikely/prog 100000");
    assert!(said.contains("not for make (Makefile), which is there too"), "{said}");
    assert!(said.contains("to fill in: [test] command"), "{said}");
}

#[test]
fn meson() {
    let build = "project('x', 'c')
prog = executable('prog', 'main.c', 'part.c')
test('sum', find_program('sum.sh'), args: prog)
";
    let project = project(&[("meson.build", build)]);
    write_program(project.path(), "sum.sh", "#!/bin/sh\ntest `$1 8` = 12\n");
    let said = init(&project);
    record(&project, "./build/prog 100000");
    assert!(said.contains("for Meson (meson.build)"), "{said}");
    holds_what_it_promises(&project, "build/prog");
}

#[test]
fn autotools_without_a_configure_script() {
    let ac = "AC_INIT([x], [1])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
";
    let am = "bin_PROGRAMS = prog\nprog_SOURCES = main.c part.c part.h\nTESTS = sum.sh\nEXTRA_DIST = sum.sh\n";
    let project = project(&[("configure.ac", ac), ("Makefile.am", am)]);
    write_program(project.path(), "sum.sh", "#!/bin/sh\ntest `./prog 8` = 12\n");
    let said = init(&project);
    record(&project, "./prog 100000");
    assert!(said.contains("for autotools (configure.ac)"), "{said}");
    holds_what_it_promises(&project, "prog");
    // As a release has it.
    let make = "autoreconf -fi && ./configure -q && make -s && rm -f config.status";
    must(Command::new("sh").args(["-c", make]).current_dir(project.path()));
    let (_, said, _) = run(["init", path(&project), "--force"]);
    assert!(said.contains("for autotools (configure); not for make (Makefile)"), "{said}");
    holds_what_it_promises(&project, "prog");
}

#[test]
fn a_configure_script_written_by_hand() {
    let configure = "#!/bin/sh
[ $# = 0 ] || { echo \"unknown option $1\"; exit 1; }
sed \"s|@CC@|$CC|; s|@CFLAGS@|$CFLAGS|\" Makefile.in > Makefile
";
    let makefile =
        format!("CC = @CC@\nCFLAGS = @CFLAGS@\n{}", &MAKEFILE[MAKEFILE.find("prog").unwrap()..]);
    let project = project(&[("Makefile.in", &makefile)]);
    write_program(project.path(), "configure", configure);
    let said = init(&project);
    record(&project, "./prog 100000");
    assert!(said.contains("for a configure script (configure)"), "{said}");
    holds_what_it_promises(&project, "prog");
}

#[test]
fn a_program_without_build_files() {
    let project =
        project(&[("second tool.c", "#include <math.h>\nint main(void) { return 0; }\n")]);
    let said = init(&project);
    record(&project, "./main 100000");
    assert!(said.contains("a program without build files (main.c)"), "{said}");
    let text = written(&project);
    assert!(text.contains("-o './second tool' './second tool.c' ./part.c $LDFLAGS -lm"), "{text}");
    let (code, _, err) = run(["tune", path(&project)]);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("[test] command is to be filled in"), "{err}");
}

#[test]
fn without_a_workload_the_tool_says_what_to_fill_in() {
    let project = project(&[("Makefile", MAKEFILE)]);
    init(&project);
    let (code, _, err) = run(["record", path(&project)]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no [[workload]]"), "{err}");
}

#[test]
fn a_file_that_is_there_is_kept() {
    let project = project(&[("Makefile", MAKEFILE), ("unlikely.toml", "mine")]);
    let (code, _, err) = run(["init", path(&project)]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--force"), "{err}");
    assert_eq!(written(&project), "mine");
    let (code, _, err) = run(["init", path(&project), "--force"]);
    assert_eq!(code, 0, "{err}");
    assert!(written(&project).contains("[build]"));
}

#[test]
fn nothing_recognised_says_what_was_looked_for() {
    let empty = common::project(&[("lib.c", "int main(void);\nint f(void) { return 0; }\n")]);
    let (code, _, err) = run(["init", path(&empty)]);
    assert_eq!(code, 2, "{err}");
    for marker in ["CMakeLists.txt", "meson.build", "configure.ac", "Makefile", "main function"] {
        assert!(err.contains(marker), "{err}");
    }
    assert!(!empty.path().join("unlikely.toml").exists());
    let absent = empty.path().join("absent");
    let (code, _, err) = run(["init", absent.to_str().unwrap()]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn a_folder_may_have_any_name() {
    let name = "it's a \"nice\" \\ [name]";
    let outer = common::project(&[(&format!("{name}/main.c"), "int main(void) { return 0; }\n")]);
    let inner = outer.path().join(name);
    let (code, _, err) = run(["init", inner.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(config(&inner)["project"]["name"].as_str().unwrap(), name);
}
