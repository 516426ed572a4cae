//! aarch64, by whichever of its two kinds of atomics the CPU has.
//!
//! Every ARMv8 CPU has exclusive loads and stores ([`LlSc`]). Those since ARMv8.1 also have the large
//! system extensions ([`Lse`]): one instruction, carried out where the cache line is, which is what
//! scales under contention. A program is commonly built for all of them, so [`Fast`] looks at run
//! time: one byte (`choice`) that is asked for once and then read before each operation. Compilers do
//! the same behind a call for each atomic; here both ways are in line, the newer one straight ahead.
//!
//! All that changes a counter is in assembly, the compare-exchange too. What the compiler makes of an
//! atomic follows the flags of the build: for `+lse` it would emit instructions that an older CPU does
//! not know. So a build for `+lse` that happens to run on one counts all the same.

use core::sync::atomic::Ordering;

use crate::backend::{Backend, sealed};
use crate::word::Word;

mod choice;
mod ll_sc;
mod lse;

pub use choice::{set_lse_probe, uses_lse};
pub use ll_sc::LlSc;
pub(crate) use ll_sc::set_bits;
pub use lse::Lse;

/// Flags and a branch out of line, with the atomics that this CPU has.
pub enum Fast {}

impl<W: Word> Backend<W> for Fast
where
    LlSc: Backend<W> + sealed::Backend<W>,
    Lse: Backend<W> + sealed::Backend<W>,
{
    const NAME: &'static str = "fast";
}

/// Operations of a backend, each by the way that was chosen.
///
/// What is done while the choice is open is a function of its own that takes the very arguments, so
/// that it is jumped to: a call that comes back here would cost every operation a stack frame.
macro_rules! chosen {
    ($(fn $operation:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        #[track_caller]
        fn $operation($($argument: $kind),*) $(-> $result)? {
            /// Chooses, then does the operation that found the choice open. The exclusive one is
            /// right whatever was chosen.
            #[cold]
            #[inline(never)]
            #[track_caller]
            fn choose_and<W: Word>($($argument: $kind),*) $(-> $result)?
            where
                LlSc: sealed::Backend<W>,
            {
                choice::choose();
                <LlSc as sealed::Backend<W>>::$operation($($argument),*)
            }

            let choice = choice::now();
            if unlikely::likely!(choice == choice::LSE) {
                <Lse as sealed::Backend<W>>::$operation($($argument),*)
            } else if unlikely::unlikely!(choice::is_open(choice)) {
                choose_and::<W>($($argument),*)
            } else {
                <LlSc as sealed::Backend<W>>::$operation($($argument),*)
            }
        }
    )*};
}

/// The conditional forms too are chosen as a whole, not exchange by exchange.
impl<W: Word> sealed::Backend<W> for Fast
where
    LlSc: sealed::Backend<W>,
    Lse: sealed::Backend<W>,
{
    chosen! {
        fn inc(counter: &W::Atomic);
        fn add(counter: &W::Atomic, i: W);
        fn dec(counter: &W::Atomic);
        fn dec_and_test(counter: &W::Atomic) -> bool;
        fn sub_and_test(counter: &W::Atomic, i: W) -> bool;
        fn compare_exchange(counter: &W::Atomic, old: W, new: W, success: Ordering) -> Result<W, W>;
        fn add_not_zero(counter: &W::Atomic, i: W, limit: W, success: Ordering) -> bool;
        fn dec_if_one(counter: &W::Atomic) -> bool;
        fn dec_not_one(counter: &W::Atomic) -> bool;
    }
}
