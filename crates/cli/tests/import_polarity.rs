//! The directions told of plain GCC coverage, which says none, against clang's exact counts of the
//! same programs. None may be wrong, at any level of optimisation and from any of the formats; how
//! many are found is held to a floor.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{must, path, project, run};
use serde_json::Value;

/// Line, column and text of a condition.
type Place = (u64, u64, String);
/// Times evaluated and times true.
type Counts = (u64, u64);

const PROGRAMS: [&str; 3] = ["returns", "loops", "chains"];
/// Executions that make a branch worth comparing.
const EXECUTED_MIN: u64 = 1000;

#[test]
fn no_direction_is_wrong_without_optimisation() {
    compare(&["-O0"], [62, 58, 58]);
}

#[test]
fn no_direction_is_wrong_at_o2() {
    compare(&["-O2"], [34, 28, 28]);
}

#[test]
fn no_direction_is_wrong_at_o2_without_early_inlining() {
    compare(&["-O2", "-fno-early-inlining"], [42, 36, 36]);
}

#[test]
fn no_direction_is_wrong_at_o3() {
    compare(&["-O3"], [29, 23, 23]);
}

/// Imports each program's counts as .gcda and .gcno, as gcov JSON and as a tracefile. `floors`: how
/// many of the one-sided `if`s of all programs (71) must be found, by format.
fn compare(flags: &[&str], floors: [usize; 3]) {
    let mut found = [0; 3];
    let mut sought = 0;
    for name in PROGRAMS {
        let truth = exact(name);
        let one_sided: Vec<&Place> = truth
            .iter()
            .filter(|(_, t)| t.is_if && is_one_sided(t.counts))
            .map(|(p, _)| p)
            .collect();
        sought += one_sided.len();
        for (format, found) in Format::ALL.into_iter().zip(&mut found) {
            let told = imported(name, flags, format);
            for (place, told) in told.iter().filter(|(_, t)| t.counts.0 >= EXECUTED_MIN) {
                let Some(truth) = truth.get(place) else { continue };
                assert!(
                    agree(told.counts, truth.counts),
                    "{name}.c {flags:?} {format:?} {place:?}: {:?}, in truth {:?}: {}",
                    told.counts,
                    truth.counts,
                    told.reason
                );
            }
            *found += one_sided.iter().filter(|place| told.contains_key(**place)).count();
        }
    }
    eprintln!("{flags:?}: of {sought} one-sided ifs {found:?} are found ({:?})", Format::ALL);
    for (found, floor) in found.into_iter().zip(floors) {
        assert!(found >= floor, "{flags:?}: {found} of {sought}, expected {floor}");
    }
}

fn is_one_sided((executed, taken): Counts) -> bool {
    executed >= EXECUTED_MIN && taken.min(executed - taken) * 1000 <= executed
}

/// The same usual outcome, unless neither is usual.
fn agree((executed, taken): Counts, (executed_truly, taken_truly): Counts) -> bool {
    let share = |executed: u64, taken: u64| taken as f64 / executed as f64;
    let (told, truth) = (share(executed, taken), share(executed_truly, taken_truly));
    executed_truly > 0 && ((told - truth).abs() < 0.02 || (told > 0.5) == (truth > 0.5))
}

/// What a scan tells of one condition.
struct Told {
    counts: Counts,
    is_if: bool,
    reason: String,
}

/// Clang's counts of every condition of a program.
fn exact(name: &str) -> BTreeMap<Place, Told> {
    let dir = laid(name);
    let (code, _, err) = run(["record", path(&dir), "--collector", "llvm"]);
    assert_eq!(code, 0, "{err}");
    scan(path(&dir))
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Raw,
    Json,
    Lcov,
}

impl Format {
    const ALL: [Self; 3] = [Self::Raw, Self::Json, Self::Lcov];
}

/// What is told of a program that was built and run in another folder.
fn imported(name: &str, flags: &[&str], format: Format) -> BTreeMap<Place, Told> {
    let build = laid(name);
    let source = format!("{name}.c");
    let gcc = || {
        let mut gcc = Command::new("gcc");
        gcc.current_dir(&build).args(["-w", "--coverage"]);
        gcc
    };
    must(gcc().args(flags).args(["-c", &source, "-o", "p.o"]));
    must(gcc().args(["p.o", "-o", "p"]));
    must(Command::new("./p").current_dir(&build));
    let profile = match format {
        Format::Raw => build.path().to_owned(),
        _ => {
            let mut gcov = Command::new("gcov");
            gcov.args(["--json-format", "-b", "--stdout", "p.gcda"]);
            let json = must(gcov.current_dir(&build).env("LC_ALL", "C")).stdout;
            let (file, text) = match format {
                Format::Lcov => ("p.info", tracefile(&json).into_bytes()),
                _ => ("p.json", json),
            };
            let file = build.path().join(file);
            fs::write(&file, text).expect("a file");
            file
        }
    };
    let dir = laid(name);
    let map = format!("{}=.", path(&build));
    let profile = profile.to_str().expect("a UTF-8 path");
    let (code, _, err) = run(["import", path(&dir), profile, "--workload", "run", "--map", &map]);
    assert_eq!(code, 0, "{err}");
    scan(path(&dir))
}

/// A project of one of the programs.
fn laid(name: &str) -> tempfile::TempDir {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/c/{name}.c"));
    let source = fs::read_to_string(source).expect("the program");
    let config = format!(
        "[project]\nname = \"{name}\"\nlanguage = \"c\"\n\
         [build]\ncommand = \"$CC $CFLAGS $LDFLAGS {name}.c -o {name}\"\n\
         [test]\ncommand = \"true\"\n\
         [[workload]]\nname = \"run\"\nclass = \"application\"\ncommand = \"./{name}\"\n"
    );
    project(&[("unlikely.toml", &config), (&format!("{name}.c"), &source)])
}

fn scan(dir: &str) -> BTreeMap<Place, Told> {
    let (_, scan) = common::json(["scan", dir, "--format", "json"]);
    let number = |c: &Value, key: &str| c[key].as_u64().expect("a number");
    let word = |c: &Value, key: &str| c[key].as_str().expect("a text").to_owned();
    let candidates = scan["candidates"].as_array().expect("candidates").clone();
    let conditions = candidates.into_iter().filter(|c| c["kind"] != "case");
    conditions
        .map(|c| {
            let place = (number(&c, "line"), number(&c, "column"), word(&c, "condition"));
            let counts = (number(&c, "executed"), number(&c, "taken"));
            let is_if = matches!(c["kind"].as_str(), Some("if" | "else-if"));
            (place, Told { counts, is_if, reason: word(&c, "polarity_reason") })
        })
        .collect()
}

/// Why a write to a string is expected to succeed.
const INFALLIBLE: &str = "a string takes all";

/// gcov's JSON as lcov writes it down.
fn tracefile(json: &[u8]) -> String {
    let document: Value = serde_json::from_slice(json).expect("gcov's JSON");
    let folder = document["current_working_directory"].as_str().expect("a folder");
    let mut out = "TN:\n".to_owned();
    for file in document["files"].as_array().expect("files") {
        writeln!(out, "SF:{folder}/{}", file["file"].as_str().expect("a name")).expect(INFALLIBLE);
        for f in file["functions"].as_array().expect("functions") {
            let name = f["name"].as_str().expect("a name");
            let (line, entered) = (&f["start_line"], &f["execution_count"]);
            writeln!(out, "FN:{line},{name}\nFNDA:{entered},{name}").expect(INFALLIBLE);
        }
        for line in file["lines"].as_array().expect("lines") {
            let number = &line["line_number"];
            for (i, branch) in line["branches"].as_array().into_iter().flatten().enumerate() {
                writeln!(out, "BRDA:{number},0,{i},{}", branch["count"]).expect(INFALLIBLE);
            }
            writeln!(out, "DA:{number},{}", line["count"]).expect(INFALLIBLE);
        }
        out.push_str("end_of_record\n");
    }
    out
}
