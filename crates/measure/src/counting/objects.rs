//! The machine code behind a dump's addresses, read from the programs and libraries that ran.
//!
//! Only files that the run itself mapped are opened, and only plain ones; what cannot be read is
//! known not to be known.

use super::decode::{BYTES, Flow, Isa, flow};
use object::{Architecture, Object, ObjectSegment, ReadCache, SegmentFlags, elf};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

/// Bytes of executable segments that are read of one file.
const CODE_MAX: u64 = 1 << 30;

/// One file's executable segments.
#[derive(Debug)]
struct Code {
    isa: Isa,
    /// Where each segment lies in the file's own addresses, and its bytes.
    segments: Vec<(u64, Vec<u8>)>,
}

impl Code {
    fn read(path: &Path) -> Option<Self> {
        // A pipe or a device would not end.
        fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let isa = match file.architecture() {
            Architecture::X86_64 | Architecture::X86_64_X32 => Isa::X86_64,
            Architecture::I386 => Isa::X86,
            Architecture::Aarch64 if file.is_little_endian() => Isa::Aarch64,
            _ => return None,
        };
        let runs = |flags| match flags {
            SegmentFlags::Elf { p_flags, .. } => p_flags.0 & elf::PF_X.0 != 0,
            _ => false,
        };
        let mut left = CODE_MAX;
        let mut segments = Vec::new();
        for segment in file.segments().filter(|segment| runs(segment.flags())) {
            left = left.checked_sub(segment.file_range().1)?;
            segments.push((segment.address(), segment.data().ok()?.to_vec()));
        }
        Some(Self { isa, segments })
    }

    /// The code from `address` on; `None` if there is none.
    fn at(&self, address: u64) -> Option<&[u8]> {
        self.segments.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|rest| !rest.is_empty())
        })
    }
}

/// All files of a run, each read once and when first asked for.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    files: HashMap<String, Option<Code>>,
}

impl Objects {
    /// The flow of the instruction at `address` of the file `path`; `None` where its bytes cannot
    /// be read.
    pub(crate) fn flow(&mut self, path: &str, address: u64) -> Option<Flow> {
        let code = self.code(path)?;
        let rest = code.at(address)?;
        flow(code.isa, rest.get(..BYTES).unwrap_or(rest), address)
    }

    /// Whether the file `path` has code at `address`.
    pub(crate) fn holds(&mut self, path: &str, address: u64) -> bool {
        self.code(path).is_some_and(|code| code.at(address).is_some())
    }

    fn code(&mut self, path: &str) -> Option<&Code> {
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), Code::read(Path::new(path)));
        }
        self.files.get(path)?.as_ref()
    }
}
