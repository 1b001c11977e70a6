//! Maximum sizes of values, for the static cost estimate.

use super::{Fields, ObjectType, Schema, Shape};

/// Largest request body the estimate assumes, less the two bytes that enclose a value.
const REQUEST_BYTES_MAX: u64 = 3 * 1024 * 1024 - 2;

/// Sizes of a schema's values.
pub(crate) struct Sizes;

impl Sizes {
    /// Most code points, bytes or elements a value may have; scalars have none.
    pub(crate) fn max(schema: &Schema) -> Option<u64> {
        match &schema.shape {
            Shape::String { longest } => Some(
                schema
                    .max
                    .map(|length| length.saturating_mul(4))
                    .or(*longest)
                    .unwrap_or(REQUEST_BYTES_MAX),
            ),
            // An int-or-string may be a string of any allowed length.
            Shape::IntOrString => Some(
                schema
                    .max
                    .map_or(REQUEST_BYTES_MAX, |length| length.saturating_mul(4)),
            ),
            Shape::Bytes => Some(schema.max.unwrap_or(REQUEST_BYTES_MAX)),
            Shape::Duration | Shape::DateTime => Some(32),
            Shape::Date => Some(12),
            Shape::List(items, _) => Some(
                schema
                    .max
                    .unwrap_or_else(|| REQUEST_BYTES_MAX / (Self::least(items) + 1)),
            ),
            Shape::Map(values) => Some(
                schema
                    .max
                    .unwrap_or_else(|| REQUEST_BYTES_MAX / (Self::least(values) + 6)),
            ),
            Shape::Any | Shape::Bool | Shape::Int | Shape::Double | Shape::Object(_) => None,
        }
    }

    /// Fewest bytes a value takes in a request.
    pub(crate) fn least(schema: &Schema) -> u64 {
        match &schema.shape {
            Shape::Any | Shape::IntOrString | Shape::Int | Shape::Double => 1,
            Shape::Bool => 4,
            Shape::String { .. } | Shape::Bytes | Shape::List(..) | Shape::Map(_) => 2,
            Shape::Duration => 3,
            Shape::Date => 12,
            Shape::DateTime => 21,
            Shape::Object(object) => 2 + Self::required(object),
        }
    }

    fn required(object: &ObjectType) -> u64 {
        let Fields::Declared(fields) = &object.fields else {
            return 0;
        };
        let needed = fields
            .values()
            .filter(|field| field.required && !field.schema.has_default);
        needed
            .map(|field| field.json_name.len() as u64 + Self::least(&field.schema) + 4)
            .sum()
    }
}
