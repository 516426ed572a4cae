//! A thousand places from which a lock is taken and freed.

use crate::Locks;
use lock::{Bh, Context, Irq, IrqSave, Plain};
use std::hint::black_box;

/// Sites of each unlock.
pub(crate) const SITES: usize = 128;

/// A system call: what it found, which the user's next choice depends on.
pub(crate) type Site = fn(&Locks, u64) -> u64;

/// The sites of one unlock.
#[derive(Clone, Copy)]
pub(crate) struct Sites {
    pub(crate) calls: &'static [Site; SITES],
    /// Whether they read, and so leave no trace in what the lock guards.
    pub(crate) read: bool,
}

/// The answer of a call: nothing of the resource, as with several threads it would depend on who came
/// first.
fn answer<const N: usize>(argument: u64) -> u64 {
    argument.wrapping_mul(2 * N as u64 + 3) >> (N % 7 + 1)
}

/// What a call makes of a word. `N` makes each site's code its own among those of its unlock, and the
/// context among those of all: without that the compiler keeps one function for two unlocks that are
/// the same when they are inlined, and not when they are called, and the sizes would be of that.
fn mix<C: Context, const N: usize>(word: u64, argument: u64) -> u64 {
    let own = 1000 + 1000 * C::KIND as u64 + N as u64;
    (word ^ argument).rotate_left(N as u32 % 63 + 1).wrapping_add(own)
}

/// Some words change under a spinlock, and the answer is worked on after it.
#[inline(never)]
fn spin<C: Context, const N: usize>(locks: &Locks, argument: u64) -> u64 {
    let mut resource = locks.spin.lock_in::<C>();
    resource.calls += 1;
    resource.state[(N + 1) % 6] = mix::<C, N>(resource.state[N % 6], argument);
    drop(resource);
    answer::<N>(argument)
}

/// The same under a read-write lock.
#[inline(never)]
fn write<C: Context, const N: usize>(locks: &Locks, argument: u64) -> u64 {
    let mut resource = locks.rw.write_in::<C>();
    resource.calls += 1;
    resource.state[(N + 1) % 6] = mix::<C, N>(resource.state[N % 6], argument);
    drop(resource);
    answer::<N>(argument)
}

/// Two words are read.
#[inline(never)]
fn read<C: Context, const N: usize>(locks: &Locks, argument: u64) -> u64 {
    let resource = locks.rw.read_in::<C>();
    let found = mix::<C, N>(resource.state[N % 6], resource.state[(N + 1) % 6]);
    drop(resource);
    black_box(found);
    answer::<N>(argument)
}

macro_rules! table {
    ($site:ident, $context:ty) => {{
        const TABLE: [Site; SITES] = {
            let mut table: [Site; SITES] = [$site::<$context, 0>; SITES];
            table!(@ table, $site, $context, 0x00 0x10 0x20 0x30 0x40 0x50 0x60 0x70);
            table
        };
        static CALLS: [Site; SITES] = TABLE;
        &CALLS
    }};
    (@ $table:ident, $site:ident, $context:ty, $($base:literal)*) => {
        $(table!(@@ $table, $site, $context, $base, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);)*
    };
    (@@ $table:ident, $site:ident, $context:ty, $base:literal, $($offset:literal)*) => {
        $($table[$base + $offset] = $site::<$context, { $base + $offset }>;)*
    };
}

/// Those of each unlock, in the order of scenarios.
pub(crate) fn all() -> [Sites; 8] {
    let writers = |calls| Sites { calls, read: false };
    let readers = |calls| Sites { calls, read: true };
    [
        writers(table!(spin, Plain)),
        writers(table!(spin, Bh)),
        writers(table!(spin, Irq)),
        writers(table!(spin, IrqSave)),
        readers(table!(read, Bh)),
        readers(table!(read, IrqSave)),
        writers(table!(write, Bh)),
        writers(table!(write, IrqSave)),
    ]
}
