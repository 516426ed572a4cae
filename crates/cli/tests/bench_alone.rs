//! `bench` of one command: `--plan` says what effects would take, `--aa` how often the machine
//! claims one that is not there. Beside them the files of other tools, in and out.

mod common;

use std::fs;

use common::{Bench, has, unwrapped};
use serde_json::{Value, json};

/// About 0.2 % of noise in each block.
const A: &str = "sh arm a 1000 1001 999 1002 998 1000 999";
const V: &str = r"v=(\d+)";

fn campaign<'a>(mode: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![mode, "--a", A, "--regex", V, "--seed", "1", "--keep-disturbed"];
    args.extend(["--warmups", "0"]);
    args.extend(more);
    args
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn a_plan_says_what_each_effect_takes() {
    let bench = Bench::new();
    let (code, plan) = bench.json(&campaign("--plan", &["--effect", "0.2", "--effect", "1"]));
    assert_eq!(code, 0);
    has(&plan, json!({ "schema": "unlikely/plan/1", "blocks": 20, "pilot": { "blocks": 12 } }));
    assert_eq!(bench.runs_of("a"), 24, "A is both arms of the pilot");
    let needs = plan["needs"].as_array().expect("needs");
    has(&needs[0], json!({ "effect_percent": 0.2, "hopeless": false }));
    has(&needs[1], json!({ "effect_percent": 1.0, "hopeless": false }));
    let [small, large] = [0, 1].map(|i| needs[i]["blocks"].as_u64().expect("blocks"));
    assert!(small > large && large >= 6, "{small} {large}");
    for need in needs {
        assert!(need["blocks_high"].as_u64() >= need["blocks"].as_u64(), "{need}");
        let hours = number(&need["blocks"]) * number(&plan["block_s"]) / 3600.0;
        assert!((number(&need["hours"]) - hours).abs() < 1e-12);
    }
    assert!(number(&plan["sd_percent_high"]) > number(&plan["sd_percent"]));
    // Twenty blocks show what takes about twenty.
    let (_, again) = Bench::new().json(&campaign("--plan", &["--effect", "0.2"]));
    assert_eq!(again["sd_percent"], plan["sd_percent"]);
    let at_twenty = number(&plan["mde80_percent"]);
    assert_eq!(small <= 20, at_twenty <= 0.2, "{small} {at_twenty}");
}

#[test]
fn what_is_out_of_reach_is_called_hopeless() {
    let bench = Bench::new();
    let far = ["--effect", "0.0001"];
    let (code, plan) = bench.json(&campaign("--plan", &far));
    assert_eq!(code, 1);
    has(&plan["needs"][0], json!({ "blocks": null, "hours": null, "hopeless": true }));
    let (_, page, _) = bench.run(&campaign("--plan", &far));
    assert!(page.contains("hopeless here"), "{page}");
    // Or for want of time.
    let (code, plan) = bench.json(&campaign("--plan", &["--effect", "1", "--hours", "1e-9"]));
    assert_eq!(code, 1);
    has(&plan["needs"][0], json!({ "hopeless": true }));
    assert!(plan["needs"][0]["blocks"].is_u64());
    // One that is within reach is enough.
    let (code, page, _) = bench.run(&campaign("--plan", &["--effect", "1", "--effect", "1e-4"]));
    assert_eq!((code, page.matches("hopeless here").count()), (0, 1), "{page}");
    for line in page.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_plan_asks_for_what_it_can_answer() {
    let bench = Bench::new();
    for (options, remedy) in [
        (["--effect", "0"], "such as 0.5"),
        (["--effect", "100"], "such as 0.5"),
        (["--hours", "0"], "such as 8"),
        (["--hours", "nan"], "such as 8"),
        (["--blocks", "1"], "at least 2 blocks"),
    ] {
        let said = bench.refused(2, &campaign("--plan", &options));
        assert!(said.contains(remedy), "{options:?}: {said}");
    }
    // What belongs to a comparison is refused, not ignored.
    let comparing: [&[&str]; 7] = [
        &["--b", "true"],
        &["--stop", "open"],
        &["--margin", "1"],
        &["--strict"],
        &["--no-confirm"],
        &["--export-go", "x"],
        &["--comparisons", "5"],
    ];
    for option in comparing {
        let said = bench.refused(2, &campaign("--plan", option));
        assert!(said.contains(option[0]) || said.contains("--aa"), "{option:?}: {said}");
    }
    assert_eq!(bench.runs_of("a"), 0);
}

#[test]
fn a_metric_without_noise_has_nothing_to_plan() {
    let args = ["--plan", "--a", "echo v=7", "--regex", V, "--blocks", "6"];
    let said = Bench::new().refused(1, &args);
    assert!(said.contains("no noise") && said.contains("6 blocks show any"), "{said}");
}

#[test]
fn a_command_against_itself_counts_false_claims() {
    let bench = Bench::new();
    let args = campaign("--aa", &["--comparisons", "12", "--blocks", "8"]);
    let (code, report) = bench.json(&args);
    assert_eq!(code, 0);
    has(&report, json!({ "schema": "unlikely/aa/1", "blocks_each": 8, "rebuild": null }));
    has(&report["whole"], json!({ "blocks": 96, "ending": { "rule": "fixed" } }));
    assert_eq!(bench.runs_of("a"), 192);
    for way in report["ways"].as_array().expect("ways") {
        assert_eq!(way["of"], 12);
        let [low, high] = [0, 1].map(|end| number(&way["ci95"][end]));
        let rate = number(&way["claims"]) / 12.0;
        assert!(low <= rate && rate <= high, "{way}");
    }
    has(&report["ways"][0], json!({ "way": "random blocks, t and ranks" }));
    let slot = &report["slot"];
    assert!(number(&slot["ci95"][0]) <= 1.0 && number(&slot["ci95"][1]) >= 1.0, "{slot}");
    let (_, page, _) = bench.run(&args);
    for part in ["of 12", "all A, then all B", "Ljung-Box over 10 lags", "second run of a block"] {
        assert!(unwrapped(&page).contains(part), "{part}: {page}");
    }
    for line in page.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_machine_that_makes_false_claims_is_a_negative_verdict() {
    let measure = |bench: &Bench, a: &str| {
        let args = ["--aa", "--a", a, "--regex", V, "--warmups", "0", "--keep-disturbed"];
        bench.json(&[&args[..], &["--seed", "4", "--comparisons", "5", "--blocks", "6"]].concat())
    };
    let (code, report) = measure(&Bench::new(), A);
    assert_eq!(code, 0);
    // A command that knows the order, and is slower whenever it is the second arm's turn.
    let rows = report["whole"]["rows"].as_array().expect("rows");
    let value = |(index, is_a): (usize, bool)| 1000 + index % 3 + if is_a { 0 } else { 50 };
    let turns = rows.iter().flat_map(|row| {
        let a_first = row["a_first"] == true;
        [a_first, !a_first]
    });
    let values: Vec<String> = turns.enumerate().map(value).map(|v| v.to_string()).collect();
    let (code, report) = measure(&Bench::new(), &format!("sh arm a {}", values.join(" ")));
    assert_eq!(code, 1);
    has(&report["ways"][0], json!({ "claims": 5, "of": 5 }));
    // In the order of time there is nothing to see.
    has(&report["ways"][2], json!({ "way": "all A, then all B: pooled t", "claims": 0, "of": 5 }));
}

#[test]
fn a_rebuild_is_a_third_arm() {
    let bench = Bench::new();
    let rebuild = "sh arm again 1010 1011 1009 1012 1008 1010 1009";
    let more = ["--comparisons", "4", "--blocks", "6", "--rebuild", rebuild];
    let (code, report) = bench.json(&campaign("--aa", &more));
    assert_eq!((code, bench.runs_of("again")), (0, 24));
    assert!((number(&report["rebuild"]["ratio"]) - 1.01).abs() < 1e-3, "{}", report["rebuild"]);
    let (_, page, _) = bench.run(&campaign("--aa", &more));
    assert!(page.contains("the same source built again +0.99"), "{page}");
}

#[test]
fn comparisons_that_cannot_be_are_refused() {
    let bench = Bench::new();
    let said = bench.refused(2, &campaign("--aa", &["--comparisons", "1000"]));
    assert!(said.contains("10000") && said.contains("4096"), "{said}");
    assert!(said.contains("lower --comparisons or --blocks"), "{said}");
    let said = bench.refused(2, &campaign("--aa", &["--comparisons", "4294967295"]));
    assert!(said.contains("lower --comparisons"), "{said}");
    for few in [["--comparisons", "0"], ["--blocks", "1"]] {
        let said = bench.refused(2, &campaign("--aa", &few));
        assert!(said.contains("of 2 blocks or more"), "{said}");
    }
    for option in [&["--strict"][..], &["--margin", "1"], &["--b", "true"], &["--plan"]] {
        assert!(bench.refused(2, &campaign("--aa", option)).contains("cannot be used with"));
    }
    assert_eq!(bench.runs_of("a"), 0);
}

/// A file as hyperfine exports it, of results with these times.
fn results(times: &[&[f64]]) -> String {
    let name = |index: usize| ["old", "new", "other"][index];
    let result = |(index, times)| json!({ "command": name(index), "times": times });
    let all: Vec<Value> = times.iter().copied().enumerate().map(result).collect();
    json!({ "results": all }).to_string()
}

#[test]
fn what_hyperfine_measured_is_judged_with_its_caution() {
    let bench = Bench::new();
    let old = [1.00, 1.01, 0.99, 1.02, 0.98, 1.00];
    let new = old.map(|time| time * 0.9);
    fs::write(bench.dir.path().join("r.json"), results(&[&old, &new])).unwrap();
    let (code, report) = bench.json(&["--hyperfine", "r.json"]);
    assert_eq!(code, 0);
    has(
        &report,
        json!({ "schema": "unlikely/samples/1", "name_a": "old", "name_b": "new",
                "verdict": "faster", "a": { "n": 6 }, "b": { "n": 6 } }),
    );
    assert!((number(&report["ratio"]) - 0.9).abs() < 1e-9);
    let (_, page, _) = bench.run(&["--hyperfine", "r.json"]);
    let page = unwrapped(&page);
    for part in ["Welch's t", "Mann-Whitney", "faster:", "were not interleaved"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    fs::write(bench.dir.path().join("r.json"), results(&[&new, &old])).unwrap();
    let (code, report) = bench.json(&["--hyperfine", "r.json"]);
    assert_eq!((code, report["verdict"].as_str()), (1, Some("slower")));
}

#[test]
fn a_file_that_holds_no_comparison_is_refused_by_its_name() {
    let bench = Bench::new();
    let some = [1.0, 1.1];
    for (text, why) in [
        (results(&[&some]), "1 results, and two are compared"),
        (results(&[&some, &some, &some]), "3 results, and two are compared"),
        (results(&[&some, &[1.0]]), "two runs or more"),
        (results(&[&some, &[0.0, 1.0]]), "\"new\" has the time 0"),
        ("{\"results\": ".to_owned(), "hyperfine --export-json"),
        ("no JSON".to_owned(), "hyperfine --export-json"),
    ] {
        fs::write(bench.dir.path().join("r.json"), text).unwrap();
        let said = bench.refused(2, &["--hyperfine", "r.json"]);
        assert!(said.contains("r.json") && said.contains(why), "{why}: {said}");
    }
    let said = bench.refused(2, &["--hyperfine", "none.json"]);
    assert!(said.contains("none.json"), "{said}");
    // What it measured cannot be measured otherwise.
    for option in [&["--blocks", "9"][..], &["--a", "true"], &["--require", "quiet"]] {
        let said = bench.refused(2, &[&["--hyperfine", "r.json"][..], option].concat());
        assert!(said.contains("--a") || said.contains("cannot be used with"), "{said}");
    }
}

/// A campaign of three arms that writes both files.
fn exported(bench: &Bench) -> (String, Value) {
    let args = [
        &["--a", A, "--b", "sh arm b 1001 1002", "--b", "sh arm c 999"][..],
        &["--metric", r"regex,higher,MB/s:v=(\d+)", "--warmups", "0", "--keep-disturbed"],
        &["--blocks", "6", "--no-confirm", "--export-go", "go.txt"],
        &["--export-hyperfine", "h.json"],
    ];
    let (_, _, err) = bench.run(&args.concat());
    let read = |name| fs::read_to_string(bench.dir.path().join(name)).expect(&err);
    (read("go.txt"), serde_json::from_str(&read("h.json")).expect("JSON"))
}

#[test]
fn an_export_for_hyperfines_readers_holds_every_run() {
    let bench = Bench::new();
    let (_, file) = exported(&bench);
    let results = file["results"].as_array().expect("results");
    let names: Vec<&str> = results.iter().filter_map(|one| one["command"].as_str()).collect();
    assert_eq!(names, [A, "sh arm b 1001 1002", "sh arm c 999"]);
    for result in results {
        let times = result["times"].as_array().expect("times");
        assert_eq!((times.len(), result["exit_codes"].as_array().map(Vec::len)), (6, Some(6)));
        let mean = times.iter().map(number).sum::<f64>() / 6.0;
        assert!((number(&result["mean"]) - mean).abs() < 1e-12, "wall time, whatever the metric");
    }
    // It is read back where it holds two.
    let two = json!({ "results": results[..2] });
    fs::write(bench.dir.path().join("two.json"), two.to_string()).unwrap();
    let (code, report) = bench.json(&["--hyperfine", "two.json"]);
    assert!(code < 2);
    has(&report, json!({ "name_a": A, "a": { "n": 6 } }));
}

#[test]
fn an_export_for_benchstat_has_a_line_for_every_run() {
    let (text, _) = exported(&Bench::new());
    let (head, lines) = text.split_once("\n\n").expect("a head and the runs");
    assert!(head.contains("goos: linux") && head.contains("Unit MB/s better=higher"), "{head}");
    let runs: Vec<Vec<&str>> = lines.lines().map(|l| l.split_whitespace().collect()).collect();
    for (arm, values) in [("A", 998..=1002), ("B", 1001..=1002), ("C", 999..=999)] {
        let of_arm = |fields: &&Vec<&str>| fields[0].ends_with(&format!("/arm={arm}"));
        let found: Vec<_> = runs.iter().filter(of_arm).collect();
        assert_eq!(found.len(), 6, "{text}");
        for fields in found {
            assert!(fields[0].starts_with("Benchmark") && fields.len() == 4, "{fields:?}");
            assert_eq!((fields[1], fields[3]), ("1", "MB/s"));
            assert!(values.contains(&fields[2].parse::<i32>().expect("a number")), "{fields:?}");
        }
    }
    assert_eq!(runs.len(), 18);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_runs() {
    let bench = Bench::new();
    for option in ["--export-go", "--export-hyperfine"] {
        let args = ["--a", A, "--b", A, option, "nowhere/x"];
        let said = bench.refused(2, &args);
        assert!(said.contains("nowhere/x") && said.contains("folder that exists"), "{said}");
    }
    assert_eq!(bench.runs_of("a"), 0);
}

#[test]
fn what_belongs_to_commands_is_not_ignored_for_a_project() {
    let bench = Bench::new();
    let options: [&[&str]; 6] = [
        &["--blocks", "9"],
        &["--seed", "1"],
        &["--metric", "cpu"],
        &["--stop", "fixed"],
        &["--strict"],
        &["--b", "true"],
    ];
    for option in options {
        // Its configuration says how a project is measured.
        let said = bench.refused(2, &[&["project"][..], option].concat());
        assert!(said.contains("--a <CMD>"), "{option:?}: {said}");
    }
    let said = bench.refused(2, &["project", "--a", A, "--b", A]);
    assert!(said.contains("a project folder, --a and --hyperfine") && said.contains("one of them"));
    assert_eq!(bench.runs_of("a"), 0);
}
