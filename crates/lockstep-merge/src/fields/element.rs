//! One step of a path: a field, an element of a list by its keys or its value, or an index.

use std::cmp::Ordering;
use std::fmt;

use lockstep_object::json;
use serde_json::{Number, Value};

/// One step of a path. Fields come before keys, keys before values, values before indices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A field of a struct or a key of a map: `.name`.
    Field(Box<str>),
    /// The element of a list with these keys, sorted by name: `[containerPort=80,protocol="TCP"]`.
    Keys(Vec<(Box<str>, Datum)>),
    /// The element of a set: `[="a"]`.
    Value(Datum),
    /// The element of a list at an index.
    Index(i64),
}

/// A value that tells elements apart. Numbers come first and are compared as numbers, then texts, booleans, lists,
/// maps and null.
#[derive(Debug, Clone)]
pub struct Datum(pub Value);

/// Why a text is no element.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// A kind of element that is not known: such are passed over.
    #[error("unknown path element type")]
    Unknown,
    /// No letter and colon.
    #[error("missing colon: {0}")]
    Colon(String),
    /// What follows the colon is not what the letter says.
    #[error("{0} is not a path element")]
    Malformed(String),
}

impl Element {
    /// A field.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// The element with these keys.
    pub fn keys(mut keys: Vec<(Box<str>, Datum)>) -> Self {
        keys.sort();
        Self::Keys(keys)
    }

    /// Reads `f:NAME`, `k:{…}`, `v:…` or `i:N`.
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

    /// The element as [`parse`](Self::parse) reads it, as upstream writes it.
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

/// The element as people see it in messages.
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

/// The order of values, whatever their types.
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

/// A number as a whole one, also if it is written as `1.0`.
fn whole(number: &Number) -> Option<i128> {
    /// Beyond this, floating-point numbers are whole but far from others.
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

/// Whether two values are the same, numbers as numbers.
pub(crate) fn equal(one: &Value, other: &Value) -> bool {
    compare(one, other) == Ordering::Equal
}
