//! How a project writes a hint at a given place: its own macro where one can be seen there, else
//! the compiler's builtin.

use std::collections::{HashMap, HashSet};

use crate::macros::MacroTable;

/// The spelling of one hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintForm {
    /// `name(condition)`.
    Macro(String),
    /// `__builtin_expect(!!(condition), expect)`.
    Builtin,
}

/// The hint macros of a project and where they can be seen.
#[derive(Debug)]
pub struct Dialect<'t> {
    table: &'t MacroTable,
    /// Last path component → files of that name, for resolving inclusions.
    by_name: HashMap<&'t str, Vec<&'t str>>,
}

impl<'t> Dialect<'t> {
    /// The dialect of the project whose files are all in `table`; `files` are their paths.
    pub fn new(table: &'t MacroTable, files: impl IntoIterator<Item = &'t str>) -> Self {
        let mut by_name: HashMap<&str, Vec<&str>> = HashMap::new();
        for file in files.into_iter().chain(table.including_files()) {
            let same_name = by_name.entry(last_component(file)).or_default();
            if !same_name.contains(&file) {
                same_name.push(file);
            }
        }
        Self { table, by_name }
    }

    /// The spelling of a hint that promises `expect`, at byte `offset` of `file`: the macro in
    /// sight that the project uses most.
    pub fn form(&self, file: &str, offset: usize, expect: bool) -> HintForm {
        let mut seen = self.visible_files(file);
        // A file that is included in the middle of another sees what that one does: what it uses
        // shows which definitions those are.
        for expect in [true, false] {
            for (name, definitions) in self.table.hint_names(expect) {
                if self.table.is_used_in(file, name) {
                    seen.extend(definitions.iter().map(|d| d.file.as_str()));
                }
            }
        }
        self.table
            .hint_names(expect)
            .into_iter()
            .filter(|(_, definitions)| {
                definitions.iter().any(|d| {
                    if d.file == file { d.offset < offset } else { seen.contains(d.file.as_str()) }
                })
            })
            .max_by_key(|(name, _)| (self.table.uses(name), std::cmp::Reverse(*name)))
            .map_or(HintForm::Builtin, |(name, _)| HintForm::Macro(name.to_owned()))
    }

    /// The project's files that `file` includes, directly or not. An inclusion is matched by the
    /// path's tail, since the search folders are the compiler's affair.
    fn visible_files(&self, file: &str) -> HashSet<&'t str> {
        let mut seen = HashSet::new();
        let mut todo = vec![file];
        while let Some(next) = todo.pop() {
            for include in self.table.includes(next) {
                let tail = include.trim_start_matches("./").trim_start_matches("../");
                let candidates = self.by_name.get(last_component(tail));
                for found in candidates.into_iter().flatten() {
                    if is_tail(found, tail) && seen.insert(*found) {
                        todo.push(found);
                    }
                }
            }
        }
        seen
    }
}

fn last_component(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_tail(path: &str, tail: &str) -> bool {
    path == tail || path.strip_suffix(tail).is_some_and(|head| head.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(files: &[(&str, &str)], at: &str, expect: bool) -> HintForm {
        let mut table = MacroTable::default();
        for (path, text) in files {
            table.add(path, text.as_bytes());
        }
        let dialect = Dialect::new(&table, files.iter().map(|(path, _)| *path));
        dialect.form(at, usize::MAX, expect)
    }

    const HINTS: &str = "#define my_unlikely(x) __builtin_expect(!!(x), 0)\n";

    #[test]
    fn a_macro_is_used_only_where_it_can_be_seen() {
        let files = [
            ("inc/deep/hints.h", HINTS),
            ("inc/base.h", "#include <deep/hints.h>\n"),
            ("src/a.c", "#include \"../inc/base.h\"\n"),
            ("src/b.c", "#include <stdio.h>\n"),
        ];
        assert_eq!(form(&files, "src/a.c", false), HintForm::Macro("my_unlikely".into()));
        assert_eq!(form(&files, "src/b.c", false), HintForm::Builtin);
        assert_eq!(form(&files, "src/a.c", true), HintForm::Builtin, "no macro promises true");
    }

    #[test]
    fn a_file_that_others_include_late_sees_what_it_uses() {
        let both = format!("{HINTS}#define my_likely(x) __builtin_expect(!!(x), 1)\n");
        let files = [
            ("lib/hints.h", both.as_str()),
            ("lib/user.c", "#include \"hints.h\"\n#include \"template.h\"\n"),
            ("lib/template.h", "static int t(int x) { if (my_unlikely(x)) return 1; return 0; }\n"),
        ];
        assert_eq!(form(&files, "lib/template.h", true), HintForm::Macro("my_likely".into()));
    }

    #[test]
    fn the_most_used_spelling_wins() {
        let files = [(
            "a.c",
            "#define rare(x) __builtin_expect(!!(x), 0)\n\
             #define zz_unlikely(x) rare(x)\n\
             int f(int x) { return zz_unlikely(x) + zz_unlikely(x + 1); }\n",
        )];
        assert_eq!(form(&files, "a.c", false), HintForm::Macro("zz_unlikely".into()));
    }

    #[test]
    fn inclusion_cycles_end() {
        let files = [("a.h", "#include \"b.h\"\n"), ("b.h", "#include \"a.h\"\n")];
        assert_eq!(form(&files, "a.h", false), HintForm::Builtin);
    }
}
