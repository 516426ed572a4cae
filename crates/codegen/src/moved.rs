//! Where a place of the file before an edit is found after it.
//!
//! A hint puts text around a condition and moves what follows on the line. Where the edit keeps
//! the number of lines, as hints do, each line is compared with its own counterpart, so several
//! edits in one file do not disturb each other; otherwise the file is compared as one.

use crate::unit::{Pos, SiteQuery, Span};

/// The way from the old text to the new one.
#[derive(Debug)]
pub(crate) struct Moves<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Start,
    End,
}

impl<'a> Moves<'a> {
    pub(crate) fn new(old: &'a [u8], new: &'a [u8]) -> Self {
        let lines = |text: &'a [u8]| text.split(|&b| b == b'\n').collect::<Vec<_>>();
        Self { old: lines(old), new: lines(new) }
    }

    /// The query, its places as they are after the edit.
    pub(crate) fn site(&self, site: &SiteQuery) -> SiteQuery {
        let (start, end) = self.span((site.start, site.end));
        SiteQuery {
            start,
            end,
            when_true: site.when_true.map(|s| self.span(s)),
            when_false: site.when_false.map(|s| self.span(s)),
            ..site.clone()
        }
    }

    fn span(&self, span: Span) -> Span {
        (self.edge(span.0, Edge::Start), self.edge(span.1, Edge::End))
    }

    /// Text inserted right at a span's edge becomes part of the span: `x` in `if (x)` becomes the
    /// whole of `unlikely(x)`, whose branch may be put down to the macro's name.
    fn edge(&self, pos: Pos, edge: Edge) -> Pos {
        let (Some(line), Some(column)) = (pos.line.checked_sub(1), pos.column.checked_sub(1))
        else {
            return pos;
        };
        let (line, column) = (line as usize, column as usize);
        if self.old.len() != self.new.len() {
            return self.across_lines(pos, edge);
        }
        let (Some(old), Some(new)) = (self.old.get(line), self.new.get(line)) else { return pos };
        let (head, tail) = common(old, new);
        let left = old.len().saturating_sub(column);
        let column = match edge {
            Edge::Start if column <= head => column,
            Edge::End if left <= tail => new.len() - left,
            Edge::Start if left <= tail => new.len() - left,
            Edge::End if column <= head => column,
            Edge::Start => head,
            Edge::End => new.len() - tail,
        };
        Pos { column: narrow(column + 1), ..pos }
    }

    /// With lines added or taken away: lines before the first and after the last changed one keep
    /// their distance from that end of the file; a changed one stays.
    fn across_lines(&self, pos: Pos, _edge: Edge) -> Pos {
        let (_, tail) = common(&self.old, &self.new);
        let left = self.old.len().saturating_sub(pos.line as usize - 1);
        let head = common(&self.old, &self.new).0;
        if (pos.line as usize) <= head || left > tail {
            return pos;
        }
        Pos { line: narrow(self.new.len() - left + 1), ..pos }
    }
}

fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Lengths of the common beginning, and of the common end of what is left.
fn common<T: PartialEq>(old: &[T], new: &[T]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = |all: &[T]| all.len() - head;
    let room = rest(old).min(rest(new));
    let tail = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b);
    (head, tail.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(start: (u32, u32), end: (u32, u32), arm: (Pos, Pos)) -> SiteQuery {
        SiteQuery {
            file: "x.c".into(),
            start: Pos::new(start.0, start.1),
            end: Pos::new(end.0, end.1),
            when_true: Some(arm),
            when_false: None,
            taken_true: 0,
            taken_false: 1,
        }
    }

    #[test]
    fn a_hint_is_part_of_the_condition_and_moves_what_follows_on_the_line() {
        let moves =
            Moves::new(b"a;\nif (x < 0) return;\nb;\n", b"a;\nif (unlikely(x < 0)) return;\nb;\n");
        let arm = (Pos::new(2, 12), Pos::new(2, 19));
        let after = moves.site(&query((2, 5), (2, 10), arm));
        assert_eq!((after.start, after.end), (Pos::new(2, 5), Pos::new(2, 20)));
        assert_eq!(after.when_true, Some((Pos::new(2, 22), Pos::new(2, 29))));
    }

    #[test]
    fn edits_on_other_lines_do_not_matter() {
        let moves = Moves::new(b"if (a)\nif (b)\nif (c)\n", b"if (u(a))\nif (u(b))\nif (u(c))\n");
        let after = moves.site(&query((2, 5), (2, 6), (Pos::new(3, 1), Pos::new(3, 7))));
        assert_eq!((after.start, after.end), (Pos::new(2, 5), Pos::new(2, 9)));
        assert_eq!(after.when_true, Some((Pos::new(3, 1), Pos::new(3, 10))));
    }

    #[test]
    fn lines_added_before_move_the_line() {
        let moves = Moves::new(b"a\nif (x)\n", b"#include <u.h>\na\nif (x)\n");
        let after = moves.site(&query((2, 5), (2, 6), (Pos::new(2, 6), Pos::new(2, 7))));
        assert_eq!((after.start, after.end), (Pos::new(3, 5), Pos::new(3, 6)));
    }

    #[test]
    fn a_place_outside_the_file_stays() {
        let moves = Moves::new(b"a", b"ab");
        let after = moves.site(&query((0, 0), (9, 9), (Pos::new(1, 50), Pos::new(1, 60))));
        assert_eq!((after.start, after.end), (Pos::new(0, 0), Pos::new(9, 9)));
    }
}
