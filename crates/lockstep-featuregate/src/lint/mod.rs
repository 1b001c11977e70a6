//! Lint of a table of features.

mod history;
mod removal;
mod rules;
mod usage;

use std::fmt;

use crate::{Component, Version};
pub use history::{Release, ReleasedFeature, lint_history};
pub(crate) use rules::lock_due;
pub use usage::{SourceFile, lint_usage};

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Breaks a promise to users.
    Error,
    /// Needs work soon.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One finding about one gate.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// The component.
    pub component: String,
    /// The gate.
    pub gate: String,
    /// The rule's id; the reference documentation lists them.
    pub rule: &'static str,
    /// Severity of the finding.
    pub severity: Severity,
    /// The version it is about.
    pub version: Option<Version>,
    /// Description, with a remedy unless it is obvious.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            component,
            gate,
            rule,
            severity,
            version,
            message,
        } = self;
        write!(
            f,
            "{} {rule} {component}/{gate}: {message}",
            severity.name()
        )?;
        version.map_or(Ok(()), |version| write!(f, " ({version})"))
    }
}

/// Result of all rules, sorted by component, gate and rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Number of gates checked.
    pub gates: usize,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Number of findings with a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// Adds findings of another lint of the same gates.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings.sort();
    }

    /// The closing line: `242 gates, 0 errors, 33 warnings, 121 notes`.
    pub fn summary(&self) -> String {
        let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Note]
            .map(|severity| self.count(severity));
        format!(
            "{} gates, {errors} errors, {warnings} warnings, {notes} notes",
            self.gates
        )
    }
}

/// Input of the lint.
#[derive(Clone, Copy, Debug)]
pub struct Lint<'a> {
    /// The components of one binary.
    pub components: &'a [Component],
    /// Components of the previous release, to check removals.
    pub base: Option<&'a [Component]>,
    /// The version to check against; by default each component's own.
    pub version: Option<Version>,
}

impl Lint<'_> {
    /// Runs every rule.
    pub fn run(self) -> Report {
        let gates = self
            .components
            .iter()
            .map(|component| component.own_features().count())
            .sum();
        let mut report = Report {
            gates,
            findings: Vec::new(),
        };
        for component in self.components {
            let at = self.version.unwrap_or(component.binary().line());
            report.extend(rules::component(component, at));
        }
        report.extend(rules::names(self.components));
        if let Some(base) = self.base {
            report.extend(removal::removed(base, self.components, self.version));
        }
        report
    }
}
