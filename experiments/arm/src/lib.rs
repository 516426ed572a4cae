//! What a measured loop is made of, and how a shared object offers one.
//!
//! A hint is there or not when a crate is compiled, so the two ways of a branch cannot stand in one
//! program as two functions. They can as two shared objects: each is built with and without the
//! hint, both are loaded into one process, and their loops are called in turns as if they were
//! functions of one program. [`export!`] gives such an object its four entry points, which are plain C,
//! so that an object written in C can be one too.
//!
//! Nothing is depended on: an object holds what is measured and little else.
#![no_std]
#![expect(
    unsafe_code,
    reason = "padding between pieces of code, and what the compiler must not look into"
)]

mod place;
mod repeat;

pub use place::{PLACE_BYTES, PLACES, place};
pub use repeat::{times, until};

/// What one object can do, in several scenarios.
pub trait Scenario: Sized {
    /// The state of the scenario of this number; `None` if there is none.
    fn open(scenario: u32) -> Option<Self>;

    /// Does `operations` operations, with its loop at place `AT`, and returns a sum over what they
    /// gave. Timed. Implementations are `#[inline(never)]` and start with [`place()`].
    fn run<const AT: u32>(&mut self, operations: u64) -> u64;

    /// The sum that [`Self::run`] has to return, found in another way. Not timed.
    fn expected(&mut self, operations: u64) -> u64;
}

/// Exports the entry points of an object whose state is `$state`, a [`Scenario`]. The object needs
/// `std`.
///
/// | symbol | is |
/// |---|---|
/// | `arm_open(u32) -> *mut` | the state of a scenario, or null if there is none |
/// | `arm_run(*mut, u32, u64) -> u64` | [`Scenario::run`] at a place, 0 to 3 |
/// | `arm_expected(*mut, u64) -> u64` | [`Scenario::expected`] |
/// | `arm_close(*mut)` | frees the state |
#[macro_export]
macro_rules! export {
    ($state:ty) => {
        /// The state of a scenario; null if there is none of this number.
        #[unsafe(no_mangle)]
        pub extern "C" fn arm_open(scenario: u32) -> *mut $state {
            let state = <$state as $crate::Scenario>::open(scenario);
            state.map_or(::core::ptr::null_mut(), |state| Box::into_raw(Box::new(state)))
        }

        /// Runs `operations` operations at a place; what they gave.
        ///
        /// # Safety
        /// `state` came from [`arm_open`], was not closed, and is used by nobody else meanwhile.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn arm_run(state: *mut $state, at: u32, operations: u64) -> u64 {
            use $crate::Scenario;
            // SAFETY: the caller passes a live state that it alone uses.
            let state = unsafe { &mut *state };
            match at {
                0 => state.run::<0>(operations),
                1 => state.run::<1>(operations),
                2 => state.run::<2>(operations),
                _ => state.run::<3>(operations),
            }
        }

        /// What [`arm_run`] has to return.
        ///
        /// # Safety
        /// As of [`arm_run`].
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn arm_expected(state: *mut $state, operations: u64) -> u64 {
            // SAFETY: the caller passes a live state that it alone uses.
            $crate::Scenario::expected(unsafe { &mut *state }, operations)
        }

        /// Frees the state.
        ///
        /// # Safety
        /// `state` came from [`arm_open`] and is not used again.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn arm_close(state: *mut $state) {
            // SAFETY: `arm_open` made it from a box, and the caller gives it up.
            drop(unsafe { Box::from_raw(state) });
        }
    };
}
