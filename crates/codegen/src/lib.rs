//! Does a hint change the machine code, and how?

mod delta;

pub use delta::{CodeDelta, FunctionDelta, SizePair, TakenPair};
