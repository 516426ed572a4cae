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
    /// By the environment, to which the makefile only adds.
    Environment,
    /// Not at all: the makefile computes its own.
    Never,
}

/// A makefile as text.
#[derive(Debug, Default)]
pub(crate) struct Makefile {
    assignments: Vec<Assignment>,
    targets: Vec<String>,
    reaches_others: bool,
}

#[derive(Debug, Clone)]
struct Assignment {
    variable: String,
    operator: String,
    value: String,
    /// The value holds under all conditions, and no reference is in it.
    plain: bool,
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

    /// Takes another makefile's assignments for what they are: made somewhere else.
    pub(crate) fn add_other(&mut self, other: &Self) {
        let elsewhere = |a: &Assignment| Assignment { plain: false, ..a.clone() };
        self.assignments.extend(other.assignments.iter().map(elsewhere));
    }

    pub(crate) fn has_target(&self, name: &str) -> bool {
        self.targets.iter().any(|t| t == name)
    }

    /// How `variable` can be given to it.
    pub(crate) fn passed(&self, variable: &str) -> Passed {
        // `override` adds to what the command line says, too.
        let all = || self.assignments.iter().filter(|a| a.variable == variable && !a.overrides);
        if all().all(|a| a.plain) {
            return Passed::Argument(self.value(variable));
        }
        match all().all(|a| a.operator == "+=") {
            true => Passed::Environment,
            false => Passed::Never,
        }
    }

    fn value(&self, variable: &str) -> Option<String> {
        let mut value: Option<String> = None;
        for a in self.assignments.iter().filter(|a| a.variable == variable && a.plain) {
            value = match (a.operator.as_str(), value) {
                ("+=", Some(so_far)) => Some(format!("{so_far} {}", a.value).trim().to_owned()),
                ("?=", Some(so_far)) => Some(so_far),
                _ => Some(a.value.clone()),
            };
        }
        value
    }

    /// What `CC` holds beside the compiler (`gcc -std=c99`), with a space before it.
    pub(crate) fn compiler_arguments(&self) -> String {
        let own = self.value("CC").unwrap_or_default();
        own.split_whitespace().skip(1).map(|argument| format!(" {argument}")).collect()
    }
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(text, _)| text)
}

fn assignment(line: &str, unconditional: bool) -> Option<Assignment> {
    let (left, value) = line.split_once('=')?;
    let name = left.trim_end_matches(['+', '?', ':', '!']);
    let operator = format!("{}=", &left[name.len()..]);
    let mut words: Vec<&str> = name.split_whitespace().collect();
    let variable = words.pop()?;
    let modifiers = ["override", "export", "private"];
    // `debug: CFLAGS += -g` is a target's own.
    if !words.iter().all(|word| modifiers.contains(word)) {
        return None;
    }
    let value = value.trim();
    Some(Assignment {
        variable: variable.to_owned(),
        plain: unconditional && operator != "!=" && !value.contains(['$', '`', '\'', '"', '\\']),
        operator,
        value: value.to_owned(),
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
        assert_eq!(cflags("CFLAGS ?= -O2\nCFLAGS+=-Iinc \\\n -DX\n"), argument("-O2 -Iinc  -DX"));
        assert_eq!(cflags("export CFLAGS := -O3\nCFLAGS ?= -O1\n"), argument("-O3"));
    }

    #[test]
    fn what_a_makefile_adds_is_not_taken_away() {
        assert_eq!(cflags("CFLAGS += -I$(TOP)\n"), Passed::Environment);
        assert_eq!(cflags("ifdef X\nCFLAGS += -DX\nendif\n"), Passed::Environment);
        assert_eq!(cflags("override CFLAGS += -I$(TOP)\n"), Passed::Argument(None));
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
        let mut top = Makefile::parse("all:\n\t$(MAKE) -C lib\n");
        assert!(top.reaches_others());
        top.add_other(&Makefile::parse("CFLAGS = -O2 -I.\n"));
        assert_eq!(top.passed("CFLAGS"), Passed::Never);
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
