//! How `tune` ends when it cannot or need not go on: the exit code and the words of each case.

mod common;

use std::fs;

use common::{HINTABLE, path, project, run};

/// A configuration whose parts can be replaced.
fn config(build: &str, test: &str, workload: &str) -> String {
    let workload = match workload {
        "" => String::new(),
        command => format!(
            "[[workload]]\nname = \"run\"\nclass = \"benchmark\"\ncommand = \"{command}\"\n"
        ),
    };
    format!(
        "[project]\nname = \"tiny\"\nlanguage = \"c\"\n[build]\ncommand = \"{build}\"\n\
         cflags = \"-O2\"\n[test]\ncommand = \"{test}\"\n{workload}[bench]\nblocks = 2\nbuilds = 1\nwarmups = 0\n"
    )
}

const BUILD: &str = "$CC $CFLAGS $LDFLAGS -o tiny main.c";

fn tune(config: &str, main: &str) -> (i32, String, String, tempfile::TempDir) {
    let dir = project(&[("unlikely.toml", config), ("main.c", main)]);
    let (code, out, err) = run(["tune", path(&dir), "--collector", "gcov"]);
    (code, out, err, dir)
}

#[test]
fn no_configuration() {
    let dir = project(&[("main.c", HINTABLE)]);
    let (code, _, err) = run(["tune", path(&dir)]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("unlikely.toml") && err.contains("unlikely init"), "{err}");
}

#[test]
fn a_mistake_in_the_configuration() {
    let (code, _, err, _) = tune("[project]\nname = 7\n", HINTABLE);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("unlikely.toml:2: ") && err.contains("expected"), "{err}");
}

#[test]
fn no_workload() {
    let (code, out, err, _) = tune(&config(BUILD, "./tiny", ""), HINTABLE);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("no [[workload]]") && err.contains("command = "), "{err}");
    assert!(!err.contains("building"), "said before anything is built: {err}");
}

#[test]
fn a_failing_build() {
    let (code, _, err, dir) =
        tune(&config(BUILD, "./tiny", "./tiny"), "int main(void) { return x; }");
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("the build") && err.contains("undeclared"), "{err}");
    assert!(err.contains(".unlikely/log/"), "the whole output is named: {err}");
    assert!(!dir.path().join("tiny").exists());
}

#[test]
fn a_build_that_does_not_use_the_compiler() {
    let (code, _, err, _) = tune(&config("echo built", "true", "true"), HINTABLE);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("compiled no C file") && err.contains("CC"), "{err}");
}

#[test]
fn a_failing_workload() {
    let (code, _, err, _) =
        tune(&config(BUILD, "./tiny", "./tiny && echo lost >&2 && exit 9"), HINTABLE);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("workload run failed") && err.contains("lost"), "{err}");
}

#[test]
fn a_workload_that_runs_another_program() {
    let (code, _, err, _) = tune(&config(BUILD, "./tiny", "true"), HINTABLE);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("nothing was counted"), "{err}");
}

#[test]
fn failing_tests() {
    let (code, _, err, _) =
        tune(&config(BUILD, "echo broken invariant; false", "./tiny"), HINTABLE);
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("the test command") && err.contains("broken invariant"), "{err}");
}

#[test]
fn no_hint_worth_having() {
    let main = "int main(void) { return 0; }";
    let config = config(BUILD, "./tiny", "./tiny");
    let (code, out, err, _) = tune(&config, main);
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("No condition is worth a hint"), "{out}");
}

#[test]
fn hints_that_change_nothing() {
    // GCC takes a path to abort() for never taken by itself.
    let main = "#include <stdlib.h>\n__attribute__((noinline)) int f(int *p)\n{\n\tif (!p)\n\t\tabort();\n\
                \treturn *p;\n}\nint main(void)\n{\n\tvolatile int v = 1;\n\tint n = 0;\n\
                \tdo\n\t\tn += f((int *)&v);\n\twhile (n < 5000);\n\treturn n == 0;\n}\n";
    let config = config(BUILD, "./tiny", "./tiny");
    let (code, out, err, dir) = tune(&config, main);
    assert_eq!(code, 1, "{err}\n{out}");
    assert!(out.contains("No hint survives"), "{out}");
    assert!(!dir.path().join(".unlikely/journal.redb").exists(), "nothing was measured");
}

#[test]
fn a_hint_that_breaks_the_tests_is_withdrawn() {
    // These tests refuse any change of the source, as a checksum in a release script does.
    let test = "grep -q 'if (fd < 0) {' main.c";
    let (code, out, err, dir) = tune(&config(BUILD, test, "./tiny"), HINTABLE);
    assert_eq!(code, 1, "{err}\n{out}");
    assert!(out.contains("withdrawn") && out.contains("the test command"), "{out}");
    assert!(!dir.path().join(".unlikely/patches/combined.patch").exists());
}

#[test]
fn the_projects_own_tree_is_never_written_to() {
    let (_, _, _, dir) = tune(&config(BUILD, "./tiny", "./tiny"), HINTABLE);
    let mut left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".unlikely", "main.c", "unlikely.toml"]);
    assert_eq!(fs::read_to_string(dir.path().join("main.c")).unwrap(), HINTABLE);
}

#[test]
fn a_project_at_work_is_not_entered_twice() {
    let dir =
        project(&[("unlikely.toml", &config(BUILD, "./tiny", "./tiny")), ("main.c", HINTABLE)]);
    fs::create_dir(dir.path().join(".unlikely")).unwrap();
    let lock = fs::File::create(dir.path().join(".unlikely/lock")).unwrap();
    lock.lock().unwrap();
    let (code, _, err) = run(["scan", path(&dir)]);
    assert_eq!(code, 7, "{err}");
    assert!(err.contains("another unlikely works in this project"), "{err}");
}
