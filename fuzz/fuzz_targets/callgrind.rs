//! Any bytes through the reader of callgrind's dumps; what it read must merge with itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    unlikely_measure::fuzz_callgrind(bytes);
});
