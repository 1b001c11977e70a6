//! Conversion between JSON and values; JSON is decoded lazily.

use super::{Duration, Eval, Fault, List, Map, Opaque, Timestamp, Value};
use crate::schema::{Schema, Shape};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

/// A value of JSON that has no schema. Integers beyond `int` are doubles.
pub(crate) fn of_json(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Value::Int(value),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(text),
        Json::Array(elements) => Value::List(List::Json(elements)),
        Json::Object(entries) => Value::Map(Map::Json(entries)),
    }
}

/// A value of JSON as its schema reads it.
pub(crate) fn of_typed<'a>(json: &'a Json, schema: &'a Schema) -> Eval<'a> {
    Ok(match (&schema.shape, json) {
        (_, Json::Null) if schema.nullable => Value::Null,
        (Shape::Any, _)
        | (Shape::IntOrString, Json::String(_) | Json::Number(_))
        | (Shape::Bool, Json::Bool(_))
        | (Shape::String { .. }, Json::String(_)) => of_json(json),
        (Shape::Int, Json::Number(number)) => match number.as_i64() {
            Some(value) => Value::Int(value),
            None => return Err(mismatch(schema, json)),
        },
        (Shape::Double, Json::Number(number)) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        (Shape::List(..), Json::Array(elements)) => Value::List(List::Typed(elements, schema)),
        (Shape::Map(_) | Shape::Object(_), Json::Object(entries)) => {
            Value::Map(Map::Typed(entries, schema))
        }
        (Shape::Duration, Json::String(text)) => match Duration::parse(text) {
            Ok(duration) => Value::Duration(duration),
            Err(_) => return Err(Fault::Fixed("Invalid duration")),
        },
        (Shape::Date, Json::String(text)) => match Timestamp::parse(&format!("{text}T00:00:00Z")) {
            Ok(at) => Value::Timestamp(at),
            Err(_) => return Err(Fault::Fixed("Invalid date")),
        },
        (Shape::DateTime, Json::String(text)) => match Timestamp::parse(text) {
            Ok(at) => Value::Timestamp(at),
            Err(_) => return Err(Fault::Fixed("Invalid date-time")),
        },
        (Shape::Bytes, Json::String(text)) => return Err(Fault::Encoded(text)),
        _ => return Err(mismatch(schema, json)),
    })
}

/// Bytes are decoded where there is an arena to put them; see [`decode`].
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

fn mismatch<'a>(schema: &Schema, json: &Json) -> Fault<'a> {
    let expected = match &schema.shape {
        Shape::Int => "int",
        Shape::Double => "float",
        Shape::Bool => "bool",
        Shape::List(..) => "list",
        Shape::Map(_) | Shape::Object(_) => "map",
        Shape::IntOrString => "int or string",
        Shape::Any => "any",
        Shape::String { .. } | Shape::Bytes | Shape::Duration | Shape::Date | Shape::DateTime => {
            "string"
        }
    };
    let found = match json {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "list",
        Json::Object(_) => "map",
    };
    Fault::Data { expected, found }
}

/// Errors of converting a result to JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// JSON objects have string keys.
    #[error("map key of type `{0}` cannot be written as JSON, only strings can")]
    Key(String),
    /// The type has no JSON form.
    #[error("a value of type `{0}` cannot be written as JSON")]
    Type(String),
    /// Data that does not fit its schema.
    #[error("{0}")]
    Data(String),
    /// Lists and maps nest too deeply.
    #[error("the value is nested deeper than 200 levels")]
    Depth,
    /// Text and elements are too many, such as those of a list that is in another one many times.
    #[error("the value is larger than 4 MiB as JSON")]
    Size,
}

/// Deepest result that is written as JSON.
const DEPTH_MAX: u16 = 200;
/// Largest result that is written as JSON: the bytes of texts, and [`NODE_BYTES`] for each value.
const BYTES_MAX: usize = 4 << 20;
/// Bytes that each value counts.
const NODE_BYTES: usize = 8;

impl Value<'_> {
    /// The value as JSON: bytes in base64, timestamps and durations as strings, objects as their fields.
    pub fn to_json(&self) -> Result<Json, ConversionError> {
        let mut writer = Writer {
            bytes_left: BYTES_MAX,
        };
        writer.value(self, DEPTH_MAX)
    }
}

/// Converts values within the limits.
struct Writer {
    bytes_left: usize,
}

impl Writer {
    fn spend(&mut self, bytes: usize) -> Result<(), ConversionError> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.ok_or(ConversionError::Size)?;
        Ok(())
    }

    fn value(&mut self, value: &Value<'_>, depth: u16) -> Result<Json, ConversionError> {
        let depth = depth.checked_sub(1).ok_or(ConversionError::Depth)?;
        self.spend(NODE_BYTES)?;
        Ok(match value {
            Value::Null | Value::Optional(None) => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) => Json::from(*value),
            Value::Uint(value) => Json::from(*value),
            Value::Double(value) => serde_json::Number::from_f64(*value)
                .map(Json::Number)
                .ok_or_else(|| ConversionError::Type("double".to_owned()))?,
            Value::String(text) => {
                self.spend(text.len())?;
                Json::from(*text)
            }
            Value::Bytes(bytes) => {
                self.spend(bytes.len())?;
                Json::from(STANDARD.encode(bytes))
            }
            Value::Timestamp(at) => Json::from(at.to_string()),
            Value::Duration(span) => Json::from(span.to_string()),
            Value::List(list) => {
                let elements = list.values().map(|element| self.result(element, depth));
                elements.collect::<Result<_, _>>()?
            }
            Value::Map(map) => {
                let entries = map
                    .entries()
                    .map(|(key, value)| self.entry(&key, value, depth));
                entries.collect::<Result<_, _>>()?
            }
            Value::Object(object) => {
                let fields = object.fields.iter();
                let fields =
                    fields.map(|(name, value)| Ok(((*name).to_owned(), self.value(value, depth)?)));
                fields.collect::<Result<_, _>>()?
            }
            Value::Optional(Some(value)) => self.value(value, depth)?,
            Value::Opaque(opaque) => opaque_json(opaque)?,
            Value::Type(_) => return Err(ConversionError::Type("type".to_owned())),
        })
    }

    fn result(&mut self, value: Eval<'_>, depth: u16) -> Result<Json, ConversionError> {
        match value {
            Ok(value) => self.value(&value, depth),
            Err(Fault::Encoded(text)) => {
                self.spend(text.len())?;
                Ok(Json::from(text))
            }
            Err(fault) => Err(ConversionError::Data(fault.to_string())),
        }
    }

    fn entry(
        &mut self,
        key: &Value<'_>,
        value: Eval<'_>,
        depth: u16,
    ) -> Result<(String, Json), ConversionError> {
        match key {
            Value::String(key) => {
                self.spend(key.len())?;
                Ok(((*key).to_owned(), self.result(value, depth)?))
            }
            other => Err(ConversionError::Key(other.type_name().to_owned())),
        }
    }
}

fn opaque_json(opaque: &Opaque) -> Result<Json, ConversionError> {
    let text = opaque.text().map(Json::from);
    text.ok_or_else(|| ConversionError::Type(opaque.type_name().to_owned()))
}

/// A value as messages show it.
pub(super) fn display(value: &Value<'_>) -> String {
    match value {
        Value::String(text) => (*text).to_owned(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        other => other
            .to_json()
            .map_or_else(|_| other.type_name().to_owned(), |json| json.to_string()),
    }
}
