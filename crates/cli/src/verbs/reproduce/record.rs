//! From the reports of an experiment's comparisons to one row of the table.

use anyhow::{Context, bail};
use experiments::{ArmReport, CodeReport, ComparisonReport, Report};
use unlikely_report::{CodePair, HotPath, Measured, Rate, ReproduceVerdict, Reproduced, TextBytes};

use super::plan::{Plan, Text};

/// The row of `plan`, whose comparisons `reports` are, in its order.
pub(super) fn experiment(plan: &Plan, reports: &[Report]) -> anyhow::Result<Reproduced> {
    let comparisons =
        reports.iter().map(|report| measured(plan, report)).collect::<anyhow::Result<Vec<_>>>()?;
    let [report, ..] = reports else { bail!("{} has no comparison", plan.name) };
    let [first, ..] = &comparisons[..] else { bail!("{} has no comparison", plan.name) };
    Ok(Reproduced {
        name: plan.name.to_owned(),
        title: report.title.clone(),
        claim: plan.claim.publish(&first.comparison),
        measured: first.clone(),
        further_claims: plan.further.iter().map(|(of, claim)| claim.publish(of)).collect(),
        text_claim: plan.text_claim.map(|sizes| sizes.publish()),
        text_bytes: text_bytes(plan, report),
        code: code(report, plan.code.0)
            .zip(code(report, plan.code.1))
            .map(|(before, after)| CodePair { before: hot_path(before), after: hot_path(after) }),
        comparisons,
    })
}

fn measured(plan: &Plan, report: &Report) -> anyhow::Result<Measured> {
    if let [not_run, ..] = &report.not_run[..] {
        return Ok(Measured {
            comparison: not_run.name.clone(),
            title: String::new(),
            operation: String::new(),
            before: String::new(),
            after: plan.arm.to_owned(),
            ns: None,
            rate: None,
            ratio: None,
            ci95: None,
            claim_ci95: None,
            p: None,
            verdict: ReproduceVerdict::SameMachineCode,
            blocks: 0,
            n: 0,
            n_counts: format!("nothing was run: {}", not_run.why),
            units: Vec::new(),
        });
    }
    let comparison = report.comparisons.first().context("a report without comparison")?;
    let at = comparison.arms.iter().position(|arm| arm.name == plan.arm);
    let at = at.with_context(|| format!("{} has no arm {}", comparison.name, plan.arm))?;
    arms(plan, comparison, at).with_context(|| format!("{} was not compared", comparison.name))
}

/// Arm number `at` of a comparison that ran; `None` if it is the baseline.
fn arms(plan: &Plan, comparison: &ComparisonReport, at: usize) -> Option<Measured> {
    let (before, after): (&ArmReport, &ArmReport) =
        (comparison.arms.first()?, comparison.arms.get(at)?);
    let ratio = after.ratio.as_ref()?;
    Some(Measured {
        comparison: comparison.name.clone(),
        title: comparison.title.clone(),
        operation: comparison.operation.clone(),
        before: before.name.clone(),
        after: after.name.clone(),
        ns: Some([before.ns_per_operation, after.ns_per_operation]),
        rate: plan.rate.map(|unit| Rate {
            unit: unit.name.to_owned(),
            before: unit.ns / before.ns_per_operation,
            after: unit.ns / after.ns_per_operation,
        }),
        ratio: Some(ratio.ratio),
        ci95: Some(ratio.ci95),
        claim_ci95: Some(ratio.claim_ci95),
        p: Some(ratio.p),
        verdict: ratio.verdict.into(),
        blocks: comparison.blocks,
        n: comparison.n,
        n_counts: comparison.n_counts.clone(),
        units: comparison
            .rows
            .iter()
            .filter_map(|row| {
                let blocks =
                    row.blocks.iter().map(|block| Some(log(&block.ns, at)? - log(&block.ns, 0)?));
                mean(&blocks.collect::<Option<Vec<f64>>>()?).map(f64::exp)
            })
            .collect(),
    })
}

/// The logarithm of an arm's time in a block, as the mean over its copies.
fn log(ns: &[Vec<f64>], arm: usize) -> Option<f64> {
    mean(&ns.get(arm)?.iter().map(|ns| ns.ln()).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

fn text_bytes(plan: &Plan, report: &Report) -> Option<TextBytes> {
    match plan.text {
        Text::Objects(before, after) => {
            let of = |name| report.objects.iter().find(|object| object.name == name);
            Some(TextBytes {
                before: of(before)?.text_bytes,
                after: of(after)?.text_bytes,
                of: format!("executable sections of the objects {before} → {after}"),
            })
        }
        Text::Functions(before, after) => Some(TextBytes {
            before: code(report, before)?.bytes,
            after: code(report, after)?.bytes,
            of: format!("the functions {before} → {after}, with what lies out of line"),
        }),
    }
}

fn code<'r>(report: &'r Report, name: &str) -> Option<&'r CodeReport> {
    report.code.iter().find(|code| code.name == name)
}

fn hot_path(code: &CodeReport) -> HotPath {
    HotPath {
        name: code.name.clone(),
        bytes: code.hot_bytes,
        branches: code.branches,
        calls: code.calls,
        instructions: code.instructions.get(..code.hot).unwrap_or(&code.instructions).to_vec(),
    }
}
