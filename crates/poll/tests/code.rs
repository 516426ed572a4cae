//! What the scan becomes: read from the compiler's own assembly.
//!
//! The crate is built without `std`, and the loop of the benchmark's smallest table is compiled
//! against it. Nothing may be called but what the table's files bring along, and nothing may panic.

use std::path::{Path, PathBuf};
use std::process::Command;

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs the compiler in `folder`, where it finds what was built before.
fn rustc(folder: &Path, name: &str, source: &Path, arguments: &[&str]) {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = Command::new(&compiler)
        .current_dir(folder)
        .args(["--edition", "2024", "-Copt-level=3", "-Ccodegen-units=1", "-L", "."])
        .args(["--crate-name", name])
        .arg(source)
        .args(arguments)
        .output()
        .expect("the compiler runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} failed on {}:\n{said}", source.display());
}

/// The assembly of the benchmark's loops.
fn assembly(poll_arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = ["--crate-type", "rlib"];
    rustc(folder.path(), "unlikely", &source("../unlikely/src/lib.rs"), &library);
    let arguments = [&library, &["--extern", "unlikely=libunlikely.rlib"], poll_arguments].concat();
    rustc(folder.path(), "poll", &source("src/lib.rs"), &arguments);
    let text = std::fs::read_to_string(source("benches/twin/mod.rs")).expect("it is there");
    let twin = folder.path().join("twin.rs");
    // In a crate of its own only what is public is compiled.
    std::fs::write(&twin, text.replace("pub(crate)", "pub")).expect("a writable folder");
    let arguments =
        ["--crate-type", "lib", "--emit", "asm=twin.s", "--extern", "poll=libpoll.rlib"];
    rustc(folder.path(), "twin", &twin, &arguments);
    std::fs::read_to_string(folder.path().join("twin.s")).expect("the compiler wrote it")
}

/// The instructions of the function whose name has `name` in it.
fn function<'a>(assembly: &'a str, name: &str) -> Vec<&'a str> {
    let body: Vec<_> = assembly
        .lines()
        .skip_while(|line| !(line.ends_with(':') && line.contains(name)))
        .skip(1)
        .take_while(|line| !line.starts_with(".Lfunc_end"))
        .map(str::trim)
        .filter(|line| !line.starts_with(['.', '#']) && !line.is_empty())
        .collect();
    assert!(body.len() > 10, "{name} is not in the assembly:\n{assembly}");
    body
}

/// What it calls, on x86-64 or arm64.
fn calls<'a>(body: &[&'a str]) -> Vec<&'a str> {
    body.iter()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .filter(|(instruction, _)| {
            instruction.starts_with("call") || ["bl", "blr"].contains(instruction)
        })
        .map(|(_, target)| target.trim())
        .collect()
}

#[test]
fn the_loop_calls_nothing_but_the_files() {
    for arguments in [&[][..], &["--cfg", r#"feature="unhinted""#]] {
        let text = assembly(arguments);
        let direct = function(&text, "scan_direct");
        let called = calls(&direct);
        assert!(
            called.len() == 1 && called[0].contains("register"),
            "registering, in the first of the two loops: {called:?}"
        );
        let indirect = function(&text, "scan_indirect");
        let called = calls(&indirect);
        assert!(
            called.len() == 2 && called.iter().all(|target| !target.contains("_ZN")),
            "each loop asks through the file's operations: {called:?}"
        );
        assert!(!text.contains("panic"), "no check is left that could fail");
    }
}

#[test]
fn the_hint_changes_the_code() {
    // Or an experiment with both builds would compare one with itself. On x86-64 what changes is the
    // loop that registers; the one that does not is the same without the hint.
    let with = assembly(&[]);
    let without = assembly(&["--cfg", r#"feature="unhinted""#]);
    // Names carry a hash of the crate, which is another one.
    let text = |body: &[&str]| -> String {
        body.iter().filter(|line| !line.contains("_ZN")).flat_map(|line| [line, "\n"]).collect()
    };
    let both = ["scan_direct", "scan_indirect"]
        .map(|name| text(&function(&with, name)) != text(&function(&without, name)));
    assert!(both.contains(&true), "{both:?}");
}
