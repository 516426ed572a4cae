//! Which counted hints are wrong, and which are no longer those of the text.

use proptest::prelude::*;
use unlikely_profile::{FileProfile, Profile};

use super::*;
use crate::model::SCHEMA;

const FILE: &str = "src/a.rs";

fn hint(at: (u32, u32), expect: bool, condition: &str, right: u64, wrong: u64) -> HintCount {
    let condition = condition.to_owned();
    HintCount { line: at.0, column: at.1, expect, condition, right, wrong }
}

fn workload(name: &str, hints: Vec<HintCount>) -> Workload {
    let file = FileProfile { hints, ..FileProfile::default() };
    Workload {
        name: name.to_owned(),
        class: "application".to_owned(),
        profile: Profile { files: BTreeMap::from([(FILE.to_owned(), file)]) },
    }
}

fn audit(workloads: &[Workload], text: &str) -> Scan {
    let texts = BTreeMap::from([(FILE.to_owned(), text.as_bytes().to_vec())]);
    let mut scan = Scan {
        schema: SCHEMA.to_owned(),
        candidates: Vec::new(),
        audit: Vec::new(),
        diagnostics: Vec::new(),
    };
    audit_counted(workloads, &texts, &mut scan);
    scan
}

/// The verdict on one hint of these counts.
fn verdict(expect: bool, right: u64, wrong: u64) -> AuditRow {
    let text = format!("    if {}!(n == 0) {{", name(expect));
    let scan = audit(&[workload("w", vec![hint((1, 8), expect, "n == 0", right, wrong)])], &text);
    assert_eq!(scan.diagnostics, []);
    scan.audit.into_iter().next().unwrap()
}

#[test]
fn the_bar_is_that_of_all_other_hints() {
    use AuditVerdict::{NotExecuted, Right, Wrong};
    for (expect, right, wrong, expected, taken) in [
        (false, 999, 1, Right, 1),
        (true, 999, 1, Right, 999),
        // As often as not: no promise is broken.
        (false, 500, 500, Right, 500),
        (false, 499, 500, Wrong, 500),
        (true, 0, 1, Wrong, 0),
        (true, 0, 0, NotExecuted, 0),
        (false, u64::MAX, 0, Right, 0),
        (false, 0, u64::MAX, Wrong, u64::MAX),
    ] {
        let row = verdict(expect, right, wrong);
        assert_eq!((row.verdict, row.taken), (expected, taken), "{right}:{wrong}");
        assert_eq!(row.executed, right.saturating_add(wrong));
    }
    let row = verdict(false, 3, 4);
    assert_eq!((row.file.as_str(), row.line, row.expect), (FILE, 1, false));
    assert_eq!(row.hint, "unlikely!(n == 0)");
}

#[test]
fn counts_of_several_workloads_are_one_row() {
    let text = "if unlikely!(a) { }\nif likely!(b) { }\n";
    let one = |right, wrong| hint((1, 4), false, "a", right, wrong);
    let scan = audit(
        &[
            workload("x", vec![one(10, 1), hint((2, 4), true, "b", 1, 0)]),
            workload("y", vec![one(5, 30)]),
            workload("z", vec![one(0, u64::MAX)]),
        ],
        text,
    );
    let rows: Vec<_> = scan.audit.iter().map(|r| (r.line, r.executed, r.verdict)).collect();
    assert_eq!(rows, [(1, u64::MAX, AuditVerdict::Wrong), (2, 1, AuditVerdict::Right)]);
}

#[test]
fn what_the_compiler_prints_otherwise_is_the_same_condition() {
    for (text, condition) in [
        ("unlikely!(n == 0)", "n == 0"),
        ("unlikely ! [n==0,]", "n == 0"),
        ("::unlikely::unlikely!(n == 0)", "n == 0"),
        ("unlikely!(\n  /* why */ f(\n    a, // both\n    b,\n  )\n)", "f(a, b)"),
        ("unlikely!(s != \"a//b\")", "s != \"a//b\""),
        ("unlikely!(a /* b /* c */ d */ == 1) && x", "a == 1"),
        ("unlikely!(c == ')' || 'x: { f::<'_>(c) })", "c == ')' || 'x: { f::<'_> (c) }"),
        ("unlikely!(s == \"a\r\nb\")", "s == \"a\nb\""),
        // A macro of the project's own, whose body holds the hint.
        ("my::check!(x, \"told\")", "x == 7"),
    ] {
        let scan = audit(&[workload("w", vec![hint((1, 1), false, condition, 1, 0)])], text);
        assert_eq!((scan.audit.len(), &scan.diagnostics[..]), (1, &[][..]), "{text}");
    }
}

#[test]
fn another_condition_is_stale_be_it_as_alike_as_it_may() {
    for (text, condition) in [
        ("unlikely!(len == 10)", "len == 1"),
        ("unlikely!(n && !retry)", "n"),
        ("unlikely!(n)", "n && !retry"),
        ("unlikely!((a - b) - c == 0)", "a - (b - c) == 0"),
        ("unlikely!(url == \"http://b\")", "url == \"http://a\""),
        ("unlikely!(s == \"a b\")", "s == \"ab\""),
        ("unlikely!(s == r\"/*b\")", "s == r\"/*a\""),
        ("unlikely!(c == '(')", "c == ')'"),
        ("unlikely!(a[i])", "a(i)"),
        ("unlikely!(a(i))", "a[i]"),
        ("unlikely!(x as u8 == y)", "xas u8 == y"),
        ("unlikely!(a?.b)", "a.b"),
        ("unlikely!(n == 0", "n == 0"),
    ] {
        let scan = audit(&[workload("w", vec![hint((1, 1), false, condition, 1, 0)])], text);
        assert_eq!((scan.audit.len(), scan.diagnostics.len()), (0, 1), "{text}");
    }
}

/// What this compiler makes of an argument, and where.
macro_rules! likely {
    ($e:expr $(,)?) => {
        (line!(), column!(), stringify!($e))
    };
}

#[rustfmt::skip]
#[test]
fn what_this_compiler_prints_of_an_expression_is_found_in_its_source() {
    let text = Text::new(include_bytes!("counted_tests.rs"));
    for (line, column, condition) in [
        likely!(f(a, b,)),
        likely!(match x { | A => {}, B => 1, | C if y => { 2 } }),
        likely!(a == (b,) || (|a,| a)(1) || a - (b-c) == 1),
        likely!( /* x /* y */ z */ a == 'a' && b == '"' && c == r#"x " y"# /* // */
            && d == "a // b" // c
        ),
        likely![{ let x=1;; x==1 },],
        likely!{ & &x == &&y || a & &b || x.0.1 == 1. || y < -1 },
        likely!(Vec::<Vec<u8,>>::new( ).is_empty( ) && matches!(x, A|B,)),
        likely!(x as u8 as u32 == 0x_1u32 && r#type == b'\'' && s == b"x\
            y" && c"é" == x),
        likely!(|x: &'a u8| -> bool { 'b: loop { break 'b x == &2 } }),
    ] {
        assert!(text.holds(&hint((line, column), true, condition, 1, 0)), "{line}: {condition}");
        let other = format!("{condition} && x");
        assert!(!text.holds(&hint((line, column), true, &other, 1, 0)), "{line}: {condition}");
    }
}

#[test]
fn a_site_that_the_text_no_longer_holds_is_named_and_not_judged() {
    for text in [
        "",
        "if n == 0 {",
        "    unlikely!(n == 0)",
        "if likely!(n == 0)",
        "if unlikely!(n == 1)",
        "if unlikely(n == 0)",
        "if n; unlikely!(n == 0)",
        "\nif unlikely!(n == 0)",
        "if unlikely!",
        "if 7up!(n == 0)",
    ] {
        let scan = audit(&[workload("w", vec![hint((1, 4), false, "n == 0", 0, 9)])], text);
        assert_eq!(scan.audit, [], "{text}");
        assert_eq!(scan.diagnostics[0].code, "stale-site", "{text}");
        assert!(scan.diagnostics[0].message.contains("line 1, column 4"), "{text}");
    }
}

#[test]
fn a_message_shows_the_start_of_a_long_condition() {
    for (n, shown) in [(80, "é".repeat(80)), (81, "é".repeat(80) + "…")] {
        let stale = hint((1, 1), false, &"é".repeat(n), 0, 9);
        let message = audit(&[workload("w", vec![stale])], "").diagnostics[0].message.clone();
        assert!(message.contains(&format!("`unlikely!({shown})`")), "{message}");
    }
}

#[test]
fn columns_count_characters_and_no_byte_order_mark() {
    for (text, column) in [("\u{feff}if unlikely!(a)", 4), ("/* é🦀 */ unlikely!(a)", 10)] {
        let scan = audit(&[workload("w", vec![hint((1, column), false, "a", 1, 0)])], text);
        assert_eq!(scan.audit.len(), 1, "{text}");
    }
}

#[test]
fn a_source_that_the_project_has_not_is_named() {
    let mut other = workload("w", vec![hint((1, 1), false, "a", 1, 0)]);
    let file = other.profile.files.remove(FILE).unwrap();
    other.profile.files.insert("gen/made.rs".to_owned(), file);
    let scan = audit(&[other], "unlikely!(a)");
    assert_eq!((scan.audit.len(), scan.diagnostics[0].code.as_str()), (0, "source-missing"));
}

proptest! {
    #[test]
    fn any_text_and_place_give_an_answer(
        text in "[a-z!:(/*é\n ]{0,60}", line in 0_u32..5, column in 0_u32..70, bytes in any::<[u8; 9]>(),
    ) {
        let _ = Text::new(text.as_bytes()).holds(&hint((line, column), true, &text, 0, 0));
        let _ = Text::new(&bytes).holds(&hint((line, column), true, &text, 0, 0));
    }
}
