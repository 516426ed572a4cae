//! Decisions, conditions and branch hints in C text; how a project spells a hint; edits and diffs.
//!
//! Text in, text and positions out: no file is opened here and no command is run. The syntax tree
//! comes from tree-sitter, which survives macros and broken code; whatever lies in a broken part is
//! left alone rather than guessed at.

mod dialect;
mod edit;
mod flow;
mod kin;
mod layout;
mod lex;

mod macros;
mod nodes;
mod probe;
mod sites;
mod text;
mod walk;

pub use dialect::{Dialect, HintForm};
pub use edit::{EditError, HintEdit, apply, same_without_hints, unified_diff};
pub use flow::{Before, Call, Flow};
pub use lex::{Token, TokenKind, tokens};
pub use macros::MacroTable;
pub use probe::{Probe, Probed, has_line_directive, probe};
pub use sites::{Barrier, Hint, Logic, Site, SiteKind, Sites, sites};
pub use text::{LineIndex, Pos, Span};
