//! Which pair of figures a claimed change is about.
//!
//! A wrong pairing would accuse an honest author. So there are two degrees of certainty. *Sure*: the
//! claim stands in apposition to the pair ("from X to Y, an increase of P %", "by P % (X -> Y)",
//! "That was an increase of P %"). *Likely*: it stands near. Only a sure pair can contradict a
//! claim; a likely one can confirm it, and otherwise the claim is not recomputable.

use crate::judge::{Arms, Measure, Verdict, judge};
use crate::model::Finding;
use crate::pair::{Form, Pair, comparable, is_spread};
use crate::said::Statement;
use crate::token::{Kind, NEAR, Token};
use crate::words::{Way, metric, parts, way};

/// Most pairs that are tried for one claim, so that hostile text costs no square of its length.
const TRIED_MAX: usize = 24;

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linked {
    pub(crate) verdict: Verdict,
    /// The pair that it was held against; index into the pairs.
    pub(crate) pair: Option<usize>,
}

/// Finds the pair of `statement` and judges it.
pub(crate) fn link(tokens: &[Token], pairs: &[Pair], statement: &Statement) -> Linked {
    let near = nearest(pairs, statement.at);
    let held: Vec<(usize, bool, Verdict)> = near
        .into_iter()
        .filter_map(|at| {
            let pair = pairs.get(at)?;
            let arms = fitting_arms(tokens, pair, statement)?;
            let mut said = statement.said.clone();
            // "increased from X to Y (P %)": the word is the pair's.
            said.way = said.way.or(pair.way.filter(|_| said.measure == Measure::Percent));
            Some((at, sure(tokens, pairs, pair, statement), judge(&arms, &said)))
        })
        .collect();
    let good =
        |verdict: &Verdict| matches!(verdict.finding, Finding::Consistent | Finding::Rounded);
    let exact = |verdict: &Verdict| verdict.finding == Finding::Consistent;
    let choice = held
        .iter()
        .find(|(_, sure, verdict)| *sure && good(verdict))
        .or_else(|| held.iter().find(|(_, _, verdict)| exact(verdict)))
        .or_else(|| held.iter().find(|(_, sure, _)| *sure))
        .or_else(|| held.iter().find(|(_, _, verdict)| good(verdict)));
    match choice {
        Some((at, sure, verdict)) => {
            let mut verdict = verdict.clone();
            if !sure && verdict.finding == Finding::Inconsistent {
                verdict.finding = Finding::NotRecomputable;
            }
            Linked { verdict, pair: Some(*at) }
        }
        None => Linked { verdict: unknown(statement, &held), pair: None },
    }
}

fn unknown(statement: &Statement, held: &[(usize, bool, Verdict)]) -> Verdict {
    let what = match statement.said.measure {
        Measure::Percent => "a percentage",
        Measure::Factor => "a factor",
        Measure::Difference => "a difference",
    };
    let reason = match held.first().and_then(|(_, _, verdict)| verdict.recomputed.as_ref()) {
        Some(nearest) => format!(
            "{what} whose before and after are not certain; the nearest pair of figures gives {nearest}"
        ),
        None => format!("{what} without a before and an after"),
    };
    Verdict { finding: Finding::NotRecomputable, recomputed: None, reason }
}

/// Indices of the pairs nearest to a token, the nearest first; of equal ones that before it.
fn nearest(pairs: &[Pair], at: usize) -> Vec<usize> {
    let distance = |pair: &Pair| {
        if pair.to() < at { (at - pair.to(), 0) } else { (pair.from().saturating_sub(at), 1) }
    };
    // Pairs are in order, so the nearest ones lie around the first behind the claim.
    let middle = pairs.partition_point(|pair| pair.from() < at);
    let from = middle.saturating_sub(TRIED_MAX);
    let to = (middle + TRIED_MAX).min(pairs.len());
    let mut order: Vec<usize> = (from..to).collect();
    order.sort_by_key(|&index| pairs.get(index).map(distance));
    order.truncate(TRIED_MAX);
    order
}

/// The pair's figures, if they can be what the claim is about.
fn fitting_arms(tokens: &[Token], pair: &Pair, statement: &Statement) -> Option<Arms> {
    if statement.said.measure == Measure::Difference {
        let (one, other) = (tokens.get(statement.at)?, tokens.get(pair.before)?);
        let (after, bare) = (tokens.get(pair.after)?, one.unit.is_none());
        if !comparable(one, other)
            || !comparable(one, after)
            || bare != other.unit.is_none() && !bare
        {
            return None;
        }
    }
    let mut arms = pair.arms(tokens)?;
    if arms.better.is_none() {
        arms.better = statement.metric;
        arms.better_sure = statement.metric.is_some();
    }
    Some(arms)
}

/// Whether the claim is surely about this pair.
fn sure(tokens: &[Token], pairs: &[Pair], pair: &Pair, statement: &Statement) -> bool {
    // A bare "(12 %)" may be a share of anything.
    if statement.bare && !statement.said.number.signed && pair.way.is_none() {
        return false;
    }
    if pair.form == Form::Variant {
        return false;
    }
    if matches!(pair.form, Form::Plain) && !tight(tokens, pair, statement) {
        return false;
    }
    let named = (pair.metric, statement.metric);
    if let (Some(one), Some(other)) = named
        && one != other
    {
        return false;
    }
    if bare_figures(tokens, pair) && !tight(tokens, pair, statement) && pair.way.is_none() {
        return false;
    }
    if statement.at > pair.to() {
        let gap = tokens.get(pair.to() + 1..statement.at).unwrap_or_default();
        // On a line of its own it may be about any of several labelled pairs.
        let elsewhere = pair.form == Form::Labelled && gap.iter().any(|t| t.first);
        let rivals = || pairs.iter().filter(|pair| pair.form != Form::Plain).take(2).count() > 1;
        appositive(gap, pair) && !(elsewhere && rivals())
    } else if statement.at < pair.from() {
        let gap = tokens.get(statement.at + 1..pair.from()).unwrap_or_default();
        let rest = behind_is_free(tokens, pair);
        pair.form != Form::Labelled && rest && announced(gap)
    } else {
        false
    }
}

/// Whether only brackets and signs stand between pair and claim.
fn tight(tokens: &[Token], pair: &Pair, statement: &Statement) -> bool {
    let gap = if statement.at > pair.to() {
        tokens.get(pair.to() + 1..statement.at)
    } else {
        tokens.get(statement.at + 1..pair.from())
    };
    gap.is_some_and(|gap| {
        let words = gap.iter().filter(|t| t.kind == Kind::Word).count();
        let quiet = gap.iter().all(|t| matches!(t.kind, Kind::Word | Kind::Sign(_)) && !parts(t));
        let open =
            gap.iter().any(|t| matches!(t.kind, Kind::Sign('(' | '[' | ',' | ':' | '=' | '~')));
        quiet && open && words <= usize::from(statement.at < pair.from()) * 3
    })
}

/// Figures without any unit could be versions or settings.
fn bare_figures(tokens: &[Token], pair: &Pair) -> bool {
    [pair.before, pair.after]
        .into_iter()
        .all(|at| tokens.get(at).is_some_and(|t| t.unit.is_none() && !t.percent))
}

/// ", which is a", "(", "That was an increase of": the claim repeats what the pair says.
fn appositive(gap: &[Token], pair: &Pair) -> bool {
    const WORDS: &[&str] = &[
        "which",
        "is",
        "was",
        "that",
        "this",
        "a",
        "an",
        "the",
        "i.e",
        "ie",
        "or",
        "it",
        "of",
        "by",
        "in",
        "about",
        "performance",
        "total",
        "overall",
        "net",
        "relative",
        "represents",
        "representing",
        "corresponding",
        "corresponds",
        "equivalent",
        "equals",
        "equal",
        "means",
        "meaning",
        "roughly",
        "around",
        "approximately",
        "some",
        "only",
        "just",
        "almost",
        "nearly",
        "over",
        "up",
        "down",
        "to",
        "at",
        "least",
        "more",
        "than",
        "most",
        "namely",
        "thus",
        "hence",
        "say",
        "modest",
        "small",
        "slight",
        "significant",
        "nice",
        "solid",
        "whopping",
        "percentage",
        "relatively",
        "being",
    ];
    const GAP_MAX: usize = 12;
    if gap.len() > GAP_MAX {
        return false;
    }
    let sentences = gap.iter().filter(|t| t.kind == Kind::Stop).count();
    // The next sentence begins behind a full stop, or on the line below labelled figures.
    let opening = gap
        .iter()
        .find(|t| t.first)
        .or_else(|| gap.iter().skip_while(|t| t.kind != Kind::Stop).nth(1));
    let refers =
        opening.is_some_and(|t| t.is_word(&["that", "this", "which", "i.e"]) || way(t).is_some());
    // What follows a first percentage is about something else, unless it says "that is" in brackets.
    let second = gap.iter().any(|t| t.percent) && !gap.iter().any(|t| t.is_word(&["i.e", "or"]));
    if second || sentences > 1 || sentences == 1 && !refers {
        return false;
    }
    // A new line in the middle of labelled figures is another row.
    if pair.form == Form::Labelled && gap.iter().any(|t| t.first && !refers && way(t).is_none()) {
        return false;
    }
    let own = |t: &Token| match &t.kind {
        // A verb of change has a subject of its own: "…, which improves throughput by".
        Kind::Word => t.is_word(WORDS) || t.is_word(NEAR) || way(t).is_some_and(|_| !is_verb(t)),
        Kind::Sign(sign) => matches!(
            sign,
            '(' | ')' | ',' | ':' | '=' | '~' | '≈' | '[' | ']' | '-' | '*' | '`' | '–' | '—' | '"'
        ),
        Kind::PlusMinus | Kind::Arrow | Kind::Stop => true,
        Kind::Number(_) => true,
        _ => false,
    };
    let spread = gap.iter().enumerate().all(|(at, t)| match t.kind {
        Kind::Number(_) => t.percent || is_spread(gap, at),
        _ => true,
    });
    spread && gap.iter().all(own)
}

/// Whether a word of change is a finite verb.
fn is_verb(token: &Token) -> bool {
    const VERBS: &[&str] = &[
        "increases",
        "increased",
        "reduces",
        "reduced",
        "improves",
        "improved",
        "drops",
        "dropped",
        "decreases",
        "decreased",
        "speeds",
        "boosts",
        "boosted",
        "lowers",
        "lowered",
        "cuts",
        "saves",
        "saved",
        "grows",
        "grew",
        "shrinks",
        "raises",
        "raised",
        "degrades",
    ];
    token.is_word(VERBS)
}

/// "12 % (from X to Y)", "a 12 % reduction in latency, from X to Y".
fn announced(gap: &[Token]) -> bool {
    const GAP_MAX: usize = 12;
    // Over the end of a line only an opening leads to the figures: the next row has its own.
    let opens = gap.last().is_some_and(|t| {
        matches!(t.kind, Kind::Sign('(' | '[' | ':')) || t.is_word(&["from"]) || t.is_word(NEAR)
    });
    gap.len() <= GAP_MAX
        && (opens || !gap.iter().any(|t| t.first || matches!(t.kind, Kind::Sign(':'))))
        && !gap.iter().any(|t| {
            parts(t)
                || is_verb(t)
                || t.is_word(&[
                    "to", "by", "after", "before", "than", "using", "for", "changing", "moving",
                    "going",
                ]) && !t.is_word(&["for"])
                || matches!(t.kind, Kind::Number(_) | Kind::Range(..) | Kind::Factor(_))
        })
}

/// Whether no second claim follows the pair, which then would be its own.
fn behind_is_free(tokens: &[Token], pair: &Pair) -> bool {
    let next = tokens.get(pair.to() + 1..).unwrap_or_default();
    let mut signs =
        next.iter().take(3).skip_while(|t| matches!(t.kind, Kind::Sign('(' | ',' | '~')));
    !signs.next().is_some_and(|t| t.percent || matches!(t.kind, Kind::Factor(_)))
}

/// The claim that a pair makes by its verb alone: "increased from X to Y".
pub(crate) fn by_verb(tokens: &[Token], pair: &Pair) -> Option<(Way, Arms)> {
    let way =
        pair.way.filter(|way| matches!(way, Way::Up | Way::Down | Way::Better | Way::Worse))?;
    // Figures that only look like a pair prove nothing.
    if !matches!(pair.form, Form::Ordered) {
        return None;
    }
    // "a saving from 15 % to 35 %" may be a range.
    if tokens.get(pair.before).is_some_and(|token| token.percent) {
        return None;
    }
    let arms = pair.arms(tokens)?;
    if matches!(way, Way::Better | Way::Worse)
        && (arms.better.is_none() || metric_is_missing(tokens, pair) && !arms.better_sure)
    {
        return None;
    }
    Some((way, arms))
}

fn metric_is_missing(tokens: &[Token], pair: &Pair) -> bool {
    let from = pair.from().saturating_sub(8);
    !tokens.get(from..pair.from()).unwrap_or_default().iter().any(|t| metric(t).is_some())
}
