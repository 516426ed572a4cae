//! Any bytes through the reader of the hint crate's counts; what it read must merge with itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mut profile, said) = unlikely_profile::site_counts::read(bytes, "input");
    assert!(
        !profile.files.is_empty() || !said.is_empty(),
        "nothing was read, and nothing was said"
    );
    let sites =
        |p: &unlikely_profile::Profile| -> usize { p.files.values().map(|f| f.hints.len()).sum() };
    let before = sites(&profile);
    profile.merge(profile.clone());
    assert_eq!(sites(&profile), before, "a site is not itself");
    profile.map_paths(&[("/build".to_owned(), String::new())]);
});
