//! Counts recorded elsewhere: which kinds are taken, how their paths are joined with the project,
//! and what is said of those that cannot be used.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{json, must, path, project, run};
use serde_json::Value;
use tempfile::TempDir;

const MAIN: &str = "\
#include <stdio.h>
static int check(int v)
{
  if (v < 0)
    return -1;
  return v & 3;
}
int main(void)
{
  long sum = 0;
  for (int i = 0; i < 5000; i++)
    sum += check(i);
  printf(\"%ld\\n\", sum);
  return 0;
}
";

const CONFIG: &str = "\
[project]
name = \"p\"
language = \"c\"
[build]
command = \"$CC $CFLAGS $LDFLAGS main.c -o p\"
[test]
command = \"true\"
[[workload]]
name = \"storm\"
class = \"stressor\"
command = \"./p\"
";

fn bare() -> TempDir {
    project(&[("unlikely.toml", CONFIG), ("src/main.c", MAIN)])
}

/// A folder in which `src/main.c` was built with coverage and run.
fn recorded() -> TempDir {
    let dir = project(&[("src/main.c", MAIN)]);
    build(dir.path());
    must(Command::new("./p").current_dir(&dir));
    dir
}

fn build(dir: &Path) {
    let gcc = |args: &[&str]| must(Command::new("gcc").args(args).current_dir(dir));
    gcc(&["--coverage", "-O0", "-c", "src/main.c", "-o", "main.o"]);
    gcc(&["--coverage", "main.o", "-o", "p"]);
}

fn gcov_json(dir: &Path) -> Vec<u8> {
    let args = ["--json-format", "-b", "--stdout", "main.gcda"];
    must(Command::new("gcov").args(args).current_dir(dir).env("LC_ALL", "C")).stdout
}

/// The import of `profile` as workload `w` of `dir`, with the paths of `from` mapped into it.
fn import(dir: &TempDir, profile: &Path, from: &Path) -> (i32, String, String) {
    let map = format!("{}=.", from.display());
    let profile = profile.to_str().expect("a UTF-8 path");
    run(["import", path(dir), profile, "--workload", "w", "--map", &map])
}

fn scan(dir: &TempDir) -> Value {
    json(["scan", path(dir), "--format", "json"]).1
}

/// Executions and truths of the one `if` of `MAIN`.
fn of_check(scan: &Value) -> Option<(u64, u64)> {
    let all = scan["candidates"].as_array().expect("candidates");
    let of = all.iter().find(|c| c["condition"] == "v < 0")?;
    assert_eq!(of["file"], "src/main.c");
    Some((of["executed"].as_u64()?, of["taken"].as_u64()?))
}

/// The diagnostics of one kind.
fn said(scan: &Value, code: &str) -> Vec<String> {
    let all = scan["diagnostics"].as_array().expect("diagnostics").iter();
    let of_kind = all.filter(|d| d["code"] == code);
    of_kind.map(|d| d["message"].as_str().expect("a message").to_owned()).collect()
}

#[test]
fn each_kind_is_told_by_its_content_and_joined() {
    let from = recorded();
    let dir = from.path();
    let json = gcov_json(dir);
    // Names that lie about what is in them.
    fs::write(dir.join("cov.info"), &json).unwrap();
    let file = "end_of_record\n";
    let lcov = format!(
        "TN:\nSF:{}/src/main.c\nFN:2,check\nFNDA:5000,check\nBRDA:4,0,0,0\nBRDA:4,0,1,5000\n\
         DA:4,5000\nDA:5,0\nDA:6,5000\n{file}",
        dir.display()
    );
    fs::write(dir.join("cov.json"), lcov).unwrap();
    fs::create_dir(dir.join("zipped")).unwrap();
    must(Command::new("gcov").args(["--json-format", "-b", "main.gcda"]).current_dir(dir));
    let zipped = fs::read_dir(dir).unwrap().flatten().map(|e| e.path());
    let zipped = zipped.into_iter().find(|p| p.to_string_lossy().ends_with(".gcov.json.gz"));
    fs::rename(zipped.expect("gcov's file"), dir.join("zipped/a.gcov.json.gz")).unwrap();
    for (profile, kind) in [
        ("", "GCC data (.gcda)"),
        ("main.gcda", "GCC data (.gcda)"),
        ("cov.info", "gcov JSON"),
        ("cov.json", "lcov tracefile"),
        ("zipped", "gcov JSON"),
    ] {
        let project = bare();
        let (code, out, err) = import(&project, &dir.join(profile), dir);
        assert_eq!(code, 0, "{profile}: {err}");
        assert_eq!(out, format!("imported workload w: {kind}, 1 files of the project\n"));
        assert_eq!(of_check(&scan(&project)), Some((5000, 0)), "{profile}");
    }
}

#[test]
fn llvm_cov_json_is_taken() {
    let project = bare();
    let main = project.path().join("src/main.c");
    let export = format!(
        r#"{{"data":[{{"files":[{{"filename":"{0}","segments":[[4,7,9,true,true,false],[4,12,0,false,false,false]]}}],
        "functions":[{{"name":"check","count":9,"filenames":["{0}"],
        "regions":[[3,1,7,2,9,0,0,0]],"branches":[[4,7,4,12,2,7,0,0,4]]}}]}}],
        "type":"llvm.coverage.json.export","version":"3.0.1"}}"#,
        main.display()
    );
    let file = project.path().join("export");
    fs::write(&file, export).unwrap();
    // Paths below the project need no map.
    let (code, out, err) =
        run(["import", path(&project), file.to_str().unwrap(), "--workload", "w"]);
    assert_eq!((code, out.contains("llvm-cov JSON")), (0, true), "{err}");
    assert_eq!(of_check(&scan(&project)), Some((9, 2)));
}

#[test]
fn the_map_that_would_mend_it_is_named() {
    let (project, from) = (bare(), recorded());
    let profile = from.path().to_str().unwrap();
    let (code, _, err) = run(["import", path(&project), profile, "--workload", "w"]);
    assert_eq!(code, 2);
    let remedy = format!("--map {profile}=.");
    assert!(err.contains(&remedy), "{err}");
    let (code, ..) = run(["import", path(&project), profile, "--workload", "w", "--map", "x=y"]);
    assert_eq!(code, 2, "a map that does not mend it");
}

#[test]
fn the_project_is_the_first_path_or_the_current_folder() {
    let (project, from) = (bare(), recorded());
    let map = format!("{}=.", path(&from));
    let args = ["import", path(&from), "--workload", "w", "--map", &map];
    let out = common::unlikely().args(args).current_dir(&project).output().unwrap();
    assert!(out.status.success());
    assert_eq!(of_check(&scan(&project)), Some((5000, 0)));
    let (code, _, err) = run(["import", path(&project), "--workload", "w"]);
    assert_eq!((code, err.contains("name the profiles")), (2, true), "{err}");
    let (code, _, err) = run(["import", path(&project), "/nowhere", "--workload", "w"]);
    assert_eq!((code, err.contains("/nowhere")), (2, true), "{err}");
    let (code, _, err) = run(["import", path(&project), path(&from), "--workload", "../w"]);
    assert_eq!((code, err.contains("--workload")), (2, true), "{err}");
}

#[test]
fn workloads_add_up_and_one_of_the_same_name_is_replaced() {
    let (project, from) = (bare(), recorded());
    let map = format!("{}=.", path(&from));
    let again = |name: &str, more: &[&str]| {
        let args = ["import", path(&project), path(&from), "--workload", name, "--map", &map];
        let (code, _, err) = run(args.into_iter().chain(more.iter().copied()));
        assert_eq!(code, 0, "{err}");
    };
    again("w", &[]);
    must(Command::new("./p").current_dir(&from));
    again("storm", &[]);
    let both = scan(&project);
    assert_eq!(of_check(&both), Some((15_000, 0)));
    let of = &both["candidates"][0]["workloads"];
    assert_eq!((&of[0]["name"], &of[0]["class"]), (&"w".into(), &"application".into()));
    assert_eq!((&of[1]["name"], &of[1]["class"]), (&"storm".into(), &"stressor".into()));
    again("w", &["--class", "benchmark"]);
    assert_eq!(of_check(&scan(&project)), Some((20_000, 0)), "10000 each");
}

#[test]
fn a_recording_is_replaced_and_said_so() {
    let (project, from) = (bare(), recorded());
    let main = project.path().join("main.c");
    fs::rename(project.path().join("src/main.c"), main).unwrap();
    let (code, _, err) = run(["record", path(&project), "--collector", "gcov"]);
    assert_eq!(code, 0, "{err}");
    let map = format!("{}/src=.", path(&from));
    let args = ["import", path(&project), path(&from), "--workload", "w", "--map", &map];
    let (code, _, err) = run(args);
    assert_eq!(code, 0);
    assert!(err.contains("replaces the recording made with gcov"), "{err}");
    let (_, _, err) = run(args);
    assert!(!err.contains("replaces"), "{err}");
}

#[test]
fn counts_of_a_text_that_changed_do_not_outlive_it() {
    let (project, from) = (bare(), recorded());
    assert_eq!(import(&project, from.path(), from.path()).0, 0);
    let file = project.path().join("src/main.c");
    fs::write(&file, format!("\n{MAIN}")).unwrap();
    assert_eq!(of_check(&scan(&project)), None, "the old text's counts");
    let map = format!("{}=.", path(&from));
    let args = ["import", path(&project), path(&from), "--workload", "new", "--map", &map];
    let (code, _, err) = run(args);
    assert_eq!(code, 0);
    assert!(err.contains("w: src/main.c changed since it was imported"), "{err}");
    let scan = scan(&project);
    assert!(!scan["candidates"].to_string().contains("\"w\""), "{scan}");
}

#[test]
fn data_without_notes_are_named_and_the_rest_is_used() {
    let (project, from) = (bare(), recorded());
    let dir = from.path();
    fs::copy(dir.join("main.gcda"), dir.join("lone.gcda")).unwrap();
    assert_eq!(import(&project, dir, dir).0, 0);
    let scan = scan(&project);
    assert_eq!(of_check(&scan), Some((5000, 0)));
    let said = said(&scan, "gcno-missing");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("lone.gcda: there is no .gcno beside"), "{said:?}");
    // Alone it leaves nothing to use.
    let (code, _, err) = import(&project, &dir.join("lone.gcda"), dir);
    assert_eq!((code, err.contains("no .gcno beside")), (2, true), "{err}");
}

#[test]
fn data_of_another_build_are_named_with_both_files() {
    let (project, from) = (bare(), recorded());
    let dir = from.path();
    let data = fs::read(dir.join("main.gcda")).unwrap();
    fs::write(dir.join("src/main.c"), format!("{MAIN}int more;\n")).unwrap();
    build(dir);
    fs::write(dir.join("main.gcda"), data).unwrap();
    let (code, _, err) = import(&project, dir, dir);
    assert_eq!(code, 2);
    assert!(err.contains("main.gcda") && err.contains("main.gcno"), "{err}");
    assert!(err.contains("rebuild"), "{err}");
}

#[test]
fn data_and_notes_may_come_in_separate_folders() {
    let (project, from) = (bare(), recorded());
    let dir = from.path();
    for (folder, file) in [("data", "main.gcda"), ("notes", "main.gcno")] {
        fs::create_dir(dir.join(folder)).unwrap();
        fs::rename(dir.join(file), dir.join(folder).join(file)).unwrap();
    }
    let (data, notes) = (dir.join("data"), dir.join("notes"));
    let map = format!("{}=.", path(&from));
    let (code, _, err) = run([
        "import",
        path(&project),
        data.to_str().unwrap(),
        notes.to_str().unwrap(),
        "--workload",
        "w",
        "--map",
        &map,
    ]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(of_check(&scan(&project)), Some((5000, 0)));
}

#[test]
fn truncated_data_give_what_stands_before_the_cut() {
    let (project, from) = (bare(), recorded());
    let dir = from.path();
    let data = fs::read(dir.join("main.gcda")).unwrap();
    fs::write(dir.join("main.gcda"), &data[..data.len() - 6]).unwrap();
    let (code, _, err) = import(&project, dir, dir);
    assert_eq!(code, 0, "{err}");
    let cut = said(&scan(&project), "truncated");
    assert!(cut[0].contains("run the workload again"), "{cut:?}");
}

#[test]
fn what_is_no_profile_is_named_with_the_remedy() {
    let project = bare();
    let file = |name: &str, bytes: &[u8]| {
        let file = project.path().join(name);
        fs::write(&file, bytes).unwrap();
        file
    };
    for (bytes, remedy) in [
        (&b"\x81rforpl\xff"[..], "llvm-profdata merge"),
        (b"        -:    0:Source:main.c\n", "--json-format"),
        (b"", "empty"),
        (b"hello\n", "no profile that is known"),
    ] {
        let (code, _, err) = import(&project, &file("x", bytes), project.path());
        assert_eq!((code, err.contains(remedy)), (2, true), "{err}");
    }
    let (code, _, err) = import(&project, &project.path().join("src"), project.path());
    assert_eq!((code, err.contains("holds no .gcda")), (2, true), "{err}");
}

#[test]
fn a_file_too_large_is_not_read() {
    let project = bare();
    let huge = project.path().join("huge.json");
    fs::File::create(&huge).unwrap().set_len(2 << 30).unwrap();
    let (code, _, err) = import(&project, &huge, project.path());
    assert_eq!(code, 2);
    assert!(err.contains("more than 1024 MiB are not read"), "{err}");
}

#[test]
fn links_that_a_folder_holds_are_not_followed() {
    let (project, from) = (bare(), recorded());
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(from.path(), folder.path().join("inside")).unwrap();
    let (code, _, err) = import(&project, folder.path(), from.path());
    assert_eq!((code, err.contains("holds no .gcda")), (2, true), "{err}");
}

#[test]
fn paths_in_a_profile_open_nothing() {
    let project = bare();
    let file = project.path().join("a.info");
    fs::write(&file, "TN:\nSF:/etc/passwd\nDA:1,9\nend_of_record\nSF:../../x.c\nDA:1,9\nend_of_record\nSF:src/main.c\nDA:4,5000\nend_of_record\n").unwrap();
    let (code, _, err) = import(&project, &file, Path::new("/nowhere"));
    assert_eq!(code, 0, "{err}");
    let kept = fs::read_to_string(project.path().join(".unlikely/counts/w.json")).unwrap();
    assert!(!kept.contains("passwd") && !kept.contains("x.c"), "{kept}");
}

#[test]
fn lines_that_go_by_other_numbers_are_set_aside() {
    let project = bare();
    let file = project.path().join("src/main.c");
    fs::write(&file, MAIN.replace("int main", "#line 1\nint main")).unwrap();
    let from = project.path();
    must(
        Command::new("gcc").args(["--coverage", "-O0", "src/main.c", "-o", "p"]).current_dir(from),
    );
    must(Command::new("./p").current_dir(from));
    let (code, _, err) = import(&project, from, from);
    assert_eq!(code, 0, "{err}");
    let scan = scan(&project);
    assert_eq!(of_check(&scan), None);
    assert!(said(&scan, "line-directive")[0].contains("#line"), "{scan}");
}

#[test]
fn json_beside_the_data_that_it_tells_of_is_not_counted_twice() {
    let (project, from) = (bare(), recorded());
    let dir = from.path();
    fs::write(dir.join("main.gcov.json"), gcov_json(dir)).unwrap();
    assert_eq!(import(&project, dir, dir).0, 0);
    let once = scan(&project);
    assert_eq!(of_check(&once), Some((5000, 0)));
    assert_eq!(said(&once, "json-left-out").len(), 1);
}
