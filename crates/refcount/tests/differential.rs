//! Every backend against the specification, on random sequences of all operations.
//!
//! [`Fetch`] is the executable specification, and is itself held against [`Model`]: plain integers,
//! written from the table of operations and not from the code. What must be the same is all that a
//! caller can notice: what an operation returns, the value it leaves, which faults it reports, and at
//! which line.

mod reporting;
mod width;

use std::sync::Mutex;

use proptest::prelude::*;
use refcount::{Backend, Counter, DefaultBackend, Fetch, Full, Kind, Word, rearm};
use reporting::Turn;
use width::Width;

/// An operation with its arguments, as an unsigned number of the width.
#[derive(Clone, Copy, Debug)]
enum Op {
    Set(i128),
    SetRelease(i128),
    Read,
    ReadAcquire,
    Inc,
    Add(i128),
    IncNotZero,
    IncNotZeroAcquire,
    AddNotZero(i128),
    AddNotZeroAcquire(i128),
    IncNotZeroLimited(i128),
    IncNotZeroLimitedAcquire(i128),
    AddNotZeroLimited(i128, i128),
    AddNotZeroLimitedAcquire(i128, i128),
    Dec,
    DecAndTest,
    SubAndTest(i128),
    DecIfOne,
    DecNotOne,
    DecAndLock,
}

/// What an operation gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Returned {
    Nothing,
    Bool(bool),
    /// A count, signed.
    Count(i128),
}

impl From<()> for Returned {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl From<bool> for Returned {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

/// All that one operation shows.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    returned: Returned,
    /// Signed.
    left: i128,
    /// Kind, file, line, column.
    faults: Vec<(Kind, &'static str, u32, u32)>,
}

/// Makes one operation; what it returned, and the line it was made at.
fn perform<B: Backend<W>, W: Width>(counter: &Counter<B, W>, op: Op) -> (Returned, u32) {
    /// The call must stand on the line of the macro, which rustfmt keeps short ones on.
    macro_rules! at {
        ($call:expr) => {
            (Returned::from($call), line!())
        };
    }
    let c = counter;
    let w = W::of;
    match op {
        Op::Set(n) => at!(c.set(w(n))),
        Op::SetRelease(n) => at!(c.set_release(w(n))),
        Op::Read => (Returned::Count(c.read().signed()), line!()),
        Op::ReadAcquire => (Returned::Count(c.read_acquire().signed()), line!()),
        Op::Inc => at!(c.inc()),
        Op::Add(i) => at!(c.add(w(i))),
        Op::IncNotZero => at!(c.inc_not_zero()),
        Op::IncNotZeroAcquire => at!(c.inc_not_zero_acquire()),
        Op::AddNotZero(i) => at!(c.add_not_zero(w(i))),
        Op::AddNotZeroAcquire(i) => at!(c.add_not_zero_acquire(w(i))),
        Op::IncNotZeroLimited(l) => at!(c.inc_not_zero_limited(w(l))),
        Op::IncNotZeroLimitedAcquire(l) => at!(c.inc_not_zero_limited_acquire(w(l))),
        Op::AddNotZeroLimited(i, l) => at!(c.add_not_zero_limited(w(i), w(l))),
        Op::AddNotZeroLimitedAcquire(i, l) => at!(c.add_not_zero_limited_acquire(w(i), w(l))),
        Op::Dec => at!(c.dec()),
        Op::DecAndTest => at!(c.dec_and_test()),
        Op::SubAndTest(i) => at!(c.sub_and_test(w(i))),
        Op::DecIfOne => at!(c.dec_if_one()),
        Op::DecNotOne => at!(c.dec_not_one()),
        Op::DecAndLock => {
            let lock = Mutex::new(());
            let (guard, line) = (c.dec_and_lock(&lock), line!());
            assert_eq!(guard.is_some(), lock.try_lock().is_err(), "locked if and only if the last");
            (Returned::Bool(guard.is_some()), line)
        }
    }
}

/// Makes one operation with every kind armed; all that it showed. Each fault must name the line of
/// the call.
fn observe<B: Backend<W>, W: Width>(turn: &Turn, counter: &Counter<B, W>, op: Op) -> Seen {
    rearm();
    let (returned, line) = perform(counter, op);
    let faults = turn.faults();
    for fault in &faults {
        assert_eq!((fault.location.file(), fault.location.line()), (file!(), line), "{op:?}");
        assert_eq!(fault.counter, std::ptr::from_ref(counter).addr(), "{op:?}");
    }
    let place =
        |f: &refcount::Fault| (f.kind, f.location.file(), f.location.line(), f.location.column());
    Seen { returned, left: counter.read().signed(), faults: faults.iter().map(place).collect() }
}

/// A counter as the table has it: one signed number that nobody else changes.
struct Model {
    count: i128,
    max: i128,
    saturated: i128,
}

impl Model {
    fn fault(&mut self, kind: Kind) -> Option<Kind> {
        self.count = self.saturated;
        Some(kind)
    }

    fn add(&mut self, i: i128) -> Option<Kind> {
        match self.count {
            0 => self.fault(Kind::AddUseAfterFree),
            n if n < 0 || n + i > self.max => self.fault(Kind::AddOverflow),
            n => {
                self.count = n + i;
                None
            }
        }
    }

    fn add_not_zero(&mut self, i: i128, limit: i128) -> (bool, Option<Kind>) {
        match self.count {
            0 => (false, None),
            n if n > 0 && limit < self.max && n + i > limit => (false, None),
            n if n < 0 || n + i > self.max => (true, self.fault(Kind::AddNotZeroOverflow)),
            n => {
                self.count = n + i;
                (true, None)
            }
        }
    }

    fn sub_and_test(&mut self, i: i128) -> (bool, Option<Kind>) {
        if self.count <= 0 || self.count < i {
            return (false, self.fault(Kind::SubUseAfterFree));
        }
        self.count -= i;
        (self.count == 0, None)
    }

    fn dec(&mut self) -> Option<Kind> {
        if self.count <= 1 {
            return self.fault(Kind::DecLeak);
        }
        self.count -= 1;
        None
    }

    fn dec_if_one(&mut self) -> bool {
        let one = self.count == 1;
        self.count -= i128::from(one);
        one
    }

    fn dec_not_one(&mut self) -> (bool, Option<Kind>) {
        match self.count {
            1 => (false, None),
            0 => (true, Some(Kind::SubUseAfterFree)),
            n => {
                self.count -= i128::from(n > 0);
                (true, None)
            }
        }
    }

    fn dec_and_lock(&mut self) -> (bool, Option<Kind>) {
        match self.dec_not_one() {
            (true, fault) => (false, fault),
            (false, _) => self.sub_and_test(1),
        }
    }

    /// What the operation returns and reports.
    fn step<W: Width>(&mut self, op: Op) -> (Returned, Option<Kind>) {
        let nothing = |fault| (Returned::Nothing, fault);
        let bool = |(b, fault): (bool, _)| (Returned::Bool(b), fault);
        match op {
            Op::Set(n) | Op::SetRelease(n) => {
                let n = W::of(n).signed();
                self.count = if n < 0 { self.saturated } else { n };
                nothing(None)
            }
            Op::Read | Op::ReadAcquire => (Returned::Count(self.count), None),
            Op::Inc => nothing(self.add(1)),
            Op::Add(i) => nothing(self.add(i)),
            Op::IncNotZero | Op::IncNotZeroAcquire => bool(self.add_not_zero(1, self.max)),
            Op::AddNotZero(i) | Op::AddNotZeroAcquire(i) => bool(self.add_not_zero(i, self.max)),
            Op::IncNotZeroLimited(limit) | Op::IncNotZeroLimitedAcquire(limit) => {
                bool(self.add_not_zero(1, limit))
            }
            Op::AddNotZeroLimited(i, limit) | Op::AddNotZeroLimitedAcquire(i, limit) => {
                bool(self.add_not_zero(i, limit))
            }
            Op::Dec => nothing(self.dec()),
            Op::DecAndTest => bool(self.sub_and_test(1)),
            Op::SubAndTest(i) => bool(self.sub_and_test(i)),
            Op::DecIfOne => (Returned::Bool(self.dec_if_one()), None),
            Op::DecNotOne => bool(self.dec_not_one()),
            Op::DecAndLock => bool(self.dec_and_lock()),
        }
    }
}

/// Unsigned numbers of the width, most of them at a boundary.
fn values<W: Width>() -> impl Strategy<Value = i128> + Clone {
    let max = W::MAX.signed();
    let range = 2 * (max + 1);
    let boundaries =
        [0, 1, 2, max - 1, max, max + 1, max + 2, range - 1, range - max, range - (max + 1) / 2];
    let near = (prop::sample::select(boundaries.to_vec()), -2..=2_i128);
    prop_oneof![
        6 => near.prop_map(move |(n, off)| (n + off).rem_euclid(range)),
        2 => 0..10_i128,
        1 => 0..range,
    ]
}

fn operations<W: Width>() -> impl Strategy<Value = Op> {
    let n = values::<W>;
    prop_oneof![
        // A counter saturates soon, and then shows little: it is set anew often.
        6 => n().prop_map(Op::Set),
        2 => n().prop_map(Op::SetRelease),
        1 => Just(Op::Read),
        1 => Just(Op::ReadAcquire),
        3 => Just(Op::Inc),
        3 => n().prop_map(Op::Add),
        2 => Just(Op::IncNotZero),
        2 => Just(Op::IncNotZeroAcquire),
        2 => n().prop_map(Op::AddNotZero),
        2 => n().prop_map(Op::AddNotZeroAcquire),
        2 => n().prop_map(Op::IncNotZeroLimited),
        2 => n().prop_map(Op::IncNotZeroLimitedAcquire),
        2 => (n(), n()).prop_map(|(i, limit)| Op::AddNotZeroLimited(i, limit)),
        2 => (n(), n()).prop_map(|(i, limit)| Op::AddNotZeroLimitedAcquire(i, limit)),
        3 => Just(Op::Dec),
        3 => Just(Op::DecAndTest),
        3 => n().prop_map(Op::SubAndTest),
        2 => Just(Op::DecIfOne),
        2 => Just(Op::DecNotOne),
        2 => Just(Op::DecAndLock),
    ]
}

fn sequences<W: Width>() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(operations::<W>(), 1..40)
}

macro_rules! widths {
    ($($word:ident),*) => {$(
        mod $word {
            use super::*;

            fn same_as_fetch<B: Backend<$word>>(ops: &[Op]) -> Result<(), TestCaseError> {
                let turn = Turn::wait();
                let (counter, specification) =
                    (<$word>::counter::<B>(1), <$word>::counter::<Fetch>(1));
                for &op in ops {
                    let expected = observe(&turn, &specification, op);
                    let seen = observe(&turn, &counter, op);
                    prop_assert_eq!(seen, expected, "{} at {:?}", B::NAME, op);
                }
                Ok(())
            }

            proptest! {
                #![proptest_config(ProptestConfig {
                    cases: 300,
                    // What failed becomes a test by hand.
                    failure_persistence: None,
                    ..ProptestConfig::default()
                })]

                #[test]
                fn fetch_does_what_the_table_says(ops in sequences::<$word>()) {
                    let turn = Turn::wait();
                    let counter = <$word>::counter::<Fetch>(1);
                    let (max, saturated) = (<$word as Word>::MAX.signed(), <$word as Word>::SATURATED.signed());
                    let mut model = Model { count: 1, max, saturated };
                    for op in ops {
                        let (returned, fault) = model.step::<$word>(op);
                        let seen = observe(&turn, &counter, op);
                        let kinds: Vec<_> = seen.faults.iter().map(|f| f.0).collect();
                        prop_assert_eq!(seen.returned, returned, "{:?}", op);
                        prop_assert_eq!(seen.left, model.count, "{:?}", op);
                        prop_assert_eq!(kinds, Vec::from_iter(fault), "{:?}", op);
                    }
                }

                #[test]
                fn full_is_fetch(ops in sequences::<$word>()) {
                    same_as_fetch::<Full>(&ops)?;
                }

                #[test]
                fn the_default_is_fetch(ops in sequences::<$word>()) {
                    same_as_fetch::<DefaultBackend>(&ops)?;
                }

                #[cfg(refcount_fast)]
                #[test]
                fn fast_is_fetch(ops in sequences::<$word>()) {
                    same_as_fetch::<refcount::Fast>(&ops)?;
                }

                #[cfg(all(refcount_fast, target_arch = "aarch64"))]
                #[test]
                fn both_kinds_of_aarch64_are_fetch(ops in sequences::<$word>()) {
                    same_as_fetch::<refcount::LlSc>(&ops)?;
                    // Where the CPU has not got them, these would be illegal instructions.
                    if refcount::uses_lse() {
                        same_as_fetch::<refcount::Lse>(&ops)?;
                    }
                }
            }

            /// The control: what does not check is told from what does.
            #[test]
            #[should_panic(expected = "plain at")]
            fn plain_is_not_fetch() {
                let ops = [Op::Set(<$word as Word>::MAX.signed()), Op::Inc];
                same_as_fetch::<refcount::Plain>(&ops).expect("differs");
            }
        }
    )*};
}
widths!(u32, u64);
