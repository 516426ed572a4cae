//! Existing hints against the counts.

use unlikely_source::Sites;

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
            let outer = site.parent.and_then(|p| sites.sites.get(p)?.hint.as_ref());
            let verdict = if kept.saturating_mul(2) < executed {
                AuditVerdict::Wrong
            } else if outer.is_some_and(|o| o.expect == hint.expect) {
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
