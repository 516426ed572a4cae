//! What a hint did to one object file.

use serde::{Deserialize, Serialize};

/// The machine code of one translation unit before and after one hint.
///
/// Holding one with `identical == false` proves that both versions compiled with the same command
/// and that their executable sections differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeDelta {
    /// The translation unit, relative to the project.
    pub unit: String,
    /// First line of `cc --version`.
    pub compiler: String,
    /// Instruction set of the object: `x86-64` or `aarch64`.
    pub arch: String,
    /// No executable section differs: the hint is a no-op.
    pub identical: bool,
    /// The sections differ, but only in the padding that aligns instructions: the same
    /// instructions in the same order, which run as before but may lie better or worse.
    #[serde(default)]
    pub padding_only: bool,
    /// More than padding differs, but only within blocks: the same blocks in the same order, joined
    /// by the same jumps, of the same instructions, on other registers or in another order. No block
    /// has moved and no jump is saved.
    #[serde(default)]
    pub within_blocks: bool,
    /// Bytes in hot executable sections (`.text`, `.text.hot…`, per-function sections).
    pub hot_bytes: SizePair,
    /// Bytes in cold executable sections (`.text.unlikely…`, `.cold` parts).
    pub cold_bytes: SizePair,
    /// The functions whose code differs.
    ///
    /// Empty although `identical` is false when only the order or the placement of unchanged
    /// functions differs.
    pub functions: Vec<FunctionDelta>,
    /// What a reader must know to judge the figures, one sentence each: options that were taken
    /// out or overruled for the comparison, and figures that could not be told and why.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A size before and after, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizePair {
    /// Before, in bytes.
    pub before: u64,
    /// After, in bytes.
    pub after: u64,
}

/// One function whose machine code differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionDelta {
    /// Symbol name without `.cold`, `.part.N` and `.isra.N` suffixes being stripped.
    pub name: String,
    /// Bytes, its cold part included.
    pub bytes: SizePair,
    /// Basic blocks run only when the condition goes its rarer way that left the function's main
    /// body for its end or the cold section; `None` where the condition's machine branch or the
    /// direction of its two sides could not be told.
    pub blocks_moved: Option<u32>,
    /// Jumps taken on the way through the condition, weighted by the profile: the sum over both
    /// outcomes of how often it came out so, times the jumps of one pass. A pass leads from the
    /// condition's branch, itself included, to the next time it is reached, or out of the function
    /// if it is in no loop. What other branches on the way do is not known: the way with the
    /// fewest jumps is taken, in both versions. So a loop that was only turned round, its jump
    /// moved from the condition to the back edge, shows no gain.
    ///
    /// `None` where the branch could not be found through the line table, the direction of its
    /// sides not told, or the function's jumps not followed.
    pub hot_taken: Option<TakenPair>,
    /// Disassembly around the site, before.
    pub asm_before: Vec<String>,
    /// Disassembly around the site, after.
    pub asm_after: Vec<String>,
}

/// Taken branches per profile, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TakenPair {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}
