//! Which two figures of a passage are a before and an after.
//!
//! A pair is made by words that name its order ("from … to", "->", "down to", "up from"), or by
//! labels ("without patch: … with patch: …"). Plain "X to Y" may be a range and "X vs Y" has no
//! order; both are kept, marked as such.

use crate::judge::Arms;
use crate::label::labelled;
use crate::number::Number;
use crate::token::{Kind, NEAR, Token};
use crate::unit::{Better, Unit};
use crate::words::{Way, metric, parts, way};

/// What joins the figures of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// "from X to Y", "X down to Y", "X -> Y", "Y, up from X".
    Ordered,
    /// "X to Y".
    Plain,
    /// "X vs Y".
    Versus,
    /// "before: X", "after: Y".
    Labelled,
    /// "baseline: X", "baseline + more: Y".
    Variant,
}

/// Two figures that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    /// Indices of the tokens.
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) form: Form,
    /// Where the words around it say that it went.
    pub(crate) way: Option<Way>,
    /// What the sentence calls the metric.
    pub(crate) metric: Option<Better>,
}

impl Pair {
    /// First token of the pair.
    pub(crate) fn from(&self) -> usize {
        self.before.min(self.after)
    }

    /// Last token of the pair.
    pub(crate) fn to(&self) -> usize {
        self.before.max(self.after)
    }

    /// The figures in one unit.
    pub(crate) fn arms(&self, tokens: &[Token]) -> Option<Arms> {
        let (before, after) = (tokens.get(self.before)?, tokens.get(self.after)?);
        let unit = before.unit.as_ref().or(after.unit.as_ref());
        let by_unit = unit.and_then(|unit| unit.better);
        // A rate needs no name; of other units and names the one that is there counts.
        let rate = by_unit == Some(Better::Higher);
        let agree = by_unit.is_none() || self.metric.is_none() || by_unit == self.metric;
        let better = by_unit.or(self.metric);
        Some(Arms {
            before: shared(before, after)?,
            after: shared(after, before)?,
            better,
            better_sure: agree && (rate || self.metric.is_some()),
            percent: before.percent,
            ordered: self.form != Form::Versus,
        })
    }
}

/// A figure in base units; one without a unit has that of the other, "0.1G" that without its size.
fn shared(own: &Token, other: &Token) -> Option<Number> {
    let number = own.number()?;
    Some(match (&own.unit, &other.unit) {
        (Some(unit), _) => in_base(number, Some(unit)),
        (None, Some(_)) if own.magnified => number.clone(),
        (None, unit) => in_base(number, unit.as_ref()),
    })
}

/// A figure in the base unit of what it measures. Bytes and counts are no exception to printed
/// precision: they may be means.
pub(crate) fn in_base(number: &Number, unit: Option<&Unit>) -> Number {
    unit.map_or_else(|| number.clone(), |unit| number.scaled(unit.scale))
}

/// The pairs of a passage, in the order of their first figures.
pub(crate) fn pairs(tokens: &[Token]) -> Vec<Pair> {
    let figures: Vec<usize> = (0..tokens.len())
        .filter(|&at| {
            tokens.get(at).is_some_and(|t| t.number().is_some()) && !is_spread(tokens, at)
        })
        .collect();
    let mut found: Vec<Pair> = Vec::new();
    let depths = depths(tokens);
    for (index, &one) in figures.iter().enumerate() {
        if found.last().is_some_and(|pair| pair.to() == one) {
            continue;
        }
        let rest = figures.get(index + 1..).unwrap_or_default();
        let Some(&next) = rest.first() else { break };
        // "48 (rounded to 64) to 8": the figure in brackets is a remark on the one before it.
        let level = depths.get(one);
        let behind = || rest.iter().take(BRACKETED_MAX).find(|at| depths.get(**at) <= level);
        let pair = joined(tokens, &depths, one, next)
            .or_else(|| behind().and_then(|&two| joined(tokens, &depths, one, two)));
        found.extend(pair);
    }
    let used = taken(tokens, &found);
    found.extend(labelled(tokens, &used));
    found.sort_by_key(Pair::from);
    found
}

/// Most figures in brackets that are passed over.
const BRACKETED_MAX: usize = 6;

/// How many brackets are open at each token.
fn depths(tokens: &[Token]) -> Vec<u32> {
    let mut open = 0_u32;
    let depth = tokens.iter().map(|token| match token.kind {
        Kind::Sign('(' | '[') => {
            open += 1;
            open - 1
        }
        Kind::Sign(')' | ']') => {
            open = open.saturating_sub(1);
            open
        }
        Kind::Stop => {
            open = 0;
            0
        }
        _ => open,
    });
    depth.collect()
}

/// Which tokens are figures of a pair.
pub(crate) fn taken(tokens: &[Token], pairs: &[Pair]) -> Vec<bool> {
    let mut taken = vec![false; tokens.len()];
    for at in pairs.iter().flat_map(|pair| [pair.before, pair.after]) {
        if let Some(mark) = taken.get_mut(at) {
            *mark = true;
        }
    }
    taken
}

/// Whether the number at `at` is a spread: "± 1%".
pub(crate) fn is_spread(tokens: &[Token], at: usize) -> bool {
    matches!(tokens.get(..at), Some([.., last]) if last.kind == Kind::PlusMinus)
}

/// Whether two figures measure the same thing, as far as their units tell.
pub(crate) fn comparable(one: &Token, other: &Token) -> bool {
    if one.percent != other.percent {
        return false;
    }
    match (&one.unit, &other.unit) {
        (Some(one), Some(other)) => one.key == other.key,
        _ => true,
    }
}

/// The pair of two neighbouring figures.
fn joined(tokens: &[Token], depths: &[u32], one: usize, two: usize) -> Option<Pair> {
    const GAP_MAX: usize = 12;
    let gap = tokens.get(one + 1..two)?;
    if gap.len() > GAP_MAX || !comparable(tokens.get(one)?, tokens.get(two)?) {
        return None;
    }
    let (outer, inner) = (*depths.get(one)?, *depths.get(two)?);
    if inner < outer {
        return None;
    }
    // The spread of the first figure and its brackets say nothing about how the two are joined.
    let gap: Vec<&Token> = gap
        .iter()
        .zip(depths.get(one + 1..two)?)
        .filter(|(_, depth)| **depth == outer || inner > outer)
        .map(|(token, _)| token)
        .filter(|t| {
            t.number().is_none()
                && !matches!(
                    t.kind,
                    Kind::PlusMinus
                        | Kind::Sign(
                            '~' | '≈' | '(' | ')' | '*' | '`' | '_' | '[' | ']' | '"' | '\''
                        )
                )
                && !t.is_word(NEAR)
        })
        .collect();
    if gap
        .iter()
        .any(|t| t.kind == Kind::Stop || matches!(t.kind, Kind::Factor(_) | Kind::Range(..)))
    {
        return None;
    }
    let (before, after, form) = order(tokens, &gap, one, two)?;
    // "8 ms (down from 10 ms)" leads into brackets; "48 (rounded to 64)" is a remark.
    if inner > outer && (before, after) != (two, one) {
        return None;
    }
    let start = if form == Form::Ordered { one } else { one.min(two) };
    let said = said_before(tokens, start);
    let down_or_up = gap.iter().find_map(|t| match t.text.as_str() {
        "down" => Some(Way::Down),
        "up" => Some(Way::Up),
        _ => None,
    });
    let way = match (said, down_or_up) {
        (Some(said), Some(other)) if said != other && matches!(said, Way::Up | Way::Down) => None,
        (said, other) => said.or(other),
    };
    Some(Pair { before, after, form, way, metric: metric_before(tokens, start) })
}

/// Which of two neighbouring figures comes first, and how that is known.
fn order(tokens: &[Token], gap: &[&Token], one: usize, two: usize) -> Option<(usize, usize, Form)> {
    let words: Vec<&str> =
        gap.iter().filter(|t| t.kind == Kind::Word).map(|t| t.text.as_str()).collect();
    let arrows = gap.iter().filter(|t| t.kind == Kind::Arrow).count();
    if arrows == 1 && words.len() <= 4 {
        return Some((one, two, Form::Ordered));
    }
    const CUT: &[&str] = &["and", "but", "while", "whereas", "when", "or", "plus", "if"];
    let cut = |t: &&Token| matches!(t.kind, Kind::Sign(';' | '|' | '/')) || t.is_word(CUT);
    if arrows > 0 || gap.iter().copied().any(|t| cut(&t)) || spans(tokens, one) {
        return None;
    }
    if let ["instead", "of"] | ["rather", "than"] = words.as_slice() {
        return Some((two, one, Form::Ordered));
    }
    const FILL: &[&str] = &["an", "a", "the", "average", "mean", "median", "of", "only", "now"];
    let core: Vec<&str> = words.iter().copied().filter(|w| !FILL.contains(w)).collect();
    // "Y, up from X", unless X goes on to a figure of its own.
    const TURNED: &[&str] = &[
        "up",
        "down",
        "increased",
        "decreased",
        "reduced",
        "improved",
        "raised",
        "lowered",
        "dropped",
        "increase",
        "decrease",
        "reduction",
        "improvement",
    ];
    if let [words @ .., "from"] = core.as_slice()
        && !words.is_empty()
        && words.iter().all(|word| TURNED.contains(word))
        && !opened_by_from(tokens, one)
        && tokens
            .get(one)
            .zip(tokens.get(two))
            .is_some_and(|(a, b)| a.unit.is_some() == b.unit.is_some())
        && !tokens
            .get(two + 1..)
            .unwrap_or_default()
            .iter()
            .take(5)
            .any(|t| t.is_word(&["to"]) || t.kind == Kind::Arrow)
    {
        return Some((two, one, Form::Ordered));
    }
    if let [.., one_word, two_word] = core.as_slice() {
        match (*one_word, *two_word) {
            ("compared" | "relative" | "opposed", "to") | ("compared", "with")
                if core.len() <= 3 =>
            {
                return Some((one, two, Form::Versus));
            }
            ("down" | "up", "to") if core.len() <= 5 => return Some((one, two, Form::Ordered)),
            _ => {}
        }
    }
    if let ["vs" | "vs." | "versus" | "against"] = core.as_slice() {
        return Some((one, two, Form::Versus));
    }
    let to = core.iter().filter(|w| **w == "to").count();
    if core.last() == Some(&"to") && to == 1 && core.len() <= 5 {
        let form = if opened_by_from(tokens, one) { Form::Ordered } else { Form::Plain };
        return (form == Form::Ordered || core.len() == 1).then_some((one, two, form));
    }
    None
}

/// Whether the words before a figure open a range: "savings from 15 % to 35 %", "ranging from".
fn spans(tokens: &[Token], at: usize) -> bool {
    const RANGES: &[&str] = &[
        "ranging",
        "ranges",
        "range",
        "varying",
        "varies",
        "vary",
        "anywhere",
        "between",
        "depending",
        "saving",
        "savings",
        "improvements",
        "gains",
        "speedups",
        "reductions",
        "benefits",
        "wins",
        "speed-ups",
        "regressions",
    ];
    clause_before(tokens, at).take(4).any(|t| t.is_word(RANGES))
}

/// Whether "from" stands before the figure at `at`.
fn opened_by_from(tokens: &[Token], at: usize) -> bool {
    let from = at.saturating_sub(6);
    let before = tokens.get(from..at).unwrap_or_default();
    before
        .iter()
        .rev()
        .take_while(|t| {
            t.kind == Kind::Word || matches!(t.kind, Kind::Sign('~' | '≈' | '*' | '`' | '(' | '"'))
        })
        .any(|t| t.text == "from")
}

/// Where the words before a pair say that it went; `None` where they disagree.
fn said_before(tokens: &[Token], at: usize) -> Option<Way> {
    // More performance is better, whatever its figures do.
    let performance =
        clause_before(tokens, at).any(|t| t.is_word(&["performance", "perf", "speed"]));
    let mut found: Option<Way> = None;
    for token in clause_before(tokens, at) {
        let Some(way) = way(token).filter(|way| *way != Way::Changed) else { continue };
        match found {
            Some(other) if other != way => return None,
            _ => found = Some(way),
        }
    }
    match found {
        Some(Way::Up) if performance => Some(Way::Better),
        Some(Way::Down) if performance => Some(Way::Worse),
        found => found,
    }
}

/// What the words before a pair call the metric; the nearest counts.
pub(crate) fn metric_before(tokens: &[Token], at: usize) -> Option<Better> {
    clause_before(tokens, at).find_map(metric)
}

/// The words before `at` up to where another part of the sentence ends, nearest first.
fn clause_before(tokens: &[Token], at: usize) -> impl Iterator<Item = &Token> {
    const BACK_MAX: usize = 16;
    let from = at.saturating_sub(BACK_MAX);
    let before = tokens.get(from..at).unwrap_or_default();
    before.iter().rev().take_while(|t| {
        !parts(t)
            && !t.is_word(&["by", "no", "not", "which", "that", "than"])
            && t.number().is_none()
            && !matches!(t.kind, Kind::Factor(_))
    })
}
