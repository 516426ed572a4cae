//! What B executes that A does not, and the other way round: totals, functions, source lines.

use super::names::{base, join, pair};
use super::record::{
    ArmCounts, CountVerdict, Counts, FunctionChange, FunctionCounts, LineChange, LineCounts, Side,
};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// Changed functions and changed lines that are kept, of each.
const CHANGES_MAX: usize = 100;

/// Functions that differ, the largest difference first.
///
/// Functions pair by name and object. Objects pair by path, else by file name; the program of
/// another name in the other arm is the object that is left alone.
pub(crate) fn functions(a: &ArmCounts, b: &ArmCounts) -> Vec<FunctionChange> {
    let objects = |arm| distinct(arm, |function: &FunctionCounts| &function.object);
    let pairs = pair(&objects(&a.functions), &objects(&b.functions), true);
    let key_a =
        |function: &FunctionCounts| (place_in_b(&pairs, &function.object), function.name.clone());
    let key_b = |function: &FunctionCounts| (Ok(function.object.clone()), function.name.clone());
    let joined = join(&a.functions, &b.functions, key_a, key_b);
    let side = |function: &FunctionCounts| Side {
        place: function.object.clone(),
        counts: function.counts,
        code_lines: Some(function.code_lines),
        taken_range: Some(function.taken_range),
    };
    let changes = joined.into_iter().map(|(a, b)| {
        let name = a.or(b).map(|function| function.name.clone()).unwrap_or_default();
        FunctionChange { name, a: a.map(side), b: b.map(side) }
    });
    largest(changes, |change| (&change.a, &change.b))
}

/// Source lines that differ, the largest difference first. Files pair by path, else by file name;
/// lines by number.
pub(crate) fn lines(a: &ArmCounts, b: &ArmCounts) -> Vec<LineChange> {
    let files = |arm| distinct(arm, |line: &LineCounts| &line.file);
    let pairs = pair(&files(&a.lines), &files(&b.lines), false);
    let key_a = |line: &LineCounts| (place_in_b(&pairs, &line.file), line.line);
    let key_b = |line: &LineCounts| (Ok(line.file.clone()), line.line);
    let side = |line: &LineCounts| Side {
        place: line.file.clone(),
        counts: line.counts,
        code_lines: None,
        taken_range: None,
    };
    let joined = join(&a.lines, &b.lines, key_a, key_b);
    let changes = joined.into_iter().map(|(a, b)| LineChange {
        line_a: a.map(|line| line.line),
        line_b: b.map(|line| line.line),
        a: a.map(side),
        b: b.map(side),
    });
    largest(changes, |change| (&change.a, &change.b))
}

/// B's path for a path of A; A's own as an error where B has none.
fn place_in_b(pairs: &HashMap<&str, &str>, path: &str) -> Result<String, String> {
    pairs.get(path).map(|&of_b| of_b.to_owned()).ok_or_else(|| path.to_owned())
}

fn distinct<'t, T>(list: &'t [T], name: impl Fn(&'t T) -> &'t String) -> Vec<&'t str> {
    let names: BTreeSet<&str> = list.iter().map(|item| name(item).as_str()).collect();
    names.into_iter().collect()
}

/// The changes that are any, by the difference in jumps taken and then in instructions.
fn largest<T>(
    changes: impl Iterator<Item = T>,
    sides: impl Fn(&T) -> (&Option<Side>, &Option<Side>),
) -> Vec<T> {
    let counts = |side: &Option<Side>| side.as_ref().map(|side| side.counts).unwrap_or_default();
    let differs = |change: &T| {
        let (a, b) = sides(change);
        counts(a) != counts(b)
    };
    let size = |change: &T| {
        let (a, b) = sides(change);
        let (a, b) = (counts(a), counts(b));
        Reverse((a.taken().abs_diff(b.taken()), a.instructions.abs_diff(b.instructions)))
    };
    let mut changes: Vec<T> = changes.filter(differs).collect();
    changes.sort_by_key(size);
    changes.truncate(CHANGES_MAX);
    changes
}

/// Objects that only one of the arms has, by path: its own. All of them where the arms have all in
/// common, as two commands of one program do.
pub(crate) fn own<'n>(of: &BTreeSet<&'n str>, other: &BTreeSet<&'n str>) -> BTreeSet<&'n str> {
    if of == other { of.clone() } else { of.difference(other).copied().collect() }
}

/// Whether B takes fewer jumps, and why this is said.
pub(crate) fn verdict(a: &ArmCounts, b: &ArmCounts) -> (CountVerdict, String) {
    let ([a_min, a_max], [b_min, b_max]) = (a.own_taken_range, b.own_taken_range);
    let verdict = if b_max < a_min {
        CountVerdict::Fewer
    } else if b_min > a_max {
        CountVerdict::More
    } else if a.own_taken_range == b.own_taken_range && a_min == a_max {
        CountVerdict::Same
    } else {
        CountVerdict::Unclear
    };
    let (taken_a, taken_b) = (a.own.taken(), b.own.taken());
    let by = taken_a.abs_diff(taken_b);
    let mut reason = match verdict {
        CountVerdict::Fewer | CountVerdict::More => {
            let word = if verdict == CountVerdict::Fewer { "fewer" } else { "more" };
            let share = match taken_a {
                0 => String::new(), // of none, no share
                _ => format!(" ({})", percent(by as f64 / taken_a as f64)),
            };
            format!("B takes {by} {word} jumps than A's {taken_a}{share}")
        }
        CountVerdict::Same => format!("both take {taken_a} jumps"),
        CountVerdict::Unclear => format!(
            "runs of one command differ: A takes {a_min} to {a_max} jumps and B {b_min} to \
             {b_max}, which overlap"
        ),
    };
    reason += &format!(
        "; conditional ones fall through in {} of A's and {} of B's cases",
        rate(&a.own),
        rate(&b.own)
    );
    if a.own != a.total || b.own != b.total {
        reason += ", shared libraries aside";
    }
    if a.runs.min(b.runs) < 2 {
        reason += "; with one run each, whether a second gives the same was not seen";
    } else if verdict != CountVerdict::Unclear {
        let exact = a_min == a_max && b_min == b_max;
        reason +=
            if exact { "; every run gave the same" } else { "; the runs of an arm differ by less" };
    }
    (verdict, reason)
}

fn rate(counts: &Counts) -> String {
    match counts.fall_through_rate() {
        Some(rate) => format!("{:.2} %", rate * 100.0),
        None => "none".to_owned(),
    }
}

/// A share above 0 that is not shown as none.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.0001 => "less than 0.0001 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.4} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// What the reader of a report must know before he believes it.
pub(crate) fn warnings(a: &ArmCounts, b: &ArmCounts) -> Vec<String> {
    let mut out: Vec<String> = [
        "counts are not time: they say what was executed, not how long it took; measure with \
         `bench` on hardware",
        "caches and branch predictors are not modelled: a jump taken costs less where it is \
         predicted well",
        "the commands ran on valgrind's CPU, one thread at a time: code that libraries choose by \
         the features of the CPU may be another than on this machine",
    ]
    .map(str::to_owned)
    .to_vec();
    for (name, arm) in [("A", a), ("B", b)] {
        let [least, most] = arm.instructions_range;
        if least < most {
            out.push(format!(
                "{name} is not deterministic: its runs executed {least} to {most} instructions; \
                 look for hash seeds, time, process ids or threads in it"
            ));
        }
        if arm.undecoded_instructions > 0 {
            out.push(format!(
                "of {name}'s instructions {} have no machine code to be read (generated at run \
                 time, or a file that is gone): of their conditional jumps those never followed \
                 are missing",
                arm.undecoded_instructions
            ));
        }
        if arm.lost_processes > 0 {
            out.push(format!(
                "{} process(es) of {name} left no counts: they were killed, or still running when \
                 the command ended",
                arm.lost_processes
            ));
        }
        if arm.repeated_processes > 0 {
            out.push(format!(
                "{} forked process(es) of {name} count what their parent did before the fork once \
                 more, as no fork function was found by name: do not strip the static program",
                arm.repeated_processes
            ));
        }
        if !arm.problems.is_empty() {
            out.push(format!("{name}: callgrind's files were not all understood; see `problems`"));
        }
        if arm.lines.is_empty() {
            out.push(format!("{name} has no debug information: compile with -g for source lines"));
        }
    }
    out.extend(misaligned(a, b));
    out
}

/// Says so where a file's lines may not line up, as B's code lies on lines that A's text lacks.
fn misaligned(a: &ArmCounts, b: &ArmCounts) -> Option<String> {
    let last = |arm: &ArmCounts| -> HashMap<String, u32> {
        let lines = arm.lines.iter().map(|line| (base(&line.file).to_owned(), line.line));
        lines.collect()
    };
    let of_b = last(b);
    let moved =
        last(a).into_iter().filter(|(file, line)| of_b.get(file).is_some_and(|b| b != line));
    let mut moved: Vec<String> = moved.map(|(file, _)| file).collect();
    moved.sort();
    moved.truncate(3);
    (!moved.is_empty()).then(|| {
        format!(
            "lines are compared by number, which a change that adds lines moves: see {}",
            moved.join(", ")
        )
    })
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
