//! The machine code of functions, from the file of this program or of a shared object.

use crate::error::ExperimentError;
use crate::experiment::Listing;
use crate::object::Objects;
use crate::report::{CodeReport, ObjectReport};
use capstone::arch::{self, BuildsCapstone, BuildsCapstoneSyntax};
use capstone::{Capstone, InsnGroupType};
use object::{Architecture, Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

/// The code of each of `listings`, in the file `program` or in one of `objects`.
pub(crate) fn read(
    program: &Path,
    objects: &Objects,
    listings: &[Listing],
) -> Result<Vec<CodeReport>, ExperimentError> {
    let mut files: BTreeMap<&Path, Vec<u8>> = BTreeMap::new();
    let mut reports = Vec::with_capacity(listings.len());
    for listing in listings {
        let path = match &listing.object {
            Some(object) => objects.path(object)?,
            None => program,
        };
        if !files.contains_key(path) {
            files.insert(path, std::fs::read(path).map_err(|error| failed(path, error))?);
        }
        let bytes = files.get(path).map_or(&[][..], |bytes| bytes);
        let file = object::File::parse(bytes).map_err(|error| failed(path, error))?;
        let decoder = decoder(file.architecture()).map_err(|what| failed(path, what))?;
        reports.push(one(&file, &decoder, listing).map_err(|what| failed(path, what))?);
    }
    Ok(reports)
}

/// The sizes of `objects`.
pub(crate) fn sizes(objects: &Objects) -> Result<Vec<ObjectReport>, ExperimentError> {
    let size = |(name, path): (&str, &Path)| {
        let bytes = std::fs::read(path).map_err(|error| failed(path, error))?;
        let file = object::File::parse(&*bytes).map_err(|error| failed(path, error))?;
        let text = file.sections().filter(|one| one.kind() == object::SectionKind::Text);
        let text_bytes = text.map(|one| one.size()).sum();
        Ok(ObjectReport { name: name.to_owned(), text_bytes })
    };
    objects.iter().map(size).collect()
}

fn failed(path: &Path, what: impl Display) -> ExperimentError {
    ExperimentError::Listing { what: format!("{}: {what}", path.display()) }
}

fn decoder(machine: Architecture) -> Result<Capstone, String> {
    let decoder = match machine {
        Architecture::X86_64 => Capstone::new()
            .x86()
            .mode(arch::x86::ArchMode::Mode64)
            .syntax(arch::x86::ArchSyntax::Intel)
            .detail(true)
            .build(),
        Architecture::Aarch64 => {
            Capstone::new().arm64().mode(arch::arm64::ArchMode::Arm).detail(true).build()
        }
        other => return Err(format!("there is no decoder for {other:?}")),
    };
    decoder.map_err(|error| error.to_string())
}

/// Whether a mangled name is that of a function with this own name, or an instance of one: both
/// manglings write a path as lengths and parts.
fn is_named(mangled: &str, function: &str) -> bool {
    if mangled == function {
        return true;
    }
    let part = format!("{}{function}", function.len());
    mangled.match_indices(&part).any(|(at, _)| {
        // The length is not the end of a longer one, and nothing named inside follows.
        let longer =
            mangled.get(..at).is_some_and(|head| head.ends_with(|c: char| c.is_ascii_digit()));
        let rest = mangled.get(at + part.len()..).unwrap_or_default();
        !longer
            && (rest.is_empty()
                || rest.starts_with("17h")
                || !rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn one(
    file: &object::File<'_>,
    decoder: &Capstone,
    listing: &Listing,
) -> Result<CodeReport, String> {
    let function = &listing.function;
    let found: Vec<_> = file
        .symbols()
        .filter(|symbol| symbol.is_definition() && symbol.size() > 0)
        .filter(|symbol| symbol.name().is_ok_and(|name| is_named(name, function)))
        .collect();
    let [symbol] = &found[..] else {
        return Err(format!(
            "{} functions are named {function:?}, and one is needed: build without `strip`, and keep \
             the function from being inlined or folded with another",
            found.len()
        ));
    };
    let (address, size) = (symbol.address(), symbol.size());
    let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
    let code = section.and_then(|section| section.data_range(address, size).ok().flatten());
    let code = code.ok_or_else(|| format!("the code of {function:?} is not in the file"))?;
    describe(decoder, &listing.name, code, address).map_err(|error| error.to_string())
}

/// The function `code`, whose first byte is at `address`.
fn describe(
    decoder: &Capstone,
    name: &str,
    code: &[u8],
    address: u64,
) -> Result<CodeReport, capstone::Error> {
    let (size, mut returned) = (code.len() as u64, false);
    let decoded = decoder.disasm_all(code, address)?;
    let mut report = CodeReport {
        name: name.to_owned(),
        bytes: size,
        hot_bytes: 0,
        instructions: Vec::with_capacity(decoded.len()),
        hot: 0,
        branches: 0,
        calls: 0,
    };
    for insn in decoded.iter() {
        let (name, operands) = (insn.mnemonic().unwrap_or("?"), insn.op_str().unwrap_or(""));
        let operands = places(name, operands, address..address + size);
        let leaves = operands.contains("elsewhere");
        report.instructions.push(format!("{name} {operands}").trim_end().to_owned());
        if returned {
            continue;
        }
        report.hot_bytes += insn.bytes().len() as u64;
        report.hot += 1;
        let detail = decoder.insn_detail(insn)?;
        let is = |group| detail.groups().iter().any(|of| u32::from(of.0) == group);
        if is(InsnGroupType::CS_GRP_CALL) {
            report.calls += 1;
        } else if is(InsnGroupType::CS_GRP_RET) {
            returned = true;
        } else if is(InsnGroupType::CS_GRP_JUMP) {
            let always = ["jmp", "b", "br"].contains(&name);
            report.branches += u32::from(!always);
            // A last call that is made by jumping: the callee returns for this function.
            returned = always && leaves;
        }
    }
    Ok(report)
}

/// Operands that name a place by its address: within `function` counted from its start, and otherwise
/// as `elsewhere`, so that the same code at different addresses is listed alike.
fn places(name: &str, operands: &str, function: Range<u64>) -> String {
    if let Some((head, tail)) = operands.split_once("rip ")
        && let Some((_, tail)) = tail.split_once(']')
    {
        return format!("{head}elsewhere]{tail}");
    }
    let (head, last) = operands.rsplit_once(", ").map_or(("", operands), |(head, last)| {
        (operands.get(..head.len() + 2).unwrap_or_default(), last)
    });
    let jumps = ["b", "bl"].contains(&name)
        || ["j", "call", "b.", "cb", "tb"].iter().any(|start| name.starts_with(start));
    let target = last.trim_start_matches('#').strip_prefix("0x");
    match target.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(to) if jumps && function.contains(&to) => {
            format!("{head}+{:#x}", to - function.start)
        }
        Some(_) if jumps || name.starts_with("adr") => format!("{head}elsewhere"),
        _ => operands.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_own_name_in_both_manglings() {
        let found = |name, function| is_named(name, function);
        assert!(found("_ZN19experiment_refcount3ops9inc_plain17h0123456789abcdefE", "inc_plain"));
        assert!(found("_RNvNtCs123_19experiment_refcount3ops9inc_plain", "inc_plain"));
        assert!(found("_RINvNtCs123_1x3ops9inc_plainmE", "inc_plain"));
        assert!(!found("_ZN19experiment_refcount3ops13dec_inc_plain17h01E", "inc_plain"));
        assert!(!found("_ZN19experiment_refcount3ops19inc_plain_with_more17h01E", "inc_plain"));
        // Something inside the function.
        assert!(!found("_ZN1x9inc_plain4help17h01E", "inc_plain"));
    }

    #[test]
    fn places_are_counted_from_their_function_or_lie_elsewhere() {
        let listed = |name, operands| places(name, operands, 0x1000..0x1020);
        assert_eq!(listed("jne", "0x1012"), "+0x12");
        assert_eq!(listed("jmp", "0x1020"), "elsewhere");
        assert_eq!(listed("call", "qword ptr [rip + 0x169824]"), "qword ptr [elsewhere]");
        assert_eq!(listed("lea", "rsi, [rip - 0x2f]"), "rsi, [elsewhere]");
        assert_eq!(listed("mov", "eax, 0x1012"), "eax, 0x1012");
        assert_eq!(listed("cmp", "dword ptr [rip + 8], 0"), "dword ptr [elsewhere], 0");
        assert_eq!(listed("b.ne", "#0x1010"), "+0x10");
        assert_eq!(listed("cbz", "w0, #0x1010"), "w0, +0x10");
        assert_eq!(listed("adrp", "x0, #0x5000"), "x0, elsewhere");
        assert_eq!(listed("bl", "#0x2000"), "elsewhere");
    }

    #[test]
    fn a_hot_path_ends_where_its_function_is_left_for_good() {
        let decoder = decoder(Architecture::X86_64).unwrap();
        let report = |code: &[u8]| describe(&decoder, "f", code, 0x1000).unwrap();
        // je over a ret; ret; nop; call; ret
        let returns = report(&[0x74, 0x01, 0xc3, 0x90, 0xe8, 0, 0, 0, 0, 0xc3]);
        assert_eq!(returns.instructions, ["je +0x3", "ret", "nop", "call +0x9", "ret"]);
        let of = |one: &CodeReport| (one.bytes, one.hot_bytes, one.hot, one.branches, one.calls);
        assert_eq!(of(&returns), (10, 3, 2, 1, 0));
        // jmp within; call elsewhere; jmp elsewhere, for a last call; ret
        let jumps = report(&[0xeb, 0, 0xe8, 0, 1, 0, 0, 0xe9, 0, 1, 0, 0, 0xc3]);
        assert_eq!(jumps.instructions, ["jmp +0x2", "call elsewhere", "jmp elsewhere", "ret"]);
        assert_eq!(of(&jumps), (13, 12, 3, 0, 1));
    }

    #[inline(never)]
    fn listed_by_a_test(x: u32) -> u32 {
        std::hint::black_box(x)
    }

    #[test]
    fn the_code_of_this_program_is_read() {
        assert_eq!(listed_by_a_test(1), 1);
        let program = std::env::current_exe().unwrap();
        let kept = listed_by_a_test as *const () as usize;
        let none = Objects::default();
        let listing =
            |name: &str| Listing { name: "f".into(), function: name.into(), kept, object: None };
        let code = read(&program, &none, &[listing("listed_by_a_test")]).unwrap();
        let [code] = &code[..] else { panic!("{code:?}") };
        assert!(code.bytes >= code.hot_bytes && code.hot_bytes > 0, "{code:?}");
        assert!(code.instructions[code.hot - 1].starts_with("ret"), "{code:?}");
        assert_eq!(code.branches, 0);
        let error = read(&program, &none, &[listing("nowhere_at_all")]).unwrap_err().to_string();
        assert!(error.contains("0 functions are named \"nowhere_at_all\""), "{error}");
    }
}
