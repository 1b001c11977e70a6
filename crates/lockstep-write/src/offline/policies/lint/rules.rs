//! Rules of the lint. `docs/reference/policy-lint.md` has a section for each.

/// Weight of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// It will not work.
    Error,
    /// It will surprise.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A rule. Its id never changes its meaning.
#[derive(PartialEq, Eq, Debug)]
pub struct Rule {
    /// `LP001`
    pub id: &'static str,
    /// Weight of its findings.
    pub severity: Severity,
    /// One line about it.
    pub title: &'static str,
}

use Severity::{Error, Note, Warning};

/// All rules by id.
pub const RULES: [Rule; 14] = [
    rule("LP001", Error, "a server refuses the policy or binding"),
    rule("LP002", Warning, "a field is not in the schema of the kind"),
    rule(
        "LP003",
        Warning,
        "a field that may be absent is read without a guard",
    ),
    rule("LP004", Error, "a merge sets an atomic list, map or struct"),
    rule(
        "LP005",
        Warning,
        "a second run of a mutation changes the object again",
    ),
    rule("LP006", Warning, "two policies write one field"),
    rule(
        "LP007",
        Note,
        "the order of two policies depends on their names",
    ),
    rule("LP008", Warning, "an expression costs more than its limit"),
    rule("LP009", Note, "failurePolicy Ignore hides an error"),
    rule("LP010", Warning, "a rule matches nothing that is served"),
    rule(
        "LP011",
        Warning,
        "a policy has no binding, or a binding no policy",
    ),
    rule(
        "LP012",
        Warning,
        "parameters are of an unknown kind, or not given",
    ),
    rule("LP013", Note, "a variable is not used"),
    rule("LP014", Warning, "a key is given twice"),
];

const fn rule(id: &'static str, severity: Severity, title: &'static str) -> Rule {
    Rule {
        id,
        severity,
        title,
    }
}

/// The rule with an id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
