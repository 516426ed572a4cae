//! A notes file and a data file in one input: the length of the first in two bytes (low one
//! first), then both.
#![no_main]

use unlikely_profile::{gcda, gcno};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (notes, data) = rest.split_at(length);
    let (graphs, _) = gcno::read(notes, "input.gcno");
    let (mut profile, _) = gcda::merge(Some(&graphs), data, "input.gcda");
    profile.merge(profile.clone());
});
