//! Reads what the processes of one run under callgrind left in its folder.
//!
//! Each process has a log, and a dump or several. The shell that starts the command has them too:
//! it is known by its command line and left out. Where the shell replaces itself by the program,
//! the program's dump is the only one, under the program's command line, and nothing is left out.
//!
//! callgrind knows no object for code outside of `.text`, such as the PLT, and gives it by the
//! address in memory. The log says where each file was mapped, so its place is found again.

use super::callgrind::{Arc, Code, Dump, Place};
use super::objects::Objects;
use super::record::CountedProcess;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of a valgrind log that are read.
const LOG_MAX: u64 = 16 << 20;

/// Problems of all files that are kept.
const PROBLEMS_MAX: usize = 32;

/// What the processes of one run left.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) code: Code,
    pub(crate) processes: Vec<CountedProcess>,
    pub(crate) shell_instructions: u64,
    pub(crate) lost_processes: u32,
    pub(crate) repeated_processes: u32,
    pub(crate) problems: Vec<String>,
}

/// What a log says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    command: String,
    /// The parent's process id; 0 if the log does not say.
    parent: u64,
    /// Files by path, with the difference between addresses in memory and in the file.
    mapped: Vec<(String, u64)>,
}

impl Log {
    fn read(input: impl Read) -> io::Result<Self> {
        let mut log = Self::default();
        let mut file = None;
        for line in BufReader::new(input.take(LOG_MAX)).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            // Each line opens with the process id between dashes or equals signs.
            let Some((_, text)) = line.split_once(' ') else { continue };
            if let Some(command) = text.strip_prefix("Command: ") {
                command.clone_into(&mut log.command);
            } else if let Some(pid) = text.strip_prefix("Parent PID: ") {
                log.parent = pid.trim().parse().unwrap_or(0);
            } else if let Some(path) = text.strip_prefix("Reading syms from ") {
                file = Some(path.to_owned());
            } else if let Some(bias) = text.trim_start().strip_prefix("svma ").and_then(bias) {
                log.mapped.extend(file.take().map(|path| (path, bias)));
            }
        }
        Ok(log)
    }
}

/// From `0x0000001050, avma 0x0000109050` the second number less the first.
fn bias(text: &str) -> Option<u64> {
    let (svma, avma) = text.split_once(", avma ")?;
    let number = |text: &str| u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
    Some(number(avma)?.wrapping_sub(number(svma)?))
}

/// One process's files.
#[derive(Debug, Default)]
struct Process {
    outs: Vec<PathBuf>,
    log: Option<Log>,
}

/// Reads all files of `folder`, which the shell command `command` left there.
pub(crate) fn gather(folder: &Path, command: &str, objects: &mut Objects) -> io::Result<Gathered> {
    let processes = processes(folder)?;
    let shell = format!("/bin/sh -c {}", command.replace('\n', "\\n"));
    let mut gathered = Gathered::default();
    let mut from_start: BTreeSet<u64> = BTreeSet::new();
    for (&pid, process) in &processes {
        let mapped = mapped(pid, &processes);
        let mut counted: Option<CountedProcess> = None;
        let mut is_shell = false;
        for out in &process.outs {
            let mut dump = Dump::read(BufReader::new(File::open(out)?));
            if !dump.complete {
                continue;
            }
            let ran = dump.code.instructions();
            gathered.note(&dump);
            if dump.command.trim() == shell.trim() {
                is_shell = true;
                gathered.shell_instructions = gathered.shell_instructions.saturating_add(ran);
                continue;
            }
            if dump.from_start {
                from_start.insert(pid);
            }
            find_unknown(&mut dump.code, &mapped, objects);
            gathered.code.merge(&dump.code);
            let command = dump.command;
            let process = counted.get_or_insert(CountedProcess { command, instructions: 0 });
            process.instructions = process.instructions.saturating_add(ran);
        }
        gathered.lost_processes += u32::from(counted.is_none() && !is_shell);
        gathered.processes.extend(counted);
    }
    let repeats = from_start.iter().filter(|&&pid| forked_from(pid, &processes).is_some());
    gathered.repeated_processes = u32::try_from(repeats.count()).unwrap_or(u32::MAX);
    Ok(gathered)
}

/// The files by process id.
fn processes(folder: &Path) -> io::Result<BTreeMap<u64, Process>> {
    let mut processes: BTreeMap<u64, Process> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut parts = name.split('.');
        let (kind, pid) = (parts.next(), parts.next().and_then(|pid| pid.parse().ok()));
        match (kind, pid) {
            (Some("out"), Some(pid)) => processes.entry(pid).or_default().outs.push(path),
            (Some("log"), Some(pid)) => {
                processes.entry(pid).or_default().log = Some(Log::read(File::open(&path)?)?);
            }
            _ => {}
        }
    }
    processes.values_mut().for_each(|process| process.outs.sort());
    Ok(processes)
}

/// The parent, if `pid` goes on as what it was: the same command, begun by a fork.
fn forked_from(pid: u64, processes: &BTreeMap<u64, Process>) -> Option<u64> {
    let log = |pid| processes.get(pid).and_then(|process| process.log.as_ref());
    let own = log(&pid)?;
    let parent = log(&own.parent)?;
    (own.parent != pid && own.command == parent.command).then_some(own.parent)
}

/// Where files were mapped in a process: its own list, then those of the processes that it is a
/// fork of.
fn mapped(pid: u64, processes: &BTreeMap<u64, Process>) -> Vec<(&str, u64)> {
    let ancestors = std::iter::successors(Some(pid), |&pid| forked_from(pid, processes));
    // A bound, should ids go in a circle.
    let logs = ancestors.take(64).filter_map(|pid| processes.get(&pid)?.log.as_ref());
    logs.flat_map(|log| log.mapped.iter().map(|(path, bias)| (path.as_str(), *bias))).collect()
}

/// Gives the code that has no object the one that was mapped at its address, if any.
fn find_unknown(code: &mut Code, mapped: &[(&str, u64)], objects: &mut Objects) {
    let mut found = |address: u64| {
        let mut in_file = mapped.iter().map(|&(path, bias)| (path, address.wrapping_sub(bias)));
        in_file.find(|&(path, address)| objects.holds(path, address))
    };
    let unknown: Vec<Place> =
        code.executed.keys().copied().filter(|place| place.object == 0).collect();
    for from in unknown {
        let Some((path, address)) = found(from.address) else { continue };
        let to = Place { object: code.objects.number(path), address, ..from };
        if let Some(ran) = code.executed.remove(&from) {
            code.ran(to, ran.file, ran.line, ran.count);
        }
    }
    let unknown: Vec<Arc> = code.arcs.keys().copied().filter(|arc| arc.from.object == 0).collect();
    for arc in unknown {
        let Some((path, address)) = found(arc.from.address) else { continue };
        let by = arc.from.address.wrapping_sub(address);
        let from = Place { object: code.objects.number(path), address, ..arc.from };
        if let Some(passed) = code.arcs.remove(&arc) {
            code.passed(Arc { from, target: arc.target.wrapping_sub(by), ..arc }, passed);
        }
    }
}

impl Gathered {
    fn note(&mut self, dump: &Dump) {
        let room = PROBLEMS_MAX.saturating_sub(self.problems.len());
        let of = |what: &String| format!("{}: {what}", dump.command);
        self.problems.extend(dump.problems.iter().take(room).map(of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_says_who_the_parent_is_and_where_files_lie() {
        let text = "==8== Command: ./x y\n==8== Parent PID: 7\n--8-- Reading syms from /a/x\n\
            --8--    svma 0x0000001050, avma 0x0000109050\n--8-- Reading syms from /none\n\
            --8--    object doesn't have a symbol table\nfree text\n\n";
        let log = Log::read(text.as_bytes()).unwrap();
        let mapped = vec![("/a/x".to_owned(), 0x108000)];
        assert_eq!(log, Log { command: "./x y".into(), parent: 7, mapped });
    }

    /// A folder as valgrind leaves it: file name and text.
    fn left(files: &[(&str, &str)], command: &str) -> Gathered {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        gather(folder.path(), command, &mut Objects::default()).unwrap()
    }

    fn dump(command: &str, start: u64) -> String {
        format!(
            "cmd: {command}\ndesc: Timerange: Basic block {start} - 9\n\
             positions: instr line\nevents: Ir\n\nfn=(1) f\n0x10 3 5\n\ntotals: 5\n"
        )
    }

    #[test]
    fn the_shell_is_left_out_and_its_subshells() {
        let shell = dump("/bin/sh -c ./x\\n./y", 0);
        let gathered = left(
            &[
                ("out.1", &shell),
                ("out.2", &dump("./x", 0)),
                ("out.3", &shell),
                ("log.1", ""),
                ("log.2", ""),
            ],
            "./x\n./y",
        );
        assert_eq!((gathered.processes.len(), gathered.shell_instructions), (1, 10));
        assert_eq!(gathered.code.instructions(), 5);
    }

    #[test]
    fn a_process_without_a_dump_is_lost_and_several_dumps_are_one_process() {
        let gathered = left(
            &[
                ("log.7", ""),
                ("log.6", ""),
                ("out.6", "cmd: ./x\npositions: instr line\nevents: Ir\nfn=f\n0x10 3 5\n"),
                ("out.8.1", &dump("./x", 0)),
                ("out.8", &dump("./x", 4)),
                ("log.8", ""),
            ],
            "./x &",
        );
        // Process 6 was killed while it wrote.
        assert_eq!((gathered.lost_processes, gathered.processes.len()), (2, 1));
        assert_eq!(gathered.processes[0].instructions, 10);
        assert_eq!(gathered.repeated_processes, 0);
    }

    #[test]
    fn a_child_that_repeats_its_parents_past_is_seen() {
        let repeated = |start| {
            let files = [
                ("out.7", &*dump("./x", 0)),
                ("log.7", "==7== Command: ./x\n==7== Parent PID: 1\n"),
                ("out.8", &*dump("./x", start)),
                ("log.8", "==8== Command: ./x\n==8== Parent PID: 7\n"),
            ];
            left(&files, "./x; :").repeated_processes
        };
        assert_eq!((repeated(0), repeated(3)), (1, 0));
    }

    #[test]
    fn code_without_an_object_is_found_where_the_parent_had_mapped_it() {
        let tool = std::env::current_exe().unwrap();
        let tool = tool.to_str().unwrap();
        let mut objects = Objects::default();
        let entry = 0x1000_u64..0x100_0000;
        let address = entry.step_by(0x1000).find(|&at| objects.holds(tool, at)).unwrap();
        let bias = 0x7000_0000;
        let logs = [
            format!(
                "==7== Command: ./x\n--7-- Reading syms from {tool}\n--7--    svma 0x10, avma \
                 {:#x}\n",
                bias + 0x10
            ),
            "==8== Command: ./x\n==8== Parent PID: 7\n".to_owned(),
        ];
        let text = format!(
            "cmd: ./x\npositions: instr line\nevents: Ir\nob=(1) ???\nfn=(1) f\n{:#x} 0 5\n\
             jcnd=2/5 {:#x} 0\n* 0\n0x10 0 1\n\ntotals: 6\n",
            bias + address,
            bias + address + 9,
        );
        let files = [("log.7", &*logs[0]), ("log.8", &*logs[1]), ("out.8", &*text)];
        let code = left(&files, "y").code;
        let known = code.executed.iter().find(|(place, _)| code.objects.name(place.object) == tool);
        assert_eq!(known.map(|(place, ran)| (place.address, ran.count)), Some((address, 5)));
        let arc = code.arcs.keys().next().unwrap();
        assert_eq!((arc.from.address, arc.target), (address, address + 9));
        assert_eq!(code.instructions(), 6);
    }
}
