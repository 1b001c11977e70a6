//! Types of the table as OpenAPI describes them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::descriptions;
use crate::table::{Field, Leaf, ListType, Shape, Special, Table, TypeId};

/// Which OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// 2.0: no defaults, no `oneOf`, a reference stands alone but for its description.
    V2,
    /// 3.0.
    V3,
}

impl Flavour {
    /// What references begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::V2 => "#/definitions/",
            Self::V3 => "#/components/schemas/",
        }
    }
}

/// The names of the schemas that a type needs, its own among them, sorted.
pub fn closure(table: &Table, roots: impl IntoIterator<Item = TypeId>) -> BTreeSet<String> {
    let (mut names, mut open): (BTreeSet<String>, Vec<TypeId>) =
        (BTreeSet::new(), roots.into_iter().collect());
    while let Some(id) = open.pop() {
        if !names.insert(table.published_name(id)) {
            continue;
        }
        for field in &table.get(id).json {
            match item(field) {
                Leaf::Struct(inner) => open.push(inner),
                Leaf::Special(special) => names.extend(special_name(table, id, field, special)),
                _ => {}
            }
        }
    }
    names
}

/// A schema by its name; none if the table does not have it.
pub fn named(table: &Table, name: &str, flavour: Flavour) -> Option<Value> {
    if let Some(id) = table.published(name) {
        return Some(structure(table, id, flavour));
    }
    let is_v2 = flavour == Flavour::V2;
    let (_, last) = name.rsplit_once('.')?;
    Some(match last {
        "Time" | "MicroTime" => json!({"type": "string", "format": "date-time"}),
        "Quantity" if is_v2 => json!({"type": "string"}),
        "Quantity" => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        "IntOrString" if is_v2 => json!({"type": "string", "format": "int-or-string"}),
        "IntOrString" => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        "FieldsV1" | "RawExtension" | "Patch" => json!({"type": "object"}),
        "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray" => json!({}),
        _ => return None,
    })
}

/// The schema of a struct.
pub fn structure(table: &Table, id: TypeId, flavour: Flavour) -> Value {
    let kind = table.get(id);
    let mut schema = Map::new();
    if let Some(words) = descriptions::of_type(table, id) {
        schema.insert("description".into(), words.into());
    }
    schema.insert("type".into(), "object".into());
    let properties: Map<String, Value> = kind
        .json
        .iter()
        .map(|field| (field.name.to_owned(), property(table, id, field, flavour)))
        .collect();
    if !properties.is_empty() {
        schema.insert("properties".into(), properties.into());
    }
    let required = kind.fields.iter().chain(&kind.json);
    let required: BTreeSet<&str> = required
        .filter(|field| field.is_required && !field.name.is_empty())
        .map(|field| field.name)
        .collect();
    if !required.is_empty() {
        let required: Vec<Value> = required.into_iter().map(Value::from).collect();
        schema.insert("required".into(), required.into());
    }
    if kind.is_atomic {
        schema.insert("x-kubernetes-map-type".into(), "atomic".into());
    }
    if let Ok(unions) = serde_json::from_str(kind.unions) {
        let _: Option<Value> = schema.insert("x-kubernetes-unions".into(), unions);
    }
    schema.into()
}

fn property(table: &Table, id: TypeId, field: &Field, flavour: Flavour) -> Value {
    let mut schema = match field.shape {
        Shape::One(leaf) => one(table, id, field, leaf, flavour),
        Shape::List(leaf) => {
            json!({"type": "array", "items": element(table, id, field, leaf, flavour)})
        }
        Shape::Map(leaf) => {
            let values = element(table, id, field, leaf, flavour);
            json!({"type": "object", "additionalProperties": values})
        }
    };
    let Value::Object(entries) = &mut schema else {
        return schema;
    };
    if let Some(words) = descriptions::of_field(table, id, field) {
        entries.insert("description".into(), words.into());
    }
    if flavour == Flavour::V3
        && let Some(default) = default(field)
    {
        entries.insert("default".into(), default);
    }
    if let (Some(values), Shape::One(_)) = (field.enumeration(), field.shape) {
        entries.insert("enum".into(), values.into());
    }
    match field.list_type() {
        None => {}
        Some(ListType::Atomic) => {
            entries.insert("x-kubernetes-list-type".into(), "atomic".into());
        }
        Some(ListType::Set) => {
            entries.insert("x-kubernetes-list-type".into(), "set".into());
        }
        Some(ListType::Map(keys)) => {
            let keys: Vec<&str> = keys.split(',').collect();
            entries.insert("x-kubernetes-list-type".into(), "map".into());
            entries.insert("x-kubernetes-list-map-keys".into(), keys.into());
        }
    }
    let texts = [
        ("x-kubernetes-patch-strategy", field.patch_strategy()),
        ("x-kubernetes-patch-merge-key", field.patch_merge_key()),
        ("x-kubernetes-map-type", field.map_type()),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            entries.insert(name.to_owned(), text.into());
        }
    }
    schema
}

/// An item of a list or a value of a map.
fn element(table: &Table, id: TypeId, field: &Field, leaf: Leaf, flavour: Flavour) -> Value {
    let mut schema = one(table, id, field, leaf, flavour);
    let Value::Object(entries) = &mut schema else {
        return schema;
    };
    let default = match leaf {
        Leaf::Text => json!(""),
        Leaf::Bool => json!(false),
        Leaf::Int32 | Leaf::Int64 | Leaf::Double => json!(0),
        Leaf::Struct(_) => json!({}),
        Leaf::Bytes | Leaf::Special(_) => Value::Null,
    };
    if flavour == Flavour::V3 && !default.is_null() {
        entries.insert("default".into(), default);
    }
    if let Some(values) = field.enumeration() {
        entries.insert("enum".into(), values.into());
    }
    schema
}

fn one(table: &Table, id: TypeId, field: &Field, leaf: Leaf, flavour: Flavour) -> Value {
    let reference = |name: String| {
        let target = format!("{}{name}", flavour.prefix());
        match flavour {
            Flavour::V2 => json!({"$ref": target}),
            Flavour::V3 => json!({"allOf": [{"$ref": target}]}),
        }
    };
    match leaf {
        Leaf::Bool => json!({"type": "boolean"}),
        Leaf::Int32 => json!({"type": "integer", "format": "int32"}),
        Leaf::Int64 => json!({"type": "integer", "format": "int64"}),
        Leaf::Double => json!({"type": "number", "format": "double"}),
        Leaf::Text => json!({"type": "string"}),
        Leaf::Bytes => json!({"type": "string", "format": "byte"}),
        Leaf::Struct(inner) => reference(table.published_name(inner)),
        Leaf::Special(special) => match special_name(table, id, field, special) {
            Some(name) => reference(name),
            None if flavour == Flavour::V2 => json!({"type": "array", "items": {"type": "string"}}),
            None => json!({"type": "array", "items": {"type": "string", "default": ""}}),
        },
    }
}

impl Field {
    /// What the schema says it is when it is not there.
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
fn special_name(table: &Table, id: TypeId, field: &Field, special: Special) -> Option<String> {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
    const APIEXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
    Some(match special {
        Special::Time => format!("{META}.Time"),
        Special::MicroTime => format!("{META}.MicroTime"),
        Special::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned(),
        Special::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString".to_owned(),
        Special::Json if field.expression.ends_with("RawExtension") => {
            "io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned()
        }
        Special::Json if table.package(id).published == META => format!("{META}.FieldsV1"),
        Special::Json => format!("{APIEXTENSIONS}.JSON"),
        Special::SchemaOrSchemas => format!("{APIEXTENSIONS}.JSONSchemaPropsOrArray"),
        Special::SchemaOrBool => format!("{APIEXTENSIONS}.JSONSchemaPropsOrBool"),
        Special::SchemaOrTexts => format!("{APIEXTENSIONS}.JSONSchemaPropsOrStringArray"),
        Special::Texts => return None,
    })
}
