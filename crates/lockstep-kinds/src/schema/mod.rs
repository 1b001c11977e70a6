//! OpenAPI schemas of the table's types.

mod keywords;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::descriptions;
use crate::table::{Field, Leaf, ListType, Shape, Special, Table, TypeId};

pub use keywords::{GroupVersionKind, Schema};
use keywords::{Name, OfType, Properties, Reference, Referring};

/// OpenAPI version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenApiVersion {
    /// 2.0: no defaults, no `oneOf`, and a `$ref` allows no sibling but its description.
    V2,
    /// 3.0.
    V3,
}

impl OpenApiVersion {
    /// Prefix of `$ref`s.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::V2 => "#/definitions/",
            Self::V3 => "#/components/schemas/",
        }
    }
}

/// The names of the schemas that a type needs, its own among them, sorted.
pub fn closure(table: &Table, roots: impl IntoIterator<Item = TypeId>) -> BTreeSet<String> {
    let (mut names, mut known) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<TypeId> = roots.into_iter().collect();
    while let Some(id) = open.pop() {
        if !known.insert(id) {
            continue;
        }
        names.insert(table.published_name(id));
        for field in &table.get(id).json {
            match item(field) {
                Leaf::Struct(inner) => open.push(inner),
                Leaf::Special(special) => {
                    let name = special_name(table, id, field, special);
                    names.extend(name.map(|name| name.to_string()));
                }
                _ => {}
            }
        }
    }
    names
}

/// A schema by its name; none if the table does not have it.
pub fn named<'a>(table: &'a Table, name: &str, version: OpenApiVersion) -> Option<Schema<'a>> {
    if let Some(id) = table.published(name) {
        return Some(structure(table, id, version));
    }
    let is_v2 = version == OpenApiVersion::V2;
    let (_, last) = name.rsplit_once('.')?;
    let either = |a, b| Some([OfType { kind: a }, OfType { kind: b }]);
    Some(match last {
        "Time" | "MicroTime" => Schema::of_format("string", "date-time"),
        "Quantity" if is_v2 => Schema::of_type("string"),
        "Quantity" => Schema {
            one_of: either("string", "number"),
            ..Schema::default()
        },
        "IntOrString" if is_v2 => Schema::of_format("string", "int-or-string"),
        "IntOrString" => Schema {
            format: Some("int-or-string"),
            one_of: either("integer", "string"),
            ..Schema::default()
        },
        "FieldsV1" | "RawExtension" | "Patch" => Schema::of_type("object"),
        "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray" => Schema::default(),
        _ => return None,
    })
}

/// The schema of a struct.
fn structure(table: &Table, id: TypeId, version: OpenApiVersion) -> Schema<'_> {
    let kind = table.get(id);
    let required = kind.fields.iter().chain(&kind.json);
    let required: BTreeSet<&str> = required
        .filter(|field| field.is_required && !field.name.is_empty())
        .map(|field| field.name)
        .collect();
    let properties = Properties { table, id, version };
    Schema {
        description: descriptions::of_type(table, id),
        properties: (!kind.json.is_empty()).then_some(properties),
        required: (!required.is_empty()).then_some(required),
        map_type: kind.is_atomic.then_some("atomic"),
        unions: serde_json::from_str(kind.unions).ok(),
        ..Schema::of_type("object")
    }
}

fn property(table: &Table, id: TypeId, field: &Field, version: OpenApiVersion) -> Schema<'static> {
    let element = |leaf| Some(Box::new(element(table, id, field, leaf, version)));
    let mut schema = match field.shape {
        Shape::One(leaf) => Schema {
            enumeration: field.enumeration(),
            ..one(table, id, field, leaf, version)
        },
        Shape::List(leaf) => Schema {
            items: element(leaf),
            ..Schema::of_type("array")
        },
        Shape::Map(leaf) => Schema {
            additional_properties: element(leaf),
            ..Schema::of_type("object")
        },
    };
    schema.description = descriptions::of_field(table, id, field);
    if version == OpenApiVersion::V3 {
        schema.default = default(field);
    }
    schema.list_type = field.list_type().map(|list_type| match list_type {
        ListType::Atomic => "atomic",
        ListType::Set => "set",
        ListType::Map(keys) => {
            schema.list_map_keys = Some(keys.split(',').collect());
            "map"
        }
    });
    schema.patch_strategy = field.patch_strategy();
    schema.patch_merge_key = field.patch_merge_key();
    schema.map_type = field.map_type();
    schema
}

/// An item of a list or a value of a map.
fn element(
    table: &Table,
    id: TypeId,
    field: &Field,
    leaf: Leaf,
    version: OpenApiVersion,
) -> Schema<'static> {
    let default = match leaf {
        Leaf::Text => Some(json!("")),
        Leaf::Bool => Some(json!(false)),
        Leaf::Int32 | Leaf::Int64 | Leaf::Double => Some(json!(0)),
        Leaf::Struct(_) => Some(json!({})),
        Leaf::Bytes | Leaf::Special(_) => None,
    };
    Schema {
        default: default.filter(|_| version == OpenApiVersion::V3),
        enumeration: field.enumeration(),
        ..one(table, id, field, leaf, version)
    }
}

fn one(
    table: &Table,
    id: TypeId,
    field: &Field,
    leaf: Leaf,
    version: OpenApiVersion,
) -> Schema<'static> {
    match leaf {
        Leaf::Bool => Schema::of_type("boolean"),
        Leaf::Int32 => Schema::of_format("integer", "int32"),
        Leaf::Int64 => Schema::of_format("integer", "int64"),
        Leaf::Double => Schema::of_format("number", "double"),
        Leaf::Text => Schema::of_type("string"),
        Leaf::Bytes => Schema::of_format("string", "byte"),
        Leaf::Struct(inner) => referring(version, Name::of(table, inner)),
        Leaf::Special(special) => match special_name(table, id, field, special) {
            Some(name) => referring(version, name),
            None => texts(version),
        },
    }
}

fn referring(version: OpenApiVersion, name: Name) -> Schema<'static> {
    let reference = Reference(version, name);
    match version {
        OpenApiVersion::V2 => Schema {
            reference: Some(reference),
            ..Schema::default()
        },
        OpenApiVersion::V3 => Schema {
            all_of: Some([Referring { reference }]),
            ..Schema::default()
        },
    }
}

/// The schema of a list of texts that has a name in Go only.
fn texts(version: OpenApiVersion) -> Schema<'static> {
    let item = Schema {
        default: (version == OpenApiVersion::V3).then(|| json!("")),
        ..Schema::of_type("string")
    };
    Schema {
        items: Some(Box::new(item)),
        ..Schema::of_type("array")
    }
}

impl Field {
    /// Default value in the schema.
    pub fn schema_default(&self) -> Option<Value> {
        default(self)
    }
}

fn default(field: &Field) -> Option<Value> {
    match field.default() {
        Some("-") => return None,
        Some(text) => return serde_json::from_str(text).ok(),
        None => {}
    }
    let Shape::One(leaf) = field.shape else {
        return None;
    };
    let is_always_there = field.omit == crate::table::Omit::Never;
    match leaf {
        _ if field.is_pointer => None,
        Leaf::Struct(_) | Leaf::Special(_) if leaf != Leaf::Special(Special::Texts) => {
            Some(json!({}))
        }
        Leaf::Text | Leaf::Bytes if is_always_there => Some(json!("")),
        Leaf::Int32 | Leaf::Int64 if is_always_there => Some(json!(0)),
        Leaf::Bool if is_always_there => Some(json!(false)),
        _ => None,
    }
}

fn item(field: &Field) -> Leaf {
    match field.shape {
        Shape::One(leaf) | Shape::List(leaf) | Shape::Map(leaf) => leaf,
    }
}

/// The schema of a type with its own form; none for lists of texts, which have no name.
fn special_name(table: &Table, id: TypeId, field: &Field, special: Special) -> Option<Name> {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
    const APIEXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
    let (package, last) = match special {
        Special::Time => (META, "Time"),
        Special::MicroTime => (META, "MicroTime"),
        Special::Quantity => ("io.k8s.apimachinery.pkg.api.resource", "Quantity"),
        Special::IntOrString => ("io.k8s.apimachinery.pkg.util.intstr", "IntOrString"),
        Special::Json if field.is_opaque() => ("io.k8s.apimachinery.pkg.runtime", "RawExtension"),
        Special::Json if table.package(id).published == META => (META, "FieldsV1"),
        Special::Json => (APIEXTENSIONS, "JSON"),
        Special::SchemaOrSchemas => (APIEXTENSIONS, "JSONSchemaPropsOrArray"),
        Special::SchemaOrBool => (APIEXTENSIONS, "JSONSchemaPropsOrBool"),
        Special::SchemaOrTexts => (APIEXTENSIONS, "JSONSchemaPropsOrStringArray"),
        Special::Texts => return None,
    };
    Some(Name { package, last })
}
