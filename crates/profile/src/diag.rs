//! A bounded list of diagnostics. A hostile or merely huge input can be wrong in a million places;
//! its user can act on the first few and wants to know how many more there were.

use std::collections::BTreeMap;

use crate::{Diagnostic, Severity};

/// Diagnostics of one code that are kept in full; the rest are counted.
pub(crate) const PER_CODE_MAX: usize = 20;

/// Collects the diagnostics of one reader over one input.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    list: Vec<Diagnostic>,
    seen: BTreeMap<&'static str, (Severity, usize)>,
}

impl Sink {
    /// Records one diagnostic about `path`. The message is only built while it will be kept.
    pub(crate) fn push<M: Into<String>>(
        &mut self,
        severity: Severity,
        code: &'static str,
        path: &str,
        message: impl FnOnce() -> M,
    ) {
        let (worst, count) = self.seen.entry(code).or_insert((severity, 0));
        *worst = (*worst).max(severity);
        *count = count.saturating_add(1);
        if *count <= PER_CODE_MAX {
            self.list.push(Diagnostic::new(severity, code, message(), Some(path)));
        }
    }

    /// The diagnostics, with one more for each code of which some were only counted.
    pub(crate) fn finish(mut self, input: &str) -> Vec<Diagnostic> {
        for (code, (severity, count)) in self.seen {
            if let Some(more @ 1..) = count.checked_sub(PER_CODE_MAX) {
                let message = format!("{more} more of the kind `{code}` are not listed");
                self.list.push(Diagnostic::new(severity, code, message, Some(input)));
            }
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_the_first_of_a_kind_and_counts_the_rest() {
        let mut sink = Sink::default();
        for i in 0..PER_CODE_MAX + 7 {
            sink.push(Severity::Warning, "bad-line", "a.info", || format!("line {i}"));
        }
        sink.push(Severity::Note, "other", "a.info", || "once");
        let list = sink.finish("a.info");
        assert_eq!(list.len(), PER_CODE_MAX + 2);
        assert!(list.iter().any(|d| d.message == "7 more of the kind `bad-line` are not listed"));
    }
}
