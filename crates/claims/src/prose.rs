//! Claims of running text: pairs and statements brought together, passage by passage.

use crate::judge::{Arms, Measure, Verdict, change, judge, judge_way};
use crate::link::{Linked, by_verb, link};
use crate::model::{Claim, Finding, Kind, Note};
use crate::pair::{Form, Pair, pairs};
use crate::passage::Passage;
use crate::said::{Statement, statements};
use crate::token::About;

/// What was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) claims: Vec<Claim>,
    pub(crate) notes: Vec<Note>,
    /// The figures of the one effect that the text claims.
    pub(crate) effect: Option<Arms>,
}

/// A passage with what it holds.
struct Read<'t> {
    passage: &'t Passage,
    pairs: Vec<Pair>,
    statements: Vec<Statement>,
    /// Whether a claim is about the pair of the same index.
    used: Vec<bool>,
    /// Whether that claim is inconsistent.
    accused: Vec<bool>,
}

/// Reads all passages.
pub(crate) fn read(passages: &[Passage]) -> Found {
    let mut all: Vec<Read> = passages
        .iter()
        .map(|passage| {
            let pairs = pairs(&passage.tokens);
            let statements = statements(&passage.tokens, &pairs);
            let none = vec![false; pairs.len()];
            Read { passage, used: none.clone(), accused: none, pairs, statements }
        })
        .collect();
    let mut found = Found::default();
    let mut effects: Vec<Arms> = Vec::new();
    for at in 0..all.len() {
        within(&mut all, at, &mut found, &mut effects);
    }
    for at in 0..all.len() {
        beside(&mut all, at, &mut found, &mut effects);
    }
    for read in &all {
        verbs(read, &mut found, &mut effects);
    }
    let same = |one: &Arms, other: &Arms| {
        one.before.value == other.before.value && one.after.value == other.after.value
    };
    effects.dedup_by(|one, other| same(one, other));
    if let Some((first, rest)) = effects.split_first()
        && rest.iter().all(|other| same(first, other))
    {
        found.effect = Some(first.clone());
    }
    found
}

/// The statements of a passage that has pairs itself.
fn within(all: &mut [Read], at: usize, found: &mut Found, effects: &mut Vec<Arms>) {
    let Some(read) = all.get_mut(at).filter(|read| !read.pairs.is_empty()) else { return };
    for statement in &read.statements {
        let tokens = &read.passage.tokens;
        let linked = link(tokens, &read.pairs, statement);
        let pair = linked.pair.and_then(|at| read.pairs.get(at));
        if pair.is_none() && statement.said.measure == Measure::Difference {
            continue;
        }
        found.claims.push(claim(read.passage, pair, statement, &linked));
        if believed(&linked) {
            effects.extend(pair.and_then(|pair| pair.arms(tokens)));
        }
        if let Some(mark) = linked.pair.and_then(|at| read.used.get_mut(at)) {
            *mark = true;
        }
        if let Some(mark) = linked.pair.and_then(|at| read.accused.get_mut(at)) {
            *mark |= linked.verdict.finding == Finding::Inconsistent;
        }
    }
}

fn believed(linked: &Linked) -> bool {
    matches!(linked.verdict.finding, Finding::Consistent | Finding::Rounded)
}

/// The statements of a passage without pairs: figures that nobody else speaks of, in a passage
/// close by, may bear them out.
fn beside(all: &mut [Read], at: usize, found: &mut Found, effects: &mut Vec<Arms>) {
    let Some(read) = all.get(at).filter(|read| read.pairs.is_empty()) else { return };
    let (passage, mut marks) = (read.passage, Vec::new());
    for statement in &read.statements {
        let around = [at.checked_sub(1), at.checked_sub(2), Some(at + 1)].into_iter().flatten();
        let near = around.filter_map(|other| Some((other, all.get(other)?)));
        let linked = near.filter_map(|(other, read)| Some((other, from_beside(read, statement)?)));
        let (other, linked) = linked
            .into_iter()
            .next()
            .unwrap_or_else(|| (at, link(&passage.tokens, &[], statement)));
        if linked.pair.is_none() && statement.said.measure == Measure::Difference {
            continue;
        }
        found.claims.push(claim(passage, None, statement, &linked));
        if let (Some(pair), Some(read)) = (linked.pair, all.get(other)) {
            marks.push((other, pair));
            effects.extend(read.pairs.get(pair).and_then(|pair| pair.arms(&read.passage.tokens)));
        }
    }
    for (other, pair) in marks {
        if let Some(mark) = all.get_mut(other).and_then(|read| read.used.get_mut(pair)) {
            *mark = true;
        }
    }
}

/// The pair of a neighbouring passage that fits the statement.
fn from_beside(other: &Read, statement: &Statement) -> Option<Linked> {
    if statement.said.measure == Measure::Difference {
        return None;
    }
    let near = other.pairs.iter().zip(&other.used).enumerate().take(8 * FREE_MAX);
    let free = near
        .filter(|(_, (pair, used))| !**used && matches!(pair.form, Form::Labelled | Form::Ordered));
    free.take(FREE_MAX).find_map(|(index, (pair, _))| {
        let arms = pair.arms(&other.passage.tokens)?;
        let mut linked = Linked { verdict: judge(&arms, &statement.said), pair: Some(index) };
        let line = other.passage.line_of(pair.before);
        linked.verdict.reason = format!("{}; by the figures on line {line}", linked.verdict.reason);
        believed(&linked).then_some(linked)
    })
}

/// Most remarks on figures that claim nothing.
const NOTES_MAX: usize = 64;

/// Most free pairs of a neighbouring passage that are tried.
const FREE_MAX: usize = 8;

/// The claim of a statement, by a pair of its own passage or none.
fn claim(passage: &Passage, pair: Option<&Pair>, statement: &Statement, linked: &Linked) -> Claim {
    let (from, to) = pair.map_or((statement.at, statement.at), |pair| {
        (pair.from().min(statement.at), pair.to().max(statement.at))
    });
    let token = passage.tokens.get(statement.at);
    let printed =
        token.and_then(|token| passage.text.get(token.start..token.end)).unwrap_or_default();
    let about = match token.map(|token| token.about) {
        Some(About::Near) => "~",
        Some(About::AtMost) => "≤",
        Some(About::AtLeast) => "≥",
        _ => "",
    };
    let words: Vec<&str> = printed.split_whitespace().collect();
    let kind = match statement.said.measure {
        Measure::Percent => Kind::Percent,
        Measure::Factor => Kind::Factor,
        Measure::Difference => Kind::Difference,
    };
    let Verdict { finding, recomputed, reason } = linked.verdict.clone();
    let printed = format!("{about}{}", words.join(" "));
    let way = statement
        .said
        .way
        .filter(|_| finding == Finding::Inconsistent)
        .map(|way| format!(" ({})", way.name()));
    Claim {
        kind,
        line: passage.line_of(statement.at),
        repeated_on: Vec::new(),
        excerpt: passage.excerpt(from, to),
        printed: format!("{printed}{}", way.unwrap_or_default()),
        recomputed,
        finding,
        reason,
    }
}

/// Pairs that no printed amount speaks of: their verb is a claim, and the change is worth a note.
fn verbs(read: &Read, found: &mut Found, effects: &mut Vec<Arms>) {
    let passage = read.passage;
    for ((pair, used), accused) in read.pairs.iter().zip(&read.used).zip(&read.accused) {
        let line = passage.line_of(pair.after);
        if let Some((way, arms)) = by_verb(&passage.tokens, pair) {
            let Verdict { finding, recomputed, reason } = judge_way(&arms, way);
            // Where an amount has been judged the word is only worth a line if it is wrong alone.
            if *used && (*accused || finding != Finding::Inconsistent) {
                continue;
            }
            effects.push(arms);
            found.claims.push(Claim {
                kind: Kind::Direction,
                line,
                repeated_on: Vec::new(),
                excerpt: passage.excerpt(pair.from(), pair.to()),
                printed: way.name().to_owned(),
                recomputed,
                finding,
                reason,
            });
        } else if !*used
            && matches!(pair.form, Form::Ordered | Form::Labelled)
            && let Some(arms) = pair.arms(&passage.tokens)
            && passage.tokens.get(pair.before).is_some_and(|token| token.unit.is_some())
            && arms.before.value > 0.0
        {
            let text = format!(
                "{}: {} (no amount is printed)",
                passage.excerpt(pair.from(), pair.to()),
                change(&arms, Measure::Percent, 1.0)
            );
            effects.push(arms);
            if found.notes.len() < NOTES_MAX && !found.notes.iter().any(|note| note.text == text) {
                found.notes.push(Note { line, text });
            }
        }
    }
}
