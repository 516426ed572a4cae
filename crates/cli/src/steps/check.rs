//! Which proposed hints change the machine code.

use std::collections::{BTreeMap, HashMap};
use std::thread;

use unlikely_advise::SiteVerdict;
use unlikely_codegen::{CheckError, Checker, CodeDelta, Edit, Pos, SiteQuery, TakenPair, Unit};
use unlikely_report::Fate;
use unlikely_source::{Dialect, HintEdit, HintForm, Span, apply};

use super::baseline::Baseline;
use crate::exit::{Exit, fail};
use crate::progress::stage;
use crate::project::Project;
use crate::verbs::scan::Scanned;

/// A proposed hint after its check.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    /// Index in the scan's candidates and targets.
    pub(crate) index: usize,
    pub(crate) edit: HintEdit,
    pub(crate) code: Vec<CodeDelta>,
    pub(crate) fate: Fate,
    pub(crate) reason: String,
}

/// Sites that are compiled for each hint that a patch may hold, and at least.
const LOOKS_PER_HINT: usize = 3;
const LOOKS_MIN: usize = 24;
/// Sites compiled side by side.
const BATCH: usize = 8;

/// Compiles the units that hold the best proposed sites, with and without their hints, and keeps
/// the hints that do most for the machine code: those that save jumps first.
pub(crate) fn check(
    project: &Project,
    scanned: &Scanned,
    baseline: &Baseline,
) -> anyhow::Result<Vec<Checked>> {
    let proposed: Vec<usize> = (0..scanned.advice.scan.candidates.len())
        .filter(|i| scanned.advice.scan.candidates[*i].verdict == SiteVerdict::Propose)
        .collect();
    let wanted = project.config.advise.sites_max;
    let looks = proposed.len().min(wanted.saturating_mul(LOOKS_PER_HINT).max(LOOKS_MIN));
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let checker = Checker::new(&baseline.build.tree, &project.state("check"), workers)
        .map_err(|e| fail(Exit::System, e.to_string()))?;
    let dialect = Dialect::new(&scanned.table, scanned.sources.keys().map(String::as_str));
    let desk = Desk {
        scanned,
        units: units_by_file(&checker, &baseline.units),
        checker: &checker,
        dialect,
    };
    let checking = stage("comparing machine code", looks as u64);
    let mut looked: Vec<Checked> = Vec::new();
    for batch in proposed[..looks].chunks(BATCH) {
        looked.extend(desk.check(batch)?);
        batch.iter().for_each(|_| checking.step());
    }
    let changed = count(&looked, Fate::Kept);
    let executed = |hint: &Checked| scanned.advice.scan.candidates[hint.index].executed;
    // A stable sort: equal in benefit, the counts decide.
    looked.sort_by_key(|hint| std::cmp::Reverse(benefit(hint, executed(hint))));
    let mut out: Vec<Checked> = Vec::new();
    for mut hint in looked {
        if hint.fate == Fate::Kept && count(&out, Fate::Kept) == wanted {
            hint.fate = Fate::NotTried;
            hint.reason = below(wanted);
        } else if hint.fate == Fate::Kept
            && count(&out, Fate::Kept) > 0
            && benefit(&hint, executed(&hint)).1 <= 0
        {
            hint.fate = Fate::NoBenefit;
            hint.reason =
                "it changes the machine code, but saves no jump and moves no block".to_owned();
        } else if hint.fate == Fate::Kept && desk.adds_nothing(&out, &hint)? {
            hint.fate = Fate::NoOp;
            hint.reason =
                "beside the hints that rank above it, it moves no block and saves no jump"
                    .to_owned();
        }
        out.push(hint);
    }
    checking.done(&format!("{changed} of {looks} hints change it"));
    out.extend(proposed[looks..].iter().map(|index| desk.not_tried(*index, wanted)));
    Ok(out)
}

/// What a hint does for the machine code, to compare by: whether it changes it at all, and the
/// jumps that it saves. Where these cannot be told, one in four executions is assumed to save one,
/// one in two if a block moved: a guess that puts hot conditions before cold ones, and no more.
fn benefit(hint: &Checked, executed: u64) -> (bool, i128) {
    let functions = || hint.code.iter().filter(|d| !d.identical).flat_map(|d| &d.functions);
    let saved = |t: &TakenPair| i128::from(t.before) - i128::from(t.after);
    let told: Vec<i128> = functions().filter_map(|f| f.hot_taken.as_ref().map(saved)).collect();
    let moved = functions().any(|f| f.blocks_moved.is_some_and(|n| n > 0));
    let guess = i128::from(executed) / if moved { 2 } else { 4 };
    let sum: i128 = told.iter().sum();
    let score = if told.is_empty() || (sum == 0 && moved) { guess } else { sum };
    (hint.fate == Fate::Kept, score)
}

fn below(wanted: usize) -> String {
    format!("below the {wanted} that do most for the machine code (advise.sites_max)")
}

fn count(hints: &[Checked], fate: Fate) -> usize {
    hints.iter().filter(|h| h.fate == fate).count()
}

/// The units that read each file; of several compilations of one source, each counts.
fn units_by_file<'u>(checker: &Checker, units: &'u [Unit]) -> HashMap<String, Vec<&'u Unit>> {
    let mut out: HashMap<String, Vec<&Unit>> = HashMap::new();
    for unit in units {
        // A unit whose dependencies cannot be listed still holds its own source.
        let files = checker.dependencies(unit).unwrap_or_else(|_| vec![unit.source.clone()]);
        for file in files {
            out.entry(file).or_default().push(unit);
        }
    }
    out
}

/// All that the checks of one run share.
struct Desk<'s> {
    scanned: &'s Scanned,
    checker: &'s Checker,
    units: HashMap<String, Vec<&'s Unit>>,
    dialect: Dialect<'s>,
}

impl Desk<'_> {
    /// Checks several sites side by side; results in order.
    fn check(&self, sites: &[usize]) -> anyhow::Result<Vec<Checked>> {
        let edits: Vec<HintEdit> = sites
            .iter()
            .map(|index| {
                let target = &self.scanned.advice.targets[*index];
                let expect = self.scanned.advice.scan.candidates[*index].expect;
                let form = self.dialect.form(&target.file, target.bare.start, expect);
                HintEdit { bytes: target.bare.clone(), form, expect }
            })
            .collect();
        let mut jobs = Vec::new();
        let mut ends = Vec::new();
        for (index, edit) in sites.iter().zip(&edits) {
            jobs.extend(self.jobs(*index, edit)?);
            ends.push(jobs.len());
        }
        let mut results = self.checker.check_all(&jobs).into_iter();
        let mut out = Vec::new();
        let mut start = 0;
        for ((index, edit), end) in sites.iter().zip(edits).zip(ends) {
            let own: Vec<_> = results.by_ref().take(end - start).collect();
            start = end;
            let mut hint = judged(*index, edit, own)?;
            if hint.fate == Fate::Withdrawn && hint.edit.form != HintForm::Builtin {
                // The macro is out of sight there after all (an #if, an order of inclusion).
                let edit = HintEdit { form: HintForm::Builtin, ..hint.edit };
                let again = self.checker.check_all(&self.jobs(*index, &edit)?);
                hint = judged(*index, edit, again)?;
            }
            out.push(hint);
        }
        Ok(out)
    }

    fn jobs(&self, index: usize, hint: &HintEdit) -> anyhow::Result<Vec<(Unit, Edit, SiteQuery)>> {
        let file = &self.scanned.advice.targets[index].file;
        let edit = self.edit(file, std::slice::from_ref(hint))?;
        let query = self.query(index);
        Ok(self
            .units_of(file)
            .iter()
            .map(|u| ((*u).clone(), edit.clone(), query.clone()))
            .collect())
    }

    fn units_of(&self, file: &str) -> &[&Unit] {
        self.units.get(file).map_or(&[], Vec::as_slice)
    }

    fn edit(&self, file: &str, hints: &[HintEdit]) -> anyhow::Result<Edit> {
        let before = self.scanned.sources.get(file).map_or(&[][..], Vec::as_slice);
        let text = apply(before, hints).map_err(|e| fail(Exit::System, format!("{file}: {e}")))?;
        Ok(Edit { file: file.to_owned(), text })
    }

    /// Whether the hints kept so far already make the machine code that they make with `hint`.
    fn adds_nothing(&self, kept: &[Checked], hint: &Checked) -> anyhow::Result<bool> {
        let file = |h: &Checked| self.scanned.advice.targets[h.index].file.as_str();
        let mut edits: BTreeMap<&str, Vec<HintEdit>> = BTreeMap::new();
        for other in kept.iter().filter(|h| h.fate == Fate::Kept) {
            edits.entry(file(other)).or_default().push(other.edit.clone());
        }
        if edits.is_empty() {
            return Ok(false);
        }
        let texts = |edits: &BTreeMap<&str, Vec<HintEdit>>| {
            edits.iter().map(|(file, hints)| self.edit(file, hints)).collect::<Result<Vec<_>, _>>()
        };
        let without = texts(&edits)?;
        edits.entry(file(hint)).or_default().push(hint.edit.clone());
        let with = texts(&edits)?;
        for unit in self.units_of(file(hint)) {
            // What does not compile together is found when the patches are built.
            if !self.checker.same_code(unit, &without, &with).unwrap_or(false) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn not_tried(&self, index: usize, wanted: usize) -> Checked {
        let target = &self.scanned.advice.targets[index];
        let expect = self.scanned.advice.scan.candidates[index].expect;
        Checked {
            index,
            edit: HintEdit { bytes: target.bare.clone(), form: HintForm::Builtin, expect },
            code: Vec::new(),
            fate: Fate::NotTried,
            reason: below(wanted),
        }
    }

    fn query(&self, index: usize) -> SiteQuery {
        let target = &self.scanned.advice.targets[index];
        let candidate = &self.scanned.advice.scan.candidates[index];
        let pos = |p: unlikely_source::Pos| Pos { line: p.line, column: p.column };
        let span = |s: &Span| (pos(s.start), pos(s.end));
        SiteQuery {
            file: target.file.clone(),
            start: pos(target.condition.start),
            end: pos(target.condition.end),
            when_true: target.when_true.as_ref().map(span),
            when_false: target.when_false.as_ref().map(span),
            taken_true: candidate.taken,
            taken_false: candidate.executed - candidate.taken,
        }
    }
}

/// What the results of a site's units say together.
fn judged(
    index: usize,
    edit: HintEdit,
    results: Vec<Result<CodeDelta, CheckError>>,
) -> anyhow::Result<Checked> {
    let mut code = Vec::new();
    let mut broken = None;
    for result in results {
        match result {
            Ok(delta) => code.push(delta),
            Err(error @ (CheckError::File { .. } | CheckError::Spawn { .. })) => {
                return Err(fail(Exit::System, error.to_string()));
            }
            Err(error) => broken = Some(error.to_string()),
        }
    }
    let (fate, reason) = fate(&code, broken);
    Ok(Checked { index, edit, code, fate, reason })
}

fn fate(code: &[CodeDelta], broken: Option<String>) -> (Fate, String) {
    if let Some(why) = broken {
        return (Fate::Withdrawn, why);
    }
    if code.is_empty() {
        let why = "no translation unit of the build reads this file: it cannot be checked";
        return (Fate::Withdrawn, why.to_owned());
    }
    if code.iter().all(|d| d.identical) {
        return (Fate::NoOp, "the machine code is the same with it".to_owned());
    }
    if code.iter().all(|d| d.identical || d.padding_only) {
        return (Fate::NoOp, "it changes alignment padding only".to_owned());
    }
    if code.iter().all(|d| d.identical || d.padding_only || d.within_blocks) {
        let why =
            "it changes the machine code within blocks only: no block moves and no jump is saved";
        return (Fate::NoBenefit, why.to_owned());
    }
    let functions = || code.iter().filter(|d| !d.identical).flat_map(|d| &d.functions);
    let moved = functions().any(|f| f.blocks_moved.is_some_and(|n| n > 0));
    let taken = || functions().filter_map(|f| f.hot_taken);
    let sum = |side: fn(&TakenPair) -> u64| taken().map(|t| u128::from(side(&t))).sum::<u128>();
    if !moved && taken().next().is_some() && sum(|t| t.after) > sum(|t| t.before) {
        let why = "it changes the machine code, but for the worse: more jumps are taken";
        return (Fate::NoBenefit, why.to_owned());
    }
    (Fate::Kept, "it changes the machine code".to_owned())
}
