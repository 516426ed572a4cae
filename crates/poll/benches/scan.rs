//! The core's scan beside the same loop in C: nanoseconds an entry.
//!
//! Both run over 1024 entries with a zero timeout, in turns, in one process, over tables laid out
//! alike; that both give the same answers is checked first. C is built with `gcc -O2` (or what `CC`
//! names), and with the hint on the negative descriptor exactly when the crate has it (feature
//! `unhinted` takes it away). Shares of negative descriptors: none, 1 % and 50 %, at random places.
#![expect(unsafe_code, reason = "calls into a shared object built from C")]

mod twin;

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::AtomicU16;
use std::time::Instant;

use poll::{Events, PollFd};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use twin::{Direct, Indirect, OPERATIONS, Operations, Plain, Waiter, scan_direct, scan_indirect};

type Table<'t> = &'t [Option<&'t Plain>];
type CScan = unsafe extern "C" fn(
    *const Option<&Plain>,
    usize,
    *mut PollFd,
    usize,
    Option<&mut Waiter>,
) -> usize;

const ENTRIES: usize = 1024;
/// Calls between two looks at the clock: some 300 µs.
const CALLS: usize = 200;
const ROUNDS: usize = 400;

/// The C loops, and how its files are asked.
struct Twin {
    direct: CScan,
    indirect: CScan,
    operations: &'static Operations,
}

fn build_twin() -> Twin {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let object = folder.path().join("twin.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/twin/twin.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "gcc".into());
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=default", "-o"]);
    command.arg(&object).arg(source);
    if cfg!(feature = "unhinted") {
        command.arg("-DUNHINTED");
    }
    let status = command.status().expect("a C compiler (install gcc, or set CC)");
    assert!(status.success(), "{compiler} failed on {source}");
    let path = CString::new(object.into_os_string().into_encoded_bytes()).expect("no zero in it");
    // SAFETY: the object was just built from a source that runs nothing when loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null(), "the object built from {source} cannot be loaded");
    let symbol = |name: &std::ffi::CStr| -> *mut c_void {
        // SAFETY: a valid handle and a string that ends in zero.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?} is not in the object");
        address
    };
    // SAFETY: the object is never unloaded, and these symbols have these types: see twin.c, whose
    // structures are laid out as those of twin/mod.rs, and where a null waiter is `None`.
    unsafe {
        Twin {
            direct: std::mem::transmute::<*mut c_void, CScan>(symbol(c"twin_direct")),
            indirect: std::mem::transmute::<*mut c_void, CScan>(symbol(c"twin_indirect")),
            operations: &*symbol(c"twin_operations").cast::<Operations>(),
        }
    }
}

fn call(scan: CScan, table: Table<'_>, entries: &mut [PollFd]) -> usize {
    // SAFETY: both arrays are passed with their lengths; C reads the first and writes `revents` of
    // the second.
    unsafe { scan(table.as_ptr(), table.len(), entries.as_mut_ptr(), entries.len(), None) }
}

/// A table of files with nothing or something ready, and a set that asks each once, in random order,
/// but for the share that is negative.
fn entries(negative_percent: usize, random: &mut ChaCha8Rng) -> Vec<PollFd> {
    let mut set: Vec<_> =
        (0..).take(ENTRIES).map(|fd| PollFd::new(fd, Events::IN | Events::OUT)).collect();
    for i in (1..ENTRIES).rev() {
        set.swap(i, random.random_range(0..=i));
    }
    for entry in set.iter_mut().take(ENTRIES * negative_percent / 100) {
        entry.fd = -1;
    }
    for i in (1..ENTRIES).rev() {
        set.swap(i, random.random_range(0..=i));
    }
    set
}

/// The least and the middle of many, in nanoseconds an entry.
fn summary(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn time(mut call: impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    start.elapsed().as_secs_f64() * 1e9 / (CALLS * ENTRIES) as f64
}

/// Times both in turns, each first as often as second.
fn compare(name: &str, mut rust: impl FnMut() -> usize, mut c: impl FnMut() -> usize) {
    let (mut rust_ns, mut c_ns) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            rust_ns.push(time(&mut rust));
            c_ns.push(time(&mut c));
        } else {
            c_ns.push(time(&mut c));
            rust_ns.push(time(&mut rust));
        }
    }
    let ((rust_least, rust), (c_least, c)) = (summary(&mut rust_ns), summary(&mut c_ns));
    println!(
        "{name:<24} rust {rust_least:6.3} (median {rust:6.3})   c {c_least:6.3} (median {c:6.3})   \
         ratio {:5.3} (median {:5.3})",
        rust_least / c_least,
        rust / c
    );
}

fn main() {
    let twin = build_twin();
    let random = &mut ChaCha8Rng::seed_from_u64(1);
    println!("ns an entry, {ENTRIES} entries, least and median of {ROUNDS} rounds");
    for ready_percent in [0, 10] {
        let ready: Vec<u16> = (0..ENTRIES)
            .map(|_| if random.random_range(0..100) < ready_percent { 4 } else { 0 })
            .collect();
        let files = |operations| -> Vec<Plain> {
            ready.iter().map(|r| Plain { operations, ready: AtomicU16::new(*r) }).collect()
        };
        // Each language's files are asked by its own code.
        let (rust_files, c_files) = (files(&OPERATIONS), files(twin.operations));
        let rust_table: Vec<_> = rust_files.iter().map(Some).collect();
        let c_table: Vec<_> = c_files.iter().map(Some).collect();
        let (rust_table, c_table) = (rust_table.as_slice(), c_table.as_slice());
        for negative_percent in [0, 1, 50] {
            let mut a = entries(negative_percent, random);
            let mut b = a.clone();
            let found = call(twin.direct, c_table, &mut b);
            assert_eq!(scan_direct(Direct(rust_table), &mut a, None), found);
            assert_eq!(a, b, "both answer the same");
            assert_eq!(scan_indirect(Indirect(rust_table), &mut a, None), found);
            assert_eq!(call(twin.indirect, c_table, &mut b), found);
            assert_eq!(a, b, "both answer the same");

            let name = |how| format!("{how} {negative_percent}% neg, {ready_percent}% ready");
            compare(
                &name("direct"),
                || scan_direct(Direct(black_box(rust_table)), black_box(&mut a), None),
                || call(twin.direct, black_box(c_table), black_box(&mut b)),
            );
            compare(
                &name("indirect"),
                || scan_indirect(Indirect(black_box(rust_table)), black_box(&mut a), None),
                || call(twin.indirect, black_box(c_table), black_box(&mut b)),
            );
        }
    }
}
