//! The outcome of counting, in the form that `bench --count --format json` prints.

use crate::machine::Machine;
use serde::{Deserialize, Serialize};

/// Schema name of [`CountReport`].
pub const COUNT_SCHEMA: &str = "unlikely/count/1";

/// How often instructions of each kind were executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "ShownCounts")]
pub struct Counts {
    /// All instructions.
    pub instructions: u64,
    /// Conditional jumps.
    pub conditional: u64,
    /// Conditional jumps that went to their target, not to the next instruction.
    pub followed: u64,
    /// Unconditional jumps, indirect ones included; no calls, no returns.
    pub unconditional: u64,
    /// Calls.
    pub calls: u64,
    /// Returns.
    pub returns: u64,
}

/// [`Counts`] with what follows from them.
#[derive(Serialize)]
struct ShownCounts {
    instructions: u64,
    conditional: u64,
    followed: u64,
    fall_through_rate: Option<f64>,
    unconditional: u64,
    taken: u64,
    calls: u64,
    returns: u64,
}

impl From<Counts> for ShownCounts {
    fn from(counts: Counts) -> Self {
        let Counts { instructions, conditional, followed, unconditional, calls, returns } = counts;
        Self {
            instructions,
            conditional,
            followed,
            fall_through_rate: counts.fall_through_rate(),
            unconditional,
            taken: counts.taken(),
            calls,
            returns,
        }
    }
}

impl Counts {
    /// Jumps taken: followed conditional and unconditional ones. Calls and returns are apart.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.followed.saturating_add(self.unconditional)
    }

    /// Share of the conditional jumps that went on to the next instruction, 0 to 1; `None` where
    /// there was none.
    #[must_use]
    pub fn fall_through_rate(&self) -> Option<f64> {
        // Exact up to 2^53, and far beyond the digits of interest above it.
        (self.conditional > 0).then(|| 1.0 - self.followed as f64 / self.conditional as f64)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.instructions, other.instructions),
            (&mut self.conditional, other.conditional),
            (&mut self.followed, other.followed),
            (&mut self.unconditional, other.unconditional),
            (&mut self.calls, other.calls),
            (&mut self.returns, other.returns),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}

/// One function of one object, with all parts and copies that the compiler made of it, and with
/// what was inlined into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCounts {
    /// Symbol without the compiler's suffixes, mangled as in the object. Functions without one are
    /// counted together as `(no symbol)`, and static functions of one name as one.
    pub name: String,
    /// Path of the program or library.
    pub object: String,
    /// Its counts in the first run.
    pub counts: Counts,
    /// Distinct 64-byte lines of code that its executed instructions begin in.
    pub code_lines: u64,
    /// Fewest and most jumps taken in any run; both as in `counts` where there was one run.
    pub taken_range: [u64; 2],
}

/// One line of source text, in whatever functions its code ended up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    /// Relative to the arm's directory where it lies below it; else as the debug information
    /// names it.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// Its counts in the first run.
    pub counts: Counts,
}

/// A process that was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedProcess {
    /// Its command line, as valgrind gives it.
    pub command: String,
    /// Instructions that it executed, libraries included.
    pub instructions: u64,
}

/// Everything counted of one arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmCounts {
    /// All code of all processes in the first run.
    pub total: Counts,
    /// Of that, the objects that only this arm runs: neither its C library nor any other file
    /// that both arms have in common. All of `total` where they have everything in common.
    pub own: Counts,
    /// Distinct 64-byte lines of code that `own`'s executed instructions begin in.
    pub code_lines: u64,
    /// Runs.
    pub runs: u32,
    /// Fewest and most of `own`'s taken jumps in any run.
    pub own_taken_range: [u64; 2],
    /// Fewest and most of `total`'s instructions in any run.
    pub instructions_range: [u64; 2],
    /// Functions in the order of object and name.
    pub functions: Vec<FunctionCounts>,
    /// Source lines in the order of file and number. Empty without debug information.
    pub lines: Vec<LineCounts>,
    /// The processes of the first run, in the order of their ids.
    pub processes: Vec<CountedProcess>,
    /// Instructions of the shell that runs the command, and of its subshells: left out.
    pub shell_instructions: u64,
    /// Instructions of libraries that valgrind adds to each process: left out.
    pub added_instructions: u64,
    /// Of `total.instructions`, those whose machine code could not be read. Of their conditional
    /// jumps only those are counted that were followed at least once.
    pub undecoded_instructions: u64,
    /// Processes that left no counts, as they were killed.
    pub lost_processes: u32,
    /// Forked processes whose counts repeat what their parent had done before the fork.
    pub repeated_processes: u32,
    /// What was wrong with callgrind's files.
    pub problems: Vec<String>,
}

impl ArmCounts {
    /// A function by its name, suffixes aside; of several objects that have one, the first.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&FunctionCounts> {
        let name = super::names::function_of(name);
        self.functions.iter().find(|function| function.name == name)
    }

    /// The counts of one source line; `file` as in [`LineCounts::file`].
    #[must_use]
    pub fn line(&self, file: &str, line: u32) -> Option<&Counts> {
        let at = self
            .lines
            .binary_search_by(|row| (row.file.as_str(), row.line).cmp(&(file, line)))
            .ok()?;
        self.lines.get(at).map(|row| &row.counts)
    }
}

/// What one arm has of a function or line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Object of a function, file of a line.
    pub place: String,
    /// Its counts in the first run.
    pub counts: Counts,
    /// Of a function: distinct 64-byte lines of code.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code_lines: Option<u64>,
    /// Of a function: fewest and most jumps taken in any run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub taken_range: Option<[u64; 2]>,
}

/// A function that the arms execute differently. At least one side is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionChange {
    /// As in [`FunctionCounts::name`].
    pub name: String,
    /// What A has; `None` if A runs no such function, as it may be inlined or have another name.
    pub a: Option<Side>,
    /// What B has.
    pub b: Option<Side>,
}

/// A source line that the arms execute differently. At least one side is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineChange {
    /// Number in A's text; `None` if A executes no such line.
    pub line_a: Option<u32>,
    /// Number in B's text.
    pub line_b: Option<u32>,
    /// What A has.
    pub a: Option<Side>,
    /// What B has.
    pub b: Option<Side>,
}

/// What the counts show of the jumps taken in the arms' own code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountVerdict {
    /// B takes fewer jumps in every run.
    Fewer,
    /// B takes more jumps in every run.
    More,
    /// Both take the same number in every run.
    Same,
    /// Runs of one arm differ from each other, and the arms overlap.
    Unclear,
}

/// Where the counts come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountProvenance {
    /// Command of A.
    pub command_a: String,
    /// Command of B.
    pub command_b: String,
    /// Directory of A.
    pub dir_a: String,
    /// Directory of B.
    pub dir_b: String,
    /// Start, seconds since the epoch.
    pub started_unix_s: u64,
    /// What valgrind says of its version.
    pub valgrind: String,
    /// The machine. Its speed does not matter to counts.
    pub machine: Machine,
    /// Version of this tool.
    pub tool: String,
}

/// Two commands, counted instruction by instruction and compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountReport {
    /// [`COUNT_SCHEMA`].
    pub schema: String,
    /// Whether B takes fewer jumps than A.
    pub verdict: CountVerdict,
    /// Why, in one sentence.
    pub reason: String,
    /// Functions with the largest difference, by jumps taken and then by instructions.
    pub changed_functions: Vec<FunctionChange>,
    /// Source lines with the largest difference, in the same order.
    pub changed_lines: Vec<LineChange>,
    /// What these counts are not, and what is missing in them.
    pub warnings: Vec<String>,
    /// Baseline.
    pub a: ArmCounts,
    /// Candidate.
    pub b: ArmCounts,
    /// Commands, versions and machine.
    pub provenance: CountProvenance,
}
