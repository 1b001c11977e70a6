//! Schemas referenced by operations, with their transitive closure.

use std::collections::BTreeMap;

use lockstep_kinds::Table;
use lockstep_kinds::schema::{self, GroupVersionKind, OpenApiVersion, closure, named};
use serde::Serialize;
use serde_json::Value;

use crate::custom;
use crate::{Resource, Source};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
pub(crate) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(crate) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
pub(crate) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(crate) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Types of `meta/v1` that every document has.
const ALWAYS: [&str; 5] = [
    "DeleteOptions",
    "ListMeta",
    "ObjectMeta",
    "Status",
    "WatchEvent",
];

/// A schema that an operation names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Schema {
    /// That of the resource's objects.
    Object,
    /// That of its lists.
    List,
    /// Another.
    Named(String),
}

impl Schema {
    /// Its name in documents.
    pub(crate) fn name(&self, resource: &Resource<'_>) -> String {
        match self {
            Self::Object => published(resource, resource.kind),
            Self::List => published(resource, resource.list_kind),
            Self::Named(name) => name.clone(),
        }
    }
}

/// The name of a kind's schema: the table's, or the group backwards.
pub(crate) fn published(resource: &Resource<'_>, kind: &str) -> String {
    let table = Table::builtin();
    let built_in = table.kind(resource.group, resource.version, kind);
    match (&resource.source, built_in) {
        (Source::BuiltIn, Some(id)) => table.published_name(id),
        _ => {
            let mut words: Vec<&str> = resource.group.rsplit('.').collect();
            words.extend([resource.version, kind]);
            words.join(".")
        }
    }
}

/// A schema in a document.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Printed {
    /// Of the table.
    BuiltIn(Box<schema::Schema<'static>>),
    /// Of a custom resource.
    Custom(Value),
}

/// All schemas of some resources, by name.
pub(crate) fn all(
    resources: Vec<Resource<'_>>,
    version: OpenApiVersion,
) -> BTreeMap<String, Printed> {
    let table = Table::builtin();
    let mut roots: Vec<_> = ALWAYS
        .iter()
        .filter_map(|name| table.published(&format!("{META}.{name}")))
        .collect();
    let mut schemas = BTreeMap::new();
    for mut resource in resources {
        let parts = resource.parts.iter().filter_map(|part| part.kind);
        roots.extend(parts.filter_map(|[group, version, kind]| table.kind(group, version, kind)));
        let [kind, list_kind] = [resource.kind, resource.list_kind];
        match &mut resource.source {
            Source::BuiltIn => {
                let kinds = [kind, list_kind].into_iter();
                roots.extend(
                    kinds.filter_map(|kind| table.kind(resource.group, resource.version, kind)),
                );
            }
            Source::Custom(schema) => {
                let schema = std::mem::take(schema);
                let object = custom::object(&resource, schema, version);
                let list = custom::list(&resource, version);
                for (kind, schema) in [(kind, object), (list_kind, list)] {
                    schemas.insert(published(&resource, kind), Printed::Custom(schema));
                }
            }
        }
    }
    let mut names = closure(table, roots);
    names.insert(PATCH.to_owned());
    for name in names {
        if let Some(mut schema) = named(table, &name, version) {
            schema.kinds = kind(table, &name).map(|kind| [kind]);
            schemas.insert(name, Printed::BuiltIn(Box::new(schema)));
        }
    }
    schemas
}

/// The kind that a schema of the table is of.
fn kind(table: &Table, name: &str) -> Option<GroupVersionKind<'static>> {
    let id = table.published(name)?;
    let found = table.get(id);
    let (group, version) = table.package(id).served?;
    let is_told = found.is_kind || found.name == "WatchEvent";
    is_told.then_some(GroupVersionKind {
        group,
        kind: found.name,
        version,
    })
}
