//! Read-only view of a compiled schema: fields, types, and merge granularity.

use serde_json::Value;

use crate::node::{Additional, ListKind, Node, Type};

/// A schema or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct View<'s>(&'s Node);

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// Any type.
    Any,
    /// A struct or a map.
    Object,
    /// A list.
    Array,
    /// A text without a format, or bytes.
    Text,
    /// A text with a format.
    Formatted,
    /// A number, whole or not.
    Number,
    /// Yes or no.
    Boolean,
    /// A number or a text.
    IntOrString,
}

/// `additionalProperties`.
#[derive(Debug, Clone, Copy)]
pub enum AdditionalProperties<'s> {
    /// Not specified.
    Unspecified,
    /// A boolean.
    Allowed(bool),
    /// They have this schema.
    Schema(View<'s>),
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType<'s> {
    /// `atomic`.
    Atomic,
    /// By their values.
    Set,
    /// By the values of these fields.
    Keys(&'s [Box<str>]),
}

impl<'s> View<'s> {
    pub(crate) fn of(node: &'s Node) -> Self {
        Self(node)
    }

    /// The type.
    pub fn value_type(self) -> ValueType {
        match self.0.ty {
            Type::Any => ValueType::Any,
            Type::Object => ValueType::Object,
            Type::Array => ValueType::Array,
            Type::String if matches!(self.0.format_name(), "" | "byte") => ValueType::Text,
            Type::String => ValueType::Formatted,
            Type::Integer | Type::Number => ValueType::Number,
            Type::Boolean => ValueType::Boolean,
            Type::IntOrString => ValueType::IntOrString,
        }
    }

    /// The declared fields, by name.
    pub fn properties(self) -> impl Iterator<Item = (&'s str, Self)> {
        let properties = self.0.properties().iter();
        properties.map(|(name, node)| (name, Self(node)))
    }

    /// A declared field.
    pub fn property(self, name: &str) -> Option<Self> {
        self.0.properties().get(name).map(Self)
    }

    /// `additionalProperties` of the schema.
    pub fn additional_properties(self) -> AdditionalProperties<'s> {
        match self.0.additional() {
            Additional::Unspecified => AdditionalProperties::Unspecified,
            Additional::Allowed(allowed) => AdditionalProperties::Allowed(*allowed),
            Additional::Schema(node) => AdditionalProperties::Schema(Self(node)),
        }
    }

    /// The schema of the elements of a list.
    pub fn items(self) -> Option<Self> {
        self.0.items().map(Self)
    }

    /// `x-kubernetes-list-type` of the schema.
    pub fn list_type(self) -> ListType<'s> {
        match self.0.list_kind() {
            ListKind::Atomic => ListType::Atomic,
            ListKind::Set => ListType::Set,
            ListKind::Map(keys) => ListType::Keys(keys),
        }
    }

    /// True for an atomic map.
    pub fn is_atomic_map(self) -> bool {
        self.0.atomic_map
    }

    /// True if unknown fields are preserved.
    pub fn preserves_unknown(self) -> bool {
        self.0.preserve_unknown
    }

    /// True for an embedded resource.
    pub fn is_embedded(self) -> bool {
        self.0.embedded
    }

    /// Default value.
    pub fn default(self) -> Option<&'s Value> {
        self.0.default()
    }
}
