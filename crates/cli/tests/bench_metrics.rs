//! What `bench` judges runs by: every form of `--metric`, and where each finds its number.

mod common;

use std::process::Command;

use common::{Bench, has};
use serde_json::{Value, json};

/// A campaign of few blocks that nothing disturbs.
fn campaign<'a>(a: &'a str, b: &'a str, metrics: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["--a", a, "--b", b, "--stop", "fixed", "--blocks", "8", "--warmups", "0"];
    args.push("--keep-disturbed");
    metrics.iter().for_each(|metric| args.extend(["--metric", metric]));
    args
}

fn geomeans(report: &Value) -> [f64; 2] {
    ["a", "b"].map(|arm| report[arm]["geomean"].as_f64().expect("a number"))
}

#[test]
fn a_number_is_found_where_the_metric_says() {
    let bench = Bench::new();
    let json = r#"echo '{"runs": [{"mean": 2.5}], "name": "x"}'"#;
    for (metric, a, b, values) in [
        (r"regex:v=(\d+)", "echo v=7; echo v=9", "echo v=8", [7.0, 8.0]),
        (r"regex:v=(\d+)", "echo v=7 >&2", "echo v=8 >&2; echo v=6", [7.0, 6.0]),
        ("json:$.runs[0].mean", json, r#"echo talk; echo '{"runs": [{"mean": 5}]}'"#, [2.5, 5.0]),
        // What the command writes to its metric file goes before what it prints.
        (
            r"regex:v=(\d+)",
            "echo v=7 >$UNLIKELY_METRIC_FILE; echo v=1",
            "echo v=8 >$UNLIKELY_METRIC_FILE",
            [7.0, 8.0],
        ),
        (
            "json:$.v",
            r#"echo '{"v": 3}' >"$UNLIKELY_METRIC_FILE""#,
            r#"echo '{"v": 4}' >"$UNLIKELY_METRIC_FILE"; echo '{"v": 9}'"#,
            [3.0, 4.0],
        ),
    ] {
        let (_, report) = bench.json(&campaign(a, b, &[metric]));
        for (found, expected) in geomeans(&report).iter().zip(values) {
            assert!((found - expected).abs() < 1e-9, "{metric}, {a}: {found}");
        }
    }
}

#[test]
fn direction_and_unit_stand_before_the_colon() {
    let bench = Bench::new();
    let (code, report) =
        bench.json(&campaign("echo v=7", "echo v=8", &["regex,higher,MB/s:(\\d)"]));
    assert_eq!(code, 0);
    has(&report, json!({ "direction": "higher", "unit": "MB/s" }));
    let (code, report) = bench.json(&campaign("echo v=7", "echo v=8", &["regex:(\\d)"]));
    assert_eq!(code, 1);
    has(&report, json!({ "direction": "lower", "unit": "" }));
}

#[test]
fn what_every_run_has_is_measured_in_its_unit() {
    let bench = Bench::new();
    for (metric, unit) in [("time", "s"), ("cpu", "s"), ("rss", "B")] {
        let (code, report) = bench.json(&campaign("true", "true", &[metric]));
        assert!(code == 0 || code == 1, "{metric}: {code}");
        has(&report, json!({ "metric": metric, "unit": unit }));
        let [a, b] = geomeans(&report);
        assert!(a > 0.0 && b > 0.0, "{metric}: {a} {b}");
    }
    // The kernel may find no part of a short run in user or system mode, and that is said.
    for part in ["user", "sys"] {
        let (code, out, err) = bench.run(&campaign("true", "true", &[part]));
        let shown = code <= 1 && out.starts_with(part);
        assert!(shown || code == 4 && err.contains("judge by cpu instead"), "{part}: {out}{err}");
    }
    // Without --metric it is wall time.
    let (_, report) = bench.json(&campaign("true", "true", &[]));
    assert_eq!(report["metric"], "time");
}

#[test]
fn the_first_metric_is_the_claim_and_the_others_are_explored() {
    let print = |v: u32, w: u32| format!("echo v={v}; echo w={w}");
    let (a, b) = (print(100, 100), print(99, 101));
    let metrics = [r"regex:v=(\d+)", r"regex:w=(\d+)", "rss"];
    let bench = Bench::new();
    let (code, report) = bench.json(&campaign(&a, &b, &metrics));
    assert_eq!(code, 0);
    has(&report, json!({ "verdict": "faster", "family": null }));
    let others = report["others"].as_array().expect("the other metrics");
    assert_eq!(others.len(), 2);
    has(&others[0], json!({ "metric": r"w=(\d+)", "verdict": "slower" }));
    has(&others[1], json!({ "metric": "rss" }));
    for other in others {
        has(&other["family"], json!({ "method": "benjamini-hochberg", "size": 2 }));
    }
    let (_, page, _) = bench.run(&campaign(&a, &b, &metrics));
    assert!(page.contains("explored only"), "{page}");
}

#[test]
fn what_is_no_metric_is_answered_with_the_forms() {
    let bench = Bench::new();
    let said = bench.refused(2, &campaign("true", "true", &["speed"]));
    for form in ["time", "cpu", "user", "sys", "rss", "stress-ng:", "perf:", "json:", "regex:"] {
        assert!(said.contains(form), "{form}: {said}");
    }
    let said = bench.refused(2, &campaign("true", "true", &["json,up:$.v"]));
    assert!(said.contains("\"up\"") && said.contains("higher or lower"), "{said}");
    let said = bench.refused(2, &campaign("true", "true", &["json:v"]));
    assert!(said.contains("$.results[0].mean"), "{said}");
    let said = bench.refused(2, &campaign("true", "true", &["perf:a,b"]));
    assert!(said.contains("several as several metrics"), "{said}");
    // The same twice would be taken for another arm, or count as one more exploration.
    let said = bench.refused(2, &campaign("true", "true", &["time", "rss", "time"]));
    assert!(said.contains("--metric time") && said.contains("once"), "{said}");
    let both = [&campaign("true", "true", &["time"])[..], &["--regex", "(1)"]].concat();
    assert!(bench.refused(2, &both).contains("--regex"));
}

#[test]
fn a_missing_number_is_a_failed_workload_that_says_what_to_do() {
    let bench = Bench::new();
    let said = bench.refused(4, &campaign("true", "true", &["stress-ng:poll"]));
    assert!(said.contains("--yaml \"$UNLIKELY_METRIC_FILE\""), "{said}");
    let other = "echo '{\"w\": 1}'";
    let said = bench.refused(4, &campaign(other, other, &["json:$.v"]));
    assert!(said.contains("selects nothing; the top level has: w"), "{said}");
}

#[test]
fn stress_ng_is_judged_by_its_own_rate() {
    let stress =
        "stress-ng --nop 1 -t 1 --metrics --yaml \"$UNLIKELY_METRIC_FILE\" >/dev/null 2>&1";
    let installed = Command::new("stress-ng").arg("--version").output().is_ok();
    assert!(installed, "scripts/install-test-tools installs stress-ng");
    let metrics = ["stress-ng:nop", "stress-ng:nop/usr-sys-time"];
    let args = campaign(stress, stress, &metrics).into_iter();
    let two: Vec<&str> = args.map(|arg| if arg == "8" { "2" } else { arg }).collect();
    let (code, report) = Bench::new().json(&two);
    assert_eq!(code, 1);
    has(&report, json!({ "verdict": "inconclusive", "blocks": 2 }));
    for one in [&report, &report["others"][0]] {
        has(one, json!({ "unit": "bogo-ops/s", "direction": "higher" }));
        assert!(geomeans(one).iter().all(|rate| *rate > 0.0), "{one}");
    }
    let said = Bench::new().refused(4, &campaign(stress, stress, &["stress-ng:poll"]));
    assert!(said.contains("poll") && said.contains("nop"), "{said}");
}

#[test]
fn a_counter_that_the_machine_lacks_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let (code, out, err) = bench.run(&campaign("sh arm a 1", "sh arm b 1", &["perf:instructions"]));
    match code {
        // This machine counts.
        0 | 1 => assert!(out.contains("perf:instructions"), "{out}"),
        6 => assert!(err.contains("perf"), "{err}"),
        _ => {
            assert_eq!((code, bench.runs_of("a")), (8, 0), "{err}");
            assert!(err.contains("no hardware counters") && err.contains("task-clock"), "{err}");
        }
    }
}
