//! Writing a hint into the text, and proof that nothing else changed.

use std::ops::Range;

use similar::{ChangeTag, TextDiff};

use crate::dialect::HintForm;
use crate::lex::{Token, TokenKind, tokens};
use crate::macros::MacroTable;

/// One hint to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintEdit {
    /// The condition.
    pub bytes: Range<usize>,
    /// How the hint is spelled.
    pub form: HintForm,
    /// The usual outcome.
    pub expect: bool,
}

/// Why an edit was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The range is not in the text.
    #[error("bytes {0:?} are not in the file; it changed since it was scanned: scan again")]
    OutOfRange(Range<usize>),
    /// Two edits overlap without one holding the other.
    #[error("bytes {0:?} overlap another edit; patch them one at a time")]
    Overlap(Range<usize>),
}

/// `text` with every edit made.
///
/// # Errors
/// When an edit does not lie in the text or two cross each other.
pub fn apply(text: &[u8], edits: &[HintEdit]) -> Result<Vec<u8>, EditError> {
    let mut insertions: Vec<(usize, u8, usize, String)> = Vec::new();
    for (i, edit) in edits.iter().enumerate() {
        let Some(condition) = text.get(edit.bytes.clone()) else {
            return Err(EditError::OutOfRange(edit.bytes.clone()));
        };
        let crosses = |other: &HintEdit| {
            let (a, b) = (&edit.bytes, &other.bytes);
            a.start < b.start && b.start < a.end && a.end < b.end || a == b
        };
        if edits.iter().enumerate().any(|(j, other)| j != i && crosses(other)) {
            return Err(EditError::Overlap(edit.bytes.clone()));
        }
        let (open, close) = wrapping(edit, condition);
        let Range { start, end } = edit.bytes;
        insertions.push((start, 1, usize::MAX - end, open));
        insertions.push((end, 0, usize::MAX - start, close));
    }
    insertions.sort();
    let mut out = Vec::with_capacity(text.len() + insertions.len() * 12);
    let mut at = 0;
    for (offset, _, _, inserted) in insertions {
        out.extend_from_slice(&text[at..offset]);
        out.extend_from_slice(inserted.as_bytes());
        at = offset;
    }
    out.extend_from_slice(&text[at..]);
    Ok(out)
}

fn wrapping(edit: &HintEdit, condition: &[u8]) -> (String, String) {
    match &edit.form {
        HintForm::Builtin => {
            ("__builtin_expect(!!(".to_owned(), format!("), {})", u8::from(edit.expect)))
        }
        HintForm::Macro(name) if has_bare_comma(condition) => {
            (format!("{name}(("), "))".to_owned())
        }
        HintForm::Macro(name) => (format!("{name}("), ")".to_owned()),
    }
}

/// A comma that a macro call would take for the end of its argument.
fn has_bare_comma(condition: &[u8]) -> bool {
    let mut depth = 0_i32;
    tokens(condition).iter().any(|token| {
        match token.text(condition) {
            b"(" => depth += 1,
            b")" => depth -= 1,
            b"," => return depth == 0,
            _ => {}
        }
        false
    })
}

/// Whether two versions of a file are the same tokens once every hint is taken out of both.
pub fn same_without_hints(before: &[u8], after: &[u8], table: &MacroTable) -> bool {
    without_hints(before, table) == without_hints(after, table)
}

fn without_hints(text: &[u8], table: &MacroTable) -> Vec<String> {
    let all: Vec<(TokenKind, String)> = tokens(text)
        .iter()
        .map(|t: &Token| {
            let text = match t.kind {
                TokenKind::DirectiveEnd => "\n".into(),
                _ => String::from_utf8_lossy(t.text(text)),
            };
            (t.kind, text.into_owned())
        })
        .collect();
    let mut out = Vec::new();
    // Stretches of tokens that are left, the next one on top. Iterative, since hostile text nests
    // deeply.
    let mut todo = vec![(0, all.len())];
    while let Some((start, end)) = todo.pop() {
        let mut range = start..end;
        while let Some(i) = range.next() {
            let (kind, word) = &all[i];
            let hint =
                (*kind == TokenKind::Word).then(|| hint_at(&all, i, range.end, table)).flatten();
            match hint {
                Some((inner, end)) => {
                    todo.push((end, range.end));
                    range = inner;
                }
                None => out.push(word.clone()),
            }
        }
    }
    out
}

/// The tokens of the condition inside a hint that starts at token `i`, and the token after it.
fn hint_at(
    all: &[(TokenKind, String)],
    i: usize,
    limit: usize,
    table: &MacroTable,
) -> Option<(Range<usize>, usize)> {
    let is = |at: usize, text: &str| at < limit && all.get(at).is_some_and(|t| t.1 == text);
    if !is(i + 1, "(") || !table.may_be_hint(&all[i].1) {
        return None;
    }
    let close = closing(all, i + 1, limit)?;
    let inside = &all[i + 2..close];
    let mut arguments = Vec::new();
    let mut depth = 0_i32;
    let mut start = i + 2;
    for (at, (_, text)) in (i + 2..close).zip(inside) {
        match text.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            "," if depth == 0 => {
                arguments.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(start..close);
    let texts: Vec<Vec<String>> = arguments
        .iter()
        .map(|range| all[range.clone()].iter().map(|t| t.1.clone()).collect())
        .collect();
    let call = table.hint_call(&all[i].1, &texts)?;
    let mut inner = arguments.get(call.argument)?.clone();
    if all[i].1.starts_with("__builtin_expect") && is(inner.start, "!") && is(inner.start + 1, "!")
    {
        inner.start += 2;
    }
    if is(inner.start, "(") && closing(all, inner.start, inner.end) == Some(inner.end - 1) {
        inner = inner.start + 1..inner.end - 1;
    }
    Some((inner, close + 1))
}

fn closing(all: &[(TokenKind, String)], open: usize, limit: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, (_, text)) in all.iter().enumerate().take(limit).skip(open) {
        match text.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// A unified diff that `git apply` and `patch -p1` take; empty if the texts are equal.
///
/// Written out here, byte for byte, since the diff library's own writer takes text for UTF-8.
pub fn unified_diff(path: &str, before: &[u8], after: &[u8]) -> Vec<u8> {
    if before == after {
        return Vec::new();
    }
    let mut out =
        format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n").into_bytes();
    let diff = TextDiff::from_lines(before, after);
    for hunk in diff.grouped_ops(CONTEXT_LINES) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        let header =
            format!("@@ -{},{} +{},{} @@\n", old.start + 1, old.len(), new.start + 1, new.len());
        out.extend_from_slice(header.as_bytes());
        for change in hunk.iter().flat_map(|op| diff.iter_changes(op)) {
            out.push(match change.tag() {
                ChangeTag::Equal => b' ',
                ChangeTag::Delete => b'-',
                ChangeTag::Insert => b'+',
            });
            out.extend_from_slice(change.value());
            if !change.value().ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

/// Lines around each change.
const CONTEXT_LINES: usize = 3;

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
