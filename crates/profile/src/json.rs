//! JSON as the tools write it: numbers of any sign, and names in any encoding.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Visitor};

use crate::Severity;
use crate::diag::Sink;
use crate::paths::escaped_utf8_with;

/// The text, with bytes that are not UTF-8 (which gcov copies into its strings) shown as `\xNN`.
pub(crate) fn valid_utf8<'a>(bytes: &'a [u8], name: &str, sink: &mut Sink) -> Cow<'a, str> {
    // In a JSON string a backslash is written twice.
    let text = escaped_utf8_with(bytes, "\\\\x");
    if matches!(text, Cow::Owned(_)) {
        sink.push(Severity::Warning, "path-not-utf8", name, || {
            "file names or symbols are not UTF-8 (odd bytes are shown as \\xNN): their counts are \
             kept under these names; rename the files, or map the paths, to have them joined with \
             their sources"
        });
    }
    text
}

/// A count. Writers print negative ones (racing counters) and, rarely, floating-point ones.
/// A flag reads as 0 or 1, because llvm-cov's rows mix both. Values beyond `i64` saturate, which no true count reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) i64);

impl<'de> serde::Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }
            fn visit_bool<E>(self, v: bool) -> Result<Count, E> {
                Ok(Count(i64::from(v)))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Count, E> {
                Ok(Count(v))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Count, E> {
                Ok(Count(i64::try_from(v).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Count, E> {
                // A float-to-integer `as` saturates; JSON has no NaN.
                Ok(Count(v as i64))
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}
