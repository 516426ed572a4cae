//! The rewritten text still is the program, and each outcome has a line of its own.

use super::*;
use crate::{MacroTable, sites};

fn probed(text: &str) -> Option<Probed> {
    let mut table = MacroTable::default();
    table.add("a.c", text.as_bytes());
    probe(text.as_bytes(), &sites(text.as_bytes(), &table), &BTreeSet::new())
}

fn line(probed: &Probed, line: u32) -> String {
    let text = String::from_utf8_lossy(&probed.text).into_owned();
    text.lines().nth(line as usize - 1).unwrap_or_default().to_owned()
}

#[test]
fn each_outcome_has_a_line_of_its_own() {
    let p =
        probed("int f(int a, int b)\n{\n  if (a < 0 && b) return 1;\n  return 0;\n}\n").unwrap();
    assert_eq!(p.probes.len(), 2);
    for probe in &p.probes {
        assert_eq!(line(&p, probe.true_line), "__extension__({__asm__ volatile(\"\");1;})");
        assert_eq!(line(&p, probe.false_line), "__extension__({__asm__ volatile(\"\");0;})");
    }
    assert_eq!((p.probes[0].start.line, p.probes[0].start.column), (3, 7));
    assert_eq!((p.probes[1].start.column, p.probes[1].end.column), (16, 17));
}

#[test]
fn every_line_knows_where_it_came_from() {
    let p = probed("int f(int a)\n{\n  if (a)\n    return 1;\n  return 0;\n}\n").unwrap();
    assert_eq!(p.line_map.len(), String::from_utf8_lossy(&p.text).lines().count());
    assert_eq!(p.line_map, [1, 2, 3, 3, 3, 3, 3, 4, 5, 6]);
}

#[test]
fn conditions_inside_conditions_nest() {
    let p = probed("int f(int a, int b) { if (g(a ? b : 2) && b) return 1; return 0; }").unwrap();
    assert_eq!(p.probes.len(), 3);
    let open = p.text.iter().filter(|b| **b == b'(').count();
    assert_eq!(open, p.text.iter().filter(|b| **b == b')').count());
}

#[test]
fn a_hint_around_operands_gives_way() {
    let p = probed("int f(int a, int b) { if (unlikely(a && b)) return 1; return 0; }").unwrap();
    let text = String::from_utf8_lossy(&p.text).into_owned();
    assert!(!text.contains("unlikely"), "{text}");
    assert_eq!(p.probes.len(), 2);
    let p = probed("int f(int a) { if (unlikely(a)) return 1; return 0; }").unwrap();
    assert!(String::from_utf8_lossy(&p.text).contains("((unlikely(a))?"));
}

#[test]
fn what_cannot_be_probed_is_left_alone() {
    assert_eq!(probed("int x[sizeof(int) == 4 ? 1 : 2];"), None);
    assert_eq!(probed("#define M(a) do { if (a) g(); } while (0)\n"), None);
    assert_eq!(probed("#line 7 \"x.y\"\nint f(int a) { if (a) return 1; return 0; }"), None);
    assert_eq!(probed("int f(int a) { switch (a) { case 1: return 2; } return 0; }"), None);
    let macro_argument = "#define TWICE(x) ((x) + (x))\nint f(int a) { return TWICE(a && g()); }";
    assert_eq!(probed(macro_argument), None);
}

/// What the compiler makes of the rewritten text: the counts, from the source down to gcov, are
/// held against clang's in the workspace's end-to-end tests.
#[test]
fn the_rewritten_text_compiles_and_behaves_the_same() {
    let source = "
#include <stdio.h>
#define likely(x) __builtin_expect(!!(x), 1)
struct s { unsigned bit : 1; double d; char *p; };
static int f(int a, struct s *s)
{
	int n = 0;
	if (likely(a > 3 && s->bit) || s->p)
		n += s->d ? 1 : 2;
	else if (!(a & 1) && ({ int t = a; t > 2; }))
		n += 4;
	for (int i = 0, j = 9; i < a && j; i++, j--)
		while (n < 10) { n++; if (n == 7) continue; if (a == 5) break; }
	do n += a > 2 ? (a > 3 ? 1 : 5) : 7; while (n & 1);
	switch (n % 3) { case 0: n += a && n; break; default: n -= a || n; }
	return n;
}
int main(void)
{
	struct s s = { 1, 0.5, 0 };
	int sum = 0;
	for (int i = 0; i < 50; i++) { s.bit = i & 1; s.d = i % 3; sum = sum * 3 + f(i % 11, &s); }
	printf(\"%d\\n\", sum);
	return 0;
}
";
    let p = probed(source).unwrap();
    assert!(p.probes.len() >= 18, "{}", p.probes.len());
    assert_eq!(output(source.as_bytes(), "plain"), output(&p.text, "probed"));
}

fn output(text: &[u8], name: &str) -> Vec<u8> {
    let dir = std::env::temp_dir().join(format!("unlikely-probe-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (source, program) = (dir.join("a.c"), dir.join("a"));
    std::fs::write(&source, text).unwrap();
    let status = std::process::Command::new("gcc")
        .args(["-O2", "-w", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .expect("gcc is needed: apt-get install gcc");
    assert!(status.success(), "{}", source.display());
    let out = std::process::Command::new(&program).output().unwrap();
    assert!(out.status.success());
    std::fs::remove_dir_all(&dir).unwrap();
    out.stdout
}

#[test]
fn conditions_on_excepted_lines_stay_as_they_are() {
    let text =
        b"int f(int a)\n{\n  if (a)\n    return 1;\n  if (a > 1)\n    return 2;\n  return 0;\n}\n";
    let found = sites(text, &MacroTable::default());
    let p = probe(text, &found, &BTreeSet::from([3])).unwrap();
    assert_eq!(p.probes.len(), 1);
    assert_eq!(p.probes[0].start.line, 5);
    assert_eq!(probe(text, &found, &BTreeSet::from([3, 5])), None);
}

#[test]
fn the_strictest_standard_takes_the_rewritten_text() {
    let p =
        probed("int f(int a) { if (a) return 1; return 0; }\nint main(void) { return f(0); }\n")
            .unwrap();
    let dir = std::env::temp_dir().join(format!("unlikely-strict-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a.c"), &p.text).unwrap();
    let status = std::process::Command::new("gcc")
        .args(["-std=c89", "-pedantic-errors", "-c", "a.c", "-o", "a.o"])
        .current_dir(&dir)
        .status()
        .expect("gcc is needed: apt-get install gcc");
    assert!(status.success());
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn of_conditions_that_end_together_the_inner_is_counted_first() {
    let p = probed("int f(int a, int b) { int z; if (z = a && b) return z; return 0; }").unwrap();
    let by_start = |column| p.probes.iter().find(|p| p.start.column == column).unwrap();
    let (whole, inner) = (by_start(34), by_start(43));
    assert_eq!(whole.end, inner.end);
    assert!(inner.true_line < whole.true_line);
    let text = String::from_utf8_lossy(&p.text).into_owned();
    let before = |line: u32| text.lines().nth(line as usize - 2).unwrap().to_owned();
    assert!(before(inner.true_line).ends_with("((b)?"), "{text}");
}

#[test]
fn operands_inside_a_hint_that_stays_are_not_probed() {
    let text = "#define expect(x, v) __builtin_expect((x), (v))\n\
                int f(int a, int b) { if (expect(a && b, 0)) return 1; return 0; }\n";
    let p = probed(text).unwrap();
    assert_eq!(p.probes.len(), 1, "the call is probed as one");
    assert!(String::from_utf8_lossy(&p.text).contains("((expect(a && b, 0))?"));
}
