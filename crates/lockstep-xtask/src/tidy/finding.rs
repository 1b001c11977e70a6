//! Findings of rules, each with its place in the tree.

use std::fmt;

/// One remark. Findings sort by place, so the output is the same on every machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// Counted from one.
    pub(crate) line: usize,
    pub(crate) severity: Severity,
    what: String,
    remedy: String,
}

/// Whether a finding fails the check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Severity {
    /// The tree must not be like that.
    Problem,
    /// Worth a second look.
    Note,
}

impl Finding {
    /// Something that has to change: `what` is wrong, `remedy` says what to do.
    pub(crate) fn problem(
        path: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (what, remedy) = (what.into(), remedy.into());
        Self {
            path: path.to_owned(),
            line,
            severity: Severity::Problem,
            what,
            remedy,
        }
    }

    /// Something to look at again.
    pub(crate) fn note(
        path: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::problem(path, line, what, remedy)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            what,
            remedy,
            ..
        } = self;
        let mark = match self.severity {
            Severity::Problem => "",
            Severity::Note => "note: ",
        };
        write!(f, "{path}:{line}: {mark}{what}; {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_place_then_fault_then_remedy() {
        let problem = Finding::problem("a.rs", 3, "is wrong", "put it right");
        assert_eq!(problem.to_string(), "a.rs:3: is wrong; put it right");
        let note = Finding::note("a.rs", 3, "is long", "look again");
        assert_eq!(note.to_string(), "a.rs:3: note: is long; look again");
    }

    #[test]
    fn lines_sort_as_numbers() {
        let at = |line| Finding::problem("a.rs", line, "", "");
        assert!(at(9) < at(10));
    }
}
