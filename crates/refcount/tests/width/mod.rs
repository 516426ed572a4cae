//! The two widths, with their values as signed numbers of one type.

use refcount::{Backend, Counter, Word};

pub(crate) trait Width: Word {
    fn of(n: i128) -> Self;
    fn signed(self) -> i128;
    fn counter<B: Backend<Self>>(n: i128) -> Counter<B, Self>;
}

macro_rules! width {
    ($word:ty, $signed:ty) => {
        impl Width for $word {
            fn of(n: i128) -> Self {
                n as $word
            }
            fn signed(self) -> i128 {
                self as $signed as i128
            }
            fn counter<B: Backend<Self>>(n: i128) -> Counter<B, Self> {
                Counter::<B, $word>::new(n as $word)
            }
        }
    };
}
width!(u32, i32);
width!(u64, i64);
