//! Typed variables of admission policies and match conditions.

use crate::schema::{Fields, ListKind, ObjectType, Property, Schema, Shape};
use crate::{Env, Type, Version};
use std::sync::Arc;

/// The environment of match conditions and admission policies, with the CEL features of `version`.
pub fn admission_environment(version: Version) -> Env {
    let opaque = |name: &str| Type::opaque(&format!("kubernetes.authorization.{name}"));
    Env::kubernetes(version)
        .with_variable("object", Type::Dyn)
        .with_variable("oldObject", Type::Dyn)
        .with_schema_variable("namespaceObject", namespace_schema())
        .with_schema_variable("request", request_schema())
        .with_variable("authorizer", opaque("Authorizer"))
        .with_variable("authorizer.requestResource", opaque("ResourceCheck"))
}

/// The variable `request`: what an expression may know of the admission request.
///
/// The caller binds JSON with these fields; `options` is null when the request has none.
pub fn request_schema() -> Arc<Schema> {
    let kind = |name: &str, last: &'static str| {
        object(
            name,
            &[("group", text()), ("version", text()), (last, text())],
        )
    };
    let gvk = kind("kubernetes.GroupVersionKind", "kind");
    let gvr = kind("kubernetes.GroupVersionResource", "resource");
    let user = object(
        "kubernetes.UserInfo",
        &[
            ("username", text()),
            ("uid", text()),
            ("groups", list(text())),
            ("extra", map(list(text()))),
        ],
    );
    object(
        "kubernetes.AdmissionRequest",
        &[
            ("kind", gvk.clone()),
            ("resource", gvr.clone()),
            ("subResource", text()),
            ("requestKind", gvk),
            ("requestResource", gvr),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", of(Shape::Bool)),
            ("options", of(Shape::Any)),
        ],
    )
}

/// The variable `namespaceObject`: the namespace of the object, null for cluster-scoped ones.
pub fn namespace_schema() -> Arc<Schema> {
    let metadata = object(
        "kubernetes.NamespaceMetadata",
        &[
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", map(text())),
            ("annotations", map(text())),
            ("UID", text()),
            ("creationTimestamp", of(Shape::DateTime)),
            ("deletionGracePeriodSeconds", of(Shape::Int)),
            ("deletionTimestamp", of(Shape::DateTime)),
            ("generation", of(Shape::Int)),
            ("resourceVersion", text()),
            ("finalizers", list(text())),
        ],
    );
    let condition = object(
        "kubernetes.NamespaceCondition",
        &[
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", of(Shape::DateTime)),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let spec = object("kubernetes.NamespaceSpec", &[("finalizers", list(text()))]);
    let status = object(
        "kubernetes.NamespaceStatus",
        &[("conditions", list(condition)), ("phase", text())],
    );
    object(
        "kubernetes.Namespace",
        &[("metadata", metadata), ("spec", spec), ("status", status)],
    )
}

fn of(shape: Shape) -> Arc<Schema> {
    Arc::new(Schema::of(shape))
}

fn text() -> Arc<Schema> {
    of(Shape::String { longest: None })
}

fn list(items: Arc<Schema>) -> Arc<Schema> {
    of(Shape::List(items, ListKind::Atomic))
}

fn map(values: Arc<Schema>) -> Arc<Schema> {
    of(Shape::Map(values))
}

fn object(name: &str, fields: &[(&str, Arc<Schema>)]) -> Arc<Schema> {
    let property = |name: &str, schema: &Arc<Schema>| Property {
        json_name: name.into(),
        schema: Arc::clone(schema),
        required: false,
    };
    let fields = fields
        .iter()
        .map(|(name, schema)| ((*name).into(), property(name, schema)))
        .collect();
    of(Shape::Object(Arc::new(ObjectType {
        name: name.into(),
        fields: Fields::Declared(fields),
    })))
}
