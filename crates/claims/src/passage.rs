//! Passages: lines that are read together, with the way back from a token to its line.

use crate::mail::Line;
use crate::token::{Token, tokens};
use crate::words::{Side, side};

/// Lines without a gap between them.
pub(crate) struct Passage {
    /// Its lines, joined by line breaks.
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    /// Byte offset and number of each line.
    starts: Vec<(usize, u32)>,
}

impl Passage {
    /// The number of the line that a token begins on.
    pub(crate) fn line_of(&self, token: usize) -> u32 {
        let at = self.tokens.get(token).map_or(0, |token| token.start);
        let behind = self.starts.partition_point(|(start, _)| *start <= at);
        behind
            .checked_sub(1)
            .and_then(|line| self.starts.get(line))
            .map_or(0, |(_, number)| *number)
    }

    /// The words from one token to another, with a few around them.
    pub(crate) fn excerpt(&self, from: usize, to: usize) -> String {
        const BEFORE: usize = 40;
        const BEHIND: usize = 28;
        const LENGTH_MAX: usize = 200;
        let start = self.tokens.get(from).map_or(0, |token| token.start);
        let end = self.tokens.get(to).map_or(self.text.len(), |token| token.end);
        let mut low = start.saturating_sub(BEFORE);
        while !self.text.is_char_boundary(low) {
            low -= 1;
        }
        if low > 0 {
            let cut = self.text.get(low..start).and_then(|head| head.find(char::is_whitespace));
            low = cut.map_or(start, |cut| low + cut);
        }
        let mut high = (end + BEHIND).min(self.text.len()).min(low + LENGTH_MAX);
        while !self.text.is_char_boundary(high) {
            high -= 1;
        }
        if high < self.text.len() && high > end {
            let cut = self.text.get(end..high).and_then(|tail| tail.rfind(char::is_whitespace));
            high = cut.map_or(high, |cut| end + cut);
        }
        let words: Vec<&str> =
            self.text.get(low..high).unwrap_or_default().split_whitespace().collect();
        words.join(" ")
    }
}

/// Groups lines that are not in `taken`, which must be sorted.
pub(crate) fn passages(lines: &[Line], taken: &[u32]) -> Vec<Passage> {
    let mut all = Vec::new();
    let mut group: Vec<&Line> = Vec::new();
    let mut gap = false;
    for line in lines {
        if line.text.trim().is_empty() || taken.binary_search(&line.number).is_ok() {
            gap = true;
            continue;
        }
        let goes_on = group.last().is_some_and(|last| {
            last.depth == line.depth && (!gap || introduces(&last.text) || answers(&group, line))
        });
        if !goes_on && !group.is_empty() {
            all.push(passage(&std::mem::take(&mut group)));
        }
        group.push(line);
        gap = false;
    }
    if !group.is_empty() {
        all.push(passage(&group));
    }
    all
}

/// "Results:" belongs to what follows, an empty line between them or not.
fn introduces(line: &str) -> bool {
    line.trim_end().ends_with(':')
}

/// "After:" belongs to the "Before:" above.
fn answers(group: &[&Line], line: &Line) -> bool {
    let opens = |line: &Line| {
        let words = tokens(line.text.get(..line.text.len().min(60)).unwrap_or_default());
        words.iter().find(|t| !t.text.is_empty()).and_then(side)
    };
    opens(line) == Some(Side::After) && group.iter().any(|line| opens(line) == Some(Side::Before))
}

fn passage(lines: &[&Line]) -> Passage {
    let mut text = String::new();
    let mut starts = Vec::with_capacity(lines.len());
    for line in lines {
        starts.push((text.len(), line.number));
        text.push_str(&line.text);
        text.push('\n');
    }
    let tokens = tokens(&text);
    Passage { text, tokens, starts }
}
