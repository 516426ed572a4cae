//! What a profile is, by its first bytes.

use std::fmt;

/// A kind of profile that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    GcovJson,
    GccData,
    GccNotes,
    LlvmCov,
    Lcov,
    SiteCounts,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GcovJson => "gcov JSON",
            Self::GccData => "GCC data (.gcda)",
            Self::GccNotes => "GCC notes (.gcno)",
            Self::LlvmCov => "llvm-cov JSON",
            Self::Lcov => "lcov tracefile",
            Self::SiteCounts => "the program's own counts of its hints",
        })
    }
}

/// Bytes that are searched for the first key or record.
const HEAD_BYTES: usize = 4096;

pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The kind of `bytes`, or what to do with what they are.
pub(crate) fn of(bytes: &[u8]) -> Result<Kind, &'static str> {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    if is_gzip(head) {
        // Of all kinds only gcov writes gzipped files; its reader says if this is none.
        return Ok(Kind::GcovJson);
    }
    // The magic word is in the byte order of the machine that wrote it.
    if head.starts_with(b"adcg") || head.starts_with(b"gcda") {
        return Ok(Kind::GccData);
    }
    if head.starts_with(b"oncg") || head.starts_with(b"gcno") {
        return Ok(Kind::GccNotes);
    }
    if head.starts_with(b"\xfflprof")
        || head.starts_with(b"\x81") && head[1..].starts_with(b"rforpl\xff")
    {
        return Err("a raw or indexed LLVM profile: `llvm-profdata merge -o X.profdata` it, and \
                    import what `llvm-cov export -instr-profile X.profdata BINARY` prints");
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = head.trim_ascii_start();
    match text.first() {
        None => Err("the file is empty: record it again"),
        Some(b'{') => Ok(json(text)),
        Some(_) if is_lcov(text) => Ok(Kind::Lcov),
        Some(b'-') if text.starts_with(b"-:    0:Source:") => {
            Err("gcov's text: import what `gcov --json-format -b` writes")
        }
        Some(_) => Err("no profile that is known: gcov JSON, .gcda and .gcno, llvm-cov export \
                        JSON, an lcov tracefile, or what a program wrote of its own hints"),
    }
}

/// Each tool has its own top-level keys.
fn json(text: &[u8]) -> Kind {
    let mut parts = text.splitn(3, |b| *b == b'"');
    let first_key = parts.nth(1).unwrap_or_default();
    match first_key {
        b"data" | b"type" | b"version" => Kind::LlvmCov,
        b"schema" => Kind::SiteCounts,
        _ => Kind::GcovJson,
    }
}

fn is_lcov(text: &[u8]) -> bool {
    let record = text
        .split(|b| *b == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && !line.starts_with(b"#"));
    record.is_some_and(|r| r.starts_with(b"TN:") || r.starts_with(b"SF:") || r.starts_with(b"VER:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_the_kind() {
        for (bytes, kind) in [
            (&b"\x1f\x8b\x08"[..], Kind::GcovJson),
            (b"adcg*22B", Kind::GccData),
            (b"gcdaB22*", Kind::GccData),
            (b"oncg*22B", Kind::GccNotes),
            (b"{\"data\":[]", Kind::LlvmCov),
            (b"\xef\xbb\xbf {\n  \"version\": \"3.0.1\"", Kind::LlvmCov),
            (b"{\"gcc_version\": \"12.2.0\"", Kind::GcovJson),
            (b"{\"files\": [", Kind::GcovJson),
            (b"{\"schema\":\"unlikely/sites/1\"}\n", Kind::SiteCounts),
            (b"TN:\nSF:a.c\n", Kind::Lcov),
            (b"# made by hand\n\nSF:a.c\n", Kind::Lcov),
        ] {
            assert_eq!(of(bytes), Ok(kind), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn what_is_no_profile_gets_the_remedy_that_fits() {
        for (bytes, remedy) in [
            (&b"\xfflprofi\x81"[..], "llvm-profdata"),
            (b"\x81rforpl\xff", "llvm-profdata"),
            (b"        -:    0:Source:a.c\n", "--json-format"),
            (b" \n", "empty"),
            (b"int main(void)", "no profile"),
        ] {
            assert!(of(bytes).unwrap_err().contains(remedy), "{remedy}");
        }
    }
}
