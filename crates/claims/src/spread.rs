//! Runs and standard deviation: what they allow to be seen.
//!
//! The interval is that of the log ratio of two independent arms with the printed standard
//! deviation each, sd·√(2/n), by Student's t. With one printed sd for both arms Welch's degrees of
//! freedom lie between n − 1 and 2(n − 1); the fewer are taken.

use unlikely_measure::stats::PairedT;

use crate::judge::Arms;
use crate::model::{Precision, Reading};
use crate::pair::is_spread;
use crate::passage::Passage;
use crate::token::{Kind, Token};

/// Most that are told of one text.
const FOUND_MAX: usize = 32;

/// z for 80 % power at two-sided 5 %: 1.960 + 0.842.
const MDE80: f64 = 2.80;

/// What the printed runs and standard deviations of a text can show. `effect` is its one effect.
pub(crate) fn read(passages: &[Passage], effect: Option<&Arms>) -> Vec<Precision> {
    let mut all_runs: Vec<u32> =
        passages.iter().flat_map(|passage| runs(&passage.tokens)).collect();
    all_runs.sort_unstable();
    all_runs.dedup();
    let mut found: Vec<Precision> = Vec::new();
    for passage in passages {
        let mut own = runs(&passage.tokens);
        own.sort_unstable();
        own.dedup();
        for (at, sd) in deviations(&passage.tokens) {
            // The runs that stand beside it, or else the only ones of the text.
            let runs = match (own.as_slice(), all_runs.as_slice()) {
                ([runs], _) | ([], [runs]) => *runs,
                _ => continue,
            };
            if found.len() == FOUND_MAX {
                return found;
            }
            let next = precision(passage.line_of(at), runs, sd, effect);
            if !found.iter().any(|old| old.runs == runs && old.sd_percent == sd) {
                found.push(next);
            }
        }
    }
    found
}

fn precision(line: u32, runs: u32, sd: f64, effect: Option<&Arms>) -> Precision {
    let log = effect
        .map(|arms| (arms.after.value / arms.before.value).ln() * 100.0)
        .filter(|log| log.is_finite());
    let of_runs = reading(runs, sd, log);
    let of_mean = reading(runs, sd * f64::from(runs).sqrt(), log);
    let mut reason = format!(
        "{runs} runs of each arm, sd {sd} % of single runs, arms independent: smallest effect that shows {:.3} %",
        of_runs.mde80
    );
    if let (Some(log), Some([low, high])) = (log, of_runs.interval) {
        let below =
            if log.abs() < of_runs.mde80 { "; the claimed effect is below that" } else { "" };
        reason
            .push_str(&format!(", 95 % interval of the log ratio {low:+.3} … {high:+.3} %{below}"));
    }
    if let (Some(log), Some([low, high])) = (log, of_mean.interval) {
        let below =
            if log.abs() < of_mean.mde80 { ", and the claimed effect is below it" } else { "" };
        reason.push_str(&format!(
            "; if the sd is of the mean already: {low:+.3} … {high:+.3} %, smallest effect {:.3} %{below}",
            of_mean.mde80
        ));
    }
    Precision { line, runs, sd_percent: sd, of_runs, of_mean, effect_log_percent: log, reason }
}

fn reading(runs: u32, sd: f64, log: Option<f64>) -> Reading {
    let n = f64::from(runs);
    let difference =
        PairedT { n: runs, mean: log.unwrap_or(0.0), sd: sd * std::f64::consts::SQRT_2 };
    Reading {
        standard_error: sd / n.sqrt(),
        interval: log.filter(|_| runs >= 2).map(|_| difference.interval(0.95)),
        mde80: MDE80 * sd * (2.0 / n).sqrt(),
    }
}

const RUNS: &[&str] = &[
    "tests",
    "runs",
    "iterations",
    "samples",
    "trials",
    "repetitions",
    "reps",
    "passes",
    "measurements",
    "rounds",
    "test",
    "repeats",
    "executions",
];

/// Numbers of runs: "25 tests", "100 x 1 minute tests", "n = 25".
fn runs(tokens: &[Token]) -> Vec<u32> {
    (0..tokens.len())
        .filter_map(|at| {
            let token = tokens.get(at)?;
            let number =
                token.figure().filter(|n| token.unit.is_none() && !n.signed && n.decimals == 0)?;
            let n = if (2.0..=1e6).contains(&number.value) {
                number.value as u32
            } else {
                return None;
            };
            let named = match tokens.get(..at) {
                Some([.., name, sign]) => name.is_word(&["n"]) && sign.kind == Kind::Sign('='),
                _ => false,
            };
            (named || counts_runs(tokens.get(at + 1..)?)).then_some(n)
        })
        .collect()
}

fn counts_runs(behind: &[Token]) -> bool {
    const FILL: &[&str] = &[
        "x",
        "×",
        "separate",
        "independent",
        "consecutive",
        "benchmark",
        "stress-ng",
        "different",
        "individual",
        "second",
        "minute",
        "identical",
        "such",
        "timed",
    ];
    let mut rest = behind.iter();
    match rest.next() {
        Some(first) if first.is_word(RUNS) => true,
        // "100 x 1 minute tests".
        Some(first) if first.is_word(&["x", "×"]) || first.kind == Kind::Sign('×') => {
            rest.take(3).any(|t| t.is_word(RUNS))
        }
        Some(first) if first.is_word(FILL) => rest.next().is_some_and(|t| t.is_word(RUNS)),
        _ => false,
    }
}

/// Standard deviations in percent, with the index of their token.
fn deviations(tokens: &[Token]) -> Vec<(usize, f64)> {
    (0..tokens.len())
        .filter_map(|at| {
            let token = tokens.get(at)?;
            let number = token.number().filter(|n| token.percent && n.value > 0.0 && !n.signed)?;
            (!is_spread(tokens, at) && names_deviation(tokens, at)).then_some((at, number.value))
        })
        .collect()
}

fn names_deviation(tokens: &[Token], at: usize) -> bool {
    const NAMES: &[&str] = &[
        "deviation",
        "stddev",
        "stdev",
        "sd",
        "rsd",
        "std.deviation",
        "%std.deviation",
        "std-dev",
        "%stddev",
    ];
    const BACK_MAX: usize = 10;
    let before = tokens.get(at.saturating_sub(BACK_MAX)..at).unwrap_or_default();
    let named = before
        .iter()
        .rev()
        .take_while(|t| t.kind != Kind::Stop && !t.percent)
        .any(|t| t.is_word(NAMES));
    let behind = tokens.get(at + 1..).unwrap_or_default();
    named || behind.iter().take(3).take_while(|t| t.kind == Kind::Word).any(|t| t.is_word(NAMES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, reference: f64, tolerance: f64) {
        assert!((value - reference).abs() <= tolerance, "{value} is not {reference}");
    }

    #[test]
    fn a_hundred_runs_at_0_18_percent_see_0_07_percent() {
        let reading = reading(100, 0.18, Some((50_819.58_f64 / 50_512.95).ln() * 100.0));
        close(reading.standard_error, 0.018, 1e-12);
        close(reading.mde80, 2.80 * 0.18 * (2.0_f64 / 100.0).sqrt(), 1e-12);
        let [low, high] = reading.interval.unwrap();
        close(low, 0.555, 5e-4);
        close(high, 0.656, 5e-4);
    }

    #[test]
    fn the_number_of_runs_is_read_from_its_noun() {
        for (text, expected) in [
            ("25 tests with 30 second runs", &[25][..]),
            ("100 x 1 minute tests", &[100]),
            ("n = 12 and N=13", &[12, 13]),
            ("3 of 10 runs", &[10]),
            ("48 threads, 1 test, 2.5 runs", &[]),
        ] {
            assert_eq!(runs(&crate::token::tokens(text)), expected, "{text}");
        }
    }
}
