//! `audit`: what it prints, where it reads from, and how it ends.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{json, project, run, text, unlikely};

const WRONG: &str =
    "The text increased from 8527918 bytes to 8462235 bytes, an increase of 0.78%.\n";
const RIGHT: &str = "Throughput went from 10.2 Mpps to 11.0 Mpps (+7.8%).\nIt is 3% faster.\n";

#[test]
fn an_inconsistent_claim_is_a_negative_verdict() {
    let dir = project(&[("wrong.txt", WRONG), ("right.txt", RIGHT)]);
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (code, out, err) = run(["audit", &file("wrong.txt")]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("inconsistent") && out.contains("-0.770 %"), "{out}");
    assert!(
        out.split_whitespace().collect::<Vec<_>>().join(" ").contains("probably swapped"),
        "{out}"
    );
    let (code, out, _) = run(["audit", &file("right.txt")]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("1 consistent, 1 not recomputable"), "{out}");
}

#[test]
fn the_json_has_a_schema_and_every_claim() {
    let dir = project(&[("wrong.txt", WRONG)]);
    let file = dir.path().join("wrong.txt");
    let (code, value) = json(["audit", file.to_str().unwrap(), "--format", "json"]);
    assert_eq!(code, 1);
    assert_eq!(value["schema"], "unlikely/audit/1");
    let claim = &value["claims"][0];
    assert_eq!(claim["finding"], "inconsistent");
    assert_eq!(claim["kind"], "percent");
    assert_eq!(claim["line"], 1);
    assert_eq!(claim["recomputed"], "-0.770 %");
}

#[test]
fn a_dash_is_standard_input() {
    let mut child = unlikely()
        .args(["audit", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(WRONG.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stdout).contains("-0.770 %"));
}

#[test]
fn a_file_that_is_not_there_is_an_error_of_input() {
    let (code, out, err) = run(["audit", "no/such/file"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("no/such/file: "), "{err}");
}
