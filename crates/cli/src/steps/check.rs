//! Which proposed hints change the machine code.

use std::collections::HashMap;
use std::thread;

use unlikely_advise::{Candidate, SiteVerdict};
use unlikely_codegen::{CheckError, Checker, CodeDelta, Edit, Pos, SiteQuery, Unit};
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

/// Compiles every unit that holds a proposed site, with and without its hint.
pub(crate) fn check(
    project: &Project,
    scanned: &Scanned,
    baseline: &Baseline,
) -> anyhow::Result<Vec<Checked>> {
    let proposed: Vec<usize> = (0..scanned.advice.scan.candidates.len())
        .filter(|i| scanned.advice.scan.candidates[*i].verdict == SiteVerdict::Propose)
        .collect();
    let tried = &proposed[..proposed.len().min(project.config.advise.sites_max)];
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let checker = Checker::new(&baseline.build.tree, &project.state("check"), workers)
        .map_err(|e| fail(Exit::System, e.to_string()))?;
    let units = units_by_file(&checker, &baseline.units);
    let dialect = Dialect::new(&scanned.table, scanned.sources.keys().map(String::as_str));
    let checking = stage("comparing machine code", tried.len() as u64);
    let mut out = Vec::new();
    for index in tried {
        let target = &scanned.advice.targets[*index];
        checking.note(&format!("{}:{}", target.file, target.condition.start.line));
        let form = dialect.form(
            &target.file,
            target.bare.start,
            scanned.advice.scan.candidates[*index].expect,
        );
        let site = Site { scanned, checker: &checker, index: *index };
        let units = units.get(&target.file).map_or(&[][..], Vec::as_slice);
        let mut checked = site.check(form.clone(), units)?;
        if checked.fate == Fate::Withdrawn && form != HintForm::Builtin {
            // The macro is out of sight there after all (an #if, an order of inclusion).
            checked = site.check(HintForm::Builtin, units)?;
        }
        out.push(checked);
        checking.step();
    }
    let changed = out.iter().filter(|c| c.fate == Fate::Kept).count();
    checking.done(&format!("{changed} of {} hints change it", out.len()));
    for index in &proposed[tried.len()..] {
        let candidate = &scanned.advice.scan.candidates[*index];
        let target = &scanned.advice.targets[*index];
        out.push(Checked {
            index: *index,
            edit: HintEdit {
                bytes: target.bare.clone(),
                form: HintForm::Builtin,
                expect: candidate.expect,
            },
            code: Vec::new(),
            fate: Fate::NotTried,
            reason: format!("below the {} best (advise.sites_max)", tried.len()),
        });
    }
    Ok(out)
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

struct Site<'s> {
    scanned: &'s Scanned,
    checker: &'s Checker,
    index: usize,
}

impl Site<'_> {
    fn check(&self, form: HintForm, units: &[&Unit]) -> anyhow::Result<Checked> {
        let target = &self.scanned.advice.targets[self.index];
        let candidate = &self.scanned.advice.scan.candidates[self.index];
        let edit = HintEdit { bytes: target.bare.clone(), form, expect: candidate.expect };
        let before = self.scanned.sources.get(&target.file).map_or(&[][..], Vec::as_slice);
        let text = apply(before, std::slice::from_ref(&edit))
            .map_err(|e| fail(Exit::Usage, format!("{}: {e}", target.file)))?;
        let jobs: Vec<_> = units
            .iter()
            .map(|unit| {
                let edit = Edit { file: target.file.clone(), text: text.clone() };
                ((*unit).clone(), edit, self.query(candidate))
            })
            .collect();
        let mut code = Vec::new();
        let mut broken = None;
        for result in self.checker.check_all(&jobs) {
            match result {
                Ok(delta) => code.push(delta),
                Err(error @ (CheckError::File { .. } | CheckError::Spawn { .. })) => {
                    return Err(fail(Exit::System, error.to_string()));
                }
                Err(error) => broken = Some(error.to_string()),
            }
        }
        let (fate, reason) = fate(&code, broken);
        Ok(Checked { index: self.index, edit, code, fate, reason })
    }

    fn query(&self, candidate: &Candidate) -> SiteQuery {
        let target = &self.scanned.advice.targets[self.index];
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
    (Fate::Kept, "it changes the machine code".to_owned())
}
