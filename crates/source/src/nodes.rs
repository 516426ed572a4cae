//! Questions to single nodes of the syntax tree.

use std::ops::Range;

use tree_sitter::Node;

use crate::kin::Kin;

/// Strips parentheses around an expression.
pub(crate) fn unwrap(mut node: Node) -> Node {
    while node.kind() == "parenthesized_expression" {
        let mut cursor = node.walk();
        let inner = node.named_children(&mut cursor).find(|n| n.kind() != "comment");
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// A statement's condition without the statement's own parentheses.
pub(crate) fn statement_condition(node: Node) -> Node {
    if node.kind() != "parenthesized_expression" {
        return node;
    }
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|n| n.kind() != "comment").unwrap_or(node)
}

/// The name of the call that `node` ends with.
pub(crate) fn last_call(node: Node) -> Option<Node> {
    let mut at = node;
    while at.kind() != "call_expression" {
        let mut cursor = at.walk();
        let last = at.named_children(&mut cursor).last()?;
        at = Some(last).filter(|n| n.end_byte() == node.end_byte())?;
    }
    at.child_by_field_name("function").filter(|f| f.kind() == "identifier")
}

/// Whether an arm ends by jumping away.
pub(crate) fn leaves(arm: Node) -> bool {
    let mut cursor = arm.walk();
    let last = match arm.kind() {
        "compound_statement" => {
            arm.named_children(&mut cursor).filter(|n| n.kind() != "comment").last()
        }
        _ => Some(arm),
    };
    let jumps = ["return_statement", "goto_statement", "break_statement", "continue_statement"];
    last.is_some_and(|n| jumps.contains(&n.kind()))
}

/// From the statement after `node` to the end of its block.
pub(crate) fn statements_after(node: Node, kin: &Kin) -> Option<Range<usize>> {
    let first = kin.next(node)?;
    let last = kin.last(node)?;
    (last.end_byte() > first.start_byte()).then(|| first.start_byte()..last.end_byte())
}

/// The first statement of an arm, if it is one that runs once each time the arm is entered: no
/// loop, whose line runs more often, and no label, which can be reached from elsewhere.
pub(crate) fn entered_once(arm: Node) -> Option<Node> {
    let first = match arm.kind() {
        "compound_statement" => {
            let mut cursor = arm.walk();
            arm.named_children(&mut cursor).find(|n| n.kind() != "comment")?
        }
        _ => arm,
    };
    let plain = [
        "expression_statement",
        "return_statement",
        "goto_statement",
        "break_statement",
        "continue_statement",
    ];
    plain.contains(&first.kind()).then_some(first)
}

/// `&&` or `||`, if `node` is such an expression.
pub(crate) fn operator(node: Node) -> Option<&'static str> {
    if node.kind() != "binary_expression" {
        return None;
    }
    match node.child_by_field_name("operator")?.kind() {
        "&&" => Some("&&"),
        "||" => Some("||"),
        _ => None,
    }
}

/// The operand of `!`, without its parentheses.
pub(crate) fn negated(node: Node) -> Option<Node> {
    (node.kind() == "unary_expression" && node.child_by_field_name("operator")?.kind() == "!")
        .then(|| node.child_by_field_name("argument").map(unwrap))
        .flatten()
}

/// Whether operands stand below `node`, through `!`.
pub(crate) fn joined(mut node: Node) -> bool {
    while let Some(inner) = negated(node) {
        node = inner;
    }
    operator(node).is_some()
}

/// The name in a declarator, through pointers, parameters and parentheses.
pub(crate) fn declared_name(mut node: Node) -> Option<Node> {
    loop {
        if matches!(node.kind(), "identifier" | "field_identifier" | "type_identifier") {
            return Some(node);
        }
        node = match node.child_by_field_name("declarator") {
            Some(inner) => inner,
            None => {
                let mut cursor = node.walk();
                node.named_children(&mut cursor).find(|n| n.kind().ends_with("declarator"))?
            }
        };
    }
}

/// A name in capitals is a macro by every C project's custom.
pub(crate) fn is_shouting(name: &str) -> bool {
    name.len() > 1
        && name.bytes().any(|b| b.is_ascii_uppercase())
        && !name.bytes().any(|b| b.is_ascii_lowercase())
}

pub(crate) fn has_directive(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').skip(1).any(|line| line.trim_ascii_start().starts_with(b"#"))
}

pub(crate) fn collapse(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).replace("\\\n", " ").replace("\\\r\n", " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
