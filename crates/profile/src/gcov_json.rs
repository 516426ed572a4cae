//! `gcov --json-format`: version 1 (GCC 9 to 13) and version 2 (GCC 14 and later).
//!
//! Several documents may follow each other, as `gcov --stdout` prints one per data file, and the
//! input may be gzipped, as gcov writes it to disk.
//!
//! What the format means here:
//! - One line can have several entries: gcov lists each template instantiation by itself and adds
//!   no total in JSON mode, and a header's line appears in every document whose object used it.
//!   All of them ran, so they are summed.
//! - The order of `branches` and the `fallthrough` flag tell the code layout, not which arc is
//!   "true"; they are not read as polarity. Version 1 lists the arcs of all blocks of a line in
//!   one array; version 2 names the source block, and each block becomes a [`LineArcs`].
//! - Both halves of an exception pair are dropped.
//! - gcov prints counts of racing counters as negative numbers. The function is set aside.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use serde::Deserialize;

use crate::diag::Sink;
use crate::exceptions::{ListedArc, without_throw_pairs};
use crate::json::{Count, valid_utf8};
use crate::paths::{PATH_LEN_MAX, resolve};
use crate::{Diagnostic, FileProfile, FunctionCount, LineArcs, Profile, Severity};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    format_version: String,
    #[serde(default)]
    current_working_directory: String,
    #[serde(default)]
    data_file: String,
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    file: String,
    #[serde(default)]
    functions: Vec<Function>,
    #[serde(default)]
    lines: Vec<Line>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    start_line: u32,
    execution_count: Count,
}

#[derive(Deserialize)]
struct Line {
    line_number: u32,
    count: Count,
    #[serde(default)]
    function_name: Option<String>,
    #[serde(default)]
    branches: Vec<Branch>,
}

#[derive(Deserialize)]
struct Branch {
    count: Count,
    #[serde(default)]
    throw: bool,
    #[serde(default)]
    source_block_id: Option<u32>,
    #[serde(default)]
    destination_block_id: Option<u32>,
}

/// Reads what gcov printed. `name` names the input in diagnostics.
///
/// File names are joined to the document's working directory and cleaned. Memory is linear in
/// the (unzipped) input; a gzipped input that unzips to more than a hundred times its size and
/// more than 64 MiB is refused.
#[must_use]
pub fn read(bytes: &[u8], name: &str) -> (Profile, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let mut profile = Profile::default();
    if let Some(plain) = unzipped(bytes, name, &mut sink) {
        read_documents(&valid_utf8(&plain, name, &mut sink), name, &mut profile, &mut sink);
    }
    profile.normalize();
    (profile, sink.finish(name))
}

/// The bytes, unzipped if they are gzipped, and cut off at the size limit.
fn unzipped<'a>(bytes: &'a [u8], name: &str, sink: &mut Sink) -> Option<Cow<'a, [u8]>> {
    const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
    const UNZIPPED_LEN_MAX: usize = 64 << 20;
    const RATIO_MAX: usize = 100;
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Some(Cow::Borrowed(bytes));
    }
    let len_max = UNZIPPED_LEN_MAX.max(bytes.len().saturating_mul(RATIO_MAX));
    let mut plain = Vec::new();
    let limit = u64::try_from(len_max).unwrap_or(u64::MAX).saturating_add(1);
    let result = flate2::read::MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut plain);
    if plain.len() > len_max {
        sink.push(Severity::Error, "gzip-too-large", name, || {
            format!("unzips to more than {len_max} bytes: unzip it by hand and import the result")
        });
        return None;
    }
    if let Err(error) = result {
        sink.push(Severity::Error, "truncated", name, || {
            format!(
                "the gzip data end too early or are damaged ({error}); what was unzipped is \
                 still read: run gcov again for the rest"
            )
        });
    }
    Some(Cow::Owned(plain))
}

fn read_documents(text: &str, name: &str, profile: &mut Profile, sink: &mut Sink) {
    let mut tally = Tally::default();
    for document in serde_json::Deserializer::from_str(text).into_iter::<Document>() {
        match document {
            Ok(document) => read_document(document, name, profile, &mut tally, sink),
            Err(error) => {
                let code = if error.is_eof() { "truncated" } else { "not-gcov-json" };
                sink.push(Severity::Error, code, name, || {
                    format!(
                        "document {} is not gcov's JSON: {error}; what stands before it is used: \
                         run `gcov --json-format -b` again for the rest",
                        tally.documents + 1
                    )
                });
                return;
            }
        }
    }
    if tally.documents == 0 {
        sink.push(
            Severity::Error,
            "not-gcov-json",
            name,
            || "the input is empty: run `gcov --json-format -b --stdout X.gcda`",
        );
    }
    if tally.lines > 0 && tally.branches == 0 {
        sink.push(
            Severity::Note,
            "no-branches",
            name,
            || "no line has branches: was gcov run without -b?",
        );
    }
}

/// What the input holds, over all documents.
#[derive(Default)]
struct Tally {
    documents: usize,
    lines: usize,
    branches: usize,
}

fn read_document(
    document: Document,
    name: &str,
    profile: &mut Profile,
    tally: &mut Tally,
    sink: &mut Sink,
) {
    tally.documents += 1;
    if !matches!(document.format_version.as_str(), "1" | "2") {
        sink.push(Severity::Warning, "unknown-version", name, || {
            format!(
                "gcov JSON version `{}` is not 1 or 2; it is read as if it were 2: compare a few \
                 counts with gcov's text output before you rely on them",
                document.format_version
            )
        });
    }
    if document.files.is_empty() {
        sink.push(Severity::Warning, "gcno-missing", name, || {
            format!(
                "gcov listed no file for `{}`: the .gcno beside it is missing or of another build; \
                 keep the build folder, or rebuild and run the workload again",
                document.data_file
            )
        });
    }
    for file in document.files {
        tally.lines += file.lines.len();
        tally.branches += file.lines.iter().map(|l| l.branches.len()).sum::<usize>();
        let directory = document.current_working_directory.as_str();
        let Some(path) = resolve(directory, &file.file, name, sink) else { continue };
        let read = read_file(file, &path, sink);
        profile.append_file(path, read);
    }
}

fn read_file(file: File, path: &str, sink: &mut Sink) -> FileProfile {
    let racing = racing_functions(&file, path, sink);
    let mut out = FileProfile::default();
    for f in file.functions {
        if let Ok(entered) = u64::try_from(f.execution_count.0)
            && !racing.contains(&f.name)
        {
            out.functions.push(FunctionCount { name: f.name, line: f.start_line, entered });
        }
    }
    for line in file.lines {
        if line.function_name.as_ref().is_some_and(|f| racing.contains(f)) || line.is_negative() {
            continue;
        }
        out.add_line(line.line_number, u64::try_from(line.count.0).unwrap_or(0));
        out.arcs.extend(line_arcs(line));
    }
    out
}

impl Line {
    fn is_negative(&self) -> bool {
        self.count.0 < 0 || self.branches.iter().any(|b| b.count.0 < 0)
    }
}

/// Names of the functions with a negative count anywhere, each reported once.
fn racing_functions(file: &File, path: &str, sink: &mut Sink) -> BTreeSet<String> {
    const REMEDY: &str = "build with -fprofile-update=atomic and run the workload again";
    let mut racing = BTreeSet::new();
    let functions = file.functions.iter().filter(|f| f.execution_count.0 < 0);
    racing.extend(functions.map(|f| f.name.clone()));
    for line in file.lines.iter().filter(|l| l.is_negative()) {
        match &line.function_name {
            Some(function) => {
                racing.insert(function.clone());
            }
            None => sink.push(Severity::Warning, "negative-count", path, || {
                format!("line {} has a negative count and is set aside: {REMEDY}", line.line_number)
            }),
        }
    }
    for function in &racing {
        sink.push(Severity::Warning, "negative-count", path, || {
            format!(
                "`{function}` has negative counts, which threads that race for its counters leave; \
                 all its counts are set aside: {REMEDY}"
            )
        });
    }
    racing
}

/// The branches of one line entry: one list in version 1, one for each block in version 2.
fn line_arcs(line: Line) -> Vec<LineArcs> {
    let mut blocks: BTreeMap<Option<u32>, Vec<ListedArc>> = BTreeMap::new();
    // gcov lists an arc once for each file that its block has lines of, which can be one line.
    let mut seen = BTreeSet::new();
    for b in &line.branches {
        if let (Some(from), Some(to)) = (b.source_block_id, b.destination_block_id)
            && !seen.insert((from, to))
        {
            continue;
        }
        let taken = u64::try_from(b.count.0).ok();
        let arc = ListedArc { taken, throws: b.throw };
        blocks.entry(b.source_block_id).or_default().push(arc);
    }
    let function = line.function_name.filter(|f| f.len() <= PATH_LEN_MAX);
    let lists = blocks.into_values().map(|arcs| without_throw_pairs(&arcs));
    lists
        .filter(|taken| taken.len() >= 2)
        .map(|taken| LineArcs {
            line: line.line_number,
            function: function.clone(),
            taken,
            leads_to: Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// A document of one file with these lines and functions.
    fn document(lines: &str, functions: &str) -> String {
        format!(
            r#"{{"format_version":"1","current_working_directory":"/w/b","data_file":"a.gcda",
            "files":[{{"file":"../a.c","functions":[{functions}],"lines":[{lines}]}}]}}"#
        )
    }

    fn file(text: &str) -> (FileProfile, Vec<String>) {
        let (profile, diagnostics) = read(text.as_bytes(), "a.json");
        let codes = diagnostics.into_iter().map(|d| d.code).collect();
        (profile.files.get("/w/a.c").cloned().unwrap_or_default(), codes)
    }

    const BRANCHES: &str = r#""branches":[{"count":3,"throw":false},{"count":4,"throw":false}]"#;

    #[test]
    fn entries_of_one_line_are_added_and_their_arcs_kept_apart() {
        let line =
            |f: &str| format!(r#"{{"line_number":5,"count":7,"function_name":"{f}",{BRANCHES}}}"#);
        let text = document(&[line("f<int>"), line("f<long>")].join(","), "");
        // The same header line in the document of another object.
        let (file, codes) = file(&format!("{text}\n{text}"));
        assert_eq!(codes, [""; 0]);
        assert_eq!(file.lines, BTreeMap::from([(5, 28)]));
        assert_eq!(file.arcs.len(), 4);
        assert!(file.arcs.iter().all(|a| a.taken == [Some(3), Some(4)]));
    }

    #[test]
    fn exception_pairs_are_no_branches() {
        let (file, _) = file(&document(
            r#"{"line_number":5,"count":7,"branches":[
                {"count":7,"throw":false,"fallthrough":true},{"count":0,"throw":true}]}"#,
            "",
        ));
        assert_eq!(file.lines, BTreeMap::from([(5, 7)]));
        assert_eq!(file.arcs, []);
    }

    #[test]
    fn a_negative_count_sets_its_function_aside_alone() {
        let line = |n: u32, count: i64, f: &str| {
            format!(r#"{{"line_number":{n},"count":{count},"function_name":"{f}",{BRANCHES}}}"#)
        };
        let function = |f: &str| {
            format!(r#"{{"name":"{f}","start_line":1,"execution_count":2,"demangled_name":"x"}}"#)
        };
        let lines = [line(2, 5, "f"), line(3, -1, "f"), line(9, 6, "g")].join(",");
        let nameless = r#"{"line_number":20,"count":-7},{"line_number":21,"count":7}"#;
        let functions = [function("f"), function("g")].join(",");
        let (file, codes) = file(&document(&format!("{lines},{nameless}"), &functions));
        assert_eq!(codes, ["negative-count", "negative-count"]);
        assert_eq!(file.lines, BTreeMap::from([(9, 6), (21, 7)]));
        assert_eq!(file.arcs.len(), 1);
        assert_eq!(file.functions.len(), 1);
        assert_eq!(file.functions[0].name, "g");
    }

    #[test]
    fn gzip_is_unzipped_and_bombs_are_refused() {
        let zip = |bytes: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let plain = document(&format!(r#"{{"line_number":5,"count":7,{BRANCHES}}}"#), "");
        let zipped = zip(plain.as_bytes());
        assert_eq!(read(&zipped, "a").0, read(plain.as_bytes(), "a").0);
        let (profile, diagnostics) = read(&zipped[..zipped.len() - 4], "a");
        assert_eq!(profile, read(plain.as_bytes(), "a").0, "what was unzipped is used");
        assert_eq!(diagnostics[0].code, "truncated");
        let (_, diagnostics) = read(&zip(&vec![b' '; 65 << 20]), "a");
        assert_eq!(diagnostics[0].code, "gzip-too-large");
    }

    #[test]
    fn says_what_is_wrong_with_an_input() {
        let good = document(&format!(r#"{{"line_number":5,"count":7,{BRANCHES}}}"#), "");
        for (text, code) in [
            ("", "not-gcov-json"),
            ("[1]", "not-gcov-json"),
            (r#"{"data":[]}"#, "not-gcov-json"),
            (r#"{"format_version":"1","data_file":"a.gcda","files":[]}"#, "gcno-missing"),
            (r#"{"format_version":"7","files":[{"file":"a"}]}"#, "unknown-version"),
            (&document(r#"{"line_number":5,"count":7,"branches":[]}"#, ""), "no-branches"),
            (&format!("{good}{}", &good[..90]), "truncated"),
        ] {
            let (_, codes) = file(text);
            assert_eq!(codes, [code], "{text}");
        }
        let (profile, _) = read(format!("{good}{}", &good[..90]).as_bytes(), "a");
        assert_eq!(profile.files["/w/a.c"].lines[&5], 7, "the document before the cut is used");
    }

    #[test]
    fn names_that_are_not_utf8_stay_apart() {
        let mut bytes = document("", "").into_bytes();
        let at = bytes.windows(4).position(|w| w == b"../a").unwrap() + 3;
        bytes[at] = 0xe9;
        let (profile, diagnostics) = read(&bytes, "a");
        assert_eq!(profile.files.keys().collect::<Vec<_>>(), ["/w/\\xe9.c"]);
        assert_eq!(diagnostics[0].code, "path-not-utf8");
    }
}
