//! A look at a type from outside of this crate: what a value of it consists of.

use serde_json::Value;

use super::{Fields, Relation, Scalar, Type};
use crate::fields::Element;

/// Granularity of a map or struct in merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapRelation {
    /// Field by field.
    Granular,
    /// Replaced as a whole.
    Atomic,
}

/// Relation of the items of a list in merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListRelation {
    /// Replaced as a whole.
    Atomic,
    /// Items are identified by value.
    Set,
    /// Items are identified by key fields.
    Keys,
}

/// Type of a field.
#[derive(Debug, Clone, Copy)]
pub struct FieldType<'t> {
    /// The type.
    pub of: Type<'t>,
    /// True if the schema names the field; false for keys of maps and for fields that no schema describes.
    pub is_declared: bool,
}

impl<'t> Type<'t> {
    /// Granularity of maps of the type; none if the type has no maps.
    pub fn map_relation(self) -> Option<MapRelation> {
        let Fields { is_atomic, .. } = self.def().map.as_ref()?;
        Some(if *is_atomic {
            MapRelation::Atomic
        } else {
            MapRelation::Granular
        })
    }

    /// Relation of items in lists of the type; none if the type has no lists.
    pub fn list_relation(self) -> Option<ListRelation> {
        Some(match self.def().list.as_ref()?.relation {
            Relation::Atomic => ListRelation::Atomic,
            Relation::Set => ListRelation::Set,
            Relation::Keys(_) => ListRelation::Keys,
        })
    }

    /// True if every value of the type is a string.
    pub fn is_text(self) -> bool {
        let def = self.def();
        def.list.is_none() && def.map.is_none() && def.scalar == Some(Scalar::Text)
    }

    /// Upstream's word for values of the type, for messages.
    pub fn expected(self) -> &'static str {
        let def = self.def();
        match (&def.map, &def.list, def.scalar) {
            (Some(_), _, _) => "map",
            (None, Some(_), _) => "list",
            (None, None, Some(Scalar::Text)) => "string",
            (None, None, Some(Scalar::Number)) => "numeric (int or float)",
            (None, None, Some(Scalar::Boolean)) => "boolean",
            (None, None, Some(Scalar::Any) | None) => "any scalar",
        }
    }

    /// Type of a field or of the values of a map; none if the field is not allowed.
    pub fn field_type(self, name: &str) -> Option<FieldType<'t>> {
        let fields = self.def().map.as_ref()?;
        Some(FieldType {
            of: self.field(fields, name)?,
            is_declared: fields.declared.contains_key(name),
        })
    }

    /// Type of the items of a list.
    pub fn item_type(self) -> Option<Self> {
        let list = self.def().list.as_ref()?;
        Some(self.items(list))
    }

    /// Identity of an item of a set or keyed list; none if the item has none.
    pub fn item_identity(self, item: &Value) -> Option<Element> {
        let list = self.def().list.as_ref()?;
        list.element(item).ok()
    }
}
