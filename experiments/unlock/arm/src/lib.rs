//! Jobs of users, made of short sections under spinlocks and read-write locks.
//!
//! A system call enters at one of 128 sites of each of eight unlocks: the four of a spinlock, and those
//! of a read-write lock that turn bottom halves or interrupts on again. Every site is a function of its
//! own, so that inlining has a thousand places to go to, and the instruction cache has some work, as a
//! kernel's has. Users take turns; which calls a job makes and which of 64 locks they take is the
//! user's own luck, the same in all builds.
#![expect(unsafe_code, reason = "entry points with C names, and a platform for locks")]

mod platform;
mod sites;

use arm::{Scenario, place, times};
use lock::{Bh, Irq, IrqSave, Plain, ReadGuard, RwLock, SpinGuard, SpinLock, WriteGuard};
pub use platform::Machine;
use platform::Seat;
use sites::{SITES, Sites};

/// Users, as published.
const USERS: usize = 1000;
/// System calls of a job.
const CALLS: u64 = 64;
/// What they contend for.
const LOCKS: usize = 64;

/// What a lock guards.
#[derive(Default)]
struct Resource {
    /// Calls that wrote here: none may get lost.
    calls: u64,
    state: [u64; 6],
}

/// Two locks on cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Locks {
    spin: SpinLock<Resource, Machine>,
    rw: RwLock<Resource, Machine>,
}

/// All users, and what they share.
pub struct Jobs {
    locks: Vec<Locks>,
    /// Each user's luck.
    users: Vec<u64>,
    sites: Vec<Sites>,
    threads: usize,
}

impl Scenario for Jobs {
    fn open(scenario: u32) -> Option<Self> {
        let all = sites::all();
        let (sites, threads) = match scenario as usize {
            one if one < all.len() => (vec![all[one]], 1),
            one if one == all.len() => (all.to_vec(), 2),
            one if one == all.len() + 1 => (all.to_vec(), 1),
            _ => return None,
        };
        Some(Self {
            locks: (0..LOCKS).map(|_| Locks::default()).collect(),
            users: (1..)
                .take(USERS)
                .map(|user: u64| user.wrapping_mul(0x9E37_79B9_7F4A_7C15))
                .collect(),
            sites,
            threads,
        })
    }

    #[inline(never)]
    fn run<const AT: u32>(&mut self, operations: u64) -> u64 {
        place::<AT>();
        let before = self.written();
        let (locks, sites) = (&self.locks[..], &self.sites[..]);
        let threads = self.threads as u64;
        // The first ones take one job more where it does not come out even.
        let jobs = |thread: u64| operations / threads + u64::from(thread < operations % threads);
        let mut parts = self.users.chunks_mut(USERS.div_ceil(self.threads));
        let own = parts.next();
        let read: u64 = std::thread::scope(|scope| {
            let begin =
                |(thread, users)| scope.spawn(move || serve(users, jobs(thread), locks, sites));
            let others: Vec<_> = (1..).zip(parts).map(begin).collect();
            let own = own.map_or(0, |users| serve(users, jobs(0), locks, sites));
            // A thread that panicked has done nothing that counts, and the sum is found to be wrong.
            others.into_iter().map(|other| other.join().unwrap_or(0)).sum::<u64>() + own
        });
        self.written() - before + read
    }

    fn expected(&mut self, operations: u64) -> u64 {
        operations * CALLS
    }
}

impl Jobs {
    /// Calls that wrote, since the beginning.
    fn written(&mut self) -> u64 {
        self.locks.iter_mut().map(|one| one.spin.get_mut().calls + one.rw.get_mut().calls).sum()
    }
}

/// One thread's jobs: its users in turns. How many of their calls only read.
fn serve(users: &mut [u64], jobs: u64, locks: &[Locks], sites: &[Sites]) -> u64 {
    let _cpu = Seat::take();
    let (mut turn, mut read, all) = (0, 0, users.len());
    times(jobs, || {
        let Some(luck) = users.get_mut(turn) else { return };
        turn = if turn + 1 < all { turn + 1 } else { 0 };
        for _ in 0..CALLS {
            *luck = next(*luck);
            // The high bits are the lucky ones.
            let bits = (*luck >> 32) as usize;
            let of = &sites[bits % sites.len()];
            read += u64::from(of.read);
            *luck ^= of.calls[(bits >> 4) % SITES](&locks[(bits >> 12) % LOCKS], *luck);
        }
    });
    read
}

/// A linear congruential generator.
fn next(state: u64) -> u64 {
    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

arm::export!(Jobs);

macro_rules! listed {
    ($($function:ident: $guard:ty;)*) => {
        $(/// One unlock, for its machine code.
        #[unsafe(no_mangle)]
        pub fn $function(guard: $guard) {
            drop(guard);
        })*
    };
}

listed! {
    leave_plain: SpinGuard<'_, u64, Machine, Plain>;
    leave_bh: SpinGuard<'_, u64, Machine, Bh>;
    leave_irq: SpinGuard<'_, u64, Machine, Irq>;
    leave_irqrestore: SpinGuard<'_, u64, Machine, IrqSave>;
    leave_read_bh: ReadGuard<'_, u64, Machine, Bh>;
    leave_read_irqrestore: ReadGuard<'_, u64, Machine, IrqSave>;
    leave_write_bh: WriteGuard<'_, u64, Machine, Bh>;
    leave_write_irqrestore: WriteGuard<'_, u64, Machine, IrqSave>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_every_job_is_counted() {
        for scenario in 0..10 {
            let mut jobs = Jobs::open(scenario).unwrap();
            for operations in [0, 1, 7, 500] {
                let seen = jobs.run::<1>(operations);
                assert_eq!(seen, jobs.expected(operations), "scenario {scenario}");
            }
        }
        assert!(Jobs::open(10).is_none());
    }

    #[test]
    fn the_calls_of_one_thread_depend_on_luck_alone_and_not_on_the_unlock() {
        let luck = |scenario| {
            let mut jobs = Jobs::open(scenario).unwrap();
            jobs.run::<0>(2000);
            jobs.users
        };
        let plain = luck(0);
        assert!((1..8).all(|scenario| luck(scenario) == plain));
        assert_ne!(plain, Jobs::open(0).unwrap().users);
    }

    #[test]
    fn all_sites_are_functions_of_their_own() {
        let mut all: Vec<usize> =
            sites::all().iter().flat_map(|of| of.calls.iter().map(|site| *site as usize)).collect();
        assert_eq!(all.len(), 8 * SITES);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8 * SITES);
    }
}
