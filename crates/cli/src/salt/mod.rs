//! Salted builds: the same program with its functions elsewhere.
//!
//! Where code happens to lie moves results by more than most hints do, so one build of each arm
//! cannot tell a hint from an accident of layout. Each arm is therefore built several times, each
//! time with another *salt*, a number; a pair of builds with the same salt is one unit of the
//! statistics. Salt 0 is the plain build, called as if nothing of this were there. Any other salt
//! decides, and always in the same way:
//!
//! - **Function alignment.** `-falign-functions=` 16, 32 or 64, after the project's own flags, so
//!   that it wins over an alignment of the project's. The alignment is part of the layout that is
//!   drawn, and both arms of a pair have the same.
//! - **Function order**, within and across units. `-ffunction-sections` gives each function a
//!   section of its own; in the object that comes out of the compiler, `.text.NAME` is renamed to
//!   `.text.sorted.KEY.NAME`, where the key is a hash of salt and name. GNU ld (since 2.36) and gold
//!   place these sections by name. LLD does not, and gets `--symbol-ordering-file` with the same
//!   order. The key hangs on nothing but salt and name: a function that one arm has and the other
//!   has not leaves the order of all others as it is.
//!
//! What the compiler placed apart stays apart: `.text.unlikely`, `.text.hot`, `.text.startup`,
//! `.text.exit` and `.text.split` keep their names, so that the cold block of a hint stays cold.
//! Only a section named after a function that it holds is renamed; sections that the source names
//! itself are not.
//!
//! `-ffunction-sections` by itself changes the code a little: calls and jumps between functions of
//! a unit are left to the linker, section anchors go away, and what the linker's own garbage
//! collection takes may be more. This is so in every salted build, thus in both arms; salted builds
//! are compared with each other, never with a plain one.
//!
//! Left alone, and written down with the reason: objects of LTO (their code is made at the link,
//! which only the alignment reaches), 32-bit objects, what is compiled from standard input or to
//! assembly. Left alone without a word: assembler source, objects that a compile-and-link keeps
//! (`-save-temps`), and the order that other linkers than these three choose; [`effect`] shows it
//! when nothing moved. A compiler that refuses the flags is called again without them, and a linker
//! without its order, so no call fails that would succeed in the plain build. One thing cannot be
//! seen from here: a linker script of the project's own must collect `.text.*`, not only `.text`.
//! Rust is not salted, as `rustc` does not ask `$CC` for its code; a build command can
//! do it through LLD, as it finds the number in `UNLIKELY_SALT`:
//! `-Clink-arg=-Wl,--shuffle-sections=.text.*=$UNLIKELY_SALT` for a salt that is not 0.

mod call;
pub(crate) mod command;
pub(crate) mod effect;
mod link;
mod object;
mod record;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use call::{compile, link};
pub(crate) use record::Record;

/// Alignments that are drawn from, in bytes: a function begins anywhere, or in one half, or at the
/// start of a 64-byte line of the instruction cache.
const ALIGNMENTS: [u8; 3] = [16, 32, 64];
/// What a moved section's name begins with.
const SORTED: &str = ".text.sorted.";

/// How a wrapped compiler salts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Salting {
    /// Never 0.
    pub(crate) salt: u64,
    /// Where it writes down what became of each object, one JSON object a line.
    pub(crate) record: PathBuf,
    /// The linkers it may call, by the names that compilers know.
    pub(crate) linkers: BTreeMap<String, link::Linker>,
}

/// The orders of `salt` for a wrapped `compiler`; none for salt 0.
pub(crate) fn salting(salt: u64, compiler: &Path, record: PathBuf) -> Option<Salting> {
    (salt != 0).then(|| Salting { salt, record, linkers: link::linkers(compiler) })
}

/// Flags of every compilation with this salt.
fn flags(salt: u64) -> [String; 2] {
    let hash = blake3::derive_key("unlikely: function alignment of a salted build", &bytes(salt));
    let drawn = usize::from(hash[0]) % ALIGNMENTS.len();
    let alignment = ALIGNMENTS.get(drawn).copied().unwrap_or(16);
    ["-ffunction-sections".to_owned(), format!("-falign-functions={alignment}")]
}

/// Where the function `name` is placed: functions lie in the order of their keys.
fn key(salt: u64, name: &[u8]) -> String {
    let mut hasher =
        blake3::Hasher::new_derive_key("unlikely: place of a function in a salted build");
    hasher.update(&bytes(salt));
    hasher.update(name);
    hasher.finalize().to_hex()[..16].to_owned()
}

fn bytes(salt: u64) -> [u8; 8] {
    salt.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salts_draw_every_alignment() {
        let drawn = |salt| flags(salt)[1].clone();
        for alignment in ALIGNMENTS {
            let flag = format!("-falign-functions={alignment}");
            assert!((1..=12).any(|salt| drawn(salt) == flag), "{flag}");
        }
        assert_eq!(drawn(7), drawn(7));
    }

    #[test]
    fn a_key_hangs_on_salt_and_name_and_never_changes_between_releases() {
        assert_ne!(key(1, b"main"), key(2, b"main"));
        assert_ne!(key(1, b"main"), key(1, b"other"));
        // A campaign that is resumed builds again what it has measured: not to be edited.
        assert_eq!(key(1, b"main"), "44906132fe2710fc");
    }
}
