//! YAML decoding as Kubernetes does it: YAML 1.1, a single document, into JSON values.

use crate::go;
use crate::json::{Document, Format, Node, Place};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, Visitor};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};
use std::fmt;

/// Maximum nesting depth. Lower than the JSON limit, because the YAML parser uses more stack per level.
pub const YAML_DEPTH_MAX: usize = 100;
/// Stack needed to decode a document at the depth limit; threads that decode YAML have at least this much. Debug builds
/// do not reuse stack slots and need several times as much.
pub const YAML_STACK_BYTES: usize = if cfg!(debug_assertions) { 4 } else { 1 } * 1024 * 1024;
/// Maximum number of parser events that aliases may replay.
pub const YAML_ALIASED_EVENTS_MAX: usize = 100_000;
/// Maximum number of nodes of a document after alias expansion. The smallest nodes take two bytes.
pub const YAML_NODES_MAX: usize = 2_000_000;

/// A document that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedYaml {
    /// The value; of a key given twice, the last.
    pub value: Value,
    /// Duplicate keys in the wording of strict field validation: `line 5: key "a" already set in map`.
    pub duplicates: Vec<String>,
}

/// Errors of YAML decoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// Not YAML, not UTF-8, more than one document, or aliases that grow beyond all bounds.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Syntax(String),
    /// Nested deeper than [`YAML_DEPTH_MAX`].
    #[error("error converting YAML to JSON: exceeded max depth of {YAML_DEPTH_MAX}")]
    Depth,
}

/// Reads one document. Words like `yes` are booleans, also as keys, where every scalar becomes its text; `0644` is
/// octal; numbers have the form that [`json::decode`](crate::json::decode) gives them.
pub fn decode(bytes: &[u8]) -> Result<DecodedYaml, YamlError> {
    // One level more than allowed, so that the depth error is ours and not the parser's.
    let budget = serde_saphyr::budget! {
        max_depth: YAML_DEPTH_MAX + 1,
        max_nodes: YAML_NODES_MAX,
        max_events: 2 * YAML_NODES_MAX,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: YAML_ALIASED_EVENTS_MAX,
        },
        legacy_octal_numbers: true,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut document = Document::new(YAML_DEPTH_MAX);
    let value =
        serde_saphyr::with_deserializer_from_slice_with_options(bytes, options, |deserializer| {
            Node::<Yaml>::root(&mut document).deserialize(deserializer)
        });
    match value {
        Ok(value) => Ok(DecodedYaml {
            value,
            duplicates: document.duplicates,
        }),
        Err(_) if document.too_deep => Err(YamlError::Depth),
        Err(error) => Err(YamlError::Syntax(client_message(&error))),
    }
}

/// Error message for clients; some of the parser's messages address its callers.
fn client_message(error: &serde_saphyr::Error) -> String {
    match error {
        serde_saphyr::Error::MultipleDocuments { .. } => {
            "there is more than one document; send one at a time".to_owned()
        }
        serde_saphyr::Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "an alias stands inside what it stands for".to_owned()
        }
        error => error.to_string(),
    }
}

/// Writes a value as YAML with sorted keys.
pub fn encode(value: &Value) -> String {
    serde_saphyr::to_string(value).expect("a value made of strings and numbers is YAML")
}

/// As [`encode`]; none if it takes more than so many bytes. Every line of a deep document is as long as it is deep, so
/// that YAML can be much larger than the same value as JSON.
pub fn encode_within(value: &Value, bytes_max: usize) -> Option<String> {
    let mut text = Bounded {
        text: String::new(),
        bytes_max,
    };
    serde_saphyr::to_fmt_writer(&mut text, value).ok()?;
    Some(text.text)
}

/// Text up to a limit.
struct Bounded {
    text: String,
    bytes_max: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len() + part.len() > self.bytes_max {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

struct Yaml;

impl Format for Yaml {
    type Key = Spanned<Key>;

    fn key(key: Spanned<Key>) -> (String, Place) {
        let line = key.referenced.line();
        (key.value.0, Place::Line(line))
    }
}

/// A scalar as the key it becomes.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a scalar key")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Key, E> {
        Ok(Key(go::double(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Key, E> {
        Ok(Key(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Key, E> {
        Ok(Key("null".to_owned()))
    }
}
