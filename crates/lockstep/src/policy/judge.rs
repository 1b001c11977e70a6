//! Runs the cases of suites, and compares.

use std::path::PathBuf;
use std::sync::Arc;

use lockstep_admission::diff::{json_patch, same};
use lockstep_admission::mutate::Tracing;
use lockstep_admission::trace::{Event, Trace};
use lockstep_authz::Decision;
use lockstep_object::{Object, Status};
use lockstep_write::offline::policies::{Review, Reviewed, Unbound, Workspace, WorkspaceError};
use serde_json::Value;

use super::diff;
use super::suites::{Ending, Expected, Planned};
use crate::document;
use crate::failure::Failure;

/// Metadata that a server assigns and no case compares.
const ASSIGNED: [&str; 5] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
];

/// A file to rewrite with the object that came out.
pub(super) type Rewrite = (PathBuf, Object);

/// Runs a case: the differences, and the file to rewrite if only its object differs.
pub(super) fn run(case: &Planned) -> Result<(Vec<String>, Option<Rewrite>), Failure> {
    let workspace = match Workspace::new(&case.objects, Unbound::Bound) {
        Ok(workspace) => workspace,
        Err(WorkspaceError::Rejected(rejections)) => {
            let causes = rejections
                .iter()
                .map(|rejection| rejection.error.to_string());
            let causes: Vec<String> = causes.collect();
            return if case.expected.outcomes.contains(&Ending::Error) {
                Ok((Vec::new(), None))
            } else {
                Err(Failure::bad_input(causes.join("\nerror: ")))
            };
        }
        Err(error) => return Err(Failure::bad_input(error.to_string())),
    };
    let is_master = case.user.is_master();
    let is_deletion = case.operation == Some(lockstep_admission::request::Operation::Delete);
    // The object of a deletion is the stored one.
    let object = case.object.as_ref().filter(|_| !is_deletion);
    let old = case
        .old
        .as_ref()
        .or(case.object.as_ref().filter(|_| is_deletion));
    let reviewed = workspace.review(&Review {
        operation: case.operation,
        object,
        old,
        subresource: &case.subresource,
        user: &case.user,
        authorizer: Arc::new(move |_| {
            if is_master {
                Decision::allow("")
            } else {
                Decision::no_opinion()
            }
        }),
        is_dry_run: false,
        tracing: Tracing::On,
    });
    let reviewed = reviewed.map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(compare(&case.expected, &workspace, &reviewed))
}

fn compare(
    expected: &Expected,
    workspace: &Workspace,
    reviewed: &Reviewed,
) -> (Vec<String>, Option<Rewrite>) {
    let mut problems = Vec::new();
    let ending = ending(reviewed);
    if !expected.outcomes.is_empty() && !expected.outcomes.contains(&ending) {
        let wanted: Vec<&str> = expected.outcomes.iter().map(|one| one.as_str()).collect();
        let wanted = wanted.join(" or ");
        problems.push(format!("expected {wanted}, found {}", ending.as_str()));
        problems.extend(reasons(reviewed));
    } else if expected.outcomes.is_empty() && reviewed.error.is_some() && expected.message.is_none()
    {
        problems.push("the request was refused".to_owned());
        problems.extend(reasons(reviewed));
    }
    if let Some(policy) = &expected.policy
        && !traces(reviewed).any(|trace| *trace.policy == **policy && has_run(trace))
    {
        problems.push(format!("policy {policy} did not run"));
    }
    if let Some(text) = &expected.message {
        let status = reviewed
            .error
            .as_ref()
            .map(|error| Status::from(error).to_value());
        let status = status.unwrap_or_default().to_string();
        let quoted = Value::from(text.as_str()).to_string();
        if !status.contains(quoted.trim_matches('"')) {
            problems.push(format!("no message contains {text:?}"));
            problems.extend(reasons(reviewed));
        }
    }
    for wanted in &expected.warnings {
        if !reviewed.warnings().any(|warning| warning.contains(wanted)) {
            problems.push(format!("no warning contains {wanted:?}"));
        }
    }
    let found = reviewed
        .object
        .as_ref()
        .map_or(&Value::Null, Object::as_value);
    for (path, wanted) in &expected.fields {
        let value = at(found, path);
        if !same(value, wanted) {
            problems.push(format!("{path}: expected {wanted}, found {value}"));
        }
    }
    if let (Some(patch), Some(before), Some(after)) =
        (&expected.patch, &reviewed.before, &reviewed.object)
    {
        let found = Value::from(json_patch(before.as_value(), after.as_value()));
        if !same(&found, patch) {
            problems.push(format!("expected the patch {patch}, found {found}"));
        }
    }
    let mut rewrite = None;
    if let (Some(wanted), Some(found)) = (&expected.object, &reviewed.object)
        && reviewed.error.is_none()
    {
        let text = |object: &Object| {
            let completed = workspace.completed(object);
            document::to_yaml(&comparable(&completed, wanted.is_named_otherwise))
        };
        let (expected, actual) = (text(&wanted.object), text(found));
        if expected != actual {
            let lines = diff::lines(&expected, &actual);
            rewrite = wanted.file.clone().zip(Some(found.clone()));
            rewrite = rewrite.filter(|_| problems.is_empty());
            problems.push(format!("the object differs (- expected, + found)\n{lines}"));
        }
    }
    (problems, rewrite)
}

fn ending(reviewed: &Reviewed) -> Ending {
    let is_refused_by_policy =
        reviewed.mutating.error.is_some() || reviewed.validating.error.is_some();
    match (&reviewed.error, is_refused_by_policy) {
        (Some(_), true) if !traces(reviewed).any(is_failure) => Ending::Denied,
        (Some(_), _) => Ending::Error,
        (None, _) if !traces(reviewed).any(has_run) => Ending::Skipped,
        (None, _) => match (&reviewed.before, &reviewed.object) {
            (Some(before), Some(after)) if !same(before.as_value(), after.as_value()) => {
                Ending::Mutated
            }
            _ => Ending::Unchanged,
        },
    }
}

fn traces(reviewed: &Reviewed) -> impl Iterator<Item = &Trace> {
    reviewed
        .mutating
        .trace
        .iter()
        .chain(&reviewed.validating.trace)
}

fn has_run(trace: &Trace) -> bool {
    matches!(trace.event, Event::Mutated(_) | Event::Validated(_))
}

/// True if something could not be evaluated.
fn is_failure(trace: &Trace) -> bool {
    match &trace.event {
        Event::Unconfigured(_) | Event::ConditionError(_) => true,
        Event::Mutated(mutated) => mutated.error.is_some(),
        Event::Validated(validated) => validated.is_error,
        _ => false,
    }
}

/// Reasons for the ending, for people.
fn reasons(reviewed: &Reviewed) -> Vec<String> {
    if let Some(error) = &reviewed.error {
        return vec![format!("refused: {error}")];
    }
    let skipped = traces(reviewed).filter_map(|trace| {
        let policy = &trace.policy;
        match &trace.event {
            Event::NotMatched(field) => {
                Some(format!("{policy}: matchConstraints.{field} does not match"))
            }
            Event::NotBound(field) => {
                Some(format!("{policy}: matchResources.{field} does not match"))
            }
            Event::Skipped(condition) => {
                Some(format!("{policy}: matchCondition {condition:?} is false"))
            }
            Event::NoParams => Some(format!("{policy}: there are no parameters")),
            _ => None,
        }
    });
    skipped.collect()
}

/// The value at a path such as `spec.containers[0].image` or `metadata.labels["a.b"]`.
fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    let mut value = object;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let Some((step, after)) = inside.split_once(']') else {
                return &Value::Null;
            };
            value = match step.parse::<usize>() {
                Ok(index) => &value[index],
                Err(_) => &value[step.trim_matches(['"', '\''])],
            };
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            value = &value[&rest[..end]];
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
    }
    value
}

fn comparable(object: &Object, is_named_otherwise: bool) -> Value {
    let mut object = object.clone();
    let metadata = object.metadata_mut();
    for field in ASSIGNED {
        metadata.remove(field);
    }
    if is_named_otherwise {
        metadata.remove("name");
    }
    if metadata
        .get("namespace")
        .is_some_and(|name| name == "default")
    {
        metadata.remove("namespace");
    }
    object.into_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_name_fields_keys_and_elements() {
        let object = json!({ "a": { "b.c": [1, { "d": 2 }] }, "e": 3 });
        assert_eq!(at(&object, "a[\"b.c\"][1].d"), &json!(2));
        assert_eq!(at(&object, "a['b.c'][0]"), &json!(1));
        assert_eq!(at(&object, "e"), &json!(3));
        assert_eq!(at(&object, "e.f[7]"), &Value::Null);
        assert_eq!(at(&object, "a[\"b"), &Value::Null);
    }
}
