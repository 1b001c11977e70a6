//! Case files: policies, an object, and the object, error or warnings that are expected.

use lockstep_admission::mutate::Tracing;
use lockstep_admission::request::Operation;
use lockstep_authz::{Decision, User};
use lockstep_object::{ApiError, Object, Status, Value};
use std::sync::Arc;

use super::{Review, Reviewed, Unbound, Workspace, WorkspaceError};

/// Metadata that a server assigns and no case compares.
const ASSIGNED: [&str; 5] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
];

/// A case that cannot be run, as opposed to one that fails.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CaseError {
    /// A part of the case has the wrong form.
    #[error("{0}")]
    Malformed(String),
}

/// Evaluation of the request of a case: the objects of the case, the workspace of them, and the request.
pub type Reviewer<'a> =
    dyn FnMut(&[Object], &Workspace, &Review<'_>) -> Result<Reviewed, WorkspaceError> + 'a;

/// Runs one case. Returns how the result differs from what is expected; nothing if it is as expected.
pub fn run(case: &Value) -> Result<Vec<String>, CaseError> {
    run_by(case, &mut |_, workspace, review| workspace.review(review))
}

/// As [`run`], with a request that is evaluated by `evaluate`.
pub fn run_by(case: &Value, evaluate: &mut Reviewer<'_>) -> Result<Vec<String>, CaseError> {
    let expected = &case["expected"];
    if !expected.is_object() {
        return Err(malformed("the case has no `expected`"));
    }
    let mut objects = Vec::new();
    for field in ["crds", "params", "policies", "bindings"] {
        objects.extend(many(case, field)?);
    }
    match &case["namespace"] {
        Value::Null => {}
        Value::String(name) => objects.push(namespace(name)?),
        given => objects.push(object(given, "namespace")?),
    }
    let workspace = match Workspace::new(&objects, Unbound::Inert) {
        Ok(workspace) => workspace,
        Err(WorkspaceError::Rejected(rejections)) => {
            let statuses = rejections
                .iter()
                .map(|rejection| Status::from(&rejection.error).to_value());
            let found = Found {
                refused_policies: statuses.collect(),
                ..Found::default()
            };
            return Ok(compare(case, &found));
        }
        Err(error) => return Err(malformed(&error.to_string())),
    };
    let mut of_case = |workspace: &Workspace, review: &Review<'_>| -> Result<_, WorkspaceError> {
        evaluate(&objects, workspace, review)
    };
    let reviewed = review(case, &workspace, &mut of_case)?;
    let warnings = workspace.warnings().iter().map(String::as_str);
    let warnings = warnings.chain(reviewed.warnings()).map(str::to_owned);
    let status = |error: &ApiError| Status::from(error).to_value();
    let found = Found {
        refused_policies: Vec::new(),
        refused_request: reviewed.error.as_ref().map(status),
        warnings: warnings.collect(),
        object: reviewed.object.map_or(Value::Null, Object::into_value),
    };
    Ok(compare(case, &found))
}

fn review(
    case: &Value,
    workspace: &Workspace,
    evaluate: &mut dyn FnMut(&Workspace, &Review<'_>) -> Result<Reviewed, WorkspaceError>,
) -> Result<Reviewed, CaseError> {
    let one = |field: &str| match &case[field] {
        Value::Null => Ok(None),
        given => object(given, field).map(Some),
    };
    let (mut new, old) = (one("object")?, one("oldObject")?);
    let operation = match case["operation"].as_str() {
        None => None,
        Some("CREATE") => Some(Operation::Create),
        Some("UPDATE") => Some(Operation::Update),
        Some("DELETE") => Some(Operation::Delete),
        Some("CONNECT") => Some(Operation::Connect),
        Some(other) => return Err(malformed(&format!("operation {other:?} is unknown"))),
    };
    if operation == Some(Operation::Delete) {
        new = None;
    }
    // A case may give the namespace of its objects once.
    let own = case["namespace"].as_str();
    let own = own.or_else(|| case["namespace"]["metadata"]["name"].as_str());
    let mut old = old;
    let is_unnamed = |object: &Object| object.namespace().is_empty();
    let placed = new.as_ref().or(old.as_ref()).is_some_and(is_unnamed);
    if let Some(name) = own.filter(|_| placed) {
        for object in [&mut new, &mut old].into_iter().flatten() {
            if workspace
                .served(object)
                .is_ok_and(|served| served.resource.is_namespaced())
            {
                object.set_meta_text("namespace", name);
            }
        }
    }
    let user = match &case["user"] {
        Value::Null => User::new("admin", ["system:masters"]),
        given => User::new(
            given["username"].as_str().unwrap_or("admin"),
            given["groups"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        ),
    };
    let is_master = user.is_master();
    let review = Review {
        operation,
        object: new.as_ref(),
        old: old.as_ref(),
        subresource: case["subresource"].as_str().unwrap_or_default(),
        user: &user,
        authorizer: Arc::new(move |_| {
            if is_master {
                Decision::allow("")
            } else {
                Decision::no_opinion()
            }
        }),
        is_dry_run: case["dryRun"] == true,
        tracing: Tracing::Off,
    };
    let reviewed = evaluate(workspace, &review);
    let mut reviewed = reviewed.map_err(|error| malformed(&error.to_string()))?;
    if placed && let Some(object) = &mut reviewed.object {
        object.set_meta_text("namespace", "");
    }
    Ok(reviewed)
}

/// Observations of a case that this library or a server ran.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// Statuses of refused policies and bindings, in order; no request was sent then.
    pub refused_policies: Vec<Value>,
    /// The `Status` of the refused request.
    pub refused_request: Option<Value>,
    /// The object after the request; null for a deletion.
    pub object: Value,
    /// Warnings for the authors of policies, and for the client.
    pub warnings: Vec<String>,
}

/// Differences between what a case expects and what was found; empty if there are none.
pub fn compare(case: &Value, found: &Found) -> Vec<String> {
    let expected = &case["expected"];
    if !found.refused_policies.is_empty() {
        return compare_error("policy", &found.refused_policies, expected);
    }
    let mut problems = Vec::new();
    match (&found.refused_request, expected["error"].is_null()) {
        (None, false) => {
            problems.push("expected an error, but the request was accepted".to_owned());
        }
        (Some(status), true) => {
            let causes = causes(status).join("\n  ");
            let message = message(status);
            problems.push(format!("the request was refused: {message}\n  {causes}"));
        }
        (Some(status), false) => {
            let errors = std::slice::from_ref(status);
            problems.extend(compare_error("request", errors, expected));
        }
        (None, true) => {}
    }
    if found.refused_request.is_none() {
        let object = without_assigned(&found.object);
        if !expected["object"].is_null() {
            let wanted = without_assigned(&expected["object"]);
            let is_subset = case["match"] == "subset";
            compare_values(&wanted, &object, is_subset, "", &mut problems);
        }
        for pointer in expected["absent"].as_array().into_iter().flatten() {
            let pointer = pointer.as_str().unwrap_or_default();
            if let Some(value) = object.pointer(pointer) {
                problems.push(format!("{pointer}: expected nothing, found {value}"));
            }
        }
    }
    let warnings = &found.warnings;
    for wanted in expected["warnings"].as_array().into_iter().flatten() {
        let wanted = wanted.as_str().unwrap_or_default();
        if !warnings.iter().any(|warning| warning.contains(wanted)) {
            problems.push(format!("no warning contains {wanted:?}: {warnings:?}"));
        }
    }
    problems
}

/// Compares errors with the expected one. Every text must be in the message or a cause of the one that is compared.
fn compare_error(stage: &str, errors: &[Value], expected: &Value) -> Vec<String> {
    let wanted = &expected["error"];
    let shown = || -> String {
        let texts = errors
            .iter()
            .map(|status| format!("{}\n  {}", message(status), causes(status).join("\n  ")));
        texts.collect::<Vec<_>>().join("\n")
    };
    if wanted.is_null() {
        return vec![format!("{stage} was refused: {}", shown())];
    }
    let mut problems = Vec::new();
    if wanted["stage"]
        .as_str()
        .is_some_and(|wanted| wanted != stage)
    {
        problems.push(format!(
            "expected an error of the {}, got one of the {stage}",
            wanted["stage"]
        ));
    }
    let first = errors.first().unwrap_or(&Value::Null);
    for field in ["code", "reason"] {
        if !wanted[field].is_null() && wanted[field] != first[field] {
            let (wanted, found) = (&wanted[field], &first[field]);
            problems.push(format!("{field}: expected {wanted}, found {found}"));
        }
    }
    if let Some(field) = wanted["field"].as_str() {
        let mut causes = errors.iter().flat_map(|status| {
            let causes = status["details"]["causes"].as_array();
            causes.into_iter().flatten()
        });
        if !causes.any(|cause| cause["field"] == field) {
            problems.push(format!("no cause is about {field}"));
        }
    }
    let texts: Vec<String> = errors
        .iter()
        .flat_map(|status| [vec![message(status).to_owned()], causes(status)].concat())
        .collect();
    for text in wanted["contains"].as_array().into_iter().flatten() {
        let text = text.as_str().unwrap_or_default();
        if !texts.iter().any(|found| found.contains(text)) {
            problems.push(format!("no message contains {text:?}"));
        }
    }
    if !problems.is_empty() {
        problems.push(format!("found: {}", shown()));
    }
    problems
}

fn message(status: &Value) -> &str {
    status["message"].as_str().unwrap_or_default()
}

fn causes(status: &Value) -> Vec<String> {
    let causes = status["details"]["causes"].as_array();
    let text = |cause: &Value| {
        let field = cause["field"].as_str().unwrap_or_default();
        let message = cause["message"].as_str().unwrap_or_default();
        if field.is_empty() {
            message.to_owned()
        } else {
            format!("{field}: {message}")
        }
    };
    causes.into_iter().flatten().map(text).collect()
}

fn compare_values(
    wanted: &Value,
    found: &Value,
    is_subset: bool,
    at: &str,
    problems: &mut Vec<String>,
) {
    match (wanted, found) {
        (Value::Object(all), Value::Object(present)) => {
            for (name, wanted) in all {
                let at = format!("{at}/{name}");
                match present.get(name) {
                    Some(found) => compare_values(wanted, found, is_subset, &at, problems),
                    None => problems.push(format!("{at}: expected {wanted}, found nothing")),
                }
            }
            if !is_subset {
                for (name, found) in present.iter().filter(|(name, _)| !all.contains_key(*name)) {
                    problems.push(format!("{at}/{name}: expected nothing, found {found}"));
                }
            }
        }
        (Value::Array(all), Value::Array(present)) if all.len() == present.len() => {
            for (index, (wanted, found)) in all.iter().zip(present).enumerate() {
                compare_values(wanted, found, is_subset, &format!("{at}/{index}"), problems);
            }
        }
        _ if lockstep_admission::diff::same(wanted, found) => {}
        _ => problems.push(format!("{at}: expected {wanted}, found {found}")),
    }
}

fn without_assigned(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ASSIGNED {
            metadata.remove(field);
        }
    }
    object
}

fn many(case: &Value, field: &str) -> Result<Vec<Object>, CaseError> {
    match &case[field] {
        Value::Null => Ok(Vec::new()),
        Value::Array(given) => given.iter().map(|given| object(given, field)).collect(),
        _ => Err(malformed(&format!("`{field}` is not a list"))),
    }
}

fn object(given: &Value, field: &str) -> Result<Object, CaseError> {
    let object = Object::from_value(given.clone());
    object.map_err(|_| malformed(&format!("`{field}` has a value that is not an object")))
}

fn namespace(name: &str) -> Result<Object, CaseError> {
    let namespace = serde_json::json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
    });
    object(&namespace, "namespace")
}

fn malformed(why: &str) -> CaseError {
    CaseError::Malformed(why.to_owned())
}
