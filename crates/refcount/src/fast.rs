//! Jump on the flags of the instruction that writes: the way of the patches for x86 and arm64.
//!
//! The check is one branch to a block out of line, which the assembler statement names as a label of
//! its own; nothing of the check is on the path that is taken. What a block needs to know besides its
//! counter it reads again: a label cannot receive outputs.

#[cfg(all(refcount_fast, target_arch = "aarch64"))]
mod aarch64;
#[cfg(all(refcount_fast, target_arch = "x86_64"))]
mod x86_64;
#[cfg(all(refcount_fast, target_arch = "aarch64"))]
pub(crate) use aarch64::set_bits;
#[cfg(all(refcount_fast, target_arch = "aarch64"))]
pub use aarch64::{Fast, LlSc, Lse, set_lse_probe, uses_lse};
#[cfg(all(refcount_fast, target_arch = "x86_64"))]
pub use x86_64::Fast;
