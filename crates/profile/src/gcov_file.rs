//! What GCC's two raw coverage files have in common: a header that names the compiler, then tagged
//! records of 32-bit words in the byte order of the machine that wrote them.
//!
//! GCC calls this format its own business and changes it between releases, so files are read only
//! for the releases that are known. What differs among them here: from GCC 12 on lengths count
//! bytes (before: 32-bit words), strings are not padded, and a checksum follows the stamp.

use std::borrow::Cow;
use std::fmt;

use crate::Severity;
use crate::diag::Sink;
use crate::paths::{escaped_utf8, report_not_utf8};

/// First major release of GCC whose files are read.
pub(crate) const GCC_MIN: u32 = 9;
/// Last major release of GCC whose files are read.
pub(crate) const GCC_MAX: u32 = 15;

pub(crate) const TAG_FUNCTION: u32 = 0x0100_0000;
pub(crate) const TAG_BLOCKS: u32 = 0x0141_0000;
pub(crate) const TAG_ARCS: u32 = 0x0143_0000;
pub(crate) const TAG_LINES: u32 = 0x0145_0000;
pub(crate) const TAG_ARC_COUNTERS: u32 = 0x01a1_0000;

/// The compiler release that a file names, such as `B22*` for 12.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version([u8; 4]);

impl Version {
    /// Before a header has been read.
    pub(crate) const UNKNOWN: Self = Self(*b"A00*");

    /// The major release. The first letter counts tens from `A`, the second digit ones.
    fn major(self) -> Option<u32> {
        let [tens, ones, _, _] = self.0;
        let tens = tens.checked_sub(b'A')?;
        let ones = ones.checked_sub(b'0')?;
        (tens < 26 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
    }

    pub(crate) fn lengths_are_bytes(self) -> bool {
        self.major() >= Some(12)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = escaped_utf8(&self.0).into_owned();
        match (self.major(), self.0) {
            (Some(major), [_, _, minor, _]) if minor.is_ascii_digit() => {
                write!(f, "{} (GCC {major}.{})", shown, char::from(minor))
            }
            _ => f.write_str(&shown),
        }
    }
}

/// Reads words from bytes that may end anywhere.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    version: Version,
}

impl<'a> Cursor<'a> {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        Some(if self.big_endian { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) })
    }

    /// A 64-bit counter: two words, the low one first whatever the byte order.
    pub(crate) fn counter(&mut self) -> Option<i64> {
        let low = self.word()?;
        let high = self.word()?;
        Some((u64::from(high) << 32 | u64::from(low)).cast_signed())
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    /// A length as the file counts it, in bytes.
    fn length_in_bytes(&self, length: u32) -> Option<usize> {
        let length = usize::try_from(length).ok()?;
        if self.version.lengths_are_bytes() { Some(length) } else { length.checked_mul(4) }
    }

    /// A string without its closing NULs; `Some(None)` is the format's null string.
    pub(crate) fn string(&mut self) -> Option<Option<&'a [u8]>> {
        let length = self.word()?;
        let length = self.length_in_bytes(length)?;
        if length == 0 {
            return Some(None);
        }
        let padded = self.take(length)?;
        let end = padded.iter().position(|&b| b == 0).unwrap_or(padded.len());
        Some(padded.get(..end))
    }

    /// The next record, or why there is none.
    pub(crate) fn record(&mut self) -> Next<'a> {
        if self.bytes.is_empty() {
            return Next::End;
        }
        let Some(tag) = self.word() else { return Next::Truncated };
        if tag == 0 {
            return Next::End;
        }
        let Some(length) = self.word() else { return Next::Truncated };
        // Counters that are all zero are not written; a negative length says how many they are.
        let absent = length.cast_signed() < 0;
        let length = if absent { length.cast_signed().unsigned_abs() } else { length };
        let Some(len) = self.length_in_bytes(length) else { return Next::Truncated };
        if absent {
            return Next::Record { tag, zeros_len: len, body: self.within(&[]) };
        }
        match self.take(len) {
            Some(body) => Next::Record { tag, zeros_len: 0, body: self.within(body) },
            None => Next::Truncated,
        }
    }

    fn within<'b>(&self, bytes: &'b [u8]) -> Cursor<'b> {
        Cursor { bytes, big_endian: self.big_endian, version: self.version }
    }
}

/// What [`Cursor::record`] found.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    /// A whole record. `zeros_len`: bytes of zero counters that were left unwritten.
    Record { tag: u32, zeros_len: usize, body: Cursor<'a> },
    /// The file ends inside a record.
    Truncated,
    /// The file ends where it should.
    End,
}

/// A file's header.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    pub(crate) version: Version,
    /// Ties a data file to the notes file of the same compilation.
    pub(crate) stamp: u32,
    /// The records.
    pub(crate) rest: Cursor<'a>,
}

/// Reads the header of a file whose magic word is `magic`; else says why not.
pub(crate) fn header<'a>(
    bytes: &'a [u8],
    magic: &[u8; 4],
    name: &str,
    sink: &mut Sink,
) -> Option<Header<'a>> {
    let kind = escaped_utf8(magic);
    let mut reversed = *magic;
    reversed.reverse();
    let big_endian = if bytes.starts_with(magic) {
        true
    } else if bytes.starts_with(&reversed) {
        false
    } else {
        sink.push(Severity::Error, "not-gcov-file", name, || {
            let state = if bytes.len() < 4 { "empty or cut off" } else { "no GCC coverage file" };
            format!("not a .{kind} file ({state}): rebuild with --coverage and run the workload")
        });
        return None;
    };
    let mut rest = Cursor { bytes, big_endian, version: Version::UNKNOWN };
    let header = read_header(&mut rest);
    let cut = |sink: &mut Sink| {
        sink.push(Severity::Error, "truncated", name, || {
            format!("the .{kind} file ends within its header: rebuild, or run the workload again")
        });
    };
    let Some((version, stamp)) = header else {
        cut(sink);
        return None;
    };
    if !version.major().is_some_and(|major| (GCC_MIN..=GCC_MAX).contains(&major)) {
        sink.push(Severity::Error, "unsupported-version", name, || {
            format!(
                "the .{kind} file is of version {version}; GCC {GCC_MIN} to {GCC_MAX} are read: \
                 record with one of these, or import what that compiler's own \
                 `gcov --json-format -b` prints"
            )
        });
        return None;
    }
    rest.version = version;
    // A checksum follows; the Linux kernel writes 0.
    if version.lengths_are_bytes() && rest.word().is_none() {
        cut(sink);
        return None;
    }
    Some(Header { version, stamp, rest })
}

fn read_header(cursor: &mut Cursor<'_>) -> Option<(Version, u32)> {
    let _magic = cursor.word()?;
    let version = Version(cursor.word()?.to_be_bytes());
    Some((version, cursor.word()?))
}

/// `bytes` as text, reporting those that are not UTF-8.
pub(crate) fn text<'a>(bytes: &'a [u8], name: &str, sink: &mut Sink) -> Cow<'a, str> {
    let text = escaped_utf8(bytes);
    if matches!(text, Cow::Owned(_)) {
        report_not_utf8(&text, name, sink);
    }
    text
}

/// Says that a file ends too early.
pub(crate) fn report_truncated(name: &str, sink: &mut Sink, remedy: &str) {
    sink.push(Severity::Warning, "truncated", name, || {
        format!("the file ends within a record; what stands before it is used: {remedy}")
    });
}
