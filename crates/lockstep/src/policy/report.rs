//! Evaluations as text and documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use lockstep_admission::diff::{changed_paths, json_patch, shown};
use lockstep_admission::policy::FailurePolicy;
use lockstep_admission::trace::{Event, Trace};
use lockstep_object::{Object, Status};
use lockstep_policy_webhook::carry::carry;
use lockstep_write::offline::policies::{Reviewed, Workspace};
use serde_json::{Value, json};

use super::{diff, edit, mask};
use crate::document;

/// One evaluated object.
pub(super) struct Evaluated {
    /// `default/configmaps/c`, or the kind and name.
    pub(super) subject: String,
    pub(super) file: String,
    pub(super) operation: &'static str,
    pub(super) user: String,
    pub(super) reviewed: Reviewed,
    /// The document of the object, and what stands in it.
    pub(super) written: Option<(Arc<str>, Value)>,
}

/// One line about one policy.
pub(super) struct Line {
    pub(super) policy: String,
    pub(super) sign: &'static str,
    pub(super) outcome: &'static str,
    pub(super) detail: String,
}

impl Evaluated {
    pub(super) fn is_denied(&self) -> bool {
        self.reviewed.error.is_some()
    }

    /// All events, in order.
    pub(super) fn traces(&self) -> impl Iterator<Item = &Trace> {
        self.reviewed
            .mutating
            .trace
            .iter()
            .chain(&self.reviewed.validating.trace)
    }

    /// Outcome of each policy, in order; policies that do not name the resource come last.
    pub(super) fn lines(&self, workspace: &Workspace) -> Vec<Line> {
        let mut lines: Vec<Line> = self.traces().map(|trace| line(trace, workspace)).collect();
        let seen: BTreeSet<&str> = self.traces().map(|trace| &*trace.policy).collect();
        let set = workspace.policies();
        let mutating = set.mutating().iter().map(|bound| &bound.policy.common.name);
        let validating = set
            .validating()
            .iter()
            .map(|bound| &bound.policy.common.name);
        for name in mutating
            .chain(validating)
            .filter(|name| !seen.contains(&***name))
        {
            lines.push(Line {
                policy: name.to_string(),
                sign: "-",
                outcome: "skipped",
                detail: "no resourceRule names the resource".to_owned(),
            });
        }
        for name in workspace.unbound() {
            lines.push(Line {
                policy: name.to_string(),
                sign: "-",
                outcome: "skipped",
                detail: "no binding names the policy".to_owned(),
            });
        }
        lines
    }

    /// The difference that policies made.
    pub(super) fn diff(&self) -> String {
        let (Some(before), Some(after)) = (&self.reviewed.before, &self.reviewed.object) else {
            return String::new();
        };
        if let Some(lines) = self.written_lines(before, after) {
            return match lines.as_str() {
                "" => String::new(),
                lines => format!("--- {}\n+++ after admission\n{lines}", self.file),
            };
        }
        let text = |object: &Object| document::to_yaml(object.as_value());
        let (before, after) = (&mask::object(before), &mask::changed(before, after));
        let lines = diff::lines(&text(before), &text(after));
        if lines.is_empty() {
            return String::new();
        }
        format!("--- {}\n+++ after admission\n{lines}", self.file)
    }

    /// The difference in the text of the user, with its comments, order and style; none if it cannot be shown so.
    fn written_lines(&self, before: &Object, after: &Object) -> Option<String> {
        let (text, value) = self.written.as_ref().filter(|_| !mask::is_secret(before))?;
        let changed = carry(value, before.as_value(), after.as_value());
        let edited = edit::edited(text, &json_patch(value, &changed), &changed)?;
        Some(diff::lines(text, &edited))
    }

    /// The changes that policies made, as a JSON patch.
    pub(super) fn patch(&self) -> Vec<Value> {
        match (&self.reviewed.before, &self.reviewed.object) {
            (Some(before), Some(after)) => json_patch(before.as_value(), after.as_value()),
            _ => Vec::new(),
        }
    }

    pub(super) fn as_value(&self, workspace: &Workspace) -> Value {
        let reviewed = &self.reviewed;
        let status = reviewed
            .error
            .as_ref()
            .map(|error| Status::from(error).to_value());
        let annotations = reviewed.mutating.annotations.iter();
        let annotations = annotations.chain(&reviewed.validating.annotations);
        let annotations =
            annotations.map(|note| (note.key.clone(), Value::from(note.value.clone())));
        let lines = self.lines(workspace).into_iter().map(
            |line| json!({ "policy": line.policy, "outcome": line.outcome, "detail": line.detail }),
        );
        json!({
            "subject": self.subject,
            "file": self.file,
            "operation": self.operation,
            "user": self.user,
            "allowed": reviewed.error.is_none(),
            "status": status,
            "object": reviewed.object.as_ref().map(Object::as_value),
            "patch": self.patch(),
            "warnings": reviewed.warnings().collect::<Vec<_>>(),
            "auditAnnotations": annotations.collect::<serde_json::Map<_, _>>(),
            "policies": lines.collect::<Vec<_>>(),
        })
    }
}

fn line(trace: &Trace, workspace: &Workspace) -> Line {
    let fails = fails(&trace.policy, workspace);
    let ignored = if fails {
        ("✗", "error")
    } else {
        ("!", "ignored")
    };
    let bound = |what: String| match &*trace.binding {
        "" => what,
        binding => format!("binding {binding:?}: {what}"),
    };
    let ((sign, outcome), detail) = match &trace.event {
        Event::NotMatched(field) => (
            ("-", "skipped"),
            format!("matchConstraints.{field} does not match"),
        ),
        Event::NotBound(field) => (
            ("-", "skipped"),
            bound(format!("matchResources.{field} does not match")),
        ),
        Event::Unconfigured(error) => (ignored, bound(error.clone())),
        Event::NoParams => (
            ("-", "skipped"),
            bound("there are no parameters".to_owned()),
        ),
        Event::Skipped(condition) => (
            ("-", "skipped"),
            format!("matchCondition {condition:?} is false"),
        ),
        Event::ConditionError(error) => (ignored, error.clone()),
        Event::Mutated(mutated) => {
            let again = if mutated.is_again { " (again)" } else { "" };
            let (outcome, detail) = match &mutated.error {
                Some(error) => (ignored, error.clone()),
                None if mutated.is_untested => (
                    ("-", "unchanged"),
                    "a test of its JSON patch failed".to_owned(),
                ),
                None if mutated.patch.is_empty() => (
                    ("-", "unchanged"),
                    "it is as the mutation wants it".to_owned(),
                ),
                None if mutated.is_dry_run => (("!", "dry run"), patched(&mutated.patch)),
                None => (("✓", "mutated"), patched(&mutated.patch)),
            };
            (outcome, format!("{}: {detail}{again}", mutated.mutation))
        }
        Event::Validated(validated) => match &validated.failure {
            None => (("✓", "passed"), format!("validations[{}]", validated.index)),
            Some(error) if validated.is_error => (ignored, error.clone()),
            Some(message) => {
                let denies = workspace.policies().validating().iter().any(|bound| {
                    bound.policy.common.name == trace.policy
                        && bound.bindings.iter().any(|binding| {
                            binding.name == trace.binding
                                && binding
                                    .actions
                                    .iter()
                                    .any(|action| action.as_str() == "Deny")
                        })
                });
                let outcome = if denies {
                    ("✗", "denied")
                } else {
                    ("!", "warned")
                };
                (outcome, message.clone())
            }
        },
    };
    Line {
        policy: trace.policy.to_string(),
        sign,
        outcome,
        detail,
    }
}

fn fails(policy: &str, workspace: &Workspace) -> bool {
    let set = workspace.policies();
    let mutating = set.mutating().iter().map(|bound| &bound.policy.common);
    let validating = set.validating().iter().map(|bound| &bound.policy.common);
    let mut all = mutating.chain(validating);
    all.any(|common| *common.name == *policy && common.failure_policy == FailurePolicy::Fail)
}

/// The paths of a patch, in the form of fields.
fn patched(patch: &[Value]) -> String {
    let paths = patch
        .iter()
        .filter_map(|operation| operation["path"].as_str());
    let fields: Vec<String> = paths
        .map(|path| {
            let names = path.split('/').skip(1);
            let names = names.map(|name| name.replace("~1", "/").replace("~0", "~"));
            names.collect::<Vec<_>>().join(".")
        })
        .collect();
    fields.join(", ")
}

/// Paths of the changes of an object, for the trace.
pub(super) fn written(evaluated: &Evaluated) -> Vec<String> {
    match (&evaluated.reviewed.before, &evaluated.reviewed.object) {
        (Some(before), Some(after)) => {
            let paths = changed_paths(before.as_value(), after.as_value());
            paths.iter().map(|path| shown(path)).collect()
        }
        _ => Vec::new(),
    }
}
