//! Properties of decoding for any bytes and any JSON.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use lockstep_kinds::proto::{self, Envelope};
use lockstep_kinds::{Table, TypeId, typed};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Types with every shape among them.
fn types() -> Vec<TypeId> {
    let table = Table::builtin();
    let names = [
        "io.k8s.api.core.v1.Pod",
        "io.k8s.api.core.v1.ConfigMap",
        "io.k8s.api.core.v1.Secret",
        "io.k8s.api.core.v1.Event",
        "io.k8s.api.authorization.v1.SubjectAccessReview",
        "io.k8s.api.networking.v1.NetworkPolicy",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    ];
    names
        .iter()
        .map(|name| table.published(name).unwrap())
        .collect()
}

/// Bytes that look like messages: short keys, small lengths, nested.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        (1..50_u8, any::<u8>()).prop_map(|(tag, value)| vec![(tag << 3) & 0x7f, value & 0x7f]),
        (1..50_u8, prop::collection::vec(any::<u8>(), 0..8))
            .prop_map(|(tag, bytes)| field(tag, &bytes)),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        (1..50_u8, prop::collection::vec(inner, 0..6))
            .prop_map(|(tag, parts)| field(tag, &parts.concat()))
    })
}

fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_key(
        u32::from(tag),
        prost::encoding::WireType::LengthDelimited,
        &mut out,
    );
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

/// JSON with names that types have.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-5..5_i32).prop_map(Value::from),
        Just(Value::from("2026-11-16T02:11:06Z")),
        Just(Value::from("1500m")),
        Just(Value::from("AP8=")),
        ".{0,4}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "metadata",
        "name",
        "labels",
        "spec",
        "containers",
        "data",
        "type",
        "items",
        "properties",
        "status",
        "resources",
        "limits",
        "ports",
        "containerPort",
        "volumes",
        "emptyDir",
        "env",
        "value",
        "default",
        "x",
        "creationTimestamp",
        "uid",
        "ingress",
        "from",
        "port",
        "extra",
        "user",
    ]);
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..5).prop_map(|entries| {
                let entries = entries
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(entries.collect())
            }),
        ]
    })
}

fn read(id: TypeId, object: &mut Map<String, Value>) -> Option<Vec<String>> {
    let mut unknown = Vec::new();
    typed::read(Table::builtin(), id, object, &mut unknown).ok()?;
    Some(unknown)
}

proptest! {
    /// api-machinery.md §3.2/envelope: no bytes end in a panic, and what was read once is read again.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop_oneof![message(), prop::collection::vec(any::<u8>(), 0..64)]) {
        let table = Table::builtin();
        let _opened = Envelope::open(&bytes);
        for id in types() {
            let Ok(mut object) = proto::decode(table, id, &bytes) else { continue };
            if read(id, &mut object).is_none() {
                continue;
            }
            let written = proto::encode(table, id, &object).unwrap();
            let mut again = proto::decode(table, id, &written).unwrap();
            prop_assert_eq!(read(id, &mut again), Some(Vec::new()));
            let rewritten = proto::encode(table, id, &again).unwrap();
            prop_assert_eq!(written, rewritten);
        }
    }

    /// Reading is idempotent, also across a protobuf round trip, as it is in Go.
    #[test]
    fn reading_twice_is_reading_once(value in json()) {
        let Value::Object(object) = value else { return Ok(()) };
        for id in types() {
            let mut once = object.clone();
            if read(id, &mut once).is_none() {
                continue;
            }
            let mut twice = once.clone();
            prop_assert_eq!(read(id, &mut twice), Some(Vec::new()));
            prop_assert_eq!(&once, &twice);
            let table = Table::builtin();
            let bytes = proto::encode(table, id, &once).unwrap();
            let mut back = proto::decode(table, id, &bytes).unwrap();
            prop_assert_eq!(read(id, &mut back), Some(Vec::new()));
            let rewritten = proto::encode(table, id, &back).unwrap();
            prop_assert_eq!(bytes, rewritten);
        }
    }
}
