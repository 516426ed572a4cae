//! Two versions of one object, held against each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocks::Graph;
use crate::code::{Code, Op, PartCode, cold_section};
use crate::delta::{FunctionDelta, SizePair, TakenPair};
use crate::excerpt::excerpt;
use crate::lines::Lines;
use crate::site::{Branch, RareBlocks, Sites, Wanted};

/// Whether no executable section differs, in name, order, bytes or in what it refers to.
pub(crate) fn identical(before: &Code<'_>, after: &Code<'_>) -> bool {
    before.image.arch == after.image.arch && before.bodies == after.bodies
}

/// Whether both versions are the same instructions in the same order, padding left out. Code
/// outside functions is not looked into, so objects without function symbols never are.
pub(crate) fn padding_only(before: &Code<'_>, after: &Code<'_>) -> bool {
    fn parts<'c>(code: &'c Code<'_>) -> impl Iterator<Item = (&'c str, &'c [u8])> {
        code.parts.iter().map(|p| (p.label.as_str(), p.unpadded.as_slice()))
    }
    !before.parts.is_empty() && parts(before).eq(parts(after))
}

/// Whether both versions are the same blocks in the same order, joined by the same jumps, and differ
/// within them at most: in operands, in the order of instructions, and in padding. As with
/// [`padding_only`], code outside functions is not looked into.
pub(crate) fn within_blocks(before: &Code<'_>, after: &Code<'_>) -> bool {
    let same = |(a, b): (&PartCode<'_>, &PartCode<'_>)| {
        (&a.label, a.cold) == (&b.label, b.cold)
            && a.blocks(&before.labels) == b.blocks(&after.labels)
    };
    let (old, new) = (&before.parts, &after.parts);
    before.image.arch == after.image.arch
        && !old.is_empty()
        && old.len() == new.len()
        && old.iter().zip(new).all(same)
}

/// Bytes of hot and of cold executable code.
pub(crate) fn sizes(code: &Code<'_>) -> (u64, u64) {
    let of = |cold: bool| -> u64 {
        let bodies = code.bodies.iter().filter(|b| cold_section(b.name) == cold);
        bodies.map(|b| b.data.len() as u64).sum()
    };
    let section = |index: usize| code.image.sections.get(index).map_or("", |s| s.name);
    // `.cold` parts that were left in a hot section.
    let parts = code.parts.iter().zip(&code.image.parts);
    let strays: u64 = parts
        .filter(|(part, raw)| part.cold && !cold_section(section(raw.section)))
        .map(|(part, _)| part.end - part.start)
        .sum();
    (of(false) - strays, of(true) + strays)
}

/// One version as [`functions`] needs it.
pub(crate) struct Version<'a> {
    pub(crate) code: &'a Code<'a>,
    /// The line table and the condition in its terms; `None` where the table cannot be used.
    pub(crate) lines: Option<(&'a Lines, Wanted)>,
}

/// What [`Version`] says of the site.
struct Found<'a> {
    parts: BTreeMap<&'a str, Vec<usize>>,
    branches: BTreeMap<&'a str, Vec<Branch>>,
}

/// The functions whose code differs, those with the site's branch first.
///
/// A function that merely shifted may be padded otherwise, so padding counts only where it is all
/// that differs in the whole object.
pub(crate) fn functions(before: &Version<'_>, after: &Version<'_>) -> Vec<FunctionDelta> {
    let padded = padding_only(before.code, after.code);

    let (old, new) = (before.find(), after.find());
    let names: BTreeSet<&str> = old.parts.keys().chain(new.parts.keys()).copied().collect();
    let mut deltas: Vec<FunctionDelta> = names
        .into_iter()
        .filter(|name| {
            canonical(before, &old, name, padded) != canonical(after, &new, name, padded)
        })
        .map(|name| {
            let (first, second) = (old.branches_of(name), new.branches_of(name));
            let (asm_before, asm_after) = (
                excerpt(
                    before,
                    old.parts_of(name),
                    first.first(),
                    differs_at(before, after, &old, &new, name),
                ),
                excerpt(
                    after,
                    new.parts_of(name),
                    second.first(),
                    differs_at(after, before, &new, &old, name),
                ),
            );
            FunctionDelta {
                name: name.to_owned(),
                bytes: SizePair {
                    before: bytes(before, old.parts_of(name)),
                    after: bytes(after, new.parts_of(name)),
                },
                blocks_moved: moved(before, &old, after, &new, name),
                hot_taken: hot_taken((before, &old), (after, &new), name),
                asm_before,
                asm_after,
            }
        })
        .collect();
    let has_site = |name: &str| old.branches.contains_key(name) || new.branches.contains_key(name);
    deltas.sort_by_key(|d| !has_site(&d.name));
    deltas
}

impl<'a> Version<'a> {
    fn sites(&'a self) -> Option<Sites<'a>> {
        let (lines, wanted) = self.lines.as_ref()?;
        Some(Sites::new(self.code, lines, wanted))
    }

    fn find(&'a self) -> Found<'a> {
        let mut parts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, part) in self.code.parts.iter().enumerate() {
            parts.entry(part.function).or_default().push(index);
        }
        let branches = self.sites().map(|s| s.branches()).unwrap_or_default();
        Found { parts, branches }
    }
}

impl Found<'_> {
    fn parts_of(&self, name: &str) -> &[usize] {
        self.parts.get(name).map_or(&[], Vec::as_slice)
    }

    fn branches_of(&self, name: &str) -> &[Branch] {
        self.branches.get(name).map_or(&[], Vec::as_slice)
    }
}

/// A function's parts by label, in an order that two compilations share.
fn canonical(
    version: &Version<'_>,
    found: &Found<'_>,
    name: &str,
    padded: bool,
) -> Vec<(String, Vec<u8>)> {
    let parts = found.parts_of(name).iter().filter_map(|&p| version.code.parts.get(p));
    let code = |p: &PartCode<'_>| if padded { p.canonical.clone() } else { p.unpadded.clone() };
    let mut parts: Vec<_> = parts.map(|p| (p.label.clone(), code(p))).collect();
    parts.sort_by(|(a, _), (b, _)| a.cmp(b));
    parts
}

fn bytes(version: &Version<'_>, parts: &[usize]) -> u64 {
    let parts = parts.iter().filter_map(|&p| version.code.parts.get(p));
    parts.map(|p| p.end - p.start).sum()
}

/// The first instruction of the function in `version` that its counterpart in `other` does not
/// have at the same place.
fn differs_at(
    version: &Version<'_>,
    other: &Version<'_>,
    found: &Found<'_>,
    found_other: &Found<'_>,
    name: &str,
) -> Option<u64> {
    let part = version.code.parts.get(*found.parts_of(name).first()?)?;
    let counterpart = found_other.parts_of(name).first().and_then(|&p| other.code.parts.get(p));
    let theirs = counterpart.map_or(&[][..], |p| p.ops.as_slice());
    let text = |op: &Op, start: u64| {
        let key = op.place.as_ref().map(|p| p.key.clone());
        let target = op.goes_to().map(|t| t.wrapping_sub(start));
        let operands = if target.is_some() { "".into() } else { op.insn.operands.clone() };
        (op.insn.mnemonic.clone(), operands, key, target)
    };
    let start = counterpart.map_or(0, |p| p.start);
    let same = part
        .ops
        .iter()
        .zip(theirs)
        .take_while(|(a, b)| text(a, part.start) == text(b, start))
        .count();
    part.ops.get(same).or(part.ops.last()).map(|op| op.insn.addr)
}

/// The jumps taken for the site in function `name`, see [`FunctionDelta::hot_taken`].
///
/// The profile counts the condition, not its machine copies. How the executions of one function
/// fall to its copies (a loop's first test and its repeated one, unrolled bodies) is not known, so
/// all must cost the same, which makes the sum independent of it. Among several functions the
/// counts are shared evenly; the sum over all functions is again independent of that where they
/// agree. The same functions must hold copies in both versions.
fn hot_taken(
    (before, old): (&Version<'_>, &Found<'_>),
    (after, new): (&Version<'_>, &Found<'_>),
    name: &str,
) -> Option<TakenPair> {
    if !old.branches.keys().eq(new.branches.keys()) {
        return None;
    }
    Some(TakenPair { before: taken(before, old, name)?, after: taken(after, new, name)? })
}

fn taken(version: &Version<'_>, found: &Found<'_>, name: &str) -> Option<u64> {
    let (_, wanted) = version.lines.as_ref()?;
    let sites = version.sites()?;
    let graph = Graph::new(version.code, found.parts_of(name));
    let mut costs = found.branches.get(name)?.iter().map(|&b| sites.pass(&graph, b));
    let (when_true, when_false) = costs.next()??;
    if costs.any(|other| other != Some((when_true, when_false))) {
        return None;
    }
    let site = &wanted.site;
    let sum = u128::from(site.taken_true) * u128::from(when_true)
        + u128::from(site.taken_false) * u128::from(when_false);
    u64::try_from(sum / (found.branches.len() as u128).max(1)).ok()
}

/// Blocks of the rare way that were inside the main body and are outside it now.
fn moved(
    before: &Version<'_>,
    old: &Found<'_>,
    after: &Version<'_>,
    new: &Found<'_>,
    name: &str,
) -> Option<u32> {
    let (first, second) = (rare(before, old, name)?, rare(after, new, name)?);
    Some(first.inside.saturating_sub(second.inside).min(second.outside))
}

fn rare(version: &Version<'_>, found: &Found<'_>, name: &str) -> Option<RareBlocks> {
    let copies = found.branches.get(name)?;
    let sites = version.sites()?;
    let graph = Graph::new(version.code, found.parts_of(name));
    let mut sum = RareBlocks::default();
    for &branch in copies {
        let blocks = sites.rare_blocks(&graph, branch)?;
        sum.inside = sum.inside.saturating_add(blocks.inside);
        sum.outside = sum.outside.saturating_add(blocks.outside);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Image;
    use crate::testing::compile;

    /// Whether two objects are the same code, and the functions that differ.
    fn compared(old: &[u8], new: &[u8]) -> (bool, Vec<String>) {
        let (old, new) = (Image::parse(old).unwrap(), Image::parse(new).unwrap());
        let (old, new) = (Code::new(&old).unwrap(), Code::new(&new).unwrap());
        let version = |code| Version { code, lines: None };
        let names = functions(&version(&old), &version(&new)).into_iter().map(|f| f.name);
        (identical(&old, &new), names.collect())
    }

    /// One function that jumps through a table of two entries, the table given.
    fn table(entries: &str) -> Vec<u8> {
        let text = format!(
            "
    .text
    .globl f
    .type f, @function
f:  leaq .Ltable(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    addq %rdx, %rax
    jmp *%rax
.La: ret
.Lb: ret
    .size f, .-f
    .section .rodata
    .long 7
.Ltable: {entries}
"
        );
        compile("gcc", &[], "x.s", &text)
    }

    #[test]
    fn code_that_differs_in_its_jump_table_alone_differs() {
        let old = table(".long .La-.Ltable, .Lb-.Ltable");
        assert_eq!(compared(&old, &old), (true, vec![]));
        let new = table(".long .Lb-.Ltable, .La-.Ltable");
        assert_eq!(compared(&old, &new), (false, vec!["f".to_owned()]));
    }

    /// Whether two versions of a loop, given as assembly, differ within blocks at most.
    fn within(old: &str, new: &str) -> bool {
        let object = |body: &str| {
            let text = format!(".text\n.globl f\n.type f, @function\nf: {body}\n.size f, .-f\n");
            compile("gcc", &[], "x.s", &text)
        };
        let (old, new) = (object(old), object(new));
        let (old, new) = (Image::parse(&old).unwrap(), Image::parse(&new).unwrap());
        within_blocks(&Code::new(&old).unwrap(), &Code::new(&new).unwrap())
    }

    #[test]
    fn registers_order_and_padding_are_within_blocks_and_jumps_are_not() {
        let old = "xorl %eax, %eax; 1: addl $1, %eax; call a; cmpq %rdi, %rsi; jne 1b; 2: ret";
        assert!(within(old, old));
        let shorter = old.replace("xorl %eax, %eax", "xorl %r8d, %r8d").replace("$1,", "$700,");
        assert!(within(old, &shorter));
        assert!(within(old, &old.replace("%rdi, %rsi", "%rsi, %rdi")));
        assert!(within(old, &old.replace("1: ", ".p2align 4; 1: ")));
        assert!(within(old, &old.replace("addl $1, %eax; call a", "call a; addl $1, %eax")));
        assert!(!within(old, &old.replace("jne", "je")), "another jump");
        assert!(!within(old, &old.replace("jne 1b", "jne 2f")), "another target");
        assert!(!within(old, &old.replace("call a", "call b")), "another call");
        assert!(!within(old, &old.replace("xorl", "nop; movl %ecx, %edx; xorl")), "one more");
        let two = "1: addl $1, %eax; je 1b; 2: addl $2, %eax; js 2b; ret";
        let crossed = "1: addl $1, %eax; je 2f; 2: addl $2, %eax; js 1b; ret";
        assert!(!within(two, crossed), "the same blocks, joined otherwise");
        let moved = "jmp 1f; 2: ret; 1: xorl %eax, %eax; jmp 2b";
        assert!(!within(moved, "1: xorl %eax, %eax; jmp 2f; 2: ret; jmp 1b"), "another order");
    }

    #[test]
    fn a_constant_that_differs_is_other_code_and_one_that_moved_is_not() {
        let text = "double f(double d) { return d * 1.5; }";
        let object = |text: &str| compile("gcc", &["-O2"], "x.c", text);
        let old = object(text);
        assert!(!compared(&old, &object(&text.replace("1.5", "2.5"))).0);
        let moved = object(&format!("{text} double g(double d) {{ return d * 9.5; }}"));
        assert_eq!(compared(&old, &moved).1, ["g"]);
        // The constant of f is now the second one.
        let moved = object(&format!("double g(double d) {{ return d * 9.5; }} {text}"));
        assert_eq!(compared(&old, &moved).1, ["g"]);
    }

    #[test]
    fn a_call_of_another_function_is_other_code() {
        let text = "extern int a(void), b(void); int f(void) { return a() + 1; }";
        let (old, new) = (compile("gcc", &["-O2"], "x.c", text), text.replace("a() ", "b() "));
        assert!(!compared(&old, &compile("gcc", &["-O2"], "x.c", &new)).0);
    }

    /// What the checker relies on, and checks anew each time.
    #[test]
    fn debug_information_is_no_difference() {
        let text = include_str!("../tests/c/poll.c");
        for cc in ["gcc", "clang-22", "aarch64-linux-gnu-gcc"] {
            let plain = compile(cc, &["-O2"], "x.c", text);
            let lined = compile(cc, &["-O2", "-g", "-gz=none"], "x.c", text);
            assert_ne!(plain, lined);
            assert_eq!(compared(&plain, &lined), (true, vec![]), "{cc}");
        }
    }
}
