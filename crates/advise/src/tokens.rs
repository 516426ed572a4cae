//! Two writings of one Rust expression, compared token by token.
//!
//! A compiler that prints an expression keeps its tokens and sets the white space between them anew;
//! comments it leaves out. So that is all that may differ: brackets, strings and what follows decide.
//! No grammar is asked, and operators are compared a character at a time, because where `&&` is two
//! and where it is one is for a grammar to say.
//!
//! Any text is cut somehow: what is never closed goes to the end.

/// Whether `text`, which follows the opening bracket of a macro call, has this expression and then
/// the call's closing bracket. A comma before any closing bracket may be there or not.
///
/// Looks no further into `text` than the two are equal.
pub(crate) fn begins_with_argument(text: &str, expression: &str) -> bool {
    let mut written = tokens(text);
    let mut depth = 0_usize;
    for told in tokens(expression) {
        if !written.next().is_some_and(|token| is_same(token, told)) {
            return false;
        }
        if is_opening(told) {
            depth += 1;
        } else if is_closing(told) {
            // What closes a bracket that it did not open is no expression.
            let Some(outer) = depth.checked_sub(1) else { return false };
            depth = outer;
        }
    }
    depth == 0 && written.next().is_some_and(is_closing)
}

/// The line ends of a file are one to a compiler, also within a string.
fn is_same(a: &str, b: &str) -> bool {
    a.lines().eq(b.lines())
}

fn is_opening(token: &str) -> bool {
    matches!(token, "(" | "[" | "{")
}

fn is_closing(token: &str) -> bool {
    matches!(token, ")" | "]" | "}")
}

/// The tokens of a text, without a comma before a closing bracket or the end.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut all = Tokens { rest: text }.peekable();
    std::iter::from_fn(move || {
        let token = all.next()?;
        if token == "," && all.peek().is_none_or(|next| is_closing(next)) {
            return all.next();
        }
        Some(token)
    })
}

/// Words, literals and single other characters.
struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = without_blank(self.rest);
        let (token, rest) = text.split_at_checked(token_len(text)?)?;
        self.rest = rest;
        Some(token)
    }
}

/// `text` from its first token on.
fn without_blank(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        rest = if rest.starts_with("//") {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else if rest.starts_with("/*") {
            rest.get(block_comment_len(rest)..).unwrap_or_default()
        } else {
            return rest;
        }
        .trim_start();
    }
}

/// Bytes of the comment that `text` begins with; Rust's nest.
fn block_comment_len(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(two) = text.as_bytes().get(at..at + 2) {
        match two {
            b"/*" => depth += 1,
            b"*/" if depth <= 1 => return at + 2,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    text.len()
}

/// Bytes of the token that `text` begins with.
fn token_len(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let in_word = |c: char| c == '_' || c.is_alphanumeric();
    Some(match first {
        '"' => quoted_len(text, '"'),
        '\'' => char_len(text),
        _ if in_word(first) => {
            let (word, rest) = text.split_at(text.find(|c| !in_word(c)).unwrap_or(text.len()));
            let raw = if matches!(word, "r" | "br" | "cr") { raw_len(rest) } else { None };
            word.len() + raw.unwrap_or(0)
        }
        _ => first.len_utf8(),
    })
}

/// Bytes of a literal in `quote`s, with escapes.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Bytes of the character, or of the quote of a lifetime or label.
fn char_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => quoted_len(text, '\''),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// Bytes of a raw string from behind its `r` on; `None` if there is none.
fn raw_len(text: &str) -> Option<usize> {
    let inner = text.trim_start_matches('#');
    let hashes = text.len() - inner.len();
    let inner = inner.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let len = inner.find(&end).map_or(inner.len(), |at| at + end.len());
    Some(hashes + 1 + len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        Tokens { rest: text }.collect()
    }

    #[test]
    fn literals_are_one_token_and_comments_none() {
        for (text, expected) in [
            ("a/* b /* c */ d */e", &["a", "e"][..]),
            ("a // b\n+c", &["a", "+", "c"]),
            ("a/**/b/***/c", &["a", "b", "c"]),
            (r#""a // \" b" c"#, &[r#""a // \" b""#, "c"]),
            (r##"r#"a " b"# c"##, &[r##"r#"a " b"#"##, "c"]),
            (r#"br"\" c"#, &[r#"br"\""#, "c"]),
            ("r#type == x", &["r", "#", "type", "=", "=", "x"]),
            ("'\"' 'a' b '\\'' c", &["'\"'", "'a'", "b", "'\\''", "c"]),
            ("&'a str, 'é', '\\u{41}'", &["&", "'", "a", "str", ",", "'é'", ",", "'\\u{41}'"]),
            ("b'(' )", &["b", "'('", ")"]),
            // Never closed.
            ("a /* b", &["a"]),
            ("a \"b", &["a", "\"b"]),
            ("r##\"b\"# c", &["r##\"b\"# c"]),
            ("'", &["'"]),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    #[test]
    fn what_closes_more_than_it_opens_is_no_argument() {
        assert!(begins_with_argument("(a)) + f(b)", "(a)"));
        assert!(!begins_with_argument("a) + f(b))", "a) + f(b)"));
        assert!(!begins_with_argument("f(a)", "f(a"));
        assert!(!begins_with_argument("a", "a"));
        assert!(!begins_with_argument("a + b)", "a"));
    }

    /// Pieces that are tokens by themselves, whatever stands beside them.
    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "n",
            "retry",
            "10",
            "==",
            "&&",
            "-",
            "!",
            "\"a // b\"",
            "\"/*\"",
            "'('",
            "'\"'",
            "r#\"\"\"#",
            "b'\\''",
            "é",
        ])
    }

    proptest! {
        #[test]
        fn any_text_is_cut_into_what_it_has(text in "[a-zr'\"#\\\\/*(),é\r\n ]{0,60}|\\PC{0,40}") {
            let mut rest = text.as_str();
            for token in cut(&text) {
                prop_assert!(!token.is_empty());
                let at = rest.find(token);
                prop_assert!(at.is_some(), "{:?} is not next in {:?}", token, rest);
                rest = &rest[at.unwrap() + token.len()..];
            }
        }

        #[test]
        fn any_two_texts_give_an_answer(
            text in "[a-r'\"#\\\\/*(),é\r\n ]{0,60}", other in "[a-r'\"#\\\\/*(),é\r\n ]{0,30}",
        ) {
            let _ = begins_with_argument(&text, &other);
            let _ = begins_with_argument(&text, &text);
        }

        #[test]
        fn blanks_do_not_count_and_all_else_does(
            parts in prop::collection::vec((piece(), 0..4_usize), 1..12), other in piece(), at in 0..12_usize,
        ) {
            let blanks = [" ", "\n", " /* ) /* \" */ ' */ ", " // ) \"\n"];
            let told = parts.iter().map(|(p, _)| *p).collect::<Vec<_>>().join(" ");
            let written: String = parts.iter().flat_map(|(p, b)| [p, blanks[*b]]).collect();
            let written = format!("{written}) ");
            prop_assert!(begins_with_argument(&written, &told), "{written}");
            let mut pieces: Vec<_> = parts.iter().map(|(p, _)| *p).collect();
            let shorter = pieces[1..].join(" ");
            let at = at % pieces.len();
            pieces[at] = other;
            for changed in [shorter, pieces.join(" ")] {
                let same = cut(&changed) == cut(&told);
                prop_assert_eq!(begins_with_argument(&written, &changed), same, "{}", changed);
            }
        }
    }
}
