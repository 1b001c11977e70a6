//! JSON decoding with duplicate detection and a depth limit, in a single pass.

use super::problem::problem;
use crate::field::{FIELD_BYTES_MAX, Path};
use crate::go;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};
use std::fmt;
use std::marker::PhantomData;

/// Maximum nesting depth.
///
/// Upstream's limit is 10,000. Ours is what every walk over a value, also the ones of other crates, can afford on a
/// stack of [`STACK_BYTES`](super::STACK_BYTES); `docs/decisions/0006-json-values-of-serde.md` has the numbers.
pub const DEPTH_MAX: usize = 500;
/// Maximum number of duplicate keys reported per document.
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

/// Errors of JSON decoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Invalid JSON or UTF-8. The text contains the position.
    #[error("{0}")]
    Syntax(String),
    /// Nested deeper than [`DEPTH_MAX`].
    #[error("exceeded max depth of {DEPTH_MAX}")]
    Depth,
}

/// Reads one document: integers that fit are 64-bit integers, every other number is a double, and a double that is a
/// whole number of 64 bits is an integer (`1.0` is `1`).
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut document = Document::new(DEPTH_MAX);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    deserializer.disable_recursion_limit();
    let value = Node::<Json>::root(&mut document)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(value) => Ok(Decoded {
            value,
            duplicates: document.duplicates,
        }),
        Err(_) if document.too_deep => Err(DecodeError::Depth),
        Err(error) => Err(DecodeError::Syntax(problem(&error, bytes))),
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

/// The JSON number of a double; none for infinities and NaN.
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

/// Key handling of an input format.
pub(crate) trait Format {
    /// A key together with what error messages need.
    type Key: DeserializeOwned;

    /// The key's text, and its position for duplicate messages.
    fn key(key: Self::Key) -> (String, Place);
}

/// Position of a key in duplicate messages.
pub(crate) enum Place {
    /// Reported by path.
    Path,
    /// By its line.
    Line(u64),
}

/// JSON as it comes.
struct Json;

impl Format for Json {
    type Key = String;

    fn key(key: String) -> (String, Place) {
        (key, Place::Path)
    }
}

/// State collected while decoding a document.
pub(crate) struct Document {
    pub(crate) duplicates: Vec<String>,
    pub(crate) too_deep: bool,
    depth_max: usize,
}

impl Document {
    pub(crate) fn new(depth_max: usize) -> Self {
        Self {
            duplicates: Vec::new(),
            too_deep: false,
            depth_max,
        }
    }
}

/// A value being decoded, with its path.
pub(crate) struct Node<'p, 'd, F> {
    path: &'p Path<'p>,
    depth: usize,
    document: &'d mut Document,
    format: PhantomData<F>,
}

impl<'d, F> Node<'static, 'd, F> {
    pub(crate) fn root(document: &'d mut Document) -> Self {
        Self {
            path: const { &Path::ROOT },
            depth: 0,
            document,
            format: PhantomData,
        }
    }
}

impl<F> Node<'_, '_, F> {
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > self.document.depth_max {
            self.document.too_deep = true;
            return Err(E::custom("too deep"));
        }
        Ok(())
    }

    fn below<'q, 'e>(&'e mut self, path: &'q Path<'q>) -> Node<'q, 'e, F> {
        Node {
            path,
            depth: self.depth,
            document: self.document,
            format: PhantomData,
        }
    }
}

impl<'de, F: Format> DeserializeSeed<'de> for Node<'_, '_, F> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: Format> Visitor<'de> for Node<'_, '_, F> {
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

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let here = *self.path;
        let mut elements = Vec::new();
        loop {
            let path = here.index(elements.len());
            match access.next_element_seed(self.below(&path))? {
                Some(element) => elements.push(element),
                None => return Ok(Value::Array(elements)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let here = *self.path;
        let mut entries = Map::new();
        while let Some(key) = access.next_key::<F::Key>()? {
            let (key, place) = F::key(key);
            let path = here.field(&key);
            let value = access.next_value_seed(self.below(&path))?;
            if entries.contains_key(&key) {
                self.document.duplicate(&path, &key, &place);
            }
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}

impl Document {
    fn duplicate(&mut self, path: &Path<'_>, key: &str, place: &Place) {
        if self.duplicates.len() == DUPLICATES_MAX {
            return;
        }
        let told = match place {
            Place::Path => path.shown(),
            Place::Line(line) => {
                let key = go::quote(go::start_of(key, FIELD_BYTES_MAX));
                format!("line {line}: key {key} already set in map")
            }
        };
        if !self.duplicates.contains(&told) {
            self.duplicates.push(told);
        }
    }
}
