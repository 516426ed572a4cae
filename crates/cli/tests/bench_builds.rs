//! Salted builds: `bench --builds`, where n counts builds, and the builds of a project's arms in
//! `tune`.

mod common;

use std::fs;
use std::path::Path;

use common::{Bench, HINTABLE, Running, has, path, project, run, unlikely, unwrapped};
use object::{Object, ObjectSymbol};
use serde_json::{Value, json};

/// Functions enough for two salts to order them differently.
const PROGRAM: &str = r#"
#include <stdio.h>
#define FUNCTION(name, called) \
	__attribute__((noinline)) int name(int x) { return x * 3 + called; }
FUNCTION(f1, x) FUNCTION(f2, f1(x)) FUNCTION(f3, f2(x)) FUNCTION(f4, f3(x))
FUNCTION(f5, f4(x)) FUNCTION(f6, f5(x)) FUNCTION(f7, f6(x)) FUNCTION(f8, f7(x))
int main(int argc, char **argv)
{
	(void)argv;
	printf("v=%d\n", VALUE + (f8(argc) == 0));
	return 0;
}
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.dir.path().join("p.c"), PROGRAM).expect("a file");
    bench
}

fn build(cc: &str, value: u32) -> String {
    format!("{cc} -O2 -DVALUE={value} -o $BUILD_DIR/p p.c")
}

/// A campaign of salted builds that print `v`.
fn campaign<'a>(builds: &'a str, a: &'a str, b: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--a", "$BUILD_DIR/p", "--b", "$BUILD_DIR/p", "--regex", r"v=(\d+)"];
    let built = ["--builds", builds, "--build-a", a, "--build-b", b];
    let design = ["--keep-disturbed", "--warmups", "0", "--seed", "2"];
    [&fixed[..], &built, &design, more].concat()
}

/// The program's own functions in the order of their addresses.
fn order(program: &Path) -> Vec<String> {
    let data = fs::read(program).expect("a program");
    let file = object::File::parse(&*data).expect("ELF");
    let ours = |name: &str| name.len() == 2 && name.starts_with('f');
    let mut found: Vec<(u64, String)> = file
        .symbols()
        .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?.to_owned())))
        .filter(|(_, name)| ours(name))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn n_counts_builds() {
    let (a, b) = (build("$CC", 1000), build("$CC", 990));
    let bench = bench();
    let (code, report) = bench.json(&campaign("6", &a, &b, &["--blocks", "10", "--stop", "fixed"]));
    assert_eq!(code, 0);
    // As many blocks for each pair of builds: 10 become 12.
    has(&report, json!({ "n": 6, "n_unit": "build", "blocks": 12, "verdict": "faster" }));
    let counts = report["n_counts"].as_str().expect("words");
    assert!(counts.starts_with("6 pairs of salted builds, each the mean of 2"), "{counts}");
    let rows = report["rows"].as_array().expect("rows");
    let of: Vec<u64> = rows.iter().map(|row| row["build"].as_u64().expect("a number")).collect();
    assert_eq!(of, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "one build after the other");
    has(&report["layers"][0], json!({ "name": "build", "groups": 6 }));
    let warnings = report["provenance"]["warnings"].to_string();
    assert!(!warnings.contains("salting"), "{warnings}");

    let (_, page, _) = bench.run(&campaign("6", &a, &b, &["--stop", "fixed"]));
    let page = unwrapped(&page);
    assert!(page.contains("n = 6 pairs of builds, 24 blocks in all"), "{page}");
    // Five pairs are too few for a claim, and it says of what.
    let (code, report) = bench.json(&campaign("5", &a, &b, &["--stop", "fixed"]));
    assert_eq!(code, 1);
    let reason = report["reason"].as_str().expect("a reason");
    assert!(reason.contains("5 pairs of builds are too few"), "{reason}");
}

#[test]
fn each_build_has_its_functions_in_other_places_and_both_arms_the_same() {
    let bench = bench();
    let keep = |arm: &str| format!("{}; cp $BUILD_DIR/p {arm}.$UNLIKELY_SALT", build("$CC", 1000));
    let (a, b) = (keep("a"), keep("b"));
    let (_, report) = bench.json(&campaign("4", &a, &b, &["--stop", "fixed", "--blocks", "4"]));
    assert_eq!(report["n"], 4);
    let at = |arm: &str, salt: u32| order(&bench.dir.path().join(format!("{arm}.{salt}")));
    let orders: Vec<Vec<String>> = (1..=4).map(|salt| at("a", salt)).collect();
    assert_eq!(orders[0].len(), 8);
    for (index, one) in orders.iter().enumerate() {
        assert_eq!(*one, at("b", index as u32 + 1), "a pair shares its salt");
        assert!(orders[..index].iter().all(|other| other != one), "{orders:?}");
    }
}

#[test]
fn one_build_is_the_one_that_the_command_makes_by_itself() {
    let bench = bench();
    let a = format!("echo $UNLIKELY_SALT >salt; {}", build("$CC", 1000));
    let (code, report) = bench.json(&campaign("1", &a, &build("$CC", 990), &[]));
    assert_eq!(code, 0);
    has(&report, json!({ "n_unit": "block" }));
    assert_eq!(fs::read_to_string(bench.dir.path().join("salt")).unwrap(), "0\n");
}

#[test]
fn a_build_that_ignores_the_compiler_is_said_to_have_had_no_effect() {
    let bench = bench();
    let a = build("$(PATH=/usr/bin:/bin command -v gcc)", 1000);
    let args = campaign("3", &a, &a, &["--blocks", "3"]);
    let (_, report) = bench.json(&args);
    let warnings = report["provenance"]["warnings"].to_string();
    assert!(warnings.contains("salting had no effect"), "{warnings}");
    assert!(warnings.contains("compiled by what $CC"), "{warnings}");
    let (_, page, err) = bench.run(&args);
    assert!(unwrapped(&page).contains("warning salting had no effect"), "{page}");
    assert!(err.contains("salting had no effect"), "{err}");
    // Binaries copied into place are compiled by nobody.
    let copy = "cp /bin/true $BUILD_DIR/p; printf '#!/bin/sh\\necho v=1\\n' >$BUILD_DIR/q";
    let args = ["--builds", "2", "--build-a", copy, "--build-b", copy, "--blocks", "2"];
    let run = ["--a", "sh $BUILD_DIR/q", "--b", "sh $BUILD_DIR/q", "--regex", r"v=(\d)"];
    let (_, report) = bench.json(&[&args[..], &run].concat());
    let warnings = report["provenance"]["warnings"].to_string();
    assert!(warnings.contains("compiles nothing through $CC"), "{warnings}");
}

#[test]
fn a_failing_build_names_its_log_and_leaves_it() {
    let bench = bench();
    let good = build("$CC", 1);
    let said = bench.refused(3, &campaign("2", &good, "echo no rule >&2; exit 9", &[]));
    for part in ["build B.001 failed", "exit status: 9", "no rule"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (_, log) = said.split_once("whole output: ").expect("its log");
    let log = Path::new(log.trim());
    assert_eq!(fs::read_to_string(log).expect("the log is there"), "no rule\n");
    let state = log.ancestors().nth(3).expect("the folder of all builds");
    fs::remove_dir_all(state).expect("it can be cleared");
    let said = bench.refused(3, &campaign("2", "true", &good, &[]));
    assert!(said.contains("left $BUILD_DIR empty"), "{said}");
}

#[test]
fn each_command_has_a_build() {
    let bench = bench();
    let good = build("$CC", 1);
    let said = bench.refused(2, &campaign("2", &good, &good, &["--b", "$BUILD_DIR/p"]));
    assert!(said.contains("3 commands and 2 build commands"), "{said}");
    assert!(said.contains("--build-b once for each --b"), "{said}");
    for builds in ["0", "65"] {
        let said = bench.refused(2, &campaign(builds, &good, &good, &[]));
        assert!(said.contains("1..=64"), "{said}");
    }
    let without = ["--a", "true", "--b", "true", "--builds", "2", "--build-a", "true"];
    assert!(bench.refused(2, &without).contains("--build-b"));
}

#[test]
fn a_campaign_of_builds_is_resumed_in_the_folders_that_it_knows() {
    let bench = bench();
    let (a, b) = (build("$CC", 1000), build("$CC", 990));
    let kept = ["--journal", "runs.redb", "--stop", "fixed", "--blocks", "6"];
    let args = campaign("6", &a, &b, &kept);
    let (code, first) = bench.json(&args);
    assert_eq!(code, 0);
    assert!(bench.dir.path().join("runs.redb.builds/build/B.006/p").exists());
    let (code, again) = bench.json(&args);
    assert_eq!((code, again), (0, first));
}

/// `unlikely.toml` of a tiny project with this `[bench]`.
fn config(build: &str, bench: &str) -> String {
    format!(
        "[project]\nname = \"tiny\"\nlanguage = \"c\"\n[build]\ncommand = \"{build}\"\n\
         cflags = \"-O2\"\n[test]\ncommand = \"./tiny\"\n[[workload]]\nname = \"run\"\n\
         class = \"benchmark\"\ncommand = \"./tiny\"\n\
         metric = {{ regex = '(\\d+) ', direction = \"higher\", unit = \"entries\" }}\n\
         [bench]\n{bench}\n"
    )
}

const BUILD: &str = "$CC $CFLAGS $LDFLAGS -o tiny main.c";

/// The hintable program with more functions, that the salts have something to order.
fn source() -> String {
    let more: String = (0..8)
        .map(|i| format!("__attribute__((noinline)) int more{i}(int x) {{ return x + {i}; }}\n"))
        .collect();
    more + HINTABLE
}

fn tiny(bench: &str) -> tempfile::TempDir {
    project(&[("unlikely.toml", &config(BUILD, bench)), ("main.c", &source())])
}

fn tune(dir: &tempfile::TempDir) -> (i32, String, String) {
    run(["tune", path(dir), "--collector", "gcov"])
}

/// The first workload's campaign in the evidence.
fn measured(dir: &tempfile::TempDir) -> Value {
    let text = fs::read_to_string(dir.path().join(".unlikely/evidence.json")).expect("evidence");
    let evidence: Value = serde_json::from_str(&text).expect("JSON");
    evidence["bench"][0]["report"].clone()
}

const SIX: &str = "blocks = 6\nbuilds = 6\nstop = \"fixed\"\nwarmups = 0";

#[test]
fn tune_measures_pairs_of_salted_builds() {
    let dir = tiny(SIX);
    let (code, page, err) = tune(&dir);
    // It prints as many entries with the hint as without.
    assert_eq!(code, 1, "{err}");
    assert!(page.contains("n = 6 pairs of builds"), "{page}");
    let report = measured(&dir);
    has(&report, json!({ "n": 6, "n_unit": "build", "ending": { "rule": "fixed" } }));
    let warnings = report["provenance"]["warnings"].to_string();
    assert!(!warnings.contains("salting"), "{warnings}");
    for arm in ["a", "b"] {
        for salt in 1..=6 {
            let tree = dir.path().join(format!(".unlikely/salted-{arm}{salt:03}"));
            assert!(tree.join("tiny").is_file(), "{}", tree.display());
            let text = fs::read_to_string(tree.join("main.c")).expect("the source");
            assert_eq!(text == source(), arm == "a", "{}: {text}", tree.display());
        }
    }
}

#[test]
fn tune_says_when_salting_had_no_effect() {
    let files = [("unlikely.toml", &*config(BUILD, SIX)), ("main.c", HINTABLE)];
    let dir = project(&files);
    let (_, page, _) = tune(&dir);
    // One function besides main: there is no other order, and n = 6 is not what it seems.
    let warnings = measured(&dir)["provenance"]["warnings"].to_string();
    assert!(warnings.contains("salting had no effect: one function"), "{warnings}");
    assert!(unwrapped(&page).contains("salting had no effect: one function"), "{page}");
}

#[test]
fn one_build_is_the_projects_own() {
    let dir = tiny("blocks = 2\nbuilds = 1\nstop = \"fixed\"\nwarmups = 0");
    let (_, page, err) = tune(&dir);
    assert!(page.contains("n = 2 blocks"), "{page}\n{err}");
    assert!(!dir.path().join(".unlikely/salted-a001").exists());
    has(&measured(&dir), json!({ "n": 2, "n_unit": "block" }));
}

#[test]
fn a_number_of_builds_that_cannot_be_is_refused_with_its_line() {
    for (bench, rule) in [
        ("builds = 0", "builds from 1 to 64, got 0"),
        ("builds = 65", "builds from 1 to 64, got 65"),
        ("stop = \"soon\"", "unknown variant `soon`"),
    ] {
        let dir = tiny(&format!("blocks = 6\n{bench}"));
        let text = fs::read_to_string(dir.path().join("unlikely.toml")).expect("a file");
        let line = text.lines().position(|line| line == bench).expect("the line") + 1;
        let (code, _, said) = tune(&dir);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(&format!("unlikely.toml:{line}: ")), "{line}: {said}");
        assert!(said.contains(rule), "{said}");
    }
}

#[test]
fn a_run_killed_among_its_salted_builds_goes_on_with_those_that_stand() {
    // Each build of the project leaves a line outside of its tree.
    let builds = tempfile::tempdir().expect("a folder");
    let log = builds.path().join("log");
    let count = format!("echo built >>{} && {BUILD}", log.display());
    let files = [("unlikely.toml", &*config(&count, SIX)), ("main.c", &*source())];
    let dir = project(&files);
    let mut first = Running::start(unlikely().args(["tune", path(&dir), "--collector", "gcov"]));
    first.until(&dir.path().join(".unlikely/salted-a002"));
    first.kill();
    let built = |arm: &str| dir.path().join(format!(".unlikely/salted-{arm}001/tiny"));
    let stood = ["a", "b"].map(|arm| fs::metadata(built(arm)).expect("built").modified().unwrap());
    let before = fs::read_to_string(&log).expect("lines").lines().count();
    let (code, page, err) = tune(&dir);
    assert_eq!(code, 1, "{err}");
    assert!(page.contains("n = 6 pairs of builds"), "{page}");
    let now = ["a", "b"].map(|arm| fs::metadata(built(arm)).expect("built").modified().unwrap());
    assert_eq!(now, stood, "what was built is not built again");
    // The ten that were missing, and no baseline, coverage or patch again.
    let after = fs::read_to_string(&log).expect("lines").lines().count();
    assert_eq!(after - before, 10, "{err}");
}
