//! Existing hints against the counts.

use unlikely_source::{Logic, Sites};

use crate::Measured;
use crate::model::{AuditRow, AuditVerdict};

/// Judges every measured hint of one file.
///
/// *Wrong*: the promised outcome is the rarer one. *Redundant*: a hint around it promises the
/// outcome already.
pub(crate) fn audit(path: &str, sites: &Sites, measured: &[Measured]) -> Vec<AuditRow> {
    measured
        .iter()
        .filter_map(|m| {
            let site = sites.sites.get(m.site)?;
            let hint = site.hint.as_ref()?;
            let (executed, taken) = (m.candidate.executed, m.candidate.taken);
            let kept = if hint.expect { taken } else { executed.saturating_sub(taken) };
            let verdict = if is_broken(kept, executed) {
                AuditVerdict::Wrong
            } else if promised(sites, m.site) == Some(hint.expect) {
                AuditVerdict::Redundant
            } else {
                AuditVerdict::Right
            };
            Some(AuditRow {
                file: path.to_owned(),
                line: site.span.start.line,
                hint: site.text.clone(),
                expect: hint.expect,
                executed,
                taken,
                verdict,
            })
        })
        .collect()
}

/// Whether a promise that was kept so often is wrong: the other outcome came more often.
pub(crate) fn is_broken(kept: u64, executed: u64) -> bool {
    kept < executed.saturating_sub(kept)
}

/// The outcome that the hints around a site promise for it. A joined condition that is true says so
/// of both sides of its `&&`, one that is false of both sides of its `||`; the other way round
/// either side may be the one.
fn promised(sites: &Sites, site: usize) -> Option<bool> {
    let outer = sites.sites.get(site)?.parent?;
    let around = sites.sites.get(outer)?;
    let expect = match &around.hint {
        Some(hint) => hint.expect,
        None => promised(sites, outer)?,
    };
    match around.logic {
        Logic::Same(_) => Some(expect),
        Logic::Not(_) => Some(!expect),
        Logic::And(..) => expect.then_some(true),
        Logic::Or(..) => (!expect).then_some(false),
        Logic::Leaf => None,
    }
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
