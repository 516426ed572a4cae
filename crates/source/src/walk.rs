//! The walk over a syntax tree that collects its sites.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::{Node, Tree};

use crate::flow::{Call, Flow, evaluated_once, flow, is_entered_from_elsewhere, is_jump};
use crate::kin::Kin;
use crate::layout::{Define, function_bodies};
use crate::lex::tokens;
use crate::macros::{HintCall, MacroTable};
use crate::nodes::{
    collapse, declared_name, entered_once, has_directive, is_shouting, joined, last_call, leaves,
    negated, operator, statement_condition, statements_after, unwrap,
};
use crate::sites::{Barrier, Hint, Logic, Site, SiteKind, Sites};
use crate::text::LineIndex;

/// Names that look like functions but take their argument apart, quote it, or want a constant.
const LIKE_MACROS: [&str; 6] = [
    "assert",
    "static_assert",
    "_Static_assert",
    "__builtin_choose_expr",
    "__builtin_constant_p",
    "__builtin_types_compatible_p",
];

/// Operators of one condition that are followed down; deeper ones belong to their parent's leaf.
const LOGIC_DEPTH_MAX: usize = 100;

/// One file on the way through its trees.
pub(crate) struct Walker<'t> {
    text: &'t [u8],
    table: &'t MacroTable,
    pub(crate) index: LineIndex,
    pub(crate) out: Sites,
    /// Nodes that already have a site.
    seen: HashSet<usize>,
    /// Decisions and the root sites of their conditions.
    decided: HashMap<usize, usize>,
}

/// What surrounds a node on the way down.
#[derive(Clone, Default)]
struct Around {
    function: Option<String>,
    in_macro: Option<String>,
    barrier: Option<Barrier>,
    /// The plain statement that evaluates the node once.
    once: Option<Range<usize>>,
}

/// The two arms of a decision.
#[derive(Clone, Copy, Default)]
struct Arms<'n> {
    when_true: Option<Node<'n>>,
    when_false: Option<Node<'n>>,
    is_loop: bool,
}

impl<'t> Walker<'t> {
    pub(crate) fn new(text: &'t [u8], table: &'t MacroTable) -> Self {
        let index = LineIndex::new(text);
        let (out, seen, decided) = (Sites::default(), HashSet::new(), HashMap::new());
        Self { text, table, index, out, seen, decided }
    }

    /// Walks one tree: the file without its macros, or one macro's body.
    pub(crate) fn walk(&mut self, tree: &Tree, in_macro: Option<&str>) {
        // Node identities are only unique within one tree.
        self.seen.clear();
        self.decided.clear();
        let around = Around {
            in_macro: in_macro.map(str::to_owned),
            // At file scope every value is a constant.
            barrier: in_macro.is_none().then_some(Barrier::Constant),
            ..Around::default()
        };
        let kin = Kin::new(tree.root_node());
        let mut todo = vec![(tree.root_node(), around)];
        while let Some((node, around)) = todo.pop() {
            if is_entered_from_elsewhere(node, &kin) {
                self.out.labels.push(node.start_byte());
            } else if is_jump(node) {
                self.out.jumps.push(node.start_byte());
            }
            self.call(node, &around);
            self.decision(node, &around, &kin);
            let inner = self.inside(node, around);
            let mut cursor = node.walk();
            let children: Vec<_> = node.named_children(&mut cursor).collect();
            let directive = matches!(node.kind(), "preproc_if" | "preproc_elif");
            let condition = node.child_by_field_name("condition").filter(|_| directive);
            for child in children.into_iter().filter(|c| Some(*c) != condition).rev() {
                todo.push((child, self.child_around(node, child, &inner)));
            }
        }
    }

    /// Names the functions of sites whose function's head or body did not parse as one: by the
    /// braces alone.
    pub(crate) fn name_functions(&mut self, defines: &[Define]) {
        if self.out.sites.iter().all(|s| s.function.is_some()) {
            return;
        }
        let bodies = function_bodies(self.text, defines);
        for site in self.out.sites.iter_mut().filter(|s| s.function.is_none()) {
            let at = site.span.bytes.start;
            let around = bodies.iter().find(|(_, body)| body.contains(&at));
            site.function = around.map(|(name, _)| name.clone());
        }
    }

    /// What surrounds the children of `node`.
    fn inside(&self, node: Node, mut around: Around) -> Around {
        match node.kind() {
            "function_definition" => {
                around.function = node
                    .child_by_field_name("declarator")
                    .and_then(declared_name)
                    .map(|name| self.raw(name));
                around.barrier = None;
            }
            // A statement stands in a function, even if the function's head is broken or a macro;
            // and what follows a broken statement is judged by itself.
            "compound_statement" | "if_statement" | "while_statement" | "do_statement"
            | "for_statement" | "switch_statement" | "case_statement"
                if !matches!(around.barrier, Some(Barrier::MacroArgument(_))) =>
            {
                around.barrier = None;
            }
            "expression_statement" | "declaration" | "return_statement" if node.has_error() => {
                around.barrier = Some(Barrier::ParseError);
            }
            "enumerator" | "static_assert_declaration" | "bitfield_clause" => {
                around.barrier = Some(Barrier::Constant);
            }
            "call_expression" => {
                if let Some(name) = self.macro_call(node) {
                    around.barrier = Some(Barrier::MacroArgument(name));
                }
            }
            "declaration" if self.is_static(node) => around.barrier = Some(Barrier::Constant),
            _ => {}
        }
        around
    }

    fn child_around(&self, node: Node, child: Node, inner: &Around) -> Around {
        let field_is = |name| node.child_by_field_name(name).is_some_and(|c| c.id() == child.id());
        let constant = match node.kind() {
            "array_declarator" => field_is("size"),
            "case_statement" => field_is("value"),
            _ => false,
        };
        let mut around = inner.clone();
        around.once = evaluated_once(node, child, around.once)
            .filter(|_| !matches!(around.barrier, Some(Barrier::MacroArgument(_))));
        if constant {
            around.barrier = Some(Barrier::Constant);
        }
        if field_is("condition") && child.has_error() {
            around.barrier = Some(Barrier::ParseError);
        }
        around
    }

    fn call(&mut self, node: Node, around: &Around) {
        let called = node.child_by_field_name("function");
        if let (Some(statement), Some(name), None) = (&around.once, called, &around.in_macro)
            && name.kind() == "identifier"
        {
            let statement = self.index.span(statement.clone());
            self.out.calls.push(Call { callee: self.raw(name), statement });
        }
    }

    fn decision(&mut self, node: Node, around: &Around, kin: &Kin) {
        let field = |name| node.child_by_field_name(name);
        let (kind, arms) = match node.kind() {
            "if_statement" => {
                let otherwise = field("alternative").and_then(|e| e.named_child(0));
                let chained = kin.parent(node).is_some_and(|p| p.kind() == "else_clause");
                (
                    if chained { SiteKind::ElseIf } else { SiteKind::If },
                    Arms { when_true: field("consequence"), when_false: otherwise, is_loop: false },
                )
            }
            "while_statement" => (SiteKind::While, loop_arms(field("body"))),
            "do_statement" => (SiteKind::DoWhile, loop_arms(field("body"))),
            "for_statement" => (SiteKind::For, loop_arms(field("body"))),
            // `a ?: b` yields the condition's own value: a hint would change it.
            "conditional_expression" if field("consequence").is_none() => return,
            "conditional_expression" => (
                SiteKind::Ternary,
                Arms {
                    when_true: field("consequence"),
                    when_false: field("alternative"),
                    is_loop: false,
                },
            ),
            "case_statement" => return self.case(node, around),
            "binary_expression" if operator(node).is_some() => {
                self.free_operands(node, around);
                return;
            }
            _ => return,
        };
        let Some(condition) = field("condition") else { return };
        let around = self.inside(node, around.clone());
        let root = self.out.sites.len();
        match self.opaque(condition) {
            Some(range) => self.opaque_site(range, condition, kind, arms, &around),
            None => {
                let written = match kind {
                    SiteKind::Ternary => condition,
                    _ => statement_condition(condition),
                };
                self.site(written, kind, arms, &around, None, 0);
            }
        }
        if kind != SiteKind::Ternary {
            let falls_through =
                arms.is_loop || arms.when_false.is_some() || !arms.when_true.is_some_and(leaves);
            let after = if falls_through { None } else { statements_after(node, kin) };
            self.out.sites[root].after = after.map(|range| self.index.span(range));
            self.out.sites[root].flow = flow(node, &self.index, &self.decided, kin);
            self.decided.insert(node.id(), root);
        }
    }

    /// The text between the parentheses of a condition that did not parse (`n < 4 KB`), if the
    /// parentheses themselves are beyond doubt.
    fn opaque(&self, condition: Node) -> Option<Range<usize>> {
        if !condition.has_error() || condition.kind() != "parenthesized_expression" {
            return None;
        }
        let range = condition.byte_range();
        let text = self.text.get(range.clone())?;
        let all = tokens(text);
        let mut depth = 0_usize;
        for (i, token) in all.iter().enumerate() {
            match token.text(text) {
                b"(" => depth += 1,
                b")" => depth = depth.checked_sub(1)?,
                b";" | b"{" | b"}" => return None,
                _ => {}
            }
            if depth == 0 && i + 1 < all.len() {
                return None;
            }
        }
        let [open, .., close] = all.as_slice() else { return None };
        let inner = text.get(open.bytes.end..close.bytes.start)?;
        let start = range.start + open.bytes.end + inner.len() - inner.trim_ascii_start().len();
        let length = inner.trim_ascii().len();
        (depth == 0 && length > 0).then(|| start..start + length)
    }

    /// A condition that is taken as one, whatever is in it.
    fn opaque_site(
        &mut self,
        range: Range<usize>,
        node: Node,
        kind: SiteKind,
        arms: Arms,
        around: &Around,
    ) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let mut site = self.blank(node, kind, around);
        site.barrier =
            around.barrier.clone().or_else(|| has_directive(text).then_some(Barrier::Directive));
        site.text = collapse(text);
        site.bare = range.clone();
        site.span = self.index.span(range);
        self.set_arms(&mut site, arms);
        self.out.sites.push(site);
    }

    /// `&&` and `||` outside a decision's condition: each operand is a branch all the same.
    fn free_operands(&mut self, node: Node, around: &Around) {
        if self.seen.contains(&node.id()) {
            return;
        }
        let mut todo = vec![node];
        while let Some(next) = todo.pop() {
            let bare = unwrap(next);
            if operator(bare).is_none() {
                self.site(next, SiteKind::Operand, Arms::default(), around, None, 0);
                continue;
            }
            self.seen.insert(bare.id());
            todo.extend(bare.child_by_field_name("right"));
            todo.extend(bare.child_by_field_name("left"));
        }
    }

    fn case(&mut self, node: Node, around: &Around) {
        let Some(value) = node.child_by_field_name("value") else { return };
        let mut site = self.blank(value, SiteKind::Case, around);
        site.span = self.index.span(node.start_byte()..value.end_byte());
        site.text = collapse(self.text.get(site.span.bytes.clone()).unwrap_or_default());
        site.barrier = Some(Barrier::CaseLabel);
        self.out.sites.push(site);
    }

    /// Adds the site of a condition and of its operands; returns its index.
    fn site(
        &mut self,
        written: Node,
        kind: SiteKind,
        arms: Arms,
        around: &Around,
        parent: Option<usize>,
        depth: usize,
    ) -> usize {
        let node = unwrap(written);
        self.seen.insert(node.id());
        let mut site = self.blank(node, kind, around);
        site.span = self.index.span(written.byte_range());
        site.name_end = last_call(written).map(|name| self.index.pos(name.end_byte()));
        site.parent = parent;
        self.set_arms(&mut site, arms);
        site.barrier = around.barrier.clone().or_else(|| self.own_barrier(node));
        let hint = self.hint(node);
        site.hint =
            hint.as_ref().map(|(hint, _)| hint.clone()).or_else(|| attribute_hint(arms, self));
        if hint.is_none() && node.kind() == "call_expression" {
            site.calls_macro =
                self.macro_call(node).filter(|name| self.table.is_one_condition(name));
        } else if node.kind() == "identifier" {
            site.calls_macro = Some(self.raw(node))
                .filter(|name| self.table.is_defined(name) && self.table.is_one_condition(name));
        }
        let me = self.out.sites.len();
        self.out.sites.push(site);
        if depth < LOGIC_DEPTH_MAX {
            let logic = self.logic(node, hint.map(|(_, inner)| inner), around, me, depth + 1);
            self.out.sites[me].logic = logic;
        }
        me
    }

    fn logic(
        &mut self,
        node: Node,
        hinted: Option<Node>,
        around: &Around,
        me: usize,
        depth: usize,
    ) -> Logic {
        let operand = |walker: &mut Self, n: Node| {
            walker.site(n, SiteKind::Operand, Arms::default(), around, Some(me), depth)
        };
        if let Some(inner) = hinted.map(unwrap) {
            // Only an inside that is itself joined needs sites of its own.
            return match joined(inner) {
                true => Logic::Same(operand(self, inner)),
                false => Logic::Leaf,
            };
        }
        if operator(node).is_some() {
            let (Some(left), Some(right)) =
                (node.child_by_field_name("left"), node.child_by_field_name("right"))
            else {
                return Logic::Leaf;
            };
            let is_and = operator(node) == Some("&&");
            let left = operand(self, left);
            let right = operand(self, right);
            return if is_and { Logic::And(left, right) } else { Logic::Or(left, right) };
        }
        match negated(node) {
            Some(inner) if joined(inner) => Logic::Not(operand(self, inner)),
            _ => Logic::Leaf,
        }
    }

    fn blank(&self, node: Node, kind: SiteKind, around: &Around) -> Site {
        Site {
            kind,
            span: self.index.span(node.byte_range()),
            name_end: None,
            bare: node.byte_range(),
            text: collapse(self.text.get(node.byte_range()).unwrap_or_default()),
            function: around.function.clone(),
            in_macro: around.in_macro.clone(),
            logic: Logic::Leaf,
            parent: None,
            when_true: None,
            when_false: None,
            after: None,
            true_line: None,
            false_line: None,
            is_loop: false,
            flow: Flow::default(),
            hint: None,
            calls_macro: None,
            barrier: None,
        }
    }

    fn set_arms(&self, site: &mut Site, arms: Arms) {
        let span = |n: Node| self.index.span(n.byte_range());
        site.when_true = arms.when_true.map(span);
        site.when_false = arms.when_false.map(span);
        // A line that starts with a macro's call belongs to the macro, in some collectors' counts.
        let line = |arm| {
            let first = entered_once(arm).filter(|n| !self.starts_with_macro(*n))?;
            Some(self.index.pos(first.start_byte()).line)
        };
        site.true_line = arms.when_true.and_then(line);
        site.false_line = arms.when_false.and_then(line);
        site.is_loop = arms.is_loop;
    }

    fn starts_with_macro(&self, mut node: Node) -> bool {
        while let Some(first) = node.child(0) {
            node = first;
        }
        let name = self.raw(node);
        node.kind() == "identifier" && (self.table.is_defined(&name) || is_shouting(&name))
    }

    fn own_barrier(&self, node: Node) -> Option<Barrier> {
        let text = self.text.get(node.byte_range()).unwrap_or_default();
        if has_directive(text) {
            return Some(Barrier::Directive);
        }
        if node.has_error() {
            return Some(Barrier::ParseError);
        }
        if matches!(node.kind(), "number_literal" | "true" | "false" | "char_literal") {
            return Some(Barrier::Trivial);
        }
        (node.kind() == "identifier" && self.table.is_literal(&self.raw(node)))
            .then_some(Barrier::Trivial)
    }

    /// The hint that `node` is, through `!`, and the condition inside it.
    fn hint<'n>(&self, node: Node<'n>) -> Option<(Hint, Node<'n>)> {
        let mut call = node;
        let mut flipped = false;
        while let Some(inner) = negated(call) {
            call = inner;
            flipped = !flipped;
        }
        let function = call.child_by_field_name("function").filter(|f| f.kind() == "identifier")?;
        let name = self.raw(function);
        if !self.table.may_be_hint(&name) {
            return None;
        }
        let arguments = call.child_by_field_name("arguments")?;
        let mut cursor = arguments.walk();
        let nodes: Vec<_> =
            arguments.named_children(&mut cursor).filter(|n| n.kind() != "comment").collect();
        let texts: Vec<Vec<String>> = nodes.iter().map(|n| vec![self.raw(*n)]).collect();
        let HintCall { argument, expect } = self.table.hint_call(&name, &texts)?;
        let inner = if call == node { *nodes.get(argument)? } else { call };
        Some((Hint { spelling: name, expect: expect != flipped }, inner))
    }

    /// The name of the macro that `node` calls, if it is one and not a hint.
    fn macro_call(&self, node: Node) -> Option<String> {
        let function = node.child_by_field_name("function")?;
        if function.kind() != "identifier" || self.hint(node).is_some() {
            return None;
        }
        let name = self.raw(function);
        (self.table.is_function_like(&name)
            || is_shouting(&name)
            || LIKE_MACROS.contains(&name.as_str()))
        .then_some(name)
    }

    fn is_static(&self, declaration: Node) -> bool {
        let mut cursor = declaration.walk();
        declaration
            .children(&mut cursor)
            .any(|c| c.kind() == "storage_class_specifier" && self.raw(c) == "static")
    }

    fn raw(&self, node: Node) -> String {
        String::from_utf8_lossy(self.text.get(node.byte_range()).unwrap_or_default()).into_owned()
    }
}

/// A C23 or C++20 attribute on an arm: `if (x) [[unlikely]] …`.
fn attribute_hint(arms: Arms, walker: &Walker) -> Option<Hint> {
    let of = |arm: Option<Node>| {
        let arm = arm.filter(|n| n.kind() == "attributed_statement")?;
        let text = walker.raw(arm);
        let head = &text[..text.find("]]")? + 2];
        let name = head.trim_start_matches("[[").trim_end_matches("]]").trim();
        let name = name.rsplit("::").next().unwrap_or(name);
        matches!(name, "likely" | "unlikely").then(|| name == "likely")
    };
    let hint = |expect, likely| Hint {
        spelling: if likely { "[[likely]]" } else { "[[unlikely]]" }.to_owned(),
        expect,
    };
    of(arms.when_true)
        .map(|likely| hint(likely, likely))
        .or_else(|| of(arms.when_false).map(|likely| hint(!likely, likely)))
}

fn loop_arms(body: Option<Node>) -> Arms {
    Arms { when_true: body, when_false: None, is_loop: true }
}
