//! One number out of JSON.
//!
//! Benchmarks print JSON as all of their output, or as a last line below their own talk; both are
//! found. The path language is RFC 9535. A path comes from the user, but it may come with a
//! project, so what makes one explode is bounded: the parser's time doubles with every nested
//! filter, and each further `..` multiplies what a query holds.

use super::parse::{MetricError, TEXT_MAX};
use serde_json::Value;
use serde_json_path::JsonPath;

/// Most filters (`?`) of a path.
const FILTERS_MAX: usize = 4;
/// Most descendant segments (`..`) of a path.
const DESCENTS_MAX: usize = 2;

/// A JSON path that has been checked.
pub(crate) struct Path {
    text: String,
    path: JsonPath,
}

impl Path {
    pub(crate) fn new(text: &str) -> Result<Self, MetricError> {
        let bad = |what: String| MetricError::JsonPath { path: text.to_owned(), what };
        if text.len() > TEXT_MAX {
            return Err(bad(format!("is longer than {TEXT_MAX} bytes")));
        }
        if text.matches('?').count() > FILTERS_MAX || text.matches("..").count() > DESCENTS_MAX {
            return Err(bad(format!(
                "has more than {FILTERS_MAX} filters or {DESCENTS_MAX} '..', which can take for \
                 ever"
            )));
        }
        let path = JsonPath::parse(text)
            .map_err(|error| bad(format!("is no JSONPath (RFC 9535): {error}")))?;
        Ok(Self { text: text.to_owned(), path })
    }

    /// The one number that the path selects in `bytes`.
    pub(crate) fn value(&self, bytes: &[u8]) -> Result<f64, String> {
        let path = &self.text;
        let document = document(bytes)?;
        let found = self.path.query(&document).all();
        match found.as_slice() {
            [] => Err(format!("the JSON path {path:?} selects nothing{}", keys(&document))),
            [Value::Number(number)] => {
                number.as_f64().ok_or_else(|| format!("{number} at {path:?} is too large"))
            }
            [other] => Err(format!("the JSON path {path:?} selects {}, not a number", kind(other))),
            many => Err(format!(
                "the JSON path {path:?} selects {} values, but one number must result",
                many.len()
            )),
        }
    }
}

/// The whole text, or its last line that is an object or an array.
fn document(bytes: &[u8]) -> Result<Value, String> {
    let whole = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let opens = |line: &&[u8]| matches!(line.first(), Some(b'{' | b'['));
    bytes
        .rsplit(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(opens)
        .find_map(|line| serde_json::from_slice(line).ok())
        .ok_or_else(|| format!("neither the whole text nor one of its lines is JSON ({whole})"))
}

/// The top level's names, for a message.
fn keys(document: &Value) -> String {
    let Value::Object(object) = document else { return String::new() };
    let names: Vec<&str> = object.keys().take(8).map(String::as_str).collect();
    let more = if object.len() > names.len() { ", …" } else { "" };
    let names: String = names.join(", ").chars().take(160).collect();
    format!("; the top level has: {names}{more}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(path: &str, text: &str) -> Result<f64, String> {
        Path::new(path).unwrap().value(text.as_bytes())
    }

    const RESULTS: &str =
        r#"{"results": [{"name": "x", "mean": 1.5}, {"name": "y", "mean": 2}], "tool": "t"}"#;

    #[test]
    fn the_path_selects_one_number() {
        assert_eq!(value("$.results[0].mean", RESULTS), Ok(1.5));
        assert_eq!(value("$.results[-1].mean", RESULTS), Ok(2.0));
        assert_eq!(value("$.results[?@.name == 'y'].mean", RESULTS), Ok(2.0));
        assert_eq!(value("$", "7e3"), Ok(7000.0));
    }

    #[test]
    fn json_may_be_the_whole_text_over_many_lines() {
        let pretty = serde_json::from_str::<Value>(RESULTS).unwrap();
        let pretty = format!("\n{pretty:#}\n\n");
        assert_eq!(value("$.results[1].mean", &pretty), Ok(2.0));
    }

    #[test]
    fn else_the_last_line_that_is_json_counts() {
        let talk = "warming up\n{\"v\": 1}\n  {\"v\": 2} \r\n[not json\n17\ndone\n";
        assert_eq!(value("$.v", talk), Ok(2.0));
    }

    #[test]
    fn anything_but_one_number_is_refused_in_words() {
        for (path, complaint) in [
            ("$..mean", "selects 2 values"),
            ("$.result", "selects nothing; the top level has: results, tool"),
            ("$.tool", "a string, not a number"),
            ("$.results", "an array, not a number"),
        ] {
            let error = value(path, RESULTS).unwrap_err();
            assert!(error.contains(complaint) && error.contains(path), "{error}");
        }
        let error = value("$", "{\n  \"v\": NaN\n}").unwrap_err();
        assert!(error.contains("is JSON") && error.contains("line 2"), "{error}");
        assert!(value("$", "").unwrap_err().contains("is JSON"));
        assert!(value("$", &"[".repeat(1 << 20)).unwrap_err().contains("recursion"));
    }

    #[test]
    fn a_path_is_checked_before_anything_runs() {
        let complaint = |path: &str| Path::new(path).err().unwrap().to_string();
        assert!(complaint("results").contains("RFC 9535"));
        assert!(complaint("$.a[").contains("position"));
        // Each of these alone would keep a parser or a query busy for ever.
        assert!(complaint(&format!("$[?{}", "@[?".repeat(40))).contains("filters"));
        assert!(complaint("$..*..*..*").contains("'..'"));
        assert!(complaint(&format!("$.{}", "a".repeat(300))).contains("256 bytes"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(
            path in prop::sample::select(vec!["$", "$.a", "$..a", "$[0]", "$[?@.a > 1].b"]),
            text in "[\\[{}\\],:\"0-9a-b\n]{0,30}|\\[([0-9]|\\{\"a\":[0-9]\\})\\]",
        ) {
            if let Ok(value) = Path::new(path).unwrap().value(text.as_bytes()) {
                prop_assert!(value.is_finite());
            }
        }

        #[test]
        fn no_path_is_too_much(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    ".a", "['b']", "[0]", "[-1]", "[1:2]", "[*]", ".*", "..b", "[?@.b == 1]", "[", "?",
                ]),
                0..6,
            ),
        ) {
            let path = format!("${}", parts.concat());
            if let Ok(path) = Path::new(&path) {
                let _ = path.value(br#"{"a": [{"b": 1}, 2, null], "b": "x"}"#);
            }
        }
    }
}
