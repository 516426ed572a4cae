//! The ways in which a condition's executions and direction are known, the strongest first.

use proptest::prelude::*;
use unlikely_profile::BranchRegion;

use super::*;
use crate::testing::{at, bare_branch, branch, count, function, lines, profile, regions, sites_of};

fn exact(text: &str, counts: &[(&str, u64, u64)]) -> FileProfile {
    FileProfile { regions: regions(text, counts), ..FileProfile::default() }
}

/// `(executed, taken, polarity)`.
fn told(text: &str, file: &FileProfile, condition: &str) -> Option<(u64, u64, Polarity)> {
    count(text, file, condition).map(|c| (c.executed, c.taken, c.polarity))
}

#[test]
fn a_condition_that_was_counted_at_its_column_is_known() {
    let text = function("if (a < 0) return 1; if (b) return 2;");
    let file = exact(&text, &[("a < 0", 3, 997)]);
    assert_eq!(told(&text, &file, "a < 0"), Some((1000, 3, Polarity::Known)));
    assert_eq!(told(&text, &file, "b"), None, "not measured is not never taken");
}

#[test]
fn a_file_without_counts_is_not_measured() {
    let text = function("if (a) return 1;");
    let profile = Profile::default();
    assert_eq!(CountIndex::new(&profile).counts("a.c", &sites_of(&text)), [None]);
}

#[test]
fn a_case_label_is_known_by_where_it_starts() {
    let text = function("switch (a) { case 1: b = 1; break; default: ; }");
    let mut file = exact(&text, &[("case 1", 4, 6)]);
    assert_eq!(told(&text, &file, "case 1"), None, "a condition there is something else");
    file.regions[0].kind = RegionKind::Case;
    file.regions[0].end.column += 1;
    assert_eq!(told(&text, &file, "case 1"), Some((10, 4, Polarity::Known)));
}

/// A macro with one condition in it, called on line 4, and that condition's count.
fn expanded(body: &str, condition: BranchRegion) -> (String, FileProfile) {
    let text = format!(
        "#define BAD(x) {body}\nint f(int a)\n{{\n  if (BAD(a)) return 1;\n  return 0;\n}}\n"
    );
    let inside = BranchRegion { expanded_at: Some(at("a.c", 4, 7)), ..condition };
    (text, FileProfile { regions: vec![inside], ..FileProfile::default() })
}

fn in_definition(column: u32, taken_true: u64, taken_false: u64) -> BranchRegion {
    BranchRegion {
        start: Pos { line: 1, column },
        end: Pos { line: 1, column: column + 5 },
        taken_true,
        taken_false,
        kind: RegionKind::Condition,
        expanded_at: None,
    }
}

#[test]
fn the_one_branch_of_a_macro_is_its_calls() {
    let (text, file) = expanded("((x) < 0)", in_definition(17, 5, 95));
    let known = count(&text, &file, "BAD(a)").unwrap();
    assert_eq!((known.executed, known.taken, known.polarity), (100, 5, Polarity::Known));
    assert!(known.reason.contains("expansion of BAD"), "{}", known.reason);
}

#[test]
fn one_of_several_branches_of_a_macro_is_not_its_calls() {
    let (text, file) = expanded("((x) < 0 || (x) > 9)", in_definition(17, 5, 95));
    assert_eq!(told(&text, &file, "BAD(a)"), None, "the text has two");
    let (text, mut file) = expanded("((x) < 0)", in_definition(17, 5, 95));
    let call = file.regions[0].expanded_at.clone();
    file.regions.push(BranchRegion { expanded_at: call, ..in_definition(30, 1, 1) });
    assert_eq!(told(&text, &file, "BAD(a)"), None, "the collector has two");
}

#[test]
fn a_condition_in_a_macros_body_sums_its_expansions() {
    let text = "#define CHECK(x) do { if ((x) < 0) fail(); } while (0)\nint f(int a)\n{\n  CHECK(a);\n  CHECK(a + 1);\n}\n";
    let one = exact(text, &[("(x) < 0", 1, 9)]).regions.remove(0);
    let call = |line| BranchRegion { expanded_at: Some(at("a.c", line, 3)), ..one.clone() };
    // The third is no expansion: another collector's, or another file's text at this place.
    let file =
        FileProfile { regions: vec![call(4), call(5), one.clone()], ..FileProfile::default() };
    assert_eq!(told(text, &file, "(x) < 0"), Some((20, 2, Polarity::Known)));
}

#[test]
fn operands_give_the_whole() {
    let text = function("if (a && (b || !(c && a > 1))) return 1;");
    let counts = [("a", 900, 100), ("b", 100, 800), ("c", 300, 500), ("a > 1", 200, 100)];
    let file = exact(&text, &counts);
    assert_eq!(told(&text, &file, "c && a > 1"), Some((800, 200, Polarity::Known)));
    assert_eq!(told(&text, &file, "!(c && a > 1)"), Some((800, 600, Polarity::Known)));
    assert_eq!(told(&text, &file, "b || !(c && a > 1)"), Some((900, 700, Polarity::Known)));
    assert_eq!(told(&text, &file, "a && (b || !(c && a > 1))"), Some((1000, 700, Polarity::Known)));
    let text = function("if (unlikely(a || b)) return 1;");
    let file = exact(&text, &[("a", 10, 90), ("b", 20, 70)]);
    assert_eq!(told(&text, &file, "unlikely(a || b)"), Some((100, 30, Polarity::Known)));
}

#[test]
fn operands_that_contradict_each_other_say_nothing() {
    let text = function("if (a && b) return 1;");
    let file = exact(&text, &[("a", 10, 90), ("b", 200, 0)]);
    assert_eq!(told(&text, &file, "a && b"), None);
    assert_eq!(told(&text, &exact(&text, &[("a", 10, 90)]), "a && b"), None, "one is not measured");
}

#[test]
fn sums_beyond_64_bits_say_nothing() {
    let text = function("if (a || b) return 1;");
    let file = exact(&text, &[("a", u64::MAX, 1), ("b", 1, 0)]);
    assert_eq!(told(&text, &file, "a"), None);
    assert_eq!(told(&text, &file, "a || b"), None);
}

/// The `if (a)` of line 2 with an arm on line 3 and something else exactly counted elsewhere.
fn exact_lines(counts: &[(u32, u64)]) -> FileProfile {
    let mut file = lines(counts);
    file.regions.push(in_definition(200, 1, 1));
    file
}

#[test]
fn with_exact_lines_an_arms_first_line_tells() {
    let text = function("if (a)\n  b = 1;\nelse\n  b = 2;\nreturn b;");
    let told = |counts: &[(u32, u64)]| told(&text, &exact_lines(counts), "a");
    assert_eq!(told(&[(2, 100), (3, 4)]), Some((100, 4, Polarity::Inferred)));
    assert_eq!(told(&[(2, 100), (5, 4)]), Some((100, 96, Polarity::Inferred)));
    assert_eq!(told(&[(2, 100), (3, 4), (5, 96)]), Some((100, 4, Polarity::Inferred)));
    assert_eq!(told(&[(3, 4)]), None, "the condition's own line is not measured");
}

#[test]
fn exact_lines_that_contradict_each_other_leave_it_unknown() {
    let text = function("if (a)\n  b = 1;\nelse\n  b = 2;\nreturn b;");
    let unknown = |counts: &[(u32, u64)]| {
        assert_eq!(
            told(&text, &exact_lines(counts), "a").map(|(_, _, polarity)| polarity),
            Some(Polarity::Unknown),
            "{counts:?}"
        );
    };
    unknown(&[(2, 100), (3, 4), (5, 95)]);
    unknown(&[(2, 100), (3, 101)]);
    unknown(&[(2, 100)]);
}

#[test]
fn what_the_operands_do_not_know_the_whole_does_not() {
    let unknown =
        Count { executed: 9, taken: 0, polarity: Polarity::Unknown, reason: String::new() };
    let known = Count { polarity: Polarity::Known, ..unknown.clone() };
    let counts = [Some(unknown), Some(known)];
    assert_eq!(from_operands(Logic::Not(0), &counts), None);
    assert_eq!(from_operands(Logic::And(1, 0), &counts), None);
    assert!(from_operands(Logic::Same(1), &counts).is_some());
}

#[test]
fn gcc_lines_are_left_to_the_inference() {
    let text = function("if (a)\n  b = 1;\nreturn b;");
    let mut file = lines(&[(1, 100), (2, 100), (3, 4), (4, 100)]);
    let polarity = |file: &FileProfile| told(&text, file, "a").map(|(_, _, polarity)| polarity);
    assert_eq!(polarity(&file), Some(Polarity::Unknown), "no branch was counted");
    file.arcs.push(bare_branch(2, [96, 4]));
    assert_eq!(polarity(&file), Some(Polarity::Inferred));
    file.arcs[0] = branch(2, [(4, Some(3)), (96, Some(4))]);
    assert_eq!(polarity(&file), Some(Polarity::Inferred));
}

/// A condition over the variables `x0`, `x1`, …
#[derive(Debug, Clone)]
enum Expression {
    Variable(usize),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
}

fn expression() -> impl Strategy<Value = Expression> {
    Just(Expression::Variable(0)).prop_recursive(5, 24, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            inner.prop_map(|e| Expression::Not(Box::new(e))),
            pair.clone().prop_map(|(a, b)| Expression::And(Box::new(a), Box::new(b))),
            pair.prop_map(|(a, b)| Expression::Or(Box::new(a), Box::new(b))),
        ]
    })
}

impl Expression {
    /// Gives each variable a number of its own, from the left.
    fn number(&mut self, next: &mut usize) {
        match self {
            Self::Variable(n) => {
                *n = *next;
                *next += 1;
            }
            Self::Not(e) => e.number(next),
            Self::And(a, b) | Self::Or(a, b) => {
                a.number(next);
                b.number(next);
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Variable(n) => format!("x{n}"),
            Self::Not(e) => format!("!({})", e.text()),
            Self::And(a, b) => format!("({}) && ({})", a.text(), b.text()),
            Self::Or(a, b) => format!("({}) || ({})", a.text(), b.text()),
        }
    }

    /// Evaluates as C does and counts the outcomes of each variable that is looked at, and of
    /// each joined part by its text.
    fn run(&self, values: &[bool], seen: &mut Vec<(String, bool)>) -> bool {
        let value = match self {
            Self::Variable(n) => values[*n],
            Self::Not(e) => !e.run(values, seen),
            Self::And(a, b) => a.run(values, seen) && b.run(values, seen),
            Self::Or(a, b) => a.run(values, seen) || b.run(values, seen),
        };
        seen.push((self.text(), value));
        value
    }
}

proptest! {
    #[test]
    fn the_whole_is_what_a_run_of_it_counts(
        mut expression in expression(),
        runs in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 32), 1..40),
    ) {
        let mut variables = 0;
        expression.number(&mut variables);
        let text = format!("int f(void) {{ if ({}) return 1; return 0; }}", expression.text());
        let mut truth: HashMap<String, (u64, u64)> = HashMap::new();
        for values in &runs {
            let mut seen = Vec::new();
            expression.run(values, &mut seen);
            for (part, value) in seen {
                let (yes, no) = truth.entry(part).or_default();
                *if value { yes } else { no } += 1;
            }
        }
        let sites = sites_of(&text);
        // The collector counts what is evaluated as one.
        let leaves: Vec<(&str, u64, u64)> = sites
            .sites
            .iter()
            .filter(|s| s.logic == Logic::Leaf)
            .filter_map(|s| {
                let (yes, no) = truth.get(&s.text)?;
                Some((s.text.as_str(), *yes, *no))
            })
            .collect();
        let measured = profile(exact(&text, &leaves));
        let counts = CountIndex::new(&measured).counts("a.c", &sites);
        for (site, count) in sites.sites.iter().zip(counts) {
            let expected = truth.get(&site.text).map(|(yes, no)| (yes + no, *yes));
            let got = count.map(|c| (c.executed, c.taken));
            // A part with an operand that never ran is not known, though it could be.
            if got.is_some() {
                prop_assert_eq!(got, expected, "{} in {}", site.text, text);
            } else {
                let all = leaves.len() == sites.sites.iter().filter(|s| s.logic == Logic::Leaf).count();
                prop_assert!(!all, "{} of {} is not told", site.text, text);
            }
        }
    }
}
