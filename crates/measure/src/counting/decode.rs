//! What an instruction does to the flow of control, told from its first bytes.
//!
//! A dump knows where instructions begin, so no disassembler is needed: prefixes and the opcode
//! decide. x86 after Intel's Software Developer's Manual, volume 2, appendix A; aarch64 after the
//! Arm Architecture Reference Manual, section C4.1.

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isa {
    X86_64,
    X86,
    Aarch64,
}

/// What comes after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next instruction; also for system calls, traps, and strings that repeat themselves.
    Next,
    /// A conditional jump: this address, or the next instruction.
    Branch(u64),
    /// A jump that is always followed, to whatever place.
    Jump,
    Call,
    Return,
}

/// Bytes that [`flow`] wants at least: no instruction of x86 is longer.
pub(crate) const BYTES: usize = 15;

/// The flow of the instruction that `code` begins with; `None` if too little of it is there.
pub(crate) fn flow(isa: Isa, code: &[u8], address: u64) -> Option<Flow> {
    match isa {
        Isa::X86_64 | Isa::X86 => x86(isa, code, address),
        Isa::Aarch64 => {
            let word = u32::from_le_bytes(code.get(..4)?.try_into().ok()?);
            Some(aarch64(word, address))
        }
    }
}

fn x86(isa: Isa, code: &[u8], address: u64) -> Option<Flow> {
    let is_prefix = |byte: u8| {
        matches!(byte, 0x66 | 0x67 | 0xF2 | 0xF3 | 0x26 | 0x2E | 0x36 | 0x3E | 0x64 | 0x65)
            || (isa == Isa::X86_64 && matches!(byte, 0x40..=0x4F))
    };
    let start = code.iter().take(BYTES).position(|&byte| !is_prefix(byte))?;
    let rest = code.get(start..)?;
    let to = |length: usize, by: i64| {
        let target = address.wrapping_add((start + length) as u64).wrapping_add_signed(by);
        if isa == Isa::X86 { target & u64::from(u32::MAX) } else { target }
    };
    Some(match *rest.first()? {
        0x70..=0x7F | 0xE0..=0xE3 => Flow::Branch(to(2, i64::from(rest.get(1)?.cast_signed()))),
        0x0F if matches!(rest.get(1)?, 0x80..=0x8F) => {
            let by = i32::from_le_bytes(rest.get(2..6)?.try_into().ok()?);
            Flow::Branch(to(6, i64::from(by)))
        }
        0xE9..=0xEB => Flow::Jump,
        0xE8 | 0x9A => Flow::Call,
        0xC2 | 0xC3 | 0xCA | 0xCB | 0xCF => Flow::Return,
        0xFF => match rest.get(1)? >> 3 & 7 {
            2 | 3 => Flow::Call,
            4 | 5 => Flow::Jump,
            _ => Flow::Next,
        },
        _ => Flow::Next,
    })
}

fn aarch64(word: u32, address: u64) -> Flow {
    // A field of `bits` bits from bit 5, in words relative to the instruction.
    let to = |bits: u32| {
        let field = (word >> 5) << (32 - bits);
        let words = i64::from(field.cast_signed() >> (32 - bits));
        Flow::Branch(address.wrapping_add_signed(words * 4))
    };
    match word {
        // B.cond, BC.cond; CBZ, CBNZ; TBZ, TBNZ.
        _ if word & 0xFF00_0000 == 0x5400_0000 => to(19),
        _ if word & 0x7E00_0000 == 0x3400_0000 => to(19),
        _ if word & 0x7E00_0000 == 0x3600_0000 => to(14),
        _ if word & 0xFC00_0000 == 0x1400_0000 => Flow::Jump,
        _ if word & 0xFC00_0000 == 0x9400_0000 => Flow::Call,
        // BR, BLR and RET, with and without pointer authentication.
        _ if word & 0xFE9F_F000 == 0xD61F_0000 => match word >> 21 & 3 {
            0 => Flow::Jump,
            1 => Flow::Call,
            _ => Flow::Return,
        },
        _ => Flow::Next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;
    use std::process::Command;

    fn x86_64(code: &[u8]) -> Option<Flow> {
        flow(Isa::X86_64, code, 0x1000)
    }

    #[test]
    fn a_prefix_does_not_hide_a_jump() {
        assert_eq!(x86_64(&[0x74, 0xFE]), Some(Flow::Branch(0x1000)));
        assert_eq!(x86_64(&[0x2E, 0x74, 0x10]), Some(Flow::Branch(0x1013)));
        assert_eq!(x86_64(&[0x0F, 0x85, 0, 1, 0, 0]), Some(Flow::Branch(0x1106)));
        assert_eq!(x86_64(&[0x3E, 0xFF, 0xE0]), Some(Flow::Jump)); // notrack jmp *%rax
        assert_eq!(x86_64(&[0xF2, 0xFF, 0x25, 0, 0, 0, 0]), Some(Flow::Jump)); // bnd jmp, a PLT's
        assert_eq!(x86_64(&[0x41, 0xFF, 0xD4]), Some(Flow::Call)); // call *%r12
        assert_eq!(x86_64(&[0xF3, 0xC3]), Some(Flow::Return));
    }

    #[test]
    fn strings_that_repeat_and_moves_that_depend_are_no_jumps() {
        assert_eq!(x86_64(&[0xF3, 0x48, 0xAB]), Some(Flow::Next)); // rep stos
        assert_eq!(x86_64(&[0x0F, 0x44, 0xC1]), Some(Flow::Next)); // cmove
        assert_eq!(x86_64(&[0xFF, 0xC0]), Some(Flow::Next)); // inc %eax
        assert_eq!(x86_64(&[0xFF, 0x30]), Some(Flow::Next)); // push (%rax)
    }

    #[test]
    fn on_32_bits_what_would_be_a_prefix_is_an_instruction() {
        assert_eq!(flow(Isa::X86, &[0x40, 0x74, 0], 0), Some(Flow::Next)); // inc %eax
        assert_eq!(flow(Isa::X86, &[0x74, 0xF0], 4), Some(Flow::Branch(0xFFFF_FFF6)));
    }

    #[test]
    fn half_an_instruction_is_not_guessed_at() {
        for code in [&[][..], &[0x66], &[0x74], &[0x0F], &[0x0F, 0x84, 0], &[0xFF]] {
            assert_eq!(x86_64(code), None, "{code:x?}");
        }
        assert_eq!(flow(Isa::Aarch64, &[0, 0, 0], 0), None);
    }

    /// Lines of `objdump -d` as (address, bytes, mnemonic, operands).
    fn disassembled(objdump: &str, file: &Path) -> Vec<(u64, Vec<u8>, String, String)> {
        let output = Command::new(objdump).args(["-d", "--wide"]).arg(file).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let row = |line: &str| {
            let mut fields = line.split('\t');
            let address = fields.next()?.trim().strip_suffix(':')?;
            let address = u64::from_str_radix(address, 16).ok()?;
            let hex = fields.next()?.trim();
            let mut bytes: Vec<u8> = Vec::new();
            for piece in hex.split(' ') {
                let mut piece: Vec<u8> = (0..piece.len() / 2)
                    .filter_map(|at| u8::from_str_radix(&piece[at * 2..at * 2 + 2], 16).ok())
                    .collect();
                if piece.len() == 4 {
                    piece.reverse();
                }
                bytes.extend(piece);
            }
            let rest = fields.collect::<Vec<_>>().join(" ");
            const PREFIXES: [&str; 8] =
                ["bnd", "notrack", "repz", "rep", "cs", "ds", "data16", "rex.W"];
            let mut words = rest.split_whitespace().skip_while(|word| PREFIXES.contains(word));
            let mnemonic = words.next()?.split(',').next()?.to_owned();
            Some((address, bytes, mnemonic, words.collect::<Vec<_>>().join(" ")))
        };
        text.lines().filter_map(row).collect()
    }

    /// The address that stands before its symbol's name.
    fn target(operands: &str) -> u64 {
        let last = operands.split('<').next().unwrap().trim().rsplit([' ', ',']).next().unwrap();
        u64::from_str_radix(last.trim_start_matches("0x"), 16).unwrap()
    }

    #[test]
    fn objdump_agrees_on_every_instruction_of_the_c_library() {
        let library = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"];
        let Some(library) = library.iter().map(Path::new).find(|path| path.exists()) else {
            return; // another architecture
        };
        let mut branches = 0;
        for (address, bytes, mnemonic, operand) in disassembled("objdump", library) {
            let wanted = match mnemonic.as_str() {
                "jmp" | "jmpq" => Flow::Jump,
                "call" | "callq" => Flow::Call,
                "ret" | "retq" | "iretq" | "lret" => Flow::Return,
                name if name.starts_with('j') || name.starts_with("loop") => {
                    branches += 1;
                    Flow::Branch(target(&operand))
                }
                _ => Flow::Next,
            };
            let got = flow(Isa::X86_64, &bytes, address);
            assert_eq!(got, Some(wanted), "{address:x}: {mnemonic} {operand} {bytes:x?}");
        }
        assert!(branches > 10_000, "{branches}");
    }

    #[test]
    fn objdump_agrees_on_aarch64() {
        let compiler = "aarch64-linux-gnu-gcc";
        if Command::new(compiler).arg("--version").output().is_err() {
            return; // the cross compiler is not installed
        }
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("flow.o");
        std::fs::write(
            dir.path().join("flow.s"),
            "f: b.eq f\n nop\n cbz x3, f\n cbnz w9, g\n tbz x1, #33, f\n tbnz w2, #4, g\n b f\n \
             bl g\n br x3\n blr x4\n ret\n svc #0\n adr x0, f\n ldr x1, f\n csel x0,x1,x2,eq\n \
             g: b.hi f\n ccmp x0,x1,#0,ne\n retaa\n braaz x1\n blraa x1, x2\n eret\n",
        )
        .unwrap();
        let status = Command::new(compiler)
            .args(["-march=armv8.3-a", "-c", "-o"])
            .args([&object, &dir.path().join("flow.s")])
            .status()
            .unwrap();
        assert!(status.success());
        let rows = disassembled("aarch64-linux-gnu-objdump", &object);
        assert_eq!(rows.len(), 21);
        for (address, bytes, mnemonic, operands) in rows {
            let line = format!("{address:x}: {mnemonic} {operands} {bytes:x?}");
            let got = flow(Isa::Aarch64, &bytes, address).unwrap();
            match mnemonic.as_str() {
                "b" | "br" | "braaz" => assert_eq!(got, Flow::Jump, "{line}"),
                "bl" | "blr" | "blraa" => assert_eq!(got, Flow::Call, "{line}"),
                "ret" | "retaa" => assert_eq!(got, Flow::Return, "{line}"),
                name if name.starts_with("b.") || name.contains("bz") || name.contains("bnz") => {
                    assert_eq!(got, Flow::Branch(target(&operands)), "{line}");
                }
                _ => assert_eq!(got, Flow::Next, "{line}"),
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_some_flow(code in prop::collection::vec(any::<u8>(), 0..20), at: u64) {
            for isa in [Isa::X86_64, Isa::X86, Isa::Aarch64] {
                let known = flow(isa, &code, at).is_some();
                prop_assert!(known || code.len() < 20);
            }
        }
    }
}
