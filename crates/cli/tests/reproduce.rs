//! `reproduce` in its shortest form: everything is built and runs, in the shape that is promised, and a
//! killed run goes on. Nothing here is about time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{json, run, unlikely};
use object::{Object, ObjectSection, SectionKind};
use rustix::fs::FlockOperation;
use serde_json::Value;

/// The one file of finished comparisons that holds `name`, if there is one.
fn finished(state: &Path, name: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(state.join("finished")).ok()?;
    let mut files = folders.map(|folder| folder.unwrap().path().join(name));
    files.find(|file| file.exists())
}

/// A fresh state folder, and the arguments of a smoke run of one experiment in it.
fn smoke(only: &str) -> (tempfile::TempDir, Vec<String>) {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_str().unwrap();
    let args = ["reproduce", "--smoke", "--only", only, "--state", folder];
    let args = args.map(str::to_owned).to_vec();
    (state, args)
}

fn words(args: &[String]) -> impl Iterator<Item = &str> {
    args.iter().map(String::as_str)
}

fn is_measured(name: &str, measured: &Value) {
    if measured["verdict"] == "same-machine-code" {
        assert!(measured["ratio"].is_null() && measured["ci95"].is_null(), "{name}: {measured}");
        assert_eq!((&measured["blocks"], &measured["n"]), (&0.into(), &0.into()), "{name}");
        assert!(measured["n_counts"].as_str().unwrap().contains("is the same"), "{name}");
        return;
    }
    let [low, high] = [0, 1].map(|end| measured["ci95"][end].as_f64().unwrap());
    let ratio = measured["ratio"].as_f64().unwrap();
    assert!(low <= ratio && ratio <= high, "{name}: {measured}");
    // Two processes decide nothing, whatever they show.
    assert_eq!(measured["verdict"], "inconclusive", "{name}");
    assert_eq!((&measured["n"], &measured["blocks"]), (&2.into(), &4.into()), "{name}");
    assert!(measured["n_counts"].as_str().unwrap().contains("processes"), "{name}");
    let units = measured["units"].as_array().unwrap();
    assert_eq!(units.len(), 2, "{name}");
    let mean = units.iter().map(|unit| unit.as_f64().unwrap().ln()).sum::<f64>() / 2.0;
    assert!((mean.exp() - ratio).abs() < 1e-9, "{name}: the units are what the ratio is of");
    assert!((0..2).all(|arm| measured["ns"][arm].as_f64().unwrap() > 0.0), "{name}");
}

/// A record as it is kept: behind the digest of what it says.
fn sealed(says: &[u8]) -> Vec<u8> {
    [blake3::hash(says).to_hex().as_bytes(), b"\n", says].concat()
}

/// What a kept record says.
fn said(file: &Path) -> Vec<u8> {
    let file = fs::read(file).unwrap();
    let line = file.iter().position(|&byte| byte == b'\n').unwrap();
    file[line + 1..].to_vec()
}

/// Executable bytes of the shared objects that were built for one side of `unlock`: of this checkout, and
/// of what else was built into the same folder.
fn unlock_sizes(state: &str, side: &str) -> Vec<u64> {
    let folder = Path::new(state).join("objects/unlock").join(side);
    let files = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap().into_path());
    let built = files.filter(|path| path.ends_with("release/libunlock_arm.so"));
    built.map(|path| executable_bytes(&fs::read(path).unwrap())).collect()
}

fn executable_bytes(file: &[u8]) -> u64 {
    let file = object::File::parse(file).unwrap();
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    text.map(|section| section.size()).sum()
}

#[test]
fn every_experiment_has_its_claim_its_figures_and_its_code() {
    // What is built stays, so that only the first test run builds it.
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce");
    let state = state.to_str().unwrap();
    let args = ["reproduce", "--smoke", "--fresh", "--format", "json", "--state", state];
    let (code, record) = json(args);
    assert_eq!(code, 0, "what is found decides no exit code");
    assert_eq!(record["schema"], "unlikely/reproduce/1");
    assert_eq!(record["mode"], "smoke");
    let experiments = record["experiments"].as_array().unwrap();
    let names: Vec<&str> = experiments.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["refcount", "fortify", "pollfd", "unlock"]);
    for one in experiments {
        let name = one["name"].as_str().unwrap();
        assert!(!one["claim"]["text"].as_str().unwrap().is_empty());
        is_measured(name, &one["measured"]);
        assert_eq!(one["measured"], one["comparisons"][0], "{name}");
        for measured in one["comparisons"].as_array().unwrap() {
            is_measured(name, measured);
        }
        assert!(one["text_bytes"]["before"].as_u64() > Some(0), "{name}");
        assert!(one["text_bytes"]["after"].as_u64() > Some(0), "{name}");
        let code = &one["code"];
        assert!(!code["before"]["instructions"].as_array().unwrap().is_empty(), "{name}");
        let same = code["before"]["instructions"] == code["after"]["instructions"];
        assert_eq!(same, one["measured"]["verdict"] == "same-machine-code", "{name}");
    }
    let warnings = record["warnings"].as_array().unwrap();
    let told = warnings.iter().any(|text| text.as_str().unwrap().contains("a debug build"));
    assert_eq!(told, cfg!(debug_assertions), "refcount's code is the program's own: {warnings:?}");
    // The sides are not swapped: before is the object in which unlocks are called.
    let size = |at: usize, side: &str| experiments[at]["text_bytes"][side].as_u64().unwrap();
    for (side, object) in [("before", "before"), ("after", "inline")] {
        assert!(unlock_sizes(state, object).contains(&size(3, side)), "{side}");
    }
    assert_ne!(size(3, "before"), size(3, "after"));
    // From the printed figures: 127060259162 / 191057942484, 50819.58 / 50512.95, 32635 / 32818,
    // 213333.33 / 209818.43.
    for (at, percent) in [-33.49647, 0.60703, -0.55762, 1.67521].into_iter().enumerate() {
        let recomputed = experiments[at]["claim"]["recomputed_percent"].as_f64().unwrap();
        assert!((recomputed - percent).abs() < 1e-5, "{recomputed}");
    }
    // 127060259162 / 116252672661, and 8462235 / 8527918 bytes.
    let cost = &experiments[0]["further_claims"][0];
    assert_eq!(cost["comparison"], "u32-1");
    assert!((cost["recomputed_percent"].as_f64().unwrap() - 9.29664).abs() < 1e-5, "{cost}");
    let text = &experiments[3]["text_claim"];
    assert!((text["recomputed_percent"].as_f64().unwrap() + 0.77021).abs() < 1e-5, "{text}");
    // A rate is the inverse of a time: so many jobs in a minute of so many nanoseconds.
    let mix = &experiments[3]["measured"];
    assert_eq!(mix["rate"]["unit"], "jobs/min");
    let product = mix["rate"]["before"].as_f64().unwrap() * mix["ns"][0].as_f64().unwrap();
    assert!((product / 60e9 - 1.0).abs() < 1e-9, "{mix}");
    another_object_is_another_measurement(state);
    settings_of_somebody_else_change_no_object(state);
}

/// One loop of `pollfd` is C: with another compiler it is another object, though nothing else changed.
fn another_object_is_another_measurement(state: &str) {
    let args = ["reproduce", "--smoke", "--only", "pollfd", "--state", state];
    let (_, _, err) = run(args);
    assert!(err.contains("comparisons: 0 measured, 3 kept"), "{err}");
    let folder = tempfile::tempdir().unwrap();
    let compiler = folder.path().join("cc");
    fs::write(&compiler, "#!/bin/sh\nexec gcc \"$@\" -O1\n").unwrap();
    fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).unwrap();
    let out = unlikely().args(args).env("CC", &compiler).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(err.contains("comparisons: 3 measured, 0 kept"), "{err}");
}

/// Neither the folder that the program is started from, nor a user's habits of where cargo puts things.
fn settings_of_somebody_else_change_no_object(state: &str) {
    let args = ["reproduce", "--smoke", "--only", "pollfd", "--state", state];
    let (_, table, _) = run(args);
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".cargo")).unwrap();
    let config = "[build]\nrustflags = [\"-Cno-such-flag\"]\ntarget = \"no-such-machine\"\n";
    fs::write(folder.path().join(".cargo/config.toml"), config).unwrap();
    let elsewhere = folder.path().join("everything");
    let mut command = unlikely();
    command
        .args(args)
        .current_dir(&folder)
        .env("CC", "")
        .env("CARGO_BUILD_TARGET", "no-such-machine");
    command.env("CARGO_TARGET_DIR", &elsewhere).env("CARGO_BUILD_BUILD_DIR", &elsewhere);
    let out = command.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(err.contains("comparisons: 0 measured, 3 kept"), "{err}");
    assert_eq!(String::from_utf8_lossy(&out.stdout), table);
    assert!(!elsewhere.exists(), "it is built below the state folder alone");
}

#[test]
fn a_killed_run_goes_on_with_what_it_had_finished() {
    let (state, args) = smoke("refcount");
    let first = "refcount-patch-1.json";
    let mut child = unlikely()
        .args(&args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while finished(state.path(), first).is_none() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = fs::read(finished(state.path(), first).unwrap()).unwrap();
    let (code, _, err) = run(words(&args));
    assert_eq!(code, 0, "{err}");
    assert!(!err.contains(" 0 kept"), "{err}");
    let after = fs::read(finished(state.path(), first).unwrap()).unwrap();
    assert!(before == after, "what was finished is not measured again");
    assert!(finished(state.path(), "refcount-u32-2.json").is_some());
    let (_, once, _) = run(words(&args));
    let (_, again, err) = run(words(&args).chain(["--only", "refcount"]));
    assert_eq!(once, again, "a finished run prints the same again, asked for twice or not");
    assert!(err.contains("comparisons: 0 measured, 4 kept"), "{err}");
    let fresh: Vec<&str> = words(&args).chain(["--fresh"]).collect();
    let (_, _, err) = run(fresh);
    assert!(err.contains("comparisons: 4 measured, 0 kept"), "{err}");
    // Other settings are another measurement.
    let seeded: Vec<&str> = words(&args).chain(["--seed", "7"]).collect();
    let (_, _, err) = run(seeded);
    assert!(err.contains("comparisons: 4 measured, 0 kept"), "{err}");
}

/// The processes of a finished comparison.
fn rows(file: &Path) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&said(file)).unwrap();
    report["comparisons"][0]["rows"].as_array().unwrap().clone()
}

#[test]
fn no_process_that_is_done_is_lost() {
    let (state, args) = smoke("refcount");
    run(words(&args));
    let file = finished(state.path(), "refcount-u32-1.json").unwrap();
    let begun = file.with_extension("begun");
    assert!(!begun.exists(), "what is finished is not begun");
    // As a kill after the first of its two processes leaves it.
    let before = rows(&file);
    let kept = serde_json::json!({ "started_unix_s": 77, "operations": 1000, "rows": before[..1] });
    let again = |kept: &[u8]| {
        fs::write(&begun, kept).unwrap();
        fs::remove_file(&file).unwrap();
        let (code, _, err) = run(words(&args));
        assert_eq!(code, 0, "{err}");
        assert!(err.contains("comparisons: 1 measured, 3 kept"), "{err}");
        assert!(!begun.exists());
        (rows(&file), err)
    };
    let (after, err) = again(&sealed(&serde_json::to_vec(&kept).unwrap()));
    assert_eq!(after[0], before[0], "the first process is the one that was kept");
    assert!(after[1] != before[1] && after.len() == 2, "the second was measured");
    assert!(!err.contains("measured again"), "{err}");
    let report: Value = serde_json::from_slice(&said(&file)).unwrap();
    assert_eq!(report["started_unix_s"], 77);
    // Torn, changed, or of another shape: all of it is measured, and the file is named.
    let (torn, err) = again(br#"{"started_unix_s":1,"operations":1000,"rows":[{"proc"#);
    assert!(torn[0] != before[0] && err.contains("u32-1.begun: "), "{err}");
    let other = br#"{"started_unix_s":1,"operations":999,"rows":[]}"#;
    let (other, err) = again(&sealed(other));
    assert!(other[0] != before[0]);
    assert!(err.contains("u32-1.begun: it is of something else"), "{err}");
    let report: Value = serde_json::from_slice(&said(&file)).unwrap();
    assert_eq!(report["comparisons"][0]["operations"], 1000, "not those of the file");
}

#[test]
fn a_fresh_run_that_fails_leaves_nothing_older_behind() {
    let (state, args) = smoke("refcount");
    run(words(&args));
    let kept = finished(state.path(), "refcount-u32-1.json").unwrap();
    let older = kept.with_file_name("pollfd-hint-50.json");
    fs::copy(&kept, &older).unwrap();
    let mut fresh = unlikely();
    fresh.args(&args).args(["--only", "pollfd", "--fresh"]).env("CARGO", "false");
    let out = fresh.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(3), "{err}");
    assert!(err.contains("cannot be built") && out.stdout.is_empty(), "{err}");
    assert!(kept.exists() && !older.exists(), "the one was measured again, the other was not");
}

#[test]
fn a_record_that_is_torn_or_of_something_else_is_measured_again_and_named() {
    let (state, args) = smoke("refcount");
    run(words(&args));
    let file = finished(state.path(), "refcount-u32-1.json").unwrap();
    let whole = fs::read(&file).unwrap();
    let other = fs::read(file.with_file_name("refcount-u32-2.json")).unwrap();
    let older = String::from_utf8(said(&file)).unwrap();
    let older = older.replace("unlikely/experiment/1", "unlikely/experiment/0");
    let older = sealed(older.as_bytes());
    // One digit of one figure, by a disk or a hand: it is a number still.
    let mut changed = whole.clone();
    let figure =
        changed.windows(9).position(|text| text == b"\"ratio\":1" || text == b"\"ratio\":0");
    changed[figure.unwrap() + 8] ^= 1;
    let half = &whole[..whole.len() / 2];
    for spoilt in [half, b"", b"[]", &sealed(b"[]"), b"\xff\0", &other, &older, &changed] {
        fs::write(&file, spoilt).unwrap();
        let (code, _, err) = run(words(&args));
        assert_eq!(code, 0, "{err}");
        assert!(err.contains("comparisons: 1 measured, 3 kept"), "{err}");
        assert!(err.contains("u32-1.json: ") && err.contains("is measured again"), "{err}");
    }
    let (_, _, err) = run(words(&args));
    assert!(err.contains("comparisons: 0 measured, 4 kept"), "it was put right: {err}");
}

#[test]
fn the_page_stands_alone() {
    let (_state, args) = smoke("refcount");
    let (code, page, _) = run(words(&args).chain(["--format", "html"]));
    assert_eq!(code, 0);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(page.contains("default-src 'none'") && !page.contains("<script"), "{page}");
    assert!(page.matches("<svg").count() == 5 && page.contains("lock inc dword ptr"), "{page}");
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let out = unlikely().args(&args).stdout(full()).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(8) && err.contains("standard output cannot"), "{err}");
    let out = unlikely().args(&args).stderr(full()).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "progress that nobody can read ends nothing");
    assert!(!out.stdout.is_empty());
}

#[test]
fn two_do_not_measure_side_by_side() {
    let (state, args) = smoke("refcount");
    let path = state.path().join("lock");
    fs::write(&path, "somebody else's").unwrap();
    let lock = File::open(&path).unwrap();
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let (code, out, err) = run(words(&args));
    assert_eq!((code, out.as_str()), (7, ""), "{err}");
    assert!(err.contains("another `unlikely reproduce`"), "{err}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else's");
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let (state, args) = smoke("slub");
    let (code, _, err) = run(words(&args));
    assert_eq!(code, 2);
    assert!(err.contains("\"slub\"") && err.contains("refcount, fortify, pollfd, unlock"), "{err}");
    assert!(fs::read_dir(state.path()).unwrap().next().is_none(), "nothing was begun");
    let (code, _, err) = run(["reproduce", "--worker", "{}"]);
    assert_eq!(code, 8, "{err}");
    let file = state.path().join("file");
    fs::write(&file, "").unwrap();
    let (code, _, err) = run(["reproduce", "--state", file.to_str().unwrap()]);
    assert_eq!(code, 8);
    assert!(err.contains("--state"), "{err}");
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    let state = state.path().join(name);
    let out = unlikely().args(["reproduce", "--smoke", "--state"]).arg(state).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && err.contains("UTF-8"), "{err}");
}
