//! Which numbers of a passage claim a change: "~0.5 % performance improvement", "2.3x faster".
//!
//! A percentage is a claim if a word of change or a sign makes it one. "50 % of the time",
//! "95 % confidence", "100 % CPU" and standard deviations are not.

use crate::judge::{Measure, Said};
use crate::pair::{Pair, in_base, is_spread, taken};
use crate::token::{About, Kind, NEAR, Token};
use crate::unit::Better;
use crate::words::{Way, metric, parts, way};

/// A claimed change, where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    /// Index of its token.
    pub(crate) at: usize,
    pub(crate) said: Said,
    /// Which way the metric improves that the words around it name.
    pub(crate) metric: Option<Better>,
    /// Whether a sign or position alone makes it a claim.
    pub(crate) bare: bool,
}

/// The claims of a passage whose pairs are known.
pub(crate) fn statements(tokens: &[Token], pairs: &[Pair]) -> Vec<Statement> {
    let taken = taken(tokens, pairs);
    let free = (0..tokens.len()).filter(|at| taken.get(*at) == Some(&false));
    free.filter_map(|at| statement(tokens, pairs, at)).collect()
}

fn statement(tokens: &[Token], pairs: &[Pair], at: usize) -> Option<Statement> {
    let token = tokens.get(at)?;
    if is_spread(tokens, at) {
        return None;
    }
    let (number, to, measure) = match &token.kind {
        Kind::Number(number) if token.percent => (number.clone(), None, Measure::Percent),
        Kind::Range(low, high) if token.percent => {
            (low.clone(), Some(high.clone()), Measure::Percent)
        }
        Kind::Factor(number) => (number.clone(), None, Measure::Factor),
        Kind::Number(number) => (number.clone(), None, Measure::Difference),
        _ => return None,
    };
    let way = way_of(tokens, at);
    if measure == Measure::Percent && is_no_change(tokens, at) {
        return None;
    }
    let behind_pair = behind_pair(tokens, pairs, at);
    let claims = match measure {
        Measure::Percent => way.is_some() || number.signed || behind_pair,
        Measure::Factor => way.is_some() || behind_pair,
        Measure::Difference => {
            (token.unit.is_some() || number.signed)
                && difference(tokens, at, way)
                && (behind_pair || way.is_some())
        }
    };
    if !claims {
        return None;
    }
    let number =
        if measure == Measure::Difference { in_base(&number, token.unit.as_ref()) } else { number };
    let about = if token.about == About::Plain && to.is_some() { About::Near } else { token.about };
    let metric = metric_around(tokens, at);
    let scale = token.unit.as_ref().map_or(1.0, |unit| unit.scale);
    let way = by_performance(tokens, at, way);
    Some(Statement {
        at,
        said: Said { number, to, about, way, measure, scale },
        metric,
        bare: way.is_none(),
    })
}

/// Whether "by", "of" or brackets make an amount one of change.
fn difference(tokens: &[Token], at: usize, way: Option<Way>) -> bool {
    let before = tokens.get(..at).unwrap_or_default();
    let last =
        before.iter().rev().find(|t| !t.is_word(NEAR) && !matches!(t.kind, Kind::Sign('~' | '≈')));
    let by = last.is_some_and(|t| t.is_word(&["by", "of"]));
    let signed = tokens.get(at).and_then(Token::number).is_some_and(|n| n.signed);
    let saves = last.is_some_and(|t| t.is_word(&["saves", "saving"]));
    by && way.is_some() || signed || saves
}

/// Words beside a percentage that make it something other than a change.
fn is_no_change(tokens: &[Token], at: usize) -> bool {
    const BEHIND: &[&str] = &[
        "of",
        "confidence",
        "ci",
        "percentile",
        "cpu",
        "cpus",
        "utilization",
        "utilisation",
        "utilized",
        "probability",
        "stddev",
        "std",
        "std.",
        "standard",
        "deviation",
        "sd",
        "noise",
        "error",
        "variance",
        "variation",
        "jitter",
        "margin",
        "hit",
        "miss",
        "idle",
        "busy",
        "load",
        "loaded",
        "stdev",
        "rsd",
        "coverage",
        "confident",
    ];
    const BEFORE: &[&str] = &[
        "deviation",
        "stddev",
        "sd",
        "rsd",
        "cv",
        "σ",
        "noise",
        "error",
        "variance",
        "within",
        "p",
        "margin",
        "stdev",
        "jitter",
        "variation",
        "significance",
        "std",
        "%std.deviation",
        "top",
        "confidence",
    ];
    let behind = tokens.get(at + 1..).unwrap_or_default();
    if behind.first().is_some_and(|t| t.is_word(BEHIND)) {
        // "5 % of improvement" is one.
        return !(behind.first().is_some_and(|t| t.is_word(&["of"]))
            && behind.get(1).and_then(way).is_some());
    }
    const FILL: &[&str] = &["of", "is", "was", "at", "by", "than", "to", "only", "be"];
    let before = tokens.get(..at).unwrap_or_default();
    before
        .iter()
        .rev()
        .take(5)
        .find(|t| {
            !t.is_word(NEAR)
                && !t.is_word(FILL)
                && !matches!(t.kind, Kind::Sign('~' | '≈' | ':' | '=' | '<' | '>' | '('))
        })
        .is_some_and(|t| t.is_word(BEFORE))
}

/// The way that the words beside a number say.
fn way_of(tokens: &[Token], at: usize) -> Option<Way> {
    behind(tokens, at).or_else(|| before(tokens, at))
}

/// "0.5 % performance improvement", "12 % faster".
fn behind(tokens: &[Token], at: usize) -> Option<Way> {
    const AHEAD_MAX: usize = 4;
    for token in tokens.get(at + 1..)?.iter().take(AHEAD_MAX) {
        if token.kind != Kind::Word
            || parts(token)
            || token.is_word(&["of", "in", "to", "for", "on", "from", "by", "is", "are", "at"])
        {
            return None;
        }
        if let Some(way) = way(token) {
            return Some(way);
        }
    }
    None
}

/// "an improvement of ~0.6 %", "reduces the latency by 12 %", "up 10 %".
fn before(tokens: &[Token], at: usize) -> Option<Way> {
    const BACK_MAX: usize = 16;
    let mut back = tokens.get(at.saturating_sub(BACK_MAX)..at)?.iter().rev().filter(|t| {
        !t.is_word(NEAR)
            && !t.is_word(&["upto", "almost", "nearly", "over", "than", "least", "most"])
            && !matches!(t.kind, Kind::Sign('~' | '≈' | '<' | '>' | '*' | '`'))
    });
    let mut next = back.next()?;
    // "by up to 12 %".
    if next.is_word(&["to"]) {
        next = back.next().filter(|t| t.is_word(&["up"]))?;
        next = back.next().unwrap_or(next);
    }
    if let Some(way) = way(next) {
        return Some(way);
    }
    if next.is_word(&["up"]) {
        return Some(Way::Up);
    }
    if next.is_word(&["down"]) {
        return Some(Way::Down);
    }
    let by = next.is_word(&["by"]);
    let link = next.is_word(&["of", "is", "was", "be", "a", "an", "gave", "shows"])
        || matches!(next.kind, Kind::Sign(':' | '=' | '('));
    if !by && !link {
        return None;
    }
    let reach = if by { BACK_MAX } else { 3 };
    let mut found = None;
    for token in back.take(reach) {
        if token.kind == Kind::Stop || matches!(token.kind, Kind::Sign(';')) || token.percent {
            break;
        }
        if by && token.is_word(&["and", "while", "but", "which"]) && found.is_some() {
            break;
        }
        if let Some(way) = way(token).filter(|way| *way != Way::Changed || !by) {
            found = found.or(Some(way));
        }
    }
    found
}

/// More performance is better, whatever its unit does: "a 12 % increase in performance".
fn by_performance(tokens: &[Token], at: usize, way: Option<Way>) -> Option<Way> {
    let near = tokens.get(at.saturating_sub(6)..(at + 7).min(tokens.len())).unwrap_or_default();
    let named = near
        .iter()
        .any(|t| t.is_word(&["performance", "perf", "speed", "throughput", "bandwidth"]));
    match way {
        Some(Way::Up) if named => Some(Way::Better),
        Some(Way::Down) if named && !near.iter().any(|t| metric(t) == Some(Better::Lower)) => {
            Some(Way::Worse)
        }
        other => other,
    }
}

/// The metric that the words of the claim's own part of the sentence name: the nearest before it,
/// or else right behind it.
fn metric_around(tokens: &[Token], at: usize) -> Option<Better> {
    const REACH: usize = 8;
    let open = |t: &&Token| {
        !parts(t) && !matches!(t.kind, Kind::Sign('(' | ',' | ')' | ':')) && t.number().is_none()
    };
    let before = tokens.get(at.saturating_sub(REACH)..at).unwrap_or_default();
    let behind = tokens.get(at + 1..(at + 1 + REACH).min(tokens.len())).unwrap_or_default();
    let named = before.iter().rev().take_while(open).find_map(metric);
    named.or_else(|| behind.iter().take_while(open).find_map(metric))
}

/// "1.31us -> 1.15us (12 %)", "4.6 s to 2.0 s, 2.3x": nothing but a sign or two between.
fn behind_pair(tokens: &[Token], pairs: &[Pair], at: usize) -> bool {
    let closes = tokens.get(at + 1).is_none_or(|t| {
        t.kind == Kind::Stop || t.first || matches!(t.kind, Kind::Sign(')' | ',' | ']' | ';' | '|'))
    });
    // "3362 (44.9%) -> 921 (12.3%)": each percentage is of its own figure.
    let own_share = |pair: &Pair| {
        tokens.get(pair.before + 1).is_some_and(|t| t.kind == Kind::Sign('('))
            && tokens.get(pair.before + 2).is_some_and(|t| t.percent)
    };
    // The pairs are in order; one that ends just before the claim is among the last that begin there.
    let behind = pairs.partition_point(|pair| pair.from() < at);
    let last = pairs.get(behind.saturating_sub(4)..behind).unwrap_or_default();
    closes
        && last.iter().filter(|pair| !own_share(pair)).any(|pair| {
            let gap = tokens.get(pair.to() + 1..at).filter(|gap| gap.len() <= 3);
            gap.is_some_and(|gap| {
                !gap.is_empty()
                    && gap.iter().all(|t| {
                        matches!(t.kind, Kind::Sign('(' | ',' | ':' | '=' | '~' | '[' | '≈'))
                            || t.is_word(NEAR)
                    })
            })
        })
}
