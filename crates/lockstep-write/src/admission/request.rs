//! The facts of a write that webhooks and policies match and see.

use lockstep_admission::request::{Operation, Request, ResourceVersion, user_info};
use lockstep_object::Value;
use serde_json::json;

use super::super::DryRun;
use super::{Attributes, policies};
use lockstep_catalog::{Served, Subresource};

impl Attributes<'_> {
    /// The facts of the write, without equivalent versions.
    pub(super) fn facts(&self) -> Request {
        let request = self.request;
        let user = request.user;
        Request {
            operation: self.operation,
            requested: self.resource_version(&request.served),
            equivalents: Vec::new(),
            subresource: request.route.subresource.clone(),
            name: self.name.to_owned(),
            namespace: self.namespace().to_owned(),
            user_info: user_info(&user.name, &user.uid, &user.groups, &json!(user.extra)),
            is_dry_run: self.dry_run == DryRun::All,
            options: options(self),
        }
    }

    /// A version of the resource, and the kind of the body there.
    pub(super) fn resource_version(&self, served: &Served) -> ResourceVersion {
        let version = policies::resource_version(served);
        match self.subresource.and_then(Subresource::own_kind) {
            Some(_) => ResourceVersion {
                kind: self.kind(),
                ..version
            },
            None => version,
        }
    }
}

/// Builds the `AdmissionRequest` in the version of the resource that the webhook matched.
pub(super) fn describe(attributes: &Attributes<'_>, served: &Served) -> Value {
    let matched = attributes.resource_version(served);
    attributes.facts().describe(&matched)
}

/// `options` of the `AdmissionRequest`. Upstream sends those of a patch as `CreateOptions` or `UpdateOptions` too.
fn options(attributes: &Attributes<'_>) -> Value {
    let kind = match attributes.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        Operation::Connect => return Value::Null,
    };
    let mut options = match attributes.delete_options {
        Some(Value::Object(given)) => given.clone(),
        _ => attributes.request.options.given.clone(),
    };
    options.insert("kind".to_owned(), kind.into());
    options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
    options.into()
}
