//! Machine code to instructions, with what control flow needs to know of each.
//!
//! Capstone decodes and prints. For x86-64 the printed form is also read for control flow, which
//! is cheaper than capstone's detail records; for aarch64 the few encodings that matter are
//! matched bit by bit, after the Arm Architecture Reference Manual, section C4.1.

use capstone::Capstone;
use capstone::arch::{self, BuildsCapstone};

use crate::error::ObjectError;
use crate::object::Arch;

/// What comes after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next instruction.
    Next,
    /// A direct conditional branch: its target, or the next instruction.
    Branch,
    /// A direct unconditional jump.
    Jump,
    /// A jump through a register or memory.
    Indirect,
    /// A call; the next instruction if it returns.
    Call,
    /// Nothing: a return, a trap.
    End,
}

/// One instruction.
#[derive(Debug, Clone)]
pub(crate) struct Insn {
    /// Its address, after the bases of [`crate::object`].
    pub(crate) addr: u64,
    /// Bytes.
    pub(crate) length: u8,
    pub(crate) flow: Flow,
    /// The address that the encoding itself names: a branch target, or a pc-relative operand. Not
    /// meaningful where a relocation fills the field.
    pub(crate) direct: Option<u64>,
    /// The mnemonic with its prefixes.
    pub(crate) mnemonic: Box<str>,
    /// The operands in the assembler's text form.
    pub(crate) operands: Box<str>,
}

impl Insn {
    /// The address after the instruction.
    pub(crate) fn end(&self) -> u64 {
        self.addr + u64::from(self.length)
    }

    /// Does nothing: what assemblers align with. (`xchg ax, ax` is a `nop` with a prefix.)
    pub(crate) fn is_padding(&self) -> bool {
        let name = self.mnemonic.rsplit(' ').next().unwrap_or("");
        name == "nop" || (&*self.mnemonic == "xchg" && &*self.operands == "ax, ax")
    }
}

/// The encoding of `insn` without the field that holds [`Insn::direct`], so that two instructions
/// that name the same place from different distances look the same.
pub(crate) fn without_direct(arch: Arch, insn: &Insn, bytes: &[u8]) -> Vec<u8> {
    match (arch, <[u8; 4]>::try_from(bytes)) {
        (Arch::Aarch64, Ok(word)) => {
            let word = u32::from_le_bytes(word);
            let keep = match insn.flow {
                Flow::Jump | Flow::Call => 0xFC00_0000,
                // TBZ and TBNZ keep the number of the bit they test.
                Flow::Branch if word & 0x7E00_0000 == 0x3600_0000 => 0xFFF8_001F,
                Flow::Next if word & 0x9F00_0000 == 0x1000_0000 => 0x9F00_001F,
                _ => 0xFF00_001F,
            };
            (word & keep).to_le_bytes().to_vec()
        }
        // A displacement of 8 or of 32 bits, as the distance has it: the text says what matters.
        _ => {
            let operands = match insn.operands.split_once("rip") {
                Some((head, rest)) => {
                    [head, rest.split_once(']').map_or("", |(_, tail)| tail)].concat()
                }
                None => String::new(),
            };
            [insn.mnemonic.as_bytes(), b" ", operands.as_bytes()].concat()
        }
    }
}

/// A disassembler for one instruction set. Not shareable between threads; cheap to make.
pub(crate) struct Decoder {
    arch: Arch,
    capstone: Capstone,
}

impl Decoder {
    pub(crate) fn new(arch: Arch) -> Result<Self, ObjectError> {
        let built = match arch {
            Arch::X86_64 => Capstone::new().x86().mode(arch::x86::ArchMode::Mode64).build(),
            Arch::Aarch64 => Capstone::new().arm64().mode(arch::arm64::ArchMode::Arm).build(),
        };
        let fail = |e: capstone::Error| ObjectError::Disassembler(e.to_string());
        let mut capstone = built.map_err(fail)?;
        // What cannot be decoded comes out as `.byte` and the stream goes on.
        capstone.set_skipdata(true).map_err(fail)?;
        Ok(Self { arch, capstone })
    }

    /// Decodes `code`, which lies at `addr`.
    pub(crate) fn decode(&self, code: &[u8], addr: u64) -> Result<Vec<Insn>, ObjectError> {
        let fail = |e: capstone::Error| ObjectError::Disassembler(e.to_string());
        let mut insns = Vec::with_capacity(code.len() / 4);
        let mut stream = self.capstone.disasm_iter(code, addr).map_err(fail)?;
        while let Some(raw) = stream.next() {
            let mnemonic: Box<str> = raw.mnemonic().unwrap_or("?").into();
            let operands: Box<str> = raw.op_str().unwrap_or("").into();
            let end = raw.address().wrapping_add(raw.len() as u64);
            let (flow, direct) = match self.arch {
                Arch::X86_64 => x86_flow(&mnemonic, &operands, end),
                Arch::Aarch64 => aarch64_flow(raw.bytes(), raw.address()),
            };
            let length = u8::try_from(raw.len()).unwrap_or(u8::MAX);
            insns.push(Insn { addr: raw.address(), length, flow, direct, mnemonic, operands });
        }
        Ok(insns)
    }
}

fn x86_flow(mnemonic: &str, operands: &str, end: u64) -> (Flow, Option<u64>) {
    // Prefixes such as `bnd`, `notrack` and `repz` are printed before the name.
    let name = mnemonic.rsplit(' ').next().unwrap_or(mnemonic);
    let target = || operands.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    match name {
        "jmp" | "ljmp" => match target() {
            Some(target) => (Flow::Jump, Some(target)),
            None => (Flow::Indirect, None),
        },
        "call" | "lcall" => (Flow::Call, target()),
        "ret" | "retf" | "iret" | "iretd" | "iretq" | "sysret" | "sysretq" | "sysexit" | "ud0"
        | "ud1" | "ud2" | "hlt" | "int3" => (Flow::End, None),
        "loop" | "loope" | "loopne" => (Flow::Branch, target()),
        _ if name.starts_with('j') => (Flow::Branch, target()),
        _ => (Flow::Next, rip_operand(operands, end)),
    }
}

/// The address of a `[rip + 0x10]` operand of an instruction that ends at `end`.
fn rip_operand(operands: &str, end: u64) -> Option<u64> {
    let (_, rest) = operands.split_once("rip")?;
    let rest = rest.trim_start();
    let number = |text: &str| {
        let text = text.trim_start();
        let text = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    };
    match rest.split_at_checked(1)? {
        ("]", _) => Some(end),
        ("+", rest) => Some(end.wrapping_add(number(rest)?)),
        ("-", rest) => Some(end.wrapping_sub(number(rest)?)),
        _ => None,
    }
}

fn aarch64_flow(bytes: &[u8], addr: u64) -> (Flow, Option<u64>) {
    let Ok(word) = <[u8; 4]>::try_from(bytes).map(u32::from_le_bytes) else {
        return (Flow::Next, None);
    };
    // A signed field of `bits` bits from bit `low`, in units of `unit` bytes, from `addr`.
    let relative = |low: u32, bits: u32, unit: i64| {
        let field = i64::from((word << (32 - low - bits)).cast_signed() >> (32 - bits));
        Some(addr.wrapping_add_signed(field * unit))
    };
    match word {
        w if w & 0xFC00_0000 == 0x1400_0000 => (Flow::Jump, relative(0, 26, 4)), // B
        w if w & 0xFC00_0000 == 0x9400_0000 => (Flow::Call, relative(0, 26, 4)), // BL
        w if w & 0xFF00_0000 == 0x5400_0000 => (Flow::Branch, relative(5, 19, 4)), // B.cond, BC.cond
        w if w & 0x7E00_0000 == 0x3400_0000 => (Flow::Branch, relative(5, 19, 4)), // CBZ, CBNZ
        w if w & 0x7E00_0000 == 0x3600_0000 => (Flow::Branch, relative(5, 14, 4)), // TBZ, TBNZ
        // Branches to a register, with or without pointer authentication: opc in bits 21 to 24.
        w if w & 0xFE00_0000 == 0xD600_0000 => match (w >> 21) & 0b111 {
            0b000 => (Flow::Indirect, None),
            0b001 => (Flow::Call, None),
            _ => (Flow::End, None),
        },
        w if w & 0xFFE0_001F == 0xD420_0000 || w & 0xFFFF_0000 == 0 => (Flow::End, None), // BRK, UDF
        w if w & 0x9F00_0000 == 0x1000_0000 => {
            // ADR: two low bits of the offset in bits 29 and 30, the others in 5 to 23.
            let low = u64::from((w >> 29) & 3);
            (Flow::Next, relative(5, 19, 4).map(|high| high.wrapping_add(low)))
        }
        w if w & 0x3B00_0000 == 0x1800_0000 => (Flow::Next, relative(5, 19, 4)), // LDR (literal)
        _ => (Flow::Next, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(arch: Arch, code: &[u8]) -> Vec<(String, Flow, Option<u64>)> {
        let insns = Decoder::new(arch).unwrap().decode(code, 0x1000).unwrap();
        insns.into_iter().map(|i| (i.mnemonic.into(), i.flow, i.direct)).collect()
    }

    #[test]
    fn x86_control_flow_is_told_from_the_encoding() {
        let code = [
            0x74, 0x02, // je +2
            0xEB, 0xFE, // jmp self
            0xE8, 0, 0, 0, 0, // call next
            0x3E, 0xFF, 0xE0, // notrack jmp rax
            0x48, 0x8D, 0x05, 0x10, 0, 0, 0, // lea rax, [rip+0x10]
            0xF3, 0xC3, // repz ret
        ];
        let found = decode(Arch::X86_64, &code);
        let flows: Vec<_> = found.iter().map(|(_, flow, direct)| (*flow, *direct)).collect();
        assert_eq!(
            flows,
            [
                (Flow::Branch, Some(0x1004)),
                (Flow::Jump, Some(0x1002)),
                (Flow::Call, Some(0x1009)),
                (Flow::Indirect, None),
                (Flow::Next, Some(0x1023)),
                (Flow::End, None),
            ]
        );
    }

    #[test]
    fn aarch64_control_flow_is_told_from_the_encoding() {
        let words: [u32; 10] = [
            0x5400_0041, // b.ne +8
            0x17FF_FFFF, // b -4
            0x9400_0002, // bl +8
            0xB400_0060, // cbz x0, +12
            0x37F8_0060, // tbnz w0, #31, +12
            0xD61F_0000, // br x0
            0xD63F_0000, // blr x0
            0xD65F_03C0, // ret
            0x1000_0080, // adr x0, +16
            0xD503_201F, // nop
        ];
        let code: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let found = decode(Arch::Aarch64, &code);
        let flows: Vec<_> = found.iter().map(|(_, flow, direct)| (*flow, *direct)).collect();
        assert_eq!(
            flows,
            [
                (Flow::Branch, Some(0x1008)),
                (Flow::Jump, Some(0x1000)),
                (Flow::Call, Some(0x1010)),
                (Flow::Branch, Some(0x1018)),
                (Flow::Branch, Some(0x101C)),
                (Flow::Indirect, None),
                (Flow::Call, None),
                (Flow::End, None),
                (Flow::Next, Some(0x1030)),
                (Flow::Next, None),
            ]
        );
    }

    #[test]
    fn bytes_that_are_no_instruction_do_not_end_the_stream() {
        let found = decode(Arch::X86_64, &[0x06, 0x90, 0x0F, 0xFF]);
        assert_eq!(found[1].0, "nop");
        assert_eq!(found[0].1, Flow::Next);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_decode_to_the_same_number_of_bytes(code in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let insns = Decoder::new(Arch::X86_64).unwrap().decode(&code, 0x1000).unwrap();
            let total: usize = insns.iter().map(|i| usize::from(i.length)).sum();
            proptest::prop_assert_eq!(total, code.len());
        }
    }
}
