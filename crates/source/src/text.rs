//! Positions in a file: byte offsets inside, line and column outside.

use std::ops::Range;

/// A position as compilers print it: line and byte column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pos {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// A stretch of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Byte offsets.
    pub bytes: Range<usize>,
    /// Position of the first byte.
    pub start: Pos,
    /// Position one past the last byte.
    pub end: Pos,
}

/// The start of every line, for offset → position.
#[derive(Debug, Clone)]
pub struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    /// Indexes `text`. A line ends after `\n`; `\r` is part of the line.
    pub fn new(text: &[u8]) -> Self {
        let mut starts = vec![0];
        starts.extend(text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1));
        Self { starts }
    }

    /// The position of byte `offset`; past the end, a position on the last line.
    pub fn pos(&self, offset: usize) -> Pos {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        Pos { line: clamp(line), column: clamp(offset - start + 1) }
    }

    /// The span of `bytes`.
    pub fn span(&self, bytes: Range<usize>) -> Span {
        Span { start: self.pos(bytes.start), end: self.pos(bytes.end), bytes }
    }

    /// Number of lines, at least 1; a final `\n` opens no line of its own.
    pub fn len(&self, text: &[u8]) -> usize {
        if text.ends_with(b"\n") { self.starts.len() - 1 } else { self.starts.len() }
    }
}

fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one_in_bytes() {
        let text = "a\né b\r\n\nc".as_bytes();
        let index = LineIndex::new(text);
        let at = |offset| {
            let Pos { line, column } = index.pos(offset);
            (line, column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (2, 1));
        assert_eq!(at(5), (2, 4), "é is two bytes");
        assert_eq!(at(8), (3, 1));
        assert_eq!(at(9), (4, 1));
        assert_eq!(index.len(text), 4);
        assert_eq!(LineIndex::new(b"x\n").len(b"x\n"), 1);
    }
}
