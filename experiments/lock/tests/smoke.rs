//! The binary in its shortest form: everything runs, in the shape that is promised. Nothing here is
//! about time.

use serde_json::Value;
use std::process::Command;

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].as_str().expect("a name"))
        .collect()
}

#[test]
fn every_comparison_has_all_its_arms_and_figures() {
    let output = Command::new(env!("CARGO_BIN_EXE_experiment-lock"))
        .args(["--smoke", "--all", "--format", "json"])
        .output()
        .expect("the experiment starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!(report["schema"], "unlikely/experiment/1");
    assert_eq!(report["experiment"], "lock");
    let comparisons = report["comparisons"].as_array().expect("a list");
    assert_eq!(
        names(&report["comparisons"]),
        [
            "lock-1", "lock-2", "work-2", "lock-8", "read-1", "read-2", "mixed-1", "mixed-2",
            "mixed-8"
        ]
    );
    for comparison in comparisons {
        let arms = names(&comparison["arms"]);
        assert!(arms.contains(&"lock, parks") && arms.contains(&"parking_lot"), "{arms:?}");
        assert_eq!(arms[1], format!("{} again", arms[0]));
        for arm in comparison["arms"].as_array().expect("a list") {
            assert!(arm["ns_per_operation"].as_f64().expect("a time") > 0.0, "{arm}");
        }
    }
}
