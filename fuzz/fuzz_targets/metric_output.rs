//! Any output of a command through every metric that is found in output, and through the reader of
//! hyperfine's files; what is read must be usable, and what is written must be read again.
#![no_main]

use std::sync::LazyLock;
use unlikely_measure::Metric;
use unlikely_measure::exchange::hyperfine;

static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    [
        "json:$.results[0].mean",
        "json:$.results[?@.command == 'x'].mean",
        "json:$..v",
        "regex:v=(\\S+)",
        "stress-ng",
        "stress-ng:poll/usr-sys-time",
        "perf:instructions",
        "perf:task-clock",
    ]
    .iter()
    .map(|form| Metric::parse(form).unwrap())
    .collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for metric in METRICS.iter() {
        match metric.value_in(bytes) {
            Ok(value) => assert!(value.is_finite() && value > 0.0, "{metric}: {value}"),
            Err(error) => assert!(!error.is_empty() && error.len() < 2000, "{metric}: {error}"),
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(metric) = Metric::parse(text)
    {
        assert_eq!(Metric::parse(&metric.to_string()).unwrap(), metric);
    }
    if let Ok(results) = hyperfine::read(bytes) {
        let text = hyperfine::write(&results).unwrap();
        let again = hyperfine::read(text.as_bytes()).unwrap();
        assert_eq!(again, results);
    }
});
