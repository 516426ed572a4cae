//! Copies that check both ends, and the same copies unchecked: alone at three lengths, and as the last
//! step of a source of random bytes that hands them out in chunks, as a kernel's does.
//!
//! Lengths are known at run time only; where they are constants there is no check to measure. Sizes are
//! so too, or are those of an object whose type is known, as they mostly are in C.
#![expect(unsafe_code, reason = "entry points with C names, and copies through raw pointers")]

use arm::{Scenario, place, times};
use fortify::{Dst, Fixed, Src, memcpy, try_memcpy};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::hint::black_box;

/// Bytes that a read of random bytes asks for.
const READ: usize = 1024;
/// Bytes of a chunk: a block of the cipher.
const CHUNK: usize = 64;
/// Lengths of the copies measured alone.
const LENGTHS: [usize; 3] = [8, 64, 4096];

/// Without a check.
const UNCHECKED: u8 = 0;
/// The form that does not return from an overflow.
const STOPS: u8 = 1;
/// The form that returns it.
const REPORTS: u8 = 2;
/// [`STOPS`], where the sizes of both ends are constants.
const SIZED: u8 = 3;

/// One copy: where to and from, what is known of both ends, and how much.
#[repr(C)]
struct Job {
    to: *mut u8,
    room: usize,
    from: *const u8,
    there: usize,
    length: usize,
}

impl Job {
    /// # Safety
    /// Both ends are live and apart, with as many bytes as they are said to have.
    #[inline(always)]
    unsafe fn copy<const FORM: u8>(&self) {
        // SAFETY: the caller vouches for both ends.
        unsafe {
            if FORM == REPORTS {
                // As a caller does who has somewhere to go on: none of these fails.
                let (to, from) =
                    (Dst::known(self.to, self.room), Src::known(self.from, self.there));
                if let Err(overflow) = try_memcpy(to, from, self.length) {
                    black_box(overflow);
                }
            } else if FORM == STOPS {
                memcpy(
                    Dst::known(self.to, self.room),
                    Src::known(self.from, self.there),
                    self.length,
                );
            } else {
                core::ptr::copy_nonoverlapping(self.from, self.to, self.length);
            }
        }
    }
}

/// The state of a scenario.
pub struct Copies {
    form: u8,
    /// Of one copy alone; `None` for the source of random bytes.
    length: Option<usize>,
    to: Vec<u8>,
    from: Vec<u8>,
}

impl Scenario for Copies {
    /// 0: the source of random bytes; 1 to 3: copies alone; the same and 8 more: unchecked; and 16 more:
    /// in the form that returns an overflow; 25 to 27: copies alone between objects of known size.
    fn open(scenario: u32) -> Option<Self> {
        let form = *[STOPS, UNCHECKED, REPORTS, SIZED].get(scenario as usize / 8)?;
        let which = scenario % 8;
        let length = match which {
            0 if form == SIZED => return None,
            0 => None,
            _ => Some(*LENGTHS.get(which as usize - 1)?),
        };
        let bytes = length.unwrap_or(READ);
        let from = (0..bytes).map(|at| (at * 7 + 1) as u8).collect();
        Some(Self { form, length, to: vec![0; bytes], from })
    }

    fn run<const AT: u32>(&mut self, operations: u64) -> u64 {
        self.to.fill(0);
        match self.form {
            UNCHECKED => self.go::<AT, UNCHECKED>(operations),
            STOPS => self.go::<AT, STOPS>(operations),
            SIZED => match self.length {
                Some(8) => self.copy_sized::<AT, 8>(operations),
                Some(64) => self.copy_sized::<AT, 64>(operations),
                _ => self.copy_sized::<AT, 4096>(operations),
            },
            _ => self.go::<AT, REPORTS>(operations),
        }
        sum(&self.to)
    }

    fn expected(&mut self, operations: u64) -> u64 {
        if self.length.is_some() {
            return sum(&self.from);
        }
        let mut random = source();
        let mut last = vec![0; READ];
        // The last read by itself: the stream can be entered anywhere, in words of four bytes.
        random.set_word_pos(u128::from(operations.saturating_sub(1)) * (READ as u128 / 4));
        random.fill_bytes(&mut last);
        if operations == 0 { 0 } else { sum(&last) }
    }
}

impl Copies {
    fn go<const AT: u32, const FORM: u8>(&mut self, operations: u64) {
        match self.length {
            None => self.read::<AT, FORM>(operations),
            Some(length) => self.copy::<AT, FORM>(operations, length),
        }
    }

    #[inline(never)]
    fn copy<const AT: u32, const FORM: u8>(&mut self, operations: u64, length: usize) {
        let job = Job {
            to: self.to.as_mut_ptr(),
            room: self.to.len(),
            from: self.from.as_ptr(),
            there: self.from.len(),
            length,
        };
        place::<AT>();
        // SAFETY: both are live vectors of at least `length` bytes.
        times(operations, || unsafe { black_box(&job).copy::<FORM>() });
    }

    #[inline(never)]
    fn copy_sized<const AT: u32, const N: usize>(&mut self, operations: u64) {
        let (to, from) = (self.to.as_mut_ptr(), self.from.as_ptr());
        let job = Job { to, room: N, from, there: N, length: N };
        place::<AT>();
        times(operations, || {
            let job = black_box(&job);
            // SAFETY: both are live vectors of `N` bytes, which is the length.
            unsafe {
                memcpy(
                    Dst::<Fixed<N>>::fixed(job.to),
                    Src::<Fixed<N>>::fixed(job.from),
                    job.length,
                );
            }
        });
    }

    #[inline(never)]
    fn read<const AT: u32, const FORM: u8>(&mut self, operations: u64) {
        let mut random = source();
        place::<AT>();
        times(operations, || read::<FORM>(&mut random, black_box(&mut self.to[..])));
    }
}

fn source() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([7; 32])
}

/// One read: blocks of the cipher, each copied out as far as there is room.
#[inline(always)]
fn read<const FORM: u8>(random: &mut ChaCha20Rng, to: &mut [u8]) {
    let mut chunk = [0; CHUNK];
    let mut rest = to;
    while !rest.is_empty() {
        random.fill_bytes(&mut chunk);
        let length = black_box(rest.len().min(CHUNK));
        let job = Job {
            to: rest.as_mut_ptr(),
            room: rest.len(),
            from: chunk.as_ptr(),
            there: CHUNK,
            length,
        };
        // SAFETY: the length is at most that of both, which are apart.
        unsafe { job.copy::<FORM>() };
        rest = rest.get_mut(length..).unwrap_or_default();
    }
    black_box(&mut chunk);
}

fn sum(bytes: &[u8]) -> u64 {
    // The place counts too, so that a chunk in another's place is seen.
    (1..).zip(bytes).map(|(at, &byte)| at * u64::from(byte)).sum()
}

arm::export!(Copies);

/// One checked copy, for its machine code.
///
/// # Safety
/// As of [`memcpy`].
#[unsafe(no_mangle)]
pub unsafe fn fortify_copy(to: *mut u8, room: usize, from: *const u8, there: usize, length: usize) {
    // SAFETY: the caller vouches for both ends.
    unsafe { Job { to, room, from, there, length }.copy::<STOPS>() }
}

/// One checked copy between objects of 64 bytes.
///
/// # Safety
/// As of [`memcpy`].
#[unsafe(no_mangle)]
pub unsafe fn fortify_sized_copy(to: *mut [u8; 64], from: *const [u8; 64], length: usize) {
    // SAFETY: the caller vouches for both ends.
    unsafe { memcpy(Dst::<Fixed<64>>::fixed(to), Src::<Fixed<64>>::fixed(from), length) }
}

/// The same in the form that returns an overflow: whether there was one.
///
/// # Safety
/// As of [`try_memcpy`].
#[unsafe(no_mangle)]
pub unsafe fn fortify_try_copy(
    to: *mut u8,
    room: usize,
    from: *const u8,
    there: usize,
    length: usize,
) -> bool {
    // SAFETY: the caller vouches for both ends.
    unsafe { try_memcpy(Dst::known(to, room), Src::known(from, there), length) }.is_err()
}

/// The same unchecked.
///
/// # Safety
/// As of [`memcpy`].
#[unsafe(no_mangle)]
pub unsafe fn unchecked_copy(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller vouches for both ends.
    unsafe { Job { to, room: 0, from, there: 0, length }.copy::<UNCHECKED>() }
}

/// One read of the checked source, for its machine code.
#[unsafe(no_mangle)]
pub fn fortify_read(random: &mut ChaCha20Rng, to: &mut [u8]) {
    read::<STOPS>(random, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_and_unchecked_give_the_same_bytes() {
        for scenario in 0..4 {
            for operations in [1, 2, 5] {
                let mut checked = Copies::open(scenario).unwrap();
                let mut unchecked = Copies::open(scenario + 8).unwrap();
                let sum = checked.run::<0>(operations);
                assert_eq!(sum, checked.expected(operations), "{scenario}");
                assert_eq!(sum, unchecked.run::<3>(operations));
                assert_eq!(sum, Copies::open(scenario + 16).unwrap().run::<2>(operations));
                assert_eq!(checked.to, unchecked.to);
            }
        }
        for scenario in 1..4 {
            let mut sized = Copies::open(scenario + 24).unwrap();
            assert_eq!(sized.run::<1>(3), sized.expected(3), "{scenario}");
        }
        assert!([4, 24, 28, 32].iter().all(|&none| Copies::open(none).is_none()));
    }

    #[test]
    fn nothing_done_is_not_something_done() {
        for scenario in 0..4 {
            let mut copies = Copies::open(scenario).unwrap();
            assert_ne!(copies.run::<1>(0), copies.expected(1));
        }
    }
}
