//! The lines of a message that may hold a claim: no headers, no patch, no trailers.
//!
//! Messages come as mails, patches, threads of quoted mails, and archives that put a whole mail
//! on one line. Quote marks are taken off and their depth kept, since a quoted patch goes on
//! after the remark that interrupts it.

/// Most bytes that are read of one text.
pub(crate) const BYTES_MAX: usize = 4 << 20;
/// Deepest quotation that is told apart.
const DEPTH_MAX: usize = 32;

/// A line that may hold a claim, or a gap between such lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u32,
    /// Quote marks that stood before it.
    pub(crate) depth: usize,
    /// Its text without them; empty for a gap.
    pub(crate) text: String,
}

/// Headers of mails and of `git log`; a text's own "Before:" is none.
const HEADERS: &[&str] = &[
    "from",
    "to",
    "cc",
    "bcc",
    "date",
    "subject",
    "message-id",
    "in-reply-to",
    "references",
    "reply-to",
    "sender",
    "return-path",
    "received",
    "mime-version",
    "user-agent",
    "delivered-to",
    "precedence",
    "dkim-signature",
    "authentication-results",
    "archived-at",
    "author",
    "authordate",
    "commitdate",
    "envelope-to",
];

/// Lines below a commit message that name people and places.
const TRAILERS: &[&str] = &[
    "fixes",
    "link",
    "closes",
    "change-id",
    "git-svn-id",
    "base-commit",
    "prerequisite-patch-id",
    "reviewed-on",
    "bug",
    "bugzilla",
    "message-id",
];

/// The lines of `bytes`. Not UTF-8 is no error; what lies beyond [`BYTES_MAX`] is left out.
pub(crate) fn lines(bytes: &[u8]) -> Vec<Line> {
    let text = String::from_utf8_lossy(bytes.get(..BYTES_MAX).unwrap_or(bytes));
    let mut reader = Reader::default();
    // A lone carriage return ends a line too.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut kept = Vec::new();
    let mut raw = text.lines().zip(1..);
    while let Some((line, number)) = raw.next() {
        let mut line = line.to_owned();
        // Quoted-printable: a line that ends in '=' goes on in the next.
        while reader.quoted_printable && line.ends_with('=') && line.len() < BYTES_MAX {
            line.pop();
            match raw.next() {
                Some((next, _)) => line.push_str(next),
                None => break,
            }
        }
        if reader.quoted_printable {
            line = from_quoted_printable(&line);
        }
        let (depth, rest) = unquote(&line);
        let text = if reader.holds_prose(depth, rest) {
            without_inner_quotes(rest)
        } else {
            String::new()
        };
        kept.push(Line { number, depth, text });
    }
    kept
}

/// Takes the quote marks off.
fn unquote(line: &str) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while let Some(inner) =
        rest.strip_prefix('>').or_else(|| rest.strip_prefix(" >").filter(|_| depth > 0))
    {
        depth += 1;
        rest = inner;
    }
    (depth.min(DEPTH_MAX), if depth > 0 { rest.strip_prefix(' ').unwrap_or(rest) } else { rest })
}

/// A mail on one line keeps its quote marks between words.
fn without_inner_quotes(line: &str) -> String {
    if line.contains("wrote: > ") {
        line.replace(" > ", " ").replace(" > ", " ")
    } else {
        line.to_owned()
    }
}

fn from_quoted_printable(line: &str) -> String {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = |at: usize| tail.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (byte, hex(0), hex(1)) {
            (b'=', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where in a message the reader is; one place for each depth of quotation.
#[derive(Default)]
struct Reader {
    quoted_printable: bool,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Ordinary text.
    #[default]
    Prose,
    /// Mail headers, which go on in indented lines.
    Headers,
    /// A patch, with the lines that its hunk still has on each side.
    Patch { old: u32, new: u32 },
    /// Behind "-- ".
    Signature,
}

impl Reader {
    /// Whether the line is text that may hold a claim.
    fn holds_prose(&mut self, depth: usize, line: &str) -> bool {
        if self.places.len() <= depth {
            self.places.resize(depth + 1, Place::Prose);
        }
        let place = self.places.get(depth).copied().unwrap_or_default();
        let (place, prose) = self.step(place, line);
        if let Some(kept) = self.places.get_mut(depth) {
            *kept = place;
        }
        prose
    }

    fn step(&mut self, place: Place, line: &str) -> (Place, bool) {
        if line.starts_with("diff --git ") || line.starts_with("Index: ") {
            return (Place::Patch { old: 0, new: 0 }, false);
        }
        if let Some((old, new)) = hunk(line) {
            return (Place::Patch { old, new }, false);
        }
        match place {
            Place::Patch { old, new } => {
                if let Some(next) = in_patch(old, new, line) {
                    return (next, false);
                }
            }
            Place::Headers if line.starts_with([' ', '\t']) && !line.trim().is_empty() => {
                self.note_encoding(line);
                return (Place::Headers, false);
            }
            Place::Signature if !line.trim().is_empty() => return (Place::Prose, false),
            _ => {}
        }
        if line == "-- " || line == "--" {
            return (Place::Signature, false);
        }
        if is_header(line) {
            self.note_encoding(line);
            return (Place::Headers, false);
        }
        (Place::Prose, !is_furniture(line))
    }

    fn note_encoding(&mut self, line: &str) {
        let line = line.to_ascii_lowercase();
        if let Some(encoding) = line.strip_prefix("content-transfer-encoding:") {
            self.quoted_printable = encoding.trim() == "quoted-printable";
        }
    }
}

/// Line counts of "@@ -1,2 +3,4 @@".
fn hunk(line: &str) -> Option<(u32, u32)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |side: &str| side.split_once(',').map_or(Some(1), |(_, n)| n.parse().ok());
    Some((count(old)?, count(new)?))
}

/// The place behind a line of a patch; `None` if the line is none.
fn in_patch(old: u32, new: u32, line: &str) -> Option<Place> {
    const BETWEEN: &[&str] = &[
        "index ",
        "--- ",
        "+++ ",
        "new file",
        "deleted file",
        "old mode",
        "new mode",
        "similarity ",
        "rename ",
        "Binary ",
    ];
    if old == 0 && new == 0 {
        return BETWEEN
            .iter()
            .any(|start| line.starts_with(start))
            .then_some(Place::Patch { old, new });
    }
    let (less_old, less_new) = match line.chars().next() {
        None | Some(' ' | '\t') => (1, 1),
        Some('-') => (1, 0),
        Some('+') => (0, 1),
        Some('\\') => (0, 0),
        _ => return None,
    };
    Some(Place::Patch { old: old.saturating_sub(less_old), new: new.saturating_sub(less_new) })
}

fn is_header(line: &str) -> bool {
    if line.starts_with("From ") && line.contains(':') && line.split(' ').count() > 5 {
        return true;
    }
    let Some((name, _)) = line.split_once(':') else { return false };
    let name = name.to_ascii_lowercase();
    HEADERS.contains(&name.as_str())
        || (name.starts_with("x-") || name.starts_with("list-") || name.starts_with("content-"))
            && !name.contains(' ')
}

/// Lines that name people, places and files, and hold no claims.
fn is_furniture(line: &str) -> bool {
    let line = line.trim();
    if line == "---" || line.starts_with("commit ") && line.split(' ').count() == 2 {
        return true;
    }
    // " fs/select.c | 2 +-" and the line that sums it up.
    let opens_with_digit = line.starts_with(|c: char| c.is_ascii_digit());
    if opens_with_digit
        && line.contains(" changed, ")
        && (line.ends_with("(+)") || line.ends_with("(-)"))
    {
        return true;
    }
    if let Some((path, counts)) = line.rsplit_once(" | ") {
        let counts = counts.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
        if !path.contains('|')
            && !counts.is_empty()
            && counts.trim().chars().all(|c| matches!(c, '+' | '-'))
        {
            return true;
        }
    }
    match line.split_once(':') {
        Some((name, _)) => {
            let name = name.to_ascii_lowercase();
            TRAILERS.contains(&name.as_str()) || name.ends_with("-by") && !name.contains(' ')
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Vec<String> {
        lines(text.as_bytes()).into_iter().map(|line| line.text).filter(|t| !t.is_empty()).collect()
    }

    #[test]
    fn headers_and_their_continuations_are_left_out() {
        let mail = "From: a@b.c\nX-Score: 5\n folded 10 ms\n\nBefore: 10 ms\nAfter: 9 ms\n";
        assert_eq!(prose(mail), ["Before: 10 ms", "After: 9 ms"]);
    }

    #[test]
    fn a_patch_ends_with_its_last_line_and_goes_on_behind_a_remark() {
        let hunk = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-10 ms\n+9 ms\n";
        assert_eq!(prose(&format!("{hunk}It is faster.\n")), ["It is faster."]);
        let quoted = "> @@ -1,3 +1,2 @@\n> -10 ms\nWhy?\n> -9 ms\n>  same\n> Said below.\n";
        assert_eq!(prose(quoted), ["Why?", "Said below."]);
    }

    #[test]
    fn signatures_statistics_and_trailers_hold_no_claims() {
        let mail = "Text.\n fs/a.c | 12 +++--\n 1 file changed, 7 insertions(+), 5 deletions(-)\n\
                    Reviewed-by: A <a@b.c>\nFixes: 12ab (\"x 5%\")\n-- \n2.50.0\n";
        assert_eq!(prose(mail), ["Text."]);
    }

    #[test]
    fn lines_keep_their_numbers_and_depth() {
        let found = lines(b"one\r\n> > two\r\n>three\n");
        let places: Vec<_> = found.iter().map(|l| (l.number, l.depth, l.text.as_str())).collect();
        assert_eq!(places, [(1, 0, "one"), (2, 2, "two"), (3, 1, "three")]);
    }

    #[test]
    fn soft_line_breaks_and_coded_bytes_are_undone() {
        let mail = "Content-Transfer-Encoding: quoted-printable\n\n10=C2=B5s to 9 =\nus, 5=3D5\n";
        assert_eq!(prose(mail), ["10µs to 9 us, 5=5"]);
    }
}
