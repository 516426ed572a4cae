//! GCC's data files (`.gcda`): the counters of one translation unit, read together with its
//! [`Graphs`].
//!
//! What is right cannot be mixed with what is not: a function whose counters do not fit its graph
//! is set aside alone, with the reason; the other functions are used.

use std::collections::{BTreeMap, HashMap};

use crate::diag::Sink;
use crate::flow::{Counts, ENTRY, Fault, Grouped, solve};
use crate::gcno::{BlockLine, Graph, Graphs};
use crate::gcov_file::{Cursor, Next, TAG_ARC_COUNTERS, TAG_FUNCTION, header, report_truncated};
use crate::line_counts::{barriers, line_counts};
use crate::paths::PATH_LEN_MAX;
use crate::{Diagnostic, FileProfile, FunctionCount, LineArcs, Profile, Severity};

const RERUN: &str = "run the workload again";
const REBUILD: &str = "rebuild the object file with --coverage, delete the old .gcda, and run the \
                       workload again";

/// Blocks without lines that are followed to find where an arc leads.
const FORWARD_MAX: usize = 32;

/// Reads the data file `bytes` over the graphs of its notes file; `name` names it in diagnostics.
///
/// `graphs` is `None` where there is no notes file; without it the counters mean nothing, and the
/// diagnostic says what mends it. Functions that the data file holds no counters for (a discarded
/// copy of an inline function, or what a truncated file lost) are absent: not measured.
#[must_use]
pub fn merge(graphs: Option<&Graphs>, bytes: &[u8], name: &str) -> (Profile, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let mut profile = Profile::default();
    let header = header(bytes, b"gcda", name, &mut sink);
    let Some(graphs) = graphs else {
        sink.push(Severity::Error, "gcno-missing", name, || {
            "there is no .gcno beside this .gcda: keep the build folder's .gcno files, or rebuild \
             with --coverage and run the workload again"
        });
        return (profile, sink.finish(name));
    };
    let Some(header) = header else { return (profile, sink.finish(name)) };
    if header.version != graphs.version || header.stamp != graphs.stamp {
        sink.push(Severity::Error, "stamp-mismatch", name, || {
            format!(
                "{name} (GCC version {}, stamp {:08x}) is of another build than {} (GCC version \
                 {}, stamp {:08x}): {REBUILD}",
                header.version, header.stamp, graphs.name, graphs.version, graphs.stamp
            )
        });
        return (profile, sink.finish(name));
    }
    let counters = counters(graphs, header.rest, name, &mut sink);
    if counters.is_empty() {
        sink.push(Severity::Warning, "no-counters", name, || {
            format!("{name} holds no usable counters: {RERUN} and let the program end normally")
        });
    }
    for (index, counters) in counters {
        if let Some(graph) = graphs.functions.get(index) {
            add_function(graphs, graph, &counters, name, &mut profile, &mut sink);
        }
    }
    profile.normalize();
    (profile, sink.finish(name))
}

/// Counters by function index. A file can hold several runs one after the other: they are added.
fn counters(
    graphs: &Graphs,
    mut rest: Cursor<'_>,
    name: &str,
    sink: &mut Sink,
) -> BTreeMap<usize, Vec<i64>> {
    let by_ident: HashMap<u32, usize> =
        graphs.functions.iter().enumerate().map(|(index, graph)| (graph.ident, index)).collect();
    let mut found: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    let mut current = None;
    loop {
        match rest.record() {
            Next::End => return found,
            Next::Truncated => {
                report_truncated(name, sink, RERUN);
                return found;
            }
            Next::Record { tag: TAG_FUNCTION, body, .. } => {
                current = announced(graphs, &by_ident, body, name, sink);
            }
            Next::Record { tag: TAG_ARC_COUNTERS, zeros_len, mut body } => {
                let Some(index) = current.take() else { continue };
                let expected = graphs
                    .functions
                    .get(index)
                    .map_or(0, |graph| graph.arcs.iter().filter(|arc| !arc.on_tree).count());
                if (body.len() + zeros_len) / 8 != expected {
                    report_mismatch(graphs, index, name, sink);
                    continue;
                }
                let sums = found.entry(index).or_insert_with(|| vec![0; expected]);
                for sum in sums {
                    // What is left unwritten is zero.
                    *sum = sum.saturating_add(body.counter().unwrap_or(0));
                }
            }
            Next::Record { .. } => {}
        }
    }
}

/// The function that a record announces, if its checksums are those of the graph.
fn announced(
    graphs: &Graphs,
    by_ident: &HashMap<u32, usize>,
    mut body: Cursor<'_>,
    name: &str,
    sink: &mut Sink,
) -> Option<usize> {
    // An empty record stands for a function that the linker took from another object.
    let index = *by_ident.get(&body.word()?)?;
    let graph = graphs.functions.get(index)?;
    if body.word() == Some(graph.lineno_checksum) && body.word() == Some(graph.cfg_checksum) {
        return Some(index);
    }
    report_mismatch(graphs, index, name, sink);
    None
}

fn report_mismatch(graphs: &Graphs, index: usize, name: &str, sink: &mut Sink) {
    let function = graphs.functions.get(index).map_or("?", |graph| graph.name.as_str());
    sink.push(Severity::Warning, "function-mismatch", name, || {
        format!(
            "the counters of `{function}` in {name} do not fit its graph in {}; they are set \
             aside: {REBUILD}",
            graphs.name
        )
    });
}

fn add_function(
    graphs: &Graphs,
    graph: &Graph,
    counters: &[i64],
    name: &str,
    profile: &mut Profile,
    sink: &mut Sink,
) {
    if graph.artificial || graph.broken {
        return;
    }
    let counts = match solve(graph, counters) {
        Ok(counts) => counts,
        Err(fault) => return report_fault(graph, &fault, name, sink),
    };
    let path = |file: usize| graphs.files.get(file).and_then(Option::as_deref);
    let mut files: BTreeMap<usize, FileProfile> = BTreeMap::new();
    files.entry(graph.file).or_default().functions.push(FunctionCount {
        name: graph.name.clone(),
        line: graph.line,
        entered: counts.blocks[ENTRY],
    });
    let (lines, uncounted) = line_counts(graph, &counts);
    if uncounted > 0 {
        sink.push(Severity::Warning, "line-loops", name, || {
            format!(
                "{uncounted} lines of `{}` have too many loops within one line to be counted; \
                 they are left out: break these lines up",
                graph.name
            )
        });
    }
    for ((file, line), count) in lines {
        files.entry(file).or_default().add_line(line, count);
    }
    for ((file, line), count) in barriers(graph, &counts) {
        files.entry(file).or_default().add_barriers(line, count);
    }
    for (file, arcs) in branches(graph, &counts) {
        files.entry(file).or_default().arcs.push(arcs);
    }
    for (file, counts) in files {
        if let Some(path) = path(file) {
            profile.append_file(path.to_owned(), counts);
        }
    }
}

fn report_fault(graph: &Graph, fault: &Fault, name: &str, sink: &mut Sink) {
    let (code, remedy) = match fault {
        Fault::Racing(_) => {
            ("racing-counters", "build with -fprofile-update=atomic and run the workload again")
        }
        Fault::Graph(_) => ("corrupt-graph", REBUILD),
    };
    sink.push(Severity::Warning, code, name, || {
        format!("`{}` is set aside, {fault}: {remedy}", graph.name)
    });
}

/// The arcs of each block that branches, at the last line of the block: the condition is the
/// block's last statement.
fn branches<'a>(
    graph: &'a Graph,
    counts: &'a Counts,
) -> impl Iterator<Item = (usize, LineArcs)> + 'a {
    let block_count = graph.block_count as usize;
    let out = Grouped::new(block_count, graph.arcs.iter().map(|arc| arc.from));
    let lines = Grouped::new(block_count, graph.lines.iter().map(|line| line.block));
    let function = (graph.name.len() <= PATH_LEN_MAX).then(|| graph.name.clone());
    (0..block_count).filter_map(move |block| {
        let all = out.of(block);
        let real: Vec<usize> = all.iter().copied().filter(|&i| !graph.arcs[i].fake).collect();
        // Two real arcs beside a fake one: a call that may return or throw, no condition.
        if real.len() < 2 || real.len() != all.len() {
            return None;
        }
        let at: BlockLine = graph.lines[*lines.of(block).last()?];
        let leads_to = real
            .iter()
            .map(|&i| first_line(graph, &out, &lines, graph.arcs[i].to as usize, at.file));
        Some((
            at.file,
            LineArcs {
                line: at.line,
                function: function.clone(),
                taken: real.iter().map(|&i| Some(counts.arcs[i])).collect(),
                leads_to: leads_to.collect(),
            },
        ))
    })
}

/// The first line in `file` of the code at `block`. Blocks without lines that only lead on are
/// followed.
fn first_line(
    graph: &Graph,
    out: &Grouped,
    lines: &Grouped,
    mut block: usize,
    file: usize,
) -> Option<u32> {
    for _ in 0..FORWARD_MAX {
        let of_block = lines.of(block);
        if !of_block.is_empty() {
            return of_block
                .iter()
                .map(|&i| graph.lines[i])
                .find(|line| line.file == file)
                .map(|line| line.line);
        }
        let [only] = out.of(block) else { return None };
        block = graph.arcs[*only].to as usize;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcno::Arc;

    /// Blocks from 2 on lie on the lines given (0: no line); `true` marks a fake arc.
    fn arcs_of(lines: &[u32], arcs: &[(u32, u32, bool)]) -> Vec<LineArcs> {
        let mut graph = Graph { block_count: lines.len() as u32 + 2, ..Graph::default() };
        for (block, &line) in (2..).zip(lines).filter(|(_, line)| **line != 0) {
            graph.lines.push(BlockLine { block, group: 1, file: 0, line });
        }
        for &(from, to, fake) in arcs {
            graph.arcs.push(Arc { from, to, on_tree: false, fake });
        }
        let counts = Counts { arcs: vec![1; arcs.len()], blocks: vec![1; lines.len() + 2] };
        branches(&graph, &counts).map(|(_, arcs)| arcs).collect()
    }

    #[test]
    fn blocks_without_lines_are_followed_while_there_is_one_way_on() {
        // 2 → 3 → 4 and 2 → 5; 3 and 5 have no line, 5 leads to the exit.
        let arcs = arcs_of(
            &[7, 0, 9, 0],
            &[(0, 2, false), (2, 3, false), (2, 5, false), (3, 4, false), (5, 1, false)],
        );
        assert_eq!(arcs.len(), 1);
        assert_eq!(arcs[0].leads_to, [Some(9), None]);
    }

    #[test]
    fn a_ring_of_blocks_without_lines_leads_nowhere() {
        let arcs = arcs_of(&[7, 0, 9], &[(2, 3, false), (2, 4, false), (3, 3, false)]);
        assert_eq!(arcs[0].leads_to, [None, Some(9)]);
    }

    #[test]
    fn a_call_that_may_throw_is_no_branch() {
        let arcs = arcs_of(&[7, 8, 9], &[(2, 3, false), (2, 4, false), (2, 1, true)]);
        assert_eq!(arcs, []);
    }
}
