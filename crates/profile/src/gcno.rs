//! GCC's notes files (`.gcno`): the control-flow graph of each instrumented function.
//!
//! A function has blocks (0 is the entry, 1 the exit), arcs between them, and for each block the
//! source lines of its statements in program order. The counters of the data file belong to the
//! arcs that are not on the graph's spanning tree; [`crate::gcda::merge`] brings the two together.
//!
//! The raw files are read because gcov's own output loses what the join needs: where an arc leads
//! to, and the order of the lines within a block.

use std::collections::HashMap;

use crate::diag::Sink;
use crate::gcov_file::{
    Cursor, Next, TAG_ARCS, TAG_BLOCKS, TAG_FUNCTION, TAG_LINES, Version, header, report_truncated,
    text,
};
use crate::paths::resolve;
use crate::{Diagnostic, Severity};

const REMEDY: &str = "rebuild the object file";
const ARC_ON_TREE: u32 = 1;
const ARC_FAKE: u32 = 1 << 1;

/// The graphs of one translation unit.
#[derive(Debug, Clone)]
pub struct Graphs {
    /// The notes file, as diagnostics name it.
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) stamp: u32,
    /// Source files by the index that graphs use; `None`: the name is no path.
    pub(crate) files: Vec<Option<String>>,
    pub(crate) functions: Vec<Graph>,
}

/// The graph of one function.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    pub(crate) ident: u32,
    pub(crate) lineno_checksum: u32,
    pub(crate) cfg_checksum: u32,
    pub(crate) name: String,
    /// Made by the compiler, such as a static initialiser: no source text to hint.
    pub(crate) artificial: bool,
    pub(crate) file: usize,
    pub(crate) line: u32,
    pub(crate) block_count: u32,
    /// Ascending by source block, in file order within a block: the order of the counters.
    pub(crate) arcs: Vec<Arc>,
    /// Ascending by block, in program order within a block.
    pub(crate) lines: Vec<BlockLine>,
    /// Some of the function's records were unusable.
    pub(crate) broken: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Arc {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Not counted: its count follows from the others.
    pub(crate) on_tree: bool,
    /// Not in the source: a call that may not return, or a non-local entry.
    pub(crate) fake: bool,
}

/// A source line of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockLine {
    pub(crate) block: u32,
    /// Counts the file changes within the block: lines of one group lie in one file.
    pub(crate) group: u32,
    pub(crate) file: usize,
    pub(crate) line: u32,
}

/// Reads a notes file. `name` names it in diagnostics. Memory is linear in the input.
///
/// A truncated file gives the functions before the cut. An unreadable one gives graphs without
/// functions.
#[must_use]
pub fn read(bytes: &[u8], name: &str) -> (Graphs, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let mut graphs = Graphs {
        name: name.to_owned(),
        version: Version::UNKNOWN,
        stamp: 0,
        files: Vec::new(),
        functions: Vec::new(),
    };
    if let Some(header) = header(bytes, b"gcno", name, &mut sink) {
        graphs.version = header.version;
        graphs.stamp = header.stamp;
        let mut reader = Reader {
            graphs,
            sink,
            directory: String::new(),
            file_index: HashMap::new(),
            current_file: None,
            // Every block but the exit has at least one arc, of two words.
            blocks_left: header.rest.len() / 8,
        };
        reader.unit(header.rest);
        Reader { graphs, sink, .. } = reader;
        for graph in &mut graphs.functions {
            graph.arcs.sort_by_key(|arc| arc.from);
            graph.lines.sort_by_key(|line| line.block);
        }
        return (graphs, sink.finish(name));
    }
    (graphs, sink.finish(name))
}

struct Reader<'a> {
    graphs: Graphs,
    sink: Sink,
    /// Where the compiler ran.
    directory: String,
    file_index: HashMap<&'a [u8], usize>,
    /// The file of the lines that follow; kept from one lines record to the next.
    current_file: Option<usize>,
    /// Bounds what block counts can make the solver allocate.
    blocks_left: usize,
}

impl<'a> Reader<'a> {
    fn unit(&mut self, mut rest: Cursor<'a>) {
        let Some(directory) = rest.string() else { return self.truncated() };
        let directory = directory.unwrap_or_default();
        self.directory = text(directory, &self.graphs.name, &mut self.sink).into_owned();
        // Whether the compiler marks blocks that were not executed.
        if rest.word().is_none() {
            return self.truncated();
        }
        loop {
            match rest.record() {
                Next::End => return,
                Next::Truncated => {
                    // The function that the cut goes through would be solved wrongly.
                    self.mark_broken();
                    return self.truncated();
                }
                Next::Record { tag, body, .. } => self.record(tag, body),
            }
        }
    }

    fn truncated(&mut self) {
        report_truncated(&self.graphs.name, &mut self.sink, REMEDY);
    }

    fn mark_broken(&mut self) {
        if let Some(graph) = self.graphs.functions.last_mut() {
            graph.broken = true;
        }
    }

    fn record(&mut self, tag: u32, body: Cursor<'a>) {
        let read = match tag {
            TAG_FUNCTION => self.function(body),
            TAG_BLOCKS => self.blocks(body),
            TAG_ARCS => self.arcs(body),
            TAG_LINES => self.lines(body),
            _ => Some(()),
        };
        if read.is_none() {
            if tag == TAG_FUNCTION {
                // What follows must not be added to the function before.
                self.graphs.functions.push(Graph { broken: true, ..Graph::default() });
            }
            self.mark_broken();
            let name = self.graphs.functions.last().map_or("?", |graph| graph.name.as_str());
            self.sink.push(Severity::Warning, "corrupt-graph", &self.graphs.name, || {
                format!("the graph of `{name}` is damaged and set aside: {REMEDY}")
            });
        }
    }

    fn function(&mut self, mut body: Cursor<'a>) -> Option<()> {
        let ident = body.word()?;
        let lineno_checksum = body.word()?;
        let cfg_checksum = body.word()?;
        let name = body.string()?.unwrap_or_default();
        let artificial = body.word()? != 0;
        let file = body.string()?.unwrap_or_default();
        let line = body.word()?;
        let name = text(name, &self.graphs.name, &mut self.sink).into_owned();
        let file = self.file(file);
        self.current_file = None;
        self.graphs.functions.push(Graph {
            ident,
            lineno_checksum,
            cfg_checksum,
            name,
            artificial,
            file,
            line,
            ..Graph::default()
        });
        Some(())
    }

    /// The index of a source file.
    fn file(&mut self, bytes: &'a [u8]) -> usize {
        if let Some(&index) = self.file_index.get(bytes) {
            return index;
        }
        let index = self.graphs.files.len();
        let path = text(bytes, &self.graphs.name, &mut self.sink);
        let path = resolve(&self.directory, &path, &self.graphs.name, &mut self.sink);
        self.graphs.files.push(path);
        self.file_index.insert(bytes, index);
        index
    }

    fn blocks(&mut self, mut body: Cursor<'a>) -> Option<()> {
        let count = body.word()?;
        let left = self.blocks_left.checked_sub(usize::try_from(count).ok()?)?;
        let graph = self.graphs.functions.last_mut()?;
        if graph.block_count != 0 {
            return None;
        }
        self.blocks_left = left;
        graph.block_count = count;
        Some(())
    }

    fn arcs(&mut self, mut body: Cursor<'a>) -> Option<()> {
        let graph = self.graphs.functions.last_mut()?;
        let from = body.word().filter(|&from| from < graph.block_count)?;
        while body.len() >= 8 {
            let to = body.word().filter(|&to| to < graph.block_count)?;
            let flags = body.word()?;
            graph.arcs.push(Arc {
                from,
                to,
                on_tree: flags & ARC_ON_TREE != 0,
                fake: flags & ARC_FAKE != 0,
            });
        }
        Some(())
    }

    fn lines(&mut self, mut body: Cursor<'a>) -> Option<()> {
        let block = body.word()?;
        let mut group = 0;
        loop {
            let line = body.word()?;
            if line == 0 {
                // A null name ends the record.
                let Some(file) = body.string()? else { return Some(()) };
                self.current_file = Some(self.file(file));
                group += 1;
                continue;
            }
            let file = self.current_file?;
            let graph = self.graphs.functions.last_mut()?;
            if block >= graph.block_count {
                return None;
            }
            graph.lines.push(BlockLine { block, group, file, line });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A notes file of GCC 12 with one function `f` in `a.c` and these records after it.
    fn notes(records: &[(u32, &[u32])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut word = |word: u32| bytes.extend(word.to_le_bytes());
        [0x6763_6e6f, 0x4232_322a, 1, 0, 0, 0].into_iter().for_each(&mut word);
        // ident, checksums; "f"; artificial; "a.c"; line
        [TAG_FUNCTION, 34, 1, 2, 3, 2].into_iter().for_each(&mut word);
        bytes.extend(b"f\0\0\0\0\0\x04\0\0\0a.c\0\x01\0\0\0");
        for (tag, words) in records {
            let mut word = |word: u32| bytes.extend(word.to_le_bytes());
            word(*tag);
            word(words.len() as u32 * 4);
            words.iter().copied().for_each(word);
        }
        bytes
    }

    const A_C: u32 = u32::from_le_bytes(*b"a.c\0");

    #[test]
    fn records_may_come_in_any_order() {
        let (graphs, diagnostics) = read(
            &notes(&[
                (TAG_BLOCKS, &[4]),
                (TAG_LINES, &[3, 0, 4, A_C, 8, 9, 0, 0]),
                (TAG_LINES, &[2, 0, 4, A_C, 7, 0, 0]),
                (TAG_ARCS, &[2, 3, 1]),
                (TAG_ARCS, &[0, 2, 0]),
            ]),
            "a.gcno",
        );
        assert_eq!(diagnostics, []);
        let graph = &graphs.functions[0];
        let lines: Vec<_> = graph.lines.iter().map(|l| (l.block, l.line)).collect();
        assert_eq!(lines, [(2, 7), (3, 8), (3, 9)]);
        let arcs: Vec<_> = graph.arcs.iter().map(|a| (a.from, a.to, a.on_tree)).collect();
        assert_eq!(arcs, [(0, 2, false), (2, 3, true)]);
        assert_eq!(graphs.files, [Some("a.c".to_owned())]);
    }

    #[test]
    fn damaged_records_set_the_function_aside() {
        for records in [
            &[(TAG_BLOCKS, &[4][..]), (TAG_BLOCKS, &[4])][..],
            &[(TAG_BLOCKS, &[u32::MAX])],
            &[(TAG_BLOCKS, &[4]), (TAG_ARCS, &[2, 9, 0])],
            &[(TAG_BLOCKS, &[4]), (TAG_ARCS, &[9, 2, 0])],
            &[(TAG_BLOCKS, &[4]), (TAG_LINES, &[9, 0, 4, A_C, 7, 0, 0])],
            &[(TAG_BLOCKS, &[4]), (TAG_LINES, &[2, 7, 0, 0])],
        ] {
            let (graphs, diagnostics) = read(&notes(records), "a.gcno");
            assert!(graphs.functions[0].broken, "{records:?}");
            assert_eq!(diagnostics[0].code, "corrupt-graph");
            assert!(diagnostics[0].message.contains("`f`"));
        }
    }
}
