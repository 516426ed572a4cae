//! `bench --a CMD --b CMD …`: what it measures, what it claims, in which form, and how it ends.
//! The commands print their figures, so that nothing here hangs on how fast the machine is.

mod common;

use std::collections::BTreeSet;

use common::{Bench, has, unwrapped};
use serde_json::{Value, json};

const A: &str = "sh arm a 1000 1001 999 1002 998";
/// 1 % less than A.
const LESS: &str = "sh arm b 990 991 989 991 989";
/// As much as A, in another order.
const SAME: &str = "sh arm b 1001 999 1002 998 1000";

/// Arguments of a campaign that the machine cannot disturb.
fn campaign<'a>(b: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["--a", A];
    b.iter().for_each(|command| args.extend(["--b", command]));
    if !more.contains(&"--metric") {
        args.extend(["--regex", r"v=(\d+)"]);
    }
    args.extend(["--warmups", "0", "--keep-disturbed", "--seed", "1"]);
    args.extend(more);
    args
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

fn pair(value: &Value) -> [f64; 2] {
    [number(&value[0]), number(&value[1])]
}

fn rows(report: &Value) -> &Vec<Value> {
    report["rows"].as_array().expect("rows")
}

/// The change that the rows show: mean log-ratio over valid blocks, as a ratio.
fn ratio_of(rows: &[Value]) -> f64 {
    let logs = rows.iter().map(|row| (number(&row["b"]) / number(&row["a"])).ln());
    (logs.sum::<f64>() / rows.len() as f64).exp()
}

#[test]
fn the_report_has_the_agreed_form() {
    let (code, report) = Bench::new().json(&campaign(&[LESS], &["--stop", "fixed"]));
    assert_eq!(code, 0);
    let agreed = "a arm b blocks ci95 claim_ci95 companion direction ending equivalence_margin \
                  family invalid_blocks layers mde80_percent metric n n_counts n_unit p provenance \
                  ratio reason rows schema seed sign_p unit verdict";
    assert_eq!(keys(&report), agreed.split(' ').collect());
    assert_eq!(keys(&report["a"]), BTreeSet::from(["geomean", "n", "sd_percent"]));
    assert_eq!(keys(&report["companion"]), BTreeSet::from(["ci", "confidence", "p", "ratio"]));
    let ending = ["blocks_max", "early", "looks", "ratio_unbiased", "rule"];
    assert_eq!(keys(&report["ending"]), BTreeSet::from(ending));
    let row = "a a_conditions a_cpu_s a_first a_involuntary_switches a_max_rss_bytes a_wall_s b \
               b_conditions b_cpu_s b_involuntary_switches b_max_rss_bytes b_wall_s block build \
               invalid outlier session slot";
    assert_eq!(keys(&rows(&report)[0]), row.split(' ').collect());
    let provenance = "command_a command_b cpu kernel machines started_unix_s tool turbo warnings";
    assert_eq!(keys(&report["provenance"]), provenance.split(' ').collect());

    has(
        &report,
        json!({
            "schema": "unlikely/bench/1",
            "metric": r"v=(\d+)",
            "direction": "lower",
            "unit": "",
            "arm": "B",
            "seed": 1,
            "n": 20,
            "n_unit": "block",
            "provenance": { "command_a": A, "command_b": LESS },
        }),
    );
}

#[test]
fn its_figures_are_those_of_its_rows() {
    let (code, report) = Bench::new().json(&campaign(&[LESS], &["--stop", "fixed"]));
    assert_eq!((code, report["verdict"].as_str()), (0, Some("faster")));
    let rows = rows(&report);
    assert_eq!((rows.len(), &report["blocks"], &report["a"]["n"]), (20, &20.into(), &20.into()));
    let ratio = number(&report["ratio"]);
    assert!((ratio - ratio_of(rows)).abs() < 1e-12 && (ratio - 0.99).abs() < 1e-3, "{ratio}");
    for interval in [&report["ci95"], &report["companion"]["ci"], &report["claim_ci95"]] {
        let [low, high] = pair(interval);
        assert!(low < ratio && ratio < high && high < 1.0, "{interval}");
    }
    let [[t_low, t_high], [ranks_low, ranks_high], [low, high]] =
        [&report["ci95"], &report["companion"]["ci"], &report["claim_ci95"]].map(pair);
    assert_eq!([low, high], [t_low.min(ranks_low), t_high.max(ranks_high)]);
    assert!(number(&report["p"]) < 0.001);
    // Each arm has run once in each block, and each of the two was first in some.
    let first = rows.iter().filter(|row| row["a_first"] == true).count();
    assert!((1..20).contains(&first), "{first}");
    assert_eq!(rows.iter().map(|row| number(&row["a"])).fold(0.0, f64::max), 1002.0);
}

#[test]
fn a_loss_or_nothing_is_a_negative_verdict() {
    let bench = Bench::new();
    let (code, report) = bench.json(&campaign(&[LESS], &["--direction", "higher"]));
    assert_eq!((code, report["verdict"].as_str()), (1, Some("slower")));
    let (code, report) = bench.json(&campaign(&[SAME], &[]));
    assert_eq!((code, report["verdict"].as_str()), (1, Some("inconclusive")));
    assert!(report["reason"].as_str().unwrap().contains("includes no difference"), "{report}");
}

#[test]
fn a_clear_difference_ends_it_early_and_the_interval_allows_for_that() {
    let bench = Bench::new();
    let (code, report) = bench.json(&campaign(&[LESS], &[]));
    assert_eq!((code, report["verdict"].as_str()), (0, Some("faster")));
    let ending = &report["ending"];
    has(ending, json!({ "rule": "sequential", "early": true, "blocks_max": 20 }));
    let blocks = report["blocks"].as_u64().expect("a count");
    assert!(blocks < 20 && bench.runs_of("a") as u64 == blocks, "{blocks}");
    let looks = ending["looks"].as_array().expect("looks");
    let last = looks.last().expect("a look");
    has(last, json!({ "n": blocks, "crossed": true }));
    assert!(number(&last["p"]) <= number(&last["p_needed"]));
    let crossed = looks.iter().filter(|look| look["crossed"] == true).count();
    assert_eq!(crossed, 1, "{looks:?}");
    // However clear it is, the interval holds what was measured.
    let ([low, high], ratio) = (pair(&report["ci95"]), number(&report["ratio"]));
    assert!(low < ratio && ratio < high, "{low} {ratio} {high}");
    let unbiased = number(&ending["ratio_unbiased"]);
    assert!((unbiased - ratio).abs() < 1e-3, "{unbiased} {ratio}");

    let (_, page, _) = Bench::new().run(&campaign(&[LESS], &[]));
    let page = unwrapped(&page);
    assert!(page.contains(&format!("stopped early: {blocks} of at most 20 blocks")), "{page}");
    assert!(page.contains("median-unbiased, as it stopped early"), "{page}");
}

#[test]
fn what_shows_nothing_goes_to_the_end() {
    let bench = Bench::new();
    let (_, report) = bench.json(&campaign(&[SAME], &[]));
    has(&report, json!({ "blocks": 20, "ending": { "early": false } }));
    let (_, page, _) = Bench::new().run(&campaign(&[SAME], &[]));
    assert!(page.contains("went to the end: 20 of at most 20 blocks"), "{page}");
    // A fixed campaign goes there whatever it shows, and looks once.
    let (_, report) = bench.json(&campaign(&[LESS], &["--stop", "fixed", "--blocks", "12"]));
    let once = json!({ "early": false, "looks": [], "ratio_unbiased": null });
    has(&report, json!({ "blocks": 12, "ending": once }));
}

#[test]
fn an_open_end_is_labelled_as_what_it_is() {
    let bench = Bench::new();
    let open = ["--stop", "open", "--blocks", "40"];
    let (code, report) = bench.json(&campaign(&[LESS], &open));
    assert_eq!(code, 0);
    // Ten is the first block at which the sequence may be looked at.
    has(&report, json!({ "blocks": 10, "ending": { "rule": "open", "early": true } }));
    let warnings = report["provenance"]["warnings"].to_string();
    assert!(warnings.contains("asymptotic confidence sequence"), "{warnings}");
    let (_, page, _) = Bench::new().run(&campaign(&[LESS], &open));
    let page = unwrapped(&page);
    for part in ["(asymptotic confidence sequence)", "stopped early: 10 of at most 40"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let said = bench.refused(2, &campaign(&[LESS], &["--stop", "open", "--blocks", "9"]));
    assert!(said.contains("10 or more"), "{said}");
}

#[test]
fn a_strict_campaign_asks_the_signs_too() {
    // Eleven of sixteen blocks are lower: t and ranks are satisfied, signs are not.
    let b = "sh arm b 990 989 991 990 989 991 990 989 991 990 989 1001 1000 1001 1000 1001";
    let a = "sh arm a 1000";
    let args = |more: &[&'static str]| {
        let fixed = ["--a", a, "--b", b, "--regex", r"v=(\d+)", "--warmups", "0"];
        let rest = ["--keep-disturbed", "--stop", "fixed", "--blocks", "16"];
        [&fixed[..], &rest, more].concat()
    };
    let (code, report) = Bench::new().json(&args(&[]));
    assert_eq!(code, 0);
    has(&report, json!({ "verdict": "faster", "sign_p": null }));
    let (code, report) = Bench::new().json(&args(&["--strict"]));
    assert_eq!((code, report["verdict"].as_str()), (1, Some("inconclusive")));
    assert!(number(&report["sign_p"]) > 0.05, "{}", report["sign_p"]);
    assert!(report["reason"].as_str().unwrap().contains("the sign test"), "{report}");
    let (_, page, _) = Bench::new().run(&args(&["--strict"]));
    assert!(page.contains("by signs") && page.contains("(exact, strict)"), "{page}");
}

#[test]
fn a_margin_makes_no_difference_a_finding() {
    let bench = Bench::new();
    let fixed = ["--stop", "fixed", "--margin"];
    let judged = |percent: &'static str| {
        let (code, report) = bench.json(&campaign(&[SAME], &[&fixed[..], &[percent]].concat()));
        (code, report["verdict"].as_str().unwrap().to_owned(), report["equivalence_margin"].clone())
    };
    assert_eq!(judged("0.5"), (1, "equivalent".to_owned(), 0.005.into()));
    assert_eq!(judged("0.01").1, "inconclusive");
    for percent in ["0", "-1", "100", "nan"] {
        let option = format!("--margin={percent}");
        let said = bench.refused(2, &campaign(&[SAME], &[&option]));
        assert!(said.contains("--margin") && said.contains("0.5"), "{said}");
        assert!(said.contains("percent"), "given in percent, refused in percent: {said}");
    }
}

#[test]
fn only_a_campaign_that_allows_it_has_invalid_blocks() {
    let bench = Bench::new();
    let (_, report) = bench.json(&campaign(&[SAME], &["--stop", "fixed"]));
    assert_eq!(report["invalid_blocks"], 0);
    assert!(rows(&report).iter().all(|row| row["invalid"].is_null()));
    // By default what was disturbed is kept as a row, counted, and run again.
    let args = ["--a", A, "--b", SAME, "--regex", r"v=(\d+)", "--stop", "fixed"];
    let (_, report) = bench.json(&args);
    let invalid = rows(&report).iter().filter(|row| !row["invalid"].is_null()).count();
    has(&report, json!({ "blocks": 20, "invalid_blocks": invalid }));
    assert_eq!(rows(&report).len(), 20 + invalid);
}

#[test]
fn candidates_are_claimed_together_and_the_best_is_measured_again() {
    let bench = Bench::new();
    let c = "sh arm c 970 971 969 971 969";
    let (code, report) = bench.json(&campaign(&[LESS, c, "sh arm d 1000 1001 999"], &[]));
    assert_eq!(code, 0);
    let others = report["others"].as_array().expect("the other arms");
    let all: Vec<&Value> = std::iter::once(&report).chain(others).collect();
    let arms: Vec<_> = all.iter().map(|one| one["arm"].as_str().unwrap()).collect();
    assert_eq!(arms, ["B", "C", "D"]);
    for one in &all {
        // Which of several wins is not decided by stopping early.
        let family = json!({ "size": 3, "method": "holm" });
        has(one, json!({ "family": family, "ending": { "rule": "fixed" } }));
        assert!(number(&one["family"]["p"]) >= number(&one["p"]));
    }
    let verdicts: Vec<_> = all.iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts[..2], ["faster", "faster"]);

    let confirmed = &report["confirmed"];
    let command = json!({ "command_b": c });
    has(confirmed, json!({ "arm": "C", "verdict": "faster", "provenance": command }));
    assert_ne!(confirmed["seed"], report["seed"]);
    let fresh = confirmed["blocks"].as_u64().expect("blocks");
    assert_eq!(u64::from(bench.runs_of("c")), 20 + fresh, "on blocks of its own");
    assert_eq!(bench.runs_of("b"), 20);

    let (_, page, _) = Bench::new().run(&campaign(&[LESS, c], &[]));
    let (first, confirmed) = page.split_once("C on fresh blocks").expect("both campaigns");
    assert!(first.contains("Holm") && confirmed.contains("C/A"), "{page}");
    // It keeps its letter, though it is the only candidate there.
    assert!(unwrapped(confirmed).contains("faster: C changes the metric by -3."), "{page}");
}

#[test]
fn what_counts_is_whether_the_best_is_confirmed() {
    // C is better for its first twenty runs only.
    let c = format!("sh arm c {}{}", "970 971 969 970 ".repeat(5), "1000 999 1001 ".repeat(30));
    let (code, report) = Bench::new().json(&campaign(&[SAME, &c], &[]));
    assert_eq!(report["others"][0]["verdict"], "faster");
    assert_eq!(report["confirmed"]["verdict"], "inconclusive");
    assert_eq!(code, 1);
    // Without a confirmation any claim is one; nothing runs again.
    let bench = Bench::new();
    let (code, report) = bench.json(&campaign(&[SAME, &c], &["--no-confirm"]));
    assert_eq!((code, report.get("confirmed"), bench.runs_of("c")), (0, None, 20));
    // Nothing better, nothing to confirm.
    let (code, report) = Bench::new().json(&campaign(&[SAME, "sh arm c 1001 1002 1000"], &[]));
    assert_eq!((code, report.get("confirmed")), (1, None));
}

#[test]
fn several_candidates_do_not_stop_early() {
    let said = Bench::new().refused(2, &campaign(&[LESS, SAME], &["--stop", "sequential"]));
    assert!(said.contains("two arms") && said.contains("confirm"), "{said}");
}

#[test]
fn every_command_is_named_when_it_fails() {
    let bench = Bench::new();
    let fails = "echo lost the way >&2; exit 9";
    let said = bench.refused(4, &campaign(&[fails], &[]));
    for part in ["of B", "exit status: 9", fails, "lost the way"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = bench.refused(4, &campaign(&["sleep 60"], &["--timeout", "1"]));
    assert!(said.contains("killed after 1s") && said.contains("`sleep 60`"), "{said}");
    let said = bench.refused(4, &campaign(&["echo w=1"], &[]));
    assert!(said.contains("does not match its output") && said.contains("w=1"), "{said}");
    let said = bench.refused(4, &campaign(&["echo v=0"], &[]));
    assert!(said.contains("above zero"), "{said}");
}

#[test]
fn a_plan_that_proves_nothing_is_refused() {
    let bench = Bench::new();
    for (options, remedy) in [
        (["--blocks", "1"], "at least 2 blocks"),
        (["--blocks", "4097"], "at most 4096"),
        (["--timeout", "0"], "longest time"),
        (["--regex", r"v=\d+"], "put ( ) around the number"),
    ] {
        let mut args = vec!["--a", A, "--b", LESS];
        args.extend(options);
        let said = bench.refused(2, &args);
        assert!(said.contains(remedy), "{options:?}: {said}");
    }
    assert!(bench.refused(2, &["--a", A]).contains("add --b CMD"));
    assert!(bench.refused(2, &["--a", A, "--b", " "]).contains("command of B is empty"));
    assert_eq!(bench.runs_of("a"), 0, "nothing has run");
}

#[test]
fn the_page_fits_eighty_columns() {
    let long = format!("sh arm b 990 991 989 {}", "# and a long comment".repeat(9));
    let metric = ["--metric", r"regex,lower,bogo-ops/s:v=(\d+)", "--metric", "time"];
    let pages = [
        campaign(&[&long], &[]),
        campaign(&[&long, LESS], &metric),
        campaign(&[LESS], &["--stop", "open", "--strict", "--margin", "3"]),
    ];
    for args in pages {
        let (_, page, err) = Bench::new().run(&args);
        assert!(page.lines().count() > 10, "{err}");
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
