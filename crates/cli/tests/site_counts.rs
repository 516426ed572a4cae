//! Hints of Rust that count themselves: built, run, imported, judged.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{json, must, path, project, root, run, unwrapped};
use serde_json::Value;
use tempfile::TempDir;

const CONFIG: &str = "\
[project]
name = \"app\"
language = \"rust\"
[build]
command = \"cargo build\"
[test]
command = \"cargo test\"
";

const LIBRARY: &str = "\
#![no_std]
#![forbid(unsafe_code)]
use unlikely::{likely, unlikely};
pub fn sum<T: Copy + Into<i64>>(all: &[T]) -> i64 {
    let mut sum = 0;
    for one in all {
        let one = (*one).into();
        if unlikely!(one < 0) {
            continue;
        }
        // \"Most numbers are odd\", somebody thought.
        if likely!(one == 1 && one != '\"' as i64) {
            sum += one;
        }
    }
    sum
}
pub fn never(n: u32) -> bool {
    likely!(n > 3)
}
";

const MAIN: &str = "\
fn main() {
    let bytes: Vec<u8> = (0..100).collect();
    let words: Vec<i32> = (-1..99).collect();
    let sum = numbers::sum(&bytes) + numbers::sum(&words);
    if unlikely::unlikely!(sum == 7) {
        println!(\"{}\", numbers::never(1));
    }
}
";

/// A program and a library that it uses; both use the hint crate.
fn app() -> TempDir {
    let hints = format!("unlikely = {{ path = {:?}, default-features = false }}\n", hint_crate());
    let with_std = format!("unlikely = {{ path = {:?} }}\n", hint_crate());
    let package = |name: &str| {
        format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n"
        )
    };
    let app = format!(
        "{}numbers = {{ path = \"numbers\" }}\n{with_std}[workspace]\nmembers = [\"numbers\"]\n",
        package("app")
    );
    project(&[
        ("unlikely.toml", CONFIG),
        ("Cargo.toml", &app),
        ("src/main.rs", MAIN),
        ("numbers/Cargo.toml", &format!("{}{hints}", package("numbers"))),
        ("numbers/src/lib.rs", LIBRARY),
    ])
}

fn hint_crate() -> String {
    root().join("crates/unlikely").to_str().unwrap().to_owned()
}

/// Builds the program so that it counts, and runs it so many times.
fn count(dir: &Path, runs: usize) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(dir).args(["build", "--quiet", "--offline"]);
    cargo.env("RUSTFLAGS", "--cfg unlikely_profile").env("CARGO_TARGET_DIR", "target");
    must(cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CARGO_BUILD_TARGET"));
    for _ in 0..runs {
        let mut program = Command::new(dir.join("target/debug/app"));
        must(program.current_dir(dir).env("UNLIKELY_SITES", "counts-%p.jsonl"));
    }
}

/// The files that the runs wrote.
fn written(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path().display().to_string());
    names.filter(|name| name.contains("/counts-")).collect()
}

fn import(dir: &TempDir, files: &[String]) -> (i32, String, String) {
    let files = files.iter().map(String::as_str);
    run(["import", path(dir)].into_iter().chain(files).chain(["--workload", "w"]))
}

fn scan(dir: &TempDir) -> Value {
    json(["scan", path(dir), "--format", "json"]).1
}

fn audit(scan: &Value) -> Vec<(String, u64, String, u64, u64)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let rows = scan["audit"].as_array().unwrap().iter().map(|row| {
        let [line, executed, taken] =
            ["line", "executed", "taken"].map(|f| row[f].as_u64().unwrap());
        (text(&row["file"]), line, text(&row["verdict"]), executed, taken)
    });
    rows.collect()
}

fn said(scan: &Value, code: &str) -> Vec<String> {
    let all = scan["diagnostics"].as_array().unwrap().iter().filter(|d| d["code"] == code);
    all.map(|d| d["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_wrong_hint_is_named_by_file_and_line_and_a_right_one_is_not() {
    let dir = app();
    count(dir.path(), 2);
    let files = written(dir.path());
    assert_eq!(files.len(), 2, "one for each process");
    let (code, out, err) = import(&dir, &files);
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        out,
        "imported workload w: the program's own counts of its hints, 2 files, 2 files of the project\n"
    );
    let scanned = scan(&dir);
    let row = |file: &str, line, verdict: &str, executed, taken| {
        (file.to_owned(), line, verdict.to_owned(), executed, taken)
    };
    // 200 numbers a run, over both instances of the function; two runs. One of them is negative.
    let library = "numbers/src/lib.rs";
    assert_eq!(
        audit(&scanned),
        [
            row(library, 8, "right", 400, 2),
            row(library, 12, "wrong", 398, 4),
            row(library, 19, "not-executed", 0, 0),
            row("src/main.rs", 5, "right", 2, 0),
        ]
    );
    assert_eq!(scanned["diagnostics"].as_array().unwrap().len(), 0, "{scanned}");
    let (code, page, _) = run(["scan", path(&dir)]);
    assert_eq!(code, 1, "it proposes no new hint");
    let page = unwrapped(&page);
    for part in [
        "4: 2 right, 1 wrong, 0 redundant, 1 not executed wrong numbers/src/lib.rs:12 likely!(one == 1",
        "promises true; false 394 of 398 (99.0 %) not executed numbers/src/lib.rs:19 likely!(n > 3)",
        "right numbers/src/lib.rs:8 unlikely!(one < 0) true 2 of 400 (0.50 %)",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// A table of one site of `app`'s library at `line`, under `file`.
fn table(file: &str, line: u32) -> String {
    format!(
        "{{\"schema\":\"unlikely/sites/1\"}}\n{{\"hint\":\"unlikely\",\"file\":\"{file}\",\
         \"line\":{line},\"column\":12,\"module\":\"m\",\"condition\":\"one < 0\",\"right\":1,\
         \"wrong\":9}}\n{{\"end\":1}}\n"
    )
}

#[test]
fn counts_of_another_text_are_set_aside() {
    let dir = app();
    let file = dir.path().join("counts-1");
    let files = [file.to_str().unwrap().to_owned()];
    // Changed between the run and the import: the site does not stand there.
    fs::write(&file, table("numbers/src/lib.rs", 9)).unwrap();
    assert_eq!(import(&dir, &files).0, 0);
    let scanned = scan(&dir);
    assert_eq!(audit(&scanned), []);
    let stale = said(&scanned, "stale-site");
    assert!(stale[0].contains("line 9, column 12 holds no `unlikely!(one < 0)`"), "{stale:?}");
    // Changed after the import: the text is another as a whole.
    fs::write(&file, table("numbers/src/lib.rs", 8)).unwrap();
    assert_eq!(import(&dir, &files).0, 0);
    assert_eq!(audit(&scan(&dir)).len(), 1);
    let library = dir.path().join("numbers/src/lib.rs");
    fs::write(library, format!("{LIBRARY}// New.\n")).unwrap();
    let scanned = scan(&dir);
    assert_eq!(audit(&scanned), []);
    assert_eq!(said(&scanned, "source-changed").len(), 1);
}

#[test]
fn nothing_outside_the_project_is_opened() {
    let outside = project(&[("secret.rs", "if true || unlikely!(one < 0) {}\n")]);
    let dir = app();
    let secret = outside.path().join("secret.rs");
    std::os::unix::fs::symlink(&secret, dir.path().join("link.rs")).unwrap();
    let up = format!("numbers/../../{}", outside.path().file_name().unwrap().to_str().unwrap());
    let paths = [secret.to_str().unwrap().to_owned(), format!("{up}/secret.rs"), "link.rs".into()];
    let tables: String = paths.iter().map(|path| table(path, 1)).collect();
    let file = dir.path().join("counts-1");
    fs::write(&file, &tables).unwrap();
    let files = [file.to_str().unwrap().to_owned()];
    let (code, _, err) = import(&dir, &files);
    assert_eq!(code, 2, "none of the three is a source of the project: {err}");
    fs::write(&file, tables + &table("numbers/src/lib.rs", 8)).unwrap();
    assert_eq!(import(&dir, &files).0, 0);
    let scanned = scan(&dir);
    assert_eq!(audit(&scanned).len(), 1, "{scanned}");
    // The link is below the project, so it is said that nothing can be told of it.
    assert!(said(&scanned, "source-missing")[0].contains("link.rs"), "{scanned}");
}

#[test]
fn a_file_that_is_no_table_says_what_makes_one() {
    let dir = app();
    let file = dir.path().join("counts-1");
    fs::write(&file, "{\"schema\":\"something/else\"}\n").unwrap();
    let (code, _, err) = import(&dir, &[file.to_str().unwrap().to_owned()]);
    assert_eq!(code, 2);
    assert!(err.contains("--cfg unlikely_profile"), "{err}");
}

#[test]
fn what_a_table_holds_does_not_act_on_the_terminal() {
    const ATTACK: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\r";
    let dir = app();
    let file = dir.path().join("counts-1");
    let files = [file.to_str().unwrap().to_owned()];
    let bad = format!("no line {ATTACK} of a table\n");
    // An error, and a warning beside what can be used.
    for (table, expected) in [
        (format!("{{\"schema\":\"unlikely/sites/1\"}}\n{bad}"), 2),
        (table("numbers/src/lib.rs", 8) + &bad, 0),
    ] {
        fs::write(&file, table).unwrap();
        let (code, out, err) = import(&dir, &files);
        assert_eq!(code, expected, "{err}");
        assert!(err.contains(r"\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{d}"), "{err}");
        let acts = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
        assert!(!format!("{out}{err}").contains(acts), "{out:?} {err:?}");
    }
}

#[test]
fn recording_a_rust_project_says_how_it_is_counted() {
    let dir = app();
    for verb in ["record", "tune"] {
        let (code, _, err) = run([verb, path(&dir)]);
        assert_eq!(code, 2, "{verb}");
        assert!(err.contains("unlikely import") && err.contains("UNLIKELY_SITES"), "{err}");
    }
}
