//! Limits of decoding, and the cost of the table.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use lockstep_kinds::proto::{self, DecodeError, MESSAGE_DEPTH_MAX};
use lockstep_kinds::typed::{self, TypeError};
use lockstep_kinds::{Table, TypeId};
use serde_json::{Map, Value, json};

fn published(name: &str) -> TypeId {
    Table::builtin().published(name).unwrap()
}

fn put(tag: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut out);
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

#[test]
fn messages_nest_only_so_deep() {
    let schema =
        published("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
    // `not` of `not` of …
    let nested = |depth: usize| (0..depth).fold(Vec::new(), |inner, _| put(28, &inner));
    let table = Table::builtin();
    let read = |depth| proto::decode(table, schema, &nested(depth)).map(|_| ());
    assert_eq!(read(MESSAGE_DEPTH_MAX), Ok(()));
    assert_eq!(read(MESSAGE_DEPTH_MAX + 1), Err(DecodeError::Depth));
    assert_eq!(read(5_000), Err(DecodeError::Depth));
}

#[test]
fn empty_messages_do_not_grow_without_end() {
    let spec = published("io.k8s.api.core.v1.PodSpec");
    let bytes: Vec<u8> = (0..1_000_000).flat_map(|_| [0x12, 0]).collect();
    let table = Table::builtin();
    let mut object = proto::decode(table, spec, &bytes).unwrap();
    let read = typed::read(table, spec, &mut object, &mut Vec::new());
    assert_eq!(read, Err(TypeError::Growth));
    let bytes: Vec<u8> = (0..=proto::VALUES_MAX).flat_map(|_| [0x12, 0]).collect();
    assert_eq!(proto::decode(table, spec, &bytes), Err(DecodeError::Values));
}

#[test]
fn malformed_messages_are_told_apart() {
    let config_map = Table::builtin().kind("", "v1", "ConfigMap").unwrap();
    let read = |bytes: &[u8]| proto::decode(Table::builtin(), config_map, bytes);
    assert_eq!(read(&[0x0a, 0x05, 0x0a]), Err(DecodeError::Truncated));
    let wrong = DecodeError::WireType {
        found: 0,
        field: "metadata",
    };
    assert_eq!(read(&[0x08, 0x01]), Err(wrong));
    let told = read(&[0xff]).unwrap_err().to_string();
    assert_eq!(
        told,
        "proto: failed to decode Protobuf message: invalid varint"
    );
    // A tag of the future, of each wire type.
    let newer = [
        0xf8, 0x07, 1, 0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8, 0xfa, 0x07, 1, 9, 0xfd, 0x07, 1, 2, 3, 4,
    ];
    assert_eq!(read(&newer), Ok(Map::new()));
}

#[test]
fn maps_that_repeat_a_key_keep_the_last_and_lists_may_be_packed() {
    let table = Table::builtin();
    let config_map = table.kind("", "v1", "ConfigMap").unwrap();
    let entry = |value: &str| put(2, &[put(1, b"k"), put(2, value.as_bytes())].concat());
    let read = proto::decode(table, config_map, &[entry("a"), entry("b")].concat()).unwrap();
    assert_eq!(Value::Object(read), json!({"data": {"k": "b"}}));
    let context = published("io.k8s.api.core.v1.PodSecurityContext");
    let groups = [put(4, &[1, 0x80, 0x01]), vec![0x20, 3]].concat();
    let read = proto::decode(table, context, &groups).unwrap();
    assert_eq!(
        Value::Object(read),
        json!({"supplementalGroups": [1, 128, 3]})
    );
}

#[test]
fn an_envelope_says_what_is_in_it() {
    use proto::{Envelope, EnvelopeError, wrap};
    let wrapped = wrap("v1", "ConfigMap", b"raw");
    let expected = Envelope {
        api_version: "v1",
        kind: "ConfigMap",
        raw: b"raw",
    };
    assert_eq!(Envelope::open(&wrapped), Ok(expected));
    assert_eq!(Envelope::open(b""), Err(EnvelopeError::Empty));
    assert_eq!(Envelope::open(b"{}"), Err(EnvelopeError::Prefix));
    assert_eq!(
        EnvelopeError::Prefix.to_string(),
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    );
    let expected = Envelope {
        api_version: "",
        kind: "",
        raw: b"",
    };
    assert_eq!(Envelope::open(b"k8s\0"), Ok(expected));
}
