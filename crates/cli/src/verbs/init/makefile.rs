//! Just enough of a makefile: which targets it has, and how flags can be given to it.
//!
//! A variable on make's command line replaces every assignment in the makefile, `+=` too, so a
//! blind `CFLAGS="$CFLAGS"` takes away the `-I` and `-D` that a project added to its flags. The
//! text is read, never run: what make would compute is not known here, and then nothing is passed.

/// How a variable's value reaches the makefile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Passed {
    /// On the command line. The makefile's own value, if it has one, is wholly known.
    Argument(Option<String>),
    /// By the environment, to which the makefile only adds. What it takes if there is nothing.
    Environment(Option<String>),
    /// Not at all: the makefile computes its own.
    Never,
}

/// References within references that are followed.
const DEPTH_MAX: usize = 4;

/// A makefile as text.
#[derive(Debug, Default)]
pub(crate) struct Makefile {
    assignments: Vec<Assignment>,
    targets: Vec<String>,
    reaches_others: bool,
    others: Vec<Makefile>,
}

#[derive(Debug, Clone)]
struct Assignment {
    variable: String,
    operator: String,
    value: String,
    /// It holds under all conditions.
    certain: bool,
    overrides: bool,
}

impl Makefile {
    pub(crate) fn parse(text: &str) -> Self {
        let mut this = Self::default();
        let mut depth = 0_usize;
        for line in text.replace("\\\r\n", " ").replace("\\\n", " ").lines() {
            this.reaches_others |= line.contains("$(MAKE)") || line.contains("${MAKE}");
            if line.starts_with('\t') {
                continue;
            }
            let line = without_comment(line).trim();
            match line.split_whitespace().next().unwrap_or_default() {
                "ifeq" | "ifneq" | "ifdef" | "ifndef" => depth += 1,
                "endif" => depth = depth.saturating_sub(1),
                "include" | "-include" | "sinclude" => this.reaches_others = true,
                _ => match assignment(line, depth == 0) {
                    Some(assignment) => this.assignments.push(assignment),
                    None => this.targets.extend(targets(line)),
                },
            }
        }
        this
    }

    /// Whether it calls or includes other makefiles.
    pub(crate) fn reaches_others(&self) -> bool {
        self.reaches_others
    }

    /// Adds one that it may call or include: which of them it does is not told apart.
    pub(crate) fn add_other(&mut self, other: Self) {
        self.others.push(other);
    }

    pub(crate) fn has_target(&self, name: &str) -> bool {
        self.targets.iter().any(|t| t == name)
    }

    /// How `variable` can be given to it, and to those that it calls.
    pub(crate) fn passed(&self, variable: &str) -> Passed {
        let all = std::iter::once(self).chain(&self.others);
        all.filter_map(|makefile| makefile.passed_here(variable))
            .reduce(|a, b| match (a, b) {
                (a, b) if a == b => a,
                (Passed::Argument(a), Passed::Environment(b))
                | (Passed::Environment(a), Passed::Argument(b))
                    if a == b =>
                {
                    Passed::Environment(a)
                }
                _ => Passed::Never,
            })
            .unwrap_or(Passed::Argument(None))
    }

    /// As [`Self::passed`], for this one alone; `None` if the variable is nothing to it.
    fn passed_here(&self, variable: &str) -> Option<Passed> {
        let all: Vec<&Assignment> = self.assigned(variable).collect();
        if all.is_empty() {
            return None;
        }
        if let Some(value) = self.known(variable, 0) {
            return Some(Passed::Argument(Some(value)));
        }
        if !all.iter().all(|a| ["?=", "+="].contains(&a.operator.as_str())) {
            return Some(Passed::Never);
        }
        // An empty variable of the environment is a variable: it takes the default away.
        let mut defaults: Vec<Option<String>> =
            all.iter().filter(|a| a.operator == "?=").map(|a| self.expanded(&a.value, 0)).collect();
        defaults.dedup();
        Some(match defaults.as_slice() {
            [] => Passed::Environment(None),
            [Some(default)] => Passed::Environment(Some(default.clone())),
            _ => Passed::Never,
        })
    }

    /// What is assigned to it. `override` adds to what the command line says, too.
    fn assigned(&self, variable: &str) -> impl Iterator<Item = &Assignment> {
        self.assignments.iter().filter(move |a| a.variable == variable && !a.overrides)
    }

    /// The value of a variable, if the text tells.
    fn known(&self, variable: &str, depth: usize) -> Option<String> {
        let mut value: Option<String> = None;
        for a in self.assigned(variable) {
            if !a.certain {
                return None;
            }
            let more = self.expanded(&a.value, depth)?;
            value = match (a.operator.as_str(), value) {
                ("+=", Some(so_far)) => Some(format!("{so_far} {more}").trim().to_owned()),
                // Whatever the environment held came first.
                ("+=", None) => return None,
                ("?=", Some(so_far)) => Some(so_far),
                _ => Some(more),
            };
        }
        value
    }

    /// A value with its references resolved, if each is known.
    fn expanded(&self, value: &str, depth: usize) -> Option<String> {
        let mut out = String::new();
        let mut rest = value;
        while let Some((before, reference)) = rest.split_once('$') {
            let close = if reference.starts_with('(') { ')' } else { '}' };
            let (name, after) = reference.strip_prefix(['(', '{'])?.split_once(close)?;
            if depth >= DEPTH_MAX {
                return None;
            }
            out += before;
            out += &self.known(name, depth + 1)?;
            rest = after;
        }
        out += rest;
        let quotes = ['`', '\'', '"', '\\'];
        (!out.contains(quotes)).then(|| out.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// What `CC` holds beside the compiler (`gcc -std=c99`), with a space before it.
    pub(crate) fn compiler_arguments(&self) -> String {
        let own = self.known("CC", 0).unwrap_or_default();
        own.split_whitespace().skip(1).map(|argument| format!(" {argument}")).collect()
    }
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(text, _)| text)
}

fn assignment(line: &str, certain: bool) -> Option<Assignment> {
    let (left, value) = line.split_once('=')?;
    let name = left.trim_end_matches(['+', '?', ':', '!']);
    let mut operator = format!("{}=", &left[name.len()..]);
    let mut words: Vec<&str> = name.split_whitespace().collect();
    let variable = words.pop()?;
    // `debug: CFLAGS += -g` is a target's own.
    if !words.iter().all(|word| ["override", "export", "private"].contains(word)) {
        return None;
    }
    let mut value = value.trim().to_owned();
    let own = [format!("$({variable})"), format!("${{{variable}}}")];
    if operator.starts_with(':') && own.iter().any(|own| value.contains(own)) {
        // Another way to add to it.
        "+=".clone_into(&mut operator);
        value = own.iter().fold(value, |value, own| value.replace(own, ""));
    }
    Some(Assignment {
        variable: variable.to_owned(),
        certain: certain && operator != "!=",
        operator,
        value,
        overrides: words.contains(&"override"),
    })
}

fn targets(line: &str) -> Vec<String> {
    match line.split_once(':') {
        Some((left, right)) if !right.starts_with('=') && !line.starts_with('.') => {
            left.split_whitespace().map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cflags(text: &str) -> Passed {
        Makefile::parse(text).passed("CFLAGS")
    }

    fn argument(value: &str) -> Passed {
        Passed::Argument(Some(value.to_owned()))
    }

    #[test]
    fn a_value_that_is_wholly_known_is_passed_as_an_argument() {
        assert_eq!(cflags("all:\n\tcc x.c\n"), Passed::Argument(None));
        assert_eq!(cflags("CFLAGS = -O2 -Wall # usual\n"), argument("-O2 -Wall"));
        assert_eq!(cflags("CFLAGS ?= -O2\nCFLAGS+=-Iinc \\\n -DX\n"), argument("-O2 -Iinc -DX"));
        assert_eq!(cflags("export CFLAGS := -O3\nCFLAGS ?= -O1\n"), argument("-O3"));
    }

    #[test]
    fn references_are_followed_as_far_as_the_text_tells() {
        assert_eq!(
            cflags("BIG=-DB\nCFLAGS=-O2 $(BIG) ${W}\nW = -Wall $(BIG)\n"),
            argument("-O2 -DB -Wall -DB")
        );
        assert_eq!(cflags("CFLAGS = $(A)\nA = $(B)\nB = $(A)\n"), Passed::Never);
        assert_eq!(cflags("CFLAGS = $(shell pkg-config --cflags x)\n"), Passed::Never);
        assert_eq!(cflags("CFLAGS = $X\n"), Passed::Never);
        assert_eq!(cflags("CFLAGS = $(\n"), Passed::Never);
        assert_eq!(cflags("CFLAGS = $"), Passed::Never);
    }

    #[test]
    fn what_a_makefile_adds_is_not_taken_away() {
        assert_eq!(cflags("CFLAGS += -I.\n"), Passed::Environment(None));
        assert_eq!(cflags("CFLAGS += -I$(TOP)\n"), Passed::Environment(None));
        assert_eq!(cflags("CFLAGS := -Wall $(CFLAGS)\n"), Passed::Environment(None));
        assert_eq!(cflags("ifdef X\nCFLAGS += -DX\nendif\n"), Passed::Environment(None));
        assert_eq!(cflags("override CFLAGS += -I$(TOP)\n"), Passed::Argument(None));
        let default = Some("-O3".to_owned());
        assert_eq!(cflags("CFLAGS ?= -O3\nCFLAGS += $(D)\n"), Passed::Environment(default));
        assert_eq!(cflags("CFLAGS ?= -O3 $(W)\nCFLAGS += $(D)\n"), Passed::Never);
    }

    #[test]
    fn what_a_makefile_computes_is_its_own() {
        assert_eq!(cflags("CFLAGS = -O2 $(WARN)\n"), Passed::Never);
        assert_eq!(cflags("CFLAGS = -O2\nCFLAGS += $(WARN)\n"), Passed::Never);
        assert_eq!(
            cflags("ifeq ($(D),1)\nCFLAGS = -O0\nelse\nCFLAGS = -O2\nendif\n"),
            Passed::Never
        );
        assert_eq!(cflags("CFLAGS = -DNAME='\"x\"'\n"), Passed::Never);
    }

    #[test]
    fn a_makefile_that_calls_others_must_agree_with_them() {
        let with = |others: &[&str]| {
            let mut top = Makefile::parse("all:\n\t$(MAKE) -C lib\n");
            assert!(top.reaches_others());
            for other in others {
                top.add_other(Makefile::parse(other));
            }
            top.passed("CFLAGS")
        };
        let default = Some("-O3".to_owned());
        assert_eq!(with(&["CFLAGS = -O2\n", "CFLAGS = -O2 -I.\n"]), Passed::Never);
        assert_eq!(with(&["CFLAGS ?= -O3\n", "CFLAGS += $(D)\n"]), Passed::Never);
        assert_eq!(with(&["CFLAGS = -O2 -I.\n"]), argument("-O2 -I."));
        assert_eq!(
            with(&["CFLAGS ?= -O3\nCFLAGS += $(D)\n", "CFLAGS ?= -O3\n"]),
            Passed::Environment(default)
        );
        assert_eq!(with(&["CFLAGS ?= -O3\n", "CFLAGS ?= -O2\n"]), Passed::Never);
        assert_eq!(with(&["X = 1\n"]), Passed::Argument(None));
    }

    #[test]
    fn targets_are_told_from_assignments_and_recipes() {
        let makefile = Makefile::parse(
            "X := check:\nall check: prog\n\ttest: nothing\nclean::\n\trm x\n.PHONY: install\n",
        );
        for (name, there) in
            [("all", true), ("check", true), ("clean", true), ("test", false), ("install", false)]
        {
            assert_eq!(makefile.has_target(name), there, "{name}");
        }
    }

    #[test]
    fn the_compilers_own_arguments_are_kept() {
        assert_eq!(
            Makefile::parse("CC = gcc -std=c99 -m64\n").compiler_arguments(),
            " -std=c99 -m64"
        );
        assert_eq!(Makefile::parse("CC ?= cc\n").compiler_arguments(), "");
        assert_eq!(Makefile::parse("CC = $(CROSS)gcc -x\n").compiler_arguments(), "");
    }
}
