//! Which conditions are proposed, in which order, and why others are not.

use crate::model::SiteVerdict::{
    Covered, Hinted, NotBiased, NotHintable, Propose, TooFew, WorkloadDependent,
};
use crate::testing::{Counts, advice, function};
use crate::{Candidate, SiteVerdict};

fn candidates(body: &str, workloads: &[(&str, &str, Counts)]) -> Vec<Candidate> {
    advice(&function(body), workloads).scan.candidates
}

/// The verdict on the one condition of `body`, and its reason.
fn verdict(body: &str, workloads: &[(&str, &str, Counts)]) -> (SiteVerdict, String) {
    let all = candidates(body, workloads);
    assert_eq!(all.len(), 1, "{all:?}");
    (all[0].verdict, all[0].reason.clone())
}

fn under_one(body: &str, counts: Counts) -> (SiteVerdict, String) {
    verdict(body, &[("w", "application", counts)])
}

const IF: &str = "if (a) return 1;";

#[test]
fn a_one_sided_condition_is_proposed_with_its_usual_outcome() {
    let (verdict, reason) = under_one(IF, &[("a", 10, 99_990)]);
    assert_eq!((verdict, reason.as_str()), (Propose, "false in all but 10 of 100000 executions"));
    let all = candidates(IF, &[("w", "application", &[("a", 99_990, 10)])]);
    assert!(all[0].expect);
    assert_eq!(all[0].reason, "true in all but 10 of 100000 executions");
}

#[test]
fn the_thresholds_are_inclusive() {
    assert_eq!(under_one(IF, &[("a", 10, 990)]).0, Propose);
    assert_eq!(under_one(IF, &[("a", 11, 989)]).0, NotBiased);
    assert_eq!(under_one(IF, &[("a", 0, 999)]).0, TooFew);
}

#[test]
fn what_was_not_measured_or_never_ran_is_no_candidate() {
    assert_eq!(candidates(IF, &[("w", "application", &[])]), []);
    assert_eq!(candidates(IF, &[("w", "application", &[("a", 0, 0)])]), []);
}

#[test]
fn workloads_that_disagree_forbid_a_hint() {
    let rare: Counts = &[("a", 0, 5000)];
    for other in [&[("a", 4000, 0)][..], &[("a", 2000, 2000)]] {
        let (verdict, reason) =
            verdict(IF, &[("parse", "application", rare), ("print", "application", other)]);
        assert_eq!(verdict, WorkloadDependent);
        assert!(reason.contains("true in 0 of 5000 under parse"), "{reason}");
        assert!(reason.contains("under print"), "{reason}");
    }
    // Executions too few to matter do not count as a disagreement.
    let few: Counts = &[("a", 30, 0)];
    assert_eq!(
        verdict(IF, &[("parse", "application", rare), ("start", "application", few)]).0,
        Propose
    );
    // Nor does a workload that does not come there.
    assert_eq!(verdict(IF, &[("parse", "application", rare), ("x", "benchmark", &[])]).0, Propose);
}

#[test]
fn counts_of_workloads_are_summed_and_kept_apart() {
    let all = candidates(
        IF,
        &[("p", "application", &[("a", 1, 999)]), ("q", "stressor", &[("a", 2, 3998)])],
    );
    assert_eq!((all[0].executed, all[0].taken), (5000, 3));
    let per: Vec<_> =
        all[0].workloads.iter().map(|w| (w.name.as_str(), w.class.as_str(), w.taken)).collect();
    assert_eq!(per, [("p", "application", 1), ("q", "stressor", 2)]);
}

#[test]
fn support_by_stressors_alone_is_said() {
    let counts: Counts = &[("a", 0, 5000)];
    let (verdict, reason) = verdict(IF, &[("storm", "stressor", counts)]);
    assert_eq!(verdict, Propose);
    assert!(reason.ends_with("only stressors support it"), "{reason}");
    let (_, reason) =
        super::tests::verdict(IF, &[("storm", "stressor", counts), ("app", "application", counts)]);
    assert!(!reason.contains("stressor"), "{reason}");
}

#[test]
fn operands_of_a_proposed_whole_are_covered() {
    let body = "if (a && b) return 1;";
    let all = candidates(body, &[("w", "application", &[("a", 5, 9995), ("b", 0, 5)])]);
    let verdicts: Vec<_> = all.iter().map(|c| (c.condition.as_str(), c.verdict)).collect();
    assert_eq!(verdicts, [("a && b", Propose), ("a", Covered), ("b", Covered)]);
    // A whole that is not one-sided leaves its operand to be proposed.
    let all = candidates(body, &[("w", "application", &[("a", 9999, 1), ("b", 5000, 4999)])]);
    let verdicts: Vec<_> = all.iter().map(|c| (c.condition.as_str(), c.verdict)).collect();
    assert_eq!(verdicts, [("a", Propose), ("b", NotBiased), ("a && b", NotBiased)]);
}

#[test]
fn what_carries_a_hint_is_left_to_the_audit() {
    let (verdict, reason) = under_one("if (unlikely(a)) return 1;", &[("unlikely(a)", 0, 5000)]);
    assert_eq!((verdict, reason.as_str()), (Hinted, "carries unlikely already"));
}

#[test]
fn where_no_hint_can_stand_none_is_proposed() {
    for (body, condition, why) in [
        ("CHECK(a ? b : c);", "a", "the argument of CHECK"),
        ("while (1) b++;", "1", "constant"),
        ("if (a\n#ifdef X\n + 1\n#endif\n) return 1;", "a #ifdef X + 1 #endif", "directive"),
    ] {
        let (verdict, reason) = under_one(body, &[(condition, 5000, 0)]);
        assert_eq!(verdict, NotHintable, "{body}");
        assert!(reason.contains(why), "{body}: {reason}");
    }
}

#[test]
fn proposals_come_first_then_what_a_hint_can_move() {
    let body = "if (a) b = 1;\nif (b) c = 1;\nwhile (c > 1) c--;\nif (c) return a ? 1 : 2;\n\
                if (a > 1) return 3;";
    let all = candidates(
        body,
        &[(
            "w",
            "application",
            &[
                ("a", 10, 9990),        // the `?:`
                ("b", 0, 20_000),       // more often
                ("c > 1", 50_000, 100), // most often, but a loop
                ("c", 1_200, 58_800),   // not one-sided
                ("a > 1", 0, 12_000),
            ],
        )],
    );
    let order: Vec<_> = all.iter().map(|c| (c.kind.as_str(), c.condition.as_str())).collect();
    assert_eq!(
        order,
        [("if", "b"), ("while", "c > 1"), ("if", "a > 1"), ("ternary", "a"), ("if", "c")]
    );
}

#[test]
fn one_condition_has_one_identity_wherever_its_lines_go() {
    let id = |body: &str| candidates(body, &[("w", "application", &[("a", 0, 5000)])]).remove(0).id;
    assert_eq!(id(IF), id("b = 2;\n\n  if (a)\n    return 1;"));
    assert_ne!(id(IF), id("if (a) b = 1;\nif (a) return 1;"), "the second of two is another");
    assert_ne!(id(IF), id("while (a) b++;"));
}
