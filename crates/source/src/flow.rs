//! Where control comes from and goes to around a decision: what its executions can be checked
//! against.
//!
//! Counts that a compiler's optimiser has handled can be those of a part only: where it already
//! knew the outcome, nothing is counted. Text does not change that way, so a decision ran as often
//! as the statement before it, or as the arm that it is the first statement of.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

use crate::kin::Kin;

use crate::text::{LineIndex, Span};

/// Statements that are looked back over.
const BEFORE_MAX: usize = 6;

/// Something that runs just as often as a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// The function around it: it starts with this decision.
    Function,
    /// An arm of another decision: it starts with this one.
    Arm {
        /// The other one's root in [`crate::Sites::sites`].
        site: usize,
        /// The outcome that leads into the arm.
        outcome: bool,
    },
    /// The statement before it, as long as that does not jump away.
    Statement {
        /// All of it.
        whole: Span,
        /// What runs just once each time control comes to it: of an `if`, the condition.
        head: Span,
    },
}

/// The neighbours of a decision that is a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// The whole statement.
    pub statement: Option<Span>,
    /// What leads to it and to nothing else, the nearest first.
    pub before: Vec<Before>,
    /// The head of the statement after it in its block, if control comes to that from nowhere else
    /// and runs it just once.
    pub next: Option<Span>,
    /// The true arm has code on the line on which the false arm starts.
    pub arms_meet: bool,
}

/// A call of a function of the same file, made once each time its statement runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The function that is called.
    pub callee: String,
    /// The statement.
    pub statement: Span,
}

/// The plain statement that evaluates `child` of `node` just once, given the one that does so with
/// `node` itself.
pub(crate) fn evaluated_once(
    node: Node,
    child: Node,
    around: Option<Range<usize>>,
) -> Option<Range<usize>> {
    let is = |field| node.child_by_field_name(field).is_some_and(|c| c.id() == child.id());
    match node.kind() {
        "expression_statement" | "declaration" | "return_statement" => Some(node.byte_range()),
        "conditional_expression" => around.filter(|_| is("condition")),
        "binary_expression" => {
            let operator = node.child_by_field_name("operator").map(|o| o.kind());
            around.filter(|_| !(matches!(operator, Some("&&" | "||")) && is("right")))
        }
        "compound_statement" | "sizeof_expression" => None,
        _ => around,
    }
}

/// The neighbours of the decision `statement`; `decided` has the root sites of the decisions around
/// it, by node.
pub(crate) fn flow(
    statement: Node,
    index: &LineIndex,
    decided: &HashMap<usize, usize>,
    kin: &Kin,
) -> Flow {
    Flow {
        statement: Some(index.span(statement.byte_range())),
        before: before(statement, index, decided, kin),
        next: next(statement, kin).map(|n| index.span(head(n))),
        arms_meet: arms_meet(statement),
    }
}

fn before(
    statement: Node,
    index: &LineIndex,
    decided: &HashMap<usize, usize>,
    kin: &Kin,
) -> Vec<Before> {
    let mut out = Vec::new();
    let mut at = statement;
    while out.len() < BEFORE_MAX {
        // Beside an arm without braces stands the condition.
        let parent = kin.parent(statement);
        let is_arm = parent.is_some_and(|p| p.child_by_field_name("condition").is_some());
        match kin.previous(at).filter(|_| !is_arm) {
            Some(before) if is_passed_through(before) => {
                let whole = index.span(before.byte_range());
                out.push(Before::Statement { whole, head: index.span(head(before)) });
                at = before;
            }
            Some(_) => return out,
            None => {
                out.extend(entry(at, decided, kin));
                return out;
            }
        }
    }
    out
}

/// Of a decision what comes before its arms, else all of it.
fn head(statement: Node) -> Range<usize> {
    let end =
        statement.child_by_field_name("condition").map_or(statement.end_byte(), |c| c.end_byte());
    statement.start_byte()..end
}

/// A statement whose head runs once, and which, unless something in it jumps, goes on to the next.
fn is_passed_through(statement: Node) -> bool {
    matches!(statement.kind(), "expression_statement" | "declaration" | "if_statement")
}

/// What a first statement of a block, or a statement that is an arm itself, is entered through.
fn entry(first: Node, decided: &HashMap<usize, usize>, kin: &Kin) -> Option<Before> {
    let parent = kin.parent(first)?;
    let (arm, owner) = match parent.kind() {
        "compound_statement" => (parent, kin.parent(parent)?),
        _ => (first, parent),
    };
    let arm_of = |decision: Node, outcome| {
        Some(Before::Arm { site: *decided.get(&decision.id())?, outcome })
    };
    match owner.kind() {
        "function_definition" => Some(Before::Function),
        "else_clause" => arm_of(kin.parent(owner)?, false),
        "if_statement" if owner.child_by_field_name("consequence") == Some(arm) => {
            arm_of(owner, true)
        }
        "while_statement" | "for_statement" if owner.child_by_field_name("body") == Some(arm) => {
            arm_of(owner, true)
        }
        _ => None,
    }
}

fn next<'n>(statement: Node, kin: &Kin<'n>) -> Option<Node<'n>> {
    let once = [
        "expression_statement",
        "if_statement",
        "switch_statement",
        "return_statement",
        "goto_statement",
        "break_statement",
        "continue_statement",
    ];
    kin.next(statement).filter(|n| once.contains(&n.kind()))
}

fn arms_meet(statement: Node) -> bool {
    let field = |name| statement.child_by_field_name(name);
    let (Some(arm), Some(other)) = (field("consequence"), field("alternative")) else {
        return false;
    };
    let mut last = arm;
    if arm.kind() == "compound_statement" {
        let mut cursor = arm.walk();
        let Some(inner) = arm.named_children(&mut cursor).last() else { return false };
        last = inner;
    }
    last.end_position().row >= other.start_position().row
}

/// Whether control can come to `node` other than from the statement before it: a label, or a case
/// that stands deeper than its `switch`.
pub(crate) fn is_entered_from_elsewhere(node: Node, kin: &Kin) -> bool {
    match node.kind() {
        "labeled_statement" => true,
        "case_statement" => {
            let block = kin.parent(node).filter(|p| p.kind() == "compound_statement");
            block.and_then(|b| kin.parent(b)).is_none_or(|s| s.kind() != "switch_statement")
        }
        _ => false,
    }
}

/// Whether `node` leaves the flow from one statement to the next.
pub(crate) fn is_jump(node: Node) -> bool {
    matches!(
        node.kind(),
        "return_statement" | "goto_statement" | "break_statement" | "continue_statement"
    )
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
