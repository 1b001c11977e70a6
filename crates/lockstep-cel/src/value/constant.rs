//! Constants owned by a plan: literals and folded values.

use super::{Duration, List, Map, Opaque, Timestamp, Value};

/// A value that lives as long as its plan; seen from outside only through lists and maps.
#[derive(Debug, Clone)]
pub enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
    Timestamp(Timestamp),
    Duration(Duration),
    Type(Box<str>),
    List(Box<[Constant]>),
    Opaque(Box<Opaque>),
    /// Sorted by key.
    Map(Box<[(Constant, Constant)]>),
}

impl Constant {
    /// The value, borrowed.
    pub(crate) fn view(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Double(value) => Value::Double(*value),
            Self::String(text) => Value::String(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Timestamp(at) => Value::Timestamp(*at),
            Self::Duration(nanos) => Value::Duration(*nanos),
            Self::Type(name) => Value::Type(name),
            Self::Opaque(opaque) => Value::Opaque(opaque),
            Self::List(elements) => Value::List(List::Constant(elements)),
            Self::Map(entries) => Value::Map(Map::Constant(entries)),
        }
    }

    /// A copy of a value, if it is of a kind that plans keep.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Double(value) => Self::Double(*value),
            Value::String(text) => Self::String((*text).into()),
            Value::Bytes(bytes) => Self::Bytes((*bytes).into()),
            Value::Timestamp(at) => Self::Timestamp(*at),
            Value::Duration(nanos) => Self::Duration(*nanos),
            Value::Type(name) => Self::Type((*name).into()),
            Value::List(list) => Self::List(
                list.values()
                    .map(|value| Self::of(&value.ok()?))
                    .collect::<Option<_>>()?,
            ),
            Value::Map(map) => {
                let pair =
                    |(key, value): (Value<'_>, Result<Value<'_>, _>)| -> Option<(Self, Self)> {
                        Some((Self::of(&key)?, Self::of(&value.ok()?)?))
                    };
                Self::Map(map.entries().map(pair).collect::<Option<_>>()?)
            }
            Value::Opaque(opaque) => Self::Opaque(Box::new((*opaque).clone())),
            Value::Optional(_) | Value::Object(_) => return None,
        })
    }
}
