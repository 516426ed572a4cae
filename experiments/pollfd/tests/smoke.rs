//! The binary in its shortest form: the objects are built and loaded, everything runs, in the shape
//! that is promised. Nothing here is about time.

use serde_json::Value;
use std::process::Command;

#[test]
fn the_hint_and_the_loop_in_c_are_compared_at_three_shares() {
    let output = Command::new(env!("CARGO_BIN_EXE_experiment-pollfd"))
        .args(["--smoke", "--format", "json"])
        .output()
        .expect("the experiment starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("standard output is JSON");
    assert_eq!(report["schema"], "unlikely/experiment/1");
    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    // A compiler may come to make the same code of both: then nothing is timed, and that is said.
    let mut all = names(&report["comparisons"]);
    all.extend(names(&report["not_run"]));
    all.sort();
    assert_eq!(all, ["c-0", "c-1", "c-50", "hint-0", "hint-1", "hint-50"]);
    for comparison in report["comparisons"].as_array().expect("a list") {
        let expected = match comparison["name"].as_str().expect("a name").split_once('-') {
            Some(("hint", _)) => ["unhinted", "unhinted again", "hinted"],
            _ => ["C, gcc -O2", "C again", "hinted"],
        };
        assert_eq!(names(&comparison["arms"]), expected);
        for arm in comparison["arms"].as_array().expect("a list") {
            assert_eq!(arm["copies"].as_array().expect("a list").len(), 4);
            assert!(arm["operations_per_second"].as_f64() > Some(0.0));
        }
    }
    assert_eq!(names(&report["code"]), ["unhinted", "hinted", "C, gcc -O2"]);
    for code in report["code"].as_array().expect("a list") {
        assert!(code["bytes"].as_u64() > Some(20) && code["hot"].as_u64() > Some(5), "{code}");
    }
    let objects = report["objects"].as_array().expect("a list");
    assert_eq!(names(&report["objects"]), ["c", "hinted", "unhinted"]);
    assert!(objects.iter().all(|object| object["text_bytes"].as_u64() > Some(100)));
    let mut published = report["comparisons"].as_array().expect("a list").iter();
    let published = published.find_map(|one| one["published"][0]["ratio"].as_f64());
    if names(&report["not_run"]).is_empty() {
        // 183 of 32818: 0.558 %.
        assert!((published.expect("a figure") - (1.0 - 0.005_576)).abs() < 1e-6);
    }
}
