//! What the compiler made of a hot path, as facts that a test can assert.
//!
//! The primitives promise that a check costs one branch that is not taken: no call, nothing put on
//! the stack, the handler out of line. Such a promise is kept by the compiler and by the assembler
//! statements together, and is lost without any test of behaviour noticing. So it is read from the
//! machine code: a [`Probe`] is a small crate that uses the primitive and exports functions, built
//! for one [`Target`]; [`Asm::function`] finds one of them, and [`Function::hot_path`] walks it
//! from its entry with no conditional branch taken, until it returns. [`HotPath::check`] holds
//! what was met on the way against a [`Shape`].
//!
//! ```no_run
//! use unlikely_asmcheck::{Probe, Shape, Target};
//!
//! let probe = Probe::new(
//!     "use core::sync::atomic::{AtomicU32, Ordering};
//!      #[unsafe(no_mangle)] pub fn bump(n: &AtomicU32) { n.fetch_add(1, Ordering::Relaxed); }",
//! );
//! let asm = probe.build(Target::X86_64)?;
//! asm.function("bump")?.hot_path()?.check(Shape { branches: 0, loops: 0 })?;
//! # Ok::<(), unlikely_asmcheck::AsmError>(())
//! ```
//!
//! Only for tests; nothing that ships depends on it. For aarch64 it needs what
//! `scripts/install-aarch64` installs. Decoding is `unlikely-codegen`'s.

mod error;
mod function;
mod path;
mod probe;

pub use error::AsmError;
pub use function::{Asm, Function};
pub use path::{Branch, HotPath, Shape, Side};
pub use probe::{Probe, Target};
