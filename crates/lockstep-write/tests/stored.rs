//! Stored bytes, and objects as served from them.

use lockstep_mvcc::Revision;
use lockstep_write::stored::{Layout, NotAnObject, TypeMeta, encode};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn stored(object: &Value) -> Result<String, NotAnObject> {
    let object = object.as_object().expect("tests store objects");
    let bytes = encode(object, |value, out| {
        serde_json::to_writer(out, value).expect("values can be printed");
    })?;
    Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
}

fn served(stored: &str, type_meta: TypeMeta<'_>) -> String {
    let mut out = Vec::new();
    let layout = Layout::of(stored.as_bytes()).expect("it was stored by us");
    layout.serve(type_meta, Revision(7), &mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[test]
fn an_object_is_stored_with_its_type_and_metadata_first_and_without_a_resource_version() {
    let object = json!({
        "alpha": 1, "apiVersion": "ex.io/v1", "kind": "Widget", "spec": {"a": "b"},
        "metadata": {"name": "a", "resourceVersion": "3", "uid": "u"},
    });
    let expected = r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a","uid":"u"},"alpha":1,"spec":{"a":"b"}}"#;
    assert_eq!(stored(&object).as_deref(), Ok(expected));
    let bare = json!({"apiVersion": "v1", "kind": "K", "metadata": {"resourceVersion": "3"}});
    assert_eq!(
        stored(&bare).as_deref(),
        Ok(r#"{"apiVersion":"v1","kind":"K","metadata":{}}"#)
    );
}

#[test]
fn what_has_no_type_or_metadata_is_not_stored() {
    for object in [
        json!({"kind": "K", "metadata": {}}),
        json!({"apiVersion": "v1", "metadata": {}}),
        json!({"apiVersion": "v1", "kind": "K"}),
        json!({"apiVersion": "v1", "kind": "K", "metadata": []}),
        json!({"apiVersion": "v\"1", "kind": "K", "metadata": {}}),
        json!({"apiVersion": "v1", "kind": "K\n", "metadata": {}}),
    ] {
        assert_eq!(stored(&object), Err(NotAnObject), "{object}");
    }
}

#[test]
fn an_object_is_served_with_its_revision_and_the_type_that_was_asked_for() {
    let bytes = r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a"},"spec":{}}"#;
    let other = TypeMeta::Served {
        group: "ex.io",
        version: "v2",
        kind: "Widget",
    };
    assert_eq!(
        served(bytes, TypeMeta::Stored),
        r#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"resourceVersion":"7","name":"a"},"spec":{}}"#
    );
    assert_eq!(
        served(bytes, other),
        r#"{"apiVersion":"ex.io/v2","kind":"Widget","metadata":{"resourceVersion":"7","name":"a"},"spec":{}}"#
    );
    assert_eq!(
        served(bytes, TypeMeta::Omitted),
        r#"{"metadata":{"resourceVersion":"7","name":"a"},"spec":{}}"#
    );
    let bare = r#"{"apiVersion":"v1","kind":"K","metadata":{}}"#;
    assert_eq!(
        served(bare, TypeMeta::Stored),
        r#"{"apiVersion":"v1","kind":"K","metadata":{"resourceVersion":"7"}}"#
    );
}

fn served_metadata(stored: &str) -> Option<String> {
    let layout = Layout::of(stored.as_bytes()).expect("it starts as an object does");
    let mut out = Vec::new();
    let is_whole = layout.serve_metadata(Revision(7), &mut out);
    is_whole.then(|| String::from_utf8(out).expect("JSON is UTF-8"))
}

#[test]
fn metadata_alone_is_copied_up_to_its_end() {
    let bytes =
        r#"{"apiVersion":"v1","kind":"K","metadata":{"a":{"b":"}\\\"}"},"name":"é"},"spec":{}}"#;
    assert_eq!(
        served_metadata(bytes).as_deref(),
        Some(r#"{"resourceVersion":"7","a":{"b":"}\\\"}"},"name":"é"}"#)
    );
    let bare = r#"{"apiVersion":"v1","kind":"K","metadata":{}}"#;
    assert_eq!(
        served_metadata(bare).as_deref(),
        Some(r#"{"resourceVersion":"7"}"#)
    );
    let broken = r#"{"apiVersion":"v1","kind":"K","metadata":{"a":"#;
    assert_eq!(served_metadata(broken), None);
}

#[test]
fn other_bytes_are_recognised_as_such() {
    for bytes in [
        "",
        "{",
        "k8s\u{0}",
        r#"{"kind":"K","apiVersion":"v1","metadata":{}}"#,
        r#"{"apiVersion":"v1","kind":"K","metadata":null}"#,
        r#"{"apiVersion":"v\"1","kind":"K","metadata":{}}"#,
        r#"{"apiVersion":"v1"#,
    ] {
        assert_eq!(Layout::of(bytes.as_bytes()), Err(NotAnObject), "{bytes}");
    }
}

proptest! {
    #[test]
    fn serving_changes_nothing_but_the_resource_version(
        metadata in prop::collection::btree_map("[a-z]{1,6}", any::<i32>(), 0..4),
        rest in prop::collection::btree_map("[A-Za-z\"\\\\é]{1,6}", ".{0,8}", 0..4),
    ) {
        let mut object = Map::new();
        object.extend(rest.into_iter().map(|(field, value)| (field, Value::from(value))));
        object.insert("apiVersion".into(), "ex.io/v1".into());
        object.insert("kind".into(), "Widget".into());
        object.insert("metadata".into(), metadata.into_iter().map(|(f, v)| (f, Value::from(v))).collect());
        let bytes = stored(&Value::Object(object.clone())).expect("it has a type and metadata");
        object["metadata"]["resourceVersion"] = "7".into();
        let back: Value = serde_json::from_str(&served(&bytes, TypeMeta::Stored)).expect("it is JSON");
        let alone = served_metadata(&bytes).expect("it was stored whole");
        let alone: Value = serde_json::from_str(&alone).expect("it is JSON");
        prop_assert_eq!(&alone, &object["metadata"]);
        prop_assert_eq!(back, Value::Object(object));
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(layout) = Layout::of(&bytes) {
            layout.serve(TypeMeta::Stored, Revision(1), &mut Vec::new());
            layout.serve_metadata(Revision(1), &mut Vec::new());
        }
    }
}
