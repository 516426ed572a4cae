//! lcov tracefiles (`.info`), versions 1 and 2.
//!
//! The format has lines: a tag, a colon, fields between commas. Read are `SF`, `DA`, `BRDA`,
//! `FN`/`FNDA` (version 1 and 2.0) and `FNL`/`FNA` (2.2 and later); the sums and hashes that the
//! rest holds are not needed. Sections of one source file are added up.
//!
//! A branch has a line, a block number and a name, neither column nor polarity. The branches of
//! one line and block become one [`LineArcs`], in file order. Branch names may be any text. A `-`
//! means that the block was never reached. An `e` before the block marks an exception; both
//! halves of its pair are dropped.

use std::collections::BTreeMap;

use crate::diag::Sink;
use crate::exceptions::{ListedArc, without_throw_pairs};
use crate::paths::{escaped_utf8, report_not_utf8, resolve};
use crate::ranges::Ranges;
use crate::{Diagnostic, FileProfile, FunctionCount, LineArcs, Profile, Severity};

/// Reads a tracefile. `name` names the input in diagnostics. Memory is linear in the input.
#[must_use]
pub fn read(bytes: &[u8], name: &str) -> (Profile, Vec<Diagnostic>) {
    let mut reader =
        Reader { name, sink: Sink::default(), profile: Profile::default(), section: None };
    for (index, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = escaped_utf8(line);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            report_not_utf8(&text, name, &mut reader.sink);
        }
        if reader.record(text.trim()).is_none() {
            reader.sink.push(Severity::Warning, "bad-line", name, || {
                let shown: String = text.chars().take(80).collect();
                format!(
                    "line {}: `{shown}` is no lcov record and is skipped: make the tracefile again",
                    index + 1
                )
            });
        }
    }
    if reader.section.is_some() {
        reader.sink.push(Severity::Warning, "truncated", name, || {
            "the last section has no `end_of_record`; what was read of it is used: make the \
             tracefile again"
        });
        reader.end_section();
    }
    if reader.profile.files.is_empty() {
        reader.sink.push(Severity::Error, "not-lcov", name, || {
            "no section (`SF:` … `end_of_record`): is this a tracefile that lcov or geninfo wrote?"
        });
    }
    reader.profile.normalize();
    (reader.profile, reader.sink.finish(name))
}

struct Reader<'a> {
    name: &'a str,
    sink: Sink,
    profile: Profile,
    section: Option<Section>,
}

/// One source file's records.
#[derive(Default)]
struct Section {
    /// `None`: its name is no path, so its records are read over.
    path: Option<String>,
    lines: BTreeMap<u32, i64>,
    branches: BTreeMap<(u32, u32), Vec<(i64, ListedArc)>>,
    /// Name and first line.
    functions: Vec<(String, u32)>,
    entered: BTreeMap<String, i64>,
    /// First line of each function by its index (`FNL`).
    indexed: BTreeMap<u32, u32>,
}

/// Tags whose records repeat or sum up what is read, or describe something else.
const UNREAD: &[&str] =
    &["TN", "VER", "LF", "LH", "BRF", "BRH", "FNF", "FNH", "MCDC", "MCF", "MCH"];

impl Reader<'_> {
    /// Reads one line; `None` if it is no record.
    fn record(&mut self, text: &str) -> Option<()> {
        if text.is_empty() || text.starts_with('#') {
            return Some(());
        }
        if text == "end_of_record" {
            self.section.as_ref()?;
            self.end_section();
            return Some(());
        }
        let (tag, rest) = text.split_once(':')?;
        if tag == "SF" {
            self.end_section();
            let path = resolve("", rest, self.name, &mut self.sink);
            self.section = Some(Section { path, ..Section::default() });
            return Some(());
        }
        if UNREAD.contains(&tag) {
            return Some(());
        }
        self.section.as_mut()?.record(tag, rest)
    }

    fn end_section(&mut self) {
        let Some(section) = self.section.take() else { return };
        let Some(path) = section.path.clone() else { return };
        let file = section.into_file(&path, &mut self.sink);
        self.profile.append_file(path, file);
    }
}

impl Section {
    fn record(&mut self, tag: &str, rest: &str) -> Option<()> {
        match tag {
            "DA" => {
                let mut fields = rest.split(',');
                let line = number(fields.next()?)?;
                let count = count(fields.next()?)?;
                // A line that is negative once stays so: its sum would hide the fault.
                let sum = self.lines.entry(line).or_insert(0);
                *sum = if *sum < 0 || count < 0 { -1 } else { sum.saturating_add(count) };
            }
            "BRDA" => self.branch(rest)?,
            "FN" => {
                // line,name or line,end line,name
                let (line, rest) = rest.split_once(',')?;
                let name = match rest.split_once(',') {
                    Some((end, name)) if number(end).is_some() => name,
                    _ => rest,
                };
                self.functions.push((name.to_owned(), number(line)?));
            }
            "FNDA" => {
                let (entered, name) = rest.split_once(',')?;
                self.enter(name, count(entered)?);
            }
            "FNL" => {
                // index,line[,end line]
                let mut fields = rest.split(',');
                let index = number(fields.next()?)?;
                self.indexed.insert(index, number(fields.next()?)?);
            }
            "FNA" => {
                // index,count,name
                let mut fields = rest.splitn(3, ',');
                let line = *self.indexed.get(&number(fields.next()?)?)?;
                let entered = count(fields.next()?)?;
                let name = fields.next()?;
                self.functions.push((name.to_owned(), line));
                self.enter(name, entered);
            }
            _ => return None,
        }
        Some(())
    }

    fn enter(&mut self, name: &str, count: i64) {
        let sum = self.entered.entry(name.to_owned()).or_insert(0);
        *sum = if *sum < 0 || count < 0 { -1 } else { sum.saturating_add(count) };
    }

    /// `line,[e][f][U]block,branch,taken`, where `branch` may hold commas.
    fn branch(&mut self, rest: &str) -> Option<()> {
        let (line, rest) = rest.split_once(',')?;
        let (block, rest) = rest.split_once(',')?;
        let (_branch, taken) = rest.rsplit_once(',')?;
        let digits = block.trim_start_matches(['e', 'f', 'U']);
        let flags = block.strip_suffix(digits)?;
        let taken = if taken == "-" { None } else { Some(count(taken)?) };
        let arc = ListedArc {
            taken: taken.map(|t| u64::try_from(t).unwrap_or(0)),
            throws: flags.contains('e'),
        };
        self.branches
            .entry((number(line)?, number(digits)?))
            .or_default()
            .push((taken.unwrap_or(0), arc));
        Some(())
    }

    fn into_file(mut self, path: &str, sink: &mut Sink) -> FileProfile {
        // Merged tracefiles can announce one function twice.
        self.functions.sort();
        self.functions.dedup();
        let racing = self.racing(path, sink);
        let aside = |line: u32| racing.contains(line);
        let mut file = FileProfile::default();
        for (line, count) in self.lines {
            if let Ok(count) = u64::try_from(count)
                && !aside(line)
            {
                file.lines.insert(line, count);
            }
        }
        for ((line, _block), arcs) in self.branches {
            let arcs: Vec<ListedArc> = arcs.into_iter().map(|(_, arc)| arc).collect();
            let taken = without_throw_pairs(&arcs);
            if taken.len() >= 2 && !aside(line) {
                file.arcs.push(LineArcs { line, function: None, taken, leads_to: Vec::new() });
            }
        }
        for (name, line) in self.functions {
            // Without an FNDA record nothing was measured.
            if let Some(entered) = self.entered.get(&name).and_then(|&n| u64::try_from(n).ok())
                && !aside(line)
            {
                file.functions.push(FunctionCount { name, line, entered });
            }
        }
        file
    }

    /// The functions with a negative count, each reported once. Not every version says where a
    /// function ends: it is taken to end before the next one.
    fn racing(&self, path: &str, sink: &mut Sink) -> Ranges {
        let lines = self.lines.iter().filter(|&(_, &n)| n < 0).map(|(&line, _)| line);
        let arcs = self.branches.iter().filter(|(_, arcs)| arcs.iter().any(|&(n, _)| n < 0));
        let functions = self
            .functions
            .iter()
            .filter(|(name, _)| self.entered.get(name).is_some_and(|&n| n < 0))
            .map(|&(_, line)| line);
        let mut bad: Vec<u32> =
            lines.chain(arcs.map(|(&(line, _), _)| line)).chain(functions).collect();
        bad.sort_unstable();
        let mut starts: Vec<u32> = self.functions.iter().map(|&(_, line)| line).collect();
        starts.sort_unstable();
        let mut ranges = Ranges::default();
        let mut last = 0;
        for line in bad {
            let next = starts.partition_point(|&start| start <= line);
            let (first, end) = match next.checked_sub(1).and_then(|index| starts.get(index)) {
                Some(&first) => (first, starts.get(next).map_or(u32::MAX, |next| next - 1)),
                None => (line, line),
            };
            if last == end {
                continue;
            }
            last = end;
            sink.push(Severity::Warning, "negative-count", path, || {
                format!(
                    "line {line} has a negative count, which threads that race for a counter \
                     leave; its function is set aside: build with -fprofile-update=atomic and run \
                     the workload again"
                )
            });
            ranges.add(first..=end);
        }
        ranges.sort();
        ranges
    }
}

fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

/// A count; lcov also reads and writes negative and floating-point ones.
fn count(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.parse::<i64>() {
        Ok(n) => Some(n),
        Err(_) => {
            let float: f64 = text.parse().ok()?;
            // `as` saturates, so a count beyond i64 stays the largest one.
            float.is_finite().then_some(float as i64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Profile, Vec<Diagnostic>) {
        read(text.as_bytes(), "t.info")
    }

    fn section(records: &str) -> (FileProfile, Vec<String>) {
        let (profile, diagnostics) = read_text(&format!("SF:/a.c\n{records}\nend_of_record\n"));
        let codes = diagnostics.into_iter().map(|d| d.code).collect();
        (profile.files.get("/a.c").cloned().unwrap_or_default(), codes)
    }

    fn taken(file: &FileProfile) -> Vec<(u32, Vec<Option<u64>>)> {
        file.arcs.iter().map(|a| (a.line, a.taken.clone())).collect()
    }

    #[test]
    fn branches_of_a_block_stay_together_whatever_they_are_called() {
        let (file, codes) = section(
            "BRDA:3,0,0,5\nBRDA:3,0,1,0\nBRDA:3,1,x > 3,7\nBRDA:3,1,f(a, b) is false,-\n\
             BRDA:9,0,0,-\nBRDA:9,0,1,-",
        );
        assert_eq!(codes, [""; 0]);
        assert_eq!(
            taken(&file),
            [(3, vec![Some(5), Some(0)]), (3, vec![Some(7), None]), (9, vec![None, None]),]
        );
    }

    #[test]
    fn exception_branches_go_with_their_pair() {
        let (file, codes) = section("BRDA:3,0,0,9\nBRDA:3,e0,1,0\nBRDA:4,U2,0,1\nBRDA:4,U2,1,2");
        assert_eq!(codes, [""; 0]);
        assert_eq!(taken(&file), [(4, vec![Some(1), Some(2)])]);
    }

    #[test]
    fn functions_of_all_versions() {
        for records in [
            "FN:7,f\nFNDA:4,f",
            "FN:7,12,f\nFNDA:4,f",
            "FNDA:4,f\nFN:7,f\nFN:7,f",
            "FNL:0,7,12\nFNA:0,4,f",
        ] {
            let (file, codes) = section(records);
            assert_eq!(codes, [""; 0], "{records}");
            let expected = FunctionCount { name: "f".to_owned(), line: 7, entered: 4 };
            assert_eq!(file.functions, [expected], "{records}");
        }
    }

    #[test]
    fn sections_of_one_file_are_added() {
        let (profile, _) = read_text(
            "TN:a\nSF:/x/../a.c\nDA:1,2\nDA:2,1e3\nend_of_record\n\
             SF:/a.c\nDA:1,3,checksum\nend_of_record\n",
        );
        assert_eq!(profile.files["/a.c"].lines, BTreeMap::from([(1, 5), (2, 1000)]));
    }

    #[test]
    fn a_negative_count_sets_its_function_aside() {
        let (file, codes) = section(
            "FN:1,f\nFN:10,g\nFN:20,h\nFNDA:1,f\nFNDA:2,g\nFNDA:3,h\nDA:2,5\nDA:11,-4\n\
             DA:12,8\nDA:21,9\nBRDA:13,0,0,1\nBRDA:13,0,1,1\nBRDA:22,0,0,1\nBRDA:22,0,1,1",
        );
        assert_eq!(codes, ["negative-count"]);
        assert_eq!(file.lines, BTreeMap::from([(2, 5), (21, 9)]));
        assert_eq!(taken(&file), [(22, vec![Some(1), Some(1)])]);
        let names: Vec<&str> = file.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["f", "h"]);
        // Without functions only the line itself is in doubt; in the last function all after it.
        assert_eq!(section("DA:2,-5\nDA:3,1").0.lines, BTreeMap::from([(3, 1)]));
        assert!(section("FN:1,f\nDA:2,-5\nDA:900,1").0.lines.is_empty());
    }

    #[test]
    fn bad_lines_are_named_and_counted() {
        let bad = "DA:x,1\nBRDA:1,2\nBRDA:1,zz,0,1\nwhat\n".repeat(50);
        let (_, diagnostics) = read_text(&format!("{bad}SF:a.c\n{bad}DA:1,1\n"));
        let bad = diagnostics.iter().filter(|d| d.code == "bad-line").count();
        assert_eq!(bad, crate::diag::PER_CODE_MAX + 1);
        assert!(diagnostics[0].message.contains("line 1"));
        assert!(diagnostics.iter().any(|d| d.code == "truncated"));
        assert_eq!(read_text("").1[0].code, "not-lcov");
    }
}
