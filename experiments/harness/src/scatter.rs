//! Data at other addresses in every process.
//!
//! A system draws where the heap begins in whole pages only, so that without help the state of an arm
//! would lie at the same offset in its page in every process: one lucky offset would count in all of
//! them, and no interval would hold it. A piece of memory of random length is therefore given away
//! before each state is made. The draw follows from seed and process.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

/// What allocators align at.
const STEP_BYTES: usize = 16;
/// Steps in a page.
const STEPS: u32 = 256;

/// The draw of this process. Nothing is given away before it is begun.
static DRAW: Mutex<Option<ChaCha8Rng>> = Mutex::new(None);

/// Begins the draw of process number `process`.
pub(crate) fn begin(seed: u64, process: u32) {
    *DRAW.lock().unwrap_or_else(PoisonError::into_inner) = Some(draw(seed, process));
}

fn draw(seed: u64, process: u32) -> ChaCha8Rng {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    draw.set_stream(u64::from(process));
    draw
}

/// Moves what is allocated next, by up to a page. To be called before the state of a copy is made.
///
/// The memory is not given back, as then it would be used again: some kilobytes a copy.
pub fn scatter() {
    let mut draw = DRAW.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(draw) = draw.as_mut() {
        black_box(Vec::leak(vec![0_u8; length(draw.next_u32())]));
    }
}

/// One to 256 steps.
fn length(drawn: u32) -> usize {
    (drawn % STEPS + 1) as usize * STEP_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_draw_follows_from_seed_and_process() {
        let lengths = |seed, process| {
            let mut draw = draw(seed, process);
            [0; 8].map(|_| length(draw.next_u32()))
        };
        assert_eq!(lengths(1, 0), lengths(1, 0));
        assert_ne!(lengths(1, 0), lengths(1, 1));
        assert_ne!(lengths(1, 0), lengths(2, 0));
    }

    #[test]
    fn what_is_allocated_next_moves() {
        begin(1, 0);
        let offset = |_| {
            scatter();
            // A page with what the allocator keeps beside it: alone it would move nothing.
            Vec::leak(vec![0_u8; 4088]).as_ptr().addr() % 4096
        };
        // What other tests gave back takes in the first of what is given away; it is soon used up.
        let offsets: BTreeSet<usize> = (0..2048).map(offset).collect();
        assert!(offsets.len() > 128, "{offsets:?}");
    }

    #[test]
    fn every_step_of_a_page_is_drawn() {
        let lengths: BTreeSet<usize> = (0..STEPS).map(length).collect();
        assert_eq!(lengths.len(), 256);
        assert_eq!((lengths.first(), lengths.last()), (Some(&16), Some(&4096)));
    }
}
