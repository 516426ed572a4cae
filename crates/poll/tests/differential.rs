//! The core against the running kernel, on random sets of random files: the number that is returned
//! and every entry must be equal. `scripts/poll-against-kernel` does the same with a million sets.

mod world;

use poll::Events;
use world::World;

#[test]
fn the_core_answers_as_the_kernel_does() {
    let tally = World::new(1).run(100_000);
    assert_eq!(tally.sets, 100_000);
    assert!(tally.waited > 0, "some sets wait: {tally:?}");
    // A comparison of what never comes up says nothing.
    let seen = |event: Events| tally.bits[event.bits().trailing_zeros() as usize] > 100;
    for event in [
        Events::IN,
        Events::OUT,
        Events::ERR,
        Events::HUP,
        Events::NVAL,
        Events::RDNORM,
        Events::WRNORM,
        Events::WRBAND,
        Events::RDHUP,
    ] {
        assert!(seen(event), "{event:?} came up too rarely: {tally:?}");
    }
}
