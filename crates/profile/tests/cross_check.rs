//! The reader of raw GCC files against gcov itself, and probes against a program that counts for
//! itself, on programs compiled here with the gcc at hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use unlikely_profile::probe::{Probe, ProbedFile, resolve};
use unlikely_profile::{Pos, Profile, gcda, gcno, gcov_json};

fn run(folder: &Path, program: &str, args: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {stderr}");
    output.stdout
}

/// Compiles `source` as `a.c` with coverage and runs it.
fn record(folder: &Path, source: &[u8], level: &str) -> Profile {
    std::fs::write(folder.join("a.c"), source).unwrap();
    let flags = ["--coverage", "-fprofile-update=atomic", "-fno-early-inlining"];
    let args = [&[level, "a.c", "-c", "-o", "a.o"], &flags[..]].concat();
    run(folder, "gcc", &args);
    run(folder, "gcc", &["a.o", "--coverage", "-o", "a"]);
    run(folder, "./a", &[]);
    let (graphs, diagnostics) =
        gcno::read(&std::fs::read(folder.join("a.gcno")).unwrap(), "a.gcno");
    assert_eq!(diagnostics, []);
    let data = std::fs::read(folder.join("a.gcda")).unwrap();
    let (profile, diagnostics) = gcda::merge(Some(&graphs), &data, "a.gcda");
    assert_eq!(diagnostics, [], "{level}");
    profile
}

fn assert_like_gcov(source: &[u8]) {
    for level in ["-O0", "-O1", "-O2"] {
        let folder = tempfile::tempdir().unwrap();
        let ours = record(folder.path(), source, level);
        let json = run(folder.path(), "gcov", &["--json-format", "-b", "--stdout", "a.gcda"]);
        let (theirs, diagnostics) = gcov_json::read(&json, "gcov");
        assert_eq!(diagnostics, [], "{level}");
        assert!(!theirs.files.is_empty());
        assert_eq!(
            ours.files.keys().collect::<Vec<_>>(),
            theirs.files.keys().collect::<Vec<_>>(),
            "{level}"
        );
        for (path, file) in &theirs.files {
            assert_eq!(ours.files[path].lines, file.lines, "{level} {path}");
            assert_eq!(ours.files[path].functions, file.functions, "{level} {path}");
        }
    }
}

#[test]
fn loops_on_one_line_are_counted_as_gcov_does() {
    assert_like_gcov(
        br#"
#include <stdio.h>
static int nested(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) if ((i ^ j) & 1) s++; else s--;
  while (n > 0) { n--; if (n == 3) continue; s += n; } do s++; while (s & 3);
  return s;
}
int main(void) {
  int total = 0;
  for (int i = 0; i < 20; i++)
    total += nested(i) > 5 && i % 3 ? nested(
        i - 1) : 1;
  printf("%d\n", total);
  return 0;
}
"#,
    );
}

#[test]
fn calls_that_do_not_return_or_return_twice_are_solved() {
    assert_like_gcov(
        br#"
#include <setjmp.h>
#include <stdlib.h>
static jmp_buf env;
__attribute__((noinline)) static void maybe(int i) {
  if (i % 5 == 0) longjmp(env, 1);
}
static int guarded(int i) {
  volatile int caught = 0;
  if (setjmp(env) == 0) {
    maybe(i);
    maybe(i + 1);
  } else {
    caught = 1;
  }
  return caught;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 50; i++)
    sum += guarded(i);
  if (sum != 20) abort();
  exit(0);
}
"#,
    );
}

#[test]
fn switches_gotos_inlined_and_uncalled_functions_are_solved() {
    assert_like_gcov(
        br#"
static inline __attribute__((always_inline)) int twice(int v) {
  if (v > 7)
    return v;
  return 2 * v;
}
static int step(int op, int acc) {
  switch (op) {
  case 0: return twice(acc);
  case 1: case 2: acc++; /* fall through */
  case 3: goto out;
  default: break;
  }
  acc = twice(op) + twice(acc);
out:
  return acc & 0xff;
}
int never_called(int v) {
  return v ? step(v, 1) : 2;
}
int main(void) {
  int acc = 1;
  for (int i = 0; i < 300; i++)
    acc = step(i % 7, acc);
  return acc == 1000;
}
"#,
    );
}

#[test]
fn line_directives_and_crlf_name_the_lines_they_say() {
    assert_like_gcov(
        b"int f(int a)\r\n{\r\n  if (a > 3)\r\n    return 1;\r\n#line 100 \"made.y\"\r\n  return \
          a < 2\r\n    ? 5 : 6;\r\n}\r\nint main(void) {\r\n  int s = 0;\r\n  for (int i = 0; i < \
          9; i++) s += f(i);\r\n  return s == 0; }\r\n",
    );
}

#[test]
fn arcs_lead_to_the_lines_of_both_outcomes() {
    let source = br#"
int hits, misses;
__attribute__((noinline)) static void f(int a) {
  if (a < 0)
    hits++;
  else
    misses++;
}
int main(void) {
  for (int i = 0; i < 10; i++)
    f(i - 2);
  return 0;
}
"#;
    for level in ["-O0", "-O2"] {
        let folder = tempfile::tempdir().unwrap();
        let profile = record(folder.path(), source, level);
        let file = profile.files.values().next().unwrap();
        let arcs: Vec<_> = file.arcs.iter().filter(|a| a.line == 4).collect();
        assert_eq!(arcs.len(), 1, "{level}");
        let ways: BTreeMap<_, _> = arcs[0].leads_to.iter().zip(&arcs[0].taken).collect();
        assert_eq!(ways, BTreeMap::from([(&Some(5), &Some(2)), (&Some(7), &Some(8))]), "{level}");
    }
}

/// A program with conditions in every place that a probe can stand. `@N{X}` is condition N.
const CONDITIONS: &str = r#"
static inline __attribute__((always_inline)) int small(int v) { return @0{v < 40} ? 1 : 0; }
static int twice(int a, int b) {
  int s = small(a) + small(b);
  if (small(a + b)) s += 2;
  return s;
}
static int work(int i) {
  int s = 0;
  if (@1{i < 0} || @2{i > 990}) return -1;
  while (@3{s < i % 4}) s++;
  for (int j = 0; @4{j < 3} && @5{j < i}; j++) s += @6{i & 1} ? twice(i, j) : 1;
  do s--; while (@7{s > 20});
  if (!@8{s == 5}) s++;
  if (@9{sizeof(int) == 4}) s++;
  return s;
}
int main(void) {
  int sum = 0;
  for (int i = 0; @10{i < 1000}; i++) sum += work(i);
  REPORT
  return sum == 12345;
}
"#;

/// `CONDITIONS` with each condition written by `write` from its number and text.
fn with_conditions(mut write: impl FnMut(usize, &str, &mut String)) -> String {
    let mut out = String::new();
    let mut rest = CONDITIONS;
    while let Some((before, after)) = rest.split_once('@') {
        let (number, after) = after.split_once('{').unwrap();
        let (condition, after) = after.split_once('}').unwrap();
        out.push_str(before);
        write(number.parse().unwrap(), condition, &mut out);
        rest = after;
    }
    out + rest
}

/// How often each condition is true and false, as the program itself counts.
fn truth(folder: &Path) -> Vec<(u64, u64)> {
    let body = with_conditions(|number, condition, out| {
        write!(out, "(({condition}) ? (counts[{number}][0]++, 1) : (counts[{number}][1]++, 0))")
            .unwrap();
    });
    let report = r#"for (int n = 0; n < 11; n++) printf("%ld %ld\n", counts[n][0], counts[n][1]);"#;
    let source = format!(
        "#include <stdio.h>\nstatic long counts[11][2];\n{}",
        body.replace("REPORT", report)
    );
    std::fs::write(folder.join("truth.c"), source).unwrap();
    run(folder, "gcc", &["-O0", "truth.c", "-o", "truth"]);
    let printed = String::from_utf8(run(folder, "./truth", &[])).unwrap();
    let pairs = printed.lines().map(|line| line.split_once(' ').unwrap());
    pairs.map(|(yes, no)| (yes.parse().unwrap(), no.parse().unwrap())).collect()
}

#[test]
fn probes_count_exactly_at_every_level() {
    let folder = tempfile::tempdir().unwrap();
    let truth = truth(folder.path());
    let mut probes = Vec::new();
    let probed = with_conditions(|number, condition, out| {
        let line = u32::try_from(out.matches('\n').count()).unwrap() + 2;
        out.push_str(&format!(
            "((({condition}))?\n({{__asm__ volatile(\"\");1;}})\n:\n({{__asm__ volatile(\"\");0;}})\n)"
        ));
        let column = u32::try_from(number).unwrap() + 1;
        probes.push(Probe {
            start: Pos { line: 1, column },
            end: Pos { line: 1, column: column + 1 },
            true_line: line,
            false_line: line + 2,
        });
    });
    let probed = probed.replace("REPORT", "");
    let line_map = (1..=u32::try_from(probed.lines().count()).unwrap()).collect();
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let profile = record(folder.path(), probed.as_bytes(), level);
        std::fs::remove_file(folder.path().join("a.gcda")).unwrap();
        let path = profile.files.keys().next().unwrap().clone();
        let file = ProbedFile { path, probes: probes.clone(), line_map: Vec::clone(&line_map) };
        let (resolved, diagnostics) = resolve(profile, &[file]);
        assert_eq!(diagnostics, [], "{level}");
        let regions = &resolved.files.values().next().unwrap().regions;
        let counted: Vec<_> = regions.iter().map(|r| (r.taken_true, r.taken_false)).collect();
        assert_eq!(counted, truth, "{level}");
    }
}
