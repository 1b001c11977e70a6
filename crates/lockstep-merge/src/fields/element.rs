//! Path elements: a field, a list item selected by key fields or by value, or an index.

use std::cmp::Ordering;
use std::fmt;

use lockstep_object::json;
use serde_json::{Number, Value};

/// One path element. Fields sort before keys, keys before values, values before indices, as upstream sorts them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A struct field or map key: `.name`.
    Field(Box<str>),
    /// The list item with these key fields, sorted by name: `[containerPort=80,protocol="TCP"]`.
    Keys(Vec<(Box<str>, Datum)>),
    /// The set item with this value: `[="a"]`.
    Value(Datum),
    /// The list item at an index.
    Index(i64),
}

/// A value that identifies a list item. Numbers sort first and compare numerically, then strings, booleans, lists, maps
/// and null.
#[derive(Debug, Clone)]
pub struct Datum(pub Value);

/// Errors of [`Element::parse`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// An unknown element type. Readers skip such elements, as upstream does.
    #[error("unknown path element type")]
    Unknown,
    /// The type letter and colon are missing.
    #[error("missing colon: {0}")]
    Colon(String),
    /// The part after the colon does not parse for this element type.
    #[error("{0} is not a path element")]
    Malformed(String),
}

impl Element {
    /// Creates a field element.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// Creates a keys element; the keys are sorted.
    pub fn keys(mut keys: Vec<(Box<str>, Datum)>) -> Self {
        keys.sort();
        Self::Keys(keys)
    }

    /// Parses `f:NAME`, `k:{…}`, `v:…` or `i:N`.
    pub fn parse(text: &str) -> Result<Self, ElementError> {
        let malformed = || ElementError::Malformed(text.to_owned());
        let rest = match text.as_bytes() {
            [_, b':', ..] => &text[2..],
            _ => return Err(ElementError::Colon(text.to_owned())),
        };
        let value = || serde_json::from_str::<Value>(rest).map_err(|_| malformed());
        match text.as_bytes()[0] {
            b'f' => Ok(Self::field(rest)),
            b'k' => match value()? {
                Value::Object(keys) => {
                    let keys = keys
                        .into_iter()
                        .map(|(name, value)| (name.into(), Datum(value)));
                    Ok(Self::keys(keys.collect()))
                }
                _ => Err(malformed()),
            },
            b'v' => Ok(Self::Value(Datum(value()?))),
            b'i' => rest.parse().map(Self::Index).map_err(|_| malformed()),
            _ => Err(ElementError::Unknown),
        }
    }

    /// Encodes the element in the `FieldsV1` form that [`parse`](Self::parse) reads.
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Keys(keys) => {
                let mut text = "k:{".to_owned();
                for (at, (name, value)) in keys.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    text.push_str(&json::encode_to_string(&Value::from(&**name)));
                    text.push(':');
                    text.push_str(&json::encode_to_string(&value.0));
                }
                text.push('}');
                text
            }
            Self::Value(value) => format!("v:{}", json::encode_to_string(&value.0)),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// Formats the element as error messages print it.
impl fmt::Display for Element {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Keys(keys) => {
                let keys: Vec<String> = keys
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(out, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(out, "[={value}]"),
            Self::Index(index) => write!(out, "[{index}]"),
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => write!(out, "{}", lockstep_object::go::quote(text)),
            other => out.write_str(&json::encode_to_string(other)),
        }
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Self) -> bool {
        compare(&self.0, &other.0) == Ordering::Equal
    }
}

impl Eq for Datum {}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Datum {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// Total order over JSON values of any type.
pub(crate) fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one
                .iter()
                .zip(other)
                .map(|(one, other)| compare(one, other));
            let first = pairs.find(|order| order.is_ne());
            first.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut pairs = one
                .iter()
                .zip(other)
                .map(|(one, other)| one.0.cmp(other.0).then_with(|| compare(one.1, other.1)));
            let first = pairs.find(|order| order.is_ne());
            first.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => {
            let (one, other) = (one.as_f64(), other.as_f64());
            one.unwrap_or_default()
                .total_cmp(&other.unwrap_or_default())
        }
    }
}

/// Integer value of a number, also if it is written as `1.0`.
fn whole(number: &Number) -> Option<i128> {
    /// Larger floats have gaps between integers, so comparing them as integers gains nothing.
    const EXACT_MAX: f64 = 1e30;
    if let Some(number) = number.as_i64() {
        return Some(number.into());
    }
    if let Some(number) = number.as_u64() {
        return Some(number.into());
    }
    let float = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole and below the limit"
    )]
    let exact = (float.fract() == 0.0 && float.abs() < EXACT_MAX).then_some(float as i128);
    exact
}

/// True if two values are equal; numbers compare numerically, so `1` equals `1.0`.
pub(crate) fn equal(one: &Value, other: &Value) -> bool {
    compare(one, other) == Ordering::Equal
}
