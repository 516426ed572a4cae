//! Files whose lines compilers call by other numbers than they have.
//!
//! A `#line` directive makes the compiler count on from another number, or in another file's name.
//! What is generated usually points at its source and back again to itself, with its own numbers:
//! that does no harm. Any other numbering would join counts with the wrong lines.

/// Whether some line of `text`, the file at `path`, is counted under another number of the same
/// file.
pub(crate) fn is_misnumbered(path: &str, text: &[u8]) -> bool {
    let own = file_name(path.as_bytes());
    // Whether lines are counted under this file's name at the moment.
    let mut here = true;
    text.split(|b| *b == b'\n').zip(1_u64..).any(|(line, number)| {
        let Some((next, file)) = directive(line) else { return false };
        if let Some(file) = file {
            here = file_name(file) == own;
        }
        here && next != number + 1
    })
}

/// The number and the file name of a `#line 7 "file"` or `# 7 "file"`.
fn directive(line: &[u8]) -> Option<(u64, Option<&[u8]>)> {
    let rest = line.trim_ascii_start().strip_prefix(b"#")?.trim_ascii_start();
    let rest = match rest.strip_prefix(b"line") {
        Some(rest) => rest.first().filter(|b| b.is_ascii_whitespace()).and(Some(rest))?,
        None => rest,
    };
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(digits);
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let quoted = rest.trim_ascii_start().strip_prefix(b"\"");
    Some((number, quoted.map(|q| q.split(|b| *b == b'"').next().unwrap_or_default())))
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_are_not_the_lines_own_do_harm() {
        for (text, harm) in [
            ("int a;\nint b;\n", false),
            ("#line 2\nint a;\n", false),
            ("#line 7\nint a;\n", true),
            ("  # line 7 \"src/p.c\"\r\nint a;\n", true),
            ("# 7 \"p.c\" 1\nint a;\n", true),
            // As yacc does: the lines of the grammar, then its own again.
            ("int a;\n#line 40 \"p.y\"\nint b;\n#line 5 \"p.c\"\nint c;\n", false),
            ("int a;\n#line 40 \"p.y\"\nint b;\n#line 50\n#line 6 \"p.c\"\nint c;\n", false),
            ("int a;\n#line 40 \"p.y\"\nint b;\n#line 9 \"p.c\"\nint c;\n", true),
            ("#linear 7\n#define line 3\n#if 7\n#\n", false),
        ] {
            assert_eq!(is_misnumbered("out/p.c", text.as_bytes()), harm, "{text}");
        }
    }
}
