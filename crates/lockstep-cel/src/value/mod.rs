//! Runtime values: small, `Copy`, borrowing from the data, the plan or the arena.

mod arena;
mod collection;
mod constant;
mod digest;
mod equality;
mod json;
mod opaque;
mod order;

pub use arena::Arena;
pub(crate) use collection::{BuiltMap, Merged};
pub use collection::{List, Map, Object};
pub(crate) use constant::Constant;
pub(crate) use digest::{Digests, digest};
pub(crate) use equality::{equal, equal_counted};
pub use json::ConversionError;
pub(crate) use json::{decode, of_json, of_typed};
pub use lockstep_gotext::duration::Duration;
pub use lockstep_gotext::timestamp::Timestamp;
pub use opaque::Opaque;
pub(crate) use order::{compare, compare_numbers, key_order};

use std::fmt;

/// One value.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `double`
    Double(f64),
    /// `string`
    String(&'a str),
    /// `bytes`
    Bytes(&'a [u8]),
    /// `google.protobuf.Timestamp`
    Timestamp(Timestamp),
    /// `google.protobuf.Duration`
    Duration(Duration),
    /// A type, by its name at run time.
    Type(&'a str),
    /// `list`
    List(List<'a>),
    /// `map`
    Map(Map<'a>),
    /// `optional_type`
    Optional(Option<&'a Value<'a>>),
    /// An `Object…` or `JSONPatch` built by the expression.
    Object(&'a Object<'a>),
    /// A type with methods and equality only.
    Opaque(&'a Opaque),
}

impl<'a> Value<'a> {
    /// The name `type(x)` gives.
    pub fn type_name(&self) -> &'a str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Object(object) => object.type_name,
            Self::Opaque(opaque) => opaque.type_name(),
        }
    }

    /// Result of `size(x)`, for types that have a size.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::String(text) => Some(code_points(text)),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::List(list) => Some(list.len() as u64),
            Self::Map(map) => Some(map.len() as u64),
            _ => None,
        }
    }

    /// The size cost is counted by: scalars are one.
    pub(crate) fn cost_size(&self) -> u64 {
        match self {
            Self::Opaque(opaque) => opaque.cost_size(),
            _ => self.size().unwrap_or(1),
        }
    }

    /// The smaller of two cost sizes. A long string is not measured against one that is certainly shorter.
    pub(crate) fn smaller_cost_size(&self, other: &Self) -> u64 {
        const BYTES_PER_CODE_POINT_MAX: u64 = 4;
        let (short, long) = match (self, other) {
            (Self::String(a), Self::String(b)) if a.len() <= b.len() => (self, b),
            (Self::String(a), Self::String(_)) => (other, a),
            (Self::String(text), single) | (single, Self::String(text)) => (single, text),
            _ => return self.cost_size().min(other.cost_size()),
        };
        let size = short.cost_size();
        if long.len() as u64 / BYTES_PER_CODE_POINT_MAX >= size {
            return size;
        }
        size.min(code_points(long))
    }

    /// False, zero, empty or null.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::Duration(duration) => duration.nanoseconds() == 0,
            Self::Timestamp(at) => at.unix_seconds() == YEAR_ONE && at.subsecond_nanoseconds() == 0,
            Self::Optional(value) => value.is_none(),
            Self::Object(object) => object.fields.is_empty(),
            Self::Type(_) | Self::Opaque(_) => false,
            Self::String(_) | Self::Bytes(_) | Self::List(_) | Self::Map(_) => {
                self.size() == Some(0)
            }
        }
    }
}

/// 0001-01-01T00:00:00Z, the zero of timestamps.
const YEAR_ONE: i64 = -62_135_596_800;

/// Length of a string as the language counts it.
pub(crate) fn code_points(text: &str) -> u64 {
    if text.is_ascii() {
        text.len() as u64
    } else {
        text.chars().count() as u64
    }
}

/// Evaluation errors. Small and borrowed, because `||` and `&&` absorb most of them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault<'a> {
    NoSuchKey(Value<'a>),
    NoSuchOverload,
    NoSuchOverloadOf(&'a str),
    IndexOutOfBounds(i64),
    UnsupportedIndex(&'a str),
    /// Base64 text of a typed field; [`crate::scope`] decodes it where there is an arena.
    Encoded(&'a str),
    /// Data that does not fit its schema.
    Data {
        expected: &'static str,
        found: &'static str,
    },
    Fixed(&'static str),
    Text(&'a str),
    /// The cost limit is reached: never absorbed.
    CostLimit,
    /// The caller cancelled the evaluation; never absorbed.
    Cancelled,
    /// The expression built more than it may: never absorbed.
    Memory,
    /// The expression went over more data than its price covers: never absorbed.
    Work,
}

impl Fault<'_> {
    /// True if the error ends the whole evaluation and cannot be absorbed.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::CostLimit | Self::Cancelled | Self::Memory | Self::Work
        )
    }
}

impl fmt::Display for Fault<'_> {
    #[expect(
        clippy::match_same_arms,
        reason = "the two texts live for different times"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchKey(Value::String(key)) => write!(f, "no such key: {key}"),
            Self::NoSuchKey(key) => write!(f, "no such key: {}", json::display(key)),
            Self::NoSuchOverload => f.write_str("no such overload"),
            Self::NoSuchOverloadOf(call) => write!(f, "no such overload: {call}"),
            Self::IndexOutOfBounds(index) => write!(f, "index out of bounds: {index}"),
            Self::UnsupportedIndex(ty) => write!(f, "unsupported index type '{ty}' in list"),
            Self::Encoded(_) => f.write_str("invalid data, expected base64"),
            Self::Data { expected, found } => {
                write!(f, "invalid data, expected {expected}, got {found}")
            }
            Self::Fixed(text) => f.write_str(text),
            Self::Text(text) => f.write_str(text),
            Self::CostLimit => f.write_str("operation cancelled: actual cost limit exceeded"),
            Self::Cancelled => f.write_str("operation interrupted"),
            Self::Memory => f.write_str("operation cancelled: memory limit exceeded"),
            Self::Work => f.write_str("operation cancelled: work limit exceeded"),
        }
    }
}

/// The outcome of evaluating a part of an expression.
pub(crate) type Eval<'a> = Result<Value<'a>, Fault<'a>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_small() {
        assert_eq!(size_of::<Value<'_>>(), 32);
        assert_eq!(size_of::<Eval<'_>>(), 40);
    }
}
