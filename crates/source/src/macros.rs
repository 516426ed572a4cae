//! The macros that a project defines, and which of them are branch hints.
//!
//! Projects spell a hint in many ways, often through several layers (`l_likely` → `luai_likely` →
//! `__builtin_expect`). A macro is a hint when some definition of it, expanded as far as the
//! project's own definitions go, is `__builtin_expect` of one argument, taken as a truth value,
//! with a constant 0 or 1. Definitions under other `#if` branches that reduce to the bare argument
//! are the usual fallback and do not change that.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::lex::{Token, TokenKind, tokens};

/// Layers of macros that are followed before giving up.
const DEPTH_MAX: usize = 8;
/// Tokens that one expansion may grow to.
const TOKENS_MAX: usize = 4096;

/// Names that mean a hint everywhere, for a project whose headers are not part of its tree.
const WELL_KNOWN: [(&str, bool); 12] = [
    ("likely", true),
    ("unlikely", false),
    ("__glibc_likely", true),
    ("__glibc_unlikely", false),
    ("__predict_true", true),
    ("__predict_false", false),
    ("G_LIKELY", true),
    ("G_UNLIKELY", false),
    ("Q_LIKELY", true),
    ("Q_UNLIKELY", false),
    ("_likely_", true),
    ("_unlikely_", false),
];

/// Every `#define` and `#include` of a project.
#[derive(Debug, Clone, Default)]
pub struct MacroTable {
    definitions: HashMap<String, Vec<Definition>>,
    includes: HashMap<String, Vec<String>>,
    uses: HashMap<String, usize>,
    /// File → names that are called in it.
    used_in: HashMap<String, HashSet<String>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) file: String,
    pub(crate) offset: usize,
    /// `None` for an object-like macro.
    params: Option<Vec<String>>,
    body: Vec<String>,
}

/// A call that is a hint: which argument is the condition, and what it promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HintCall {
    pub(crate) argument: usize,
    pub(crate) expect: bool,
}

impl MacroTable {
    /// Adds the definitions, inclusions and uses of one file, `path` relative to the project.
    pub fn add(&mut self, path: &str, text: &[u8]) {
        let all = tokens(text);
        let mut at = 0;
        while let Some(token) = all.get(at) {
            if token.kind == TokenKind::Hash {
                let end = directive_end(&all, at);
                self.directive(path, text, &all[at..end]);
                // The body counts as uses of other macros too, so only the `#` is stepped over.
            } else if token.kind == TokenKind::Word
                && all.get(at + 1).is_some_and(|next| next.text(text) == b"(")
            {
                let name = word(token, text);
                *self.uses.entry(name.clone()).or_default() += 1;
                self.used_in.entry(path.to_owned()).or_default().insert(name);
            }
            at += 1;
        }
    }

    fn directive(&mut self, path: &str, text: &[u8], line: &[Token]) {
        let Some(keyword) = line.get(1) else { return };
        match keyword.text(text) {
            b"define" => self.define(path, text, &line[2..]),
            b"include" => {
                let from = keyword.bytes.end;
                let end = line.last().map_or(from, |t| t.bytes.end);
                let rest = String::from_utf8_lossy(text.get(from..end).unwrap_or_default());
                let name = rest.trim().trim_start_matches(['"', '<']);
                let name = name.split(['"', '>']).next().unwrap_or_default().to_owned();
                self.includes.entry(path.to_owned()).or_default().push(name);
            }
            _ => {}
        }
    }

    fn define(&mut self, path: &str, text: &[u8], line: &[Token]) {
        let Some(name) = line.first().filter(|t| t.kind == TokenKind::Word) else { return };
        let mut body = 1;
        // A parameter list opens right after the name, without white space.
        let params = line
            .get(1)
            .filter(|t| t.text(text) == b"(" && t.bytes.start == name.bytes.end)
            .map(|_| {
                let close = line.iter().position(|t| t.text(text) == b")").unwrap_or(line.len());
                let list = line.get(2..close).unwrap_or_default();
                body = (close + 1).min(line.len());
                list.iter().filter(|t| t.text(text) != b",").map(|t| word(t, text)).collect()
            });
        let body = line[body..]
            .iter()
            .filter(|t| t.kind != TokenKind::DirectiveEnd)
            .map(|t| word(t, text))
            .collect();
        self.definitions.entry(word(name, text)).or_default().push(Definition {
            file: path.to_owned(),
            offset: name.bytes.start,
            params,
            body,
        });
    }

    /// Whether the project defines `name` as a macro of any kind.
    pub fn is_defined(&self, name: &str) -> bool {
        self.definitions.contains_key(name)
    }

    /// Whether a call of `name` could be a macro: the project defines it so.
    pub fn is_function_like(&self, name: &str) -> bool {
        self.definitions.get(name).is_some_and(|all| all.iter().any(|d| d.params.is_some()))
    }

    /// Every name that is a hint of one argument and promises `expect`.
    pub(crate) fn hint_names(&self, expect: bool) -> BTreeMap<&str, &[Definition]> {
        self.definitions
            .iter()
            .filter(|(name, all)| {
                all.iter().any(|d| d.params.as_ref().is_some_and(|p| p.len() == 1))
                    && self.hint_call(name, &[vec!["x".to_owned()]])
                        == Some(HintCall { argument: 0, expect })
            })
            .map(|(name, all)| (name.as_str(), all.as_slice()))
            .collect()
    }

    pub(crate) fn uses(&self, name: &str) -> usize {
        self.uses.get(name).copied().unwrap_or(0)
    }

    /// Whether `file` calls `name`.
    pub(crate) fn is_used_in(&self, file: &str, name: &str) -> bool {
        self.used_in.get(file).is_some_and(|names| names.contains(name))
    }

    pub(crate) fn includes(&self, file: &str) -> &[String] {
        self.includes.get(file).map_or(&[], Vec::as_slice)
    }

    /// Every file that was added and includes something.
    pub(crate) fn including_files(&self) -> impl Iterator<Item = &str> {
        self.includes.keys().map(String::as_str)
    }

    /// Whether every definition of `name` is a literal (`True`).
    pub fn is_literal(&self, name: &str) -> bool {
        self.definitions.get(name).is_some_and(|all| {
            all.iter().all(|d| {
                let body = strip_parens(&d.body);
                let is_number = |t: &str| t.starts_with(|c: char| c.is_ascii_digit());
                match body {
                    [cast @ .., value] if is_number(value) => {
                        cast.is_empty() || (cast.len() == 3 && cast[0] == "(" && cast[2] == ")")
                    }
                    _ => false,
                }
            })
        })
    }

    /// Whether a call of `name` is one branch at most: nothing that it expands to, as far as the
    /// project defines it, joins or chooses.
    pub fn is_one_condition(&self, name: &str) -> bool {
        let mut todo = vec![name];
        let mut seen = HashSet::new();
        while let Some(next) = todo.pop() {
            for definition in self.definitions.get(next).into_iter().flatten() {
                if definition.body.iter().any(|t| matches!(t.as_str(), "&&" | "||" | "?" | "if")) {
                    return false;
                }
                let words = definition.body.iter().map(String::as_str);
                todo.extend(words.filter(|w| seen.insert(*w)));
            }
        }
        true
    }

    /// Whether calls of `name` can be hints at all; cheap, for scanning.
    pub(crate) fn may_be_hint(&self, name: &str) -> bool {
        name.starts_with("__builtin_expect")
            || self.definitions.contains_key(name)
            || WELL_KNOWN.iter().any(|(known, _)| *known == name)
    }

    /// What the call `name(arguments…)` promises, if it is a hint.
    pub(crate) fn hint_call(&self, name: &str, arguments: &[Vec<String>]) -> Option<HintCall> {
        let marks: Vec<Vec<String>> = (0..arguments.len()).map(|i| vec![mark(i)]).collect();
        if name.starts_with("__builtin_expect") {
            return builtin(&marks, arguments);
        }
        if !self.definitions.contains_key(name) {
            let known = WELL_KNOWN.iter().find(|(known, _)| *known == name)?;
            return (arguments.len() == 1).then_some(HintCall { argument: 0, expect: known.1 });
        }
        self.expand(name, &marks, arguments, 0)
    }

    fn expand(
        &self,
        name: &str,
        arguments: &[Vec<String>],
        actual: &[Vec<String>],
        depth: usize,
    ) -> Option<HintCall> {
        if name.starts_with("__builtin_expect") {
            return builtin(arguments, actual);
        }
        if depth == DEPTH_MAX {
            return None;
        }
        self.definitions.get(name)?.iter().find_map(|definition| {
            let body = substitute(definition, arguments)?;
            let (callee, inner) = call(strip_parens(&body))?;
            self.expand(callee, &inner, actual, depth + 1)
        })
    }
}

/// The body with each parameter replaced; an object-like macro stands for a callee's name.
fn substitute(definition: &Definition, arguments: &[Vec<String>]) -> Option<Vec<String>> {
    let mut body = Vec::new();
    let params = match &definition.params {
        Some(params) if params.len() == arguments.len() => params.as_slice(),
        Some(_) => return None,
        None => &[],
    };
    for token in &definition.body {
        match params.iter().position(|p| p == token) {
            Some(i) => body.extend_from_slice(arguments.get(i)?),
            None => body.push(token.clone()),
        }
        if body.len() > TOKENS_MAX {
            return None;
        }
    }
    if definition.params.is_none() {
        body.push("(".to_owned());
        for (i, argument) in arguments.iter().enumerate() {
            if i > 0 {
                body.push(",".to_owned());
            }
            body.extend_from_slice(argument);
        }
        body.push(")".to_owned());
    }
    Some(body)
}

/// `__builtin_expect(A, B)`: A must be one whole argument as a truth value, B a constant 0 or 1.
fn builtin(arguments: &[Vec<String>], actual: &[Vec<String>]) -> Option<HintCall> {
    let argument = unmark(truth_value(arguments.first()?)?)?;
    let value = strip_parens(arguments.get(1)?);
    let value = match value {
        [one] => match unmark(one) {
            Some(i) => strip_parens(actual.get(i)?),
            None => value,
        },
        _ => value,
    };
    let [value] = value else { return None };
    let expect = match value.trim_end_matches(['l', 'L', 'u', 'U']) {
        "0" | "false" => false,
        "1" | "true" => true,
        _ => return None,
    };
    Some(HintCall { argument, expect })
}

/// Removes what turns a value into a truth value: parentheses, `!!`, `!= 0`, a cast.
fn truth_value(mut tokens: &[String]) -> Option<&String> {
    loop {
        tokens = strip_parens(tokens);
        tokens = match tokens {
            [one] => return Some(one),
            [first, second, rest @ ..] if first == "!" && second == "!" => rest,
            [rest @ .., op, zero] if op == "!=" && zero == "0" => rest,
            [open, ty, close, rest @ ..]
                if open == "("
                    && close == ")"
                    && matches!(ty.as_str(), "long" | "int" | "bool" | "_Bool") =>
            {
                rest
            }
            _ => return None,
        };
    }
}

fn strip_parens(mut tokens: &[String]) -> &[String] {
    while let [open, inner @ .., close] = tokens {
        if open != "(" || close != ")" || matching(tokens, 0) != Some(tokens.len() - 1) {
            break;
        }
        tokens = inner;
    }
    tokens
}

/// Splits `name ( a , b )` that spans all of `tokens`.
fn call(tokens: &[String]) -> Option<(&str, Vec<Vec<String>>)> {
    let [name, open, .., _] = tokens else { return None };
    if open != "(" || matching(tokens, 1) != Some(tokens.len() - 1) {
        return None;
    }
    Some((name, split_arguments(&tokens[2..tokens.len() - 1])))
}

fn split_arguments(tokens: &[String]) -> Vec<Vec<String>> {
    let mut depth = 0_i32;
    let mut out = vec![Vec::new()];
    for token in tokens {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 0 => {
                out.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = out.last_mut() {
            last.push(token.clone());
        }
    }
    out
}

fn matching(tokens: &[String], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" => depth += 1,
            ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

fn directive_end(all: &[Token], hash: usize) -> usize {
    all[hash..]
        .iter()
        .position(|t| t.kind == TokenKind::DirectiveEnd)
        .map_or(all.len(), |i| hash + i)
}

fn word(token: &Token, text: &[u8]) -> String {
    String::from_utf8_lossy(token.text(text)).into_owned()
}

fn mark(i: usize) -> String {
    format!("\u{1}{i}")
}

fn unmark(token: &str) -> Option<usize> {
    token.strip_prefix('\u{1}')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(source: &str, name: &str, arguments: &[&str]) -> Option<(usize, bool)> {
        let mut table = MacroTable::default();
        table.add("a.h", source.as_bytes());
        let arguments: Vec<_> = arguments.iter().map(|a| vec![(*a).to_owned()]).collect();
        table.hint_call(name, &arguments).map(|h| (h.argument, h.expect))
    }

    #[test]
    fn every_usual_definition_is_recognised() {
        for body in [
            "__builtin_expect(!!(x), 0)",
            "(__builtin_expect((x), 0))",
            "__builtin_expect((x) != 0, 0)",
            "(__builtin_expect(((x) != 0), 0))",
            "__builtin_expect((long)(x), 0L)",
            "__builtin_expect(!!(x), false)",
            "__builtin_expect_with_probability(!!(x), 0, 0.99)",
        ] {
            let source = format!("#define rare(x) {body}\n");
            assert_eq!(promise(&source, "rare", &["p"]), Some((0, false)), "{body}");
        }
    }

    #[test]
    fn layers_and_fallbacks_are_followed() {
        let source = "
#if defined(__GNUC__)
#define base_likely(x)  (__builtin_expect(((x) != 0), 1))
#else
#define base_likely(x)  (x)
#endif
#define l_likely(y) base_likely(y)
#define alias l_likely
";
        assert_eq!(promise(source, "l_likely", &["p"]), Some((0, true)));
        assert_eq!(promise(source, "alias", &["p"]), Some((0, true)));
    }

    #[test]
    fn the_promise_may_come_from_the_call() {
        let source = "#define expect(e, v) (__builtin_expect ((e),(v)))\n";
        assert_eq!(promise(source, "expect", &["p", "0"]), Some((0, false)));
        assert_eq!(promise(source, "expect", &["p", "1"]), Some((0, true)));
        assert_eq!(promise(source, "expect", &["p", "n"]), None);
    }

    #[test]
    fn a_macro_of_several_branches_is_told_from_one() {
        let mut table = MacroTable::default();
        table.add("a.h", b"#define ONE(x) ((x) > 1)\n#define TWO(x) (ONE(x) && !ONE(-(x)))\n");
        table.add("b.h", b"#define DEEP(x) TWO((x) + 1)\n#define LOOP(x) LOOP(x)\n");
        let all = ["ONE", "TWO", "DEEP", "LOOP", "unknown"];
        assert_eq!(all.map(|name| table.is_one_condition(name)), [true, false, false, true, true]);
    }

    #[test]
    fn what_changes_the_value_is_no_hint() {
        assert_eq!(promise("#define f(x) __builtin_expect(!(x), 0)\n", "f", &["p"]), None);
        assert_eq!(promise("#define f(x) (g(x) + 1)\n", "f", &["p"]), None);
        assert_eq!(promise("#define f(x) f(x)\n", "f", &["p"]), None, "recursion ends");
        assert_eq!(promise("#define likely(x) (x)\n", "likely", &["p"]), None, "the project says");
        assert_eq!(promise("", "likely", &["p"]), Some((0, true)), "well known");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text: Vec<u8>) {
            let mut table = MacroTable::default();
            table.add("a.h", &text);
            let _ = table.hint_names(true);
        }
    }
}
