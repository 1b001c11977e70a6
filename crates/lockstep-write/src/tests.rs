//! Tests of the write path alone: a custom resource on the store's state machine, without server, runtime or clock.

mod controllers;
mod deep;

use std::sync::Arc;

use bytes::Bytes;
use lockstep_authz::User;
use lockstep_catalog::VersionIndex;
use lockstep_merge::managers::Force;
use lockstep_mvcc::BucketKey;
use lockstep_object::incoming::FieldValidation;
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Map, Object, Value, json as text};
use serde_json::json;

use super::offline::Offline;
use super::*;

/// A store with a namespace and a CRD, and requests for the resource that it defines.
struct Memory(Offline);

impl Memory {
    fn with_namespace(definition: Value) -> Self {
        let mut offline = Offline::default();
        let definition = Object::from_value(definition).expect("a CRD");
        offline.serve(&definition, now()).expect("the CRD compiles");
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"},
        });
        let namespace = Object::from_value(namespace).expect("a namespace");
        let memory = Self(offline);
        let place = ("", "namespaces", "default");
        memory.create(WriteOrigin::System, place, namespace);
        memory
    }

    fn create(&self, origin: WriteOrigin, place: (&str, &str, &str), object: Object) -> Internal {
        self.0.create(origin, place, object, now())
    }

    fn send(&self, verb: Verb, name: &str, input: Input) -> Answered {
        let route = route(verb, name);
        let served = self.0.registry().find(&route).expect("it is served");
        let notes = Notes::default();
        let mut request = WriteRequest {
            route: &route,
            served,
            input: Some(input),
            source: Bytes::new(),
            options: options(),
            now: now(),
            origin: WriteOrigin::Client,
            user: &User::new("tester", [""; 0]),
            permits: &|_| Ok(()),
            notes: &notes,
        };
        self.0.take_needs();
        let written = self.0.write(&mut request);
        Answered {
            written,
            warnings: notes.warnings(),
            needs: self.0.take_needs(),
        }
    }

    fn stored(&self, key: &str) -> Option<Value> {
        let bucket = BucketKey::new("ex.io/widgets");
        let found = self.0.cached_bytes(&bucket, key.as_bytes())?;
        serde_json::from_slice(&found.value).ok()
    }
}

fn route(verb: Verb, name: &str) -> ResourceRoute {
    ResourceRoute {
        verb,
        group: "ex.io".to_owned(),
        version: "v1".to_owned(),
        namespace: "default".to_owned(),
        resource: "widgets".to_owned(),
        name: name.to_owned(),
        subresource: String::new(),
    }
}

fn options() -> WriteOptions {
    WriteOptions {
        dry_run: DryRun::No,
        field_manager: "tester".to_owned(),
        force: Force::No,
        field_validation: FieldValidation::Strict,
        is_protobuf: false,
        given: Map::new(),
    }
}

fn now() -> Seconds {
    Seconds::from_unix(1_000_000_000).expect("a time")
}

struct Answered {
    written: Result<WriteAnswer, ApiError>,
    warnings: Vec<String>,
    needs: Vec<&'static str>,
}

impl Answered {
    fn object(&self) -> Value {
        let written = self.written.as_ref().expect("it is written");
        text::decode(&written.body).expect("JSON").value
    }

    fn code(&self) -> u16 {
        match &self.written {
            Ok(written) => written.code,
            Err(error) => error.code(),
        }
    }
}

/// A CRD with a default and a gated field.
fn widgets(is_gate_open: bool) -> Value {
    let spec = json!({
        "type": "object",
        "properties": {
            "size": {"type": "integer", "default": 1, "maximum": 10},
            "color": {"type": "string"},
            "beta": {"type": "string"},
        },
    });
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let gate = json!({
        "name": "Beta", "preRelease": "alpha", "enabled": is_gate_open, "fieldPaths": [".spec.beta"],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            "customFeatureGates": {"featureGates": [gate]},
        },
    })
}

fn widget(spec: &Value) -> Value {
    json!({
        "apiVersion": "ex.io/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"}, "spec": spec,
    })
}

fn document(value: Value) -> Input {
    Input::Object(Document {
        value,
        duplicates: Vec::new(),
    })
}

fn merge_patch(memory: &Memory, patch: &[u8]) -> Input {
    let registry = memory.0.registry();
    let resource = registry.resource("ex.io", "widgets").expect("served");
    let served = Served {
        resource: Arc::clone(resource),
        version: VersionIndex::PREFERRED,
    };
    let patch = decode_patch(&served, None, "application/merge-patch+json", patch);
    Input::Patch(patch.expect("a patch"))
}

#[test]
fn a_custom_resource_is_created_updated_applied_and_deleted_without_server_runtime_or_clock() {
    let memory = Memory::with_namespace(widgets(false));

    let created = memory.send(Verb::Create, "", document(widget(&json!({"color": "red"}))));
    assert_eq!(created.code(), 201, "{:?}", created.written);
    assert_eq!(created.object()["spec"], json!({"size": 1, "color": "red"}));
    assert_eq!(created.object()["metadata"]["generation"], 1);
    assert_eq!(created.needs, ["read", "commit"]);

    let again = memory.send(Verb::Create, "", document(widget(&json!({}))));
    assert_eq!(again.code(), 409);

    let unconditional = memory.send(Verb::Update, "w", document(widget(&json!({"size": 2}))));
    assert_eq!(unconditional.code(), 422);

    let mut next = widget(&json!({"size": 2}));
    next["metadata"]["resourceVersion"] = created.object()["metadata"]["resourceVersion"].clone();
    let updated = memory.send(Verb::Update, "w", document(next.clone()));
    assert_eq!(updated.code(), 200, "{:?}", updated.written);
    assert_eq!(updated.object()["metadata"]["generation"], 2);
    assert_eq!(updated.needs, ["read", "commit"]);

    let stale = memory.send(Verb::Update, "w", document(next));
    assert_eq!(stale.code(), 409);
    assert_eq!(stale.needs, ["read"]);

    let wrong = memory.send(
        Verb::Patch,
        "w",
        merge_patch(&memory, br#"{"spec":{"size":11}}"#),
    );
    assert_eq!(wrong.code(), 422);
    assert_eq!(wrong.needs, ["read"]);

    let applied = memory.send(
        Verb::Patch,
        "w",
        Input::Apply(widget(&json!({"color": "blue"}))),
    );
    assert_eq!(applied.code(), 200, "{:?}", applied.written);
    assert_eq!(
        applied.object()["spec"],
        json!({"size": 2, "color": "blue"})
    );
    let managers = applied.object()["metadata"]["managedFields"].clone();
    assert_eq!(managers.as_array().map(Vec::len), Some(2), "{managers}");

    let deleted = memory.send(Verb::Delete, "w", Input::Delete(json!({})));
    assert_eq!(deleted.code(), 200, "{:?}", deleted.written);
    assert_eq!(memory.stored("default/w"), None);
    let gone = memory.send(Verb::Delete, "w", Input::Delete(json!({})));
    assert_eq!(gone.code(), 404);
}

#[test]
fn a_closed_field_gate_drops_a_field_and_warns() {
    let memory = Memory::with_namespace(widgets(false));
    let created = memory.send(Verb::Create, "", document(widget(&json!({"beta": "x"}))));
    assert_eq!(created.code(), 201, "{:?}", created.written);
    assert_eq!(created.object()["spec"], json!({"size": 1}));
    assert_eq!(created.warnings.len(), 1, "{:?}", created.warnings);

    let memory = Memory::with_namespace(widgets(true));
    let created = memory.send(Verb::Create, "", document(widget(&json!({"beta": "x"}))));
    assert_eq!(created.object()["spec"]["beta"], "x");
    assert!(created.warnings.is_empty(), "{:?}", created.warnings);
}

/// After a conflict with a concurrent writer, the write restarts from the newest state.
#[test]
fn a_write_that_lost_a_race_reads_again() {
    let memory = Memory::with_namespace(widgets(false));
    memory.send(Verb::Create, "", document(widget(&json!({"color": "red"}))));
    let route = route(Verb::Patch, "w");
    let served = memory.0.registry().find(&route).expect("it is served");
    let notes = Notes::default();
    let mut request = WriteRequest {
        route: &route,
        served,
        input: Some(merge_patch(&memory, br#"{"spec":{"size":3}}"#)),
        source: Bytes::new(),
        options: options(),
        now: now(),
        origin: WriteOrigin::Client,
        user: &User::new("tester", [""; 0]),
        permits: &|_| Ok(()),
        notes: &notes,
    };
    let io = Io::default();
    let path = WritePath::new(&memory.0, &io);
    let mut machine = Machine::new(io.clone(), path.write(&mut request));
    let Step::Needs(read) = machine.step(None) else {
        panic!("a patch reads first");
    };
    let first = memory.0.fulfil(read);
    let green = merge_patch(&memory, br#"{"spec":{"color":"green"}}"#);
    let other = memory.send(Verb::Patch, "w", green);
    assert_eq!(other.code(), 200, "{:?}", other.written);
    let Step::Needs(commit) = machine.step(Some(first)) else {
        panic!("then it commits");
    };
    let lost = memory.0.fulfil(commit);
    let mut reply = Some(lost);
    let answer = loop {
        match machine.step(reply.take()) {
            Step::Done(answer) => break answer,
            Step::Needs(need) => reply = Some(memory.0.fulfil(need)),
        }
    };
    assert_eq!(answer.expect("the second try commits").code, 200);
    let stored = memory.stored("default/w").expect("it is there");
    assert_eq!(stored["spec"], json!({"size": 3, "color": "green"}));
}

fn evaluated(definition: &Value, new: &Value, old: &Value) -> offline::Evaluated {
    let object = |value: &Value| Object::from_value(value.clone()).expect("a map");
    let evaluation = offline::Evaluation {
        definition: &object(definition),
        new: &object(new),
        old: Some(&object(old)),
        subresource: "",
        field_validation: FieldValidation::Strict,
    };
    evaluation.run().expect("the input can be evaluated")
}

/// field-gates.md §12: name and namespace come from either object, and numbers may be the greatest.
#[test]
fn an_evaluation_takes_name_and_namespace_from_either_object() {
    let of = |metadata: Value, size: u8| {
        json!({
            "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": size},
        })
    };
    let whole = json!({"name": "w", "namespace": "other"});
    for (new, old) in [
        (whole.clone(), json!({"name": "w"})),
        (json!({"name": "w"}), whole.clone()),
        (whole.clone(), json!({"namespace": "other"})),
        (whole.clone(), json!({"name": "w", "generation": i64::MAX})),
    ] {
        let result = evaluated(&widgets(false), &of(new, 2), &of(old, 1));
        assert!(result.error.is_none(), "{:?}", result.error);
        let object = result.object.expect("it is stored");
        assert_eq!(object.at(&["spec", "size"]), Some(&json!(2)));
    }
}

/// field-gates.md §12: the storage version is evaluated even if it is not served.
#[test]
fn an_evaluation_takes_definitions_that_no_server_serves_in_the_storage_version() {
    let mut definition = widgets(false);
    definition["metadata"]["namespace"] = json!("n");
    definition["spec"]["versions"][0]["served"] = json!(false);
    let result = evaluated(
        &definition,
        &widget(&json!({"beta": "x", "size": 2})),
        &widget(&json!({})),
    );
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.actions.len(), 1, "{:?}", result.actions);
}
