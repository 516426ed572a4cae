//! `unlikely/sites/1`: what the macros of the hint crate counted of themselves.
//!
//! The format has lines, each a JSON object. A table opens with its schema, has one line a site, and
//! closes with the number of its sites, so that one that was cut is known by it. Any number of
//! tables may follow each other: of several processes, or of several objects of one. Counts of the
//! same site add up, and stop at `u64::MAX`.
//!
//! A site is told apart by file, line, column, hint and condition: a macro of the user's own around
//! two hints gives both one place.

use serde::Deserialize;

use crate::diag::Sink;
use crate::paths::resolve;
use crate::{Diagnostic, FileProfile, HintCount, Profile, Severity};

/// What the schema of every version starts with.
const FAMILY: &str = "unlikely/sites/";
/// The version that is read.
const SCHEMA: &str = "unlikely/sites/1";

/// Any line of a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Site(Site),
    Head { schema: String },
    End { end: u64 },
}

#[derive(Deserialize)]
struct Site {
    hint: Hint,
    file: String,
    line: u32,
    column: u32,
    condition: String,
    right: u64,
    wrong: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Hint {
    Likely,
    Unlikely,
}

/// Reads what the hint crate wrote. `name` names the input in diagnostics. Memory is linear in the
/// input.
#[must_use]
pub fn read(bytes: &[u8], name: &str) -> (Profile, Vec<Diagnostic>) {
    let mut reader = Reader {
        name,
        sink: Sink::default(),
        profile: Profile::default(),
        table: Table::None,
        tables: 0,
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || matches!(reader.table, Table::Unread) && !opens_table(line) {
            continue;
        }
        if reader.line(line).is_none() {
            reader.sink.push(Severity::Warning, "bad-line", name, || {
                let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
                format!(
                    "line {}: `{shown}` is no line of a table of sites and is skipped: cut the \
                     table out of what surrounds it, from its \"schema\" to its \"end\"",
                    index + 1
                )
            });
        }
    }
    reader.finish()
}

/// Whether a line that is not to be parsed may open the next table.
fn opens_table(line: &[u8]) -> bool {
    line.starts_with(b"{\"schema\"")
}

/// Where the reader is.
enum Table {
    /// Before the first table, or after a closed one.
    None,
    /// In one, of which so many sites were read.
    Open(u64),
    /// In one of another version.
    Unread,
}

struct Reader<'n> {
    name: &'n str,
    sink: Sink,
    profile: Profile,
    table: Table,
    tables: usize,
}

impl Reader<'_> {
    /// Reads one line; `None` if it has no place here.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        match serde_json::from_slice(line).ok()? {
            Line::Head { schema } => self.open(&schema),
            Line::End { end } => self.close(end),
            Line::Site(site) => self.site(site),
        }
    }

    fn open(&mut self, schema: &str) -> Option<()> {
        if !schema.starts_with(FAMILY) {
            return None;
        }
        self.report_cut();
        self.tables += 1;
        self.table = if schema == SCHEMA { Table::Open(0) } else { Table::Unread };
        if matches!(self.table, Table::Unread) {
            self.sink.push(Severity::Error, "unsupported-version", self.name, || {
                format!(
                    "a table of `{schema}`, but `{SCHEMA}` is what is read: use the program and \
                     the hint crate of one release"
                )
            });
        }
        Some(())
    }

    fn close(&mut self, end: u64) -> Option<()> {
        let Table::Open(sites) = self.table else { return None };
        self.table = Table::None;
        if sites != end {
            self.sink.push(Severity::Warning, "sites-missing", self.name, || {
                format!(
                    "a table of {end} sites has {sites}; those are used: write it again, and keep \
                     other output out of it"
                )
            });
        }
        Some(())
    }

    fn site(&mut self, site: Site) -> Option<()> {
        let Table::Open(sites) = &mut self.table else { return None };
        if site.line == 0 || site.column == 0 {
            return None;
        }
        *sites = sites.saturating_add(1);
        // A path that is too long is reported there, and was a site all the same.
        let Some(path) = resolve("", &site.file, self.name, &mut self.sink) else {
            return Some(());
        };
        let hint = HintCount {
            line: site.line,
            column: site.column,
            expect: matches!(site.hint, Hint::Likely),
            condition: site.condition,
            right: site.right,
            wrong: site.wrong,
        };
        let file = FileProfile { hints: vec![hint], ..FileProfile::default() };
        self.profile.append_file(path, file);
        Some(())
    }

    fn report_cut(&mut self) {
        if matches!(self.table, Table::Open(_)) {
            self.sink.push(Severity::Warning, "truncated", self.name, || {
                "a table of sites has no \"end\": it was cut, and what was read of it is used; \
                 write it again"
            });
        }
    }

    fn finish(mut self) -> (Profile, Vec<Diagnostic>) {
        self.report_cut();
        if self.tables == 0 {
            self.sink.push(Severity::Error, "not-site-counts", self.name, || {
                "no table of sites (`{\"schema\":\"unlikely/sites/1\"}` …): is this what a program \
                 wrote that was built with --cfg unlikely_profile?"
            });
        } else if self.profile.files.is_empty() && !matches!(self.table, Table::Unread) {
            self.sink.push(Severity::Error, "no-sites", self.name, || {
                "the table has no site: the program has no `likely!` or `unlikely!`, or its crates \
                 were built without --cfg unlikely_profile"
            });
        }
        self.profile.normalize();
        (self.profile, self.sink.finish(self.name))
    }
}

#[cfg(test)]
#[path = "site_counts_tests.rs"]
mod tests;
