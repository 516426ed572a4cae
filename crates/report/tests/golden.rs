//! Every output of the rich record, kept as files that a person can read and review.
//!
//! `UPDATE_GOLDEN=1 cargo test -p unlikely-report` rewrites them; the difference is then for a
//! person to judge.

mod fixture;

use std::{env, fs, path::Path};

use unlikely_report::{
    bench_terminal, commit_message, html, json, scan_terminal, site_commit_message, terminal,
};

fn check(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("the golden folder is writable");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differs = actual.lines().zip(expected.lines()).find(|(a, b)| a != b);
    assert!(
        actual == expected,
        "{name} differs from its golden file; first differing lines: {differs:?}. If the new \
         text is right, run again with UPDATE_GOLDEN=1"
    );
}

#[test]
fn terminal_summary() {
    check("terminal-80.txt", &terminal(&fixture::rich(), 80, false));
    check("terminal-120.txt", &terminal(&fixture::rich(), 120, false));
    check("terminal-color.txt", &terminal(&fixture::rich(), 100, true));
    check("terminal-no-gain.txt", &terminal(&fixture::no_gain(), 80, false));
    check("terminal-empty.txt", &terminal(&fixture::empty(), 80, false));
}

#[test]
fn scan_summary() {
    check("scan-80.txt", &scan_terminal(&fixture::rich().scan, 3, 80, false));
}

#[test]
fn bench_summary() {
    check("bench.txt", &bench_terminal(&fixture::bench(20), false));
}

#[test]
fn commit_messages() {
    let rich = fixture::rich();
    check("commit.txt", &commit_message(&rich).unwrap());
    check("commit-site.txt", &site_commit_message(&rich, "c0ffee01").unwrap());
    check("commit-stressor.txt", &site_commit_message(&rich, "c0ffee04").unwrap());
    check("commit-no-gain.txt", &commit_message(&fixture::no_gain()).unwrap());
}

#[test]
fn json_record() {
    let mut small = fixture::rich();
    small.bench.truncate(1);
    small.bench[0].report.rows.truncate(2);
    check("evidence.json", &json(&small));
}

#[test]
fn html_page() {
    check("report.html", &html(&fixture::rich()));
}
