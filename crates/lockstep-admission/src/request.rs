//! Facts of one admission request that policies match and see.

use lockstep_cel::authorizer::ResourceAttributes;
use lockstep_object::{GroupVersionKind, GroupVersionResource, Map, Value};
use serde_json::json;

use crate::rules::Target;

/// Operation of an admission request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Creation of an object or of a subresource such as `binding`.
    Create,
    /// Update, patch or apply of an existing object.
    Update,
    /// Deletion.
    Delete,
    /// Connection to a subresource such as `exec`.
    Connect,
}

impl Operation {
    /// Spelling in rules and in `AdmissionRequest`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// A resource in one version, and the kind of its objects there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceVersion {
    /// Group, version and plural.
    pub resource: GroupVersionResource,
    /// Group, version and kind of the objects; of the body, for a subresource with a kind of its own.
    pub kind: GroupVersionKind,
}

/// One request, as policies and webhooks know it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Operation under admission.
    pub operation: Operation,
    /// Resource and kind that the client named.
    pub requested: ResourceVersion,
    /// Other served versions of the same objects, for `matchPolicy: Equivalent`.
    pub equivalents: Vec<ResourceVersion>,
    /// Subresource; or empty.
    pub subresource: String,
    /// Name in the request; empty if it is generated.
    pub name: String,
    /// Namespace of the request; for a Namespace object, its own name.
    pub namespace: String,
    /// `userInfo` of the `AdmissionRequest`.
    pub user_info: Value,
    /// True if nothing will be stored.
    pub is_dry_run: bool,
    /// Options of the operation; or null.
    pub options: Value,
}

impl Request {
    /// True for requests for a Namespace object, as opposed to objects within a namespace.
    pub fn is_of_namespace(&self) -> bool {
        let GroupVersionKind { group, kind, .. } = &self.requested.kind;
        group.is_empty() && &**kind == "Namespace"
    }

    /// The namespace that the object lies in; empty for cluster-scoped objects and Namespace objects.
    pub fn enclosing_namespace(&self) -> &str {
        if self.is_of_namespace() {
            ""
        } else {
            &self.namespace
        }
    }

    /// Properties of the request that rules match, in one version of the resource.
    pub fn target<'a>(&'a self, version: &'a ResourceVersion) -> Target<'a> {
        Target {
            operation: self.operation.as_str(),
            group: &version.resource.group,
            version: &version.resource.version,
            resource: &version.resource.resource,
            subresource: &self.subresource,
            name: &self.name,
            is_namespaced: !self.enclosing_namespace().is_empty(),
        }
    }

    /// The resource of the request, for `authorizer.requestResource`.
    pub fn authorized_resource(&self) -> ResourceAttributes {
        let resource = &self.requested.resource;
        ResourceAttributes {
            group: resource.group.to_string(),
            resource: resource.resource.to_string(),
            subresource: self.subresource.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ..ResourceAttributes::default()
        }
    }

    /// The `AdmissionRequest` without `uid`, `object` and `oldObject`, in the version that a policy or webhook matched.
    pub fn describe(&self, matched: &ResourceVersion) -> Value {
        let mut described = json!({
            "kind": kind_of(&matched.kind),
            "resource": resource_of(&matched.resource),
            "requestKind": kind_of(&self.requested.kind),
            "requestResource": resource_of(&self.requested.resource),
            "operation": self.operation.as_str(),
            "userInfo": self.user_info,
            "dryRun": self.is_dry_run,
            "options": self.options,
        });
        let texts = [
            ("subResource", &self.subresource),
            ("requestSubResource", &self.subresource),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ];
        for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            described[field] = text.as_str().into();
        }
        described
    }
}

/// The `userInfo` of an `AdmissionRequest`.
pub fn user_info(name: &str, uid: &str, groups: &[String], extra: &Value) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), name.into());
    if !uid.is_empty() {
        info.insert("uid".to_owned(), uid.into());
    }
    if !groups.is_empty() {
        info.insert("groups".to_owned(), json!(groups));
    }
    if extra.as_object().is_some_and(|extra| !extra.is_empty()) {
        info.insert("extra".to_owned(), extra.clone());
    }
    info.into()
}

fn kind_of(kind: &GroupVersionKind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

fn resource_of(resource: &GroupVersionResource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "resource": resource.resource })
}
