//! The binary in its shortest form: the objects are built and loaded, everything runs, in the shape
//! that is promised. Nothing here is about time.

use serde_json::Value;
use std::process::Command;

fn names(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn hints_and_checks_are_compared_alone_and_under_the_stressor() {
    let output = Command::new(env!("CARGO_BIN_EXE_experiment-fortify"))
        .args(["--smoke", "--format", "json"])
        .output()
        .expect("the experiment starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("standard output is JSON");
    assert_eq!(report["schema"], "unlikely/experiment/1");
    // Where a compiler makes the same code of both sides nothing is timed, and that is said.
    let mut all = names(&report["comparisons"]);
    all.extend(names(&report["not_run"]));
    all.sort();
    let of = |kind: &str, what: [&str; 5]| what.map(|what| format!("{kind}-{what}"));
    let hints = ["4096", "64", "8", "stress", "try"];
    let expected =
        [of("check", hints), of("cold", hints), of("hint", hints), of("sized", hints)].concat();
    let none = ["check-try", "sized-try", "sized-stress"];
    assert!(expected.iter().filter(|name| !none.contains(&&***name)).eq(&all), "{all:?}");
    let not_run = names(&report["not_run"]);
    let of_a_check = |name: &String| name.starts_with("check") || name.starts_with("sized");
    assert!(!not_run.iter().any(of_a_check), "{not_run:?}");
    for comparison in report["comparisons"].as_array().expect("a list") {
        let name = comparison["name"].as_str().expect("a name");
        let before = match name.split('-').next() {
            Some("check" | "sized") => "unchecked",
            Some("cold") => "warm",
            _ => "unhinted",
        };
        let arms = names(&comparison["arms"]);
        assert_eq!(arms, [before, &format!("{before} again"), "hinted"], "{name}");
        let bars = comparison["bars"].as_array().expect("a list").len();
        assert_eq!(bars, usize::from(before == "unchecked" && name != "check-stress"));
    }
    let code = names(&report["code"]);
    let of = |object: &str| ["copy", "try", "read"].map(|what| format!("{object} {what}"));
    let expected = [of("warm"), of("unhinted"), of("hinted")].concat();
    assert_eq!(code[..9], expected);
    assert_eq!(code[9..], ["hinted copy of objects of 64 bytes", "unchecked copy"]);
    assert_eq!(names(&report["objects"]), ["hinted", "unhinted", "warm"]);
    let published = report["comparisons"].as_array().expect("a list").iter();
    for ratio in published.filter_map(|one| one["published"][0]["ratio"].as_f64()) {
        // 0.607 % more reads in the same time.
        assert!((1.0 / ratio - 1.006_07).abs() < 1e-5, "{ratio}");
    }
}
