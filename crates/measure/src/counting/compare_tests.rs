//! What may be said of two arms' counts, and what is paired with what.

use super::*;

fn counts(instructions: u64, conditional: u64, followed: u64) -> Counts {
    Counts { instructions, conditional, followed, ..Counts::default() }
}

/// An arm that took from `range[0]` to `range[1]` jumps in `runs` runs.
fn taking(range: [u64; 2], runs: u32) -> ArmCounts {
    let own = counts(10_000, 2_000_000, range[0]);
    ArmCounts {
        own,
        total: own,
        own_taken_range: range,
        instructions_range: [10_000; 2],
        runs,
        lines: vec![line("x.c", 1, 1)],
        ..ArmCounts::default()
    }
}

fn function(object: &str, name: &str, followed: u64) -> FunctionCounts {
    FunctionCounts {
        name: name.to_owned(),
        object: object.to_owned(),
        counts: counts(100, 50, followed),
        code_lines: 1,
        taken_range: [followed; 2],
    }
}

fn line(file: &str, line: u32, instructions: u64) -> LineCounts {
    LineCounts { file: file.to_owned(), line, counts: counts(instructions, 0, 0) }
}

#[test]
fn a_verdict_holds_in_every_run() {
    let said = |a, b| verdict(&taking(a, 2), &taking(b, 2)).0;
    assert_eq!(said([100, 100], [90, 90]), CountVerdict::Fewer);
    assert_eq!(said([100, 105], [90, 99]), CountVerdict::Fewer);
    assert_eq!(said([100, 105], [90, 100]), CountVerdict::Unclear);
    assert_eq!(said([90, 99], [100, 101]), CountVerdict::More);
    assert_eq!(said([100, 100], [100, 100]), CountVerdict::Same);
    // Two ranges that are alike show no equality.
    assert_eq!(said([100, 105], [100, 105]), CountVerdict::Unclear);
}

#[test]
fn the_reason_has_the_figures_and_says_what_was_not_seen() {
    let reason = |a, b, runs| verdict(&taking(a, runs), &taking(b, runs)).1;
    let text = reason([200, 200], [150, 150], 2);
    assert!(text.starts_with("B takes 50 fewer jumps than A's 200 (25.0 %); "), "{text}");
    assert!(text.contains("99.99 % of A's") && text.ends_with("every run gave the same"), "{text}");
    let text = reason([1_000_000; 2], [1_000_010; 2], 1);
    assert!(text.contains("10 more jumps than A's 1000000 (0.0010 %)"), "{text}");
    assert!(text.ends_with("whether a second gives the same was not seen"), "{text}");
    assert!(reason([100_000_000; 2], [99_999_999; 2], 2).contains("less than 0.0001 %"));
    assert!(reason([200, 210], [150, 160], 2).ends_with("the runs of an arm differ by less"));
    assert!(
        reason([200, 210], [205, 206], 2).contains("A takes 200 to 210 jumps and B 205 to 206")
    );
    assert!(reason([0, 0], [5, 5], 2).starts_with("B takes 5 more jumps than A's 0;"));
}

#[test]
fn a_claim_that_leaves_out_shared_libraries_says_so() {
    let mut a = taking([200, 200], 2);
    assert!(!verdict(&a, &a).1.contains("shared"));
    a.total.instructions += 1;
    assert!(verdict(&a, &a).1.contains("shared libraries aside"));
}

#[test]
fn an_arms_own_code_is_what_the_other_does_not_run() {
    let a = BTreeSet::from(["/lib/c.so", "/w/old"]);
    let b = BTreeSet::from(["/lib/c.so", "/w/new"]);
    assert_eq!(own(&a, &b), BTreeSet::from(["/w/old"]));
    assert_eq!(own(&a, &a), a);
}

#[test]
fn functions_pair_across_folders_and_the_largest_difference_comes_first() {
    let a = ArmCounts {
        functions: vec![
            function("/a/tool", "hot", 40),
            function("/a/tool", "gone", 3),
            function("/a/tool", "same", 7),
            function("/lib/c.so", "hot", 1),
        ],
        ..ArmCounts::default()
    };
    let b = ArmCounts {
        functions: vec![
            function("/b/tool", "hot", 10),
            function("/b/tool", "fresh", 5),
            function("/b/tool", "same", 7),
            function("/lib/c.so", "hot", 1),
        ],
        ..ArmCounts::default()
    };
    let changes = functions(&a, &b);
    let shown: Vec<_> = changes
        .iter()
        .map(|change| {
            let followed = |side: &Option<Side>| side.as_ref().map(|side| side.counts.followed);
            (change.name.as_str(), followed(&change.a), followed(&change.b))
        })
        .collect();
    assert_eq!(
        shown,
        [("hot", Some(40), Some(10)), ("fresh", None, Some(5)), ("gone", Some(3), None)]
    );
}

#[test]
fn lines_pair_by_file_and_number() {
    let arm = |lines| ArmCounts { lines, ..ArmCounts::default() };
    let a = arm(vec![line("old/x.c", 1, 5), line("old/x.c", 2, 5), line("y.h", 2, 1)]);
    let b = arm(vec![line("new/x.c", 1, 5), line("new/x.c", 2, 9), line("z.h", 2, 2)]);
    let shown: Vec<_> =
        lines(&a, &b).into_iter().map(|change| (change.line_a, change.line_b)).collect();
    assert_eq!(shown, [(Some(2), Some(2)), (None, Some(2)), (Some(2), None)]);
}

#[test]
fn the_list_of_changes_is_bounded() {
    let many = |by| ArmCounts {
        functions: (0..150_u64).map(|n| function("/t", &format!("f{n}"), n + by)).collect(),
        ..ArmCounts::default()
    };
    assert_eq!(functions(&many(0), &many(1)).len(), CHANGES_MAX);
}

#[test]
fn what_a_report_is_not_is_always_said_and_each_gap_once() {
    let whole = taking([5, 5], 2);
    let always = warnings(&whole, &whole);
    assert_eq!(always.len(), 3, "{always:?}");
    assert!(always[0].contains("not time") && always[1].contains("predictors"));
    let holed = ArmCounts {
        instructions_range: [10, 11],
        undecoded_instructions: 9,
        lost_processes: 1,
        repeated_processes: 2,
        problems: vec!["x".to_owned()],
        lines: vec![],
        ..whole.clone()
    };
    let added = warnings(&whole, &holed).split_off(3);
    let words = [
        "B is not deterministic",
        "no machine code",
        "left no counts",
        "before the fork",
        "not all understood",
        "compile with -g",
    ];
    assert_eq!(added.len(), words.len(), "{added:?}");
    for (text, word) in added.iter().zip(words) {
        assert!(text.contains(word), "{text}");
    }
    let longer = ArmCounts { lines: vec![line("x.c", 3, 1)], ..whole.clone() };
    let moved = warnings(&whole, &longer).split_off(3);
    assert!(moved.len() == 1 && moved[0].contains("x.c"), "{moved:?}");
}
