//! The two kernel patches that hinted a failing path, found again.
//!
//! One hinted the negative descriptor of `do_pollfd`, the other the failing paths of the fortified
//! `memcpy`, and was asked: why only `memcpy`? The examples render both situations without a hint.
//! What `tune` keeps must be those hints: none missing, none else.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{copy_of, json, path, root, run};
use serde_json::Value;

/// File, function, condition, and what the hint says that it mostly is.
type Hint = (&'static str, &'static str, &'static str, &'static str);

const WRITE: &str = "to_size != UNKNOWN && to_size < n";
const READ: &str = "from_size != UNKNOWN && from_size < n";

/// The negative descriptor.
const NEGATIVE: Hint = ("poll.c", "arm", "fd < 0", "false");

/// Whether an entry waits: once inlined, the same branch. A hint here renames registers.
const WAITS: Hint = ("poll.c", "arm_all", "arm(set, &entries[i]) == -EAGAIN", "true");

/// Every check that the stressor runs.
const CHECKS: [Hint; 11] = [
    ("fortify.h", "checked_memchr", READ, "false"),
    ("fortify.h", "checked_memcmp", "a_size != UNKNOWN && a_size < n", "false"),
    ("fortify.h", "checked_memcmp", "b_size != UNKNOWN && b_size < n", "false"),
    ("fortify.h", "checked_memcpy", READ, "false"),
    ("fortify.h", "checked_memcpy", "to_field != UNKNOWN && to_field < n", "false"),
    ("fortify.h", "checked_memcpy", WRITE, "false"),
    ("fortify.h", "checked_memmove", READ, "false"),
    ("fortify.h", "checked_memmove", WRITE, "false"),
    ("fortify.h", "checked_memset", WRITE, "false"),
    ("fortify.h", "checked_strnlen", "length == from_size && from_size < n", "false"),
    ("fortify.h", "checked_strscpy", WRITE, "false"),
];

/// The other failing paths that run return -E2BIG, and GCC takes a negative return for an error
/// without being told: one hint spoils nothing and saves nothing, the other only shifts padding.
const EMPTY: Hint = ("fortify.h", "checked_strscpy", "n == 0", "false");
const CUT: Hint = ("fortify.h", "checked_strscpy", "length == n", "false");

#[test]
fn of_the_poll_core_the_negative_descriptor_is_hinted_and_nothing_else() {
    for collector in ["gcov", "llvm"] {
        let dir = quick("pollset");
        let evidence = tuned(&dir, collector);
        let fates = fates(&evidence);
        let loops =
            [("main.c", "main", "i < count", "true"), ("main.c", "main", "i < rounds", "true")];
        assert_eq!(fates["kept"], set(&[NEGATIVE]), "{collector}");
        assert_eq!(fates["no-benefit"], set(&[WAITS]), "{collector}");
        assert_eq!(fates["no-op"], set(&loops), "{collector}");
        assert_eq!(fates.len(), 3, "{collector}: {fates:?}");
        assert_eq!(added(&dir), conditions(&[NEGATIVE]));
        assert!(why(&evidence, WAITS).contains("within blocks only"), "{collector}");
    }
}

#[test]
fn of_the_fortified_copies_every_failing_path_is_hinted_and_nothing_else() {
    for collector in ["gcov", "llvm"] {
        let dir = quick("fortified");
        let evidence = tuned(&dir, collector);
        let fates = fates(&evidence);
        let turns = ("main.c", "main", "i < turns", "true");
        assert_eq!(fates["kept"], set(&CHECKS), "{collector}");
        assert_eq!(fates["no-benefit"], set(&[EMPTY, turns]), "{collector}");
        assert_eq!(fates["no-op"], set(&[CUT]), "{collector}");
        assert_eq!(fates.len(), 3, "{collector}: {fates:?}");
        assert_eq!(added(&dir), conditions(&CHECKS));
        assert!(why(&evidence, EMPTY).contains("saves no jump and moves no block"), "{collector}");
        assert!(why(&evidence, CUT).contains("alignment padding only"), "{collector}");
    }
}

/// The workload adds to no text. What was not reached is not measured, so it is not called rare: it
/// is no candidate at all, although its checks read as those of the others.
#[test]
fn a_failing_path_that_was_not_reached_is_no_candidate() {
    let dir = quick("fortified");
    let header = fs::read_to_string(dir.path().join("fortify.h")).unwrap();
    assert!(header.contains("checked_strlcat(") && header.contains("if (head == n)"));
    for collector in ["gcov", "llvm"] {
        assert_eq!(run(["record", path(&dir), "--collector", collector]).0, 0);
        let (_, scan) = json(["scan", path(&dir), "--format", "json"]);
        let functions: BTreeSet<&str> = candidates(&scan).map(|c| of(c, "function")).collect();
        assert!(functions.contains("checked_strscpy"), "{functions:?}");
        assert!(!functions.contains("checked_strlcat"), "{collector}: {functions:?}");
    }
}

/// Linux declares the function that these paths end in cold. So declared, here, it says all that the
/// hints would say: each of them leaves the machine code as it is.
#[test]
fn where_the_reports_are_cold_a_hint_on_a_check_is_a_no_op() {
    let dir = quick("fortified");
    edit(&dir.path().join("Makefile"), "REPORTS ?= record", "REPORTS ?= cold");
    assert_eq!(run(["record", path(&dir), "--collector", "gcov"]).0, 0);
    assert_eq!(run(["check", path(&dir)]).0, 0);
    let (_, evidence) = json(["report", path(&dir), "--format", "json"]);
    assert_eq!(fates(&evidence)["no-op"], set(&CHECKS));
}

/// An example with workloads and a campaign that are over soon: what is asked here is which hints
/// are found, not what they are worth.
fn quick(example: &str) -> tempfile::TempDir {
    let dir = copy_of(&root().join("examples").join(example));
    let config = dir.path().join("unlikely.toml");
    edit(&config, "blocks = 24", "blocks = 4");
    edit(&config, "builds = 12", "builds = 2");
    match example {
        "pollset" => {
            edit(&config, "64 2000000", "64 20000");
            edit(&config, "4096 30000", "4096 300");
        }
        _ => edit(&config, "fortified 3000000", "fortified 30000"),
    }
    dir
}

/// Replaces `from`, which must be there.
#[track_caller]
fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("a file of the example");
    assert!(text.contains(from), "no `{from}` in {}", file.display());
    fs::write(file, text.replace(from, to)).expect("a copy of the example");
}

/// The evidence of `tune`; whether the hints help on this machine today is not asked.
fn tuned(dir: &tempfile::TempDir, collector: &str) -> Value {
    let (code, evidence) = json(["tune", path(dir), "--collector", collector, "--format", "json"]);
    assert!(code == 0 || code == 1, "{code}");
    assert_eq!(evidence["collector"]["name"], collector);
    evidence
}

fn candidates(scan: &Value) -> impl Iterator<Item = &Value> {
    scan["candidates"].as_array().expect("candidates").iter()
}

fn of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

type Found = [String; 4];

/// The proposed hints by what became of them.
fn fates(evidence: &Value) -> BTreeMap<String, BTreeSet<Found>> {
    let by_id: BTreeMap<&str, &Value> =
        candidates(&evidence["scan"]).map(|c| (of(c, "id"), c)).collect();
    let mut out: BTreeMap<String, BTreeSet<Found>> = BTreeMap::new();
    for site in evidence["sites"].as_array().expect("sites") {
        let candidate = by_id[of(site, "id")];
        assert_eq!(candidate["polarity"], "known", "{candidate}");
        let hint =
            ["file", "function", "condition", "expect"].map(|key| of(candidate, key).to_owned());
        let fresh = out.entry(of(site, "fate").to_owned()).or_default().insert(hint);
        assert!(fresh, "twice: {candidate}");
    }
    out
}

/// The reason that is given for what became of a hint.
fn why(evidence: &Value, hint: Hint) -> &str {
    let is_it = |c: &&Value| (of(c, "file"), of(c, "condition")) == (hint.0, hint.2);
    let candidate = candidates(&evidence["scan"]).find(is_it).expect("a candidate");
    let mut sites = evidence["sites"].as_array().expect("sites").iter();
    of(sites.find(|site| site["id"] == candidate["id"]).expect("its fate"), "fate_reason")
}

fn set(hints: &[Hint]) -> BTreeSet<Found> {
    hints.iter().map(|&(a, b, c, d)| [a, b, c, d].map(str::to_owned)).collect()
}

/// The conditions that the combined patch says are never true, sorted.
fn added(dir: &tempfile::TempDir) -> Vec<String> {
    let patch = fs::read_to_string(dir.path().join(".unlikely/patches/combined.patch"))
        .expect("the combined patch");
    let lines = patch.lines().filter(|l| l.starts_with('+') && !l.starts_with("+++"));
    let hinted = |line: &str| {
        let inside = line.trim_start_matches(['+', '\t']).strip_prefix("if (__builtin_expect(!!(");
        let condition = inside.and_then(|l| l.trim_end_matches(" {").strip_suffix("), 0))"));
        condition.unwrap_or_else(|| panic!("another line is added: {line}")).to_owned()
    };
    let mut out: Vec<String> = lines.map(hinted).collect();
    out.sort();
    out
}

fn conditions(hints: &[Hint]) -> Vec<String> {
    let mut out: Vec<String> = hints.iter().map(|hint| hint.2.to_owned()).collect();
    out.sort();
    out
}
