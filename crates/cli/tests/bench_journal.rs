//! A campaign that is kept: `--journal` goes on where it was, and lets nobody change the plan.

mod common;

use std::fs;

use common::{Bench, Running, has};
use serde_json::{Value, json};

const A: &str = "sh arm a 1000 1001 999 1002 998";
const B: &str = "sh arm b 990 991 989 991 989";

/// A campaign with a journal.
fn campaign<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let kept = ["--a", A, "--regex", r"v=(\d+)", "--journal", "runs.redb", "--keep-disturbed"];
    [&kept[..], more].concat()
}

fn fixed<'a>(blocks: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let design = ["--b", B, "--stop", "fixed", "--seed", "5", "--warmups", "0", "--blocks", blocks];
    campaign(&[&design[..], more].concat())
}

fn values(report: &Value) -> Vec<(f64, f64)> {
    let value = |row: &Value, arm: &str| row[arm].as_f64().expect("a number");
    let rows = report["rows"].as_array().expect("rows");
    rows.iter().map(|row| (value(row, "a"), value(row, "b"))).collect()
}

#[test]
fn a_finished_campaign_is_reported_again_without_a_run() {
    let bench = Bench::new();
    let (code, first) = bench.json(&fixed("8", &[]));
    assert_eq!((code, bench.runs_of("a")), (0, 8));
    let (code, again) = bench.json(&fixed("8", &[]));
    assert_eq!((code, bench.runs_of("a"), bench.runs_of("b")), (0, 8, 8));
    assert_eq!(again, first);
}

#[test]
fn a_killed_campaign_goes_on_with_its_blocks() {
    let bench = Bench::new();
    // B hangs in its fourth run until the file is there, which it is only for the second sitting.
    let b = "sh arm b 990 991 989 991 989; n=$(cat b); \
             while [ $n = 4 ] && [ ! -e go ]; do touch hung; sleep 0.01; done";
    let design = ["--b", b, "--stop", "fixed", "--seed", "5", "--warmups", "0", "--blocks", "8"];
    let mut first = Running::start(&mut bench.command(&campaign(&design)));
    first.until(&bench.dir.path().join("hung"));
    first.kill();
    fs::write(bench.dir.path().join("go"), "").expect("a file");
    let (_, report) = bench.json(&campaign(&design));
    has(&report, json!({ "blocks": 8, "seed": 5 }));
    let sessions: Vec<u64> = report["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["session"].as_u64().expect("a number"))
        .collect();
    assert_eq!(sessions, [0, 0, 0, 1, 1, 1, 1, 1], "three blocks were kept, none was repeated");
    assert!(report["n_counts"].as_str().expect("words").contains("2 sitting(s)"), "{report}");
    // Three and five blocks, and the block that was interrupted.
    assert_eq!(bench.runs_of("b"), 9);
}

#[test]
fn more_blocks_go_on_and_are_a_caution() {
    let bench = Bench::new();
    let (_, first) = bench.json(&fixed("8", &[]));
    let (_, more) = bench.json(&fixed("10", &[]));
    assert_eq!((bench.runs_of("a"), values(&more).len()), (10, 10));
    assert_eq!(values(&more)[..8], values(&first)[..]);
    let reason = more["reason"].as_str().expect("a reason");
    assert!(reason.contains("made longer after its result at 8 blocks was known"), "{reason}");
}

#[test]
fn another_plan_is_refused_with_what_differs() {
    let bench = Bench::new();
    bench.json(&fixed("8", &[]));
    for (args, differs) in [
        (fixed("6", &[]), "blocks"),
        (fixed("8", &["--strict"]), "strictness"),
        (fixed("8", &["--margin", "1"]), "equivalence margin"),
        (fixed("8", &["--direction", "higher"]), "metrics"),
        (fixed("8", &["--b", A]), "number of arms"),
        (campaign(&["--b", "echo v=1", "--stop", "fixed", "--seed", "5"]), "command of B"),
        (campaign(&["--b", B, "--stop", "fixed", "--seed", "6", "--warmups", "0"]), "seed"),
    ] {
        let said = bench.refused(2, &args);
        assert!(said.contains("runs.redb") && said.contains("registered with another plan"));
        assert!(said.contains(differs), "{differs}: {said}");
        assert!(said.contains("in a journal of its own"), "what to do: {said}");
    }
    assert_eq!(bench.runs_of("a"), 8, "nothing has run");
}

#[test]
fn a_campaign_is_resumed_with_its_seed_only() {
    let bench = Bench::new();
    let unseeded = ["--b", B, "--stop", "fixed", "--warmups", "0", "--blocks", "8"];
    let (_, report) = bench.json(&campaign(&unseeded));
    let said = bench.refused(2, &campaign(&unseeded));
    assert!(said.contains("runs.redb") && said.contains("add --seed"), "{said}");
    // The one that was drawn is printed, and it is the one.
    let seed = report["seed"].as_u64().expect("a seed").to_string();
    let (_, again) = bench.json(&campaign(&[&unseeded[..], &["--seed", &seed]].concat()));
    assert_eq!((again, bench.runs_of("a")), (report, 8));
}

#[test]
fn two_campaigns_at_once_do_not_share_a_journal() {
    let bench = Bench::new();
    let hangs = "touch hung; while [ ! -e go ]; do sleep 0.01; done; echo v=1";
    let design = ["--b", hangs, "--seed", "5", "--blocks", "6", "--stop", "fixed"];
    let mut first = Running::start(&mut bench.command(&campaign(&design)));
    first.until(&bench.dir.path().join("hung"));
    let said = bench.refused(7, &campaign(&design));
    assert!(said.contains("runs.redb") && said.contains("in use by another process"), "{said}");
    assert!(said.contains("a journal of its own"), "{said}");
    fs::write(bench.dir.path().join("go"), "").expect("a file");
    assert!(first.end().is_some_and(|code| code < 2));
}

#[test]
fn what_is_no_journal_is_refused_by_its_name() {
    let bench = Bench::new();
    let args = ["--a", A, "--b", B, "--regex", "(.)", "--seed", "1", "--journal"];
    let (code, _, said) = bench.run(&[&args[..], &["arm"]].concat());
    assert!(code == 8 && said.contains("arm"), "{code}: {said}");
    let script = fs::read_to_string(bench.dir.path().join("arm")).expect("the file");
    assert!(script.contains("shift"), "the file is as it was");
    let (code, _, said) = bench.run(&[&args[..], &["nowhere/runs"]].concat());
    assert!(code == 8 && said.contains("nowhere/runs") && said.contains("must exist"), "{said}");
}

#[test]
fn a_plan_and_an_aa_campaign_are_kept_beside_it() {
    let bench = Bench::new();
    bench.json(&fixed("8", &[]));
    let alone = ["--seed", "5", "--warmups", "0"];
    let plan = campaign(&[&["--plan", "--blocks", "6"], &alone[..]].concat());
    let aa = campaign(&[&["--aa", "--blocks", "6", "--comparisons", "2"], &alone[..]].concat());
    for (mode, runs) in [(plan, 12), (aa, 24)] {
        let before = bench.runs_of("a");
        let (_, first) = bench.json(&mode);
        assert_eq!(bench.runs_of("a"), before + runs);
        let (_, again) = bench.json(&mode);
        assert_eq!((bench.runs_of("a"), again), (before + runs, first), "it has run already");
    }
}
