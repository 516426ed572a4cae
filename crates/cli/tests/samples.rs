//! `bench --hyperfine`: what another tool measured, as far as it can be judged.

mod common;

use common::{project, run};

fn judged(exit_code: u8) -> (i32, String, String) {
    let json = format!(
        r#"{{"results": [
            {{"command": "old", "times": [1.0, 1.1, 1.0, 1.05, 1.1, 1.0], "exit_codes": [0, 0, 0, 0, 0, 0]}},
            {{"command": "new", "times": [0.1, 0.2, 0.1, 0.11, 0.1, 0.1], "exit_codes": [0, 0, {exit_code}, 0, 0, 0]}}
        ]}}"#
    );
    let dir = project(&[("runs.json", &json)]);
    let file = dir.path().join("runs.json");
    run(["bench", "--hyperfine", file.to_str().expect("a path of ours is UTF-8")])
}

#[test]
fn runs_of_another_tool_are_judged_with_the_caution_that_their_order_asks_for() {
    let (code, out, err) = judged(0);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("faster") && out.contains("interleaved"), "{out}");
}

#[test]
fn a_command_that_fails_fast_is_no_faster_one() {
    let (code, out, err) = judged(1);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("1 of the runs of \"new\""), "{err}");
}
