//! `llvm-cov export` JSON, schema 2.0.1 and 3.x: clang's and rustc's source-based coverage.
//!
//! The best input there is: each condition has its columns and its true and false counts. What has
//! to be got right:
//! - **Macros.** A function's `filenames` has one entry for each macro expansion in it, and a
//!   branch's `FileID` is an index into that list, not into the files of the export. The expansion
//!   regions (kind 1) tell which call each index is the expansion of; calls nest, and the outermost
//!   one stands in the code. The same branches are listed again under `files[].branches` and
//!   `files[].expansions[].branches`; they are read there only if the export has no functions.
//! - **One macro call, one position, several conditions.** A macro that uses its argument, or
//!   another macro, twice has two conditions whose every coordinate is equal. They cannot be told
//!   apart, so neither is kept.
//! - **Copies.** A static inline function of a header is listed once for each object that holds it;
//!   the copies are added up.
//! - **`case` labels** are listed like conditions. Where the code region that starts at the label
//!   runs on past the label's end, it is a label; a condition is a region of its own.
//! - **Constant conditions** can be listed with both counts 0 although the region ran: that is not
//!   measured, and dropped. (Since LLVM 20 a condition constant in one direction has a true count
//!   on one side and 0 on the other, which is right.)
//! - **Racing counters.** A count is the difference of others and wraps around below zero; llvm-cov
//!   prints it as the largest number. The function is set aside.

mod lines;
mod schema;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::diag::Sink;
use crate::json::valid_utf8;
use crate::paths::resolve;
use crate::ranges::Ranges;
use crate::{
    BranchRegion, Diagnostic, ExpansionSite, FunctionCount, Pos, Profile, RegionKind, Severity,
};
use schema::{
    Branch, Document, Expansion, ExpansionDocument, Export, File, Function, KIND_CODE,
    KIND_EXPANSION, Region, Segment,
};

/// Macro calls within macro calls that are followed.
const NESTING_MAX: usize = 64;

/// Counts from here on are below zero, wrapped around. No counter gets there by counting.
const WRAPPED_MIN: i64 = 1 << 62;

/// Lines that may be filled between segments beyond one for each byte of input.
const LINES_FILLED_MIN: usize = 200_000;

/// Reads an export. `name` names the input in diagnostics. Memory is linear in the input.
#[must_use]
pub fn read(bytes: &[u8], name: &str) -> (Profile, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let text = valid_utf8(bytes, name, &mut sink);
    let mut reader = Reader { name, sink, conditions: HashMap::new() };
    let mut profile = Profile::default();
    match serde_json::from_str::<Document>(&text) {
        Ok(document) => {
            reader.check_schema(&document);
            let mut lines_left = LINES_FILLED_MIN.saturating_add(bytes.len());
            for (index, export) in document.data.into_iter().enumerate() {
                reader.export(export, index, &text, &mut profile, &mut lines_left);
            }
        }
        Err(error) => {
            let code = if error.is_eof() { "truncated" } else { "not-llvm-cov-json" };
            reader.sink.push(Severity::Error, code, name, || {
                format!(
                    "this is not llvm-cov's JSON: {error}: make it with `llvm-cov export \
                     -instr-profile X.profdata BINARY`"
                )
            });
        }
    }
    reader.add_conditions(&mut profile);
    profile.normalize();
    (profile, reader.sink.finish(name))
}

/// What identifies a condition in the source.
#[derive(PartialEq, Eq, Hash)]
struct ConditionKey {
    file: String,
    start: Pos,
    end: Pos,
    expanded_at: Option<ExpansionSite>,
}

/// A condition's counts, as far as they can be known.
struct Condition {
    taken_true: u64,
    taken_false: u64,
    kind: RegionKind,
    /// Some part of the sum is unknown, so all of it is.
    unknown: bool,
}

struct Reader<'a> {
    name: &'a str,
    sink: Sink,
    conditions: HashMap<ConditionKey, Condition>,
}

impl Reader<'_> {
    fn check_schema(&mut self, document: &Document) {
        if document.kind != "llvm.coverage.json.export"
            || !(document.version == "2.0.1" || document.version.starts_with("3."))
        {
            self.sink.push(Severity::Warning, "unknown-version", self.name, || {
                format!(
                    "type `{}`, version `{}` is not an llvm-cov export of version 2.0.1 or 3.x; \
                     it is read as if it were: compare a few counts with `llvm-cov show \
                     -show-branches=count` before you rely on them",
                    document.kind, document.version
                )
            });
        }
    }

    fn export(
        &mut self,
        export: Export,
        index: usize,
        text: &str,
        profile: &mut Profile,
        lines_left: &mut usize,
    ) {
        let mut aside: BTreeMap<String, Ranges> = BTreeMap::new();
        match &export.functions {
            Some(functions) => {
                for function in functions {
                    self.function(function, profile, &mut aside);
                }
            }
            None => self.branches_of_files(&export.files, index, text),
        }
        aside.values_mut().for_each(Ranges::sort);
        for file in export.files {
            self.report_bad_rows(file.segments.bad + file.branches.bad, &file.filename);
            self.lines(&file, &aside, profile, lines_left);
        }
    }

    fn report_bad_rows(&mut self, bad: usize, what: &str) {
        if bad > 0 {
            self.sink.push(Severity::Warning, "bad-row", self.name, || {
                format!("{bad} rows of `{what}` have not the form of this schema: export again")
            });
        }
    }

    fn lines(
        &mut self,
        file: &File,
        aside: &BTreeMap<String, Ranges>,
        profile: &mut Profile,
        lines_left: &mut usize,
    ) {
        let Some(path) = resolve("", &file.filename, self.name, &mut self.sink) else { return };
        let Some(mut lines) = lines::line_counts(&file.segments.good, lines_left) else {
            self.sink.push(Severity::Warning, "too-many-lines", &path, || {
                "its segments span more lines than a file of this export can have; its line counts \
                 are set aside: export again"
            });
            return;
        };
        if let Some(ranges) = aside.get(&path) {
            lines.retain(|&line, _| !ranges.contains(line));
        }
        lines.retain(|_, count| *count < WRAPPED_MIN.unsigned_abs());
        let of_file = profile.files.entry(path).or_default();
        for (line, count) in lines {
            of_file.add_line(line, count);
        }
    }

    fn function(
        &mut self,
        function: &Function,
        profile: &mut Profile,
        aside: &mut BTreeMap<String, Ranges>,
    ) {
        self.report_bad_rows(function.regions.bad + function.branches.bad, &function.name);
        let map = RegionMap::new(&function.regions.good);
        let paths = self.paths(&function.filenames);
        let racing = is_wrapped(function.count.0)
            || function.regions.good.iter().any(|r| is_wrapped(r.count))
            || function.branches.good.iter().any(Branch::is_wrapped);
        self.branches(&function.branches.good, &map, &paths, racing);
        let Some(body) = function.regions.good.first() else { return };
        let Some(path) = file_of(&paths, body.file) else { return };
        if racing {
            self.report_underflow(&format!("`{}`", function.name), &path);
            aside.entry(path).or_default().add(body.start.line..=body.end.line);
            return;
        }
        profile.files.entry(path).or_default().functions.push(FunctionCount {
            name: function.name.clone(),
            line: body.start.line,
            entered: u64::try_from(function.count.0).unwrap_or(0),
        });
    }

    fn report_underflow(&mut self, what: &str, path: &str) {
        self.sink.push(Severity::Warning, "counter-underflow", path, || {
            format!(
                "{what} has counts below zero, which threads that race for its counters leave; it \
                 is set aside: build with -fprofile-update=atomic and run the workload again"
            )
        });
    }

    fn paths(&mut self, filenames: &[String]) -> Vec<Option<String>> {
        filenames.iter().map(|file| resolve("", file, self.name, &mut self.sink)).collect()
    }

    /// Adds the branches of one function, or of one macro call.
    fn branches(
        &mut self,
        branches: &[Branch],
        map: &RegionMap,
        paths: &[Option<String>],
        racing: bool,
    ) {
        let mut conditions: HashMap<ConditionKey, Condition> = HashMap::new();
        for branch in branches.iter().filter(|branch| racing || !map.is_unmeasured(branch)) {
            let call = map.outermost_call(branch.file);
            let site = call.and_then(|(file, start)| {
                Some(ExpansionSite { file: file_of(paths, file)?, start })
            });
            let file = file_of(paths, branch.file).filter(|_| call.is_none() || site.is_some());
            let Some(file) = file else {
                self.report_bad_rows(1, "a function whose branches name unlisted files");
                continue;
            };
            let key =
                ConditionKey { file, start: branch.start, end: branch.end, expanded_at: site };
            match conditions.entry(key) {
                Entry::Vacant(slot) => {
                    slot.insert(Condition::new(branch, map.kind(branch), racing));
                }
                Entry::Occupied(mut slot) => {
                    slot.get_mut().unknown = true;
                    report_ambiguous(slot.key(), &mut self.sink);
                }
            }
        }
        for (key, condition) in conditions {
            self.add_condition(key, condition);
        }
    }

    fn add_condition(&mut self, key: ConditionKey, condition: Condition) {
        match self.conditions.entry(key) {
            Entry::Vacant(slot) => {
                slot.insert(condition);
            }
            Entry::Occupied(mut slot) => slot.get_mut().add(&condition),
        }
    }

    /// The branches of an export without functions.
    fn branches_of_files(&mut self, files: &[File], index: usize, text: &str) {
        for file in files {
            let Some(path) = resolve("", &file.filename, self.name, &mut self.sink) else {
                continue;
            };
            let map = SegmentMap::new(&file.segments.good);
            // Index 0 is the file itself; all others are in macros, which the expansions tell of.
            for branch in file.branches.good.iter().filter(|branch| branch.file == 0) {
                let racing = branch.is_wrapped();
                if racing {
                    self.report_underflow(&format!("line {}", branch.start.line), &path);
                } else if map.is_unmeasured(branch) {
                    continue;
                }
                let (start, end) = (branch.start, branch.end);
                let key = ConditionKey { file: path.clone(), start, end, expanded_at: None };
                self.add_condition(key, Condition::new(branch, map.kind(branch), racing));
            }
        }
        let Ok(document) = serde_json::from_str::<ExpansionDocument>(text) else { return };
        let export = document.data.into_iter().nth(index);
        for expansion in export.into_iter().flat_map(|e| e.files).flat_map(|f| f.expansions) {
            self.expansion(&expansion);
        }
    }

    fn expansion(&mut self, expansion: &Expansion) {
        let bad = expansion.target_regions.bad + expansion.branches.bad;
        self.report_bad_rows(bad, "an expansion");
        let map = RegionMap::new(&expansion.target_regions.good);
        let paths = self.paths(&expansion.filenames);
        let racing = expansion.branches.good.iter().any(Branch::is_wrapped);
        if let (true, Some(path)) = (racing, paths.iter().flatten().next()) {
            self.report_underflow("a macro call", path);
        }
        self.branches(&expansion.branches.good, &map, &paths, racing);
    }

    fn add_conditions(&mut self, profile: &mut Profile) {
        for (key, condition) in self.conditions.drain().filter(|(_, c)| !c.unknown) {
            profile.files.entry(key.file).or_default().regions.push(BranchRegion {
                start: key.start,
                end: key.end,
                taken_true: condition.taken_true,
                taken_false: condition.taken_false,
                kind: condition.kind,
                expanded_at: key.expanded_at,
            });
        }
    }
}

fn is_wrapped(count: i64) -> bool {
    !(0..WRAPPED_MIN).contains(&count)
}

impl Branch {
    fn is_wrapped(&self) -> bool {
        is_wrapped(self.taken_true) || is_wrapped(self.taken_false)
    }
}

fn file_of(paths: &[Option<String>], index: u32) -> Option<String> {
    paths.get(usize::try_from(index).ok()?)?.clone()
}

fn report_ambiguous(key: &ConditionKey, sink: &mut Sink) {
    sink.push(Severity::Note, "ambiguous-condition", &key.file, || {
        let call = match &key.expanded_at {
            Some(site) => format!("expanded at {}:{}", site.file, site.start.line),
            None => "not in a macro".to_owned(),
        };
        format!(
            "line {}, column {} ({call}) stands for several conditions with the same position; \
             their counts cannot be told apart and are left out",
            key.start.line, key.start.column
        )
    });
}

impl Condition {
    fn new(branch: &Branch, kind: RegionKind, unknown: bool) -> Self {
        Self {
            taken_true: u64::try_from(branch.taken_true).unwrap_or(0),
            taken_false: u64::try_from(branch.taken_false).unwrap_or(0),
            kind,
            unknown,
        }
    }

    fn add(&mut self, other: &Self) {
        self.taken_true = self.taken_true.saturating_add(other.taken_true);
        self.taken_false = self.taken_false.saturating_add(other.taken_false);
        self.unknown |= other.unknown;
    }
}

/// What the regions of one function tell about its branches.
struct RegionMap {
    /// Largest count of the code regions by file, start and end.
    code: HashMap<(u32, Pos, Pos), i64>,
    /// Start of the last-starting code region by file and end.
    starts_by_end: HashMap<(u32, Pos), Pos>,
    /// End of the last-ending code region by file and start.
    ends_by_start: HashMap<(u32, Pos), Pos>,
    /// Call of each expansion: file and start; and where the call ends.
    calls: HashMap<u32, (u32, Pos)>,
    call_ends: HashMap<(u32, Pos), Pos>,
}

impl RegionMap {
    fn new(regions: &[Region]) -> Self {
        let mut map = Self {
            code: HashMap::new(),
            starts_by_end: HashMap::new(),
            ends_by_start: HashMap::new(),
            calls: HashMap::new(),
            call_ends: HashMap::new(),
        };
        for r in regions {
            if r.kind == KIND_EXPANSION {
                map.calls.entry(r.expanded_file).or_insert((r.file, r.start));
                map.call_ends.insert((r.file, r.start), r.end);
            } else if r.kind == KIND_CODE {
                let count = map.code.entry((r.file, r.start, r.end)).or_insert(r.count);
                *count = r.count.max(*count);
                let start = map.starts_by_end.entry((r.file, r.end)).or_insert(r.start);
                *start = r.start.max(*start);
                let end = map.ends_by_start.entry((r.file, r.start)).or_insert(r.end);
                *end = r.end.max(*end);
            }
        }
        map
    }

    /// The call in the code whose expansion, at any depth, is `file`.
    fn outermost_call(&self, file: u32) -> Option<(u32, Pos)> {
        let mut call = *self.calls.get(&file)?;
        for _ in 0..NESTING_MAX {
            match self.calls.get(&call.0) {
                Some(&outer) => call = outer,
                None => break,
            }
        }
        Some(call)
    }

    /// Both counts are 0 although the condition's own region ran.
    fn is_unmeasured(&self, branch: &Branch) -> bool {
        let ran = self.code.get(&(branch.file, branch.start, branch.end)).is_some_and(|&n| n > 0);
        ran && branch.taken_true == 0 && branch.taken_false == 0
    }

    fn kind(&self, branch: &Branch) -> RegionKind {
        let own_end = self.starts_by_end.get(&(branch.file, branch.end));
        if own_end.is_some_and(|&start| start >= branch.start) {
            return RegionKind::Condition;
        }
        // A label or condition that begins with a macro begins, as a region, behind it.
        let behind_call = self.call_ends.get(&(branch.file, branch.start)).copied();
        let runs_on = [Some(branch.start), behind_call].into_iter().flatten().any(|start| {
            self.ends_by_start.get(&(branch.file, start)).is_some_and(|&end| end > branch.end)
        });
        if runs_on { RegionKind::Case } else { RegionKind::Condition }
    }
}

/// What the segments of a file tell about its branches: less than regions do.
struct SegmentMap {
    /// Largest count that begins at a position.
    counts: HashMap<Pos, i64>,
}

impl SegmentMap {
    fn new(segments: &[Segment]) -> Self {
        let mut counts = HashMap::new();
        for s in segments {
            let count = counts.entry(s.at).or_insert(s.count);
            *count = s.count.max(*count);
        }
        Self { counts }
    }

    fn is_unmeasured(&self, branch: &Branch) -> bool {
        let ran = self.counts.get(&branch.start).is_some_and(|&n| n > 0);
        ran && branch.taken_true == 0 && branch.taken_false == 0
    }

    /// A condition is a region, so something ends with it; a label's region runs on.
    fn kind(&self, branch: &Branch) -> RegionKind {
        let starts = self.counts.contains_key(&branch.start);
        if starts && !self.counts.contains_key(&branch.end) {
            RegionKind::Case
        } else {
            RegionKind::Condition
        }
    }
}
