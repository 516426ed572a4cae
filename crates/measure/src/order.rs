//! What is drawn at random in a block: the order of its arms, and the padding of its environment.
//! Both are pure functions of the campaign's seed and the block's slot, so that a resumed campaign
//! goes on with what it began with.
//!
//! Slots come in twos: the second runs the arms of the first in reverse (ABBA or BAAB). So
//! whatever the first run of a block gains or loses by being first cancels over two blocks, and no
//! periodic disturbance can keep step with the draw.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Most bytes of padding: a page, which is what the stack's place is rounded to.
const PADDING_MAX: u32 = 4096;
/// Alignment of the stack, below which padding changes nothing.
const PADDING_STEP: u32 = 16;

/// Indices of `arms` arms in the order in which `slot` runs them: one of all orders, drawn by the
/// seed, and in every second slot the reverse of the one before. It never changes between releases.
#[must_use]
pub fn order(seed: u64, slot: u32, arms: u32) -> Vec<u32> {
    let mut draw = stream(seed, u64::from(slot / 2));
    let mut order: Vec<u32> = (0..arms).rev().collect();
    for last in (1..order.len()).rev() {
        let among = u32::try_from(last).unwrap_or(u32::MAX).saturating_add(1);
        order.swap(last, (draw.next_u32() % among) as usize);
    }
    if !slot.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// Bytes by which the environment of every run of `slot` is made longer. It moves the stack, and
/// a program can be lucky with one place of it; the same for all arms, as it is no part of what
/// is compared.
pub(crate) fn padding_bytes(seed: u64, slot: u32) -> usize {
    // Streams of the order are below 2³¹.
    let mut draw = stream(seed, 1 << 32 | u64::from(slot));
    (draw.next_u32() % (PADDING_MAX / PADDING_STEP) * PADDING_STEP) as usize
}

fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut draw = ChaCha8Rng::from_seed(key);
    draw.set_stream(stream);
    draw
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn first_of_two(seed: u64, slots: u32) -> String {
        (0..slots).map(|slot| if order(seed, slot, 2)[0] == 0 { 'A' } else { 'B' }).collect()
    }

    #[test]
    fn an_order_never_changes_between_releases() {
        // Journals hold a seed and rely on it: this text must not be edited to make a test pass.
        assert_eq!(first_of_two(1, 16), "BAABABBAABABBABA");
        assert_eq!([order(1, 0, 4), order(1, 2, 4)], [[2, 3, 1, 0], [2, 0, 1, 3]]);
        assert_eq!([0, 1, 2].map(|slot| padding_bytes(1, slot)), [1120, 2816, 2464]);
    }

    #[test]
    fn every_order_comes_up_about_as_often() {
        let starts = (0..1000).filter(|pair| order(42, 2 * pair, 2)[0] == 0).count();
        assert!((440..=560).contains(&starts), "{starts} of 1000 pairs start with A");
        assert_ne!(first_of_two(1, 64), first_of_two(2, 64));
        let mut counts = std::collections::HashMap::new();
        for pair in 0..6000 {
            *counts.entry(order(7, 2 * pair, 3)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (900..1100).contains(count)), "{counts:?}");
    }

    #[test]
    fn paddings_are_many_and_keep_the_stack_aligned() {
        let paddings: HashSet<usize> = (0..1000).map(|slot| padding_bytes(3, slot)).collect();
        assert!(paddings.len() > 200, "{}", paddings.len());
        assert!(paddings.iter().all(|bytes| bytes % 16 == 0 && *bytes < 4096));
    }

    proptest! {
        #[test]
        fn each_two_slots_mirror_each_other(seed: u64, pair in 0u32..1 << 30, arms in 2u32..27) {
            let mut second = order(seed, 2 * pair + 1, arms);
            second.reverse();
            prop_assert_eq!(&order(seed, 2 * pair, arms), &second);
            second.sort_unstable();
            prop_assert_eq!(second, (0..arms).collect::<Vec<_>>());
        }
    }
}
