//! What a machine says of a program compared with itself. Every difference found is false, so
//! this is the test of the whole engine on the machine at hand: how often it claims one, how much
//! the place in a block matters, and whether blocks know of each other.

use crate::design::Design;
use crate::pilot::claim_effect;
use crate::plan::Stop;
use crate::report::{BenchReport, BlockRow, Direction, UnitOf};
use crate::stats::{LjungBox, MannWhitney, PairedT, Welch, clopper_pearson, lag1_autocorrelation};
use crate::verdict::{Rules, claims_as_run};
use serde::{Deserialize, Serialize};

/// Schema name of [`AaReport`].
pub const AA_SCHEMA: &str = "unlikely/aa/1";

/// Most lags that the test of Ljung and Box sums over.
const LAGS: u32 = 10;
/// Blocks for each of them: with fewer, its p is not that of chi-squared.
const BLOCKS_PER_LAG: u32 = 5;

/// A campaign of one program against itself, cut into comparisons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AaReport {
    /// [`AA_SCHEMA`].
    pub schema: String,
    /// Blocks of each comparison.
    pub blocks_each: u32,
    /// How often each way to judge claimed a difference that is not there, this tool's first.
    pub ways: Vec<FalseRate>,
    /// Standard deviation of B/A over blocks, in percent.
    pub sd_percent: f64,
    /// The noise floor: the effect in percent that one comparison of this size would show in 4 of
    /// 5 cases.
    pub noise_floor_percent: f64,
    /// Second run of a block against the first.
    pub slot: Change,
    /// Correlation of a block's difference with the next one's.
    pub lag1: f64,
    /// Q of Ljung and Box over `lags` lags, and its p: small if blocks know of each other.
    pub ljung_box_q: f64,
    /// See `ljung_box_q`.
    pub ljung_box_p: f64,
    /// Lags summed over.
    pub lags: u32,
    /// The rebuild of the same source against the build, if there is one.
    pub rebuild: Option<Change>,
    /// The whole campaign as one comparison.
    pub whole: BenchReport,
}

/// How often one way to judge claims a difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FalseRate {
    /// What it does.
    pub way: String,
    /// Comparisons in which it claimed one.
    pub claims: u32,
    /// Comparisons.
    pub of: u32,
    /// Exact 95 % interval of the rate (Clopper and Pearson).
    pub ci95: [f64; 2],
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Ratio of geometric means.
    pub ratio: f64,
    /// 95 % interval, Student's t.
    pub ci95: [f64; 2],
    /// Two-sided p against 1.
    pub p: f64,
}

impl Change {
    fn of(logs: &[f64]) -> Option<Self> {
        let t = PairedT::new(logs)?;
        Some(Self { ratio: t.mean.exp(), ci95: t.interval(0.95).map(f64::exp), p: t.p() })
    }
}

impl AaReport {
    /// Cuts `whole`, a campaign of a program against itself, into comparisons of `blocks_each`
    /// blocks, judged as a campaign that stops by `stop` would be; `None` if there is not one, or
    /// it is of fewer than three blocks.
    ///
    /// The other ways get the very same runs: "A then B" takes the first half of a comparison's
    /// runs in time as A and the second as B, which is fair as all runs are of one program.
    #[must_use]
    pub fn of(whole: BenchReport, blocks_each: u32, stop: Stop) -> Option<Self> {
        let rows: Vec<&BlockRow> = whole.rows.iter().filter(|row| row.invalid.is_none()).collect();
        let logs: Vec<f64> = rows.iter().map(|row| row.b.ln() - row.a.ln()).collect();
        let slots: Vec<f64> = rows.iter().map(|row| second_over_first(row)).collect();
        let size = (blocks_each.max(2)) as usize;
        let design = match stop {
            Stop::Fixed => Design::Fixed,
            Stop::Sequential => Design::sequential(blocks_each),
            Stop::Open => Design::Open { units_max: blocks_each },
        };
        let rules = Rules {
            arm: 'B',
            direction: Direction::Lower,
            margin: None,
            strict: false,
            design: &design,
            unit: UnitOf::Block,
        };
        let ours = logs.chunks_exact(size).map(|units| claims_as_run(units, rules));
        let paired =
            logs.chunks_exact(size).map(|units| PairedT::new(units).is_some_and(|t| t.p() <= 0.05));
        let in_time = |judge: fn(&[f64], &[f64]) -> Option<f64>| {
            rows.chunks_exact(size).map(move |rows| {
                let runs: Vec<f64> = rows.iter().flat_map(|row| in_order(row)).collect();
                let (first, second) = runs.split_at(runs.len() / 2);
                judge(first, second).is_some_and(|p| p <= 0.05)
            })
        };
        let ways = vec![
            FalseRate::of("random blocks, t and ranks", ours)?,
            FalseRate::of("random blocks, t alone", paired)?,
            FalseRate::of("all A, then all B: pooled t", in_time(pooled_t_p))?,
            FalseRate::of(
                "all A, then all B: Mann-Whitney",
                in_time(|a, b| Some(MannWhitney::new(a, b)?.p())),
            )?,
        ];
        let t = PairedT::new(&logs)?;
        let lags = LAGS.min(count(logs.len()) / BLOCKS_PER_LAG).max(1);
        let ljung = LjungBox::new(&logs, lags);
        let rebuild = whole
            .others
            .iter()
            .find(|other| other.metric == whole.metric)
            .map(|other| Change { ratio: other.ratio, ci95: other.ci95, p: other.p });
        Some(Self {
            schema: AA_SCHEMA.to_owned(),
            blocks_each,
            ways,
            sd_percent: t.sd.exp_m1() * 100.0,
            noise_floor_percent: claim_effect(count(size), t.sd)?.exp_m1() * 100.0,
            slot: Change::of(&slots)?,
            lag1: lag1_autocorrelation(&logs).unwrap_or(0.0),
            ljung_box_q: ljung.map_or(0.0, |test| test.q),
            ljung_box_p: ljung.map_or(1.0, |test| test.p),
            lags,
            rebuild,
            whole,
        })
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Two-sided p of Student's t with a pooled variance, for samples of one size.
fn pooled_t_p(a: &[f64], b: &[f64]) -> Option<f64> {
    // Of one size, Welch's t has the same statistic, and only its degrees of freedom are lower.
    let df = (a.len() + b.len()).checked_sub(2)? as f64;
    Some(Welch { df, ..Welch::new(b, a)? }.p())
}

/// ln of a block's second run over its first.
fn second_over_first(row: &BlockRow) -> f64 {
    let [first, second] = in_order(row);
    second - first
}

/// ln of a block's two values in the order in which they were run.
fn in_order(row: &BlockRow) -> [f64; 2] {
    if row.a_first { [row.a.ln(), row.b.ln()] } else { [row.b.ln(), row.a.ln()] }
}

impl FalseRate {
    fn of(way: &str, claimed: impl Iterator<Item = bool>) -> Option<Self> {
        let (mut claims, mut of) = (0, 0);
        for claim in claimed {
            of += 1;
            claims += u32::from(claim);
        }
        let ci95 = clopper_pearson(claims.into(), of.into(), 0.95)?;
        Some(Self { way: way.to_owned(), claims, of, ci95 })
    }

    /// Claims per comparison.
    #[must_use]
    pub fn rate(&self) -> f64 {
        f64::from(self.claims) / f64::from(self.of.max(1))
    }
}
