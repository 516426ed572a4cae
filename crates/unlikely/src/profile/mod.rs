//! How right each hint is: the sites of the macros and their counts.
//!
//! # How a site gets into the table
//!
//! A site is a `static` beside the condition, so nothing is allocated, and one site of a generic or
//! inlined function serves all its copies. The statics form an intrusive list: each holds the link to
//! the next. Putting one in is a single compare-exchange, done once a site, on whichever comes first:
//!
//! 1. *At start.* On systems whose loader runs constructors (ELF's `.init_array`, Mach-O's
//!    `__mod_init_func`, Windows' `.CRT$XCU`) each site has one that enlists it. So the table also
//!    has the hints that were never reached, and "not executed" is a statement, not a gap.
//! 2. *At the first execution*, everywhere else: a kernel has no loader. There the table has only
//!    what ran.
//!
//! The other way known is a section of sites between two symbols that the linker makes. It was left:
//! one pair of symbols spans one linked object only, so in a program of several (Rust `dylib`s,
//! plug-ins) most sites would be unseen; the symbols' names and their survival under
//! `--gc-sections` differ by linker; and a bare-metal linker script must know of the section. A list
//! needs none of that, works in every object whose loader it never met, and its readers need no
//! symbol.
//!
//! Objects that share this crate as a `dylib` share one table. An object that was linked with a copy
//! of its own (a `cdylib` plug-in, another version of this crate) has a table of its own, and writes
//! a file of its own. A Rust `dylib` must stay loaded once it was, as ever: the table holds its sites.
//!
//! # What a count is worth
//!
//! Counters are relaxed and exact in the end: what was counted before a thread was joined is in a
//! table read after that. A table read while threads run is of no single moment. Counters stop at
//! their maximum (of `u64`, or of `usize` where there are no 64-bit atomics). Threads that count at
//! one site share its cache line: a build that counts is for counting, not for timing.

#[cfg(feature = "std")]
mod file;
mod site;
mod table;

#[cfg(feature = "std")]
pub use file::{ENV, write_file};
pub use site::{Counts, Hint, Site, counted};
pub use table::{SCHEMA, Sites, dump, reset, sites};

/// The condition, counted. Exists in every build, so that its own tests need no flag.
///
/// The condition stands outside the block with the items, where it cannot see their names.
#[doc(hidden)]
#[macro_export]
macro_rules! __counted {
    ($hint:ident, $condition:expr) => {
        $crate::profile::counted($condition, {
            static SITE: $crate::profile::Site = $crate::profile::Site::new(
                $crate::profile::Hint::$hint,
                $crate::__core::file!(),
                $crate::__core::line!(),
                $crate::__core::column!(),
                $crate::__core::module_path!(),
                $crate::__core::stringify!($condition),
            );
            $crate::__at_start!(SITE);
            &SITE
        })
    };
}

/// A constructor that enlists a site, where the loader runs constructors.
#[doc(hidden)]
#[macro_export]
macro_rules! __at_start {
    ($site:ident) => {
        #[cfg(any(
            target_os = "linux",
            target_os = "android",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "dragonfly",
            target_os = "illumos",
            target_vendor = "apple",
            windows
        ))]
        const _: () = {
            extern "C" fn enlist() {
                $site.enlist();
            }
            #[used]
            #[cfg_attr(
                not(any(target_vendor = "apple", windows)),
                unsafe(link_section = ".init_array")
            )]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
            #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
            static AT_START: extern "C" fn() = enlist;
        };
    };
}
