//! Runner for conformance cases: the CEL suite as JSON, and cases of the Kubernetes dialect.
//!
//! A case fails if any of its expectations does: value, static type, cost, estimate, phase, position or text of an
//! error.

mod kubernetes;
mod report;
mod suite;
mod tagged;

pub use suite::Deviations;
pub use tagged::tagged;

use crate::dialect::Profile;
use crate::issue::{Issue, Phase};
use serde_json::Value as Json;

/// Result of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Names the case within its file.
    pub id: String,
    /// The section the case counts for.
    pub section: String,
    /// True if all expectations are met.
    pub pass: bool,
    /// True if every build must pass the case.
    pub required: bool,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub actual: String,
}

/// A file that holds no cases.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// No JSON.
    #[error("reading the case file: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but neither a suite nor a list of cases.
    #[error("a case file has a member `tests` or `cases`")]
    Format,
}

/// Runs all cases of a file. `deviations` lists the suite's cases with a different result in the Kubernetes dialect.
pub fn run(
    text: &str,
    profile: Profile,
    deviations: &Deviations,
) -> Result<Vec<Outcome>, FileError> {
    let file: Json = serde_json::from_str(text)?;
    if let Some(tests) = file.get("tests").and_then(Json::as_array) {
        let name = file.get("name").and_then(Json::as_str).unwrap_or_default();
        return Ok(tests
            .iter()
            .map(|test| suite::run(name, test, profile, deviations))
            .collect());
    }
    match file.get("cases").and_then(Json::as_array) {
        Some(cases) => {
            let fixtures = file.get("fixtures").cloned().unwrap_or_default();
            Ok(cases
                .iter()
                .map(|case| kubernetes::run(case, &fixtures))
                .collect())
        }
        None => Err(FileError::Format),
    }
}

/// The outcome of compiling and running one expression, in a form that can be compared and shown.
#[derive(Debug, Clone, PartialEq)]
enum Observed {
    Refused(Vec<Issue>),
    Failed(String),
    Value(Json),
}

impl std::fmt::Display for Observed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(issues) => {
                let lines: Vec<String> = issues.iter().map(issue_line).collect();
                write!(f, "refused: {}", lines.join("; "))
            }
            Self::Failed(message) => write!(f, "error: {message}"),
            Self::Value(value) => write!(f, "value: {value}"),
        }
    }
}

fn issue_line(issue: &Issue) -> String {
    let phase = phase_name(issue.phase);
    match issue.position {
        Some(at) => format!("{phase} {}:{} {}", at.line, at.column, issue.message),
        None => format!("{phase} {}", issue.message),
    }
}

/// Parse errors count as check errors, as they do for users.
fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Parse | Phase::Check => "check",
        Phase::Program => "program",
        Phase::ResultType => "result-type",
    }
}
