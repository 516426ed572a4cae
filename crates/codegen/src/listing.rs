//! The instructions of an object, for a reader outside this crate.
//!
//! The comparison needs borrowed, canonical and anchored forms of code. Someone who only wants to
//! look at one function needs none of that: here it is owned and plain.

use crate::code::Code;
use crate::error::ObjectError;
use crate::object::Image;

pub use crate::insn::Flow;

/// All functions of one object, in the order of their addresses.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Contiguous pieces of functions; a function whose cold code was split off has several.
    pub parts: Vec<ListedPart>,
}

/// One contiguous piece of a function.
#[derive(Debug, Clone)]
pub struct ListedPart {
    /// The symbol, `.cold` and the like included.
    pub symbol: String,
    /// Other symbols for the same place: compilers make equal functions one.
    pub aliases: Vec<String>,
    /// First address. Sections of an object lie far apart in one space of addresses.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Out of line: in a cold section, or a `.cold` symbol.
    pub cold: bool,
    /// What it does, in the order of addresses.
    pub insns: Vec<ListedInsn>,
}

/// One instruction.
#[derive(Debug, Clone)]
pub struct ListedInsn {
    /// Its address.
    pub addr: u64,
    /// What comes after it.
    pub flow: Flow,
    /// Where a direct branch, jump or call goes to, if that is in this object.
    pub goes_to: Option<u64>,
    /// The symbol and offset it refers to, unless that is in the same part.
    pub refers_to: Option<String>,
    /// The mnemonic with its prefixes, such as `lock xadd`.
    pub mnemonic: String,
    /// The operands in the assembler's text form. A field that a relocation fills shows as if it
    /// held 0; [`Self::refers_to`] says what it will hold.
    pub operands: String,
}

impl Listing {
    /// Reads an ELF relocatable object for x86-64 or aarch64.
    ///
    /// # Errors
    /// If `bytes` are no such object, or are malformed.
    pub fn read(bytes: &[u8]) -> Result<Self, ObjectError> {
        let image = Image::parse(bytes)?;
        let code = Code::new(&image)?;
        let parts = image.parts.iter().zip(code.parts).map(|(part, code)| ListedPart {
            symbol: part.name.to_owned(),
            aliases: image
                .names_at(part.start)
                .filter(|&name| name != part.name)
                .map(str::to_owned)
                .collect(),
            start: code.start,
            end: code.end,
            cold: code.cold,
            insns: code
                .ops
                .into_iter()
                .map(|op| ListedInsn {
                    addr: op.insn.addr,
                    flow: op.insn.flow,
                    goes_to: match op.insn.flow {
                        Flow::Branch | Flow::Jump | Flow::Call => op.goes_to(),
                        Flow::Next | Flow::Indirect | Flow::End => None,
                    },
                    refers_to: op.place.map(|place| place.shown),
                    mnemonic: op.insn.mnemonic.into(),
                    operands: op.insn.operands.into(),
                })
                .collect(),
        });
        Ok(Self { parts: parts.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compile;

    const TEXT: &str = "
extern void cry(void) __attribute__((cold));
int f(int x) { if (__builtin_expect(x < 0, 0)) cry(); return x + 1; }
";

    #[test]
    fn a_branch_into_a_cold_part_is_followed() {
        let object = compile("gcc", &["-O2"], "x.c", TEXT);
        let listing = Listing::read(&object).unwrap();
        let symbols: Vec<_> = listing.parts.iter().map(|p| (&*p.symbol, p.cold)).collect();
        assert_eq!(symbols, [("f", false), ("f.cold", true)]);

        let branch = listing.parts[0].insns.iter().find(|i| i.flow == Flow::Branch).unwrap();
        assert_eq!(branch.goes_to, Some(listing.parts[1].start));
        assert_eq!(branch.refers_to.as_deref(), Some("f.cold"));
    }

    #[test]
    fn a_function_with_two_names_has_both() {
        let text = "int f(int x) { return x + 1; } int g(int) __attribute__((alias(\"f\")));";
        let listing = Listing::read(&compile("gcc", &["-O2"], "x.c", text)).unwrap();
        let [part] = &listing.parts[..] else { panic!("{listing:?}") };
        let mut names = part.aliases.clone();
        names.push(part.symbol.clone());
        names.sort();
        assert_eq!(names, ["f", "g"]);
    }

    #[test]
    fn a_call_out_of_the_object_is_named() {
        let object = compile("aarch64-linux-gnu-gcc", &["-O2"], "x.c", TEXT);
        let listing = Listing::read(&object).unwrap();
        let mut calls =
            listing.parts.iter().flat_map(|p| &p.insns).filter(|i| i.flow == Flow::Call);
        let call = calls.next().unwrap();
        assert_eq!((&*call.mnemonic, call.goes_to), ("bl", None));
        assert_eq!(call.refers_to.as_deref(), Some("cry"));
    }
}
