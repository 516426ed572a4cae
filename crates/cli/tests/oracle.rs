//! gcov against clang, on real programs: the directions that `scan` tells from GCC's counts at
//! `-O2` are held against clang's exact ones under the same workload.
//!
//! The other side of the comparison owes nothing to this project's readers: clang builds the
//! program, llvm-cov exports its counts, and this file reads the branches out of the JSON itself.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{config, json, must, path, real, run, text};
use serde_json::Value;
use unlikely_source::{MacroTable, SiteKind, sites};

/// File, and line and column of a condition's start and end.
type Place = (String, [u64; 4]);

/// Executions that make a branch worth comparing.
const EXECUTED_MIN: u64 = 1000;

#[test]
fn directions_agree_on_bzip2() {
    oracle("bzip2", &["bzip2", "libbz2.so.1.0.4"], Counts::Equal);
}

#[test]
fn directions_agree_on_lz4() {
    oracle("lz4", &["programs/lz4"], Counts::Equal);
}

#[test]
fn directions_agree_on_lua() {
    // Its string cache goes by addresses, which differ between two compilers' programs.
    oracle("lua5.4", &["src/lua"], Counts::Close);
}

#[derive(Clone, Copy, PartialEq)]
enum Counts {
    /// The program does the same work in every run.
    Equal,
    /// Nearly so.
    Close,
}

fn oracle(name: &str, programs: &[&str], counts: Counts) {
    let ours = real(name);
    let (code, _, err) = run(["record", path(&ours), "--collector", "gcov"]);
    assert_eq!(code, 0, "{err}");
    let (_, scan) = json(["scan", path(&ours), "--format", "json"]);
    let theirs = real(name);
    let truth = clang_counts(theirs.path(), programs);
    let candidates = scan["candidates"].as_array().expect("candidates");
    let mine: BTreeMap<Place, (u64, u64)> = candidates
        .iter()
        .filter(|c| c["kind"] != "case")
        .map(|c| {
            let file = c["file"].as_str().expect("a file").to_owned();
            let n = |key: &str| c[key].as_u64().expect("a number");
            let ends = ["line", "column", "end_line", "end_column"].map(n);
            ((file, ends), (n("executed"), n("taken")))
        })
        .collect();

    let mut compared = 0;
    for (place, (executed, taken)) in mine.iter().filter(|(_, (n, _))| *n >= EXECUTED_MIN) {
        let Some((yes, no)) = truth.get(place) else { continue };
        compared += 1;
        if counts == Counts::Equal {
            assert_eq!((*executed, *taken), (yes + no, *yes), "{place:?}");
        }
        let clear = |a: u64, b: u64| a.abs_diff(b) * 5 > a + b;
        if clear(*taken, executed - taken) && clear(*yes, *no) {
            let agree = (*taken > executed - taken) == (yes > no);
            assert!(agree, "{place:?}: {taken} of {executed}, clang {yes} of {}", yes + no);
        }
    }
    assert!(compared > 50, "{name}: only {compared} conditions could be compared");

    let plain = plain_ifs(theirs.path(), &truth);
    let found = plain
        .iter()
        .filter(|place| {
            mine.get(place)
                .is_some_and(|(e, t)| (*t > e - t) == (truth[*place].0 > truth[*place].1))
        })
        .count();
    println!("{name}: {compared} compared, {found} of {} one-sided found", plain.len());
    assert!(plain.len() > 20, "{name}: only {} one-sided conditions", plain.len());
    assert!(found * 100 >= plain.len() * 80, "{name}: {found} of {} found", plain.len());
}

/// Builds with clang, runs the workloads, and reads llvm-cov's branches.
fn clang_counts(dir: &Path, programs: &[&str]) -> BTreeMap<Place, (u64, u64)> {
    let config = config(dir);
    let of = |table: &toml::Table, key: &str| {
        table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    let build = config["build"].as_table().expect("[build]");
    let flags = "-fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic -w";
    must(
        Command::new("sh")
            .args(["-c", &of(build, "command")])
            .current_dir(dir)
            .env("CC", "clang-22")
            .env("CFLAGS", format!("{} {flags}", of(build, "cflags")))
            .env("LDFLAGS", "-fprofile-instr-generate")
            // The build runs the program too; that is no workload.
            .env("LLVM_PROFILE_FILE", "/dev/null"),
    );
    let raw = dir.join("oracle-raw");
    for workload in config["workload"].as_array().expect("workloads") {
        let command = of(workload.as_table().expect("a table"), "command");
        must(
            Command::new("sh")
                .args(["-c", &command])
                .current_dir(dir)
                .env("LLVM_PROFILE_FILE", raw.join("%p-%m.profraw")),
        );
    }
    let files = fs::read_dir(&raw).expect("profiles").map(|e| e.expect("an entry").path());
    let merged = dir.join("oracle.profdata");
    must(Command::new("llvm-profdata-22").arg("merge").arg("-o").arg(&merged).args(files));
    let mut export = Command::new("llvm-cov-22");
    export.arg("export").arg("-instr-profile").arg(&merged);
    for program in programs {
        export.arg("-object").arg(dir.join(program));
    }
    let export: Value =
        serde_json::from_str(&text(&must(&mut export).stdout)).expect("llvm-cov's JSON");
    let real = dir.canonicalize().expect("a real path");
    let mut out: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
    for file in export["data"][0]["files"].as_array().expect("files") {
        let name = file["filename"].as_str().expect("a name");
        let Ok(name) = Path::new(name).strip_prefix(&real) else { continue };
        let name = name.to_str().expect("UTF-8").to_owned();
        for branch in file["branches"].as_array().expect("branches") {
            let n = |i: usize| branch[i].as_u64().expect("a number");
            let sum = out.entry((name.clone(), [n(0), n(1), n(2), n(3)])).or_default();
            *sum = (sum.0 + n(4), sum.1 + n(5));
        }
    }
    out
}

/// Conditions of unhinted `if`s in plain code that clang shows at least 99.9 % one-sided.
fn plain_ifs(dir: &Path, truth: &BTreeMap<Place, (u64, u64)>) -> Vec<Place> {
    let mut out = Vec::new();
    let names: std::collections::BTreeSet<&String> = truth.keys().map(|(file, _)| file).collect();
    let texts: Vec<(&String, Vec<u8>)> =
        names.into_iter().map(|n| (n, fs::read(dir.join(n)).expect("a source"))).collect();
    let mut table = MacroTable::default();
    for (name, text) in &texts {
        table.add(name, text);
    }
    for (name, text) in &texts {
        let found = sites(text, &table);
        for (i, site) in found.sites.iter().enumerate() {
            let root = &found.sites[found.root(i)];
            let in_if = matches!(root.kind, SiteKind::If | SiteKind::ElseIf);
            if !in_if || site.in_macro.is_some() || site.hint.is_some() || root.hint.is_some() {
                continue;
            }
            let (from, to) = (site.span.start, site.span.end);
            let ends = [from.line, from.column, to.line, to.column].map(u64::from);
            let place = ((*name).clone(), ends);
            let Some((yes, no)) = truth.get(&place) else { continue };
            if yes + no >= EXECUTED_MIN && yes.min(no) * 1000 <= yes + no && !out.contains(&place) {
                out.push(place);
            }
        }
    }
    out
}
