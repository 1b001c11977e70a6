//! Writes of built-in controllers and of the server itself.

use lockstep_object::{Object, Value};
use serde_json::json;

use super::{Memory, now, widget, widgets};
use crate::{Environment as _, Internal, Io, Machine, Need, Step, WriteOrigin, WritePath};

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
    let registry = memory.0.registry();
    let bucket = &registry
        .resource("", "resourcequotas")
        .expect("quotas")
        .bucket;
    let charged = memory
        .0
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

/// The namespace of the tests, while it is being deleted.
fn terminating() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "default", "deletionTimestamp": "2001-09-09T01:46:40Z"},
    })
}

impl Memory {
    /// Another server starts to delete the namespace.
    fn terminate_namespace(&self) {
        let registry = self.0.registry();
        let namespaces = registry.resource("", "namespaces").expect("namespaces");
        self.0
            .put(namespaces, "default", terminating().to_string().into());
    }

    /// A controller creates a widget; another server writes before the commit.
    fn create_while(&self, before_commit: impl Fn(&Self)) -> Internal {
        let made = Object::from_value(widget(&json!({}))).expect("a widget");
        let io = Io::default();
        let path = WritePath::new(&self.0, &io);
        let place = ("ex.io", "widgets", "default/w");
        let origin = WriteOrigin::Controller { now: now() };
        let create = path.create_internally(origin, place, made, now());
        let mut machine = Machine::new(io.clone(), create);
        let mut reply = None;
        loop {
            match machine.step(reply.take()) {
                Step::Done(done) => return done,
                Step::Needs(need) => {
                    if matches!(need, Need::Commit(..)) {
                        before_commit(self);
                    }
                    reply = Some(self.0.fulfil(need));
                }
            }
        }
    }
}

/// api-machinery.md §8/namespaces: nothing is created in a terminating namespace, by a controller either.
#[test]
fn a_controller_creates_nothing_in_a_terminating_namespace() {
    let memory = Memory::with_namespace(widgets(false));
    memory.terminate_namespace();
    assert_eq!(memory.create_while(|_| ()), Internal::Moved);
    assert_eq!(memory.stored("default/w"), None);
}

/// api-machinery.md §8/namespaces: the commit fails if the namespace changed since it was looked at.
#[test]
fn a_controller_creates_nothing_in_a_namespace_that_terminates_before_the_commit() {
    let memory = Memory::with_namespace(widgets(false));
    assert_eq!(
        memory.create_while(Memory::terminate_namespace),
        Internal::Moved
    );
    assert_eq!(memory.stored("default/w"), None);

    let undisturbed = Memory::with_namespace(widgets(false));
    let made = undisturbed.create_while(|_| ());
    assert!(matches!(made, Internal::Done(_)), "{made:?}");
}
