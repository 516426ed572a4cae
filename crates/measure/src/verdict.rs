//! From the rows of a campaign to what may be claimed of them.
//!
//! A claim needs two witnesses: Student's t interval of the mean log-ratio and the exact rank
//! interval must both exclude no difference, on the same side. Where only one does, a few blocks
//! carry the result, and that is said instead of a claim. Nothing is dropped and nothing is
//! trimmed.

use crate::report::{ArmSummary, BlockRow, Companion, Direction, Verdict};
use crate::stats::{PairedT, RankInterval, SignedRank};

/// Blocks below which the rank interval cannot reach 95 %: 2 of 2ⁿ sign patterns are one-sided.
const CLAIM_BLOCKS_MIN: usize = 6;

/// Everything that the rows say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) ratio: f64,
    pub(crate) ci95: [f64; 2],
    pub(crate) p: f64,
    pub(crate) companion: Companion,
    pub(crate) mde80_percent: f64,
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
}

/// Both witnesses, on the scale of log-ratios.
struct Witnesses {
    t: PairedT,
    t95: [f64; 2],
    t90: [f64; 2],
    rank95: RankInterval,
    rank90: RankInterval,
}

/// Judges `rows`; `None` for fewer than two, or values that are not finite and above zero.
pub(crate) fn judge(
    rows: &[BlockRow],
    direction: Direction,
    margin: Option<f64>,
) -> Option<Judgement> {
    let differences: Vec<f64> = rows.iter().map(|row| row.b.ln() - row.a.ln()).collect();
    let t = PairedT::new(&differences)?;
    let rank95 = RankInterval::new(&differences, 0.95)?;
    let rank90 = RankInterval::new(&differences, 0.90)?;
    let witnesses = Witnesses { t, t95: t.interval(0.95), t90: t.interval(0.90), rank95, rank90 };
    let (verdict, reason) = witnesses.verdict(direction, margin);
    Some(Judgement {
        ratio: finite(t.mean.exp()),
        ci95: witnesses.t95.map(|end| finite(end.exp())),
        p: t.p(),
        companion: Companion {
            ratio: finite(rank95.estimate.exp()),
            ci: [rank95.low, rank95.high].map(|end| finite(end.exp())),
            confidence: rank95.confidence,
            p: SignedRank::new(&differences).p(),
        },
        mde80_percent: finite(t.mde80().exp_m1() * 100.0),
        verdict,
        reason,
    })
}

impl Witnesses {
    fn verdict(&self, direction: Direction, margin: Option<f64>) -> (Verdict, String) {
        let by_t = side(self.t95);
        let by_rank = if self.rank95.confidence >= 0.95 {
            side([self.rank95.low, self.rank95.high])
        } else {
            0
        };
        let within = margin.filter(|&margin| self.equivalent(margin));
        if by_t != 0 && by_t == by_rank {
            return (better_or_worse(by_t, direction), self.claim(direction, within));
        }
        if let Some(margin) = within {
            let [low, high] = self.t90.map(percent);
            let reason = format!(
                "the 90 % interval of the change, {low} to {high}, lies within the margin of {} \
                 (two one-sided tests, n = {})",
                percent(margin.ln_1p()),
                self.t.n
            );
            return (Verdict::Equivalent, reason);
        }
        (Verdict::Inconclusive, self.doubt(by_t, by_rank))
    }

    /// Both 90 % intervals lie within the margin, taken as a ratio either way.
    fn equivalent(&self, margin: f64) -> bool {
        let bound = margin.ln_1p();
        let within = |low: f64, high: f64| low > -bound && high < bound;
        within(self.t90[0], self.t90[1])
            && within(self.rank90.low, self.rank90.high)
            && self.rank90.confidence >= 0.90
    }

    fn claim(&self, direction: Direction, within: Option<f64>) -> String {
        let [low, high] = self.t95.map(percent);
        let which = match direction {
            Direction::Lower => "lower",
            Direction::Higher => "higher",
        };
        let mut reason = format!(
            "B changes the metric by {} (95 % interval {low} to {high}, n = {}; {which} is better), \
             and the rank interval excludes no difference as well",
            percent(self.t.mean),
            self.t.n
        );
        if let Some(margin) = within {
            let margin = percent(margin.ln_1p());
            reason += &format!("; but the change is within the margin of {margin}");
        }
        reason
    }

    fn doubt(&self, by_t: i8, by_rank: i8) -> String {
        let n = self.t.n;
        if self.t.sd == 0.0 && self.t.mean == 0.0 {
            return format!("both arms gave the same value in each of {n} blocks");
        }
        if by_t != by_rank && (n as usize) < CLAIM_BLOCKS_MIN {
            return format!(
                "Student's t interval excludes no difference, but {n} blocks are too few for the \
                 rank interval to confirm it: run {CLAIM_BLOCKS_MIN} or more"
            );
        }
        let [low, high] = self.t95.map(percent);
        match (by_t, by_rank) {
            (0, 0) => format!(
                "the 95 % interval of the change, {low} to {high}, includes no difference; {n} \
                 blocks of this noise show an effect of {} in 4 of 5 campaigns, and smaller ones \
                 less often: run more blocks to see those",
                percent(self.t.mde80())
            ),
            (0, _) => format!(
                "heavy tail: the rank interval excludes no difference, but Student's t interval, \
                 {low} to {high}, does not, so a few wild blocks hide or make the effect: look \
                 into those rows, quiet the machine and repeat"
            ),
            _ => format!(
                "heavy tail: Student's t interval, {low} to {high}, excludes no difference, but \
                 the rank interval does not, so a few wild blocks carry the result: look into \
                 those rows, quiet the machine and repeat"
            ),
        }
    }
}

/// −1 if an interval lies below zero, 1 if above, 0 if it holds zero.
fn side([low, high]: [f64; 2]) -> i8 {
    i8::from(low > 0.0) - i8::from(high < 0.0)
}

fn better_or_worse(side: i8, direction: Direction) -> Verdict {
    match (side > 0, direction) {
        (true, Direction::Higher) | (false, Direction::Lower) => Verdict::Faster,
        _ => Verdict::Slower,
    }
}

/// A log-ratio as a signed change in percent.
fn percent(log_ratio: f64) -> String {
    let change = finite(log_ratio.exp_m1() * 100.0);
    if change == 0.0 || change.abs() >= 0.1 {
        format!("{change:+.2} %")
    } else {
        format!("{change:+.4} %")
    }
}

/// JSON has no infinity: what exceeds a float is the largest one.
fn finite(value: f64) -> f64 {
    value.clamp(f64::MIN, f64::MAX)
}

/// Geometric mean, spread and count of one arm's `values`, which are finite and above zero.
pub(crate) fn summarise(values: &[f64]) -> Option<ArmSummary> {
    let largest = values.iter().copied().reduce(f64::max)?;
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    // Scaled, so that neither sums nor squares leave the range of a float.
    let scaled: Vec<f64> = values.iter().map(|value| value / largest).collect();
    let spread = PairedT::new(&scaled)?;
    Some(ArmSummary {
        geomean: finite(PairedT::new(&logs)?.mean.exp()),
        sd_percent: finite(spread.sd / spread.mean * 100.0),
        n: spread.n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(pairs: impl IntoIterator<Item = (f64, f64)>) -> Vec<BlockRow> {
        let row = |(block, (a, b))| BlockRow {
            block,
            a_first: true,
            a,
            b,
            a_wall_s: 1.0,
            b_wall_s: 1.0,
            a_cpu_s: 1.0,
            b_cpu_s: 1.0,
            a_max_rss_bytes: 0,
            b_max_rss_bytes: 0,
            session: 0,
        };
        (0..).zip(pairs).map(row).collect()
    }

    /// A is 100, B is 100 changed by each of `percents`.
    fn changed_by(percents: &[f64]) -> Vec<BlockRow> {
        rows(percents.iter().map(|percent| (100.0, 100.0 + percent)))
    }

    const CLEAR: [f64; 8] = [1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.1, 0.9];

    #[test]
    fn faster_means_that_b_is_better_whichever_way_the_metric_runs() {
        let more = changed_by(&CLEAR);
        let judged = judge(&more, Direction::Higher, None).unwrap();
        assert_eq!(judged.verdict, Verdict::Faster);
        assert!((judged.ratio - 1.01).abs() < 1e-4);
        assert!(judged.reason.contains("+1.00 %"), "{}", judged.reason);
        assert_eq!(judge(&more, Direction::Lower, None).unwrap().verdict, Verdict::Slower);
        let less = changed_by(&CLEAR.map(|change| -change));
        assert_eq!(judge(&less, Direction::Lower, None).unwrap().verdict, Verdict::Faster);
        assert_eq!(judge(&less, Direction::Higher, None).unwrap().verdict, Verdict::Slower);
    }

    #[test]
    fn the_ratio_is_that_of_geometric_means() {
        let sample = rows([(1.0, 2.0), (2.0, 2.0), (4.0, 16.0)]);
        let judged = judge(&sample, Direction::Lower, None).unwrap();
        let a = summarise(&[1.0, 2.0, 4.0]).unwrap();
        let b = summarise(&[2.0, 2.0, 16.0]).unwrap();
        assert!((a.geomean - 2.0).abs() < 1e-12 && (b.geomean - 4.0).abs() < 1e-12);
        assert!((judged.ratio - b.geomean / a.geomean).abs() < 1e-12);
        // sd of 1, 2, 4 is 1.5275, the mean 7/3.
        assert!((a.sd_percent - 65.465).abs() < 1e-3, "{}", a.sd_percent);
    }

    #[test]
    fn no_difference_shown_is_not_no_difference() {
        let noise = changed_by(&[1.0, -1.0, 0.5, -0.6, 0.2, -0.1, 0.9, -0.8]);
        let judged = judge(&noise, Direction::Lower, None).unwrap();
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        assert!(judged.reason.contains("in 4 of 5 campaigns"), "{}", judged.reason);
        // s is about 0.75 %, so (2.365 + 0.896)·s/√8 is about 0.87 %.
        assert!((judged.mde80_percent - 0.87).abs() < 0.02, "{}", judged.mde80_percent);
    }

    #[test]
    fn equivalence_takes_a_margin_and_an_interval_within_it() {
        let noise = changed_by(&[0.1, -0.1, 0.05, -0.06, 0.02, -0.01, 0.09, -0.08]);
        let verdict = |margin| judge(&noise, Direction::Lower, margin).unwrap().verdict;
        assert_eq!(verdict(None), Verdict::Inconclusive);
        assert_eq!(verdict(Some(0.005)), Verdict::Equivalent);
        assert_eq!(verdict(Some(0.0003)), Verdict::Inconclusive);
    }

    #[test]
    fn equivalence_takes_both_intervals() {
        let mut changes = vec![0.1, -0.1, 0.05, -0.06, 0.02, -0.01, 0.09, -0.08, 0.03, -0.04];
        changes.extend(changes.clone());
        changes.push(10.0);
        // Ranks lie within half a percent; the spike alone moves the mean by about that much.
        let judged = judge(&changed_by(&changes), Direction::Lower, Some(0.005)).unwrap();
        assert!(judged.companion.ci[0] > 0.995 && judged.companion.ci[1] < 1.005);
        assert_eq!(judged.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_difference_within_the_margin_is_still_named_as_one() {
        let judged = judge(&changed_by(&CLEAR), Direction::Higher, Some(0.02)).unwrap();
        assert_eq!(judged.verdict, Verdict::Faster);
        assert!(judged.reason.contains("within the margin of +2.00 %"), "{}", judged.reason);
    }

    #[test]
    fn a_wild_block_that_hides_the_effect_makes_it_inconclusive() {
        // Ranks see eleven of twelve on one side; the mean is lost in the spike.
        let mut changes = vec![1.0, 1.1, 0.9, 1.2, 1.0, 0.8, 1.1, 0.9, 1.05, 0.95, 1.0];
        changes.push(-40.0);
        let judged = judge(&changed_by(&changes), Direction::Higher, None).unwrap();
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        assert!(judged.reason.starts_with("heavy tail: the rank interval"), "{}", judged.reason);
    }

    #[test]
    fn a_few_blocks_that_make_the_effect_make_it_inconclusive() {
        // Seven blocks show 2 %, five a trace of the opposite: their ranks 1 to 5 sum to 15, and
        // only 13 or less would reject for n = 12.
        let mut changes = vec![2.0, 2.1, 1.9, 2.2, 1.8, 2.0, 2.1];
        changes.extend([-0.01, -0.02, -0.03, -0.04, -0.05]);
        let judged = judge(&changed_by(&changes), Direction::Higher, None).unwrap();
        assert!(judged.ci95[0] > 1.0);
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        assert!(judged.reason.starts_with("heavy tail: Student's t"), "{}", judged.reason);
    }

    #[test]
    fn few_blocks_make_no_claim_however_clear() {
        let judged = judge(&changed_by(&CLEAR[..5]), Direction::Higher, None).unwrap();
        assert!(judged.ci95[0] > 1.0);
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        assert!(judged.reason.contains("too few"), "{}", judged.reason);
        assert!(judged.companion.confidence < 0.95);
        let six = judge(&changed_by(&CLEAR[..6]), Direction::Higher, None).unwrap();
        assert_eq!(six.verdict, Verdict::Faster);
    }

    #[test]
    fn a_counting_metric_has_no_spread_and_is_judged_all_the_same() {
        let fewer = judge(&rows([(100.0, 99.0); 6]), Direction::Lower, None).unwrap();
        assert_eq!((fewer.verdict, fewer.p), (Verdict::Faster, 0.0));
        assert!((fewer.ci95[0] - 0.99).abs() < 1e-12 && fewer.ci95[0] == fewer.ci95[1]);
        let same = judge(&rows([(100.0, 100.0); 6]), Direction::Lower, None).unwrap();
        assert_eq!((same.verdict, same.ratio, same.p), (Verdict::Inconclusive, 1.0, 1.0));
        assert!(same.reason.contains("the same value"), "{}", same.reason);
        let within = judge(&rows([(100.0, 100.0); 6]), Direction::Lower, Some(0.01)).unwrap();
        assert_eq!(within.verdict, Verdict::Equivalent);
    }

    #[test]
    fn one_block_has_no_judgement() {
        assert_eq!(judge(&changed_by(&[1.0]), Direction::Lower, None), None);
        assert!(summarise(&[1.0]).is_none());
    }

    proptest! {
        #[test]
        fn no_figure_is_ever_beyond_a_float(
            pairs in prop::collection::vec(
                (f64::MIN_POSITIVE..f64::MAX, prop::sample::select(vec![5e-324, 1.0, f64::MAX])),
                2..9,
            ),
        ) {
            let sample = rows(pairs);
            let judged = judge(&sample, Direction::Lower, Some(0.01)).unwrap();
            let a: Vec<f64> = sample.iter().map(|row| row.a).collect();
            let b: Vec<f64> = sample.iter().map(|row| row.b).collect();
            let arms = [summarise(&a).unwrap(), summarise(&b).unwrap()];
            let figures = [
                judged.ratio, judged.ci95[0], judged.ci95[1], judged.p, judged.mde80_percent,
                judged.companion.ratio, judged.companion.ci[0], judged.companion.ci[1],
                judged.companion.confidence, judged.companion.p,
                arms[0].geomean, arms[0].sd_percent, arms[1].geomean, arms[1].sd_percent,
            ];
            prop_assert!(figures.iter().all(|figure| figure.is_finite()), "{figures:?}");
        }

        #[test]
        fn swapping_the_arms_swaps_the_verdict(
            changes in prop::collection::vec(-3.0f64..4.0, 2..20),
        ) {
            let there = changed_by(&changes);
            let back = rows(there.iter().map(|row| (row.b, row.a)));
            let opposite = match judge(&there, Direction::Lower, Some(0.01)).unwrap().verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                other => other,
            };
            prop_assert_eq!(judge(&back, Direction::Lower, Some(0.01)).unwrap().verdict, opposite);
        }
    }
}
