//! What stands around a decision, and which calls are made just once.

use super::*;
use crate::{MacroTable, Sites, sites};

fn find(text: &str) -> Sites {
    let mut table = MacroTable::default();
    table.add("a.c", text.as_bytes());
    sites(text.as_bytes(), &table)
}

/// What comes before `if (x)`, in words, and the head of the next statement.
fn around(body: &str) -> (Vec<String>, Option<String>) {
    let text = format!("int f(int a) {{\n{body}\n}}");
    let found = find(&text);
    let site = found.sites.iter().find(|s| s.text == "x").expect("if (x)");
    let words = |before: &Before| match before {
        Before::Function => "function".to_owned(),
        Before::Arm { site, outcome } => format!("{} {outcome}", found.sites[*site].text),
        Before::Statement { head, .. } => text[head.bytes.clone()].to_owned(),
    };
    let next = site.flow.next.as_ref().map(|s| text[s.bytes.clone()].to_owned());
    (site.flow.before.iter().map(words).collect(), next)
}

fn before(body: &str) -> Vec<String> {
    around(body).0
}

#[test]
fn a_decision_is_entered_as_what_it_stands_first_in() {
    assert_eq!(before("if (x) g();"), ["function"]);
    assert_eq!(before("if (a) { /* so */ if (x) g(); }"), ["a true"]);
    assert_eq!(before("if (a) if (x) g();"), ["a true"]);
    assert_eq!(before("if (a) g(); else { if (x) g(); }"), ["a false"]);
    assert_eq!(before("if (a) g(); else if (x) g();"), ["a false"]);
    assert_eq!(before("while (a) { if (x) g(); }"), ["a true"]);
    assert_eq!(before("for (; a; a--) if (x) g();"), ["a true"]);
    // Once more than the condition is true, and for no condition at all.
    assert_eq!(before("do { if (x) g(); } while (a);"), [""; 0]);
    assert_eq!(before("for (;;) { if (x) g(); }"), [""; 0]);
}

#[test]
fn statements_before_it_run_as_often() {
    assert_eq!(
        before("int b = 1; g(b,\n 1); if (x) g();"),
        ["g(b,\n 1);", "int b = 1;", "function"]
    );
    assert_eq!(before("if (a) g(); if (x) g();"), ["if (a)", "function"]);
    for stop in
        ["while (a) a--;", "out: g();", "switch (a) { }", "#ifdef X\n;\n#endif\n", "{ g(); }"]
    {
        assert_eq!(before(&format!("{stop} if (x) g();")), [""; 0], "{stop}");
    }
    assert_eq!(before("switch (a) { case 1: if (x) g(); }"), [""; 0]);
    assert_eq!(before("out: if (x) g();"), [""; 0]);
    let long = "g();".repeat(BEFORE_MAX + 3);
    assert_eq!(before(&format!("{long} if (x) g();")).len(), BEFORE_MAX);
}

#[test]
fn the_next_statement_counts_if_it_runs_once_and_is_come_to_from_here_alone() {
    let next = |rest: &str| around(&format!("if (x) g(); {rest}")).1;
    assert_eq!(next("/* then */ h(a); g();").as_deref(), Some("h(a);"));
    assert_eq!(next("if (a &&\n g()) h();").as_deref(), Some("if (a &&\n g())"));
    assert_eq!(next("return 1;").as_deref(), Some("return 1;"));
    for rest in ["", "while (a) a--;", "out: h();", "int b;", "case 1: h();", "{ h(); }"] {
        assert_eq!(next(rest), None, "{rest}");
    }
}

#[test]
fn labels_and_jumps_are_listed_by_where_they_stand() {
    let text =
        "int f(int a) { switch (a) { case 1: break; if (a) { case 2: g(); } } out: return a; }";
    let found = find(text);
    let at = |part: &str| text.find(part).expect(part);
    assert_eq!(found.labels, [at("case 2"), at("out:")], "a case deep in an arm is a label");
    assert_eq!(found.jumps, [at("break"), at("return")]);
}

#[test]
fn arms_meet_where_both_have_code_on_a_line() {
    for (body, meet) in [
        ("if (x) {\n g();\n} else {\n h();\n}", false),
        ("if (x) {\n g();\n} else if (a) {\n h();\n}", false),
        ("if (x)\n g();\nelse\n h();", false),
        ("if (x) {\n g(); } else {\n h();\n}", true),
        ("if (x)\n g(); else h();", true),
        ("if (x) g(); else h();", true),
        ("if (x) g();", false),
    ] {
        let found = find(&format!("int f(int a) {{\n{body}\n}}"));
        assert_eq!(found.sites[0].flow.arms_meet, meet, "{body}");
    }
}

#[test]
fn calls_that_a_statement_makes_just_once() {
    let calls = |body: &str| {
        let text = format!(
            "#define M(x) x x\nint f(int a) {{ if (a) return 1; return 0; }}\nint g(int a) {{ {body} }}"
        );
        find(&text)
            .calls
            .iter()
            .map(|c| text[c.statement.bytes.clone()].to_owned())
            .collect::<Vec<_>>()
    };
    for body in
        ["f(1);", "a = 1 + f(a) * 2;", "int b = f(1) ? 2 : 3;", "return f(1) && a;", "if (a) f(1);"]
    {
        assert_eq!(calls(body).len(), 1, "{body}");
    }
    assert_eq!(calls("a = f(f(1));").len(), 2);
    for body in
        ["a ? f(1) : 0;", "a && f(1);", "M(f(1));", "if (f(1)) a = 0;", "sizeof f(1);", "h(1);"]
    {
        assert_eq!(calls(body), [""; 0], "{body}");
    }
}
