//! From bytes to a value, once.

use crate::field::Path;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// How deep lists and maps may nest.
///
/// Upstream's limit is 10,000. Ours is what every walk over a value, also the ones of other crates, can afford on the
/// stack of any thread; `docs/decisions/0006-json-values-of-serde.md` has the numbers.
pub const DEPTH_MAX: usize = 500;
/// How many duplicate keys of one document are told.
pub const DUPLICATES_MAX: usize = 100;

/// A document that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The value; of a key given twice, the last.
    pub value: Value,
    /// The path of every key that was given twice, as field validation shows it (`spec.ports[0].name`), in document
    /// order and each once; at most [`DUPLICATES_MAX`].
    pub duplicates: Vec<String>,
}

/// Why bytes are not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON, or not UTF-8. The text says what and where.
    #[error("{0}")]
    Syntax(String),
    /// Nested deeper than [`DEPTH_MAX`].
    #[error("exceeded max depth of {DEPTH_MAX}")]
    Depth,
}

/// Reads one document: integers that fit are 64-bit integers, every other number is a double, and a double that is a
/// whole number of 64 bits is an integer (`1.0` is `1`).
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut document = Document::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    deserializer.disable_recursion_limit();
    let node = Node {
        path: &Path::ROOT,
        depth: 0,
        document: &mut document,
    };
    let value = node
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(value) => Ok(Decoded {
            value,
            duplicates: document.duplicates,
        }),
        Err(_) if document.too_deep => Err(DecodeError::Depth),
        Err(error) => Err(DecodeError::Syntax(error.to_string())),
    }
}

/// Gives numbers of a value that another reader made (YAML) the form that [`decode`] gives them.
pub fn normalise_numbers(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) if !number.is_i64() => {
                if let Some(normal) = number.as_f64().and_then(double) {
                    *number = normal;
                }
            }
            Value::Array(elements) => open.extend(elements),
            Value::Object(entries) => open.extend(entries.values_mut()),
            _ => {}
        }
    }
}

/// The number a double stands for; none for infinities.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range was looked at before"
)]
fn double(value: f64) -> Option<Number> {
    // 2^63 does not fit. Its negative would, but so would the integers that are rounded to it.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < LIMIT {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

#[derive(Default)]
struct Document {
    duplicates: Vec<String>,
    too_deep: bool,
}

/// One value of the document and where it stands.
struct Node<'p, 'd> {
    path: &'p Path<'p>,
    depth: usize,
    document: &'d mut Document,
}

impl Node<'_, '_> {
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            self.document.too_deep = true;
            return Err(E::custom("too deep"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "what does not fit is a double, as upstream reads it"
    )]
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or_else(|_| Value::from(value as f64), Value::from))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        double(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut elements = Vec::new();
        loop {
            let path = self.path.index(elements.len());
            let node = Node {
                path: &path,
                depth: self.depth,
                document: self.document,
            };
            match access.next_element_seed(node)? {
                Some(element) => elements.push(element),
                None => return Ok(Value::Array(elements)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut entries = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let path = self.path.field(&key);
            let value = access.next_value_seed(Node {
                path: &path,
                depth: self.depth,
                document: self.document,
            })?;
            if entries.contains_key(&key) {
                self.document.duplicate(&path);
            }
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}

impl Document {
    fn duplicate(&mut self, path: &Path<'_>) {
        if self.duplicates.len() == DUPLICATES_MAX {
            return;
        }
        let path = path.to_string();
        if !self.duplicates.contains(&path) {
            self.duplicates.push(path);
        }
    }
}
