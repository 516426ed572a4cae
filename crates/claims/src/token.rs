//! Prose as words, numbers with their units, and the signs between them.
//!
//! A number counts as one only if it stands alone or with a unit: versions, dates, times, hashes,
//! addresses and words such as "24-core" are opaque, so that they never become figures of a claim.

use crate::number::{self, Number};
use crate::unit::{Unit, magnitude};

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A number; its unit stands in [`Token::unit`].
    Number(Number),
    /// "10-15": both ends.
    Range(Number, Number),
    /// "2.3x".
    Factor(Number),
    /// A word; [`Token::text`] is in small letters.
    Word,
    /// Something with digits in it that is no figure.
    Opaque,
    /// "->", "=>", "→".
    Arrow,
    /// "±", "+-", "+/-".
    PlusMinus,
    /// Another sign.
    Sign(char),
    /// The end of a sentence or list item.
    Stop,
}

/// How a printed figure is qualified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum About {
    /// Not at all.
    #[default]
    Plain,
    /// "~", "about", "roughly".
    Near,
    /// "up to", "at most", "almost", "nearly", "<".
    AtMost,
    /// "over", "more than", "at least", ">".
    AtLeast,
}

/// A piece of a passage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Small letters for words, as printed otherwise.
    pub(crate) text: String,
    /// Unit that a word would be behind a number.
    as_unit: Option<Unit>,
    /// Unit of a number.
    pub(crate) unit: Option<Unit>,
    /// Whether a letter for thousands or millions follows the number, and has been reckoned in.
    pub(crate) magnified: bool,
    /// Whether a percent sign follows the number.
    pub(crate) percent: bool,
    /// How the number is qualified.
    pub(crate) about: About,
    /// Byte span in the passage.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether it opens a line of the passage.
    pub(crate) first: bool,
}

impl Token {
    fn new(kind: Kind, text: &str, start: usize, end: usize) -> Self {
        let word = kind == Kind::Word;
        let as_unit = if word { Unit::read(text) } else { None };
        let text = if word { text.to_lowercase() } else { text.to_owned() };
        Self {
            kind,
            text,
            as_unit,
            unit: None,
            percent: false,
            magnified: false,
            about: About::Plain,
            start,
            end,
            first: false,
        }
    }

    pub(crate) fn is_word(&self, words: &[&str]) -> bool {
        self.kind == Kind::Word && words.contains(&self.text.as_str())
    }

    pub(crate) fn number(&self) -> Option<&Number> {
        match &self.kind {
            Kind::Number(number) => Some(number),
            _ => None,
        }
    }

    /// A number that is no percentage.
    pub(crate) fn figure(&self) -> Option<&Number> {
        self.number().filter(|_| !self.percent)
    }
}

/// The tokens of a passage, its lines joined by line breaks.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let before = out.len();
        if opens_an_item(line) {
            out.push(Token::new(Kind::Stop, "", line_start, line_start));
        }
        let from = out.len();
        let mut at = line_start;
        for chunk in line.split_inclusive(char::is_whitespace) {
            let body = chunk.trim_end();
            chunk_tokens(body, at, &mut out);
            at += chunk.len();
        }
        if let Some(token) = out.get_mut(from) {
            token.first = true;
        } else {
            out.truncate(before);
        }
        line_start += line.len();
    }
    qualify(join_units(stops(out, text)))
}

/// "- ", "* ", "1. ", "2) ": a list item is a sentence of its own.
fn opens_an_item(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with("• ")
        || line.starts_with("+ ")
    {
        return true;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=2).contains(&digits)
        && line.get(digits..).is_some_and(|rest| rest.starts_with(". ") || rest.starts_with(") "))
}

/// Splits what stands between two spaces.
fn chunk_tokens(chunk: &str, at: usize, out: &mut Vec<Token>) {
    if chunk.contains("://") || chunk.contains('@') {
        out.push(Token::new(Kind::Opaque, chunk, at, at + chunk.len()));
        return;
    }
    let mut done = 0;
    while let Some(rest) = chunk.get(done..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = next(rest, done > 0 && ends_in_figure(out));
        let length = length.clamp(1, rest.len());
        let mut length = length;
        while !rest.is_char_boundary(length) {
            length += 1;
        }
        push(kind, rest.get(..length).unwrap_or_default(), at + done, out);
        done += length;
    }
}

fn ends_in_figure(out: &[Token]) -> bool {
    out.last().is_some_and(|token| matches!(token.kind, Kind::Number(_)))
}

fn push(kind: Kind, text: &str, start: usize, out: &mut Vec<Token>) {
    let end = start + text.len();
    match kind {
        Kind::Number(number) => {
            let tail = text.get(number.length..).unwrap_or_default();
            let mut token = Token::new(Kind::Number(number), text, start, end);
            if tail == "%" {
                token.percent = true;
            } else if !tail.is_empty() {
                if let (Some(scale), Kind::Number(number)) = (magnitude(tail), &mut token.kind) {
                    *number = number.scaled(scale);
                    token.magnified = true;
                } else {
                    token.unit = Unit::read(tail);
                }
            }
            out.push(token);
        }
        Kind::Range(low, high) => {
            let mut token = Token::new(Kind::Range(low, high), text, start, end);
            token.percent = text.ends_with('%');
            out.push(token);
        }
        kind => out.push(Token::new(kind, text, start, end)),
    }
}

/// The first token of a chunk's rest and its length in bytes.
fn next(rest: &str, after_figure: bool) -> (Kind, usize) {
    for (sign, kind) in [
        ("-->", Kind::Arrow),
        ("->", Kind::Arrow),
        ("==>", Kind::Arrow),
        ("=>", Kind::Arrow),
        ("→", Kind::Arrow),
        ("⇒", Kind::Arrow),
        ("➜", Kind::Arrow),
        ("+/-", Kind::PlusMinus),
        ("+-", Kind::PlusMinus),
        ("-+", Kind::PlusMinus),
        ("±", Kind::PlusMinus),
    ] {
        if rest.starts_with(sign) {
            return (kind, sign.len());
        }
    }
    if number::starts(rest) {
        return figure(rest, after_figure);
    }
    let mut chars = rest.chars();
    let first = chars.next().unwrap_or(' ');
    let second = chars.next().unwrap_or(' ');
    if first == '#' && second.is_ascii_digit() {
        return (Kind::Opaque, opaque_length(rest));
    }
    if first.is_alphanumeric() || first == '_' || first == '%' && second.is_alphabetic() {
        let length = word_length(rest);
        let word = rest.get(..length).unwrap_or_default();
        let opaque = word.chars().any(|c| c.is_ascii_digit());
        return (if opaque { Kind::Opaque } else { Kind::Word }, length);
    }
    (Kind::Sign(first), first.len_utf8())
}

/// A chunk that begins with a digit or a signed digit.
fn figure(rest: &str, after_figure: bool) -> (Kind, usize) {
    let opaque = (Kind::Opaque, opaque_length(rest));
    let Some(number) = number::read(rest) else { return opaque };
    if after_figure && number.signed {
        return opaque;
    }
    let tail = rest.get(number.length..).unwrap_or_default();
    let (unit, behind) = tail.split_at(tail.find(is_boundary).unwrap_or(tail.len()));
    let mut next = behind.chars();
    let (sign, after) = (next.next(), next.next());
    if matches!(sign, Some('-' | '–' | '—')) && after.is_some_and(char::is_alphanumeric) {
        // "10-15%" is a range; "24-core" and "2025-04-09" are none.
        let plain = unit.is_empty() || unit == "%" || magnitude(unit).is_some();
        let range = if plain { range(&number, unit, behind) } else { None };
        return range.unwrap_or(opaque);
    }
    if sign == Some(':') && unit.is_empty() && after.is_some_and(|c| c.is_ascii_digit()) {
        return opaque;
    }
    // The full stop of the sentence is not the unit's.
    let unit = unit.trim_end_matches(['.', '\'', '*', '`', '!', '?', '_']);
    let length = number.length + unit.len();
    if matches!(unit, "x" | "X" | "×") {
        return (Kind::Factor(number), length);
    }
    let known = matches!(unit, "" | "%") || magnitude(unit).is_some() || Unit::read(unit).is_some();
    if known { (Kind::Number(number), length) } else { opaque }
}

/// "10-15", "10–15%", "2.2K-8.7K"; `unit` and `behind` follow the first number.
fn range(low: &Number, unit: &str, behind: &str) -> Option<(Kind, usize)> {
    let dash = behind.chars().next()?;
    let rest = behind.get(dash.len_utf8()..)?;
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let high = number::read(rest)?;
    let tail = rest.get(high.length..)?;
    let end = tail.find(|c: char| !c.is_alphabetic() && c != '%').unwrap_or(tail.len());
    let (high_unit, tail) = tail.split_at(end);
    let known = matches!(high_unit, "" | "%" | "x")
        || magnitude(high_unit).is_some()
        || Unit::read(high_unit).is_some();
    // "2025-04-09" goes on.
    if !known || tail.starts_with(['-', '/', ':']) || low.value > high.value {
        return None;
    }
    let length = low.length + unit.len() + dash.len_utf8() + high.length + end;
    Some((Kind::Range(low.clone(), high), length))
}

fn is_boundary(c: char) -> bool {
    matches!(
        c,
        '(' | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | ','
            | ';'
            | ':'
            | '|'
            | '"'
            | '<'
            | '>'
            | '='
            | '→'
            | '⇒'
            | '~'
            | '±'
            | '│'
    ) || c == '–'
        || c == '—'
        || c == '-' // "10ms->8ms" and "10-15"
}

fn opaque_length(rest: &str) -> usize {
    let stop = |c: char| matches!(c, '(' | ')' | '[' | ']' | ',' | ';' | '|' | '"');
    rest.char_indices().skip(1).find(|(_, c)| stop(*c)).map_or(rest.len(), |(at, _)| at).max(1)
}

/// A word goes up to the next sign that parts words; "Before=12" and "after:3" are parted.
fn word_length(rest: &str) -> usize {
    let stop = |c: char| {
        matches!(
            c,
            '(' | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | ','
                | ';'
                | '|'
                | '"'
                | '='
                | ':'
                | '<'
                | '>'
                | '~'
                | '*'
                | '`'
                | '!'
                | '?'
                | '→'
                | '±'
                | '│'
        )
    };
    let mut length =
        rest.char_indices().skip(1).find(|(_, c)| stop(*c)).map_or(rest.len(), |(at, _)| at);
    if rest.get(length..).is_some_and(|tail| tail.starts_with("::")) {
        length = rest.len();
    }
    let word = rest.get(..length).unwrap_or_default();
    word.trim_end_matches(['.', '\'', '-']).len().max(1)
}

/// A full stop ends a sentence if white space and no small letter follow.
fn stops(tokens: Vec<Token>, text: &str) -> Vec<Token> {
    const SHORT: &[&str] = &["vs", "approx", "e.g", "i.e", "ca", "avg", "std", "resp", "cf"];
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let ends = matches!(token.kind, Kind::Sign('.' | '!' | '?')) && {
            let behind = text.get(token.end..).unwrap_or_default();
            let short = out.last().is_some_and(|last| last.is_word(SHORT));
            let parted = behind.is_empty() || behind.starts_with(char::is_whitespace);
            parted && !short && !behind.trim_start().starts_with(char::is_lowercase)
        };
        if ends {
            let (start, end) = (token.start, token.end);
            out.push(Token::new(Kind::Stop, "", start, end));
        } else {
            out.push(token);
        }
    }
    out
}

/// Joins a number with the unit, the percent sign or the "x" that follows it as a word.
fn join_units(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(mut token) = rest.next() {
        let bare = matches!(token.kind, Kind::Number(_) | Kind::Range(..))
            && token.unit.is_none()
            && !token.percent;
        if bare {
            if let (Some(next), Kind::Number(number)) = (rest.peek(), &mut token.kind)
                && let Some(scale) = magnitude(&next.text).filter(|_| next.text.len() > 1)
            {
                *number = number.scaled(scale);
                token.end = next.end;
                rest.next();
            }
            if let Some(next) = rest.peek() {
                if matches!(next.kind, Kind::Sign('%')) || next.is_word(&["percent", "pct"]) {
                    token.percent = true;
                    token.end = next.end;
                    rest.next();
                } else if next.is_word(&["x", "×"]) || next.kind == Kind::Sign('×') {
                    // "100 x 1 minute" is a product.
                    let end = next.end;
                    let cross = rest.next();
                    let product = rest
                        .peek()
                        .is_some_and(|n| matches!(n.kind, Kind::Number(_) | Kind::Opaque));
                    if let (false, Kind::Number(number)) = (product, &token.kind) {
                        token.kind = Kind::Factor(number.clone());
                        token.end = end;
                    } else {
                        out.push(token);
                        out.extend(cross);
                        continue;
                    }
                } else if next.is_word(&["times"]) {
                    let end = next.end;
                    let times = rest.next();
                    let factor = rest.peek().is_some_and(|n| {
                        n.is_word(&[
                            "faster", "slower", "higher", "lower", "smaller", "more", "fewer",
                            "less", "better",
                        ])
                    });
                    if let (true, Kind::Number(number)) = (factor, &token.kind) {
                        token.kind = Kind::Factor(number.clone());
                        token.end = end;
                    } else {
                        out.push(token);
                        out.extend(times);
                        continue;
                    }
                } else if next.kind == Kind::Word
                    && let Some(unit) = next.as_unit.clone()
                {
                    token.unit = Some(unit);
                    token.end = next.end;
                    rest.next();
                }
            }
        }
        if token.unit.is_some() && rest.peek().is_some_and(|next| next.is_word(&["per"])) {
            let per = rest.next();
            let joined = token
                .unit
                .as_ref()
                .zip(rest.peek())
                .and_then(|(unit, next)| Some((unit.per(&next.text)?, next.end)));
            match joined {
                Some((unit, end)) => {
                    token.unit = Some(unit);
                    token.end = end;
                    rest.next();
                    out.push(token);
                }
                None => {
                    out.push(token);
                    out.extend(per);
                }
            }
            continue;
        }
        out.push(token);
    }
    out
}

/// Notes "~", "about", "up to" and their like at the number that they stand before.
fn qualify(mut tokens: Vec<Token>) -> Vec<Token> {
    for at in 0..tokens.len() {
        let about = match tokens.get(..at) {
            Some([.., one])
                if matches!(one.kind, Kind::Sign('~' | '≈' | '∼')) || one.is_word(NEAR) =>
            {
                About::Near
            }
            Some([.., one, two])
                if matches!(one.kind, Kind::Sign('~')) && matches!(two.kind, Kind::Sign('=')) =>
            {
                About::Near
            }
            Some([.., one, two])
                if one.is_word(&["up", "upto"]) && two.is_word(&["to"])
                    || one.is_word(&["at", "close"]) && two.is_word(&["most", "to"])
                    || one.is_word(&["less"]) && two.is_word(&["than"]) =>
            {
                About::AtMost
            }
            Some([.., one, two])
                if one.is_word(&["at"]) && two.is_word(&["least"])
                    || one.is_word(&["more", "greater", "better"]) && two.is_word(&["than"]) =>
            {
                About::AtLeast
            }
            Some([.., one])
                if one.is_word(&["almost", "nearly", "upto"]) || one.kind == Kind::Sign('<') =>
            {
                About::AtMost
            }
            Some([.., one])
                if one.is_word(&["over", "above", "exceeding"]) || one.kind == Kind::Sign('>') =>
            {
                About::AtLeast
            }
            _ => About::Plain,
        };
        if let Some(token) = tokens.get_mut(at).filter(|token| {
            matches!(token.kind, Kind::Number(_) | Kind::Range(..) | Kind::Factor(_))
        }) {
            token.about = about;
        }
    }
    tokens
}

/// Words for "about".
pub(crate) const NEAR: &[&str] = &[
    "about",
    "around",
    "roughly",
    "approximately",
    "approx",
    "circa",
    "ca",
    "some",
    "estimated",
    "near",
];

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
