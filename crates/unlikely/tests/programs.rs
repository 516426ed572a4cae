//! Whole programs that count: of several crates and linked objects, at exit and by hand, and
//! without std.

mod common;

use std::fs;
use std::process::Command;

use common::{Build, Workshop, must, read, row, rows};

/// A library whose generic function is inlined into its users.
const LIBRARY: &str = "
    #![forbid(unsafe_code)]
    #![deny(warnings)]
    #![no_std]
    pub fn first<T: Copy + PartialEq>(all: &[T], wanted: T) -> Option<usize> {
        let mut at = 0;
        while unlikely::likely!(at < all.len()) {
            if unlikely::unlikely!(all[at] == wanted) { return Some(at); }
            at += 1;
        }
        None
    }
    #[inline]
    pub fn is_odd(n: u32) -> bool { unlikely::unlikely!(n % 2 != 0) }
    #[inline(never)]
    pub fn never(n: u32) -> bool { unlikely::likely!(n == 7) }
";

/// A program that uses two instances of the library's function, and a hint of its own.
const PROGRAM: &str = "
    fn main() {
        let _ = library::first(&[1_u8, 2, 3], 3);
        let _ = library::first(&['a', 'b'], 'z');
        for n in 0..10 { let _ = library::is_odd(n); }
        let all = std::env::args().count();
        if unlikely::unlikely!(all > 1) { let _ = library::never(1); std::process::abort(); }
    }
";

fn expected() -> Vec<common::Row> {
    vec![
        row("all > 1", 1, 0),
        row("all[at] == wanted", 4, 1),
        row("at < all.len()", 5, 1),
        row("n % 2 != 0", 5, 5),
        row("n == 7", 0, 0),
    ]
}

#[test]
fn one_site_serves_all_copies_and_every_crate_is_in_the_table() {
    let shop = Workshop::new(Build::Counts);
    shop.compile("library", LIBRARY, &["--crate-type", "rlib"]);
    shop.compile("main", PROGRAM, &["--extern", "library"]);
    shop.run("main", [("UNLIKELY_SITES", "out/%p.jsonl")]);
    let files: Vec<_> = fs::read_dir(shop.dir.path().join("out")).unwrap().collect();
    assert_eq!(files.len(), 1);
    assert_eq!(rows(&read(&files[0].as_ref().unwrap().path())), expected());
}

#[test]
fn objects_that_share_the_crate_share_its_table() {
    let shop = Workshop::of_kind(Build::Counts, "dylib");
    shop.compile("library", LIBRARY, &["--crate-type", "dylib", "-C", "prefer-dynamic"]);
    shop.compile("main", PROGRAM, &["--extern", "library", "-C", "prefer-dynamic"]);
    shop.run("main", [("UNLIKELY_SITES", "counts")]);
    assert_eq!(rows(&read(&shop.dir.path().join("counts"))), expected());
}

#[test]
fn an_object_with_a_copy_of_its_own_writes_a_file_of_its_own() {
    let shop = Workshop::new(Build::Counts);
    let plugin = "#[unsafe(no_mangle)] pub extern \"C\" fn plug(n: u32) -> bool {
        unlikely::unlikely!(n == 1)
    }";
    shop.compile("plugin", plugin, &["--crate-type", "cdylib"]);
    let program = "
        #[link(name = \"plugin\")]
        unsafe extern \"C\" { safe fn plug(n: u32) -> bool; }
        fn main() { for n in 0..3 { plug(n); } let _ = unlikely::likely!(plug(1)); }
    ";
    shop.compile("main", program, &[]);
    shop.run("main", [("UNLIKELY_SITES", "counts")]);
    let file = |name: &str| rows(&read(&shop.dir.path().join(name)));
    let mut both = [file("counts"), file("counts.2")];
    both.sort();
    assert_eq!(both, [vec![row("n == 1", 2, 2)], vec![row("plug(1)", 1, 0)]]);
}

#[test]
fn no_file_is_written_unasked_and_a_failure_is_said() {
    let shop = Workshop::new(Build::Counts);
    shop.compile("main", "fn main() { let _ = unlikely::likely!(true); }", &[]);
    let before = fs::read_dir(shop.dir.path()).unwrap().count();
    let quiet = must(&mut shop.command("main"));
    must(shop.command("main").env("UNLIKELY_SITES", ""));
    assert_eq!(fs::read_dir(shop.dir.path()).unwrap().count(), before);
    assert!(quiet.stderr.is_empty());
    // A folder has this name.
    let said = must(shop.command("main").env("UNLIKELY_SITES", "."));
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("set UNLIKELY_SITES to a file that can be written"), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn a_program_that_is_killed_writes_by_hand() {
    let shop = Workshop::new(Build::Counts);
    let program = "fn main() {
        for n in 0..8 { let _ = unlikely::unlikely!(n == 3); }
        unlikely::profile::reset();
        for n in 0..5 { let _ = unlikely::unlikely!(n == 3); }
        unlikely::profile::write_file(\"by-hand\".as_ref()).unwrap();
        std::process::abort();
    }";
    // `n == 3` stands twice, on two lines: two sites.
    shop.compile("main", program, &[]);
    let end = shop.command("main").output().unwrap().status;
    assert!(!end.success());
    let table = rows(&read(&shop.dir.path().join("by-hand")));
    assert_eq!(table, [row("n == 3", 0, 0), row("n == 3", 4, 1)]);
}

#[test]
fn every_edition_and_the_strictest_lints_take_the_macros() {
    for build in [Build::Hints, Build::Counts] {
        let shop = Workshop::new(build);
        for edition in ["2018", "2021", "2024"] {
            let strict = "#![forbid(unsafe_code)] #![deny(warnings, missing_docs)] //! Strict.
                mod core {} mod std {} // Names that a macro could stumble over.
                /// One.
                pub fn one(all: &[u8]) -> bool {
                    let _ = (core_is_here as fn(), std_is_here as fn());
                    unlikely::likely!(all.len() > 1,) && !unlikely::unlikely!(all[0] == 0)
                }
                fn core_is_here() {} fn std_is_here() {}";
            shop.compile_edition(edition, "strict", strict, &["--crate-type", "lib"]);
        }
    }
}

#[test]
fn a_const_fn_is_refused_the_macros_and_given_the_functions() {
    for build in [Build::Hints, Build::Counts] {
        let shop = Workshop::new(build);
        let lib = ["--crate-type", "lib"];
        let function = "pub const fn f(n: u32) -> bool { unlikely::unlikely(n == 0) }
            pub const ZERO: bool = f(0) && unlikely::likely(true);";
        shop.compile("function", function, &lib);
        shop.file("of_macro.rs", "pub const fn f(n: u32) -> bool { unlikely::unlikely!(n == 0) }");
        let mut refused = shop.rustc("2024");
        let out = refused.args(["of_macro.rs", "--extern", "unlikely"]).args(lib).output().unwrap();
        assert!(!out.status.success(), "{build:?}");
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(said.contains("E0015"), "{build:?}: {said}");
    }
}

/// `core` alone: its own panic handler would clash with std's, were std linked. C is the program.
#[test]
fn without_std_the_table_goes_wherever_the_program_sends_it() {
    let shop = Workshop::new(Build::CountsWithoutStd);
    let kernel = "
        #![no_std]
        use core::fmt::{self, Write};
        unsafe extern \"C\" { safe fn putchar(c: i32) -> i32; }
        struct Serial;
        impl Write for Serial {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                text.bytes().for_each(|b| { putchar(b.into()); });
                Ok(())
            }
        }
        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
        #[unsafe(no_mangle)]
        pub extern \"C\" fn kernel() {
            for n in 0..100 { let _ = unlikely::unlikely!(n == 5); }
            let _ = unlikely::profile::dump(&mut Serial);
        }
    ";
    shop.compile("kernel", kernel, &["--crate-type", "staticlib", "-C", "panic=abort"]);
    // The precompiled core names the unwinder's routine, which a kernel without one stubs.
    let c = "void kernel(void); void rust_eh_personality(void) {}
        int main(void) { kernel(); return 0; }\n";
    shop.file("main.c", c);
    let mut gcc = Command::new("gcc");
    must(gcc.current_dir(shop.dir.path()).args(["main.c", "libkernel.a", "-o", "main"]));
    assert_eq!(rows(&shop.run("main", [])), [row("n == 5", 99, 1)]);
}
