//! Hints that the program counted itself, against its text.
//!
//! A macro of the hint crate says where it stands, what it promises and how often that was so. That
//! is all a judgement needs; the text only tells whether it is still true of the present source. No
//! grammar is asked: at the place named a macro call must begin, and if it is one of the hint
//! macros, with this hint and this condition, whole and token by token. A macro of the project's own around a hint is counted
//! under its own name and place, with a condition that stands elsewhere, so of that only the call is
//! looked for.

use std::collections::BTreeMap;

use unlikely_profile::{Diagnostic, HintCount, Severity};

use crate::audit::is_broken;
use crate::model::{AuditRow, AuditVerdict, Scan};
use crate::tokens::begins_with_argument;
use crate::{Workload, sort_audit};

/// Characters of a condition that a diagnostic shows.
const SHOWN_MAX: usize = 80;

/// Puts the counted hints of `workloads` into the audit of `scan`, summed over workloads. `texts`
/// has the project's sources by path; a site whose text is another by now is named and left out.
pub fn audit_counted(workloads: &[Workload], texts: &BTreeMap<String, Vec<u8>>, scan: &mut Scan) {
    for (path, hints) in summed(workloads) {
        let Some(text) = texts.get(path) else {
            scan.diagnostics.push(source_missing(path, hints.len()));
            continue;
        };
        let text = Text::new(text);
        let (fresh, stale): (Vec<_>, Vec<_>) = hints.iter().partition(|h| text.holds(h));
        scan.diagnostics.extend(stale_sites(path, &stale));
        scan.audit.extend(fresh.into_iter().map(|hint| row(path, hint)));
    }
    sort_audit(&mut scan.audit);
}

/// The hints of each file; equal ones of several workloads are one.
fn summed(workloads: &[Workload]) -> BTreeMap<&str, Vec<HintCount>> {
    let mut out: BTreeMap<&str, BTreeMap<_, HintCount>> = BTreeMap::new();
    for (path, file) in workloads.iter().flat_map(|w| &w.profile.files) {
        for hint in &file.hints {
            let key = (hint.line, hint.column, hint.expect, hint.condition.as_str());
            let sites = out.entry(path).or_default();
            match sites.get_mut(&key) {
                Some(sum) => {
                    sum.right = sum.right.saturating_add(hint.right);
                    sum.wrong = sum.wrong.saturating_add(hint.wrong);
                }
                None => _ = sites.insert(key, hint.clone()),
            }
        }
    }
    out.into_iter().map(|(path, sites)| (path, sites.into_values().collect())).collect()
}

fn row(path: &str, hint: &HintCount) -> AuditRow {
    let executed = hint.right.saturating_add(hint.wrong);
    AuditRow {
        file: path.to_owned(),
        line: hint.line,
        hint: format!("{}!({})", name(hint.expect), hint.condition),
        expect: hint.expect,
        executed,
        taken: if hint.expect { hint.right } else { executed.saturating_sub(hint.right) },
        verdict: match executed {
            0 => AuditVerdict::NotExecuted,
            _ if is_broken(hint.right, executed) => AuditVerdict::Wrong,
            _ => AuditVerdict::Right,
        },
    }
}

fn name(expect: bool) -> &'static str {
    if expect { "likely" } else { "unlikely" }
}

fn source_missing(path: &str, hints: usize) -> Diagnostic {
    let message = format!(
        "{path} has {hints} counted hints, but the project has no such source: it moved, or the \
         build makes it (then import with --map FROM=TO)"
    );
    Diagnostic::new(Severity::Note, "source-missing", message, Some(path))
}

fn stale_sites(path: &str, stale: &[&HintCount]) -> Option<Diagnostic> {
    let first = stale.first()?;
    let message = format!(
        "{} counted hints of {path} are not where they were when the program was built (line {}, \
         column {} holds no `{}!({})`, for one); they are set aside: build, run and import again",
        stale.len(),
        first.line,
        first.column,
        name(first.expect),
        clipped(&first.condition)
    );
    Some(Diagnostic::new(Severity::Warning, "stale-site", message, Some(path)))
}

/// A text from outside, as much of it as a message has room for.
fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A source by its lines.
struct Text<'t> {
    text: &'t str,
    /// Where each line starts.
    lines: Vec<usize>,
}

impl<'t> Text<'t> {
    fn new(bytes: &'t [u8]) -> Self {
        // What Rust compiles is UTF-8; of anything else the part that is.
        let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        // A byte-order mark is no column.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, lines: std::iter::once(0).chain(ends).collect() }
    }

    /// Whether the text still holds this hint.
    fn holds(&self, hint: &HintCount) -> bool {
        let call = self.from(hint.line, hint.column).and_then(macro_call);
        match call {
            None => false,
            Some((called @ ("likely" | "unlikely"), arguments)) => {
                called == name(hint.expect) && begins_with_argument(arguments, &hint.condition)
            }
            Some(_) => true,
        }
    }

    /// What stands from this place on; columns count characters.
    fn from(&self, line: u32, column: u32) -> Option<&'t str> {
        let start = *self.lines.get(usize::try_from(line).ok()?.checked_sub(1)?)?;
        let rest = self.text.get(start..)?;
        let column = usize::try_from(column).ok()?.checked_sub(1)?;
        let (at, _) = rest.split('\n').next()?.char_indices().nth(column)?;
        rest.get(at..)
    }
}

/// The last name of the path of the macro call that `text` begins with, and what follows its
/// opening bracket.
fn macro_call(text: &str) -> Option<(&str, &str)> {
    let in_path = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:#$".contains(c);
    let (path, rest) = text.split_at(text.find(|c| !in_path(c))?);
    let rest = rest.strip_prefix('!')?.trim_start().strip_prefix(['(', '[', '{'])?;
    let path = path.strip_prefix("::").unwrap_or(path);
    let starts = |c: char| c == '_' || c == '$' || c.is_alphabetic();
    let is_name = |part: &str| part.starts_with(starts) && !part.contains(char::is_whitespace);
    if path.starts_with(char::is_whitespace) || !path.split("::").all(|p| is_name(p.trim())) {
        return None;
    }
    Some((path.rsplit("::").next()?.trim(), rest))
}

#[cfg(test)]
#[path = "counted_tests.rs"]
mod tests;
