//! From the units of a campaign to what may be claimed of them.
//!
//! A claim needs two witnesses: Student's t interval of the mean log-ratio and the exact rank
//! interval must both exclude no difference, on the same side; a strict plan calls the sign test
//! as a third. Where only one does, a few units carry the result, and that is said instead of a
//! claim. Nothing is dropped and nothing is trimmed.
//!
//! A campaign that may stop early holds every witness to the boundary of its look, and reports the
//! interval that allows for the looks it could have stopped at.

use crate::design::{ALPHA, Design, look_at};
use crate::report::{ArmSummary, Companion, Direction, Look, UnitOf, Verdict};
use crate::stats::{Boundaries, ConfidenceSequence, PairedT, RankInterval, SignTest, SignedRank};

/// Units below which the rank interval cannot reach 95 %: 2 of 2ⁿ sign patterns are one-sided.
const CLAIM_UNITS_MIN: usize = 6;

/// The standard normal deviate with four fifths below it.
const DEVIATE_80: f64 = 0.841_621;

/// By what the units are judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'d> {
    /// Letter of the candidate.
    pub(crate) arm: char,
    pub(crate) direction: Direction,
    pub(crate) margin: Option<f64>,
    pub(crate) strict: bool,
    pub(crate) design: &'d Design,
    pub(crate) unit: UnitOf,
}

/// Everything that the units say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) ratio: f64,
    pub(crate) ratio_unbiased: Option<f64>,
    pub(crate) ci95: [f64; 2],
    pub(crate) p: f64,
    pub(crate) companion: Companion,
    pub(crate) sign_p: Option<f64>,
    pub(crate) claim_ci95: [f64; 2],
    pub(crate) mde80_percent: f64,
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) looks: Vec<Look>,
}

/// All witnesses, on the scale of log-ratios.
struct Witnesses {
    arm: char,
    t: PairedT,
    /// Interval of the mean, adjusted for the looks.
    t95: [f64; 2],
    t90: [f64; 2],
    /// At the confidence that the look demands.
    rank: RankInterval,
    rank90: RankInterval,
    /// The sign test's p and the side it sees, if it is called.
    sign: Option<(f64, i8)>,
    /// Two-sided p that a witness must reach at this look.
    p_needed: f64,
    unit: UnitOf,
}

/// What the primary estimate says after the adjustment for its looks.
struct Primary {
    ci: [f64; 2],
    p: f64,
    unbiased: Option<f64>,
}

/// Judges `units`, each a log-ratio; `None` for fewer than two, or values that are not finite.
pub(crate) fn judge(units: &[f64], rules: Rules<'_>) -> Option<Judgement> {
    let t = PairedT::new(units)?;
    let primary = primary(units, t, rules.design);
    let p_needed = rules.design.p_needed(t.n);
    let [rank, rank90] = RankInterval::at(units, [1.0 - p_needed, 0.90])?;
    let sign = rules.strict.then(|| sign_witness(units));
    let witnesses = Witnesses {
        arm: rules.arm,
        t,
        t95: primary.ci,
        t90: t.interval(0.90),
        rank,
        rank90,
        sign,
        p_needed,
        unit: rules.unit,
    };
    let (verdict, reason) = witnesses.verdict(rules.direction, rules.margin);
    let hull = [primary.ci[0].min(rank.low), primary.ci[1].max(rank.high)];
    Some(Judgement {
        ratio: finite(t.mean.exp()),
        ratio_unbiased: primary.unbiased.map(|log| finite(log.exp())),
        ci95: primary.ci.map(|end| finite(end.exp())),
        p: primary.p,
        companion: Companion {
            ratio: finite(rank.estimate.exp()),
            ci: [rank.low, rank.high].map(|end| finite(end.exp())),
            confidence: rank.confidence,
            p: SignedRank::new(units).p(),
        },
        sign_p: sign.map(|(p, _)| p),
        claim_ci95: hull.map(|end| finite(end.exp())),
        mde80_percent: finite(mde80(t, rules.design).exp_m1() * 100.0),
        verdict,
        reason,
        looks: looks(units, rules, verdict),
    })
}

/// Whether a campaign of this design that runs into `units` one by one makes a claim: at the
/// first look that ends it, or after all.
pub(crate) fn claims_as_run(units: &[f64], rules: Rules<'_>) -> bool {
    (2..units.len()).any(|seen| stops(&units[..seen], rules)) || claims(units, rules) != 0
}

/// Whether a campaign that has seen `units`, with more to come, ends here.
pub(crate) fn stops(units: &[f64], rules: Rules<'_>) -> bool {
    let seen = u32::try_from(units.len()).unwrap_or(u32::MAX);
    rules.design.looks_at(seen) && claims(units, rules) != 0
}

/// The side on which all witnesses see a difference at the look of these units, −1 or 1; 0 where
/// they do not. The same decision as the verdict's, without its intervals, which take longer.
pub(crate) fn claims(units: &[f64], rules: Rules<'_>) -> i8 {
    let Some(t) = PairedT::new(units) else { return 0 };
    let p_needed = rules.design.p_needed(t.n);
    let by_t = match rules.design {
        Design::Fixed | Design::Sequential { .. } if t.p() <= p_needed => side([t.mean; 2]),
        Design::Open { .. } => side(primary(units, t, rules.design).ci),
        _ => 0,
    };
    // The ranks cost more than the rest.
    if by_t == 0 || (rules.strict && !confirms(sign_witness(units), p_needed, by_t)) {
        return 0;
    }
    let ranks = RankInterval::new(units, 1.0 - p_needed);
    if ranks.is_some_and(|ranks| by_rank(&ranks, 1.0 - p_needed) == by_t) { by_t } else { 0 }
}

fn confirms((p, side): (f64, i8), p_needed: f64, by_t: i8) -> bool {
    p <= p_needed && side == by_t
}

fn by_rank(ranks: &RankInterval, needed: f64) -> i8 {
    // The confidence is a sum of many floats, and 1 minus another one.
    if ranks.confidence >= needed - 1e-12 { side([ranks.low, ranks.high]) } else { 0 }
}

/// The looks that a sequential campaign took on its way to these units: at any before the last it
/// went on.
fn looks(units: &[f64], rules: Rules<'_>, verdict: Verdict) -> Vec<Look> {
    let Design::Sequential { units: sizes, boundaries } = rules.design else { return Vec::new() };
    let claimed = matches!(verdict, Verdict::Faster | Verdict::Slower);
    let look = |(index, &n): (usize, &u32)| {
        let t = PairedT::new(units.get(..n as usize)?)?;
        let crossed = claimed && n as usize == units.len();
        Some(Look { n, p: t.p(), p_needed: boundaries.nominal_p(index)?, crossed })
    };
    sizes.iter().enumerate().map_while(look).collect()
}

fn primary(units: &[f64], t: PairedT, design: &Design) -> Primary {
    match design {
        Design::Fixed => Primary { ci: t.interval(1.0 - ALPHA), p: t.p(), unbiased: None },
        Design::Sequential { units: looks, boundaries } => {
            let look = look_at(looks, t.n);
            let stop = boundaries.mean_at_stop(look, &t, 1.0 - ALPHA);
            let p = stop.map_or(t.p(), |stop| stop.p);
            match stop.filter(|_| !passed_over(units, looks, boundaries)) {
                Some(stop) => Primary { ci: stop.interval, p, unbiased: Some(stop.estimate) },
                // What holds at every look, wherever it ends, is the boundary itself.
                None => Primary {
                    ci: boundaries.repeated_interval(look, &t).unwrap_or(t.interval(1.0)),
                    p,
                    unbiased: None,
                },
            }
        }
        Design::Open { units_max } => {
            let sequence = ConfidenceSequence::tuned_for(*units_max, ALPHA);
            let ci = sequence.and_then(|sequence| sequence.interval(&t));
            Primary {
                // Too few to say anything: everything is possible.
                ci: ci.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]),
                p: sequence.map_or(1.0, |sequence| sequence.p(&t)),
                unbiased: None,
            }
        }
    }
}

/// The true log-ratio that 4 of 5 campaigns of as many units would show. A confidence sequence is
/// wider than Student's interval, and the mean must come that much further.
fn mde80(t: PairedT, design: &Design) -> f64 {
    let sequence = match design {
        Design::Open { units_max } => ConfidenceSequence::tuned_for(*units_max, ALPHA),
        Design::Fixed | Design::Sequential { .. } => None,
    };
    sequence.map_or(t.mde80(), |sequence| {
        t.sd * sequence.half_width(t.n) + DEVIATE_80 * t.standard_error()
    })
}

/// Whether Student's t was beyond the boundary at an earlier look, and the campaign went on because
/// another witness was not. The inference at a stop takes going on as proof of a small effect, so
/// it would put the interval far below such an effect.
fn passed_over(units: &[f64], looks: &[u32], boundaries: &Boundaries) -> bool {
    let beyond = |(index, &n): (usize, &u32)| {
        let t = units.get(..n as usize).filter(|seen| seen.len() < units.len());
        let p = t.and_then(PairedT::new).map(|t| t.p());
        p.zip(boundaries.nominal_p(index)).is_some_and(|(p, needed)| p <= needed)
    };
    looks.iter().enumerate().any(beyond)
}

fn sign_witness(units: &[f64]) -> (f64, i8) {
    let test = SignTest::new(units);
    let side = i8::from(test.positive > test.negative) - i8::from(test.positive < test.negative);
    (test.p, side)
}

impl Witnesses {
    fn verdict(&self, direction: Direction, margin: Option<f64>) -> (Verdict, String) {
        let by_t = side(self.t95);
        let by_rank = by_rank(&self.rank, 1.0 - self.p_needed);
        let within = margin.filter(|&margin| self.equivalent(margin));
        let agreed = by_t != 0 && by_t == by_rank;
        let signed = self.sign.is_none_or(|sign| confirms(sign, self.p_needed, by_t));
        if agreed && signed {
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
        let doubt = if agreed { self.unsigned() } else { self.doubt(by_t, by_rank) };
        (Verdict::Inconclusive, doubt)
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
        let second = if self.sign.is_some() {
            "the sign test and the rank interval"
        } else {
            "the rank interval"
        };
        let excludes = if self.sign.is_some() { "exclude" } else { "excludes" };
        let mut reason = format!(
            "{} changes the metric by {} (95 % interval {low} to {high}, n = {}; {which} is better), \
             and {second} {excludes} no difference as well",
            self.arm,
            percent(self.t.mean),
            self.t.n
        );
        if let Some(margin) = within {
            let margin = percent(margin.ln_1p());
            reason += &format!("; but the change is within the margin of {margin}");
        }
        reason
    }

    /// Plural of what n counts.
    fn things(&self) -> &'static str {
        match self.unit {
            UnitOf::Block => "blocks",
            UnitOf::Build => "pairs of builds",
        }
    }

    fn unsigned(&self) -> String {
        format!(
            "both intervals exclude no difference, but the sign test that this strict plan asks \
             for does not (p = {:.3}): too few {} lie on one side",
            self.sign.map_or(1.0, |(p, _)| p),
            self.things()
        )
    }

    fn doubt(&self, by_t: i8, by_rank: i8) -> String {
        let (n, things) = (self.t.n, self.things());
        if self.t.sd == 0.0 && self.t.mean == 0.0 {
            return format!("both arms gave the same value in each of {n} {things}");
        }
        if by_t != by_rank && (n as usize) < CLAIM_UNITS_MIN {
            return format!(
                "Student's t interval excludes no difference, but {n} {things} are too few for \
                 the rank interval to confirm it: run {CLAIM_UNITS_MIN} or more"
            );
        }
        let [low, high] = self.t95.map(percent);
        match (by_t, by_rank) {
            (0, 0) => format!(
                "the 95 % interval of the change, {low} to {high}, includes no difference; {n} \
                 {things} of this noise show an effect of {} in 4 of 5 campaigns, and smaller ones \
                 less often: plan more to see those",
                percent(self.t.mde80())
            ),
            (0, _) => format!(
                "heavy tail: the rank interval excludes no difference, but Student's t interval, \
                 {low} to {high}, does not, so a few wild {things} hide or make the effect: look \
                 into those rows, quiet the machine and repeat"
            ),
            _ => format!(
                "heavy tail: Student's t interval, {low} to {high}, excludes no difference, but \
                 the rank interval does not, so a few wild {things} carry the result: look into \
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

    fn logs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Vec<f64> {
        pairs.into_iter().map(|(a, b)| b.ln() - a.ln()).collect()
    }

    /// A is 100, B is 100 changed by each of `percents`.
    fn changed_by(percents: &[f64]) -> Vec<f64> {
        logs(percents.iter().map(|percent| (100.0, 100.0 + percent)))
    }

    const FIXED: Rules<'static> = Rules {
        arm: 'B',
        direction: Direction::Lower,
        margin: None,
        strict: false,
        design: &Design::Fixed,
        unit: UnitOf::Block,
    };

    /// Judged at one look, all blocks there.
    fn judge(units: &[f64], direction: Direction, margin: Option<f64>) -> Option<Judgement> {
        super::judge(units, Rules { direction, margin, ..FIXED })
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
        let sample = logs([(1.0, 2.0), (2.0, 2.0), (4.0, 16.0)]);
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
        let fewer = judge(&logs([(100.0, 99.0); 6]), Direction::Lower, None).unwrap();
        assert_eq!((fewer.verdict, fewer.p), (Verdict::Faster, 0.0));
        assert!((fewer.ci95[0] - 0.99).abs() < 1e-12 && fewer.ci95[0] == fewer.ci95[1]);
        let same = judge(&logs([(100.0, 100.0); 6]), Direction::Lower, None).unwrap();
        assert_eq!((same.verdict, same.ratio, same.p), (Verdict::Inconclusive, 1.0, 1.0));
        assert!(same.reason.contains("the same value"), "{}", same.reason);
        let within = judge(&logs([(100.0, 100.0); 6]), Direction::Lower, Some(0.01)).unwrap();
        assert_eq!(within.verdict, Verdict::Equivalent);
    }

    #[test]
    fn a_look_that_was_passed_over_does_not_make_the_effect_small() {
        // At 12 of 20 t and ranks are beyond the boundary, but the strict plan's signs are not.
        let mut changes = vec![2.0, 2.1, 1.9, 2.2, 1.8, 2.0, 2.1, 1.9, 2.0, 2.1, -0.01, -0.02];
        let design = Design::sequential(20);
        let rules = Rules { direction: Direction::Higher, strict: true, design: &design, ..FIXED };
        assert_eq!(claims(&changed_by(&changes), rules), 0);
        assert_eq!(claims(&changed_by(&changes), Rules { strict: false, ..rules }), 1);
        changes.extend([2.0, 1.9, 2.1, 2.0]);
        let judged = super::judge(&changed_by(&changes), rules).unwrap();
        assert_eq!(judged.verdict, Verdict::Faster);
        assert!((judged.ci95[0]..judged.ci95[1]).contains(&judged.ratio), "{judged:?}");
        assert_eq!(judged.ratio_unbiased, None);
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
            let sample = logs(pairs.iter().copied());
            let judged = judge(&sample, Direction::Lower, Some(0.01)).unwrap();
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
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
        fn what_ends_a_campaign_is_what_its_report_claims(
            kinds in prop::collection::vec((0_u8..12, -30_i8..=30), 2..48),
            effect in prop::sample::select(vec![0.0, 0.1, -0.3, 1.0, 8.0]),
            (strict, margin, more) in (any::<bool>(), prop::option::of(0.001..0.5), 0_u32..60),
        ) {
            // Noise, ties, zeros, spikes, and traces of the opposite.
            let unit = |&(kind, size): &(u8, i8)| match kind {
                0 => 0.0,
                1 => effect / 100.0,
                2 => 0.02 * f64::from(size),
                3 | 4 => -1e-5 * effect,
                _ => (effect + f64::from(size) / 30.0) / 100.0,
            };
            let all: Vec<f64> = kinds.iter().map(unit).collect();
            let units_max = all.len() as u32 + more;
            for design in [Design::Fixed, Design::sequential(units_max), Design::Open { units_max }]
            {
                let rules = Rules { strict, margin, design: &design, ..FIXED };
                for n in 2..=all.len() {
                    let last = n == all.len() && (more == 0 || matches!(design, Design::Fixed));
                    if !last && !design.looks_at(n as u32) {
                        continue;
                    }
                    let judged = super::judge(&all[..n], rules).unwrap();
                    let claimed = match judged.verdict {
                        Verdict::Faster => -1,
                        Verdict::Slower => 1,
                        Verdict::Equivalent | Verdict::Inconclusive => 0,
                    };
                    prop_assert_eq!(claims(&all[..n], rules), claimed, "{:?} {:?}", design, judged);
                    if claimed != 0 {
                        let outside = side(judged.ci95.map(f64::ln));
                        prop_assert_eq!(outside, claimed);
                        prop_assert_eq!(side(judged.claim_ci95.map(f64::ln)), claimed);
                        prop_assert!(judged.p <= 0.05 + 1e-9, "{:?}", judged);
                        let [low, high] = judged.claim_ci95;
                        prop_assert!((low..=high).contains(&judged.companion.ratio));
                    }
                }
            }
        }

        #[test]
        fn swapping_the_arms_swaps_the_verdict(
            changes in prop::collection::vec(-3.0f64..4.0, 2..20),
        ) {
            let there = changed_by(&changes);
            let back: Vec<f64> = there.iter().map(|log| -log).collect();
            let opposite = match judge(&there, Direction::Lower, Some(0.01)).unwrap().verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                other => other,
            };
            prop_assert_eq!(judge(&back, Direction::Lower, Some(0.01)).unwrap().verdict, opposite);
        }
    }
}
