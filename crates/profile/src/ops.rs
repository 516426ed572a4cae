//! What can be done with profiles once they are read: adding one to another, and giving their
//! files other names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::paths::map_path;
use crate::{BranchRegion, FileProfile, FunctionCount, HintCount, LineArcs, Profile};

impl Profile {
    /// Adds the counts of `other`. All sums stop at `u64::MAX`.
    ///
    /// Regions are added where position, kind and macro call agree. Arcs are added only where it
    /// is certain that both sides list them in the same order, which their different
    /// destinations prove; else both stay, as two copies of the line's code.
    pub fn merge(&mut self, other: Profile) {
        for (path, file) in other.files {
            self.add_file(path, file);
        }
    }

    /// Replaces path prefixes, `(from, to)`, the first match winning, and shortens `.` and `..`.
    ///
    /// A prefix matches whole components; the empty one matches every relative path. Files that
    /// get the same name are merged. Macro call sites are renamed alike.
    pub fn map_paths(&mut self, mapping: &[(String, String)]) {
        for (path, mut file) in std::mem::take(&mut self.files) {
            for site in file.regions.iter_mut().filter_map(|r| r.expanded_at.as_mut()) {
                site.file = map_path(&site.file, mapping);
            }
            self.add_file(map_path(&path, mapping), file);
        }
    }

    /// Appends the counts of one file as they are. For readers, whose input can name one file any
    /// number of times; they call [`Profile::normalize`] once at the end.
    pub(crate) fn append_file(&mut self, path: String, file: FileProfile) {
        match self.files.entry(path) {
            Entry::Vacant(slot) => {
                slot.insert(file);
            }
            Entry::Occupied(mut slot) => {
                let sum = slot.get_mut();
                sum.add_lines(file.lines, file.barriers);
                sum.regions.extend(file.regions);
                sum.arcs.extend(file.arcs);
                sum.functions.extend(file.functions);
                sum.hints.extend(file.hints);
            }
        }
    }

    /// Sorts and adds up what appended files have in common.
    pub(crate) fn normalize(&mut self) {
        self.files.values_mut().for_each(FileProfile::normalize);
    }

    fn add_file(&mut self, path: String, file: FileProfile) {
        match self.files.entry(path) {
            Entry::Vacant(slot) => {
                slot.insert(file).normalize();
            }
            Entry::Occupied(mut slot) => slot.get_mut().absorb(file),
        }
    }
}

impl FileProfile {
    fn absorb(&mut self, other: FileProfile) {
        self.add_lines(other.lines, other.barriers);
        self.regions.extend(other.regions);
        self.functions.extend(other.functions);
        self.hints.extend(other.hints);
        absorb_arcs(&mut self.arcs, other.arcs);
        self.normalize();
    }

    /// Adds executions of one line.
    pub(crate) fn add_line(&mut self, line: u32, count: u64) {
        let sum = self.lines.entry(line).or_insert(0);
        *sum = sum.saturating_add(count);
    }

    /// Adds executions of calls or `asm` on one line.
    pub(crate) fn add_barriers(&mut self, line: u32, count: u64) {
        let sum = self.barriers.entry(line).or_insert(0);
        *sum = sum.saturating_add(count);
    }

    fn add_lines(&mut self, lines: BTreeMap<u32, u64>, barriers: BTreeMap<u32, u64>) {
        for (line, count) in lines {
            self.add_line(line, count);
        }
        for (line, count) in barriers {
            self.add_barriers(line, count);
        }
    }

    /// Sorts regions, functions and hints and adds up those that are the same.
    pub(crate) fn normalize(&mut self) {
        fn key(r: &BranchRegion) -> (crate::Pos, crate::Pos, bool, Option<&crate::ExpansionSite>) {
            (r.start, r.end, r.kind == crate::RegionKind::Case, r.expanded_at.as_ref())
        }
        self.regions.sort_by(|a, b| key(a).cmp(&key(b)));
        self.regions.dedup_by(|next, kept| {
            let same = key(next) == key(kept);
            if same {
                kept.taken_true = kept.taken_true.saturating_add(next.taken_true);
                kept.taken_false = kept.taken_false.saturating_add(next.taken_false);
            }
            same
        });
        fn place(f: &FunctionCount) -> (u32, &str) {
            (f.line, &f.name)
        }
        self.functions.sort_by(|a, b| place(a).cmp(&place(b)));
        self.functions.dedup_by(|next, kept| {
            let same = place(next) == place(kept);
            if same {
                kept.entered = kept.entered.saturating_add(next.entered);
            }
            same
        });
        fn site(h: &HintCount) -> (u32, u32, bool, &str) {
            (h.line, h.column, h.expect, &h.condition)
        }
        self.hints.sort_by(|a, b| site(a).cmp(&site(b)));
        self.hints.dedup_by(|next, kept| {
            let same = site(next) == site(kept);
            if same {
                kept.right = kept.right.saturating_add(next.right);
                kept.wrong = kept.wrong.saturating_add(next.wrong);
            }
            same
        });
    }
}

/// What makes two arc lists the same branch: line, function, destinations, and which of several
/// alike it is within its own profile.
type ArcsKey = (Alike, usize);

/// Line, function, destinations.
type Alike = (u32, Option<String>, Vec<Option<u32>>);

fn absorb_arcs(ours: &mut Vec<LineArcs>, theirs: Vec<LineArcs>) {
    let mut index: BTreeMap<ArcsKey, usize> = BTreeMap::new();
    let mut alike = BTreeMap::new();
    for (i, arcs) in ours.iter().enumerate() {
        if let Some(key) = arcs_key(arcs, &mut alike) {
            index.insert(key, i);
        }
    }
    alike.clear();
    for arcs in theirs {
        let found = arcs_key(&arcs, &mut alike).and_then(|key| index.get(&key).copied());
        match found.and_then(|i| ours.get_mut(i)) {
            Some(kept) => {
                for (sum, add) in kept.taken.iter_mut().zip(&arcs.taken) {
                    *sum = match (*sum, *add) {
                        (Some(a), Some(b)) => Some(a.saturating_add(b)),
                        (a, b) => a.or(b),
                    };
                }
            }
            None => ours.push(arcs),
        }
    }
}

/// The key of a branch whose arcs lead to known and different lines, else `None`.
fn arcs_key(arcs: &LineArcs, alike: &mut BTreeMap<Alike, usize>) -> Option<ArcsKey> {
    let mut lines: Vec<u32> = arcs.leads_to.iter().copied().collect::<Option<_>>()?;
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() || lines.len() != arcs.taken.len() {
        return None;
    }
    let branch = (arcs.line, arcs.function.clone(), arcs.leads_to.clone());
    let nth = alike.entry(branch.clone()).or_insert(0);
    *nth += 1;
    Some((branch, *nth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExpansionSite, Pos, RegionKind};

    fn one(path: &str, file: FileProfile) -> Profile {
        Profile { files: BTreeMap::from([(path.to_owned(), file)]) }
    }

    fn region(line: u32, taken_true: u64, site: Option<&str>) -> BranchRegion {
        let start = Pos { line, column: 5 };
        BranchRegion {
            start,
            end: Pos { line, column: 9 },
            taken_true,
            taken_false: 1,
            kind: RegionKind::Condition,
            expanded_at: site.map(|file| ExpansionSite { file: file.to_owned(), start }),
        }
    }

    fn arcs(taken: &[Option<u64>], leads_to: &[Option<u32>]) -> FileProfile {
        let arcs = LineArcs {
            line: 7,
            function: Some("f".to_owned()),
            taken: taken.to_vec(),
            leads_to: leads_to.to_vec(),
        };
        FileProfile { arcs: vec![arcs], ..FileProfile::default() }
    }

    #[test]
    fn merge_adds_and_saturates() {
        let mut sum = one(
            "a.c",
            FileProfile {
                lines: BTreeMap::from([(1, u64::MAX), (2, 3)]),
                regions: vec![region(4, 10, None)],
                ..FileProfile::default()
            },
        );
        sum.merge(one(
            "a.c",
            FileProfile {
                lines: BTreeMap::from([(1, 5), (3, 0)]),
                regions: vec![region(4, 1, None), region(4, 2, Some("b.c"))],
                ..FileProfile::default()
            },
        ));
        let file = &sum.files["a.c"];
        assert_eq!(file.lines, BTreeMap::from([(1, u64::MAX), (2, 3), (3, 0)]));
        let trues: Vec<u64> = file.regions.iter().map(|r| r.taken_true).collect();
        assert_eq!(trues, [11, 2], "a macro's condition is another at each call");
    }

    #[test]
    fn arcs_add_up_only_where_their_destinations_prove_the_order() {
        let mut sum = one("a.c", arcs(&[Some(9), None], &[Some(8), Some(10)]));
        sum.merge(one("a.c", arcs(&[Some(1), Some(2)], &[Some(8), Some(10)])));
        assert_eq!(sum.files["a.c"].arcs.len(), 1);
        assert_eq!(sum.files["a.c"].arcs[0].taken, [Some(10), Some(2)]);

        let mut alike = one("a.c", arcs(&[Some(9), Some(0)], &[Some(8), Some(8)]));
        alike.merge(one("a.c", arcs(&[Some(0), Some(7)], &[Some(8), Some(8)])));
        assert_eq!(alike.files["a.c"].arcs.len(), 2, "one destination proves no order");

        for doubtful in [&[][..], &[Some(8), None], &[Some(8), Some(8)], &[Some(10), Some(8)]] {
            let mut sum = sum.clone();
            sum.merge(one("a.c", arcs(&[Some(0), Some(7)], doubtful)));
            assert_eq!(sum.files["a.c"].arcs.len(), 2, "{doubtful:?}");
        }
    }

    #[test]
    fn mapping_to_one_name_merges() {
        let mut profile = one("/tmp/b1/a.c", arcs(&[Some(1)], &[Some(2)]));
        profile.merge(one("/tmp/b2/./a.c", arcs(&[Some(4)], &[Some(2)])));
        profile.merge(one(
            "/tmp/b1/m.h",
            FileProfile { regions: vec![region(1, 1, Some("/tmp/b1/a.c"))], ..Default::default() },
        ));
        profile.map_paths(&[
            ("/tmp/b1".to_owned(), String::new()),
            ("/tmp/b2".to_owned(), String::new()),
        ]);
        assert_eq!(profile.files.keys().collect::<Vec<_>>(), ["a.c", "m.h"]);
        assert_eq!(profile.files["a.c"].arcs[0].taken, [Some(5)]);
        let site = profile.files["m.h"].regions[0].expanded_at.as_ref().unwrap();
        assert_eq!(site.file, "a.c");
    }
}
