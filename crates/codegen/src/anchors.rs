//! Places outside a condition that compilers put its branch down to.
//!
//! GCC locates the branch of `if (x)` at the opening parenthesis and that of `c ? a : b` at the
//! colon; clang locates loop branches at `while` and `for`. Such a place is the condition's own
//! only if the condition is all there is to the statement's: for an operand of `&&` the same
//! parenthesis would stand for every operand. Comments between are not looked through; the place
//! is then simply not known.

use crate::unit::{Pos, SiteQuery};

/// How far back the head of a `for` is looked for, in bytes.
const FOR_BYTES_MAX: usize = 4096;

/// The places for `site` in `text`, the site's own file.
pub(crate) fn anchors(text: &[u8], site: &SiteQuery) -> Vec<Pos> {
    let text = Text::new(text);
    let (Some(start), Some(end)) = (text.offset(site.start), text.offset(site.end)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let (before, after) = (text.last_before(start), text.first_from(end));
    match (before, after) {
        (Some((open, b'(')), Some((_, b')'))) => {
            found.push(open);
            found.extend(text.word_before(open, &[b"if", b"while"]));
        }
        (Some((semicolon, b';')), Some((_, b';'))) => {
            let open = text.open_before(semicolon);
            found.extend(open.and_then(|open| text.word_before(open, &[b"for"])));
        }
        (_, Some((question, b'?'))) => {
            found.push(question);
            let arms = site.when_true.zip(site.when_false);
            let between = arms.and_then(|(t, f)| Some(text.offset(t.1)?..text.offset(f.0)?));
            found.extend(between.and_then(|gap| text.colon_in(gap)));
        }
        _ => {}
    }
    found.into_iter().map(|offset| text.pos(offset)).collect()
}

struct Text<'t> {
    bytes: &'t [u8],
    /// Offset of each line's first byte.
    lines: Vec<usize>,
}

impl<'t> Text<'t> {
    fn new(bytes: &'t [u8]) -> Self {
        let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1);
        Self { bytes, lines: std::iter::once(0).chain(ends).collect() }
    }

    fn offset(&self, pos: Pos) -> Option<usize> {
        let line = self.lines.get((pos.line as usize).checked_sub(1)?)?;
        line.checked_add((pos.column as usize).checked_sub(1)?)
    }

    fn pos(&self, offset: usize) -> Pos {
        let line = self.lines.partition_point(|&l| l <= offset);
        let start = line.checked_sub(1).and_then(|l| self.lines.get(l)).copied().unwrap_or(0);
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Pos { line: narrow(line), column: narrow(offset - start + 1) }
    }

    /// The last byte before `offset` that is not blank.
    fn last_before(&self, offset: usize) -> Option<(usize, u8)> {
        let head = self.bytes.get(..offset)?;
        let at = head.iter().rposition(|b| !b.is_ascii_whitespace())?;
        Some((at, *head.get(at)?))
    }

    /// The first byte from `offset` on that is not blank.
    fn first_from(&self, offset: usize) -> Option<(usize, u8)> {
        let tail = self.bytes.get(offset..)?;
        let at = tail.iter().position(|b| !b.is_ascii_whitespace())?;
        Some((offset + at, *tail.get(at)?))
    }

    /// Where one of `words` starts that stands before `offset`.
    fn word_before(&self, offset: usize, words: &[&[u8]]) -> Option<usize> {
        let end = self.last_before(offset)?.0 + 1;
        let head = self.bytes.get(..end)?;
        let letter = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let start = head.iter().rposition(|b| !letter(b)).map_or(0, |at| at + 1);
        words.contains(&head.get(start..)?).then_some(start)
    }

    /// The parenthesis that is open at `offset`.
    fn open_before(&self, offset: usize) -> Option<usize> {
        let from = offset.saturating_sub(FOR_BYTES_MAX);
        let mut depth = 0usize;
        for (at, byte) in self.bytes.get(from..offset)?.iter().enumerate().rev() {
            match byte {
                b')' => depth += 1,
                b'(' if depth == 0 => return Some(from + at),
                b'(' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn colon_in(&self, gap: std::ops::Range<usize>) -> Option<usize> {
        let from = gap.start;
        Some(from + self.bytes.get(gap)?.iter().position(|&b| b == b':')?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands at the anchors of the condition between `<` and `>` marks.
    fn found(marked: &str, arms: Option<(&str, &str)>) -> Vec<(u32, u32)> {
        let text = marked.replace(['<', '>'], "");
        let place = |offset: usize| Text::new(text.as_bytes()).pos(offset);
        let start = marked.find('<').unwrap();
        let end = marked.find('>').unwrap() - 1;
        let span = |part: &str| {
            let at = text.find(part).unwrap();
            (place(at), place(at + part.len()))
        };
        let site = SiteQuery {
            file: String::new(),
            start: place(start),
            end: place(end),
            when_true: arms.map(|a| span(a.0)),
            when_false: arms.map(|a| span(a.1)),
            taken_true: 0,
            taken_false: 0,
        };
        anchors(text.as_bytes(), &site).iter().map(|p| (p.line, p.column)).collect()
    }

    #[test]
    fn a_whole_condition_owns_its_parenthesis_and_keyword() {
        assert_eq!(found("x;\n  if (<a>) b;", None), [(2, 6), (2, 3)]);
        assert_eq!(found("while( <a> )", None), [(1, 6), (1, 1)]);
        assert_eq!(found("if\n(<a>)", None), [(2, 1), (1, 1)]);
    }

    #[test]
    fn an_operand_owns_neither() {
        assert_eq!(found("if (<a> && b)", None), []);
        assert_eq!(found("if (a && <b>)", None), []);
    }

    #[test]
    fn a_call_is_no_statement() {
        assert_eq!(found("f(<a>)", None), [(1, 2)]);
        assert_eq!(found("elseif (<a>)", None), [(1, 8)]);
    }

    #[test]
    fn the_condition_of_a_for_owns_the_keyword() {
        assert_eq!(found(" for (i = g(0); <i>; i++)", None), [(1, 2)]);
    }

    #[test]
    fn a_choice_owns_its_colon() {
        assert_eq!(found("<a> ? bb : cc", Some(("bb", "cc"))), [(1, 3), (1, 8)]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_and_place_is_safe(
            text in "[if (;:?a)\n]{0,40}",
            at in proptest::array::uniform8(0u32..9),
        ) {
            let pos = |i: usize| Pos::new(at[i], at[i + 1]);
            let site = SiteQuery {
                file: String::new(), start: pos(0), end: pos(2),
                when_true: Some((pos(1), pos(4))), when_false: Some((pos(5), pos(6))),
                taken_true: 0, taken_false: 0,
            };
            let _ = anchors(text.as_bytes(), &site);
            let _ = crate::moved::Moves::new(text.as_bytes(), b"if (a)\n").site(&site);
        }
    }
}
