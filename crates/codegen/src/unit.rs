//! The questions this crate answers: which translation unit, which edit, which condition.
//!
//! These records speak of files relative to the project's tree, so that the same question can be
//! put to any private copy of it.

use serde::{Deserialize, Serialize};

/// Stands for the root of the tree in [`Unit::argv`]; each compile puts its own copy's root there.
pub const TREE_PLACEHOLDER: &str = "{tree}";

/// One translation unit and the command that compiled it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// The source file, relative to the tree.
    pub source: String,
    /// The folder the compiler ran in, relative to the tree; empty is the root.
    pub dir: String,
    /// The compiler and its arguments as captured, the tree's root replaced by
    /// [`TREE_PLACEHOLDER`].
    pub argv: Vec<String>,
}

/// The whole new content of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file, relative to the tree.
    pub file: String,
    /// Its new content.
    pub text: Vec<u8>,
}

/// A place in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pos {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// A half-open piece of a source file: the first byte, and the one after the last.
pub type Span = (Pos, Pos);

/// The condition whose branch is looked for, in the file as it stands before the edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteQuery {
    /// The file of the condition, relative to the tree.
    pub file: String,
    /// First byte of the condition.
    pub start: Pos,
    /// The byte after its last.
    pub end: Pos,
    /// What runs when the condition is true, if it has text of its own.
    pub when_true: Option<Span>,
    /// What runs when it is false, if it has text of its own (an `else`, or for a `return`,
    /// `continue` or `goto` in the other arm the statements that follow).
    pub when_false: Option<Span>,
    /// Executions with the condition true, in this unit.
    pub taken_true: u64,
    /// Executions with the condition false, in this unit.
    pub taken_false: u64,
}

impl Pos {
    /// The place `line`:`column`, both from 1.
    #[must_use]
    pub const fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }

    /// Whether this place lies in `span`.
    pub(crate) fn within(self, span: Span) -> bool {
        span.0 <= self && self < span.1
    }
}
