//! The bundled example, from its workload to its verdict.

mod common;

use std::fs;
use std::process::Command;

use common::{config, copy_of, json, must, path, root, run, text};

#[test]
fn the_bundled_example_ends_with_a_proven_hint() {
    let dir = copy_of(&root().join("examples/pollset"));
    for collector in ["gcov", "llvm"] {
        let (code, evidence) =
            json(["tune", path(&dir), "--collector", collector, "--format", "json"]);
        // Whether it is faster on this machine today is the measurement's to say.
        assert!(code == 0 || code == 1, "{code}");
        let kept: Vec<_> =
            evidence["sites"].as_array().unwrap().iter().filter(|s| s["fate"] == "kept").collect();
        let id = kept[0]["id"].as_str().unwrap();
        let candidate = evidence["scan"]["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| c["id"] == id)
            .unwrap();
        assert_eq!(candidate["condition"], "fd < 0");
        assert_eq!(candidate["expect"], "false");
        assert_eq!(candidate["taken"], 0);
        assert_eq!(candidate["polarity"], "known");
        let function = &kept[0]["code"][0]["functions"][0];
        let taken = &function["hot_taken"];
        assert!(taken["after"].as_u64() < taken["before"].as_u64(), "{taken}");
        assert!(function["blocks_moved"].as_u64() > Some(0));
        let bench = evidence["bench"].as_array().unwrap();
        assert_eq!(bench.len(), 2);
        for one in bench {
            let report = &one["report"];
            assert_eq!(
                (&report["n_unit"], &report["ending"]["blocks_max"]),
                (&"build".into(), &24.into())
            );
            let blocks = report["blocks"].as_u64().unwrap();
            // It may end at a look, and always after whole pairs of builds.
            assert!(blocks <= 24 && blocks == 2 * report["n"].as_u64().unwrap(), "{blocks}");
            let salted = report["layers"].as_array().unwrap().iter().find(|l| l["name"] == "build");
            assert!(salted.unwrap()["sd_percent"].is_f64(), "{salted:?}");
            assert!(one["dose"]["executions"].as_u64() > Some(1_000_000), "{}", one["dose"]);
        }
    }
    let state = dir.path().join(".unlikely");
    let patch = fs::read_to_string(state.join("patches/combined.patch")).unwrap();
    assert!(patch.contains("+\tif (__builtin_expect(!!(fd < 0), 0)) {"), "{patch}");
    must(
        Command::new("git")
            .args(["apply", "--check", ".unlikely/patches/combined.patch"])
            .current_dir(dir.path()),
    );
    let page = fs::read_to_string(state.join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("fd &lt; 0"));
    let message = fs::read_to_string(state.join("commit-message.txt")).unwrap();
    assert!(message.starts_with("pollset: "), "{message}");
    assert!(config(dir.path()).contains_key("bench"));
}

#[test]
fn each_verb_goes_on_from_the_one_before() {
    let dir = copy_of(&root().join("examples/pollset"));
    let dir = path(&dir);
    let (code, _, err) = run(["scan", dir]);
    assert_eq!(code, 2);
    assert!(err.contains("unlikely record"), "{err}");
    assert_eq!(run(["record", dir, "--collector", "gcov"]).0, 0);
    let (code, scan) = json(["scan", dir, "--format", "json"]);
    assert_eq!(code, 0);
    assert_eq!(scan["schema"], "unlikely/scan/1");
    let (code, out, _) = run(["check", dir]);
    assert_eq!(code, 0);
    assert!(out.contains("not measured yet"), "{out}");
    let (code, out, _) = run(["patch", dir]);
    assert_eq!(code, 0, "{out}");
    let (code, out, _) = run(["report", dir, "--format", "message"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("pollset: "), "{out}");
    let html = common::unlikely().args(["report", dir, "--format", "html"]).output().unwrap();
    assert!(text(&html.stdout).starts_with("<!DOCTYPE html>"));
}

#[test]
fn any_two_commands_can_be_measured() {
    let (code, report) = json([
        "bench",
        "--a",
        "echo 2 ops",
        "--b",
        "echo 3 ops",
        "--regex",
        "([0-9]+) ops",
        "--direction",
        "higher",
        "--unit",
        "ops",
        "--blocks",
        "8",
        "--seed",
        "7",
        "--format",
        "json",
    ]);
    assert_eq!(code, 0);
    assert_eq!(report["schema"], "unlikely/bench/1");
    assert_eq!(report["verdict"], "faster");
    assert!((report["ratio"].as_f64().unwrap() - 1.5).abs() < 1e-9, "{report}");
    assert_eq!((&report["ending"]["blocks_max"], &report["seed"]), (&8.into(), &7.into()));
    // Nothing is clearer than this: it ends at the first look that two witnesses may speak at.
    assert_eq!((&report["blocks"], &report["a"]["n"]), (&7.into(), &7.into()));
    let (code, report) = json([
        "bench",
        "--a",
        "echo 2 ops",
        "--b",
        "echo 3 ops",
        "--regex",
        "([0-9]+) ops",
        "--direction",
        "lower",
        "--blocks",
        "8",
        "--format",
        "json",
    ]);
    assert_eq!((code, &report["verdict"]), (1, &"slower".into()));
    assert_eq!(run(["bench", "--a", "true", "--b", "false", "--blocks", "2"]).0, 4);
    assert_eq!(run(["bench", "--a", "true"]).0, 2);
}
