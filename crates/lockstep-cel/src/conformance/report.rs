//! Comparison of a case's actual results with its expectations.

use super::tagged::normalized;
use super::{Observed, phase_name};
use crate::issue::Issue;
use serde_json::Value as Json;

/// All that was observed of a case.
pub(super) struct Report {
    pub(super) observed: Observed,
    pub(super) static_type: Option<String>,
    pub(super) cost: u64,
    pub(super) estimate: Option<u64>,
    pub(super) uses_old_self: Option<bool>,
}

impl Report {
    pub(super) fn refused(issues: Vec<Issue>) -> Self {
        Self {
            observed: Observed::Refused(issues),
            static_type: None,
            cost: 0,
            estimate: None,
            uses_old_self: None,
        }
    }

    pub(super) fn describe(&self) -> String {
        let mut text = format!("{} cost={}", self.observed, self.cost);
        if let Some(ty) = &self.static_type {
            text.push_str(&format!(" type={ty}"));
        }
        if let Some(estimate) = self.estimate {
            text.push_str(&format!(" estimate={estimate}"));
        }
        text
    }

    /// Unmet expectations; an unknown expectation is an error of the case.
    pub(super) fn complaints(&self, expect: &Json) -> Vec<String> {
        let mut complaints = unknown_statements(expect);
        if let Some(value) = expect.get("value")
            && self.observed != Observed::Value(normalized(value))
        {
            complaints.push("value".to_owned());
        }
        if let Some(ty) = expect.get("static_type").and_then(Json::as_str)
            && self.static_type.as_deref() != Some(ty)
        {
            complaints.push(format!("static type, not {ty}"));
        }
        if let Some(cost) = expect.get("cost").and_then(Json::as_u64)
            && self.cost != cost
        {
            complaints.push(format!("cost {} instead of {cost}", self.cost));
        }
        if let Some(estimate) = expect.get("estimated_max_cost").and_then(Json::as_str)
            && self
                .estimate
                .map(|estimate| estimate.to_string())
                .as_deref()
                != Some(estimate)
        {
            let found = self
                .estimate
                .map_or_else(|| "none".to_owned(), |found| found.to_string());
            complaints.push(format!("estimate {found} instead of {estimate}"));
        }
        if let Some(uses) = expect.get("uses_old_self").and_then(Json::as_bool)
            && self.uses_old_self != Some(uses)
        {
            complaints.push("use of oldSelf".to_owned());
        }
        if let Some(error) = expect.get("error") {
            complaints.extend(self.runtime_error(error));
        }
        if let Some(error) = expect.get("compile_error") {
            complaints.extend(self.compile_error(error));
        }
        complaints
    }

    fn runtime_error(&self, error: &Json) -> Option<String> {
        match &self.observed {
            Observed::Failed(message)
                if text(error, "match") == "any" || message == text(error, "message") =>
            {
                None
            }
            _ => Some("error".to_owned()),
        }
    }

    fn compile_error(&self, error: &Json) -> Option<String> {
        let Observed::Refused(issues) = &self.observed else {
            return Some("not refused".to_owned());
        };
        let phase = text(error, "phase");
        if !phase.is_empty() && issues.iter().any(|issue| phase_name(issue.phase) != phase) {
            return Some("phase".to_owned());
        }
        let expected: Vec<&Json> = error
            .get("errors")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .collect();
        let exact: Vec<&&Json> = expected
            .iter()
            .filter(|error| text(error, "match") == "exact")
            .collect();
        let missing = exact
            .iter()
            .find(|error| !issues.iter().any(|issue| is_exactly(issue, error)));
        if let Some(missing) = missing {
            return Some(format!("missing {missing}"));
        }
        if exact.len() == expected.len() && !expected.is_empty() && issues.len() != expected.len() {
            return Some("number of errors".to_owned());
        }
        let first = expected
            .first()
            .filter(|error| text(error, "match") == "any" && error.get("line").is_some());
        if let Some(first) = first
            && !issues.iter().any(|issue| is_at(issue, first))
        {
            return Some(format!("position of {first}"));
        }
        None
    }
}

/// Supported expectations.
const STATEMENTS: [&str; 7] = [
    "value",
    "static_type",
    "cost",
    "estimated_max_cost",
    "uses_old_self",
    "error",
    "compile_error",
];

fn unknown_statements(expect: &Json) -> Vec<String> {
    let Some(members) = expect.as_object().filter(|members| !members.is_empty()) else {
        return vec!["the case states nothing".to_owned()];
    };
    let unknown = members
        .keys()
        .filter(|name| !STATEMENTS.contains(&&***name));
    unknown
        .map(|name| format!("`{name}` is nothing a case can state"))
        .collect()
}

fn is_at(issue: &Issue, error: &Json) -> bool {
    let number = |name: &str| error.get(name).and_then(Json::as_u64);
    let position = issue
        .position
        .map(|at| (u64::from(at.line), u64::from(at.column)));
    position == number("line").zip(number("col"))
}

fn is_exactly(issue: &Issue, error: &Json) -> bool {
    issue.message == text(error, "message") && (error.get("line").is_none() || is_at(issue, error))
}

pub(super) fn text<'j>(json: &'j Json, name: &str) -> &'j str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}
