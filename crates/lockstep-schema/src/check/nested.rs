//! Iteration over subschemas.

use crate::keywords::{entries, list, schema as subschema};
use lockstep_object::field::Path;
use serde_json::Value;

/// The keyword that links a subschema to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link<'a> {
    /// `properties[name]`
    Property(&'a str),
    /// `additionalProperties`
    Additional,
    /// `items`
    Items,
    /// `not`
    Not,
    /// `allOf[0]` and its siblings.
    Alternative(&'static str, usize),
}

impl Link<'_> {
    /// True for subschemas that only validate values (`not`, `anyOf`, `oneOf`, `allOf`).
    pub(super) fn is_alternative(self) -> bool {
        matches!(self, Self::Not | Self::Alternative(..))
    }

    /// Calls `then` with the path of the inner schema.
    pub(super) fn with_path<R>(self, path: &Path<'_>, then: impl FnOnce(&Path<'_>) -> R) -> R {
        match self {
            Self::Property(name) => then(&path.field("properties").key(name)),
            Self::Additional => then(&path.field("additionalProperties")),
            Self::Items => then(&path.field("items")),
            Self::Not => then(&path.field("not")),
            Self::Alternative(keyword, index) => then(&path.field(keyword).index(index)),
        }
    }
}

const ALTERNATIVES: [&str; 3] = ["allOf", "oneOf", "anyOf"];

/// All direct subschemas, in upstream's order.
pub(super) fn all(schema: &Value) -> impl Iterator<Item = (Link<'_>, &Value)> {
    let additional =
        subschema(schema, "additionalProperties").map(|schema| (Link::Additional, schema));
    let properties =
        entries(schema, "properties").map(|(name, schema)| (Link::Property(name), schema));
    let not = subschema(schema, "not").map(|schema| (Link::Not, schema));
    let alternatives = ALTERNATIVES.into_iter().flat_map(move |keyword| {
        let schemas = list(schema, keyword).iter().enumerate();
        schemas.map(move |(index, schema)| (Link::Alternative(keyword, index), schema))
    });
    let items = subschema(schema, "items").map(|schema| (Link::Items, schema));
    additional
        .into_iter()
        .chain(properties)
        .chain(not)
        .chain(alternatives)
        .chain(items)
}
