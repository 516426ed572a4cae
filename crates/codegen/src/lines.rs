//! The line table: which place in the source each instruction was made from.
//!
//! Sections of a relocatable object overlap at address 0, so the table's addresses are relocated
//! to the bases that [`crate::object`] gives. The line programs are walked one after the other
//! straight from `.debug_line`; the debugging entries that name them are not needed.

use std::path::Path;

use gimli::{AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LittleEndian};

use crate::command::plain;
use crate::error::ObjectError;
use crate::object::{Image, Section};
use crate::unit::Pos;

/// The instructions from `start` up to `end` come from `pos` of file number `file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Index in [`Lines::files`].
    pub(crate) file: usize,
    /// Column 0 means that only the line is known.
    pub(crate) pos: Pos,
}

/// The line table of one object.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Plain paths as the compiler wrote them, joined with their folders.
    pub(crate) files: Vec<String>,
    /// Sorted by address, without overlaps; code without a source line has no row.
    rows: Vec<Row>,
}

/// Longest file name read: the longest path Linux takes.
const NAME_BYTES_MAX: usize = 4096;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The strings that line tables refer to.
struct Strings<'a> {
    line: &'a [u8],
    plain: &'a [u8],
}

impl Lines {
    /// Reads the line table of `image`, compiled in `dir`.
    pub(crate) fn parse(image: &Image<'_>, dir: &Path) -> Result<Self, ObjectError> {
        let section = |name: &str| image.sections.iter().find(|s| s.name == name);
        let strings = Strings {
            line: section(".debug_line_str").map_or(&[], |s| s.data),
            plain: section(".debug_str").map_or(&[], |s| s.data),
        };
        let mut lines = Self::default();
        if let Some(table) = section(".debug_line") {
            lines.read(&relocated(image, table), &strings, dir)?;
        }
        lines.rows.sort_by_key(|r| r.start);
        let mut free = 0;
        lines.rows.retain(|row| {
            let apart = row.start >= free;
            free = free.max(row.end);
            apart
        });
        Ok(lines)
    }

    /// The row that covers `addr`.
    pub(crate) fn at(&self, addr: u64) -> Option<&Row> {
        let after = self.rows.partition_point(|r| r.start <= addr);
        let row = self.rows.get(after.checked_sub(1)?)?;
        (addr < row.end).then_some(row)
    }

    /// Numbers of the files that are `file` of the tree whose root was `root` (as mapped into the
    /// object). A path the project maps elsewhere is recognised by its end.
    pub(crate) fn files_named(&self, root: &Path, file: &str) -> Vec<usize> {
        let file = plain(Path::new(file));
        let same = |path: &str| {
            let path = Path::new(path);
            match path.strip_prefix(root) {
                Ok(rest) => rest == file,
                Err(_) => path.ends_with(&file),
            }
        };
        self.files.iter().enumerate().filter(|(_, f)| same(f)).map(|(i, _)| i).collect()
    }

    fn read(&mut self, table: &[u8], strings: &Strings<'_>, dir: &Path) -> Result<(), ObjectError> {
        let debug_line = DebugLine::new(table, LittleEndian);
        let mut offset = 0;
        while offset < table.len() {
            let program = debug_line
                .program(DebugLineOffset(offset), 8, None, None)
                .map_err(ObjectError::malformed)?;
            let header = program.header();
            let length_field = usize::from(header.format().initial_length_size());
            let size = header.unit_length().saturating_add(length_field);
            let first_file = self.files.len();
            let zero_based = header.version() >= 5;
            let names = header.file_names();
            for file in names {
                let folder = file.directory(header).and_then(|d| strings.text(&d));
                let name = strings.text(&file.path_name()).unwrap_or_default();
                let path = dir.join(folder.unwrap_or_default()).join(name);
                self.files.push(plain(&path).to_string_lossy().into_owned());
            }
            let count = self.files.len() - first_file;
            let number = |index: u64| {
                let index = index.checked_sub(u64::from(!zero_based))?;
                let index = usize::try_from(index).ok()?;
                (index < count).then_some(first_file + index)
            };
            self.walk(program, number)?;
            offset = offset.saturating_add(size.max(1));
        }
        Ok(())
    }

    fn walk(
        &mut self,
        program: gimli::IncompleteLineProgram<Slice<'_>>,
        number: impl Fn(u64) -> Option<usize>,
    ) -> Result<(), ObjectError> {
        let mut rows = program.rows();
        let mut open: Option<(u64, Option<(usize, Pos)>)> = None;
        while let Some((_, row)) = rows.next_row().map_err(ObjectError::malformed)? {
            // Of several rows at one address the last is what the instruction comes from.
            if let Some((start, Some((file, pos)))) = open
                && start < row.address()
            {
                self.rows.push(Row { start, end: row.address(), file, pos });
            }
            let line = row.line().and_then(|l| u32::try_from(l.get()).ok());
            let column = match row.column() {
                gimli::ColumnType::LeftEdge => 0,
                gimli::ColumnType::Column(c) => u32::try_from(c.get()).unwrap_or(0),
            };
            let place =
                line.and_then(|line| Some((number(row.file_index())?, Pos { line, column })));
            open = (!row.end_sequence()).then_some((row.address(), place));
        }
        Ok(())
    }
}

impl Strings<'_> {
    fn text(&self, value: &AttributeValue<Slice<'_>>) -> Option<String> {
        let from = |section: &[u8], offset: usize| {
            let bytes = section.get(offset..)?.split(|&b| b == 0).next()?;
            let bytes = bytes.get(..NAME_BYTES_MAX).unwrap_or(bytes);
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        match value {
            AttributeValue::String(text) => Some(text.to_string_lossy().into_owned()),
            AttributeValue::DebugLineStrRef(offset) => from(self.line, offset.0),
            AttributeValue::DebugStrRef(offset) => from(self.plain, offset.0),
            _ => None,
        }
    }
}

/// The bytes of a debug section with absolute relocations of 4 and 8 bytes applied: R_X86_64_64
/// and R_X86_64_32, R_AARCH64_ABS64 and R_AARCH64_ABS32.
fn relocated(image: &Image<'_>, section: &Section<'_>) -> Vec<u8> {
    let mut data = section.data.to_vec();
    for reloc in &section.relocs {
        let bytes = match reloc.kind {
            1 | 257 => 8,
            10 | 258 => 4,
            _ => continue,
        };
        let Some(symbol) = reloc.symbol.and_then(|s| image.symbols.get(s)) else { continue };
        let base = symbol.section.and_then(|s| image.sections.get(s)).map_or(0, |s| s.base);
        let value = base.wrapping_add(symbol.value).wrapping_add_signed(reloc.addend).to_le_bytes();
        let field = usize::try_from(reloc.offset).ok().and_then(|at| {
            let end = at.checked_add(bytes)?;
            data.get_mut(at..end)
        });
        if let (Some(field), Some(value)) = (field, value.get(..bytes)) {
            field.copy_from_slice(value);
        }
    }
    data
}
