//! Tests of the write path alone: a custom resource on the store's state machine, without server, runtime or clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lockstep_authz::{Policies, User};
use lockstep_builtins::services::ServiceRange;
use lockstep_merge::managers::Force;
use lockstep_mvcc::{Command, Machine as StoreMachine, Response};
use lockstep_object::incoming::FieldValidation;
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Map, Object, Value, json as text};
use lockstep_storage::{
    Key, KeyRange, Limits, Outcome, Range, ReadFailure, Revision, WriteFailure,
};
use parking_lot::Mutex;
use serde_json::json;

use super::admission::{Hook, Phase, Plugins};
use super::*;
use crate::authn::User as Caller;
use crate::authz::{Attributes as Asked, Authorizer, Verdict, allow_all};
use crate::builtin::{self, Apis};
use crate::cache::BucketKey;
use crate::crd::{self, FieldGates};
use crate::resources::SchemaChange;
use crate::route::ResourceRoute;
use crate::webhooks::Clients;

const PREFIX: &[u8] = b"/registry/";

/// In-memory environment and driver.
struct Memory {
    registry: Arc<Registry>,
    store: Mutex<StoreMachine>,
    plugins: Plugins,
    randomness: AtomicU64,
    /// Needs in order of emission.
    needs: Mutex<Vec<&'static str>>,
}

impl Memory {
    /// Creates a store with a CRD, and serves the resource that it defines along with the built-in ones.
    fn new(definition: Value) -> Self {
        let mut memory = Self {
            registry: Arc::new(Registry::new(builtin::resources(
                lockstep_cel::Version::LATEST,
                &Apis::all(),
            ))),
            store: Mutex::default(),
            plugins: Plugins::default(),
            randomness: AtomicU64::default(),
            needs: Mutex::default(),
        };
        let definition = Object::from_value(definition).expect("a CRD");
        let place = (crd::GROUP, crd::PLURAL, definition.name());
        let stored = memory.create(WriteOrigin::System, place, definition.clone());
        let Internal::Done(revision) = stored else {
            panic!("the CRD is not stored: {stored:?}");
        };
        let resource = crd::resource(
            &definition,
            revision,
            &Clients::default(),
            Arc::new(SchemaChange::default()),
            FieldGates::On,
        );
        let mut registry = Registry::clone(&memory.registry);
        registry.insert(resource.expect("the CRD compiles"));
        memory.registry = Arc::new(registry);
        memory
    }

    /// [`Memory::new`] with a namespace `default`.
    fn with_namespace(definition: Value) -> Self {
        let memory = Self::new(definition);
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"},
        });
        let namespace = Object::from_value(namespace).expect("a namespace");
        memory.create(
            WriteOrigin::System,
            ("", "namespaces", "default"),
            namespace,
        );
        memory
    }

    fn create(&self, origin: WriteOrigin, place: (&str, &str, &str), object: Object) -> Internal {
        let io = Io::default();
        let path = WritePath::new(self, &io);
        let write = path.create_internally(origin, place, object, now());
        self.drive(Machine::new(io.clone(), write))
    }

    fn drive<T>(&self, mut write: Machine<'_, T>) -> T {
        let mut reply = None;
        loop {
            match write.step(reply.take()) {
                Step::Done(done) => return done,
                Step::Needs(need) => reply = Some(self.fulfil(need)),
            }
        }
    }

    fn fulfil(&self, need: Need) -> Reply {
        let (name, reply) = match need {
            Need::Read(resource, key) => {
                let key = Key::new(resource.store_key(PREFIX, &key)).expect("a key");
                let range = Range::new(KeyRange::single(key));
                let found = self.store.lock().range(&range);
                let found = found.map(|found| found.kvs.into_iter().next());
                ("read", Reply::Read(found.map_err(ReadFailure::from)))
            }
            Need::Commit(_, write) => ("commit", Reply::Committed(self.commit(write))),
            Need::CatchUp | Need::CatchUpTo(_) => ("catch up", Reply::CaughtUp(true)),
            Need::TakeQuotaTurn(_) => ("turn", Reply::QuotaTurn(Revision::NONE)),
            Need::EndQuotaTurn(_) | Need::Pause(_) => ("wait", Reply::Done),
            Need::Convert { .. } | Need::CallWebhooks(_) => {
                unreachable!("the resource has no webhooks")
            }
        };
        self.needs.lock().push(name);
        reply
    }

    fn commit(&self, write: lockstep_storage::GuardedWrite) -> Result<Outcome, WriteFailure> {
        let txn = write.txn(Limits::default().txn_ops_max)?;
        let applied = self.store.lock().apply(Command::Txn(txn));
        match applied.response? {
            Response::Txn(answer) => Ok(Outcome::of(answer)),
            other => unreachable!("a transaction was answered by {other:?}"),
        }
    }

    fn send(&self, verb: Verb, name: &str, input: Input) -> Answered {
        let route = route(verb, name);
        let served = self.registry.find(&route).expect("it is served");
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
            caller: &Caller::default(),
            permits: &|_| Ok(()),
            notes: &notes,
        };
        self.needs.lock().clear();
        let io = Io::default();
        let path = WritePath::new(self, &io);
        let written = self.drive(Machine::new(io.clone(), path.write(&mut request)));
        Answered {
            written,
            warnings: notes.warnings(),
            needs: std::mem::take(&mut self.needs.lock()),
        }
    }

    fn stored(&self, key: &str) -> Option<Value> {
        let bucket = BucketKey::new("ex.io/widgets");
        let found = self.cached_bytes(&bucket, key.as_bytes())?;
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

impl Environment for Memory {
    fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    fn prefix(&self) -> &[u8] {
        PREFIX
    }

    fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    fn service_range(&self) -> ServiceRange {
        ServiceRange::default()
    }

    fn field_gates(&self) -> FieldGates {
        FieldGates::On
    }

    fn random_u128(&self) -> u128 {
        u128::from(self.randomness.fetch_add(1, Ordering::Relaxed))
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn cached_bytes(&self, bucket: &BucketKey, key: &[u8]) -> Option<CachedBytes> {
        let whole = [PREFIX, bucket.name(), b"/", key].concat();
        let range = Range::new(KeyRange::single(Key::new(whole).ok()?));
        let found = self
            .store
            .lock()
            .range(&range)
            .ok()?
            .kvs
            .into_iter()
            .next()?;
        Some(CachedBytes {
            key: Bytes::copy_from_slice(key),
            value: found.value.clone(),
            revision: found.mod_revision,
        })
    }

    fn cached_list(&self, bucket: &BucketKey, namespace: Option<&str>) -> Vec<CachedBytes> {
        let bucket = [PREFIX, bucket.name(), b"/"].concat();
        let within = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        let keys = KeyRange::prefix([&bucket, within.as_bytes()].concat());
        let found = self.store.lock().range(&Range::new(keys));
        let found = found.expect("nothing is compacted").kvs.into_iter();
        let cached = found.map(|found| CachedBytes {
            key: found.key.slice(bucket.len()..),
            value: found.value.clone(),
            revision: found.mod_revision,
        });
        cached.collect()
    }

    fn policies(&self) -> Arc<Policies> {
        Arc::default()
    }

    fn authorize(&self, attributes: &Asked<'_>) -> Verdict {
        allow_all()(attributes)
    }

    fn authorizer(&self) -> Authorizer {
        allow_all()
    }

    fn webhooks(&self, _phase: Phase) -> Arc<[Arc<Hook>]> {
        Arc::default()
    }

    fn observe(&self, _observation: &Observation<'_>) {}
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
    let resource = memory
        .registry
        .resource("ex.io", "widgets")
        .expect("it is served");
    let served = Served {
        resource: Arc::clone(resource),
        version: 0,
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
    let served = memory.registry.find(&route).expect("it is served");
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
        caller: &Caller::default(),
        permits: &|_| Ok(()),
        notes: &notes,
    };
    let io = Io::default();
    let path = WritePath::new(&memory, &io);
    let mut machine = Machine::new(io.clone(), path.write(&mut request));
    let Step::Needs(read) = machine.step(None) else {
        panic!("a patch reads first");
    };
    let first = memory.fulfil(read);
    let green = merge_patch(&memory, br#"{"spec":{"color":"green"}}"#);
    let other = memory.send(Verb::Patch, "w", green);
    assert_eq!(other.code(), 200, "{:?}", other.written);
    let Step::Needs(commit) = machine.step(Some(first)) else {
        panic!("then it commits");
    };
    let lost = memory.fulfil(commit);
    let mut reply = Some(lost);
    let answer = loop {
        match machine.step(reply.take()) {
            Step::Done(answer) => break answer,
            Step::Needs(need) => reply = Some(memory.fulfil(need)),
        }
    };
    assert_eq!(answer.expect("the second try commits").code, 200);
    let stored = memory.stored("default/w").expect("it is there");
    assert_eq!(stored["spec"], json!({"size": 3, "color": "green"}));
}

/// Stages by origin: field gates apply to controllers, because they guarantee the content of stored bytes.
#[test]
fn a_closed_field_gate_holds_for_controllers_and_not_for_the_server_itself() {
    let controller = WriteOrigin::Controller { now: now() };
    for (origin, expected) in [
        (controller, json!({"size": 1})),
        (WriteOrigin::System, json!({"size": 1, "beta": "x"})),
    ] {
        let memory = Memory::with_namespace(widgets(false));
        let made = Object::from_value(widget(&json!({"beta": "x"}))).expect("a widget");
        let written = memory.create(origin, ("ex.io", "widgets", "default/w"), made);
        assert!(
            matches!(written, Internal::Done(_)),
            "{origin:?}: {written:?}"
        );
        let stored = memory.stored("default/w").expect("it is there");
        assert_eq!(stored["spec"], expected, "{origin:?}");
    }
}

/// Stages by origin: a quota limits what controllers create, and counts it.
#[test]
fn a_quota_holds_for_controllers_and_not_for_the_server_itself() {
    let memory = Memory::with_namespace(widgets(false));
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"count/configmaps": "1"}},
        "status": {"hard": {"count/configmaps": "1"}, "used": {"count/configmaps": "0"}},
    });
    let quota = Object::from_value(quota).expect("a quota");
    let place = ("", "resourcequotas", "default/q");
    memory.create(WriteOrigin::System, place, quota);
    let map = |name: &str| {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        });
        Object::from_value(map).expect("a map")
    };
    let controller = WriteOrigin::Controller { now: now() };
    let first = memory.create(controller, ("", "configmaps", "default/a"), map("a"));
    assert!(matches!(first, Internal::Done(_)), "{first:?}");
    let bucket = &memory
        .registry
        .resource("", "resourcequotas")
        .expect("quotas")
        .bucket;
    let charged = memory
        .cached_bytes(bucket, b"default/q")
        .expect("the quota");
    let charged: Value = serde_json::from_slice(&charged.value).expect("JSON");
    assert_eq!(charged["status"]["used"], json!({"count/configmaps": "1"}));
    let second = memory.create(controller, ("", "configmaps", "default/b"), map("b"));
    assert_eq!(second, Internal::Refused);
    let own = memory.create(
        WriteOrigin::System,
        ("", "configmaps", "default/c"),
        map("c"),
    );
    assert!(matches!(own, Internal::Done(_)), "{own:?}");
}
