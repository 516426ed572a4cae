//! Existing hints against their counts.

use crate::AuditRow;
use crate::model::AuditVerdict::{Redundant, Right, Wrong};
use crate::testing::{advice, function};

fn audit(body: &str, counts: &[(&str, u64, u64)]) -> Vec<AuditRow> {
    advice(&function(body), &[("w", "application", counts)]).scan.audit
}

#[test]
fn a_hint_is_right_if_it_promises_the_usual_outcome() {
    for (hint, taken, other, verdict) in [
        ("unlikely(a)", 1, 999, Right),
        ("unlikely(a)", 999, 1, Wrong),
        ("likely(a)", 999, 1, Right),
        ("likely(a)", 1, 999, Wrong),
        ("!unlikely(a)", 999, 1, Right),
        // As often as not: no promise is broken.
        ("likely(a)", 500, 500, Right),
        ("__builtin_expect(a, 0)", 600, 400, Wrong),
    ] {
        let rows = audit(&format!("if ({hint}) return 1;"), &[(hint, taken, other)]);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].verdict, rows[0].hint.as_str()), (verdict, hint), "{taken}:{other}");
        assert_eq!((rows[0].executed, rows[0].taken, rows[0].line), (1000, taken, 2));
    }
}

#[test]
fn a_hint_is_redundant_where_the_one_around_it_says_as_much() {
    for (whole, inner, verdict) in [
        ("unlikely(unlikely(a) || b)", "unlikely(a)", Redundant),
        ("unlikely(c || (unlikely(a) || b))", "unlikely(a)", Redundant),
        ("likely(!(unlikely(a) || b) && c)", "unlikely(a)", Redundant),
        // Either side may be what makes it false.
        ("unlikely(unlikely(a) && b)", "unlikely(a)", Right),
        ("likely(!(unlikely(a) && b))", "unlikely(a)", Right),
    ] {
        let counts = [(inner, 1, 999), ("b", 0, 999), ("c", 500, 499)];
        let counts: Vec<_> = counts.into_iter().filter(|(c, ..)| whole.contains(c)).collect();
        let rows = audit(&format!("if ({whole}) return 1;"), &counts);
        let row = rows.iter().find(|r| r.hint == inner).unwrap();
        assert_eq!(row.verdict, verdict, "{whole}");
    }
}

#[test]
fn a_hint_that_was_not_measured_is_not_judged() {
    assert_eq!(audit("if (unlikely(a)) return 1;", &[]), []);
}
