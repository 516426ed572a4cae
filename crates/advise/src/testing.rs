//! A file of C and its counts, for tests.

use std::collections::BTreeMap;

use unlikely_profile::{
    BranchRegion, ExpansionSite, FileProfile, FunctionCount, LineArcs, Pos, Profile, RegionKind,
};
use unlikely_source::{MacroTable, Sites, sites};

use crate::{Advice, Count, CountIndex, Thresholds, Workload, advise};

pub(crate) const FILE: &str = "a.c";

pub(crate) fn sites_of(text: &str) -> Sites {
    let mut table = MacroTable::default();
    table.add(FILE, text.as_bytes());
    sites(text.as_bytes(), &table)
}

/// The function `f` with this body, which starts on line 2.
pub(crate) fn function(body: &str) -> String {
    format!("int f(int a, int b, int c) {{\n{body}\n}}\n")
}

pub(crate) fn profile(file: FileProfile) -> Profile {
    Profile { files: BTreeMap::from([(FILE.to_owned(), file)]) }
}

/// The counts of the condition with this text.
pub(crate) fn count(text: &str, file: &FileProfile, condition: &str) -> Option<Count> {
    let sites = sites_of(text);
    let profile = profile(file.clone());
    let counts = CountIndex::new(&profile).counts(FILE, &sites);
    let at = sites.sites.iter().position(|s| s.text == condition);
    counts[at.unwrap_or_else(|| panic!("no site {condition} in {text}"))].clone()
}

/// Line counts; line 1, where `f` starts, tells how often it was entered.
pub(crate) fn lines(counts: &[(u32, u64)]) -> FileProfile {
    let entered = counts.iter().find(|(line, _)| *line == 1);
    let functions =
        entered.map(|&(line, entered)| FunctionCount { name: "f".to_owned(), line, entered });
    FileProfile {
        lines: counts.iter().copied().collect(),
        functions: functions.into_iter().collect(),
        ..FileProfile::default()
    }
}

/// A branch of `f` with the line that each way leads to.
pub(crate) fn branch(line: u32, ways: [(u64, Option<u32>); 2]) -> LineArcs {
    LineArcs {
        line,
        function: Some("f".to_owned()),
        taken: ways.iter().map(|(taken, _)| Some(*taken)).collect(),
        leads_to: ways.iter().map(|(_, to)| *to).collect(),
    }
}

/// A branch of which only the counts are known.
pub(crate) fn bare_branch(line: u32, taken: [u64; 2]) -> LineArcs {
    LineArcs { leads_to: Vec::new(), ..branch(line, taken.map(|taken| (taken, None))) }
}

/// An exact count of each condition with one of these texts, wherever it stands outside macros.
pub(crate) fn regions(text: &str, counts: Counts) -> Vec<BranchRegion> {
    let all = sites_of(text).sites;
    let of = |(condition, taken_true, taken_false): &(&str, u64, u64)| {
        let site = all.iter().rfind(|s| s.text == *condition);
        let site = site.unwrap_or_else(|| panic!("no site {condition}"));
        let pos = |p: unlikely_source::Pos| Pos { line: p.line, column: p.column };
        BranchRegion {
            start: pos(site.span.start),
            end: pos(site.span.end),
            taken_true: *taken_true,
            taken_false: *taken_false,
            kind: RegionKind::Condition,
            expanded_at: None,
        }
    };
    counts.iter().map(of).collect()
}

pub(crate) fn at(file: &str, line: u32, column: u32) -> ExpansionSite {
    ExpansionSite { file: file.to_owned(), start: Pos { line, column } }
}

/// Conditions with how often each was true and false.
pub(crate) type Counts<'c> = &'c [(&'c str, u64, u64)];

/// Advice on `text` under workloads of name, class and exact counts.
pub(crate) fn advice(text: &str, workloads: &[(&str, &str, Counts)]) -> Advice {
    let workloads: Vec<Workload> = workloads
        .iter()
        .map(|(name, class, counts)| Workload {
            name: (*name).to_owned(),
            class: (*class).to_owned(),
            profile: profile(FileProfile {
                regions: regions(text, counts),
                ..FileProfile::default()
            }),
        })
        .collect();
    let files = BTreeMap::from([(FILE.to_owned(), sites_of(text))]);
    advise(&workloads, &files, Thresholds::default())
}
