//! Protobuf encoding of responses, from the JSON that handlers write; and the reverse, for the audit log.

use lockstep_kinds::proto::{self, Envelope};
use lockstep_kinds::{Table, TypeId, typed};
use lockstep_object::{ApiError, Object, Status, Value, json};

/// Encodes a complete response: an object, a list or a `Status`.
pub(super) fn as_message(body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let decoded = json::decode(body);
    let decoded = decoded.map_err(|error| ApiError::internal(error.to_string()))?;
    message(decoded.value)
}

/// Encodes watch events, one per line of JSON, as length-delimited frames.
pub(crate) fn as_frames(lines: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        if !line.is_empty() {
            let event = event(line).unwrap_or_else(|error| failure(&error));
            let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
            frames.extend_from_slice(&length.to_be_bytes());
            frames.extend_from_slice(&event);
        }
    }
    frames
}

/// `ERROR` event for an event that cannot be encoded.
fn failure(error: &ApiError) -> Vec<u8> {
    let status = Status::from(error).to_value();
    watch_event("ERROR", &message(status).unwrap_or_default())
}

fn event(line: &[u8]) -> Result<Vec<u8>, ApiError> {
    let decoded = json::decode(line);
    let decoded = decoded.map_err(|error| ApiError::internal(error.to_string()))?;
    let mut event = decoded.value;
    let object = message(event["object"].take())?;
    Ok(watch_event(
        event["type"].as_str().unwrap_or_default(),
        &object,
    ))
}

/// `WatchEvent`, whose object is a `RawExtension`.
fn watch_event(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Vec::with_capacity(object.len() + 8);
    proto::put_bytes(1, object, &mut raw);
    let mut event = Vec::with_capacity(raw.len() + kind.len() + 16);
    proto::put_bytes(1, kind.as_bytes(), &mut event);
    proto::put_bytes(2, &raw, &mut event);
    event
}

/// Encodes one object in the `runtime.Unknown` envelope.
fn message(value: Value) -> Result<Vec<u8>, ApiError> {
    let object = Object::from_value(value);
    let object = object.map_err(|_| ApiError::internal("the answer is no object"))?;
    let (api_version, kind) = (object.api_version(), object.kind());
    let id = type_of(api_version, kind)
        .ok_or_else(|| ApiError::internal(format!("{kind} has no message")))?;
    let raw = proto::encode(Table::builtin(), id, object.fields());
    let raw = raw.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(proto::wrap(api_version, kind, &raw))
}

/// Decodes a message by the type in its envelope; none if that fails.
pub(super) fn from_message(bytes: &[u8]) -> Option<Value> {
    let envelope = Envelope::open(bytes).ok()?;
    let id = type_of(envelope.api_version, envelope.kind)?;
    let mut object = proto::decode(Table::builtin(), id, envelope.raw).ok()?;
    typed::read(Table::builtin(), id, &mut object, &mut Vec::new()).ok()?;
    object.insert("apiVersion".to_owned(), envelope.api_version.into());
    object.insert("kind".to_owned(), envelope.kind.into());
    Some(object.into())
}

/// Type of a kind. The group `meta.k8s.io` maps to the core group, where the table has its kinds.
fn type_of(api_version: &str, kind: &str) -> Option<TypeId> {
    let api_version = api_version
        .strip_prefix("meta.k8s.io/")
        .unwrap_or(api_version);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Table::builtin().kind(group, version, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_says_what_its_json_says() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        let message = as_message(object.to_string().as_bytes());
        assert_eq!(
            message.ok().and_then(|bytes| from_message(&bytes)),
            Some(object)
        );
        assert_eq!(from_message(b"{}"), None);
        assert_eq!(from_message(&proto::wrap("ex.io/v1", "Widget", b"")), None);
    }

    #[test]
    fn an_object_without_a_message_is_an_event_that_says_so() {
        let frames = as_frames(
            b"{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Widget\"}}\n",
        );
        assert_eq!(frames[4..11], *b"\n\x05ERROR");
    }
}
