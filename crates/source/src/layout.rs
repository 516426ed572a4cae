//! What the lexer knows better than the grammar: where macros stand, and which function a byte is in.

use std::ops::Range;

use tree_sitter::{Parser, Tree};

use crate::lex::{Token, TokenKind, tokens};
use crate::text::LineIndex;

/// A `#define` with parameters: its whole line, and its replacement text.
pub(crate) struct Define {
    pub(crate) name: String,
    pub(crate) line: Range<usize>,
    pub(crate) body: Range<usize>,
}

/// Found by the lexer, since the grammar ends a macro's body at a comment and takes the rest for
/// code.
pub(crate) fn defines(text: &[u8]) -> Vec<Define> {
    let all = tokens(text);
    let mut out = Vec::new();
    for (i, hash) in all.iter().enumerate().filter(|(_, t)| t.kind == TokenKind::Hash) {
        let end = all[i..].iter().position(|t| t.kind == TokenKind::DirectiveEnd);
        let line = &all[i..end.map_or(all.len(), |n| i + n)];
        let [_, keyword, name, rest @ ..] = line else { continue };
        if keyword.text(text) != b"define" {
            continue;
        }
        let end = line.last().map_or(hash.bytes.end, |t| t.bytes.end);
        let called =
            rest.first().is_some_and(|t| t.text(text) == b"(" && t.bytes.start == name.bytes.end);
        let close = rest.iter().find(|t| called && t.text(text) == b")");
        out.push(Define {
            name: String::from_utf8_lossy(name.text(text)).into_owned(),
            line: hash.bytes.start..end,
            // A macro without parameters is a value; conditions in it are its users'.
            body: close.map_or(end, |t| t.bytes.end)..end,
        });
    }
    out
}

/// The outermost `name (…) {…}` of a file, macros left out; declarations may stand between, as
/// those of parameters once did. A closing brace in the first column
/// ends a function whatever the count says, so that an `#if` with two openings costs one function.
pub(crate) fn function_bodies(text: &[u8], defines: &[Define]) -> Vec<(String, Range<usize>)> {
    let all = tokens_outside(text, defines);
    let mut out = Vec::new();
    let (mut parens, mut braces) = (0_usize, 0_usize);
    // The word before the last parenthesis that opened outside of everything.
    let mut called: Option<usize> = None;
    let mut open: Option<(String, usize)> = None;
    for (i, token) in all.iter().enumerate() {
        match token.text(text) {
            b"(" => {
                if parens == 0 && braces == 0 {
                    let word = i.checked_sub(1).filter(|w| all[*w].kind == TokenKind::Word);
                    let is_name = |w: &usize| !all[*w].text(text).starts_with(b"__");
                    called = word.filter(is_name).or(called);
                }
                parens += 1;
            }
            b")" => parens = parens.saturating_sub(1),
            b"{" => {
                if braces == 0
                    && let Some(word) = called
                {
                    let name = String::from_utf8_lossy(all[word].text(text)).into_owned();
                    open = Some((name, token.bytes.start));
                }
                braces += 1;
            }
            b"}" => {
                let first_column =
                    token.bytes.start.checked_sub(1).is_none_or(|b| text[b] == b'\n');
                braces = if first_column { 0 } else { braces.saturating_sub(1) };
                if braces == 0 {
                    parens = 0;
                    called = None;
                    out.extend(open.take().map(|(name, start)| (name, start..token.bytes.end)));
                }
            }
            _ => {}
        }
    }
    out
}

/// How many `if (` the text has, macros left out.
pub(crate) fn count_ifs(text: &[u8], defines: &[Define]) -> usize {
    let all = tokens_outside(text, defines);
    let is_if = |pair: &&[Token]| pair[0].text(text) == b"if" && pair[1].text(text) == b"(";
    all.windows(2).filter(is_if).count()
}

fn tokens_outside(text: &[u8], defines: &[Define]) -> Vec<Token> {
    let in_macro = |at: usize| {
        let i = defines.partition_point(|d| d.line.end <= at);
        defines.get(i).is_some_and(|d| d.line.contains(&at))
    };
    tokens(text).into_iter().filter(|t| !in_macro(t.bytes.start)).collect()
}

/// What lies between the ranges.
pub(crate) fn complement(ranges: &[Range<usize>], text: &[u8]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    for range in ranges {
        out.push(at..range.start);
        at = range.end;
    }
    out.push(at..text.len());
    out
}

pub(crate) fn parse(text: &[u8], index: &LineIndex, parts: &[Range<usize>]) -> Option<Tree> {
    let point = |offset: usize| {
        let at = index.pos(offset);
        tree_sitter::Point { row: at.line as usize - 1, column: at.column as usize - 1 }
    };
    let ranges: Vec<_> = parts
        .iter()
        .filter(|r| !r.is_empty())
        .map(|r| tree_sitter::Range {
            start_byte: r.start,
            end_byte: r.end,
            start_point: point(r.start),
            end_point: point(r.end),
        })
        .collect();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).ok()?;
    if ranges.is_empty() {
        return None;
    }
    parser.set_included_ranges(&ranges).ok()?;
    parser.parse(text, None)
}
