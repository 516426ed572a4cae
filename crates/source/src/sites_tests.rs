//! Which conditions are found, where they stand, and what is known of them from the text.

use super::*;

fn find(text: &str) -> Sites {
    let mut table = MacroTable::default();
    table.add("a.c", text.as_bytes());
    sites(text.as_bytes(), &table)
}

/// `kind condition` of each site, in order.
fn list(body: &str) -> Vec<String> {
    let found = find(&format!("int f(int a, int b, int *p) {{ {body} }}"));
    found.sites.iter().map(|s| format!("{} {}", s.kind.name(), s.text)).collect()
}

fn only(text: &str) -> Site {
    let mut found = find(text);
    assert_eq!(found.sites.len(), 1, "{:?}", found.sites);
    found.sites.remove(0)
}

#[test]
fn every_kind_of_decision_is_found() {
    assert_eq!(list("if (a) b = 1; else if (b) b = 2;"), ["if a", "else-if b"]);
    assert_eq!(list("while (a > 0) a--;"), ["while a > 0"]);
    assert_eq!(list("do a--; while (a);"), ["do-while a"]);
    assert_eq!(list("for (a = 0; a < b; a++) ;"), ["for a < b"]);
    assert_eq!(list("for (;;) break;"), Vec::<String>::new());
    assert_eq!(list("return a ? b : 2;"), ["ternary a"]);
    assert_eq!(
        list("switch (a) { case 1: case 2: b = 1; default: ; }"),
        ["case case 1", "case case 2"]
    );
    assert_eq!(list("b = a && p;"), ["operand a", "operand p"]);
}

#[test]
fn a_conditional_that_yields_its_own_condition_is_left_alone() {
    assert_eq!(list("return a ?: b;"), Vec::<String>::new());
}

#[test]
fn operands_follow_their_root_and_say_how_they_join() {
    let found = find("int f(int a, int b, int c) { if (!(a && b) || ((c))) return 1; return 0; }");
    let texts: Vec<_> = found.sites.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(texts, ["!(a && b) || ((c))", "!(a && b)", "a && b", "a", "b", "c"]);
    let logic: Vec<_> = found.sites.iter().map(|s| s.logic).collect();
    use Logic::{And, Leaf, Not, Or};
    assert_eq!(logic, [Or(1, 5), Not(2), And(3, 4), Leaf, Leaf, Leaf]);
    assert!((1..6).all(|i| found.root(i) == 0));
}

#[test]
fn positions_are_the_conditions_own() {
    let site = only("int f(int a)\n{\n\tif ((a\n\t     < 0))\n\t\treturn 1;\n\treturn 0;\n}\n");
    assert_eq!(site.text, "a < 0");
    assert_eq!((site.span.start.line, site.span.start.column), (3, 6));
    assert_eq!((site.span.end.line, site.span.end.column), (4, 11));
    assert_eq!(site.when_true.map(|s| (s.start.line, s.end.line)), Some((5, 5)));
    assert_eq!(site.function.as_deref(), Some("f"));
}

#[test]
fn hints_are_recognised_in_every_spelling() {
    let macros = "#define rare(x) __builtin_expect(!!(x), 0)\n#define expect(x, v) __builtin_expect((x), (v))\n";
    for (condition, spelling, promise) in [
        ("likely(a)", "likely", true),
        ("rare(a < 0)", "rare", false),
        ("!rare(a)", "rare", true),
        ("expect(a, 1)", "expect", true),
        ("__builtin_expect(a, 0)", "__builtin_expect", false),
    ] {
        let site =
            only(&format!("{macros}int f(int a) {{ if ({condition}) return 1; return 0; }}"));
        let hint = site.hint.unwrap_or_else(|| panic!("{condition}"));
        assert_eq!((hint.spelling.as_str(), hint.expect), (spelling, promise), "{condition}");
    }
    for (arms, promise) in [
        ("[[unlikely]] return 1;", false),
        ("[[likely]] { return 1; }", true),
        ("return 1; else [[unlikely]] return 2;", true),
    ] {
        let site = only(&format!("int f(int a) {{ if (a) {arms} return 0; }}"));
        assert_eq!(site.hint.map(|h| h.expect), Some(promise), "{arms}");
    }
}

#[test]
fn joined_operands_inside_a_hint_have_sites() {
    let found = find("int f(int a, int b) { if (unlikely(a && b)) return 1; return 0; }");
    let texts: Vec<_> = found.sites.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(texts, ["unlikely(a && b)", "a && b", "a", "b"]);
    assert_eq!(found.sites[0].logic, Logic::Same(1));
}

#[test]
fn where_a_hint_cannot_stand_is_said() {
    let barrier = |text: &str| only(text).barrier;
    assert_eq!(barrier("int f(void) { while (1) ; }"), Some(Barrier::Trivial));
    assert_eq!(
        barrier("#define CHECK(x) g(#x, x)\nint f(int a) { CHECK(a ? 1 : 2); }"),
        Some(Barrier::MacroArgument("CHECK".into()))
    );
    assert_eq!(
        barrier("#define True ((Bool)1)\nint f(void) { while (True) ; }"),
        Some(Barrier::Trivial)
    );
    assert_eq!(barrier("int x[sizeof(int) == 4 ? 1 : 2];"), Some(Barrier::Constant));
    assert_eq!(barrier("int f(int a) { int x[a ? 1 : 2]; }"), Some(Barrier::Constant));
    assert_eq!(barrier("int f(void) { static int x = A ? 1 : 2; }"), Some(Barrier::Constant));
    assert_eq!(
        barrier("int f(int a) { if (a\n#ifdef X\n + 1\n#endif\n) return 1; return 0; }"),
        Some(Barrier::Directive)
    );
    assert_eq!(barrier("int f(int a) { if (g(a)) return 1; return 0; }"), None);
}

#[test]
fn conditions_in_macro_bodies_stand_where_compilers_report_them() {
    let site = only("#define CHECK(x) { \\\n    if ((x) < 0) fail(); \\\n  }\n\n");
    assert_eq!(site.in_macro.as_deref(), Some("CHECK"));
    assert_eq!(site.text, "(x) < 0");
    assert_eq!((site.span.start.line, site.span.start.column), (2, 9));
}

#[test]
fn crlf_and_other_encodings_do_not_move_positions() {
    let text =
        b"/* \xe4 */\r\nint f(int a)\r\n{\r\n  if (a)\r\n    return 1;\r\n  return 0;\r\n}\r\n";
    let found = sites(text, &MacroTable::default());
    assert_eq!(found.sites.len(), 1);
    assert_eq!((found.sites[0].span.start.line, found.sites[0].span.start.column), (4, 7));
}

#[test]
fn identical_conditions_are_counted_apart() {
    let found = find("int f(int a) { if (a) g(); if (a) h(); return 0; }");
    assert_eq!(found.ordinals(), [0, 1]);
}

#[test]
fn deep_nesting_ends() {
    let deep =
        format!("int f(int a) {{ if ({}a{}) return 1; }}", "(!".repeat(9000), ")".repeat(9000));
    let _ = find(&deep);
    let long = format!("int f(int a) {{ if (a{}) return 1; }}", " && a".repeat(9000));
    assert!(find(&long).sites.len() > 100);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_walked(text: Vec<u8>) {
        let _ = sites(&text, &MacroTable::default());
    }

    #[test]
    fn any_soup_of_c_is_walked(words in proptest::collection::vec(proptest::sample::select(vec![
        "if", "(", ")", "{", "}", "else", "a", "&&", "||", "?", ":", ";", "#define X(a)", "\n",
        "while", "case", "unlikely", "!", "for", ",", "=", "do", "\\\n", "[[likely]]", "switch",
    ]), 0..60)) {
        let text = words.join(" ");
        let found = find(&text);
        for site in &found.sites {
            proptest::prop_assert!(text.get(site.span.bytes.clone()).is_some());
        }
    }
}

#[test]
fn text_that_is_not_plain_c_costs_only_itself() {
    let found = find("int f(int a) { if ( a > 4 KB && (a) ) return 1; return 0; }");
    let site = &found.sites[0];
    assert!(found.sites[1..].iter().all(|s| s.barrier == Some(Barrier::ParseError)));
    assert_eq!((site.text.as_str(), &site.barrier), ("a > 4 KB && (a)", &None));
    assert_eq!((site.span.start.column, site.span.end.column), (21, 36));
    let broken = "EXPORT int) f(int a {\n  g(1 KB, a && 2);\n  if (a < 0) return 1;\n";
    let found = find(broken);
    let of = |text: &str| found.sites.iter().find(|s| s.text == text).map(|s| s.barrier.clone());
    assert_eq!(of("a < 0"), Some(None));
    assert_ne!(of("2"), Some(None));
}

#[test]
fn conditions_of_directives_are_no_branches() {
    assert_eq!(find("#if defined(A) && B\nint x;\n#endif\n").sites, []);
}

#[test]
fn a_comment_in_a_macro_does_not_end_it() {
    let text = "#define ADD(x) { \\\n  /* common */ \\\n  if (x && y) g(); \\\n}\nint f(int a) { if (a) return 1; return 0; }\n";
    let found = find(text);
    let inside: Vec<_> = found.sites.iter().map(|s| s.in_macro.as_deref()).collect();
    assert_eq!(inside, [None, Some("ADD"), Some("ADD"), Some("ADD")]);
    assert_eq!(found.ifs_missed, 0);
}

#[test]
fn what_follows_an_arm_that_leaves_is_its_other_side() {
    let after = |body: &str| {
        let text = format!("int f(int a) {{ {body} }}");
        only(&text).after.map(|s| text[s.bytes].to_owned())
    };
    assert_eq!(after("if (a) return 1; g(); h();").as_deref(), Some("g(); h();"));
    assert_eq!(after("if (a) { g(); goto out; } out: h();").as_deref(), Some("out: h();"));
    assert_eq!(after("if (a) g(); h();"), None);
    assert_eq!(after("if (a) return 1; else h();"), None);
}

#[test]
fn the_line_that_counts_an_arm_is_a_plain_statement() {
    let line = |arm: &str| {
        let text = format!("#define M(x) (void)(x)\nint f(int a) {{\nif (a)\n{arm}\nreturn 0; }}");
        find(&text).sites.remove(0).true_line
    };
    assert_eq!(line("return 1;"), Some(4));
    assert_eq!(line("{ /* why */\ng(a); }"), Some(5));
    assert_eq!(line("while (a) a--;"), None, "a loop's line runs more often");
    assert_eq!(line("M(a);"), None, "a macro's line may be the macro's");
    assert_eq!(line("out: g(a);"), None, "a label is reached from elsewhere");
    assert_eq!(line("{ }"), None);
}

#[test]
fn a_function_that_does_not_parse_still_has_a_name() {
    let text = "API (int) f (int a) {\n  op(a, +) {\n    if (a) g();\n  }\n  vm(X) { if (a > 1) h(); } }\nint x;\n";
    let found = find(text);
    let names: Vec<_> = found.sites.iter().map(|s| s.function.as_deref()).collect();
    assert_eq!(names, [Some("f"), Some("f")]);
    let old = "int EXPORT f(a, b)\nint a;\nchar *b;\n{\n  if (a) g();\n}\n";
    assert_eq!(only(old).function.as_deref(), Some("f"));
}

#[test]
fn a_condition_that_ends_in_a_call_has_the_end_of_its_name_too() {
    let end = |condition: &str| {
        let text = format!("int f(int a) {{\nif ({condition}) return 1; return 0; }}");
        find(&text).sites[0].name_end.map(|p| p.column)
    };
    assert_eq!(end("!CACHE(a, 3)"), Some(11));
    assert_eq!(end("a >= SIZE(a)"), Some(14));
    assert_eq!(end("(a >= SIZE(a))"), None, "its parenthesis stands last");
    assert_eq!(end("a > 3"), None);
}

#[test]
fn two_openings_under_an_if_cost_one_function() {
    let text = b"int f(int a)\n{\n#if X\n  if (a) {\n#else\n  while (a) {\n#endif\n  }\n}\nint g(void) { }\n";
    let bodies = crate::layout::function_bodies(text, &[]);
    let names: Vec<_> = bodies.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["f", "g"]);
}
