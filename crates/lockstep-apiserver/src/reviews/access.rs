//! Access reviews and rules reviews.

use std::collections::BTreeMap;

use lockstep_authz::PolicyRule;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{ApiError, Value};
use serde_json::json;

use super::spec::Spec;
use crate::authn::User;
use crate::authz::{Attributes, Target};
use crate::state::Server;

const EITHER: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

/// `SubjectAccessReview`.
pub(super) fn of_anybody(server: &Server, spec: &Spec<'_>) -> Result<Value, ApiError> {
    let user = somebody(spec)?;
    let mut errors = check(spec)?;
    check_user(&user, &mut errors);
    spec.check_metadata(&[], "must be empty", &mut errors);
    spec.judge(errors)?;
    judge(server, &user, spec)
}

/// `LocalSubjectAccessReview`.
pub(super) fn of_anybody_in(
    server: &Server,
    spec: &Spec<'_>,
    namespace: &str,
) -> Result<Value, ApiError> {
    let user = somebody(spec)?;
    let mut errors = check(spec)?;
    check_user(&user, &mut errors);
    let allowed = &["namespace"];
    spec.check_metadata(allowed, "must be empty except for namespace", &mut errors);
    let root = Path::ROOT.field("spec");
    let asked = spec.text(&["resourceAttributes", "namespace"])?;
    if spec.at(&["resourceAttributes"]).is_some() && asked != namespace {
        let path = root.field("resourceAttributes");
        let path = path.field("namespace");
        let problem = "must match metadata.namespace";
        errors.push(FieldError::invalid(&path, asked, problem));
    }
    if let Some(value) = spec.at(&["nonResourceAttributes"]) {
        let path = root.field("nonResourceAttributes");
        let problem = "disallowed on this kind of request";
        errors.push(FieldError::invalid(&path, value, problem));
    }
    spec.judge(errors)?;
    judge(server, &user, spec)
}

/// `SelfSubjectAccessReview`.
pub(super) fn of_self(server: &Server, user: &User, spec: &Spec<'_>) -> Result<Value, ApiError> {
    let mut errors = check(spec)?;
    spec.check_metadata(&[], "must be empty", &mut errors);
    spec.judge(errors)?;
    judge(server, user, spec)
}

/// `SelfSubjectRulesReview`.
pub(super) fn rules_of_self(
    server: &Server,
    user: &User,
    spec: &Spec<'_>,
) -> Result<Value, ApiError> {
    let namespace = spec.text(&["namespace"])?;
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (mut resources, mut paths): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let everything = may_do_everything(server, user).then(everything);
    let held = server.rules.rules_for(user, namespace);
    for rule in everything.into_iter().flatten().chain(held) {
        let list = if rule.non_resource_urls.is_empty() {
            &mut resources
        } else {
            &mut paths
        };
        let rule = rule.to_value();
        if !list.contains(&rule) {
            list.push(rule);
        }
    }
    Ok(json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false }))
}

/// True if the authorizer before RBAC allows everything to the user.
fn may_do_everything(server: &Server, user: &User) -> bool {
    let resource = Target::Resource {
        group: "*",
        version: "*",
        namespace: "",
        resource: "*",
        subresource: "",
        name: "",
    };
    let targets = [resource, Target::Path("*")];
    targets.into_iter().all(|target| {
        let attributes = Attributes {
            user,
            verb: "*",
            target,
        };
        (server.authorizer)(&attributes).allowed
    })
}

fn everything() -> [PolicyRule; 2] {
    let all = || vec!["*".into()];
    let rule = PolicyRule {
        verbs: all(),
        ..PolicyRule::default()
    };
    [
        PolicyRule {
            api_groups: all(),
            resources: all(),
            ..rule.clone()
        },
        PolicyRule {
            non_resource_urls: all(),
            ..rule
        },
    ]
}

/// The user in the spec.
fn somebody(spec: &Spec<'_>) -> Result<User, ApiError> {
    let mut extra = BTreeMap::new();
    if let Some(Value::Object(entries)) = spec.map(&["extra"])? {
        for key in entries.keys() {
            extra.insert(key.to_lowercase(), spec.texts(&["extra", key])?);
        }
    }
    Ok(User {
        name: spec.text(&["user"])?.to_owned(),
        uid: spec.text(&["uid"])?.to_owned(),
        groups: spec.texts(&["groups"])?,
        extra,
    })
}

fn check_user(user: &User, errors: &mut FieldErrors) {
    if user.name.is_empty() && user.groups.is_empty() {
        let path = Path::ROOT.field("spec");
        let problem = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(&path.field("user"), "", problem));
    }
}

/// Validates that exactly one of resource and non-resource attributes is set.
fn check(spec: &Spec<'_>) -> Result<FieldErrors, ApiError> {
    let resource = spec.map(&["resourceAttributes"])?;
    let path = spec.map(&["nonResourceAttributes"])?;
    let root = Path::ROOT.field("spec");
    Ok(match (resource, path) {
        (Some(_), Some(attributes)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            let path = root.field("nonResourceAttributes");
            [FieldError::invalid(&path, attributes, why)].into()
        }
        (None, None) => {
            let path = root.field("resourceAttributes");
            [FieldError::invalid(&path, &Value::Null, EITHER)].into()
        }
        (Some(_), None) | (None, Some(_)) => FieldErrors::new(),
    })
}

fn judge(server: &Server, user: &User, spec: &Spec<'_>) -> Result<Value, ApiError> {
    let of_resource = |field: &str| spec.text(&["resourceAttributes", field]);
    let of_path = |field: &str| spec.text(&["nonResourceAttributes", field]);
    let (verb, target) = if spec.at(&["resourceAttributes"]).is_some() {
        let target = Target::Resource {
            group: of_resource("group")?,
            version: of_resource("version")?,
            namespace: of_resource("namespace")?,
            resource: of_resource("resource")?,
            subresource: of_resource("subresource")?,
            name: of_resource("name")?,
        };
        (of_resource("verb")?, target)
    } else {
        (of_path("verb")?, Target::Path(of_path("path")?))
    };
    let attributes = Attributes { user, verb, target };
    let verdict = (server.authorizer)(&attributes);
    let mut status = json!({ "allowed": verdict.allowed });
    if !verdict.reason.is_empty() {
        status["reason"] = verdict.reason.into();
    }
    Ok(status)
}
