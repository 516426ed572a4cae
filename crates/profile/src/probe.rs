//! Exact branch counts from gcov, by probes in a private copy of the source.
//!
//! gcov tells neither polarity nor column. So the recorder builds a copy of the source in which
//! each condition `X` reads `((X)?({asm;1;}):({asm;0;}))`, the two markers each on a line of its
//! own that holds nothing else. How often these lines ran is how often `X` was true and false,
//! whatever the optimiser made of the code around them: it may copy or drop an `asm`, but not run
//! it more or less often.
//!
//! Here the counts of such a build are turned back into those of the original source.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::diag::Sink;
use crate::paths::clean_path;
use crate::{BranchRegion, Diagnostic, FileProfile, Pos, Profile, RegionKind, Severity};

/// What was done to one file before it was compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbedFile {
    /// The path under which the profile names the file.
    pub path: String,
    /// The probes in it.
    pub probes: Vec<Probe>,
    /// The original line of each probed line; index 0 is probed line 1. 0: no original line.
    pub line_map: Vec<u32>,
}

/// One condition and its two markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// First character of the condition in the original source.
    pub start: Pos,
    /// One past its last character.
    pub end: Pos,
    /// Probed line that runs each time the condition is true.
    pub true_line: u32,
    /// Probed line that runs each time it is false.
    pub false_line: u32,
}

/// Turns the line counts of probed files into conditions of their original sources.
///
/// For each probed file: every measured probe becomes a [`BranchRegion`]; the other lines and the
/// functions get their original line numbers (of several probed lines of one original line, the
/// first counts); arcs, regions and barriers are dropped, because they describe the
/// rewritten text. A probe whose markers are both absent was not measured and gives nothing. Where
/// one marker is present the code around the probe was compiled, so an absent other one was
/// proved never to run: its count is 0.
///
/// Files that are not probed pass unchanged. Paths are compared after [`clean_path`].
#[must_use]
pub fn resolve(mut profile: Profile, probed: &[ProbedFile]) -> (Profile, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let mut done = BTreeSet::new();
    for file in probed {
        let path = clean_path(&file.path);
        if !done.insert(path.clone()) {
            sink.push(
                Severity::Warning,
                "bad-probe",
                &path,
                || "the file has two lists of probes; the second is not used: record again",
            );
            continue;
        }
        let Some(counts) = profile.files.remove(&path) else {
            sink.push(Severity::Note, "not-measured", &path, || {
                "the file has no counts: no object built from it was run, or its .gcda is missing"
            });
            continue;
        };
        let resolved = resolve_file(counts, file, &path, &mut sink);
        profile.files.insert(path, resolved);
    }
    (profile, sink.finish("probes"))
}

fn resolve_file(
    counts: FileProfile,
    probed: &ProbedFile,
    path: &str,
    sink: &mut Sink,
) -> FileProfile {
    let mut out = FileProfile::default();
    let markers = markers(probed);
    // A marker is its line's only `asm`, so the sum over its copies is exact.
    let executed = if counts.barriers.is_empty() { &counts.lines } else { &counts.barriers };
    let mut unmeasured = 0_usize;
    for probe in &probed.probes {
        let shared = |line: u32| markers.get(&line).is_none_or(|&uses| uses > 1);
        if shared(probe.true_line) || shared(probe.false_line) {
            sink.push(Severity::Warning, "bad-probe", path, || {
                format!(
                    "the condition at {}:{} shares a marker line with another; its counts are set \
                     aside: record again",
                    probe.start.line, probe.start.column
                )
            });
            continue;
        }
        let count = |line: u32| executed.get(&line).copied();
        match (count(probe.true_line), count(probe.false_line)) {
            (None, None) => unmeasured += 1,
            (taken_true, taken_false) => out.regions.push(BranchRegion {
                start: probe.start,
                end: probe.end,
                taken_true: taken_true.unwrap_or(0),
                taken_false: taken_false.unwrap_or(0),
                kind: RegionKind::Condition,
                expanded_at: None,
            }),
        }
    }
    if unmeasured > 0 {
        sink.push(Severity::Note, "not-measured", path, || {
            format!(
                "{unmeasured} of {} conditions have no counts: their code was not compiled, or \
                 not kept by the compiler",
                probed.probes.len()
            )
        });
    }
    map_lines(counts, probed, &markers, path, &mut out, sink);
    out.normalize();
    out
}

/// How many probes use each marker line.
fn markers(probed: &ProbedFile) -> BTreeMap<u32, usize> {
    let mut markers = BTreeMap::new();
    for line in probed.probes.iter().flat_map(|p| [p.true_line, p.false_line]) {
        *markers.entry(line).or_insert(0) += 1;
    }
    markers
}

/// Gives lines and functions their original numbers.
fn map_lines(
    counts: FileProfile,
    probed: &ProbedFile,
    markers: &BTreeMap<u32, usize>,
    path: &str,
    out: &mut FileProfile,
    sink: &mut Sink,
) {
    let mut outside = 0_usize;
    let mut original = |line: u32| {
        let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        let mapped = index.and_then(|index| probed.line_map.get(index)).copied();
        outside += usize::from(mapped.is_none());
        mapped.filter(|&line| line != 0)
    };
    for (line, count) in counts.lines {
        if !markers.contains_key(&line)
            && let Some(line) = original(line)
        {
            out.lines.entry(line).or_insert(count);
        }
    }
    for mut function in counts.functions {
        if let Some(line) = original(function.line) {
            function.line = line;
            out.functions.push(function);
        }
    }
    if outside > 0 {
        sink.push(Severity::Warning, "bad-line-map", path, || {
            format!(
                "{outside} lines of the profile lie beyond the probed file; they are set aside: \
                 the counts are of another build, record again"
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionCount, LineArcs};

    fn pos(line: u32, column: u32) -> Pos {
        Pos { line, column }
    }

    /// Original: line 1 `int f(int a) {`, line 2 `if (a) return 1;`, line 3 `return 0; }`.
    /// Line 2 became probed lines 2 to 5, of which 3 and 4 are markers.
    fn probed() -> ProbedFile {
        ProbedFile {
            path: "src/./f.c".to_owned(),
            probes: vec![Probe { start: pos(2, 5), end: pos(2, 6), true_line: 3, false_line: 4 }],
            line_map: vec![1, 2, 2, 2, 2, 3],
        }
    }

    fn profile(lines: &[(u32, u64)]) -> Profile {
        let file = FileProfile {
            lines: lines.iter().copied().collect(),
            functions: vec![FunctionCount { name: "f".to_owned(), line: 1, entered: 10 }],
            arcs: vec![LineArcs {
                line: 2,
                function: None,
                taken: vec![Some(1), Some(9)],
                leads_to: Vec::new(),
            }],
            ..FileProfile::default()
        };
        Profile { files: BTreeMap::from([("src/f.c".to_owned(), file)]) }
    }

    fn counts(profile: &Profile) -> Vec<(u64, u64)> {
        profile.files["src/f.c"].regions.iter().map(|r| (r.taken_true, r.taken_false)).collect()
    }

    #[test]
    fn markers_become_a_condition_and_lines_get_their_numbers_back() {
        let lines = [(1, 10), (2, 10), (3, 1), (4, 9), (5, 1), (6, 9)];
        let (resolved, diagnostics) = resolve(profile(&lines), &[probed()]);
        let file = &resolved.files["src/f.c"];
        assert_eq!(counts(&resolved), [(1, 9)]);
        assert_eq!((file.regions[0].start, file.regions[0].end), (pos(2, 5), pos(2, 6)));
        assert_eq!(file.lines, BTreeMap::from([(1, 10), (2, 10), (3, 9)]));
        assert_eq!((file.functions[0].line, file.functions[0].entered), (1, 10));
        assert!(file.arcs.is_empty(), "arcs describe the rewritten text");
        assert_eq!(diagnostics, []);
    }

    #[test]
    fn a_marker_never_stands_in_for_the_line_it_is_on() {
        // The compiler kept nothing of the line but the true marker.
        let (resolved, _) = resolve(profile(&[(1, 10), (3, 1), (6, 9)]), &[probed()]);
        assert_eq!(resolved.files["src/f.c"].lines, BTreeMap::from([(1, 10), (3, 9)]));
    }

    #[test]
    fn one_absent_marker_is_zero_and_two_are_not_measured() {
        let (resolved, _) = resolve(profile(&[(2, 10), (4, 10)]), &[probed()]);
        assert_eq!(counts(&resolved), [(0, 10)]);
        let (resolved, diagnostics) = resolve(profile(&[(2, 10)]), &[probed()]);
        assert_eq!(counts(&resolved), []);
        assert_eq!(diagnostics[0].code, "not-measured");
    }

    #[test]
    fn the_sum_over_copies_of_a_marker_is_preferred() {
        let mut of_copies = profile(&[(2, 10), (3, 1), (4, 9)]);
        let file = of_copies.files.get_mut("src/f.c").unwrap();
        file.barriers = BTreeMap::from([(2, 10), (3, 4), (4, 6)]);
        let (resolved, _) = resolve(of_copies, &[probed()]);
        assert_eq!(counts(&resolved), [(4, 6)]);
        assert!(resolved.files["src/f.c"].barriers.is_empty());
    }

    #[test]
    fn other_files_pass_unchanged_and_absent_ones_are_named() {
        let before = profile(&[(2, 10)]);
        let elsewhere = ProbedFile { path: "g.c".to_owned(), ..probed() };
        let (resolved, diagnostics) = resolve(before.clone(), &[elsewhere]);
        assert_eq!(resolved, before);
        assert_eq!(diagnostics[0].code, "not-measured");
        assert_eq!(diagnostics[0].path.as_deref(), Some("g.c"));
    }

    #[test]
    fn probes_that_cannot_be_right_are_set_aside() {
        let mut twice = probed();
        twice.probes.push(Probe {
            start: pos(2, 9),
            true_line: 4,
            false_line: 5,
            ..twice.probes[0]
        });
        let (resolved, diagnostics) = resolve(profile(&[(3, 1), (4, 9), (5, 1)]), &[twice]);
        assert_eq!(counts(&resolved), []);
        assert!(diagnostics.iter().all(|d| d.code == "bad-probe"));

        let (resolved, diagnostics) = resolve(profile(&[(2, 1), (99, 7)]), &[probed()]);
        assert_eq!(resolved.files["src/f.c"].lines, BTreeMap::from([(2, 1)]));
        assert!(diagnostics.iter().any(|d| d.code == "bad-line-map"));
    }
}
