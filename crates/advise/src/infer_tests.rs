//! What a direction must rest on before it is told, and what leaves it untold. The counts are of
//! the kinds that GCC leaves at `-O2`.

use super::*;
use crate::testing::{bare_branch, branch, count, function, lines};

type Ways = [(u64, Option<u32>); 2];

/// Executions and truths of `condition` in `f`, or why they are not told.
fn told(
    body: &str,
    counts: &[(u32, u64)],
    arcs: Vec<LineArcs>,
    condition: &str,
) -> Result<(u64, u64), String> {
    let mut file = lines(counts);
    file.arcs = arcs;
    let count = count(&function(body), &file, condition).ok_or("not measured")?;
    match count.polarity {
        Polarity::Unknown => Err(count.reason),
        _ => Ok((count.executed, count.taken)),
    }
}

/// With one branch on line 2, in both orders of its ways, which must make no difference.
fn by_ways(body: &str, counts: &[(u32, u64)], [x, y]: Ways) -> Result<(u64, u64), String> {
    let one = told(body, counts, vec![branch(2, [x, y])], "a");
    assert_eq!(one, told(body, counts, vec![branch(2, [y, x])], "a"), "the order tells nothing");
    one
}

fn says(result: Result<(u64, u64), String>, why: &str) {
    let said = result.unwrap_err();
    assert!(said.contains(why), "{said}");
}

const PLAIN: &str = "if (a)\n  b = 1;\nb++;";
const RETURN: &str = "if (a)\n  return 1;\nb++;";
const ELSE: &str = "if (a)\n  b = 1;\nelse\n  b = 2;\nb++;";

#[test]
fn a_way_into_the_true_arm_is_true() {
    let ways = [(3, Some(3)), (97, Some(4))];
    assert_eq!(by_ways(PLAIN, &[(1, 100), (2, 100), (3, 3), (4, 100)], ways), Ok((100, 3)));
}

#[test]
fn a_way_into_the_false_arm_is_false() {
    let ways = [(3, None), (97, Some(5))];
    let counts = [(1, 100), (2, 100), (5, 97), (6, 100)];
    assert_eq!(by_ways(ELSE, &counts, ways), Ok((100, 3)));
    // `b = 1` became part of what follows.
    let ways = [(3, Some(6)), (97, Some(5))];
    assert_eq!(by_ways(ELSE, &counts, ways), Ok((100, 3)));
}

#[test]
fn a_way_to_the_statement_after_an_arm_that_leaves_is_false() {
    // The line of `return 1` is gone: all returns are one.
    let ways = [(3, None), (97, Some(4))];
    assert_eq!(by_ways(RETURN, &[(1, 100), (2, 100), (4, 97)], ways), Ok((100, 3)));
}

#[test]
fn where_both_outcomes_go_on_the_next_statement_tells_nothing() {
    // `b = 1` became part of line 4, which the false outcome skips.
    let ways = [(97, Some(4)), (3, Some(6))];
    let body = "if (a)\n  b = 1;\nif (b)\n  c++;\nc--;";
    says(by_ways(body, &[(1, 100), (2, 100), (4, 97), (6, 100)], ways), "do not tell them apart");
}

#[test]
fn two_ways_to_one_line_are_not_told_apart() {
    let ways = [(3, Some(4)), (97, Some(4))];
    says(by_ways(PLAIN, &[(1, 100), (2, 100), (4, 100)], ways), "do not tell them apart");
}

#[test]
fn an_else_if_stands_in_the_false_arm_though_on_the_brace_of_the_true_one() {
    let body = "if (a) {\n  b = 1;\n} else if (c) {\n  b = 2;\n}\nb++;";
    let counts = [(1, 100), (2, 100), (3, 3), (4, 97), (5, 0), (7, 100)];
    let arcs =
        vec![branch(2, [(97, Some(4)), (3, Some(3))]), branch(4, [(0, Some(5)), (97, Some(7))])];
    assert_eq!(told(body, &counts, arcs.clone(), "a"), Ok((100, 3)));
    assert_eq!(told(body, &counts, arcs, "c"), Ok((97, 0)));
}

#[test]
fn a_label_in_an_arm_forbids_all_conclusions() {
    let body = "if (a) {\n  b = 1;\nin:\n  b = 2;\n}\nb++;\nif (b) goto in;";
    let ways = [(3, Some(3)), (97, Some(7))];
    says(by_ways(body, &[(1, 100), (2, 100), (3, 3), (7, 100)], ways), "label");
}

#[test]
fn an_arm_on_the_conditions_own_line_is_told_by_the_next_statement() {
    let body = "if (a) b = 1;\nb++;";
    let ways = [(3, Some(2)), (97, Some(3))];
    assert_eq!(by_ways(body, &[(1, 100), (2, 100), (3, 100)], ways), Ok((100, 3)));
    let ways = [(3, Some(2)), (97, None)];
    assert_eq!(by_ways(body, &[(1, 100), (2, 100)], ways), Ok((100, 3)));
    let both = "if (a) b = 1; else b = 2;\nb++;";
    let ways = [(3, Some(2)), (97, Some(2))];
    says(by_ways(both, &[(1, 100), (2, 100), (3, 100)], ways), "do not add up");
}

#[test]
fn an_arm_beside_its_condition_that_became_part_of_what_follows_tells_nothing() {
    // `b = 1` is gone, so the true way leads to line 3, which the false one skips.
    let body = "if (a) b = 1;\nif (b)\n  c++;\nc--;";
    let ways = [(97, Some(3)), (3, Some(5))];
    says(by_ways(body, &[(1, 100), (2, 100), (3, 100), (5, 100)], ways), "do not tell them apart");
}

#[test]
fn a_line_that_both_arms_have_code_on_tells_nothing() {
    // `b = 1` and `c = 1` are gone.
    let body = "if (a) {\n  b = 1;\n  c++; } else { c = 1; }\nb++;\nc--;";
    let ways = [(3, Some(4)), (97, Some(6))];
    let counts = [(1, 100), (2, 100), (4, 3), (5, 100), (6, 100)];
    says(by_ways(body, &counts, ways), "do not tell them apart");
}

#[test]
fn copies_of_the_branch_are_added_and_must_each_be_clear() {
    let counts = [(1, 100), (2, 100), (3, 5), (4, 100)];
    let first = branch(2, [(3, Some(3)), (57, Some(4))]);
    let clear = branch(2, [(38, Some(4)), (2, Some(3))]);
    assert_eq!(told(PLAIN, &counts, vec![first.clone(), clear], "a"), Ok((100, 5)));
    let unclear = branch(2, [(38, Some(4)), (2, Some(4))]);
    says(told(PLAIN, &counts, vec![first, unclear], "a"), "do not tell them apart");
}

#[test]
fn the_operands_of_one_line_are_followed_to_the_arms() {
    let body = "if (a || b)\n  return 1;\nc++;";
    let counts = [(1, 100), (2, 100), (3, 12), (4, 88)];
    let arcs =
        vec![branch(2, [(10, Some(3)), (90, Some(2))]), branch(2, [(88, Some(4)), (2, Some(3))])];
    assert_eq!(told(body, &counts, arcs, "a || b"), Ok((100, 12)));
}

#[test]
fn ways_that_do_not_add_up_to_the_line_tell_nothing() {
    let ways = [(3, Some(3)), (90, Some(4))];
    says(by_ways(PLAIN, &[(1, 100), (2, 100), (3, 3), (4, 100)], ways), "add up");
}

#[test]
fn an_arm_that_ran_more_often_than_its_branch_tells_of_another_way_in() {
    // A flag was set before, and the optimiser went straight to the arm.
    let ways = [(0, Some(3)), (100, Some(4))];
    says(by_ways(PLAIN, &[(1, 4000), (2, 100), (3, 3900), (4, 4000)], ways), "of its arms");
}

#[test]
fn a_next_statement_that_ran_more_often_tells_of_another_way_past() {
    let ways = [(100, Some(3)), (0, Some(4))];
    says(by_ways(PLAIN, &[(1, 4000), (2, 100), (3, 100), (4, 4000)], ways), "after it");
}

#[test]
fn what_comes_before_must_have_run_as_often() {
    let body = "b = c;\nif (a)\n  return 1;\nb++;";
    let arcs = || vec![branch(3, [(0, None), (100, Some(5))])];
    let before = |n| [(1, n), (2, n), (3, 100), (5, 100)];
    assert_eq!(told(body, &before(100), arcs(), "a"), Ok((100, 0)));
    says(told(body, &before(4000), arcs(), "a"), "leads to it");
    // Where the line before was optimised away, the function's entry takes its place.
    assert_eq!(told(body, &[(1, 100), (3, 100), (5, 100)], arcs(), "a"), Ok((100, 0)));
    says(told(body, &[(1, 4000), (3, 100), (5, 100)], arcs(), "a"), "leads to it");
    says(told(body, &[(3, 100), (5, 100)], arcs(), "a"), "all its executions");
}

#[test]
fn what_comes_before_may_be_an_if_that_leaves_or_an_arm_around() {
    let body = "if (a)\n  return 1;\nif (b)\n  return 2;\nc++;";
    let arcs = vec![branch(2, [(10, None), (90, Some(4))]), branch(4, [(0, None), (90, Some(6))])];
    assert_eq!(told(body, &[(1, 100), (2, 100), (4, 90), (6, 90)], arcs, "b"), Ok((90, 0)));

    let body = "if (a) {\n  if (b)\n    return 2;\n  c++;\n}\nc--;";
    let arcs =
        vec![branch(2, [(10, Some(3)), (90, Some(7))]), branch(3, [(0, None), (10, Some(5))])];
    let counts = [(1, 100), (2, 100), (3, 10), (5, 10), (7, 100)];
    assert_eq!(told(body, &counts, arcs, "b"), Ok((10, 0)));

    let body = "while (a) {\n  if (b)\n    return 2;\n  c++;\n}\nc--;";
    let arcs = |rounds| {
        vec![branch(2, [(rounds, Some(3)), (1, Some(7))]), branch(3, [(0, None), (90, Some(5))])]
    };
    let counts = [(1, 1), (2, 91), (3, 90), (5, 90), (7, 1)];
    assert_eq!(told(body, &counts, arcs(90), "b"), Ok((90, 0)));
    says(told(body, &counts, arcs(91), "b"), "leads to it");
}

#[test]
fn an_arm_that_never_comes_back_is_not_missed_after_it() {
    let body = "if (a)\n  abort();\nb++;";
    let ways = [(3, Some(3)), (97, Some(4))];
    assert_eq!(by_ways(body, &[(1, 100), (2, 100), (3, 3), (4, 97)], ways), Ok((100, 3)));
}

#[test]
fn copies_in_other_functions_are_not_used() {
    let mut inlined = branch(2, [(3, Some(3)), (97, Some(4))]);
    inlined.function = Some("main".to_owned());
    let counts = [(1, 100), (2, 100), (3, 3), (4, 100)];
    says(told(PLAIN, &counts, vec![inlined], "a"), "inlined");
    // A tracefile names no function with a branch, but those that were compiled.
    let mut nameless = bare_branch(2, [3, 97]);
    nameless.function = None;
    assert_eq!(told(PLAIN, &counts, vec![nameless.clone()], "a"), Ok((100, 3)));
    says(told(PLAIN, &counts[1..], vec![nameless], "a"), "inlined");
}

#[test]
fn one_inlined_copy_casts_doubt_on_all_of_its_function() {
    let body = "if (a)\n  return 1;\nif (b)\n  c++;\nc--;";
    let counts = [(1, 100), (2, 100), (4, 100), (5, 7), (6, 100)];
    let own = branch(2, [(0, None), (100, Some(4))]);
    let copy = |line| LineArcs {
        function: Some("main".to_owned()),
        ..branch(line, [(7, Some(5)), (93, Some(6))])
    };
    says(told(body, &counts, vec![own.clone(), copy(4)], "a"), "inlined");
    // Here the copies' branches are gone, but a line of theirs ran more often than the function.
    let counts = [(1, 100), (2, 100), (4, 200), (6, 200)];
    says(told(body, &counts, vec![own], "a"), "inlined");
}

#[test]
fn a_function_that_is_called_more_often_than_entered_was_inlined() {
    let body = "if (a)\n  return 1;\nb++;\nreturn b;\n}\nint main(void)\n{\n  f(1, 2, 3);";
    let arcs = || vec![branch(2, [(0, None), (100, Some(4))])];
    let called = |calls| [(1, 100), (2, 100), (4, 100), (9, calls)];
    assert_eq!(told(body, &called(100), arcs(), "a"), Ok((100, 0)));
    assert_eq!(told(body, &called(7), arcs(), "a"), Ok((100, 0)), "others may call it, too");
    says(told(body, &called(101), arcs(), "a"), "inlined");
}

#[test]
fn two_decisions_on_one_line_are_not_told_apart() {
    let body = "if (a) return 1; if (b) return 2;\nc++;";
    let arcs = vec![branch(2, [(0, Some(2)), (100, Some(3))])];
    says(told(body, &[(1, 100), (2, 100), (3, 100)], arcs, "a"), "same line");
}

#[test]
fn no_branch_or_more_than_two_ways_tell_nothing() {
    let counts = [(1, 100), (2, 100), (3, 3), (4, 100)];
    says(told(PLAIN, &counts, vec![], "a"), "no branch was counted");
    let mut switch = branch(2, [(3, Some(3)), (90, Some(4))]);
    switch.taken.push(Some(7));
    switch.leads_to.push(Some(4));
    says(told(PLAIN, &counts, vec![switch], "a"), "more than two ways");
}

#[test]
fn what_never_ran_needs_no_direction() {
    assert_eq!(told(PLAIN, &[(1, 0), (2, 0)], vec![], "a"), Ok((0, 0)));
}

/// With one branch on line 2 whose ways' ends are not recorded.
fn by_counts(body: &str, counts: &[(u32, u64)], [x, y]: [u64; 2]) -> Result<(u64, u64), String> {
    let one = told(body, counts, vec![bare_branch(2, [x, y])], "a");
    assert_eq!(
        one,
        told(body, counts, vec![bare_branch(2, [y, x])], "a"),
        "the order tells nothing"
    );
    one
}

#[test]
fn without_destinations_the_lines_they_lead_to_must_match_the_branch() {
    let counts = [(1, 100), (2, 100), (3, 3), (4, 100)];
    assert_eq!(by_counts(PLAIN, &counts, [3, 97]), Ok((100, 3)));
    says(by_counts(PLAIN, &counts, [4, 96]), "do not match");
    assert_eq!(by_counts(RETURN, &[(1, 100), (2, 100), (4, 97)], [3, 97]), Ok((100, 3)));
    says(by_counts(RETURN, &[(2, 100), (4, 97)], [3, 97]), "all its executions");
    says(by_counts(PLAIN, &[(1, 100), (2, 100), (4, 100)], [3, 97]), "neither outcome");
    assert_eq!(by_counts(ELSE, &[(2, 100), (3, 3), (5, 97)], [3, 97]), Ok((100, 3)));
}

#[test]
fn without_destinations_joined_operands_need_both_outcomes() {
    let body = "if (a || b)\n  return 1;\nc++;";
    let arcs = || vec![bare_branch(2, [10, 90]), bare_branch(2, [88, 2])];
    let counts = [(1, 100), (2, 100), (3, 12), (4, 88)];
    assert_eq!(told(body, &counts, arcs(), "a || b"), Ok((100, 12)));
    says(told(body, &[(1, 100), (2, 100), (4, 88)], arcs(), "a || b"), "do not match");
}
