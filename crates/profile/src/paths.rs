//! Paths as text. Profiles name files of other machines and of build folders that are gone, so
//! nothing here asks a file system; `a/../b` is shortened by its letters alone.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::Severity;
use crate::diag::Sink;

/// Longest path that is believed, in bytes: Linux' own limit. It also bounds what a hostile
/// profile can make each of its branches carry along.
pub(crate) const PATH_LEN_MAX: usize = 4096;

/// Shortens `.`, `..` and repeated slashes by the text alone. A `..` with nothing before it to
/// cancel stays, except directly below the root.
#[must_use]
pub fn clean_path(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if absolute => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// `path` seen from `directory` (nothing is joined to an absolute path), cleaned. `None`, with a
/// diagnostic, if the result is longer than any path can be.
pub(crate) fn resolve(directory: &str, path: &str, input: &str, sink: &mut Sink) -> Option<String> {
    if path.len() + directory.len() >= PATH_LEN_MAX {
        sink.push(Severity::Warning, "path-too-long", input, || {
            format!(
                "a file name of {} bytes is longer than any path can be; its counts are set \
                 aside: export the profile again",
                path.len()
            )
        });
        return None;
    }
    if path.starts_with('/') || directory.is_empty() {
        Some(clean_path(path))
    } else {
        Some(clean_path(&format!("{directory}/{path}")))
    }
}

/// `path` with the first matching prefix of `mapping` replaced, then cleaned. A prefix matches
/// whole components: `/src` matches `/src/a.c`, not `/srcs/a.c`. The empty prefix matches every
/// relative path.
pub(crate) fn map_path(path: &str, mapping: &[(String, String)]) -> String {
    for (from, to) in mapping {
        if from.is_empty() {
            if !path.starts_with('/') {
                return clean_path(&format!("{to}/{path}"));
            }
            continue;
        }
        let from = from.strip_suffix('/').unwrap_or(from);
        let Some(rest) = path.strip_prefix(from) else { continue };
        if rest.is_empty() {
            return clean_path(to);
        }
        if let Some(rest) = rest.strip_prefix('/') {
            return if to.is_empty() {
                clean_path(rest)
            } else {
                clean_path(&format!("{to}/{rest}"))
            };
        }
    }
    clean_path(path)
}

/// Text from bytes of any encoding. Bytes that are not UTF-8 become `\xNN`, so that two different
/// file names stay different.
pub(crate) fn escaped_utf8(bytes: &[u8]) -> Cow<'_, str> {
    escaped_utf8_with(bytes, "\\x")
}

/// As [`escaped_utf8`], with another text in front of the two digits.
pub(crate) fn escaped_utf8_with<'a>(bytes: &'a [u8], escape: &str) -> Cow<'a, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{escape}{byte:02x}");
        }
    }
    Cow::Owned(text)
}

/// Says that `text` holds file names or symbols that are not UTF-8.
pub(crate) fn report_not_utf8(text: &str, input: &str, sink: &mut Sink) {
    sink.push(Severity::Warning, "path-not-utf8", input, || {
        format!(
            "`{text}` is not UTF-8 (odd bytes are shown as \\xNN): its counts are kept under this \
             name; rename the file, or map the path, to have it joined with its source"
        )
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_dots_by_the_text_alone() {
        for (path, clean) in [
            ("./a/../b/./c.c", "b/c.c"),
            ("/a//b/../c.c", "/a/c.c"),
            ("../../a.c", "../../a.c"),
            ("a/../../b.c", "../b.c"),
            ("/../a.c", "/a.c"),
            ("a/..", "."),
            ("/", "/"),
        ] {
            assert_eq!(clean_path(path), clean, "{path}");
        }
    }

    #[test]
    fn maps_whole_components_and_the_first_match() {
        let mapping = [
            ("/build/x".to_owned(), "/src".to_owned()),
            ("/build".to_owned(), String::new()),
            (String::new(), "/base".to_owned()),
        ];
        for (path, mapped) in [
            ("/build/x/a.c", "/src/a.c"),
            ("/build/xy/a.c", "xy/a.c"),
            ("/builds/a.c", "/builds/a.c"),
            ("lib/../a.c", "/base/a.c"),
        ] {
            assert_eq!(map_path(path, &mapping), mapped, "{path}");
        }
    }

    #[test]
    fn odd_bytes_stay_distinguishable() {
        assert_eq!(escaped_utf8(b"caf\xe9.c"), "caf\\xe9.c");
        assert_ne!(escaped_utf8(b"\xe8"), escaped_utf8(b"\xe9"));
        assert_eq!(escaped_utf8("ß.c".as_bytes()), "ß.c");
    }

    proptest::proptest! {
        #[test]
        fn cleaning_twice_changes_nothing(path in "[a./]{0,20}") {
            let once = clean_path(&path);
            proptest::prop_assert_eq!(clean_path(&once), once);
        }
    }
}
