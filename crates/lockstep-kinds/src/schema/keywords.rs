//! Schema keywords, declared in the order in which JSON prints them.

use std::collections::BTreeSet;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{OpenApiVersion, property};
use crate::table::{Table, TypeId};

/// A schema serialized directly from the table, with its keys in sorted order.
#[derive(Debug, Clone, Default)]
pub struct Schema<'a> {
    pub(super) reference: Option<Reference>,
    pub(super) additional_properties: Option<Box<Self>>,
    pub(super) all_of: Option<[Referring; 1]>,
    pub(super) default: Option<Value>,
    pub(super) description: Option<&'static str>,
    pub(super) enumeration: Option<Vec<String>>,
    pub(super) format: Option<&'static str>,
    pub(super) items: Option<Box<Self>>,
    pub(super) one_of: Option<[OfType; 2]>,
    pub(super) properties: Option<Properties<'a>>,
    pub(super) required: Option<BTreeSet<&'static str>>,
    pub(super) kind: Option<&'static str>,
    /// `x-kubernetes-group-version-kind`; set by the server, which knows the served kinds.
    pub kinds: Option<[GroupVersionKind<'a>; 1]>,
    pub(super) list_map_keys: Option<Vec<&'static str>>,
    pub(super) list_type: Option<&'static str>,
    pub(super) map_type: Option<&'static str>,
    pub(super) patch_merge_key: Option<&'static str>,
    pub(super) patch_strategy: Option<&'static str>,
    pub(super) unions: Option<Value>,
}

impl Schema<'_> {
    pub(super) fn of_type(kind: &'static str) -> Self {
        Self {
            kind: Some(kind),
            ..Self::default()
        }
    }

    pub(super) fn of_format(kind: &'static str, format: &'static str) -> Self {
        Self {
            format: Some(format),
            ..Self::of_type(kind)
        }
    }
}

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "$ref", self.reference.as_ref())?;
        let values = self.additional_properties.as_ref();
        entry(&mut map, "additionalProperties", values)?;
        entry(&mut map, "allOf", self.all_of.as_ref())?;
        entry(&mut map, "default", self.default.as_ref())?;
        entry(&mut map, "description", self.description)?;
        entry(&mut map, "enum", self.enumeration.as_ref())?;
        entry(&mut map, "format", self.format)?;
        entry(&mut map, "items", self.items.as_ref())?;
        entry(&mut map, "oneOf", self.one_of.as_ref())?;
        entry(&mut map, "properties", self.properties.as_ref())?;
        entry(&mut map, "required", self.required.as_ref())?;
        entry(&mut map, "type", self.kind)?;
        let kinds = self.kinds.as_ref();
        entry(&mut map, "x-kubernetes-group-version-kind", kinds)?;
        let keys = self.list_map_keys.as_ref();
        entry(&mut map, "x-kubernetes-list-map-keys", keys)?;
        entry(&mut map, "x-kubernetes-list-type", self.list_type)?;
        entry(&mut map, "x-kubernetes-map-type", self.map_type)?;
        let key = self.patch_merge_key;
        entry(&mut map, "x-kubernetes-patch-merge-key", key)?;
        let strategy = self.patch_strategy;
        entry(&mut map, "x-kubernetes-patch-strategy", strategy)?;
        entry(&mut map, "x-kubernetes-unions", self.unions.as_ref())?;
        map.end()
    }
}

fn entry<M: SerializeMap>(
    map: &mut M,
    keyword: &'static str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    match value {
        None => Ok(()),
        Some(value) => map.serialize_entry(keyword, &value),
    }
}

/// Entry of `x-kubernetes-group-version-kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GroupVersionKind<'a> {
    /// The group; empty for core.
    pub group: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// `v1`
    pub version: &'a str,
}

/// The name of a schema: `io.k8s.api.core.v1.Container`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) package: &'static str,
    pub(super) last: &'static str,
}

impl Name {
    pub(super) fn of(table: &Table, id: TypeId) -> Self {
        Self {
            package: table.package(id).published,
            last: table.get(id).name,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, last } = self;
        write!(f, "{package}.{last}")
    }
}

/// Position of a schema in the document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference(pub(super) OpenApiVersion, pub(super) Name);

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(version, name) = self;
        serializer.collect_str(&format_args!("{}{name}", version.prefix()))
    }
}

/// A schema that is nothing but another.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Referring {
    #[serde(rename = "$ref")]
    pub(super) reference: Reference,
}

/// A schema that is nothing but a type.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct OfType {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

/// The fields of a struct, each made when it is printed.
#[derive(Clone, Copy)]
pub(super) struct Properties<'a> {
    pub(super) table: &'a Table,
    pub(super) id: TypeId,
    pub(super) version: OpenApiVersion,
}

impl fmt::Debug for Properties<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Properties({})", Name::of(self.table, self.id))
    }
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { table, id, version } = self;
        let fields = table.get(id).json.iter();
        serializer
            .collect_map(fields.map(|field| (field.name, property(table, id, field, version))))
    }
}
