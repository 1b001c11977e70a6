//! A compiled schema for those who walk it: which fields there are, of which type, and how lists and maps are merged.

use serde_json::Value;

use crate::node::{Additional, ListKind, Node, Type};

/// A schema or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct View<'s>(&'s Node);

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// Anything goes.
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

/// What becomes of fields that are not declared.
#[derive(Debug, Clone, Copy)]
pub enum Others<'s> {
    /// Nothing is said.
    Unsaid,
    /// They may be there, or not.
    Allowed(bool),
    /// They have this schema.
    Schema(View<'s>),
}

/// How the elements of a list are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements<'s> {
    /// Not at all.
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

    /// What becomes of other fields.
    pub fn others(self) -> Others<'s> {
        match self.0.additional() {
            Additional::Unsaid => Others::Unsaid,
            Additional::Allowed(allowed) => Others::Allowed(*allowed),
            Additional::Schema(node) => Others::Schema(Self(node)),
        }
    }

    /// The schema of the elements of a list.
    pub fn items(self) -> Option<Self> {
        self.0.items().map(Self)
    }

    /// How the elements of a list are told apart.
    pub fn elements(self) -> Elements<'s> {
        match self.0.list_kind() {
            ListKind::Atomic => Elements::Atomic,
            ListKind::Set => Elements::Set,
            ListKind::Map(keys) => Elements::Keys(keys),
        }
    }

    /// Whether an apply owns the map as a whole.
    pub fn is_atomic_map(self) -> bool {
        self.0.atomic_map
    }

    /// Whether fields that are not declared are kept.
    pub fn preserves_unknown(self) -> bool {
        self.0.preserve_unknown
    }

    /// Whether it is an object of some kind, with type and metadata.
    pub fn is_embedded(self) -> bool {
        self.0.embedded
    }

    /// What it is when it is not there.
    pub fn default(self) -> Option<&'s Value> {
        self.0.default()
    }
}
