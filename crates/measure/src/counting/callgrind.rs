//! Reads what callgrind writes: which instruction ran how often, and which jumps were followed.
//!
//! The format is that of the Valgrind manual, chapter "Callgrind Format Specification". Where the
//! writer goes beyond the chapter, the writer is followed: `jcnd=FOLLOWED/EXECUTED` with a slash,
//! `jfi=` and `jfn=` lines that name the target of a jump, and relative positions that count from
//! the last cost line but not from the source line of a call or a jump.
//!
//! A dump does not say all that it seems to say, which shapes what is kept here. A conditional
//! jump that was never followed has no `jcnd=` line. One that is followed to the first instruction
//! of a function, be it a cold part split off or the head of a loop, is written as a call. So only
//! the arcs with their targets are kept, and the instructions themselves say later what they are.
//!
//! The reader is total: any bytes give a [`Dump`] and what was wrong with them, in bounded memory.

use std::collections::HashMap;
use std::io::BufRead;

/// Bytes of a line that are read; the rest of a longer one is left out.
const LINE_MAX: usize = 64 << 10;
/// Bytes of a name that are kept.
const NAME_MAX: usize = 16 << 10;
/// Bytes of all names of one kind together.
const NAMES_MAX: usize = 256 << 20;
/// Instructions and arcs that are kept of one dump.
pub(crate) const PLACES_MAX: usize = 8 << 20;
/// Problems that are kept word for word.
const PROBLEMS_MAX: usize = 16;
/// Subpositions of a cost line: instruction, basic block, line.
const POSITIONS_MAX: usize = 4;

/// How the writer spells what it does not know: the name of number 0.
pub(crate) const UNKNOWN: &str = "???";

/// Each name once, with a number to stand for it.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    list: Vec<String>,
    index: HashMap<String, u32>,
    bytes: usize,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            list: vec![UNKNOWN.to_owned()],
            index: HashMap::from([(UNKNOWN.to_owned(), 0)]),
            bytes: 0,
        }
    }
}

impl Names {
    /// The number of `name`; 0 where no more names can be held.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        if self.bytes + name.len() > NAMES_MAX {
            return 0;
        }
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.bytes += name.len();
        self.list.push(name.to_owned());
        self.index.insert(name.to_owned(), number);
        number
    }

    /// The name that `number` stands for.
    pub(crate) fn name(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or(UNKNOWN, String::as_str)
    }

    /// The number here of each name of `other`, in its order.
    fn numbers_of(&mut self, other: &Self) -> Vec<u32> {
        other.list.iter().map(|name| self.number(name)).collect()
    }
}

/// One instruction in one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) object: u32,
    pub(crate) function: u32,
    /// As in the object's own file.
    pub(crate) address: u64,
}

/// How often an instruction ran, and its source line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) count: u64,
    pub(crate) file: u32,
    /// 0 where there is none.
    pub(crate) line: u32,
}

/// How the writer calls an arc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ArcKind {
    Conditional,
    Jump,
    Call,
}

/// A way from one instruction to another that is not the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Arc {
    pub(crate) from: Place,
    pub(crate) kind: ArcKind,
    pub(crate) target: u64,
}

/// How often an arc was gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) followed: u64,
    /// Only for [`ArcKind::Conditional`]: how often the jump ran.
    pub(crate) executed: u64,
}

/// All that ran, of one process or of several.
#[derive(Debug, Default, Clone)]
pub(crate) struct Code {
    pub(crate) objects: Names,
    pub(crate) files: Names,
    pub(crate) functions: Names,
    pub(crate) executed: HashMap<Place, Executed>,
    pub(crate) arcs: HashMap<Arc, Passed>,
    /// Entries for which there was no room.
    pub(crate) dropped: u64,
}

impl Code {
    /// Adds runs of one instruction.
    pub(crate) fn ran(&mut self, place: Place, file: u32, line: u32, count: u64) {
        let room = self.executed.len() < PLACES_MAX;
        match self.executed.get_mut(&place) {
            Some(known) => known.count = known.count.saturating_add(count),
            None if room => {
                self.executed.insert(place, Executed { count, file, line });
            }
            None => self.dropped = self.dropped.saturating_add(1),
        }
    }

    /// Adds passages of one arc.
    pub(crate) fn passed(&mut self, arc: Arc, passed: Passed) {
        let room = self.arcs.len() < PLACES_MAX;
        match self.arcs.get_mut(&arc) {
            Some(known) => {
                known.followed = known.followed.saturating_add(passed.followed);
                known.executed = known.executed.saturating_add(passed.executed);
            }
            None if room => {
                self.arcs.insert(arc, passed);
            }
            None => self.dropped = self.dropped.saturating_add(1),
        }
    }

    /// Adds another's counts.
    pub(crate) fn merge(&mut self, other: &Self) {
        let objects = self.objects.numbers_of(&other.objects);
        let functions = self.functions.numbers_of(&other.functions);
        let files = self.files.numbers_of(&other.files);
        let number = |numbers: &[u32], n: u32| numbers.get(n as usize).copied().unwrap_or(0);
        let place = |from: Place| Place {
            object: number(&objects, from.object),
            function: number(&functions, from.function),
            ..from
        };
        for (&from, ran) in &other.executed {
            self.ran(place(from), number(&files, ran.file), ran.line, ran.count);
        }
        for (&arc, &passed) in &other.arcs {
            self.passed(Arc { from: place(arc.from), ..arc }, passed);
        }
        self.dropped = self.dropped.saturating_add(other.dropped);
    }

    /// Instructions executed.
    pub(crate) fn instructions(&self) -> u64 {
        self.executed.values().fold(0, |sum, ran| sum.saturating_add(ran.count))
    }
}

/// One file of callgrind's.
#[derive(Debug, Default, Clone)]
pub(crate) struct Dump {
    /// The process's command line, with line breaks as `\n`.
    pub(crate) command: String,
    /// Whether it counts from the beginning of the process, not from an earlier dump.
    pub(crate) from_start: bool,
    /// Whether it was written to its end.
    pub(crate) complete: bool,
    pub(crate) code: Code,
    /// What was wrong with the text, the first few word for word.
    pub(crate) problems: Vec<String>,
}

impl Dump {
    /// Reads a dump. A failure to read ends it, as the end of the file does, and is a problem.
    pub(crate) fn read(mut input: impl BufRead) -> Self {
        let mut reader = Reader::default();
        let mut line = Vec::new();
        loop {
            match next_line(&mut input, &mut line) {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    reader.problem(&format!("reading stopped: {error}"));
                    break;
                }
            }
            reader.at += 1;
            let text = String::from_utf8_lossy(&line);
            if let Err(what) = reader.line(&text) {
                reader.problem(what);
            }
        }
        if reader.events == 0 {
            reader.problem("there is no `events:` line with Ir in it: not a callgrind dump");
        }
        reader.finish()
    }
}

/// Puts the next line into `line`, without its end and cut at [`LINE_MAX`]; whether there is one.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let part = end.and_then(|end| chunk.get(..end)).unwrap_or(chunk);
        line.extend(part.iter().take(LINE_MAX - line.len()));
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// An arc whose target has been read, and whose source is on the next line.
#[derive(Debug, Clone, Copy)]
struct Begun {
    kind: ArcKind,
    target: u64,
    passed: Passed,
}

#[derive(Debug, Default)]
struct Reader {
    dump: Dump,
    /// Line number, from 1.
    at: u64,
    problems: u64,
    objects: HashMap<u64, u32>,
    files: HashMap<u64, u32>,
    functions: HashMap<u64, u32>,
    object: u32,
    file: u32,
    function: u32,
    /// Which subposition is the instruction and which the line; `None` where there is none.
    instr_at: Option<usize>,
    line_at: Option<usize>,
    positions: usize,
    /// Which cost is Ir.
    ir_at: usize,
    /// `events:` lines seen.
    events: u32,
    last: [u64; POSITIONS_MAX],
    begun: Option<Begun>,
}

type Parsed<T> = Result<T, &'static str>;

impl Reader {
    fn problem(&mut self, what: &str) {
        self.problems += 1;
        if self.dump.problems.len() < PROBLEMS_MAX {
            self.dump.problems.push(format!("line {}: {what}", self.at));
        }
    }

    fn finish(mut self) -> Dump {
        let more = self.problems.saturating_sub(PROBLEMS_MAX as u64);
        if more > 0 {
            self.dump.problems.push(format!("and {more} more"));
        }
        self.dump
    }

    fn line(&mut self, text: &str) -> Parsed<()> {
        match text.bytes().next() {
            None | Some(b'#') => Ok(()),
            Some(b'0'..=b'9' | b'+' | b'-' | b'*') => self.costs(text),
            Some(_) => match text.find(['=', ':']) {
                Some(at) if text.as_bytes().get(at) == Some(&b'=') => {
                    let (key, value) = text.split_at(at);
                    self.spec(key, value.get(1..).unwrap_or_default())
                }
                Some(at) => {
                    let (key, value) = text.split_at(at);
                    self.header(key, value.get(1..).unwrap_or_default().trim())
                }
                None => Err("this is neither a header nor a position nor a cost"),
            },
        }
    }

    fn header(&mut self, key: &str, value: &str) -> Parsed<()> {
        match key {
            "cmd" if self.dump.command.is_empty() => value.clone_into(&mut self.dump.command),
            "desc" => {
                if let Some(range) = value.strip_prefix("Timerange: Basic block ") {
                    self.dump.from_start |= range.split(' ').next() == Some("0");
                }
            }
            "totals" => self.dump.complete = true,
            "positions" => {
                let names: Vec<&str> = value.split_whitespace().take(POSITIONS_MAX).collect();
                self.positions = names.len();
                self.instr_at = names.iter().position(|&name| name == "instr");
                self.line_at = names.iter().position(|&name| name == "line");
            }
            "events" => {
                if self.positions == 0 {
                    (self.positions, self.line_at) = (1, Some(0));
                }
                self.ir_at = value
                    .split_whitespace()
                    .position(|name| name == "Ir")
                    .ok_or("no event is Ir (instructions executed)")?;
                self.events += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn spec(&mut self, key: &str, value: &str) -> Parsed<()> {
        match key {
            "ob" => self.object = self.object_name(value)?,
            "fl" | "fi" | "fe" => self.file = self.file_name(value)?,
            "fn" => self.function = self.function_name(value)?,
            "cob" => drop(self.object_name(value)?),
            "cfi" | "cfl" | "jfi" | "jfl" => drop(self.file_name(value)?),
            "cfn" | "jfn" => drop(self.function_name(value)?),
            "calls" | "jump" | "jcnd" => return self.arc(key, value),
            _ => return Err("a specification of this name is not known"),
        }
        Ok(())
    }

    fn object_name(&mut self, value: &str) -> Parsed<u32> {
        name(&mut self.objects, &mut self.dump.code.objects, value)
    }

    fn file_name(&mut self, value: &str) -> Parsed<u32> {
        name(&mut self.files, &mut self.dump.code.files, value)
    }

    fn function_name(&mut self, value: &str) -> Parsed<u32> {
        name(&mut self.functions, &mut self.dump.code.functions, value)
    }

    /// `calls=COUNT TARGET`, `jump=COUNT TARGET`, `jcnd=FOLLOWED/EXECUTED TARGET`.
    fn arc(&mut self, key: &str, value: &str) -> Parsed<()> {
        // Whatever is wrong with it, the line after it is no cost of its own.
        self.begun = Some(Begun { kind: ArcKind::Call, target: 0, passed: Passed::default() });
        let mut fields = value.split([' ', '\t', '/']).filter(|field| !field.is_empty());
        let mut count = || fields.next().and_then(number).ok_or("the count is no number");
        let followed = count()?;
        let (kind, executed) = match key {
            "jcnd" => (ArcKind::Conditional, count()?),
            "jump" => (ArcKind::Jump, 0),
            _ => (ArcKind::Call, 0),
        };
        let target = self.subpositions(&mut fields)?;
        let target = self.instr_at.and_then(|at| target.get(at)).copied().unwrap_or(0);
        self.begun = Some(Begun { kind, target, passed: Passed { followed, executed } });
        Ok(())
    }

    /// A line of positions and costs, or the source line of an arc.
    fn costs(&mut self, text: &str) -> Parsed<()> {
        let begun = self.begun.take();
        let mut fields = text.split_ascii_whitespace();
        let position = self.subpositions(&mut fields)?;
        let at = |index: Option<usize>| index.and_then(|at| position.get(at)).copied();
        let place = Place {
            object: self.object,
            function: self.function,
            address: at(self.instr_at).unwrap_or(0),
        };
        if let Some(Begun { kind, target, passed }) = begun {
            if passed.followed > 0 {
                self.dump.code.passed(Arc { from: place, kind, target }, passed);
            }
            return Ok(());
        }
        if self.events == 0 {
            return Err("costs before the `events:` line mean nothing");
        }
        self.last = position;
        let line = at(self.line_at).unwrap_or(0);
        let line = u32::try_from(line).map_err(|_| "the source line is out of range")?;
        let count = match fields.nth(self.ir_at) {
            Some(field) => number(field).ok_or("the cost is no number")?,
            None => 0,
        };
        if count > 0 {
            self.dump.code.ran(place, self.file, line, count);
        }
        Ok(())
    }

    /// Takes the subpositions off the front of `fields`; relative ones count from the last cost.
    fn subpositions<'t>(
        &self,
        fields: &mut impl Iterator<Item = &'t str>,
    ) -> Parsed<[u64; POSITIONS_MAX]> {
        const WRONG: &str = "a position is missing, no number, or out of range";
        let mut out = [0; POSITIONS_MAX];
        for (slot, last) in out.iter_mut().zip(self.last).take(self.positions) {
            let field = fields.next().ok_or(WRONG)?;
            let value = match (field.strip_prefix('+'), field.strip_prefix('-')) {
                (Some(up), _) => number(up).and_then(|by| last.checked_add(by)),
                (_, Some(down)) => number(down).and_then(|by| last.checked_sub(by)),
                _ if field == "*" => Some(last),
                _ => number(field),
            };
            *slot = value.ok_or(WRONG)?;
        }
        Ok(out)
    }
}

/// `(ID) NAME` defines, `(ID)` refers, anything else is the name itself.
fn name(ids: &mut HashMap<u64, u32>, names: &mut Names, value: &str) -> Parsed<u32> {
    let value = value.trim_start();
    let numbered = value.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((id, text)) = numbered.and_then(|(id, text)| Some((number(id)?, text))) else {
        return Ok(names.number(cut(value)));
    };
    let text = text.trim_start();
    if text.is_empty() {
        return ids.get(&id).copied().ok_or("this name's number was not defined before");
    }
    if ids.len() >= PLACES_MAX {
        return Err("there are more names than can be held");
    }
    let number = names.number(cut(text));
    ids.insert(id, number);
    Ok(number)
}

/// At most [`NAME_MAX`] bytes of a name.
fn cut(name: &str) -> &str {
    let end = (0..=name.len().min(NAME_MAX)).rev().find(|&at| name.is_char_boundary(at));
    name.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Decimal, or hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) if hex.bytes().all(|c| c.is_ascii_hexdigit()) => {
            u64::from_str_radix(hex, 16).ok()
        }
        None if text.bytes().all(|c| c.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// Reads `bytes` as a dump and gives the instructions that it counts: for fuzzing, where only that
/// it ends, and in bounded memory, is asked.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) -> u64 {
    let dump = Dump::read(bytes);
    let mut twice = dump.code.clone();
    twice.merge(&dump.code);
    assert_eq!(twice.executed.len(), dump.code.executed.len());
    twice.instructions()
}

#[cfg(test)]
#[path = "callgrind_tests.rs"]
mod tests;
