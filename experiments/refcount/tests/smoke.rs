//! The binary in its shortest form: everything runs, in the shape that is promised. Nothing here is
//! about time.

use serde_json::Value;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_experiment-refcount"))
        .args(arguments)
        .output()
        .expect("the experiment starts")
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is JSON and nothing else")
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].as_str().expect("a name"))
        .collect()
}

#[test]
fn every_comparison_has_all_its_arms_and_figures() {
    let report = json(&["--smoke", "--all", "--format", "json"]);
    assert_eq!(report["schema"], "unlikely/experiment/1");
    assert_eq!(report["experiment"], "refcount");
    let comparisons = &report["comparisons"];
    let each = ["u32-1", "u64-1", "arc-1", "patch-1", "u32-2", "u64-2", "arc-2", "patch-2"];
    assert_eq!(names(comparisons), each);
    for comparison in comparisons.as_array().expect("a list") {
        let name = comparison["name"].as_str().expect("a name");
        let arms = &comparison["arms"];
        let expected: &[&str] = if name.starts_with("arc") {
            &["std::sync::Arc", "std again", "refcount::Arc", "triomphe::Arc"]
        } else if name.starts_with("patch") {
            let checked =
                cfg!(any(target_arch = "x86_64", target_arch = "aarch64")).then_some("fast");
            &["full", "full again", checked.unwrap_or("fetch")]
        } else if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            &["plain", "plain again", "fetch", "fast", "full"]
        } else {
            &["plain", "plain again", "fetch", "full"]
        };
        assert_eq!(names(arms), expected, "{name}");
        assert_eq!(comparison["baseline"], expected[0]);
        assert_eq!((&arms[1]["control"], &arms[2]["control"]), (&true.into(), &false.into()));
        assert!(comparison["floor_percent"].as_f64() >= Some(0.0), "{name}");
        for (index, arm) in arms.as_array().expect("a list").iter().enumerate() {
            assert!(arm["ns_per_operation"].as_f64().expect("a time") > 0.0, "{name}");
            assert_eq!(arm["copies"].as_array().expect("a list").len(), 4, "{name}");
            assert_eq!(arm["ratio"].is_null(), index == 0, "{name}: {arm}");
            if index > 0 {
                let ratio = &arm["ratio"];
                let [low, high] = [0, 1].map(|end| ratio["ci95"][end].as_f64().expect("an end"));
                let ratio = ratio["ratio"].as_f64().expect("a ratio");
                assert!(low <= ratio && ratio <= high, "{name}: {arm}");
            }
        }
        assert_eq!((&comparison["n"], &comparison["n_unit"]), (&2.into(), &"process".into()));
        assert_eq!(comparison["operations"], 1000);
        let rows = comparison["rows"].as_array().expect("a list");
        assert_eq!(rows.iter().map(|row| &row["process"]).collect::<Vec<_>>(), [0, 1]);
        assert!(rows.iter().all(|row| row["blocks"].as_array().is_some_and(|b| b.len() == 2)));
        // Two processes are too few for any bar.
        for bar in comparison["bars"].as_array().expect("a list") {
            assert_eq!(bar["outcome"], "undecided", "{bar}");
        }
    }
}

#[test]
fn published_ratios_follow_from_their_printed_figures() {
    let report = json(&["--smoke", "--only", "u32-1", "--format", "json"]);
    let published = report["comparisons"][0]["published"].as_array().expect("a list");
    let ratios: Vec<String> = published
        .iter()
        .map(|one| {
            format!(
                "{} {:.3}",
                one["arm"].as_str().expect("an arm"),
                one["ratio"].as_f64().expect("a ratio")
            )
        })
        .collect();
    assert_eq!(
        ratios,
        [
            "fast 1.093",
            "full 1.643",
            "fast 1.000",
            "full 1.761",
            "fetch 1.048",
            "full 1.668",
            "fetch 1.004",
            "full 1.682",
        ]
    );
}

#[test]
fn the_fast_way_is_shown_to_be_one_locked_instruction_and_a_branch() {
    let report = json(&["--smoke", "--only", "u32-1", "--format", "json"]);
    let code = report["code"].as_array().expect("a list");
    assert!(
        code.iter()
            .all(|one| one["bytes"].as_u64() > Some(0) && one["hot_bytes"].as_u64() > Some(0))
    );
    // The package is compiled with optimisation for this, in tests too.
    #[cfg(target_arch = "x86_64")]
    // The second of the drop marks the dead, out of line.
    for (name, locked, branches) in [("inc, fast", 1, 1), ("dec_and_test, fast", 2, 2)] {
        let one = listed(&report, name);
        assert_eq!(locked_in(one), locked, "{one}");
        assert_eq!((&one["branches"], &one["calls"]), (&branches.into(), &0.into()), "{one}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn no_backend_has_its_loops_unrolled() {
    let report = json(&["--smoke", "--only", "u32-1", "--format", "json"]);
    for (backend, mark) in [("plain", 0), ("fetch", 0), ("fast", 1), ("full", 0)] {
        // One in the loop of increments, one in that of decrements, and what marks the dead.
        let one = listed(&report, &format!("both loops, {backend}"));
        assert_eq!(locked_in(one), 2 + mark, "{one}");
    }
}

#[cfg(target_arch = "x86_64")]
fn listed<'r>(report: &'r Value, name: &str) -> &'r Value {
    let mut code = report["code"].as_array().expect("a list").iter();
    code.find(|one| one["name"] == name).expect("it is listed")
}

/// Locked instructions of a function, with what lies out of line.
#[cfg(target_arch = "x86_64")]
fn locked_in(code: &Value) -> usize {
    let instructions = code["instructions"].as_array().expect("instructions").iter();
    instructions.filter(|text| text.as_str().is_some_and(|text| text.starts_with("lock"))).count()
}

#[test]
fn the_table_has_a_line_for_each_arm_and_bar() {
    let output = run(&["--smoke", "--only", "u32-1", "--only", "arc-1"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    for line in [
        "  plain ",
        "  full ",
        "  std::sync::Arc ",
        "  refcount::Arc ",
        "  triomphe::Arc ",
        "  asked of ",
    ] {
        assert!(text.lines().any(|one| one.starts_with(line)), "{line:?} is not in:\n{text}");
    }
    assert!(text.contains("full 1.643 (191.057942484 by 116.252672661 G cycles; arm64"), "{text}");
}

#[test]
fn the_seed_is_kept() {
    let report = json(&["--smoke", "--only", "arc-1", "--seed", "77", "--format", "json"]);
    assert_eq!(report["settings"]["seed"], 77);
}

#[test]
fn a_wrong_use_is_told_with_its_remedy() {
    for (arguments, text) in [
        (&["--only", "nothing"][..], "choose of u32-1, u64-1, arc-1"),
        (&["--processes", "0"], "give more than 0 and at most 1024"),
        (&["--processes", "1", "--blocks", "1"], "raise --processes"),
        (&["--run-ms", "NaN"], "--run-ms NaN is out of range"),
        (&["--worker", "{}"], "do not understand each other"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(text), "{arguments:?}: {said}");
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    }
}
