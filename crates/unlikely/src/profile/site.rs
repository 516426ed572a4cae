//! One hint in the text, and how often it was right and wrong.

#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64 as Word;
#[cfg(not(target_has_atomic = "64"))]
use core::sync::atomic::AtomicUsize as Word;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr};

use super::table::TABLE;

/// What a hint promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hint {
    /// That the condition is true.
    Likely,
    /// That the condition is false.
    Unlikely,
}

impl Hint {
    /// The macro's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Likely => "likely",
            Self::Unlikely => "unlikely",
        }
    }

    /// The outcome that it promises.
    #[must_use]
    pub const fn promises(self) -> bool {
        matches!(self, Self::Likely)
    }
}

/// How often a hint was right and wrong. Each stops at its counter's maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counts {
    /// Evaluations with the promised outcome.
    pub right: u64,
    /// Evaluations with the other outcome.
    pub wrong: u64,
}

/// One use of [`likely!`](crate::likely!) or [`unlikely!`](crate::unlikely!).
///
/// Made by the macros; one of your own that shall be in the table must be a `static`.
///
/// Its three kinds of atomics:
///
/// | atomic | states | who moves it, and how |
/// |---|---|---|
/// | `counts[right]` | 0 … maximum | any evaluation adds 1, relaxed; at the maximum it stays; `reset` stores 0 |
/// | `listed` | false → true, once | the thread whose swap finds false puts the site into the table |
/// | `next` | null → the site enlisted before, once | written by that thread alone, before it publishes the site |
#[derive(Debug)]
pub struct Site {
    hint: Hint,
    file: &'static str,
    line: u32,
    column: u32,
    module: &'static str,
    condition: &'static str,
    /// Wrong, right: indexed by the outcome, so that counting needs no branch of its own.
    counts: [Counter; 2],
    listed: AtomicBool,
    pub(super) next: AtomicPtr<Site>,
}

impl Site {
    /// A site that has counted nothing and is in no table yet. `line` and `column` count from 1.
    #[must_use]
    pub const fn new(
        hint: Hint,
        file: &'static str,
        line: u32,
        column: u32,
        module: &'static str,
        condition: &'static str,
    ) -> Self {
        Self {
            hint,
            file,
            line,
            column,
            module,
            condition,
            counts: [Counter::ZERO, Counter::ZERO],
            listed: AtomicBool::new(false),
            next: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// What it promises.
    #[must_use]
    pub const fn hint(&self) -> Hint {
        self.hint
    }

    /// The source file as the compiler was given it: mostly relative to the workspace.
    #[must_use]
    pub const fn file(&self) -> &'static str {
        self.file
    }

    /// The line of the macro call, from 1.
    #[must_use]
    pub const fn line(&self) -> u32 {
        self.line
    }

    /// The column of the macro call in characters, from 1.
    #[must_use]
    pub const fn column(&self) -> u32 {
        self.column
    }

    /// The module that holds it.
    #[must_use]
    pub const fn module(&self) -> &'static str {
        self.module
    }

    /// The condition, as the compiler prints it.
    #[must_use]
    pub const fn condition(&self) -> &'static str {
        self.condition
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let [wrong, right] = &self.counts;
        Counts { right: right.get(), wrong: wrong.get() }
    }

    /// Counts one evaluation with this outcome.
    #[inline]
    pub fn record(&'static self, outcome: bool) {
        if !self.listed.load(Relaxed) {
            self.enlist();
        }
        let right = outcome == self.hint.promises();
        self.counts[usize::from(right)].add_one();
    }

    /// Puts the site into the table, if it is not there.
    #[cold]
    pub fn enlist(&'static self) {
        // Relaxed, as the winner alone goes on and publishes what it writes by the table's head.
        if self.listed.swap(true, Relaxed) {
            return;
        }
        TABLE.push(self);
        #[cfg(feature = "std")]
        super::file::write_at_exit();
    }

    /// Starts to count from 0 again.
    pub(super) fn reset(&self) {
        for counter in &self.counts {
            counter.0.store(0, Relaxed);
        }
    }
}

/// The value of a condition, counted at its site.
#[inline]
#[must_use]
pub fn counted(outcome: bool, site: &'static Site) -> bool {
    site.record(outcome);
    outcome
}

/// A number that is only ever added to.
#[derive(Debug)]
struct Counter(Word);

impl Counter {
    /// A counter that has counted nothing.
    #[expect(clippy::declare_interior_mutable_const, reason = "what each new counter is made of")]
    const ZERO: Self = Self(Word::new(0));

    fn get(&self) -> u64 {
        // `From` is not there for the `usize` of targets without an atomic of 64 bits.
        #[cfg_attr(target_has_atomic = "64", expect(clippy::unnecessary_cast))]
        {
            self.0.load(Relaxed) as u64
        }
    }

    #[inline]
    fn add_one(&self) {
        // The one that finds the maximum puts it back. Others may add meanwhile; that is lost, and
        // it is far below what the maximum means by then.
        let before = self.0.fetch_add(1, Relaxed);
        if before.wrapping_add(1) == 0 {
            self.0.store(before, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaks, so that each test has sites of its own.
    fn site(hint: Hint) -> &'static Site {
        std::boxed::Box::leak(std::boxed::Box::new(Site::new(hint, "a.rs", 1, 2, "a", "x")))
    }

    #[test]
    fn right_is_what_the_hint_promises() {
        for (hint, outcome, right, wrong) in [
            (Hint::Likely, true, 1, 0),
            (Hint::Likely, false, 0, 1),
            (Hint::Unlikely, true, 0, 1),
            (Hint::Unlikely, false, 1, 0),
        ] {
            let site = site(hint);
            assert_eq!(counted(outcome, site), outcome, "the value is the condition's");
            assert_eq!(site.counts(), Counts { right, wrong }, "{hint:?} {outcome}");
        }
    }

    #[test]
    fn the_first_execution_enlists_a_site_that_no_loader_knows() {
        let site = site(Hint::Likely);
        let listed = || super::super::sites().filter(|s| core::ptr::eq(*s, site)).count();
        assert_eq!(listed(), 0);
        site.record(true);
        site.record(true);
        assert_eq!(listed(), 1);
    }

    #[test]
    fn a_full_counter_stays_full() {
        let counter = Counter(Word::new(Word::new(0).into_inner().wrapping_sub(2)));
        counter.add_one();
        let full = counter.get();
        counter.add_one();
        counter.add_one();
        assert_eq!(counter.get(), full);
    }
}
