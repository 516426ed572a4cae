//! From a run's instructions and arcs to the counts of its functions and source lines.
//!
//! What an instruction is, its bytes say: so a conditional jump counts each time that it runs, also
//! if it was never followed, and a `rep stos`, which callgrind writes as a jump to itself, is none.
//! It was followed as often as arcs lead from it to the target that its encoding names, whether
//! callgrind calls these jumps or calls. Code whose bytes cannot be read is counted by its arcs
//! alone, and how much of it there was is said.

use super::callgrind::{Arc, ArcKind, Code, Passed, Place, UNKNOWN};
use super::decode::Flow;
use super::names::{base, file_name, function_of};
use super::objects::Objects;
use super::record::Counts;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// log2 of the bytes of a cache line.
const LINE_SHIFT: u32 = 6;

/// The counts of a function or an object, and the lines of code that it touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) counts: Counts,
    pub(crate) code_lines: BTreeSet<u64>,
}

impl Part {
    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.code_lines.extend(&other.code_lines);
    }
}

/// One run of one arm, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) total: Counts,
    pub(crate) objects: BTreeMap<String, Part>,
    /// By object and name.
    pub(crate) functions: BTreeMap<(String, String), Part>,
    /// By file and line.
    pub(crate) lines: BTreeMap<(String, u32), Counts>,
    pub(crate) added_instructions: u64,
    pub(crate) undecoded_instructions: u64,
}

impl Tally {
    /// Counts `code`; source files are named from `dir`.
    pub(crate) fn of(code: &Code, objects: &mut Objects, dir: &Path) -> Self {
        let mut arcs: HashMap<Place, Vec<(&Arc, &Passed)>> = HashMap::new();
        for (arc, passed) in &code.arcs {
            arcs.entry(arc.from).or_default().push((arc, passed));
        }
        let mut by_function: HashMap<(u32, u32), Part> = HashMap::new();
        let mut by_line: HashMap<(u32, u32), Counts> = HashMap::new();
        let mut tally = Self::default();
        for (&place, ran) in &code.executed {
            let object = code.objects.name(place.object);
            if base(object).starts_with("vgpreload_") {
                tally.added_instructions = tally.added_instructions.saturating_add(ran.count);
                continue;
            }
            let arcs = arcs.get(&place).map(Vec::as_slice).unwrap_or_default();
            let flow = objects.flow(object, place.address);
            if flow.is_none() {
                tally.undecoded_instructions =
                    tally.undecoded_instructions.saturating_add(ran.count);
            }
            let counts = counts(ran.count, flow, arcs);
            let function = by_function.entry((place.object, place.function)).or_default();
            function.counts.add(&counts);
            function.code_lines.insert(place.address >> LINE_SHIFT);
            if ran.line > 0 {
                by_line.entry((ran.file, ran.line)).or_default().add(&counts);
            }
            tally.total.add(&counts);
        }
        tally.name_functions(code, by_function);
        tally.name_lines(code, by_line, dir);
        tally
    }

    fn name_functions(&mut self, code: &Code, functions: HashMap<(u32, u32), Part>) {
        for ((object, function), part) in functions {
            let object = code.objects.name(object).to_owned();
            self.objects.entry(object.clone()).or_default().add(&part);
            let name = function_of(code.functions.name(function)).to_owned();
            self.functions.entry((object, name)).or_default().add(&part);
        }
    }

    fn name_lines(&mut self, code: &Code, lines: HashMap<(u32, u32), Counts>, dir: &Path) {
        let mut names: HashMap<u32, String> = HashMap::new();
        for ((file, line), counts) in lines {
            let name =
                names.entry(file).or_insert_with(|| file_name(code.files.name(file), dir)).clone();
            if name != UNKNOWN {
                self.lines.entry((name, line)).or_default().add(&counts);
            }
        }
    }
}

/// The counts of one instruction that ran `n` times.
fn counts(n: u64, flow: Option<Flow>, arcs: &[(&Arc, &Passed)]) -> Counts {
    let gone = |of: &dyn Fn(&Arc) -> bool, what: fn(&Passed) -> u64| {
        let of = arcs.iter().filter(|(arc, _)| of(arc));
        of.fold(0_u64, |sum, (_, passed)| sum.saturating_add(what(passed)))
    };
    let mut counts = Counts { instructions: n, ..Counts::default() };
    match flow {
        Some(Flow::Next) => {}
        Some(Flow::Branch(target)) => {
            counts.conditional = n;
            counts.followed = gone(&|arc| arc.target == target, |passed| passed.followed).min(n);
        }
        Some(Flow::Jump) => counts.unconditional = n,
        Some(Flow::Call) => counts.calls = n,
        Some(Flow::Return) => counts.returns = n,
        None => {
            let kind = |kind| move |arc: &Arc| arc.kind == kind;
            let conditional = kind(ArcKind::Conditional);
            counts.conditional = gone(&conditional, |passed| passed.executed).min(n);
            counts.followed = gone(&conditional, |passed| passed.followed).min(counts.conditional);
            counts.unconditional = gone(&kind(ArcKind::Jump), |passed| passed.followed).min(n);
            counts.calls = gone(&kind(ArcKind::Call), |passed| passed.followed).min(n);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(address: u64) -> Place {
        Place { object: 0, function: 0, address }
    }

    fn arc(kind: ArcKind, target: u64, followed: u64, executed: u64) -> (Arc, Passed) {
        (Arc { from: place(0x10), kind, target }, Passed { followed, executed })
    }

    fn counted(n: u64, flow: Option<Flow>, arcs: &[(Arc, Passed)]) -> Counts {
        counts(n, flow, &arcs.iter().map(|(arc, passed)| (arc, passed)).collect::<Vec<_>>())
    }

    #[test]
    fn a_branch_never_followed_was_executed_all_the_same() {
        let counts = counted(90, Some(Flow::Branch(0x40)), &[]);
        assert_eq!((counts.conditional, counts.followed), (90, 0));
        assert_eq!(counts.fall_through_rate(), Some(1.0));
    }

    #[test]
    fn a_branch_to_the_head_of_a_function_is_followed_though_it_is_called_a_call() {
        let arcs = [arc(ArcKind::Call, 0x40, 30, 0), arc(ArcKind::Conditional, 0x40, 5, 90)];
        let counts = counted(90, Some(Flow::Branch(0x40)), &arcs);
        assert_eq!((counts.conditional, counts.followed, counts.calls), (90, 35, 0));
        // Running on into the next function is no jump.
        let counts = counted(90, Some(Flow::Branch(0x40)), &[arc(ArcKind::Call, 0x12, 60, 0)]);
        assert_eq!((counts.followed, counts.calls), (0, 0));
    }

    #[test]
    fn an_instruction_that_repeats_itself_does_not_jump() {
        let arcs = [arc(ArcKind::Jump, 0x10, 64, 0), arc(ArcKind::Conditional, 0x13, 1, 65)];
        assert_eq!(counted(65, Some(Flow::Next), &arcs).taken(), 0);
    }

    #[test]
    fn unconditional_jumps_are_taken_and_calls_are_not() {
        let kinds = [Flow::Jump, Flow::Call, Flow::Return].map(|flow| counted(7, Some(flow), &[]));
        assert_eq!(kinds.map(|counts| counts.taken()), [7, 0, 0]);
        assert_eq!((kinds[1].calls, kinds[2].returns), (7, 7));
    }

    #[test]
    fn code_that_cannot_be_read_is_counted_by_its_arcs() {
        let arcs = [arc(ArcKind::Conditional, 0x40, 5, 90)];
        let counts = counted(90, None, &arcs);
        assert_eq!((counts.conditional, counts.followed), (90, 5));
        assert_eq!(counted(3, None, &[arc(ArcKind::Jump, 0x40, 3, 0)]).unconditional, 3);
    }

    #[test]
    fn parts_are_counted_with_their_function_and_lines_with_their_file() {
        let mut code = Code::default();
        let object = code.objects.number("/a/tool");
        let file = code.files.number("/w/./x.c");
        for (name, address, n) in [("f", 0x1000, 10), ("f.cold", 0x2000, 2), ("f", 0x1004, 10)] {
            let function = code.functions.number(name);
            code.ran(Place { object, function, address }, file, 7, n);
        }
        let added = code.objects.number("/x/vgpreload_core-amd64-linux.so");
        code.ran(Place { object: added, function: 0, address: 1 }, 0, 0, 100);
        let tally = Tally::of(&code, &mut Objects::default(), Path::new("/w"));
        let function = &tally.functions[&("/a/tool".to_owned(), "f".to_owned())];
        assert_eq!(tally.functions.len(), 1);
        assert_eq!((function.counts.instructions, function.code_lines.len()), (22, 2));
        assert_eq!(tally.lines[&("x.c".to_owned(), 7)].instructions, 22);
        assert_eq!((tally.total.instructions, tally.added_instructions), (22, 100));
        assert_eq!(
            (tally.undecoded_instructions, tally.objects["/a/tool"].code_lines.len()),
            (22, 2)
        );
    }
}
