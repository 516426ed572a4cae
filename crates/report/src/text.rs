//! Text from outside, made safe to show, and fitted to columns.
//!
//! Paths, conditions, workload names and disassembly come from other people's projects. A control
//! character in one of them can move a terminal's cursor; a bidirectional override can make a
//! condition read as its opposite. Both are shown as `\u{…}` in every output that people read.
//!
//! Texts that this crate writes itself join a number to its unit with a no-break space
//! ([`NBSP`]). Input never carries one past [`prose`] or [`clean`], so [`wrap`] can trust it, and
//! outputs for terminals and mail turn it into a plain space at the very end ([`plain`]).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Joins a number to its unit.
pub(crate) const NBSP: char = '\u{a0}';

/// Whether a character could hide, move or reorder what stands around it.
fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            NBSP
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

fn escape_if(text: &str, must: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if must(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// One line of input: every deceptive character escaped, line breaks and tabs included.
pub(crate) fn clean(text: &str) -> String {
    escape_if(text, is_deceptive)
}

/// One line of source text or disassembly: as [`clean`], but tabs stay.
pub(crate) fn clean_code(text: &str) -> String {
    escape_if(text.trim_end_matches(['\r', '\n']), |c| c != '\t' && is_deceptive(c))
}

/// Text of several lines in which input is quoted, for a terminal: as `clean`, but line breaks and
/// tabs stay.
///
/// ```
/// let error = "line 3: `\u{1b}[2J`\n\tcut it out";
/// assert_eq!(unlikely_report::shown(error), "line 3: `\\u{1b}[2J`\n\tcut it out");
/// ```
#[must_use]
pub fn shown(text: &str) -> String {
    escape_if(text, |c| !matches!(c, '\n' | '\t') && is_deceptive(c))
}

/// Sentences from input: white space collapsed to single spaces, the rest as [`clean`].
pub(crate) fn prose(text: &str) -> String {
    clean(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// `text` cleaned, or `otherwise` where nothing visible is left of it.
pub(crate) fn named(text: &str, otherwise: &str) -> String {
    let text = prose(text);
    if text.is_empty() { otherwise.to_owned() } else { text }
}

/// Input prose as a sentence: its first letter large, a full stop at its end; empty stays empty.
pub(crate) fn sentence(text: &str) -> String {
    let text = prose(text);
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return text };
    let stop = if text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    format!("{}{}{stop}", first.to_uppercase(), chars.as_str())
}

/// Own text for terminals: no-break spaces become spaces.
pub(crate) fn plain(text: &str) -> String {
    text.replace(NBSP, " ")
}

/// Own text for mail: ASCII in place of the signs that this crate writes.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            NBSP => out.push(' '),
            '→' => out.push_str("->"),
            '−' | '–' => out.push('-'),
            '…' => out.push_str("..."),
            '×' => out.push('x'),
            'µ' => out.push('u'),
            _ => out.push(c),
        }
    }
    out.replace(" %", "%")
}

/// Columns that `text` takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// `text` cut to at most `max` columns, with `…` where something was cut off.
pub(crate) fn clip(text: &str, max: usize) -> String {
    if columns(text) <= max {
        return text.to_owned();
    }
    let mut out = head(text, max.saturating_sub(1)).to_owned();
    if max > 0 {
        out.push('…');
    }
    out
}

/// `text` with its middle cut out, to at most `max` columns: for paths, whose ends tell most.
pub(crate) fn clip_middle(text: &str, max: usize) -> String {
    if columns(text) <= max || max < 3 {
        return clip(text, max);
    }
    let front = head(text, (max - 1) / 3);
    let room = max - 1 - columns(front);
    let mut start = text.len();
    for (at, _) in text.char_indices().rev() {
        if columns(text.get(at..).unwrap_or_default()) > room {
            break;
        }
        start = at;
    }
    format!("{front}…{}", text.get(start..).unwrap_or_default())
}

/// The longest beginning of `text` that takes at most `max` columns.
fn head(text: &str, max: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > max {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// `text` filled up with spaces on its right to `width` columns.
pub(crate) fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// `text` filled up with spaces on its left to `width` columns.
pub(crate) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Breaks `text` at spaces into lines of at most `width` columns; `first` and `rest` open the
/// first and the other lines. A word that fits no line loses its middle.
pub(crate) fn wrap(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let needed = columns(&line) + usize::from(!empty) + columns(word);
        if !empty && needed > width {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(&clip_middle(word, width.saturating_sub(columns(&line)).max(8)));
        empty = false;
    }
    if !empty {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_could_steer_a_terminal_or_reorder_a_line_is_spelled_out() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("x\u{202e}y\u{2066}"), "x\\u{202e}y\\u{2066}");
        assert_eq!(clean("a\tb\nc\u{9b}"), "a\\u{9}b\\u{a}c\\u{9b}");
        assert_eq!(clean_code("\tif (x)\r\n"), "\tif (x)");
        assert_eq!(prose("  two\n words\u{7} "), "two words\\u{7}");
        assert_eq!(clean("größer ≥ 中"), "größer ≥ 中");
    }

    #[test]
    fn an_empty_name_gets_a_stand_in() {
        assert_eq!(named(" \n", "(no name)"), "(no name)");
        assert_eq!(named(" a ", "(no name)"), "a");
    }

    #[test]
    fn cutting_keeps_the_telling_end() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip_middle("drivers/net/ethernet/a.c", 12), "dri…rnet/a.c");
        assert_eq!(clip("中中中", 4), "中…");
    }

    #[test]
    fn numbers_stay_with_their_unit_when_a_line_breaks() {
        let lines = wrap("about 0.56\u{a0}% lower", 11, "", "  ");
        assert_eq!(lines, ["about", "  0.56\u{a0}%", "  lower"]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(text in ".{0,200}", width in 20_usize..100) {
            for line in wrap(&prose(&text), width, "* ", "  ") {
                prop_assert!(columns(&line) <= width, "{line:?}");
            }
        }

        #[test]
        fn cutting_never_exceeds(text in ".{0,60}", max in 0_usize..40) {
            let text = clean(&text);
            prop_assert!(columns(&clip(&text, max)) <= max);
            prop_assert!(columns(&clip_middle(&text, max)) <= max);
        }

        #[test]
        fn no_control_or_direction_character_is_left(
            chars in prop::collection::vec(any::<char>(), 0..40),
        ) {
            let text = String::from_iter(chars);
            for shown in [clean(&text), prose(&text), named(&text, "-")] {
                let overrides = '\u{202a}'..='\u{202e}';
                prop_assert!(!shown.chars().any(|c| c.is_control() || overrides.contains(&c)));
            }
            let lines = shown(&text);
            prop_assert_eq!(clean(&lines.replace(['\n', '\t'], "")), lines.replace(['\n', '\t'], ""));
            prop_assert_eq!(lines.matches(['\n', '\t']).count(), text.matches(['\n', '\t']).count());
        }
    }
}
