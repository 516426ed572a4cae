//! `bench --count`, on the example with and without the hint that it wants.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{copy_of, must, root, run, text, unlikely};
use serde_json::Value;

/// Builds the example, with its check of the descriptor as given.
fn built(check: &str) -> tempfile::TempDir {
    let dir = copy_of(&root().join("examples/pollset"));
    let file = dir.path().join("poll.c");
    let source = fs::read_to_string(&file).expect("the example");
    let edited = source.replacen("if (fd < 0)", &format!("if ({check})"), 1);
    fs::write(&file, edited).expect("a writable copy");
    must(Command::new("make").arg("-C").arg(dir.path()).args(["-s", "CC=gcc", "CFLAGS=-O2 -g"]));
    dir
}

fn command(dir: &Path, args: &str) -> String {
    format!("{}/pollset {args}", dir.display())
}

#[test]
fn a_hint_shows_as_fewer_jumps_taken_in_its_function() {
    let (plain, hinted) = (built("fd < 0"), built("__builtin_expect(fd < 0, 0)"));
    let [a, b] = [&plain, &hinted].map(|dir| command(dir.path(), "1000 20"));
    let (code, out, err) = run(["bench", "--a", &a, "--b", &b, "--count", "--format", "json"]);
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
    assert_eq!((code, report["schema"].as_str()), (0, Some("unlikely/count/1")));
    assert_eq!(report["verdict"], "fewer");
    let first = &report["changed_functions"][0];
    assert_eq!(first["name"], "arm_all");
    let taken = |side: &str| first[side]["counts"]["taken"].as_u64().expect("a count");
    // 20 rounds over 1,000 entries, all of which have a descriptor: two jumps less for each entry.
    assert_eq!(taken("a") - taken("b"), 2 * 20 * 1000);

    let (code, page, _) =
        run(["bench", "--a", &b, "--b", &a, "--count", "--count-runs", "1", "--color", "never"]);
    assert_eq!(code, 1);
    for part in ["more jumps taken:", "arm_all pollset", "poll.c:14", "counts are not time"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn what_cannot_be_counted_says_why_with_its_own_exit_code() {
    let empty = tempfile::tempdir().expect("a folder");
    let out = unlikely()
        .args(["bench", "--a", "ls", "--b", "ls", "--count"])
        .env("PATH", empty.path())
        .output()
        .expect("the program starts");
    assert_eq!(out.status.code(), Some(6));
    assert!(text(&out.stderr).contains("apt install valgrind"), "{}", text(&out.stderr));
    let (code, _, err) = run(["bench", "--a", "ls /nonexistent", "--b", "ls", "--count"]);
    assert_eq!(code, 4);
    assert!(err.contains("`ls /nonexistent`"), "{err}");
    let (code, _, err) = run(["bench", "--a", "ls", "--b", "ls", "--count", "--count-runs", "0"]);
    assert_eq!(code, 2, "{err}");
    // What belongs to timing is refused, not ignored.
    let timing: [&[&str]; 11] = [
        &["--blocks", "9"],
        &["--seed", "1"],
        &["--regex", "(1)"],
        &["--metric", "cpu"],
        &["--export-go", "x"],
        &["--keep-disturbed"],
        &["--require", "quiet"],
        &["--tune-machine"],
        &["--effect", "1"],
        &["--comparisons", "5"],
        &["--aa"],
    ];
    for option in timing {
        let args = ["bench", "--a", "ls", "--b", "ls", "--count"];
        let (code, _, err) = run(args.iter().chain(option).copied());
        assert_eq!(code, 2, "{option:?}: {err}");
    }
    // It compares two.
    let (code, _, err) = run(["bench", "--a", "ls", "--b", "ls", "--b", "ls", "--count"]);
    assert!(code == 2 && err.contains("one --a and one --b"), "{err}");
}

#[test]
fn two_equal_commands_take_as_many_jumps() {
    let (code, out, err) =
        run(["bench", "--a", "ls /", "--b", "ls /", "--count", "--format", "json"]);
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
    assert_eq!((code, report["verdict"].as_str()), (1, Some("same")), "{}", report["reason"]);
    assert_eq!(report["a"]["own"], report["b"]["own"]);
    assert_eq!(report["changed_functions"], Value::Array(vec![]));
    assert_eq!((report["a"]["runs"].as_u64(), report["b"]["runs"].as_u64()), (Some(2), Some(2)));
}
