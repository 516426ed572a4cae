//! Every patch that `tune` makes for a real program applies, builds with gcc and with clang, and
//! passes the program's own tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{config, json, must, path, real};

#[test]
fn patches_of_bzip2() {
    patches("bzip2");
}

#[test]
fn patches_of_lz4() {
    patches("lz4");
}

#[test]
fn patches_of_lua() {
    patches("lua5.4");
}

fn patches(name: &str) {
    let dir = real(name);
    // How fast they are is no matter here; the figures in the documentation are from longer runs.
    let file = dir.path().join("unlikely.toml");
    let text = fs::read_to_string(&file).unwrap().replace("blocks = 30", "blocks = 2\nbuilds = 1");
    fs::write(&file, text).unwrap();
    let (code, evidence) = json(["tune", path(&dir), "--collector", "gcov", "--format", "json"]);
    assert!(code == 0 || code == 1, "{code}");
    let patches = patch_files(&dir.path().join(".unlikely/patches"));
    let kept = evidence["sites"].as_array().unwrap().iter().filter(|s| s["fate"] == "kept").count();
    assert!(kept > 0, "{name}: hints that change its code are known");
    assert_eq!(patches.len(), kept + 1, "one a hint, and the combined one");
    for compiler in ["gcc", "clang-22"] {
        let tree = real(name);
        for patch in &patches {
            let apply = |reverse: &[&str]| {
                let mut git = Command::new("git");
                must(git.arg("apply").args(reverse).arg(patch).current_dir(tree.path()));
            };
            apply(&[]);
            sh(tree.path(), "build", compiler);
            sh(tree.path(), "test", compiler);
            apply(&["--reverse"]);
        }
    }
    println!("{name}: {} patches", patches.len());
}

fn patch_files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

/// Runs the project's own command with a compiler of our choice.
fn sh(dir: &Path, table: &str, compiler: &str) {
    let config = config(dir);
    let command = config[table]["command"].as_str().unwrap();
    must(
        Command::new("sh")
            .args(["-c", command])
            .current_dir(dir)
            .env("CC", compiler)
            .env("CFLAGS", config["build"]["cflags"].as_str().unwrap())
            .env("LDFLAGS", ""),
    );
}
