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
    /// Bytes in hot executable sections (`.text`, `.text.hot…`, per-function sections).
    pub hot_bytes: SizePair,
    /// Bytes in cold executable sections (`.text.unlikely…`, `.cold` parts).
    pub cold_bytes: SizePair,
    /// The functions whose code differs.
    pub functions: Vec<FunctionDelta>,
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
    /// Basic blocks that left the function's main body for the end or the cold section.
    pub blocks_moved: u32,
    /// Taken branches on the hot path, weighted by the profile, where the condition's machine
    /// branch could be found through the line table; otherwise `None`.
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
