//! OpenAPI 2.0 as protobuf: the `Document` message of gnostic's `OpenAPIv2.proto`, the only format that older clients
//! request.
//!
//! Each message is a table of JSON names, tags and types; extensions (`x-…`) are encoded as text.

use prost::encoding::{WireType, encode_key, encode_varint};
use serde_json::{Map, Value};

/// A field of a message.
struct Row(&'static str, u32, Kind);

/// Type of a field.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    Number,
    Double,
    Texts,
    /// Any value, as text.
    Any,
    /// A list of any values.
    Anys,
    Message(&'static Message),
    Messages(&'static Message),
    /// One message with a list of texts, also for a single one.
    TypeItem,
    /// One message with a list of schemas, for a single one.
    ItemsItem,
    /// A schema, or whether there is one.
    SchemaOrFlag,
    /// Named values in a message of their own, by this tag.
    Named(&'static Message, u32),
    /// The parameter of a body, a query or a path.
    Parameters,
    /// Answers by their code.
    Responses,
}

struct Message {
    rows: &'static [Row],
    /// The tag of extensions.
    extensions: u32,
}

use Kind::{
    Any, Anys, Double, Flag, ItemsItem, Message as One, Messages, Named, Number, Parameters,
    Responses, SchemaOrFlag, Text, Texts, TypeItem,
};

static DOCUMENT: Message = Message {
    rows: &[
        Row("swagger", 1, Text),
        Row("info", 2, One(&INFO)),
        Row("paths", 8, Named(&PATH_ITEM, 2)),
        Row("definitions", 9, Named(&SCHEMA, 1)),
    ],
    extensions: 16,
};

static INFO: Message = Message {
    rows: &[
        Row("title", 1, Text),
        Row("version", 2, Text),
        Row("description", 3, Text),
    ],
    extensions: 7,
};

static PATH_ITEM: Message = Message {
    rows: &[
        Row("get", 2, One(&OPERATION)),
        Row("put", 3, One(&OPERATION)),
        Row("post", 4, One(&OPERATION)),
        Row("delete", 5, One(&OPERATION)),
        Row("patch", 8, One(&OPERATION)),
        Row("parameters", 9, Parameters),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    rows: &[
        Row("tags", 1, Texts),
        Row("description", 3, Text),
        Row("operationId", 5, Text),
        Row("produces", 6, Texts),
        Row("consumes", 7, Texts),
        Row("parameters", 8, Parameters),
        Row("responses", 9, Responses),
        Row("schemes", 10, Texts),
    ],
    extensions: 13,
};

static BODY_PARAMETER: Message = Message {
    rows: &[
        Row("description", 1, Text),
        Row("name", 2, Text),
        Row("in", 3, Text),
        Row("required", 4, Flag),
        Row("schema", 5, One(&SCHEMA)),
    ],
    extensions: 6,
};

static PATH_PARAMETER: Message = Message {
    rows: &[
        Row("required", 1, Flag),
        Row("in", 2, Text),
        Row("description", 3, Text),
        Row("name", 4, Text),
        Row("type", 5, Text),
        Row("uniqueItems", 19, Flag),
    ],
    extensions: 22,
};

static QUERY_PARAMETER: Message = Message {
    rows: &[
        Row("required", 1, Flag),
        Row("in", 2, Text),
        Row("description", 3, Text),
        Row("name", 4, Text),
        Row("type", 6, Text),
        Row("uniqueItems", 20, Flag),
    ],
    extensions: 23,
};

/// `Response`; its schema is wrapped once more.
static RESPONSE: Message = Message {
    rows: &[
        Row("description", 1, Text),
        Row("schema", 2, One(&SCHEMA_ITEM)),
    ],
    extensions: 5,
};

/// Not a message of JSON: a schema as the first of its alternatives.
static SCHEMA_ITEM: Message = Message {
    rows: &[Row("", 1, One(&SCHEMA))],
    extensions: 0,
};

static SCHEMA: Message = Message {
    rows: &[
        Row("$ref", 1, Text),
        Row("format", 2, Text),
        Row("title", 3, Text),
        Row("description", 4, Text),
        Row("default", 5, Any),
        Row("multipleOf", 6, Double),
        Row("maximum", 7, Double),
        Row("exclusiveMaximum", 8, Flag),
        Row("minimum", 9, Double),
        Row("exclusiveMinimum", 10, Flag),
        Row("maxLength", 11, Number),
        Row("minLength", 12, Number),
        Row("pattern", 13, Text),
        Row("maxItems", 14, Number),
        Row("minItems", 15, Number),
        Row("uniqueItems", 16, Flag),
        Row("maxProperties", 17, Number),
        Row("minProperties", 18, Number),
        Row("required", 19, Texts),
        Row("enum", 20, Anys),
        Row("additionalProperties", 21, SchemaOrFlag),
        Row("type", 22, TypeItem),
        Row("items", 23, ItemsItem),
        Row("allOf", 24, Messages(&SCHEMA)),
        Row("properties", 25, Named(&SCHEMA, 1)),
        Row("example", 30, Any),
    ],
    extensions: 31,
};

/// The document as a message. What the message has no field for is left out.
pub fn encode(document: &Value) -> Vec<u8> {
    message(&DOCUMENT, document)
}

fn message(kind: &Message, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for Row(name, tag, field) in kind.rows {
        match (name.is_empty(), value.get(name)) {
            (true, _) => put(*tag, *field, value, &mut out),
            (false, Some(value)) => put(*tag, *field, value, &mut out),
            (false, None) => {}
        }
    }
    let entries = value.as_object().into_iter().flatten();
    for (name, value) in entries.filter(|(name, _)| name.starts_with("x-")) {
        if kind.extensions > 0 {
            let named = [text(1, name), nested(2, &any(value))].concat();
            put_bytes(kind.extensions, &named, &mut out);
        }
    }
    out
}

fn put(tag: u32, kind: Kind, value: &Value, out: &mut Vec<u8>) {
    match (kind, value) {
        (Text, Value::String(text)) => put_bytes(tag, text.as_bytes(), out),
        (Flag, Value::Bool(flag)) => put_varint(tag, u64::from(*flag), out),
        (Number, Value::Number(number)) => {
            put_varint(tag, number.as_i64().unwrap_or(0).cast_unsigned(), out);
        }
        (Double, Value::Number(number)) => {
            encode_key(tag, WireType::SixtyFourBit, out);
            out.extend_from_slice(&number.as_f64().unwrap_or(0.0).to_le_bytes());
        }
        (Texts, Value::Array(items)) => {
            for item in items.iter().filter_map(Value::as_str) {
                put_bytes(tag, item.as_bytes(), out);
            }
        }
        (Any, value) => put_bytes(tag, &any(value), out),
        (Anys, Value::Array(items)) => {
            for item in items {
                put_bytes(tag, &any(item), out);
            }
        }
        (One(kind), value) => put_bytes(tag, &message(kind, value), out),
        (Messages(kind), Value::Array(items)) => {
            for item in items {
                put_bytes(tag, &message(kind, item), out);
            }
        }
        (TypeItem, Value::String(name)) => put_bytes(tag, &text(1, name), out),
        (SchemaOrFlag, Value::Bool(flag)) => {
            let mut inner = Vec::new();
            put_varint(2, u64::from(*flag), &mut inner);
            put_bytes(tag, &inner, out);
        }
        (SchemaOrFlag | ItemsItem, value) => {
            put_bytes(tag, &nested(1, &message(&SCHEMA, value)), out);
        }
        (Named(kind, inner), Value::Object(entries)) => {
            put_bytes(
                tag,
                &named(entries, inner, |value| message(kind, value)),
                out,
            );
        }
        (Parameters, Value::Array(items)) => {
            for item in items {
                put_bytes(tag, &parameter(item), out);
            }
        }
        (Responses, Value::Object(entries)) => {
            let response = |value: &Value| nested(1, &message(&RESPONSE, value));
            put_bytes(tag, &named(entries, 1, response), out);
        }
        _ => {}
    }
}

/// Values with their names, each a message with this tag.
fn named(entries: &Map<String, Value>, tag: u32, print: impl Fn(&Value) -> Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in entries {
        let entry = [text(1, name), nested(2, &print(value))].concat();
        put_bytes(tag, &entry, &mut out);
    }
    out
}

/// `ParametersItem`: a parameter, which is one of a body, or another, of a query or a path.
fn parameter(value: &Value) -> Vec<u8> {
    let parameter = match value["in"].as_str() {
        Some("body") => nested(1, &message(&BODY_PARAMETER, value)),
        Some("path") => nested(2, &nested(4, &message(&PATH_PARAMETER, value))),
        _ => nested(2, &nested(3, &message(&QUERY_PARAMETER, value))),
    };
    nested(1, &parameter)
}

/// `Any`: JSON is YAML.
fn any(value: &Value) -> Vec<u8> {
    text(2, &format!("{value}\n"))
}

fn text(tag: u32, text: &str) -> Vec<u8> {
    nested(tag, text.as_bytes())
}

fn nested(tag: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    put_bytes(tag, bytes, &mut out);
    out
}

fn put_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_varint(tag: u32, value: u64, out: &mut Vec<u8>) {
    encode_key(tag, WireType::Varint, out);
    encode_varint(value, out);
}
