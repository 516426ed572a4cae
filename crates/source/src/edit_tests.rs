//! A hint changes nothing but itself.

use proptest::prelude::*;

use super::*;
use crate::sites;

const MACROS: &str = "#define unlikely(x) __builtin_expect(!!(x), 0)\n";

fn table() -> MacroTable {
    let mut table = MacroTable::default();
    table.add("hints.h", MACROS.as_bytes());
    table
}

fn hinted(text: &str, condition: &str, form: HintForm, expect: bool) -> String {
    let found = sites(text.as_bytes(), &table());
    let site = found.sites.iter().find(|s| s.text == condition).expect(condition);
    let edit = HintEdit { bytes: site.bare.clone(), form, expect };
    let after = apply(text.as_bytes(), &[edit]).unwrap();
    assert!(same_without_hints(text.as_bytes(), &after, &table()));
    String::from_utf8(after).unwrap()
}

fn unlikely() -> HintForm {
    HintForm::Macro("unlikely".to_owned())
}

#[test]
fn the_projects_own_spelling_is_written() {
    let text = "int f(int fd) { if (fd < 0) return 1; return 0; }";
    assert!(hinted(text, "fd < 0", unlikely(), false).contains("if (unlikely(fd < 0)) return 1;"));
    assert!(
        hinted(text, "fd < 0", HintForm::Builtin, true)
            .contains("if (__builtin_expect(!!(fd < 0), 1)) return 1;")
    );
}

#[test]
fn a_comma_does_not_become_a_second_argument() {
    let text = "int f(int a) { if (g(1, 2), a) return 1; return 0; }";
    assert!(hinted(text, "g(1, 2), a", unlikely(), false).contains("if (unlikely((g(1, 2), a)))"));
    let text = "int f(int a) { if (g(1, a)) return 1; return 0; }";
    assert!(hinted(text, "g(1, a)", unlikely(), false).contains("if (unlikely(g(1, a)))"));
}

#[test]
fn several_edits_go_in_at_once_and_may_nest() {
    let text = "int f(int a, int b) { if (a && b) return 1; return 0; }";
    let found = sites(text.as_bytes(), &table());
    let edits: Vec<_> = found
        .sites
        .iter()
        .map(|s| HintEdit { bytes: s.bare.clone(), form: unlikely(), expect: false })
        .collect();
    let after = String::from_utf8(apply(text.as_bytes(), &edits).unwrap()).unwrap();
    assert!(after.contains("if (unlikely(unlikely(a) && unlikely(b))) return 1;"), "{after}");
    assert!(same_without_hints(text.as_bytes(), after.as_bytes(), &table()));
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let edit = |bytes| HintEdit { bytes, form: unlikely(), expect: false };
    assert!(matches!(apply(b"abc", &[edit(1..9)]), Err(EditError::OutOfRange(_))));
    assert!(matches!(apply(b"abcdef", &[edit(0..3), edit(2..5)]), Err(EditError::Overlap(_))));
    assert!(matches!(apply(b"abcdef", &[edit(0..3), edit(0..3)]), Err(EditError::Overlap(_))));
}

#[test]
fn more_than_a_hint_is_noticed() {
    let same = |a: &str, b: &str| same_without_hints(a.as_bytes(), b.as_bytes(), &table());
    assert!(same("if (unlikely(a)) b;", "if (a) b;"));
    assert!(same("if (unlikely(a)) b;", "if (likely(a)) b;"));
    assert!(!same("if (unlikely(a)) b;", "if (!a) b;"));
    assert!(!same("if (unlikely(a) && b) c;", "if (a) c;"));
    assert!(!same("if (g(a)) b;", "if (a) b;"));
    assert!(!same("#if A\nx\n#endif", "#if A x\n#endif"));
}

#[test]
fn a_diff_applies_with_git() {
    // Other line ends, no last one, and bytes that are no UTF-8.
    let before = b"\xe4\r\nif (x) y();\r\n1\n2\n3\n4\n5\n6\n7\n8\nif (z) \xdf();";
    let after =
        b"\xe4\r\nif (unlikely(x)) y();\r\n1\n2\n3\n4\n5\n6\n7\n8\nif (unlikely(z)) \xdf();";
    let diff = unified_diff("src/a.c", before, after);
    let dir = std::env::temp_dir().join(format!("unlikely-diff-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("src")).unwrap();
    std::fs::write(dir.join("src/a.c"), before).unwrap();
    std::fs::write(dir.join("p.patch"), diff).unwrap();
    let git = std::process::Command::new("git")
        .args(["apply", "--whitespace=nowarn", "p.patch"])
        .current_dir(&dir)
        .status()
        .expect("git is needed: apt-get install git");
    assert!(git.success());
    assert_eq!(std::fs::read(dir.join("src/a.c")).unwrap(), after);
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(unified_diff("a.c", b"x", b"x").is_empty());
}

/// A condition as C programmers write them.
fn condition() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "a < 0",
        "!p",
        "g(a, b)",
        "*p++ == 'x'",
        "(a)",
        "a = b",
        "likely(a)",
        "s->x & 1",
        "unlikely(!a)",
        "\"a)b\"[0]",
        "a /* ) */ + 1",
        "__builtin_expect(!!(a), 1)",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(3, 12, 2, |inner| {
        (inner.clone(), inner, prop::sample::select(vec!["&&", "||", ",", "?"])).prop_map(
            |(a, b, op)| match op {
                "?" => format!("({a}) ? ({b}) : 0"),
                op => format!("({a}) {op} ({b})"),
            },
        )
    })
}

proptest! {
    #[test]
    fn every_edit_of_every_site_keeps_the_tokens(
        conditions in prop::collection::vec(condition(), 1..4),
        builtin: bool,
        expect: bool,
    ) {
        let body: String = conditions.iter().map(|c| format!("  if ({c}) h();\n")).collect();
        let text = format!("int f(int a, int b, char *p)\n{{\n{body}  return 0;\n}}\n");
        let form = || if builtin { HintForm::Builtin } else { unlikely() };
        for site in sites(text.as_bytes(), &table()).sites {
            if site.barrier.is_some() {
                continue;
            }
            let edit = HintEdit { bytes: site.bare.clone(), form: form(), expect };
            let after = apply(text.as_bytes(), &[edit]).unwrap();
            prop_assert!(after.len() > text.len());
            prop_assert!(
                same_without_hints(text.as_bytes(), &after, &table()),
                "{} in\n{}", site.text, String::from_utf8_lossy(&after)
            );
        }
    }

    #[test]
    fn any_bytes_can_be_compared(a: Vec<u8>, b: Vec<u8>) {
        prop_assert!(same_without_hints(&a, &a, &table()));
        let _ = same_without_hints(&a, &b, &table());
    }
}
