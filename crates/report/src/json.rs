//! The record itself, for programs.

use crate::evidence::Evidence;

/// The record as indented JSON, with a line break at its end.
///
/// A number that JSON cannot hold (NaN, infinity) becomes `null`.
pub fn json(evidence: &Evidence) -> String {
    // Serialising fails only for maps with keys that are not strings, and the record has no map.
    serde_json::to_string_pretty(evidence).unwrap_or_default() + "\n"
}
