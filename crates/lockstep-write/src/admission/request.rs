//! The `AdmissionRequest` of a write, without `object` and `oldObject`, as webhooks and CEL expressions receive it.

use lockstep_object::{GroupVersionKind, Value};
use serde_json::json;

use super::super::DryRun;
use super::{Attributes, Operation};
use lockstep_catalog::{Served, Subresource};

/// Builds the `AdmissionRequest` in the version of the resource that the webhook or policy matched.
pub(super) fn describe(attributes: &Attributes<'_>, served: &Served) -> Value {
    let request = attributes.request;
    let subresource = request.route.subresource.as_str();
    let kind = match attributes.subresource.and_then(Subresource::own_kind) {
        Some(_) => attributes.kind(),
        None => served.gvk(),
    };
    let user = request.user;
    let mut described = json!({
        "kind": kind_of(&kind),
        "resource": resource_of(served),
        "requestKind": kind_of(&attributes.kind()),
        "requestResource": resource_of(&request.served),
        "operation": attributes.operation.as_str(),
        "userInfo": { "username": user.name },
        "dryRun": attributes.dry_run == DryRun::All,
        "options": options(attributes),
    });
    let texts = [
        ("subResource", subresource),
        ("requestSubResource", subresource),
        ("name", attributes.name),
        ("namespace", attributes.namespace()),
    ];
    for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        described[field] = text.into();
    }
    let user_info = &mut described["userInfo"];
    if !user.uid.is_empty() {
        user_info["uid"] = user.uid.as_str().into();
    }
    if !user.groups.is_empty() {
        user_info["groups"] = json!(user.groups);
    }
    if !user.extra.is_empty() {
        user_info["extra"] = json!(user.extra);
    }
    described
}

fn kind_of(kind: &GroupVersionKind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

fn resource_of(served: &Served) -> Value {
    let resource = &served.resource;
    json!({
        "group": resource.group,
        "version": resource.versions[served.version].name,
        "resource": resource.plural,
    })
}

/// `options` of the `AdmissionRequest`. Upstream sends those of a patch as `CreateOptions` or `UpdateOptions` too.
fn options(attributes: &Attributes<'_>) -> Value {
    let kind = match attributes.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut options = match attributes.delete_options {
        Some(Value::Object(given)) => given.clone(),
        _ => attributes.request.options.given.clone(),
    };
    options.insert("kind".to_owned(), kind.into());
    options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
    options.into()
}
