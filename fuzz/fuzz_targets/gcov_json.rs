//! Any bytes through the reader; what it read must merge with itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mut profile, _) = unlikely_profile::gcov_json::read(bytes, "input");
    profile.merge(profile.clone());
    profile.map_paths(&[("/build".to_owned(), String::new())]);
});
