//! From the rows of a comparison to what may be said of it. The arithmetic is `unlikely-measure`'s,
//! and so is the rule: a claim takes Student's t and the exact ranks, both, and six units at least.

use crate::experiment::{Bar, Comparison, Published};
use crate::process::ProcessRecord;
use crate::report::{
    ArmReport, BarOutcome, BarReport, ComparisonReport, CopyReport, PublishedReport, Ratio, UnitOf,
};
use arm::{PLACE_BYTES, PLACES};
use unlikely_measure::stats::{Groups, PairedT, RankInterval, SignedRank};
use unlikely_measure::{Companion, Verdict};

/// Units below which the exact ranks cannot reach 95 %: 2 of 2ⁿ sign patterns are one-sided.
const CLAIM_UNITS_MIN: u32 = 6;

/// The report of `comparison`; `None` if a figure is missing or not finite.
pub(crate) fn report(
    comparison: &Comparison,
    operations: u64,
    cpus: Vec<usize>,
    rows: Vec<ProcessRecord>,
) -> Option<ComparisonReport> {
    let control = comparison.arms.iter().position(|arm| arm.control);
    let floor = match control {
        Some(arm) => Some(ratio(&rows, arm, 0.0)?.ratio.ln().abs()),
        None => None,
    };
    let arms = (0..comparison.arms.len())
        .map(|arm| arm_report(comparison, &rows, arm, floor.unwrap_or(0.0)))
        .collect::<Option<Vec<_>>>()?;
    let n_unit = if rows.len() > 1 { UnitOf::Process } else { UnitOf::Block };
    let blocks: usize = rows.iter().map(|row| row.blocks.len()).sum();
    let n = if n_unit == UnitOf::Process { rows.len() } else { blocks };
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(ComparisonReport {
        name: comparison.name.clone(),
        title: comparison.title.clone(),
        operation: comparison.operation.clone(),
        threads: comparison.threads,
        inner_threads: comparison.inner_threads,
        cpus,
        operations,
        baseline: arms.first()?.name.clone(),
        processes: count(rows.len()),
        blocks: count(blocks),
        n: count(n),
        n_unit,
        n_counts: n_counts(n_unit),
        floor_percent: floor.map(percent),
        overlap_min: rows.iter().map(|row| row.overlap_min).fold(1.0, f64::min),
        bars: comparison.bars.iter().map(|bar| bar_report(bar, &arms)).collect(),
        published: comparison.published.iter().map(published).collect(),
        arms,
        rows,
    })
}

fn n_counts(unit: UnitOf) -> String {
    let rest = format!(
        "one build of the program on one boot of one machine; the code has the same {PLACES} places \
         of a cache line in all of them"
    );
    match unit {
        UnitOf::Process => format!("fresh processes, each with the mean of its blocks; {rest}"),
        UnitOf::Block => format!(
            "blocks within one process, whose layout of stack and heap is in no interval; {rest}"
        ),
    }
}

/// `floor` is the distance of the control from the baseline, as a log-ratio.
fn arm_report(
    comparison: &Comparison,
    rows: &[ProcessRecord],
    arm: usize,
    floor: f64,
) -> Option<ArmReport> {
    let of = comparison.arms.get(arm)?;
    let logs: Vec<f64> = blocks(rows).map(|ns| log(ns, arm)).collect::<Option<_>>()?;
    let copies = (0..of.copies.len()).map(|copy| {
        let mut values = blocks(rows).map(|ns| ns.get(arm)?.get(copy).map(|ns| ns.ln()));
        let mean = mean(&values.by_ref().collect::<Option<Vec<_>>>()?)?;
        let place_bytes = u32::try_from(copy).ok()? % PLACES * PLACE_BYTES;
        Some(CopyReport { place_bytes, ns_per_operation: mean.exp() })
    });
    Some(ArmReport {
        name: of.name.clone(),
        control: of.control,
        ns_per_operation: mean(&logs)?.exp(),
        operations_per_second: 1e9 / mean(&logs)?.exp(),
        sd_percent: PairedT::new(&logs).map_or(0.0, |t| percent(t.sd)),
        copies: copies.collect::<Option<_>>()?,
        most_by_least: most_by_least(rows, arm),
        ratio: match arm {
            0 => None,
            _ => Some(ratio(rows, arm, if of.control { 0.0 } else { floor })?),
        },
    })
}

fn blocks(rows: &[ProcessRecord]) -> impl Iterator<Item = &[Vec<f64>]> {
    rows.iter().flat_map(|row| &row.blocks).map(|block| &block.ns[..])
}

/// The geometric mean over all blocks and copies of how unevenly an arm served its threads.
fn most_by_least(rows: &[ProcessRecord], arm: usize) -> Option<f64> {
    let blocks = rows.iter().flat_map(|row| &row.blocks);
    let logs: Vec<f64> = blocks
        .filter_map(|block| block.most_by_least.get(arm))
        .flat_map(|copies| copies.iter().map(|uneven| uneven.ln()))
        .collect();
    Some(mean(&logs)?.exp())
}

/// The logarithm of an arm's time in a block, as the mean over its copies.
fn log(ns: &[Vec<f64>], arm: usize) -> Option<f64> {
    mean(&ns.get(arm)?.iter().map(|ns| ns.ln()).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

fn percent(log: f64) -> f64 {
    log.exp_m1() * 100.0
}

fn ratio(rows: &[ProcessRecord], arm: usize, floor: f64) -> Option<Ratio> {
    let by_process = rows
        .iter()
        .map(|row| {
            let logs =
                row.blocks.iter().map(|block| Some(log(&block.ns, arm)? - log(&block.ns, 0)?));
            logs.collect::<Option<Vec<f64>>>()
        })
        .collect::<Option<Vec<_>>>()?;
    let units = match &by_process[..] {
        [blocks] => blocks.clone(),
        several => several.iter().map(|blocks| mean(blocks)).collect::<Option<_>>()?,
    };
    let layers = Groups::new(&by_process);
    Some(Ratio {
        process_sd_percent: layers.map(|groups| percent(groups.between_sd)),
        block_sd_percent: layers.map(|groups| percent(groups.within_sd)),
        ..of_units(&units, floor)?
    })
}

/// What units, each a log-ratio, say, with intervals made wider by `floor`.
fn of_units(units: &[f64], floor: f64) -> Option<Ratio> {
    let t = PairedT::new(units)?;
    let rank = RankInterval::new(units, 0.95)?;
    let ci = t.interval(0.95);
    let claim = [ci[0].min(rank.low) - floor, ci[1].max(rank.high) + floor];
    let verdict = match claim {
        _ if t.n < CLAIM_UNITS_MIN => Verdict::Inconclusive,
        [_, high] if high < 0.0 => Verdict::Faster,
        [low, _] if low > 0.0 => Verdict::Slower,
        _ => Verdict::Inconclusive,
    };
    Some(Ratio {
        ratio: t.mean.exp(),
        ci95: ci.map(f64::exp),
        p: t.p(),
        companion: Companion {
            ratio: rank.estimate.exp(),
            ci: [rank.low.exp(), rank.high.exp()],
            confidence: rank.confidence,
            p: SignedRank::new(units).p(),
        },
        claim_ci95: claim.map(f64::exp),
        mde80_percent: percent(t.mde80()),
        verdict,
        process_sd_percent: None,
        block_sd_percent: None,
    })
}

fn bar_report(bar: &Bar, arms: &[ArmReport]) -> BarReport {
    let ratio = arms.iter().find(|arm| arm.name == bar.arm).and_then(|arm| arm.ratio.as_ref());
    let (outcome, words) = match ratio {
        None => (BarOutcome::Undecided, "there is no such arm".to_owned()),
        Some(ratio) => outcome(bar.at_most, ratio),
    };
    BarReport { arm: bar.arm.clone(), at_most: bar.at_most, outcome, words }
}

fn outcome(at_most: f64, ratio: &Ratio) -> (BarOutcome, String) {
    let [low, high] = ratio.claim_ci95;
    let interval = format!("{:.3} ({low:.3} to {high:.3})", ratio.ratio);
    // The ranks reach 95 % exactly if there are units enough.
    if ratio.companion.confidence < 0.95 {
        return (BarOutcome::Undecided, format!("undecided: {interval} of too few units"));
    }
    if high <= at_most {
        (BarOutcome::Met, format!("met: {interval} lies at or below {at_most}"))
    } else if low > at_most {
        (BarOutcome::Missed, format!("missed: {interval} lies above {at_most}"))
    } else {
        (BarOutcome::Undecided, format!("undecided: {at_most} lies within {interval}"))
    }
}

fn published(of: &Published) -> PublishedReport {
    PublishedReport {
        source: of.source.clone(),
        arm: of.arm.clone(),
        baseline: of.baseline,
        value: of.value,
        unit: of.unit.clone(),
        ratio: of.value / of.baseline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Arm, Work};
    use crate::process::BlockRow;

    struct Nothing;

    impl Work for Nothing {
        fn begin(&self, _: u32) {}
        fn run(&self, _: u64) -> u64 {
            0
        }
        fn check(&self, _: u64, _: &[u64]) -> Result<(), String> {
            Ok(())
        }
    }

    /// Two arms, the first of two copies.
    fn comparison(bar: f64) -> Comparison {
        let copies = |n: u32| (0..n).map(|_| Box::new(Nothing) as Box<dyn Work>).collect();
        Comparison {
            name: "c".into(),
            title: String::new(),
            operation: "operation".into(),
            threads: 1,
            inner_threads: 1,
            operations_max: 1,
            arms: vec![Arm::new("a", copies(2)), Arm::new("b", copies(1))],
            bars: vec![Bar { arm: "b".into(), at_most: bar }],
            published: vec![Published {
                source: "somewhere".into(),
                arm: "b".into(),
                baseline: 4.0,
                value: 5.0,
                unit: "s".into(),
            }],
            code: None,
            by_default: true,
        }
    }

    /// Processes of blocks, each of a's two copies and b.
    fn rows(processes: &[&[[f64; 3]]]) -> Vec<ProcessRecord> {
        let block = |&[a0, a1, b]: &[f64; 3]| BlockRow {
            ns: vec![vec![a0, a1], vec![b]],
            most_by_least: vec![],
        };
        (0..)
            .zip(processes)
            .map(|(process, blocks)| ProcessRecord {
                process,
                blocks: blocks.iter().map(block).collect(),
                overlap_min: 1.0 - f64::from(process) / 100.0,
                wall_s: 1.0,
                conditions: Default::default(),
            })
            .collect()
    }

    fn judge(bar: f64, processes: &[&[[f64; 3]]]) -> ComparisonReport {
        report(&comparison(bar), 1000, vec![], rows(processes)).unwrap()
    }

    /// Six processes in which b takes 10 % longer, give or take a little.
    const TENTH: [&[[f64; 3]]; 6] = [
        &[[2.0, 2.0, 2.2], [4.0, 4.0, 4.4]],
        &[[2.0, 2.0, 2.201], [3.0, 3.0, 3.3]],
        &[[2.0, 2.0, 2.199], [3.0, 3.0, 3.3]],
        &[[2.0, 2.0, 2.202], [3.0, 3.0, 3.3]],
        &[[2.0, 2.0, 2.198], [3.0, 3.0, 3.3]],
        &[[2.0, 2.0, 2.203], [3.0, 3.0, 3.3]],
    ];

    #[test]
    fn a_ratio_is_taken_within_blocks_and_counted_by_processes() {
        let report = judge(1.2, &TENTH);
        assert_eq!((report.n, report.n_unit), (6, UnitOf::Process));
        assert_eq!((report.processes, report.blocks), (6, 12));
        assert!((report.overlap_min - 0.95).abs() < 1e-12);
        let ratio = report.arms[1].ratio.as_ref().unwrap();
        assert!((ratio.ratio - 1.1).abs() < 1e-3, "{ratio:?}");
        assert!((ratio.companion.ratio - 1.1).abs() < 1e-3, "{ratio:?}");
        assert_eq!(ratio.verdict, Verdict::Slower);
        assert!(ratio.claim_ci95[0] <= ratio.ci95[0] && ratio.ci95[1] <= ratio.claim_ci95[1]);
        assert!(ratio.process_sd_percent.is_some() && ratio.block_sd_percent.unwrap() < 1.0);
        // The blocks themselves are as far apart as 2 and 4.
        assert!(report.arms[0].sd_percent > 10.0 && report.arms[0].ratio.is_none());
    }

    #[test]
    fn copies_are_averaged_and_shown() {
        let report = judge(1.2, &[&[[1.0, 4.0, 2.0]], &[[1.0, 4.0, 2.0]]]);
        let a = &report.arms[0];
        assert!((a.ns_per_operation - 2.0).abs() < 1e-12);
        let copies: Vec<_> = a.copies.iter().map(|c| (c.place_bytes, c.ns_per_operation)).collect();
        assert_eq!(copies, [(0, 1.0), (PLACE_BYTES, 4.0_f64.ln().exp())]);
        assert!((report.arms[1].ratio.as_ref().unwrap().ratio - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_bar_is_met_missed_or_undecided() {
        for (bar, outcome, word) in [
            (1.2, BarOutcome::Met, "met:"),
            (1.1, BarOutcome::Undecided, "undecided: 1.1 lies within"),
            (1.05, BarOutcome::Missed, "missed:"),
        ] {
            let bar = &judge(bar, &TENTH).bars[0];
            assert_eq!(bar.outcome, outcome, "{bar:?}");
            assert!(bar.words.starts_with(word), "{bar:?}");
        }
    }

    #[test]
    fn what_the_same_code_shows_of_itself_is_no_difference() {
        let judged = |control: bool| {
            let mut comparison = comparison(1.05);
            let c: Box<dyn Work> = Box::new(Nothing);
            comparison.arms.push(Arm { control, ..Arm::new("a again", vec![c]) });
            let mut rows = rows(&TENTH);
            // The control takes 12 % longer than the baseline, in each block.
            for block in rows.iter_mut().flat_map(|row| &mut row.blocks) {
                let again = block.ns[0][0] * 1.12;
                block.ns.push(vec![again]);
            }
            report(&comparison, 1, vec![], rows).unwrap()
        };
        let without = judged(false);
        assert_eq!(without.floor_percent, None);
        assert_eq!(without.arms[1].ratio.as_ref().unwrap().verdict, Verdict::Slower);
        assert_eq!(without.bars[0].outcome, BarOutcome::Missed);
        let with = judged(true);
        assert!((with.floor_percent.unwrap() - 12.0).abs() < 1e-9);
        let ratio = with.arms[1].ratio.as_ref().unwrap();
        assert_eq!(ratio.verdict, Verdict::Inconclusive);
        assert!(ratio.ci95[0] > 1.09 && ratio.claim_ci95[0] < 1.0, "{ratio:?}");
        assert_eq!(with.bars[0].outcome, BarOutcome::Undecided);
        // The control itself is told as it is.
        assert_eq!(with.arms[2].ratio.as_ref().unwrap().verdict, Verdict::Slower);
    }

    #[test]
    fn five_processes_decide_nothing() {
        let report = judge(1.2, &TENTH[..5]);
        let ratio = report.arms[1].ratio.as_ref().unwrap();
        assert!(ratio.ci95[0] > 1.0, "{ratio:?}");
        assert_eq!(ratio.verdict, Verdict::Inconclusive);
        assert_eq!(report.bars[0].outcome, BarOutcome::Undecided);
        assert!(report.bars[0].words.contains("too few"), "{:?}", report.bars[0]);
    }

    #[test]
    fn in_one_process_blocks_are_the_units_and_that_is_said() {
        let blocks = [[2.0, 2.0, 1.8], [2.0, 2.0, 1.81], [2.0, 2.0, 1.79]];
        let report = judge(1.0, &[&[blocks, blocks].concat()]);
        assert_eq!((report.n, report.n_unit, report.processes), (6, UnitOf::Block, 1));
        assert!(report.n_counts.contains("in no interval"), "{}", report.n_counts);
        let ratio = report.arms[1].ratio.as_ref().unwrap();
        assert_eq!((ratio.verdict, ratio.process_sd_percent), (Verdict::Faster, None));
        assert_eq!(report.bars[0].outcome, BarOutcome::Met);
    }

    #[test]
    fn a_published_ratio_is_computed_from_its_figures() {
        assert_eq!(judge(1.2, &TENTH).published[0].ratio, 1.25);
    }

    #[test]
    fn a_figure_that_is_missing_makes_no_report() {
        let mut rows = rows(&TENTH);
        rows[2].blocks[1].ns[1].clear();
        assert_eq!(report(&comparison(1.0), 1, vec![], rows), None);
        assert_eq!(report(&comparison(1.0), 1, vec![], vec![]), None);
    }
}
