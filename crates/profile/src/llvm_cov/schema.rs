//! The parts of `llvm-cov export`'s JSON that are read. Rows are arrays of numbers and booleans;
//! each becomes a small struct at once, so that memory stays linear in the input.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::Pos;
use crate::json::Count;

#[derive(Deserialize)]
pub(super) struct Document {
    #[serde(default)]
    pub(super) version: String,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    pub(super) data: Vec<Export>,
}

#[derive(Deserialize)]
pub(super) struct Export {
    #[serde(default)]
    pub(super) files: Vec<File>,
    /// Absent with `--skip-functions`.
    #[serde(default)]
    pub(super) functions: Option<Vec<Function>>,
}

#[derive(Deserialize)]
pub(super) struct File {
    pub(super) filename: String,
    #[serde(default)]
    pub(super) segments: Rows<Segment>,
    #[serde(default)]
    pub(super) branches: Rows<Branch>,
}

#[derive(Deserialize)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) count: Count,
    #[serde(default)]
    pub(super) filenames: Vec<String>,
    #[serde(default)]
    pub(super) regions: Rows<Region>,
    #[serde(default)]
    pub(super) branches: Rows<Branch>,
}

/// The same document, read for the expansions of its files alone. They repeat every region of a
/// function at each macro call in it, so they are only read where there are no functions.
#[derive(Deserialize)]
pub(super) struct ExpansionDocument {
    pub(super) data: Vec<ExpansionExport>,
}

#[derive(Deserialize)]
pub(super) struct ExpansionExport {
    #[serde(default)]
    pub(super) files: Vec<ExpansionFile>,
}

#[derive(Deserialize)]
pub(super) struct ExpansionFile {
    #[serde(default)]
    pub(super) expansions: Vec<Expansion>,
}

#[derive(Deserialize)]
pub(super) struct Expansion {
    #[serde(default)]
    pub(super) filenames: Vec<String>,
    #[serde(default)]
    pub(super) target_regions: Rows<Region>,
    #[serde(default)]
    pub(super) branches: Rows<Branch>,
}

/// Where the execution count changes:
/// `[line, column, count, has count, is region entry, is gap region]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) at: Pos,
    pub(super) count: i64,
    pub(super) has_count: bool,
    pub(super) is_entry: bool,
    pub(super) is_gap: bool,
}

/// `[line, column, end line, end column, count, file, expanded file, kind]`; files are indices
/// into the function's `filenames`. A macro's expansion is a "file" of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) start: Pos,
    pub(super) end: Pos,
    pub(super) count: i64,
    pub(super) file: u32,
    pub(super) expanded_file: u32,
    pub(super) kind: i64,
}

/// A region of code.
pub(super) const KIND_CODE: i64 = 0;
/// A macro call or `#include` whose expansion is `expanded_file`.
pub(super) const KIND_EXPANSION: i64 = 1;

/// `[line, column, end line, end column, true count, false count, file, expanded file, kind]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    pub(super) start: Pos,
    pub(super) end: Pos,
    pub(super) taken_true: i64,
    pub(super) taken_false: i64,
    pub(super) file: u32,
}

/// The first numbers of one row; booleans are 0 and 1.
struct Row {
    numbers: [i64; 9],
    len: usize,
}

/// What a row can be read as.
pub(super) trait FromRow: Sized {
    fn from_row(row: &[i64]) -> Option<Self>;
}

fn pos(line: i64, column: i64) -> Option<Pos> {
    Some(Pos { line: u32::try_from(line).ok()?, column: u32::try_from(column).ok()? })
}

impl FromRow for Segment {
    fn from_row(row: &[i64]) -> Option<Self> {
        // Before schema 2.0.1 there was no gap flag.
        let &[line, column, count, has_count, is_entry, ref rest @ ..] = row else { return None };
        Some(Self {
            at: pos(line, column)?,
            count,
            has_count: has_count != 0,
            is_entry: is_entry != 0,
            is_gap: rest.first().is_some_and(|&gap| gap != 0),
        })
    }
}

impl FromRow for Region {
    fn from_row(row: &[i64]) -> Option<Self> {
        let &[line, column, end_line, end_column, count, file, expanded, kind, ..] = row else {
            return None;
        };
        Some(Self {
            start: pos(line, column)?,
            end: pos(end_line, end_column)?,
            count,
            file: u32::try_from(file).ok()?,
            expanded_file: u32::try_from(expanded).ok()?,
            kind,
        })
    }
}

impl FromRow for Branch {
    fn from_row(row: &[i64]) -> Option<Self> {
        let &[line, column, end_line, end_column, taken_true, taken_false, file, ..] = row else {
            return None;
        };
        Some(Self {
            start: pos(line, column)?,
            end: pos(end_line, end_column)?,
            taken_true,
            taken_false,
            file: u32::try_from(file).ok()?,
        })
    }
}

/// Rows that could be read, and how many could not.
pub(super) struct Rows<T> {
    pub(super) good: Vec<T>,
    pub(super) bad: usize,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { good: Vec::new(), bad: 0 }
    }
}

impl<'de, T: FromRow> Deserialize<'de> for Rows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowsVisitor<T>(PhantomData<T>);
        impl<'de, T: FromRow> Visitor<'de> for RowsVisitor<T> {
            type Value = Rows<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of rows")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Rows<T>, A::Error> {
                let mut rows = Rows::default();
                while let Some(row) = seq.next_element::<Row>()? {
                    match row.numbers.get(..row.len).and_then(T::from_row) {
                        Some(row) => rows.good.push(row),
                        None => rows.bad += 1,
                    }
                }
                Ok(rows)
            }
        }
        deserializer.deserialize_seq(RowsVisitor(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;
        impl<'de> Visitor<'de> for RowVisitor {
            type Value = Row;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row of numbers and booleans")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Row, A::Error> {
                let mut row = Row { numbers: [0; 9], len: 0 };
                while let Some(slot) = row.numbers.get_mut(row.len) {
                    let Some(Count(number)) = seq.next_element()? else { return Ok(row) };
                    *slot = number;
                    row.len += 1;
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(row)
            }
        }
        deserializer.deserialize_seq(RowVisitor)
    }
}
