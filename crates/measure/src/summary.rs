//! From what the journal keeps of a campaign to its report: every arm and metric judged, claims
//! adjusted for each other, and what n counts in words.

use crate::design::Design;
use crate::error::MeasureError;
use crate::family;
use crate::journal::{Registered, Session};
use crate::layers;
use crate::metric::Metric;
use crate::outlier;
use crate::plan::{Plan, Stop, arm_name};
use crate::record::{BlockRecord, units, valid};
use crate::report::{BenchReport, BlockRow, Ending, Provenance, SCHEMA, UnitOf};
use crate::verdict::{self, Rules};
use std::collections::BTreeSet;

/// All that is known of a campaign.
#[derive(Clone, Copy)]
pub(crate) struct Kept<'k> {
    pub(crate) plan: &'k Plan,
    pub(crate) design: &'k Design,
    pub(crate) records: &'k [BlockRecord],
    pub(crate) sessions: &'k [Session],
}

impl<'d> Rules<'d> {
    pub(crate) fn of(plan: &Plan, metric: &Metric, design: &'d Design) -> Self {
        Self {
            direction: metric.direction(),
            margin: plan.equivalence_margin,
            strict: plan.strict,
            design,
            arm: 'B',
            unit: if plan.builds() > 1 { UnitOf::Build } else { UnitOf::Block },
        }
    }
}

/// The report on B by the first metric; the other arms and metrics are in its `others`.
pub(crate) fn report(
    kept: Kept<'_>,
    key: &str,
    registered: &Registered,
) -> Result<BenchReport, MeasureError> {
    let arms = kept.plan.arms.len() as u32;
    let mut claims = Vec::new();
    let mut explored = Vec::new();
    for metric in 0..kept.plan.metrics.len() {
        for arm in 1..arms {
            let one = kept.comparison(arm, metric).ok_or_else(|| MeasureError::Summary {
                key: key.to_owned(),
                what: "its values are not finite numbers above zero",
            })?;
            if metric == 0 { claims.push(one) } else { explored.push(one) }
        }
    }
    family::claim_together(claims.iter_mut());
    family::explore(explored.iter_mut());
    // Last, as what adjusts a claim gives it another reason.
    for one in claims.iter_mut().chain(&mut explored) {
        caution(one, registered);
    }
    let mut all = claims.into_iter();
    let mut first = all
        .next()
        .ok_or(MeasureError::Summary { key: key.to_owned(), what: "it compares nothing" })?;
    first.others = all.chain(explored).collect();
    Ok(first)
}

/// A campaign that was made longer has looked at its data in a way that no interval allows for.
fn caution(report: &mut BenchReport, registered: &Registered) {
    if registered.extended_from.is_empty() {
        return;
    }
    let blocks: Vec<String> = registered.extended_from.iter().map(ToString::to_string).collect();
    report.reason += &format!(
        "; caution: the campaign was made longer after its result at {} blocks was known, which \
         makes false claims likelier than the interval says",
        blocks.join(" and ")
    );
}

impl Kept<'_> {
    fn comparison(&self, arm: u32, index: usize) -> Option<BenchReport> {
        let plan = self.plan;
        let metric = plan.metrics.get(index)?;
        let arm_name = arm_name(arm as usize);
        let rules = Rules { arm: arm_name, ..Rules::of(plan, metric, self.design) };
        let units = units(plan, self.records, arm, index);
        let judged = verdict::judge(&units, rules)?;
        let mut rows: Vec<BlockRow> =
            self.records.iter().filter_map(|record| record.row(arm, index)).collect();
        outlier::flag(&mut rows);
        let coarse = units.len() > 1
            && units.iter().all(|unit| *unit == units[0])
            && units[0] != 0.0
            && metric.is_printed();
        let values = |of: fn(&BlockRow) -> f64| -> Vec<f64> {
            rows.iter().filter(|row| row.invalid.is_none()).map(of).collect()
        };
        let blocks = valid(self.records).count() as u32;
        Some(BenchReport {
            schema: SCHEMA.to_owned(),
            metric: metric.name(),
            direction: metric.direction(),
            unit: metric.unit().to_owned(),
            arm: arm_name,
            a: verdict::summarise(&values(|row| row.a))?,
            b: verdict::summarise(&values(|row| row.b))?,
            ratio: judged.ratio,
            ci95: judged.ci95,
            p: judged.p,
            companion: judged.companion,
            sign_p: judged.sign_p,
            claim_ci95: judged.claim_ci95,
            mde80_percent: judged.mde80_percent,
            equivalence_margin: plan.equivalence_margin,
            verdict: judged.verdict,
            reason: judged.reason,
            blocks,
            invalid_blocks: self.records.len() as u32 - blocks,
            n: units.len() as u32,
            n_unit: rules.unit,
            n_counts: self.n_counts(units.len()),
            layers: layers::of(plan, self.records, self.sessions, arm, index),
            ending: Ending {
                rule: plan.stop,
                blocks_max: plan.blocks,
                looks: judged.looks,
                early: blocks < plan.blocks,
                ratio_unbiased: judged.ratio_unbiased,
            },
            family: None,
            seed: plan.seed,
            provenance: self.provenance(arm, coarse),
            rows,
            confirmed: None,
            others: Vec::new(),
        })
    }

    /// What n is, in one sentence, and the layers that it does not sample.
    fn n_counts(&self, units: usize) -> String {
        let boots: BTreeSet<&str> = valid(self.records)
            .filter_map(|record| self.sessions.get(record.session as usize))
            .map(|session| session.machine.boot_id.as_str())
            .collect();
        let sittings: BTreeSet<u32> = valid(self.records).map(|record| record.session).collect();
        let when = format!("in {} boot(s) and {} sitting(s)", boots.len(), sittings.len());
        if self.plan.builds() > 1 {
            format!(
                "{units} pairs of salted builds, each the mean of {} pairs of processes, \
                 {when}; what another boot would add is held only if there was more than one",
                self.plan.blocks_per_unit()
            )
        } else {
            format!(
                "{units} pairs of processes, of one build per arm, {when}; the interval \
                 does not hold what another build's layout or another boot would add"
            )
        }
    }

    fn provenance(&self, arm: u32, coarse: bool) -> Provenance {
        let machines: Vec<_> =
            self.sessions.iter().map(|session| session.machine.clone()).collect();
        let warnings: BTreeSet<String> = machines
            .iter()
            .flat_map(|machine| machine.warnings())
            .map(|warning| warning.to_string())
            .chain(self.records.iter().flat_map(|record| record.warnings.clone()))
            .collect();
        let machine = machines.first();
        let command = |arm: usize| {
            self.plan.arms.get(arm).map_or_else(String::new, |arm| arm.command.clone())
        };
        let warning_of_stop = (self.plan.stop == Stop::Open).then(|| {
            "open-ended: the interval is an asymptotic confidence sequence, which holds at every \
             look, but only for many blocks: plan a maximum and let it stop sequentially for a \
             claim in print"
                .to_owned()
        });
        let warning_of_digits = coarse.then(|| {
            "every block gave the same ratio: if the command rounds what it prints, the interval is \
             too narrow by that; let it print more digits"
                .to_owned()
        });
        Provenance {
            command_a: command(0),
            command_b: command(arm as usize),
            started_unix_s: self.sessions.first().map_or(0, |session| session.started_unix_s),
            cpu: machine.map_or_else(String::new, |machine| machine.cpu.clone()),
            kernel: machine.map_or_else(String::new, |machine| machine.kernel.clone()),
            turbo: machine.map_or_else(String::new, |machine| machine.turbo.to_string()),
            tool: concat!("unlikely ", env!("CARGO_PKG_VERSION")).to_owned(),
            warnings: warnings
                .into_iter()
                .chain(warning_of_stop)
                .chain(warning_of_digits)
                .collect(),
            machines,
        }
    }
}
