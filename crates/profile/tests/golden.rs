//! The readers on what the real tools wrote for one small program (`fixtures/regenerate`). Where
//! two tools tell the same fact, each is the other's witness.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;

use unlikely_profile::{
    BranchRegion, Diagnostic, FileProfile, Profile, RegionKind, gcda, gcno, gcov_json, lcov,
    llvm_cov,
};

fn fixture(path: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn clean((profile, diagnostics): (Profile, Vec<Diagnostic>)) -> Profile {
    assert_eq!(diagnostics, []);
    profile
}

fn raw(folder: &str) -> Profile {
    let mut sum = Profile::default();
    for unit in ["shapes", "other"] {
        let name = format!("{folder}/{unit}.gcno");
        let (graphs, diagnostics) = gcno::read(&fixture(&name), &name);
        assert_eq!(diagnostics, []);
        let name = format!("{folder}/{unit}.gcda");
        sum.merge(clean(gcda::merge(Some(&graphs), &fixture(&name), &name)));
    }
    sum
}

const GCC: [&str; 2] = ["gcc-11.3", "gcc-12.2"];

fn lines(profile: &Profile) -> BTreeMap<&str, &BTreeMap<u32, u64>> {
    profile.files.iter().map(|(path, file)| (path.as_str(), &file.lines)).collect()
}

/// The arcs of all branches of a line, smallest first.
fn taken(file: &FileProfile, line: u32) -> Vec<Option<u64>> {
    let of_line = file.arcs.iter().filter(|a| a.line == line);
    let mut taken: Vec<_> = of_line.flat_map(|a| a.taken.clone()).collect();
    taken.sort_unstable();
    taken
}

#[test]
fn raw_gcc_files_give_what_gcov_gives() {
    for folder in GCC {
        let name = format!("{folder}/program.gcov.json");
        let json = clean(gcov_json::read(&fixture(&name), &name));
        let raw = raw(folder);
        assert_eq!(lines(&raw), lines(&json), "{folder}");
        for (path, file) in &json.files {
            assert_eq!(raw.files[path].functions, file.functions, "{folder} {path}");
            for line in file.arcs.iter().map(|a| a.line) {
                let ours = taken(&raw.files[path], line);
                assert_eq!(ours, taken(file, line), "{folder} {path}:{line}");
            }
        }
    }
}

#[test]
fn arcs_say_where_they_lead_at_o2() {
    for folder in GCC {
        let raw = raw(folder);
        // `if (v < 0) return -1;` is never true; line 21 is the statement after it.
        let early_return: Vec<_> =
            raw.files["/build/shapes.c"].arcs.iter().filter(|a| a.line == 19).collect();
        assert_eq!(early_return.len(), 1);
        let ways: BTreeMap<_, _> =
            early_return[0].leads_to.iter().zip(&early_return[0].taken).collect();
        assert_eq!(ways[&Some(21)], &Some(1000), "{folder}: {early_return:?}");
        assert!(ways.iter().any(|(to, taken)| **to != Some(21) && **taken == Some(0)));
    }
}

#[test]
fn every_arc_list_is_as_long_as_its_destinations() {
    for folder in GCC {
        for arcs in raw(folder).files.values().flat_map(|f| &f.arcs) {
            assert_eq!(arcs.taken.len(), arcs.leads_to.len());
            assert!(arcs.taken.len() >= 2);
        }
    }
}

#[test]
fn lcov_tells_what_gcov_told_it() {
    let info = clean(lcov::read(&fixture("lcov-1.16/program.info"), "program.info"));
    let name = "gcc-12.2/program.gcov.json";
    let json = clean(gcov_json::read(&fixture(name), name));
    for (path, file) in &info.files {
        assert_eq!(file.functions, json.files[path].functions, "{path}");
        for (line, count) in &file.lines {
            assert_eq!(json.files[path].lines[line], *count, "{path}:{line}");
        }
        for arcs in &file.arcs {
            let line = arcs.line;
            assert_eq!(taken(file, line), taken(&json.files[path], line), "{path}:{line}");
        }
    }
}

fn llvm() -> (Profile, Vec<Diagnostic>) {
    llvm_cov::read(&fixture("clang-22/program.json"), "program.json")
}

#[test]
fn llvm_lines_are_those_that_llvm_counts() {
    let info = clean(lcov::read(&fixture("clang-22/program.info"), "program.info"));
    assert_eq!(lines(&llvm().0), lines(&info));
}

/// `(line, column, end column, true, false)`.
fn conditions(regions: &[BranchRegion], kind: RegionKind) -> Vec<(u32, u32, u32, u64, u64)> {
    let of_kind = regions.iter().filter(|r| r.kind == kind && r.expanded_at.is_none());
    of_kind
        .map(|r| (r.start.line, r.start.column, r.end.column, r.taken_true, r.taken_false))
        .collect()
}

#[test]
fn llvm_conditions_have_columns_and_polarity() {
    let (profile, _) = llvm();
    let file = &profile.files["/build/shapes.c"];
    assert_eq!(
        conditions(&file.regions, RegionKind::Condition),
        [
            (19, 7, 12, 0, 1000),
            (25, 7, 23, 1000, 0),
            (27, 10, 11, 0, 1000),
            (29, 19, 24, 2997, 997),
            (29, 28, 33, 2994, 3),
            (30, 8, 13, 500, 500),
            (36, 19, 27, 1000, 1),
            (39, 10, 18, 0, 1),
            (39, 22, 27, 0, 1),
        ]
    );
    assert_eq!(
        conditions(&file.regions, RegionKind::Case),
        [(7, 3, 9, 1, 499), (9, 3, 9, 0, 500), (10, 3, 9, 1, 499), (12, 3, 10, 498, 2)]
    );
}

#[test]
fn llvm_macro_conditions_name_the_call_and_copies_are_added() {
    let (profile, diagnostics) = llvm();
    let header = &profile.files["/build/shapes.h"];
    // clamp() is compiled into two objects: 498 + 1 times true, 2 + 1 times false.
    assert_eq!(conditions(&header.regions, RegionKind::Condition), [(5, 7, 12, 499, 3)]);
    let in_macros = header.regions.iter().filter_map(|r| {
        let site = r.expanded_at.as_ref()?;
        Some((r.start.line, site.file.as_str(), site.start.line, r.taken_true, r.taken_false))
    });
    let in_macros: Vec<_> = in_macros.collect();
    assert_eq!(in_macros, [(1, "/build/shapes.c", 21, 99, 901)]);
    // EITHER expands ABOVE twice: two conditions, one position.
    let codes: Vec<_> = diagnostics.iter().map(|d| d.code.as_str()).collect();
    assert_eq!(codes, ["ambiguous-condition"]);
    assert!(diagnostics[0].message.contains("/build/shapes.c:23"));
}

#[test]
fn llvm_without_functions_tells_the_same_conditions() {
    let name = "clang-22/program-skip-functions.json";
    let (lean, _) = llvm_cov::read(&fixture(name), name);
    let (full, _) = llvm();
    for (path, file) in &full.files {
        assert_eq!(lean.files[path].regions, file.regions, "{path}");
        assert_eq!(lean.files[path].lines, file.lines, "{path}");
    }
}

#[test]
fn gcov_version_2_keeps_the_branches_of_a_line_apart() {
    let name = "gcc-14-by-hand/program.gcov.json";
    let profile = clean(gcov_json::read(&fixture(name), name));
    let file = &profile.files["/build/shapes.c"];
    let arcs: Vec<_> = file.arcs.iter().map(|a| (a.line, a.taken.clone())).collect();
    assert_eq!(
        arcs,
        [
            // gcov listed both arcs twice.
            (19, vec![Some(1000), Some(0)]),
            (29, vec![Some(2997), Some(997)]),
            (29, vec![Some(2994), Some(3)]),
        ]
    );
    assert_eq!(file.functions[0].entered, 1000);
}

#[test]
fn lcov_2_records_are_read() {
    let name = "lcov-2-by-hand/program.info";
    let profile = clean(lcov::read(&fixture(name), name));
    let file = &profile.files["/build/shapes.c"];
    let arcs: Vec<_> = file.arcs.iter().map(|a| (a.line, a.taken.clone())).collect();
    assert_eq!(
        arcs,
        [(19, vec![Some(0), Some(1000)]), (23, vec![Some(996), Some(4)]), (28, vec![None, None]),]
    );
    let functions: Vec<_> =
        file.functions.iter().map(|f| (f.name.as_str(), f.line, f.entered)).collect();
    assert_eq!(functions, [("classify", 5, 500), ("work", 17, 1000)]);
    assert_eq!(file.lines, BTreeMap::from([(17, 1000), (19, 1000), (20, 0)]));
}
