//! JSON form of values that preserves their CEL types, for comparisons.

use crate::value::{Object, Opaque, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// A value with its type, such as `{"int": 1}`.
pub fn tagged(value: &Value<'_>) -> Json {
    match value {
        Value::Null => json!({"null": true}),
        Value::Bool(value) => json!({"bool": value}),
        Value::Int(value) => json!({"int": value}),
        Value::Uint(value) => json!({"uint": value}),
        Value::Double(value) => json!({"double": double(*value)}),
        Value::String(text) => json!({"string": text}),
        Value::Bytes(bytes) => json!({"bytes": STANDARD.encode(bytes)}),
        Value::Timestamp(at) => json!({"timestamp": at.to_string()}),
        Value::Duration(span) => json!({"duration_ns": span.nanoseconds()}),
        Value::Type(name) => json!({"type": name}),
        Value::List(list) => {
            let values: Vec<Json> = list
                .values()
                .map(|value| value.map_or(Json::Null, |value| tagged(&value)))
                .collect();
            json!({"list": values})
        }
        Value::Map(map) => {
            let entries = map.entries().map(|(key, value)| {
                json!([
                    tagged(&key),
                    value.map_or(Json::Null, |value| tagged(&value))
                ])
            });
            json!({"map": sorted(entries.collect())})
        }
        Value::Optional(None) => json!({"optional": "none"}),
        Value::Optional(Some(value)) => json!({"optional": tagged(value)}),
        Value::Object(object) => tagged_object(object),
        Value::Opaque(opaque) => tagged_opaque(opaque),
    }
}

fn tagged_object(object: &Object<'_>) -> Json {
    if object.type_name == crate::mutation::JSON_PATCH {
        let field = |(name, value): &(&str, Value<'_>)| match value {
            Value::String(text) if *name != "value" => ((*name).to_owned(), json!(text)),
            value => ((*name).to_owned(), tagged(value)),
        };
        let fields: serde_json::Map<String, Json> = object.fields.iter().map(field).collect();
        return json!({"jsonpatch": fields});
    }
    let plain = Value::Object(object)
        .to_json()
        .unwrap_or_else(|error| json!(error.to_string()));
    json!({"object": plain, "type": object.type_name})
}

fn tagged_opaque(opaque: &Opaque) -> Json {
    let name = match opaque {
        Opaque::Quantity(_) => "quantity",
        Opaque::Url(_) => "url",
        Opaque::Ip(_) => "ip",
        Opaque::Cidr(_) => "cidr",
        Opaque::Semver(_) => "semver",
        other => return json!({other.type_name(): true}),
    };
    json!({name: opaque.text()})
}

/// Doubles without a JSON form are text; the two zeros are one.
pub(super) fn double(value: f64) -> Json {
    if value.is_nan() {
        return json!("NaN");
    }
    if value.is_infinite() {
        return json!(if value > 0.0 { "+Inf" } else { "-Inf" });
    }
    // Adding zero turns -0.0 into 0.0.
    json!(value + 0.0)
}

/// Entries in an order both sides agree on.
pub(super) fn sorted(mut entries: Vec<Json>) -> Json {
    entries.sort_by_key(ToString::to_string);
    Json::Array(entries)
}

/// An expectation written in the tagged form, with numbers and entries brought to one form.
pub(super) fn normalized(expected: &Json) -> Json {
    match expected {
        Json::Object(members) => {
            let member = |(name, value): (&String, &Json)| {
                let value = match (name.as_str(), value) {
                    ("double", Json::Number(number)) => double(number.as_f64().unwrap_or(f64::NAN)),
                    ("map", Json::Array(entries)) => {
                        sorted(entries.iter().map(normalized).collect())
                    }
                    ("object", plain) => plain.clone(),
                    (_, value) => normalized(value),
                };
                (name.clone(), value)
            };
            members.iter().map(member).collect()
        }
        Json::Array(elements) => elements.iter().map(normalized).collect(),
        other => other.clone(),
    }
}
