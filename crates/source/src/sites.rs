//! Every place in a C file where control can go two ways, and what is known of it from the text.
//!
//! A *decision* (`if`, loop, `?:`) has one condition, its root site. A condition joined from
//! operands by `&&` and `||` has a site for each operand as well, since each is a branch of its
//! own. [`Logic`] says how a site's outcome follows from its operands', so that counts of operands
//! give the counts of the whole.
//!
//! Macro bodies are read too: the replacement text of a `#define` with parameters is parsed by
//! itself but in place, so its conditions have the positions that compilers report for them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::{Node, Parser, Tree};

use crate::flow::{Call, Flow, evaluated_once, flow, is_entered_from_elsewhere, is_jump};
use crate::lex::{TokenKind, tokens};
use crate::macros::{HintCall, MacroTable};
use crate::text::{LineIndex, Span};

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

/// What kind of decision a site belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// `if (…)`.
    If,
    /// `else if (…)`.
    ElseIf,
    /// `while (…)`.
    While,
    /// `do … while (…)`.
    DoWhile,
    /// The condition of `for`.
    For,
    /// The condition of `?:`.
    Ternary,
    /// An operand of `&&` or `||`.
    Operand,
    /// A `case` label.
    Case,
}

impl SiteKind {
    /// The name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::ElseIf => "else-if",
            Self::While => "while",
            Self::DoWhile => "do-while",
            Self::For => "for",
            Self::Ternary => "ternary",
            Self::Operand => "operand",
            Self::Case => "case",
        }
    }
}

/// How a site's outcome follows from other sites' (indices into [`Sites::sites`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logic {
    /// It is evaluated as one.
    Leaf,
    /// The opposite of another's.
    Not(usize),
    /// The same as another's (inside a hint).
    Same(usize),
    /// `a && b`.
    And(usize, usize),
    /// `a || b`.
    Or(usize, usize),
}

/// Why a hint cannot be written at a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Barrier {
    /// The text around it did not parse.
    ParseError,
    /// A preprocessor directive lies inside the condition.
    Directive,
    /// It stands in the argument of a macro, which may repeat or quote it.
    MacroArgument(String),
    /// It is a `case` label.
    CaseLabel,
    /// The value must be a constant there (file scope, array bound, `case` expression).
    Constant,
    /// It is a constant (`while (1)`).
    Trivial,
}

/// A hint that already stands at a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The name: `unlikely`, `__builtin_expect`, `[[unlikely]]`.
    pub spelling: String,
    /// The outcome that it promises for the whole condition.
    pub expect: bool,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The decision that it belongs to.
    pub kind: SiteKind,
    /// The condition, without the parentheses of the statement but with its own, as compilers
    /// report it.
    pub span: Span,
    /// The condition without any parentheses around it: what a hint goes around.
    pub bare: Range<usize>,
    /// Its text, bare, white space collapsed.
    pub text: String,
    /// The function around it.
    pub function: Option<String>,
    /// The macro whose body holds it.
    pub in_macro: Option<String>,
    /// How its outcome follows from its operands'.
    pub logic: Logic,
    /// The site that this one is an operand or the inside of.
    pub parent: Option<usize>,
    /// The code that runs when it is true, if it has text of its own.
    pub when_true: Option<Span>,
    /// The code that runs when it is false, if it has text of its own.
    pub when_false: Option<Span>,
    /// Where no text of its own runs when it is false: the statements after it in its block, if the
    /// true arm does not fall through to them.
    pub after: Option<Span>,
    /// The line (from 1) of the first statement of the true arm, if it is a plain one, which runs
    /// just once each time the arm is entered.
    pub true_line: Option<u32>,
    /// The same of the false arm.
    pub false_line: Option<u32>,
    /// The code may leave both arms only forwards (not a loop's condition).
    pub is_loop: bool,
    /// What stands around it, if it is the condition of a whole statement.
    pub flow: Flow,
    /// A hint that stands here already.
    pub hint: Option<Hint>,
    /// The macro that the condition is a call of, if the project defines such a macro and it is one
    /// branch at most.
    pub calls_macro: Option<String>,
    /// Why no hint can be written here.
    pub barrier: Option<Barrier>,
}

/// All sites of one file.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    /// In the order of the text, except that operands follow their root.
    pub sites: Vec<Site>,
    /// Byte ranges that did not parse; conditions in them may be missing.
    pub unparsed: Vec<Range<usize>>,
    /// Byte offsets of statements that are entered from elsewhere too, ascending.
    pub labels: Vec<usize>,
    /// Byte offsets of `return`, `goto`, `break` and `continue`, ascending.
    pub jumps: Vec<usize>,
    /// Calls of the functions that have sites, where each run of a plain statement makes just one.
    pub calls: Vec<Call>,
}

/// Finds the sites of `text`, recognising hint macros by `table`.
pub fn sites(text: &[u8], table: &MacroTable) -> Sites {
    let index = LineIndex::new(text);
    let mut walker = Walker {
        text,
        table,
        index,
        out: Sites::default(),
        seen: HashSet::new(),
        decided: HashMap::new(),
    };
    let defines = defines(text);
    let outside = complement(&defines.iter().map(|d| d.line.clone()).collect::<Vec<_>>(), text);
    if let Some(tree) = parse(text, &walker.index, &outside) {
        walker.walk(&tree, None);
    }
    walker.name_functions(&defines);
    for define in defines {
        if let Some(tree) = parse(text, &walker.index, &[define.body]) {
            walker.walk(&tree, Some(&define.name));
        }
    }
    let named: HashSet<&str> =
        walker.out.sites.iter().filter_map(|s| s.function.as_deref()).collect();
    walker.out.calls.retain(|call| named.contains(call.callee.as_str()));
    walker.out.labels.sort_unstable();
    walker.out.jumps.sort_unstable();
    walker.out
}

/// A `#define` with parameters: its whole line, and its replacement text.
struct Define {
    name: String,
    line: Range<usize>,
    body: Range<usize>,
}

/// Found by the lexer, since the grammar ends a macro's body at a comment and takes the rest for
/// code.
fn defines(text: &[u8]) -> Vec<Define> {
    let all = tokens(text);
    let mut out = Vec::new();
    for (i, hash) in all.iter().enumerate().filter(|(_, t)| t.kind == TokenKind::Hash) {
        let end = all[i..].iter().position(|t| t.kind == TokenKind::DirectiveEnd);
        let line = &all[i..end.map_or(all.len(), |n| i + n)];
        let [_, keyword, name, rest @ ..] = line else { continue };
        if keyword.text(text) != b"define" {
            continue;
        }
        let end = line.last().map_or(hash.bytes.end, |t| t.bytes.end);
        let called =
            rest.first().is_some_and(|t| t.text(text) == b"(" && t.bytes.start == name.bytes.end);
        let close = rest.iter().find(|t| called && t.text(text) == b")");
        out.push(Define {
            name: String::from_utf8_lossy(name.text(text)).into_owned(),
            line: hash.bytes.start..end,
            // A macro without parameters is a value; conditions in it are its users'.
            body: close.map_or(end, |t| t.bytes.end)..end,
        });
    }
    out
}

/// The outermost `name (…) {…}` of a file, macros left out. A closing brace in the first column
/// ends a function whatever the count says, so that an `#if` with two openings costs one function.
fn function_bodies(text: &[u8], defines: &[Define]) -> Vec<(String, Range<usize>)> {
    let in_macro = |at: usize| {
        let i = defines.partition_point(|d| d.line.end <= at);
        defines.get(i).is_some_and(|d| d.line.contains(&at))
    };
    let all: Vec<_> = tokens(text).into_iter().filter(|t| !in_macro(t.bytes.start)).collect();
    let mut out = Vec::new();
    let (mut parens, mut braces) = (0_usize, 0_usize);
    // The word before the last parenthesis that opened outside of everything.
    let mut called: Option<usize> = None;
    let mut open: Option<(String, usize)> = None;
    for (i, token) in all.iter().enumerate() {
        match token.text(text) {
            b"(" => {
                if parens == 0 && braces == 0 {
                    called = i.checked_sub(1).filter(|w| all[*w].kind == TokenKind::Word);
                }
                parens += 1;
            }
            b")" => parens = parens.saturating_sub(1),
            b";" if braces == 0 => called = None,
            b"{" => {
                if braces == 0
                    && let Some(word) = called
                {
                    let name = String::from_utf8_lossy(all[word].text(text)).into_owned();
                    open = Some((name, token.bytes.start));
                }
                braces += 1;
            }
            b"}" => {
                let first_column =
                    token.bytes.start.checked_sub(1).is_none_or(|b| text[b] == b'\n');
                braces = if first_column { 0 } else { braces.saturating_sub(1) };
                if braces == 0 {
                    parens = 0;
                    called = None;
                    out.extend(open.take().map(|(name, start)| (name, start..token.bytes.end)));
                }
            }
            _ => {}
        }
    }
    out
}

/// What lies between the ranges.
fn complement(ranges: &[Range<usize>], text: &[u8]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    for range in ranges {
        out.push(at..range.start);
        at = range.end;
    }
    out.push(at..text.len());
    out
}

fn parse(text: &[u8], index: &LineIndex, parts: &[Range<usize>]) -> Option<Tree> {
    let point = |offset: usize| {
        let at = index.pos(offset);
        tree_sitter::Point { row: at.line as usize - 1, column: at.column as usize - 1 }
    };
    let ranges: Vec<_> = parts
        .iter()
        .filter(|r| !r.is_empty())
        .map(|r| tree_sitter::Range {
            start_byte: r.start,
            end_byte: r.end,
            start_point: point(r.start),
            end_point: point(r.end),
        })
        .collect();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).ok()?;
    if ranges.is_empty() {
        return None;
    }
    parser.set_included_ranges(&ranges).ok()?;
    parser.parse(text, None)
}

struct Walker<'t> {
    text: &'t [u8],
    table: &'t MacroTable,
    index: LineIndex,
    out: Sites,
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

impl Walker<'_> {
    /// Walks one tree: the file without its macros, or one macro's body.
    fn walk(&mut self, tree: &Tree, in_macro: Option<&str>) {
        // Node identities are only unique within one tree.
        self.seen.clear();
        self.decided.clear();
        let around = Around {
            in_macro: in_macro.map(str::to_owned),
            // At file scope every value is a constant.
            barrier: in_macro.is_none().then_some(Barrier::Constant),
            ..Around::default()
        };
        let mut todo = vec![(tree.root_node(), around)];
        while let Some((node, around)) = todo.pop() {
            // A macro's body need not be a whole statement.
            if node.is_error() && in_macro.is_none() {
                self.out.unparsed.push(node.byte_range());
            }
            if is_entered_from_elsewhere(node) {
                self.out.labels.push(node.start_byte());
            } else if is_jump(node) {
                self.out.jumps.push(node.start_byte());
            }
            self.call(node, &around);
            self.decision(node, &around);
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
    fn name_functions(&mut self, defines: &[Define]) {
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

    fn decision(&mut self, node: Node, around: &Around) {
        let field = |name| node.child_by_field_name(name);
        let (kind, arms) = match node.kind() {
            "if_statement" => {
                let otherwise = field("alternative").and_then(|e| e.named_child(0));
                let chained = node.parent().is_some_and(|p| p.kind() == "else_clause");
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
            None => _ = self.site(statement_condition(condition), kind, arms, &around, None, 0),
        }
        if kind != SiteKind::Ternary {
            self.out.sites[root].flow = flow(node, &self.index, &self.decided);
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
        site.after = arms
            .when_true
            .filter(|arm| arms.when_false.is_none() && !arms.is_loop && leaves(*arm))
            .and_then(|arm| statements_after(arm.parent()?))
            .map(|range| self.index.span(range));
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

/// Strips parentheses around an expression.
fn unwrap(mut node: Node) -> Node {
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
fn statement_condition(node: Node) -> Node {
    if node.kind() != "parenthesized_expression"
        || node.parent().is_none_or(|p| p.kind() == "conditional_expression")
    {
        return node;
    }
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|n| n.kind() != "comment").unwrap_or(node)
}

/// Whether an arm ends by jumping away.
fn leaves(arm: Node) -> bool {
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
fn statements_after(node: Node) -> Option<Range<usize>> {
    let block = node.parent()?;
    let first = node.next_named_sibling()?;
    let mut cursor = block.walk();
    let last = block.named_children(&mut cursor).last()?;
    (last.end_byte() > first.start_byte()).then(|| first.start_byte()..last.end_byte())
}

/// The first statement of an arm, if it is one that runs once each time the arm is entered: no
/// loop, whose line runs more often, and no label, which can be reached from elsewhere.
fn entered_once(arm: Node) -> Option<Node> {
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
fn operator(node: Node) -> Option<&'static str> {
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
fn negated(node: Node) -> Option<Node> {
    (node.kind() == "unary_expression" && node.child_by_field_name("operator")?.kind() == "!")
        .then(|| node.child_by_field_name("argument").map(unwrap))
        .flatten()
}

/// Whether operands stand below `node`, through `!`.
fn joined(mut node: Node) -> bool {
    while let Some(inner) = negated(node) {
        node = inner;
    }
    operator(node).is_some()
}

/// The name in a declarator, through pointers, parameters and parentheses.
fn declared_name(mut node: Node) -> Option<Node> {
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
fn is_shouting(name: &str) -> bool {
    name.len() > 1
        && name.bytes().any(|b| b.is_ascii_uppercase())
        && !name.bytes().any(|b| b.is_ascii_lowercase())
}

fn has_directive(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').skip(1).any(|line| line.trim_ascii_start().starts_with(b"#"))
}

fn collapse(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).replace("\\\n", " ").replace("\\\r\n", " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Sites {
    /// The outermost site of the condition that `site` belongs to.
    pub fn root(&self, mut site: usize) -> usize {
        while let Some(parent) = self.sites.get(site).and_then(|s| s.parent) {
            site = parent;
        }
        site
    }

    /// Ordinals of sites with the same function and text, in file order: what keeps an identity
    /// stable when lines move.
    pub fn ordinals(&self) -> Vec<u32> {
        let mut seen: HashMap<(Option<&str>, &str, SiteKind), u32> = HashMap::new();
        self.sites
            .iter()
            .map(|site| {
                let key = (site.function.as_deref(), site.text.as_str(), site.kind);
                let next = seen.entry(key).or_default();
                *next += 1;
                *next - 1
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "sites_tests.rs"]
mod tests;
