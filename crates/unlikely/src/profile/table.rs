//! All sites that are known, and the table in writing.
//!
//! # Format
//!
//! `unlikely/sites/1` has lines, each a JSON object in ASCII (anything else is escaped), so that the
//! table survives a serial line, and `grep` finds it between other output:
//!
//! ```text
//! {"schema":"unlikely/sites/1"}
//! {"hint":"unlikely","file":"src/io.rs","line":12,"column":8,"module":"app::io","condition":"n == 0","right":99,"wrong":1}
//! {"end":1}
//! ```
//!
//! The last line has the number of sites; without it the table was cut. The first may have more
//! fields (the process and its start, where there is one). Several tables may follow each other, and be of several
//! processes: the counts of equal sites add up.

use core::fmt::{self, Write};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::site::Site;

/// Name and version of the format of [`dump`].
pub const SCHEMA: &str = "unlikely/sites/1";

/// The sites of this linked copy of the crate.
pub(super) static TABLE: Table = Table { head: AtomicPtr::new(core::ptr::null_mut()) };

/// A list to which sites are only ever added.
///
/// | `head` | meaning |
/// |---|---|
/// | null | no site is known |
/// | a site | the newest; the others follow by `next`, to null |
///
/// A push stores with release what the site's `next` is; a reader's acquire of any later head sees
/// it too, because every push is a read-modify-write and so carries on the release of those before.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) head: AtomicPtr<Site>,
}

impl Table {
    /// Adds a site. Called once for each.
    pub(super) fn push(&self, site: &'static Site) {
        let new = core::ptr::from_ref(site).cast_mut();
        let mut head = self.head.load(Relaxed);
        loop {
            site.next.store(head, Relaxed);
            match self.head.compare_exchange_weak(head, new, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn sites(&self) -> Sites {
        Sites { next: follow(&self.head) }
    }
}

/// The site that a link of the list leads to.
#[expect(unsafe_code, reason = "the list's links are pointers")]
fn follow(link: &AtomicPtr<Site>) -> Option<&'static Site> {
    let site = link.load(Acquire).cast_const();
    // SAFETY: a link is null or was made from a `&'static Site`, which is only ever shared.
    unsafe { site.as_ref() }
}

/// The sites that are known, newest first. Made by [`sites`].
#[derive(Debug, Clone)]
pub struct Sites {
    next: Option<&'static Site>,
}

impl Iterator for Sites {
    type Item = &'static Site;

    fn next(&mut self) -> Option<&'static Site> {
        let site = self.next?;
        self.next = follow(&site.next);
        Some(site)
    }
}

/// The sites that are known now; empty in a build that does not count.
///
/// ```
/// let worst = unlikely::profile::sites().max_by_key(|site| site.counts().wrong);
/// if let Some(site) = worst {
///     println!("{}:{} {:?}", site.file(), site.line(), site.counts());
/// }
/// ```
#[must_use]
pub fn sites() -> Sites {
    TABLE.sites()
}

/// Lets every site count from 0 again: after start-up, or in a forked child, which else would tell
/// what its parent counted once more.
///
/// What other threads count meanwhile may be lost.
pub fn reset() {
    sites().for_each(Site::reset);
}

/// Writes the table wherever [`fmt::Write`] goes, a serial port for one. Allocates nothing and takes
/// no lock.
///
/// # Errors
/// Those of `to`; the table is cut then, which its reader notices.
///
/// ```
/// let mut table = String::new();
/// unlikely::profile::dump(&mut table)?;
/// assert!(table.starts_with("{\"schema\":\"unlikely/sites/1\""));
/// # Ok::<(), core::fmt::Error>(())
/// ```
pub fn dump<W: Write + ?Sized>(to: &mut W) -> fmt::Result {
    writeln!(to, "{{\"schema\":\"{SCHEMA}\"}}")?;
    dump_sites(to, sites())
}

/// All but the first line.
pub(super) fn dump_sites<W: Write + ?Sized>(to: &mut W, sites: Sites) -> fmt::Result {
    let mut n: u64 = 0;
    for site in sites {
        n += 1;
        let counts = site.counts();
        writeln!(
            to,
            "{{\"hint\":\"{}\",\"file\":{},\"line\":{},\"column\":{},\"module\":{},\
             \"condition\":{},\"right\":{},\"wrong\":{}}}",
            site.hint().name(),
            Quoted(site.file()),
            site.line(),
            site.column(),
            Quoted(site.module()),
            Quoted(site.condition()),
            counts.right,
            counts.wrong
        )?;
    }
    writeln!(to, "{{\"end\":{n}}}")
}

/// A text as a JSON string in ASCII (RFC 8259, section 7).
pub(super) struct Quoted<'t>(pub(super) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                ' '..='~' => f.write_char(c)?,
                // A character beyond the first plane is two escapes.
                _ => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(f, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "in its own crate a macro's constructors are seen by the lint")]
mod tests {
    use std::boxed::Box;
    use std::string::String;
    use std::thread;
    use std::vec::Vec;

    use super::*;
    use crate::profile::{Counts, Hint};

    fn table() -> &'static Table {
        Box::leak(Box::new(Table { head: AtomicPtr::new(core::ptr::null_mut()) }))
    }

    fn site(line: u32, condition: &'static str) -> &'static Site {
        Box::leak(Box::new(Site::new(Hint::Unlikely, "src/\"a\".rs", line, 8, "a::b", condition)))
    }

    #[test]
    fn sites_of_many_threads_are_all_in_the_table_once() {
        const THREADS: u32 = 4;
        const EACH: u32 = 500;
        let table = table();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    for i in 0..EACH {
                        table.push(site(thread * EACH + i, "x"));
                        // A reader meanwhile meets whole lists only.
                        assert!(table.sites().count() > i as usize);
                    }
                });
            }
        });
        let mut lines: Vec<u32> = table.sites().map(Site::line).collect();
        lines.sort_unstable();
        assert_eq!(lines, (0..THREADS * EACH).collect::<Vec<_>>());
    }

    /// One site, called by many: the flag lets one of them in.
    #[test]
    fn threads_that_meet_at_a_site_enlist_it_once_and_lose_no_count() {
        fn met(n: u64) -> bool {
            crate::__counted!(Unlikely, n < 100)
        }
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|n| _ = met(n)));
            }
        });
        let here: Vec<_> = sites().filter(|s| s.condition() == "n < 100").collect();
        assert_eq!(here.len(), 1);
        assert_eq!(here[0].counts(), Counts { right: 3600, wrong: 400 });
        assert_eq!((here[0].file(), here[0].module()), (file!(), module_path!()));
        assert!(here[0].line() > 0 && here[0].column() > 0);
    }

    #[test]
    #[expect(dead_code, reason = "it is never called, which is the point")]
    fn a_site_that_never_ran_is_in_the_table() {
        fn never<T: Default + PartialEq>(t: &T) -> bool {
            crate::__counted!(Likely, *t == T::default())
        }
        let here = sites().find(|s| s.condition() == "*t == T::default()");
        assert_eq!(here.map(Site::counts), Some(Counts::default()));
    }

    #[test]
    fn the_condition_does_not_see_the_names_of_the_macro() {
        #[expect(non_snake_case, reason = "the name of the macro's own static")]
        let SITE = true;
        assert!(crate::__counted!(Likely, SITE));
    }

    #[test]
    fn the_table_in_writing_is_a_json_object_a_line() {
        let table = table();
        let odd = site(3, "c == '\u{1F980}' && s != \"\\\n\u{7f}é\"");
        table.push(odd);
        // Not by `record`, which would put it into the program's own table.
        table.push(site(9, "y"));
        let mut text = String::new();
        dump_sites(&mut text, table.sites()).unwrap();
        assert!(text.is_ascii());
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1]["condition"], odd.condition());
        assert_eq!(lines[1]["file"], odd.file());
        assert_eq!(lines[1]["hint"], "unlikely");
        assert_eq!((&lines[1]["line"], &lines[1]["column"]), (&3.into(), &8.into()));
        assert_eq!((&lines[1]["right"], &lines[1]["wrong"]), (&0.into(), &0.into()));
        assert_eq!(lines[1]["module"], "a::b");
        assert_eq!(lines[2]["end"], 2);
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_back_from_its_quotes(text in "\\PC{0,40}|[\\x00-\\x7f]{0,20}") {
            let quoted = std::format!("{}", Quoted(&text));
            proptest::prop_assert!(quoted.is_ascii());
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        }
    }
}
