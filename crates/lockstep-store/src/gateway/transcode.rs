//! Conversion of messages between JSON and protobuf.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use prost_reflect::{DynamicMessage, MethodDescriptor, SerializeOptions};
use serde::de::DeserializeSeed;
use serde_json::value::RawValue;

/// Length of the gRPC message prefix: compression flag and length.
const PREFIX_BYTES: usize = 5;

/// Encodes the JSON values of a body as gRPC messages. An empty body is one empty message.
pub(super) fn messages(method: &MethodDescriptor, body: &[u8]) -> serde_json::Result<Bytes> {
    let mut framed = BytesMut::new();
    for value in serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>() {
        let mut value = serde_json::Deserializer::from_str(value?.get());
        put(&method.input().deserialize(&mut value)?, &mut framed);
        if !method.is_client_streaming() {
            break;
        }
    }
    if framed.is_empty() {
        put(&DynamicMessage::new(method.input()), &mut framed);
    }
    Ok(framed.freeze())
}

fn put(message: &DynamicMessage, out: &mut BytesMut) {
    let bytes = message.encode_to_vec();
    out.put_u8(0);
    out.put_u32(u32::try_from(bytes.len()).expect("bodies are smaller than 4 GiB"));
    out.extend_from_slice(&bytes);
}

/// Removes the next complete message from a buffer.
pub(super) fn take_message(buffer: &mut BytesMut) -> Option<Bytes> {
    let mut prefix = buffer.get(..PREFIX_BYTES)?;
    prefix.advance(1);
    let length = usize::try_from(prefix.get_u32()).ok()?;
    if buffer.len() - PREFIX_BYTES < length {
        return None;
    }
    buffer.advance(PREFIX_BYTES);
    Some(buffer.split_to(length).freeze())
}

/// Encodes a message as JSON with original field names; default values are omitted.
pub(super) fn to_json(method: &MethodDescriptor, message: Bytes) -> Result<Vec<u8>, String> {
    let message = DynamicMessage::decode(method.output(), message);
    let message = message.map_err(|error| error.to_string())?;
    let options = SerializeOptions::new().use_proto_field_name(true);
    let mut out = serde_json::Serializer::new(Vec::new());
    let written = message.serialize_with_options(&mut out, &options);
    written.map_err(|error| error.to_string())?;
    Ok(out.into_inner())
}
