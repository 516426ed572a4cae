//! C tokens, as far as hints need them: the text between comments and white space.
//!
//! This is the second, independent reading of the source. Edits are made through the syntax tree;
//! that an edit changed nothing but hints is judged on tokens, so that a mistake in one reading
//! does not hide in the other.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Identifier or keyword.
    Word,
    /// Number, string or character constant.
    Literal,
    /// One punctuator.
    Punct,
    /// A `#` that opens a preprocessor directive.
    Hash,
    /// The end of a preprocessor directive's last line.
    DirectiveEnd,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub bytes: Range<usize>,
}

impl Token {
    /// The token's text.
    pub fn text<'t>(&self, source: &'t [u8]) -> &'t [u8] {
        source.get(self.bytes.clone()).unwrap_or_default()
    }
}

/// Punctuators of more than one character, longest first.
const LONG_PUNCT: [&[u8]; 23] = [
    b"<<=", b">>=", b"...", b"->", b"++", b"--", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&",
    b"||", b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"##",
];

/// All tokens of `source`. Total: an unterminated comment or literal ends with its line or the file.
pub fn tokens(source: &[u8]) -> Vec<Token> {
    let mut lexer = Lexer { source, at: 0, line_start: true, directive: false, out: Vec::new() };
    while lexer.step() {}
    if lexer.directive {
        lexer.push(TokenKind::DirectiveEnd, source.len());
    }
    lexer.out
}

struct Lexer<'t> {
    source: &'t [u8],
    at: usize,
    line_start: bool,
    directive: bool,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: TokenKind, end: usize) {
        self.out.push(Token { kind, bytes: self.at..end });
        self.at = end;
    }

    fn step(&mut self) -> bool {
        if self.at >= self.source.len() {
            return false;
        }
        if let Some(end) = self.spliced_newline() {
            self.at = end;
            return true;
        }
        let first = self.peek(0);
        match first {
            b'\n' => {
                if std::mem::take(&mut self.directive) {
                    self.push(TokenKind::DirectiveEnd, self.at + 1);
                } else {
                    self.at += 1;
                }
                self.line_start = true;
                return true;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
            b'/' if self.peek(1) == b'/' => self.at = self.line_end(),
            b'/' if self.peek(1) == b'*' => self.at = self.comment_end(),
            b'#' if self.line_start => {
                self.directive = true;
                self.line_start = false;
                self.push(TokenKind::Hash, self.at + 1);
            }
            _ => {
                self.line_start = false;
                self.solid(first);
            }
        }
        true
    }

    fn solid(&mut self, first: u8) {
        let end = match first {
            b'"' | b'\'' => return self.push(TokenKind::Literal, self.quoted_end(first)),
            b'0'..=b'9' => return self.push(TokenKind::Literal, self.number_end()),
            b'.' if self.peek(1).is_ascii_digit() => {
                return self.push(TokenKind::Literal, self.number_end());
            }
            _ if is_word(first) => return self.push(TokenKind::Word, self.word_end()),
            _ => {
                let rest = &self.source[self.at..];
                LONG_PUNCT.iter().find(|p| rest.starts_with(p)).map_or(1, |p| p.len()) + self.at
            }
        };
        self.push(TokenKind::Punct, end);
    }

    /// The end of a backslash-newline here, if one stands here.
    fn spliced_newline(&self) -> Option<usize> {
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'\\', b'\n', _) => Some(self.at + 2),
            (b'\\', b'\r', b'\n') => Some(self.at + 3),
            _ => None,
        }
    }

    /// The newline that ends this logical line, or the end of the file.
    fn line_end(&self) -> usize {
        let mut end = self.at;
        while let Some(byte) = self.source.get(end) {
            let spliced = end > 0
                && (self.source[end - 1] == b'\\'
                    || (self.source[end - 1] == b'\r' && end > 1 && self.source[end - 2] == b'\\'));
            if *byte == b'\n' && !spliced {
                break;
            }
            end += 1;
        }
        end
    }

    fn comment_end(&self) -> usize {
        let body = self.at + 2;
        let rest = self.source.get(body..).unwrap_or_default();
        rest.windows(2).position(|w| w == b"*/").map_or(self.source.len(), |i| body + i + 2)
    }

    fn quoted_end(&self, quote: u8) -> usize {
        let mut end = self.at + 1;
        while let Some(byte) = self.source.get(end) {
            match *byte {
                b'\\' => end += 1,
                b'\n' => return end,
                b if b == quote => return end + 1,
                _ => {}
            }
            end += 1;
        }
        self.source.len()
    }

    fn number_end(&self) -> usize {
        let mut end = self.at + 1;
        while let Some(byte) = self.source.get(end) {
            let exponent = matches!(self.source[end - 1], b'e' | b'E' | b'p' | b'P');
            if !(is_word(*byte) || *byte == b'.' || (exponent && matches!(byte, b'+' | b'-'))) {
                break;
            }
            end += 1;
        }
        end
    }

    fn word_end(&self) -> usize {
        let rest = &self.source[self.at..];
        self.at + rest.iter().position(|b| !is_word(*b)).unwrap_or(rest.len())
    }
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte == b'$' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source.as_bytes())
            .iter()
            .map(|t| String::from_utf8_lossy(t.text(source.as_bytes())).into_owned())
            .collect()
    }

    #[test]
    fn comments_and_space_vanish() {
        assert_eq!(texts("a /* b */ + // c\\\n d\n 1.5e-3f"), ["a", "+", "1.5e-3f"]);
    }

    #[test]
    fn strings_hold_quotes_and_comments() {
        assert_eq!(texts(r#"f("a\"/*", '\'')"#), ["f", "(", r#""a\"/*""#, ",", r"'\''", ")"]);
    }

    #[test]
    fn a_directive_ends_with_its_logical_line() {
        let source = b"#define A \\\n 1\nx";
        let kinds: Vec<_> = tokens(source).iter().map(|t| t.kind).collect();
        use TokenKind::*;
        assert_eq!(kinds, [Hash, Word, Word, Literal, DirectiveEnd, Word]);
    }

    #[test]
    fn longest_punctuator_wins() {
        assert_eq!(texts("a<<=b->c&&d"), ["a", "<<=", "b", "->", "c", "&&", "d"]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_lex_and_cover_every_visible_byte(source: Vec<u8>) {
            let mut last = 0;
            for token in tokens(&source) {
                proptest::prop_assert!(token.bytes.start >= last);
                proptest::prop_assert!(token.bytes.end <= source.len());
                last = token.bytes.end;
            }
        }
    }
}
