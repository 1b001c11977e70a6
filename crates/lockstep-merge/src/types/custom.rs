//! Types of custom resources, built from structural schemas.

use std::collections::BTreeMap;

use lockstep_kinds::Table;
use lockstep_schema::{AdditionalProperties, ListType, Schema, ValueType, View};

use super::builtin::Structs;
use super::{
    ANY_SCALAR, BOOLEAN, DEDUCED, Fields, Key, List, NUMBER, Relation, Scalar, TEXT, Type, TypeDef,
    TypeDefId, Types, UNTYPED,
};

impl Types {
    /// Builds the types of a custom resource; the last one is the type of its objects.
    pub fn custom(schema: &Schema) -> Self {
        let mut types = Self::begin();
        let table = Table::builtin();
        let metadata = table.published("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
        let metadata = metadata.map_or(DEDUCED, |id| Structs::new(table, &mut types).add(id));
        let mut walk = Walk { types, metadata };
        walk.add(schema.view(), Unknown::Pruned, Place::Object);
        walk.types
    }

    /// The type of the custom resource's objects.
    pub fn object(&self) -> Type<'_> {
        let last = u32::try_from(self.defs.len() - 1);
        self.at(TypeDefId(last.expect("there are not that many types")))
    }
}

/// Handling of undeclared fields from here on down (`x-kubernetes-preserve-unknown-fields`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Pruned,
    Kept,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// An object with apiVersion, kind and metadata.
    Object,
    Part,
}

struct Walk {
    types: Types,
    metadata: TypeDefId,
}

impl Walk {
    fn add(&mut self, view: View<'_>, above: Unknown, place: Place) -> TypeDefId {
        let unknown = if view.preserves_unknown() {
            Unknown::Kept
        } else {
            above
        };
        let def = match view.value_type() {
            ValueType::Text => return TEXT,
            ValueType::Formatted => return ANY_SCALAR,
            ValueType::Number => return NUMBER,
            ValueType::Boolean => return BOOLEAN,
            ValueType::IntOrString => return DEDUCED,
            ValueType::Object => TypeDef {
                map: Some(self.map(view, unknown, place)),
                ..TypeDef::default()
            },
            ValueType::Array => TypeDef {
                list: Some(self.list(view, unknown)),
                ..TypeDef::default()
            },
            ValueType::Any => TypeDef {
                scalar: Some(Scalar::Any),
                list: Some(self.list(view, unknown)),
                map: Some(self.map(view, unknown, place)),
            },
        };
        self.types.add(def)
    }

    fn map(&mut self, view: View<'_>, unknown: Unknown, place: Place) -> Fields {
        let mut declared = BTreeMap::new();
        for (name, property) in view.properties() {
            let of_property = self.add(property, unknown, Place::Part);
            declared.insert(name.into(), of_property);
        }
        let is_free = unknown == Unknown::Kept || declared.is_empty();
        let rest = match view.additional_properties() {
            AdditionalProperties::Unspecified => is_free.then_some(DEDUCED),
            AdditionalProperties::Allowed(allowed) => allowed.then_some(DEDUCED),
            AdditionalProperties::Schema(schema) => Some(self.add(schema, unknown, Place::Part)),
        };
        if place == Place::Object || view.is_embedded() {
            declared.insert("apiVersion".into(), TEXT);
            declared.insert("kind".into(), TEXT);
            declared.insert("metadata".into(), self.metadata);
        }
        Fields {
            declared,
            rest,
            is_atomic: view.is_atomic_map(),
        }
    }

    fn list(&mut self, view: View<'_>, unknown: Unknown) -> List {
        let items = view.items();
        let relation = match view.list_type() {
            ListType::Atomic => Relation::Atomic,
            ListType::Set => Relation::Set,
            ListType::Keys(names) => {
                let key = |name: &str| Key {
                    name: name.into(),
                    default: items
                        .and_then(|items| items.property(name))
                        .and_then(View::default)
                        .cloned(),
                };
                Relation::Keys(names.iter().map(|name| key(name)).collect())
            }
        };
        let items = items.map(|items| self.add(items, unknown, Place::Part));
        List {
            items: items.unwrap_or(UNTYPED),
            relation,
        }
    }
}
