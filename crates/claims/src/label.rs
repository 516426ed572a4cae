//! Pairs that labels make: "without patch: … with patch: …".
//!
//! A label stands at the start of a line or behind a sign, and a colon or next to nothing parts it
//! from its figures. A label alone on its line has the figures of the lines below.

use crate::pair::{Form, Pair, comparable, is_spread, metric_before};
use crate::token::{Kind, Token};
use crate::words::{Side, side};

/// The figures that stand behind one label.
struct Group {
    side: Side,
    /// Tokens of the label.
    length: usize,
    figures: Vec<usize>,
}

/// Pairs of figures behind labels.
pub(crate) fn labelled(tokens: &[Token], used: &[bool]) -> Vec<Pair> {
    let groups = groups(tokens, used);
    let mut found = Vec::new();
    let mut before: Option<&Group> = None;
    let mut waiting: Option<&Group> = None;
    for group in &groups {
        // "baseline + batching" is a variant of the "baseline" above.
        let variant = before.is_some_and(|before| group.length > before.length);
        match group.side {
            Side::Before if variant => {
                if let Some(before) = before {
                    matched(tokens, before, group, Form::Variant, &mut found);
                }
            }
            Side::Before => {
                if let Some(after) = waiting.take() {
                    matched(tokens, group, after, Form::Labelled, &mut found);
                }
                before = Some(group);
            }
            Side::After => match before {
                Some(before) => matched(tokens, before, group, Form::Labelled, &mut found),
                None => waiting = Some(group),
            },
        }
    }
    found
}

fn matched(tokens: &[Token], before: &Group, after: &Group, form: Form, found: &mut Vec<Pair>) {
    if before.figures.len() != after.figures.len() {
        return;
    }
    for (&before, &after) in before.figures.iter().zip(&after.figures) {
        let same = tokens
            .get(before)
            .zip(tokens.get(after))
            .is_some_and(|(b, a)| comparable(b, a) && b.unit.is_some() == a.unit.is_some());
        if same {
            let metric = metric_before(tokens, before.min(after));
            found.push(Pair { before, after, form, way: None, metric });
        }
    }
}

fn groups(tokens: &[Token], used: &[bool]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut at = 0;
    let (mut open, mut block) = (false, false);
    while let Some(token) = tokens.get(at) {
        if let Some((side, length)) = label(tokens, at) {
            groups.push(Group { side, length, figures: Vec::new() });
            at += length;
            (open, block) = (true, false);
            continue;
        }
        // A line's figures are its label's; a label alone on its line has those of the next ones.
        if token.first {
            let empty = groups.last().is_some_and(|group| group.figures.is_empty());
            block |= empty;
            open &= block;
        } else if token.kind == Kind::Stop && !block {
            open = false;
        }
        let plain =
            token.figure().is_some() && !is_spread(tokens, at) && used.get(at) == Some(&false);
        if let Some(group) = groups.last_mut().filter(|_| open && plain) {
            group.figures.push(at);
        }
        at += 1;
    }
    groups.retain(|group| !group.figures.is_empty());
    groups
}

/// The label that begins at `at`, and its length up to its colon or its figure.
fn label(tokens: &[Token], at: usize) -> Option<(Side, usize)> {
    const LENGTH_MAX: usize = 8;
    let token = tokens.get(at)?;
    let opens = token.first
        || match tokens.get(..at) {
            Some([.., last]) => {
                last.kind == Kind::Stop
                    || matches!(
                        last.kind,
                        Kind::Sign(',' | ';' | ':' | '(' | '[' | '|' | '-' | '*' | '+' | '"')
                    )
                    || last.number().is_some()
                    || last.is_word(&["the", "and"])
            }
            _ => true,
        };
    if !opens {
        return None;
    }
    let named = if token.is_word(&["the", "kernel", "average", "with"])
        && tokens.get(at + 1).and_then(side).is_some()
    {
        at + 1
    } else {
        at
    };
    let side = if token.is_word(&["with"])
        && named == at + 1
        && tokens.get(named).and_then(side) == Some(Side::Before)
    {
        Side::Before
    } else {
        tokens.get(named).and_then(side)?
    };
    let rest = tokens.get(named + 1..)?.iter().take(LENGTH_MAX);
    let mut length = named + 1 - at;
    for token in rest {
        match &token.kind {
            Kind::Sign(':' | '=' | '|') => return Some((side, length + 1)),
            // "before 12.1 ms": no colon, and nothing but words of a label between.
            Kind::Number(_) => {
                return bare(tokens, named + 1, at + length).then_some((side, length));
            }
            Kind::Word
            | Kind::Opaque
            | Kind::Sign(
                ',' | '(' | ')' | '~' | '*' | '+' | '`' | '"' | '-' | '\'' | '/' | '[' | ']',
            ) => length += 1,
            _ => return None,
        }
        if token.first && length > 1 {
            return None;
        }
    }
    None
}

/// Whether nothing but filling words stands between a label without colon and its figure.
fn bare(tokens: &[Token], from: usize, to: usize) -> bool {
    const FILL: &[&str] = &[
        "the",
        "this",
        "a",
        "an",
        "patch",
        "patches",
        "patched",
        "series",
        "change",
        "commit",
        "kernel",
        "code",
        "applied",
        "is",
        "was",
        "were",
        "it",
        "takes",
        "took",
        "about",
        "around",
        "version",
        "optimization",
        "average",
        "avg",
        "mean",
    ];
    tokens
        .get(from..to)
        .unwrap_or_default()
        .iter()
        .all(|t| t.is_word(FILL) || matches!(t.kind, Kind::Sign(',' | '~' | '*' | ')' | '`' | '"')))
}
