//! Objects that are nested as deep as is accepted.

use lockstep_object::{Object, Value, json as text};
use serde_json::json;

use super::{Memory, document, evaluated, merge_patch, widget, widgets};
use crate::{Environment as _, Input, Verb};

/// A widget that is so many levels deep.
fn deep(levels: usize) -> Value {
    let mut widget = widget(&json!({"size": 2}));
    widget["a"] = (1..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert_eq!(text::depth(&widget), levels);
    widget
}

/// Every step of the write path on the stack that servers have. Without optimization the default of 2 MiB overflows.
#[test]
fn the_deepest_object_is_written_on_the_stack_that_threads_of_servers_have() {
    let thread = std::thread::Builder::new().stack_size(text::STACK_BYTES);
    let written = thread.spawn(write_the_deepest).expect("a thread").join();
    written.expect("the deepest object is written");
}

fn write_the_deepest() {
    let mut definition = widgets(false);
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    let memory = Memory::with_namespace(definition.clone());
    let object = deep(text::DEPTH_MAX);

    let created = memory.send(Verb::Create, "", document(object.clone()));
    assert_eq!(created.code(), 201, "{:?}", created.written);
    let mut next = created.object();
    next["spec"]["beta"] = json!("closed");
    next["spec"]["color"] = json!("red");
    let updated = memory.send(Verb::Update, "w", document(next));
    assert_eq!(updated.code(), 200, "{:?}", updated.written);
    let patch = merge_patch(&memory, br#"{"metadata":{"labels":{"a":"b"}}}"#);
    let patched = memory.send(Verb::Patch, "w", patch);
    assert_eq!(patched.code(), 200, "{:?}", patched.written);
    let applied = memory.send(Verb::Patch, "w", Input::Apply(widget(&json!({"size": 3}))));
    assert_eq!(applied.code(), 409, "{:?}", applied.written);
    let result = evaluated(&definition, &object, &object);
    assert!(result.error.is_none(), "{:?}", result.error);
    let deleted = memory.send(Verb::Delete, "w", Input::Delete(json!({})));
    assert_eq!(deleted.code(), 200, "{:?}", deleted.written);
    assert_eq!(memory.stored("default/w"), None);
}

/// api-machinery.md §8/namespaces: also if the namespace itself is nested deeper than `serde_json` reads by default.
#[test]
fn a_deeply_nested_namespace_that_terminates_takes_no_objects() {
    let memory = Memory::with_namespace(widgets(false));
    let fields = (1..200).fold(json!({}), |inner, _| json!({ "f:a": inner }));
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": "default", "deletionTimestamp": "2001-09-09T01:46:40Z",
            "managedFields": [{
                "manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": fields,
            }],
        },
    });
    let stored = text::encode(&namespace);
    assert_eq!(
        Object::read(&stored).map(Object::into_value),
        Some(namespace)
    );
    let registry = memory.0.registry();
    let namespaces = registry.resource("", "namespaces").expect("namespaces");
    memory.0.put(namespaces, "default", stored.into());
    let refused = memory.send(Verb::Create, "", document(widget(&json!({}))));
    assert_eq!(refused.code(), 403, "{:?}", refused.written);
}
