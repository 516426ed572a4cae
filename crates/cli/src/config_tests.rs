//! The configuration as its writer sees it: what is taken, and what each mistake is told.

use super::*;

const GOOD: &str = r#"
[project]
name = "lua"
language = "c"
[build]
command = "make"
cflags = "-O2"
[test]
command = "make test"
[[workload]]
name = "sort"
class = "application"
command = "./lua sort.lua"
metric = "time"
[[workload]]
name = "rate"
class = "benchmark"
command = "./bench"
metric = { regex = "([0-9.]+) ops/s", direction = "higher", unit = "ops/s" }
"#;

fn error(text: &str) -> String {
    Config::parse("unlikely.toml", text).unwrap_err().to_string()
}

#[test]
fn the_documented_form_is_taken() {
    let config = Config::parse("unlikely.toml", GOOD).unwrap();
    let workloads = config.workloads(Path::new(".")).unwrap();
    assert_eq!(workloads[0].name(), "sort");
    assert!(matches!(workloads[0].metric(), Metric::Time));
    assert!(matches!(workloads[1].metric(), Metric::Regex { direction: Direction::Higher, .. }));
}

#[test]
fn each_mistake_names_its_line_and_what_was_expected() {
    for (from, to, line, expected) in [
        ("language = \"c\"", "language = \"cobol\"", 4, "expected `c` or `rust`"),
        ("cflags =", "cflag =", 7, "unknown field `cflag`"),
        ("command = \"make\"\n", "", 5, "missing field `command`"),
        ("class = \"application\"", "class = \"app\"", 12, "expected one of"),
        ("metric = \"time\"", "metric = \"speed\"", 14, "expected time, cpu"),
        ("name = \"sort\"", "name = \"../sort\"", 11, "expected a workload name"),
        ("name = \"rate\"", "name = \"sort\"", 16, "sort is taken"),
        ("([0-9.]+) ops/s", "[0-9.]+ ops/s", 19, "expected a group"),
        ("[test]\ncommand = \"make test\"\n", "", 1, "missing field `test`"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let error = error(&text);
        assert!(error.starts_with(&format!("unlikely.toml:{line}: ")), "{to}: {error}");
        assert!(error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn a_design_that_cannot_be_run_is_refused_before_anything_is_built() {
    for (line, expected) in [
        ("blocks = 1", "from 2 to 4096"),
        ("blocks = 4294967295", "from 2 to 4096"),
        ("builds = 0", "from 1 to 64"),
        ("margin_percent = 0.0", "above 0"),
        ("margin_percent = nan", "above 0"),
        ("stop = \"never\"", "unknown variant"),
    ] {
        let error = error(&format!("{GOOD}[bench]\n{line}\n"));
        assert!(error.starts_with("unlikely.toml:21: ") && error.contains(expected), "{error}");
    }
}

#[test]
fn no_workload_is_an_error_of_its_own() {
    let text = &GOOD[..GOOD.find("[[workload]]").unwrap()];
    let config = Config::parse("unlikely.toml", text).unwrap();
    let error = config.workloads(Path::new("x")).unwrap_err().to_string();
    assert!(error.starts_with("x/unlikely.toml: no [[workload]]"), "{error}");
}
