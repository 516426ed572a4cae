//! A page of aligned, optionally coloured lines for terminals.
//!
//! Colour never carries a meaning alone: it only repeats what a word says. Widths are counted
//! before colour goes on, and all text from outside has passed through [`crate::text`] first.

use crate::text::{clip, columns, left, plain, right, wrap};

/// The narrowest page that is laid out; a narrower terminal breaks lines itself.
const WIDTH_MIN: usize = 40;

/// Columns that are left to a table's first column at least.
const FIRST_MIN: usize = 8;

/// What a stretch of text is, for colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Ordinary text.
    Plain,
    /// A heading.
    Strong,
    /// Of lesser interest.
    Faint,
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// Neither, but to be seen.
    Warn,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Warn => "33",
        }
    }
}

/// Which side of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Lines in the making.
pub(crate) struct Screen {
    out: String,
    /// Columns to keep to.
    pub(crate) width: usize,
    color: bool,
}

impl Screen {
    pub(crate) fn new(width: usize, color: bool) -> Self {
        Self { out: String::new(), width: width.max(WIDTH_MIN), color }
    }

    /// Text in its tone's colour.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        if self.color && tone != Tone::Plain && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
        } else {
            text.to_owned()
        }
    }

    /// A finished line.
    pub(crate) fn line(&mut self, text: &str) {
        self.out.push_str(plain(text).trim_end());
        self.out.push('\n');
    }

    /// An empty line and a heading, with a remark behind it.
    pub(crate) fn heading(&mut self, title: &str, remark: &str) {
        if !self.out.is_empty() {
            self.line("");
        }
        let title = &clip(title, self.width);
        let room = self.width.saturating_sub(columns(title) + 2);
        if remark.is_empty() || columns(remark) <= room {
            let gap = if remark.is_empty() { "" } else { "  " };
            let text = format!(
                "{}{gap}{}",
                self.paint(Tone::Strong, title),
                self.paint(Tone::Faint, remark)
            );
            self.line(&text);
        } else {
            let title = self.paint(Tone::Strong, title);
            self.line(&title);
            self.paragraph(Tone::Faint, remark, "  ", "  ");
        }
    }

    /// A wrapped paragraph: `first` opens its first line, `rest` the others.
    pub(crate) fn paragraph(&mut self, tone: Tone, text: &str, first: &str, rest: &str) {
        for line in wrap(text, self.width, first, rest) {
            let line = self.paint(tone, &line);
            self.line(&line);
        }
    }

    /// A label and its wrapped text.
    pub(crate) fn field(&mut self, label: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let first = left(label, 11);
        for (at, line) in wrap(text, self.width, &first, &" ".repeat(11)).into_iter().enumerate() {
            let line = match line.strip_prefix(&first) {
                Some(rest) if at == 0 => format!("{}{rest}", self.paint(Tone::Faint, &first)),
                _ => line,
            };
            self.line(&line);
        }
    }

    /// A table. Where it is too wide its first column is cut; where that does not do, rows become
    /// blocks of one line a cell.
    pub(crate) fn table(&mut self, head: &[(&str, Align)], rows: &[Vec<(String, Tone)>]) {
        let mut widths: Vec<usize> = head
            .iter()
            .enumerate()
            .map(|(at, (name, _))| {
                let cells = rows.iter().filter_map(|row| row.get(at));
                cells.map(|(text, _)| columns(text)).fold(columns(name), usize::max)
            })
            .collect();
        let needed = widths.iter().sum::<usize>() + 2 * widths.len();
        let excess = needed.saturating_sub(self.width);
        match widths.first_mut() {
            Some(first) if excess > 0 && *first >= excess + FIRST_MIN => *first -= excess,
            _ if excess > 0 => return self.stacked(head, rows),
            _ => {}
        }
        let names: Vec<_> =
            head.iter().map(|(name, _)| ((*name).to_owned(), Tone::Faint)).collect();
        for row in std::iter::once(&names).chain(rows) {
            let mut line = String::from("  ");
            for ((text, tone), ((_, align), width)) in row.iter().zip(head.iter().zip(&widths)) {
                let text = clip(text, *width);
                let cell = match align {
                    Align::Left => left(&text, *width),
                    Align::Right => right(&text, *width),
                };
                line.push_str(&self.paint(*tone, &cell));
                line.push_str("  ");
            }
            self.line(&line);
        }
    }

    fn stacked(&mut self, head: &[(&str, Align)], rows: &[Vec<(String, Tone)>]) {
        let label = head.iter().map(|(name, _)| columns(name)).max().unwrap_or(0) + 2;
        for row in rows {
            for (at, ((text, tone), (name, _))) in row.iter().zip(head).enumerate() {
                let indent = if at == 0 { "  " } else { "    " };
                let text = clip(text, self.width.saturating_sub(label + 4));
                let line = format!(
                    "{indent}{}{}",
                    self.paint(Tone::Faint, &left(name, label)),
                    self.paint(*tone, &text)
                );
                self.line(&line);
            }
        }
    }

    /// The page.
    pub(crate) fn finish(self) -> String {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> (String, Tone) {
        (text.to_owned(), Tone::Good)
    }

    #[test]
    fn columns_line_up_whatever_the_colour() {
        let head = [("name", Align::Left), ("n", Align::Right)];
        let rows = [vec![cell("中"), cell("1")], vec![cell("ab"), cell("20")]];
        let mut screen = Screen::new(80, false);
        screen.table(&head, &rows);
        assert_eq!(screen.finish(), "  name   n\n  中     1\n  ab    20\n");
        let mut screen = Screen::new(80, true);
        screen.table(&head, &rows);
        assert!(screen.finish().contains("\u{1b}[32mab  \u{1b}[0m  \u{1b}[32m20\u{1b}[0m"));
    }

    #[test]
    fn a_table_a_little_too_wide_loses_the_end_of_its_first_column() {
        let head = [("name", Align::Left), ("value", Align::Right)];
        let mut screen = Screen::new(40, false);
        screen.table(&head, &[vec![cell(&"x".repeat(30)), cell("1234567890")]]);
        let text = screen.finish();
        assert!(text.contains("xxx…  1234567890"), "{text}");
        assert!(text.lines().all(|line| columns(line) <= 40));
    }

    #[test]
    fn a_table_much_too_wide_is_stacked() {
        let head = [("name", Align::Left), ("value", Align::Right)];
        let mut screen = Screen::new(40, false);
        screen.table(&head, &[vec![cell("ab"), cell(&"9".repeat(36))]]);
        let text = screen.finish();
        assert!(text.starts_with("  name   ab\n    value  999"), "{text}");
        assert!(text.lines().all(|line| columns(line) <= 40));
    }
}
