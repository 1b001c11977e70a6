//! A server without a network, and writes of a resource whose fields have many gates.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use lockstep_apiserver::builtin;
use lockstep_apiserver::cache::Cache;
use lockstep_apiserver::crd::{FieldGates, Follower};
use lockstep_apiserver::resources::{Api, Registry, Request};
use lockstep_apiserver::views::Shape;
use lockstep_apiserver::{Notes, Query, RequestInfo};
use lockstep_authz::User;
use lockstep_object::metadata::Seconds;
use lockstep_storage::{Limits, MemoryStore};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/ex.io/v1/namespaces/default/widgets";
const GATES: usize = 64;
const PATHS: usize = 4;
/// Number of gated fields that the changed object has.
const STORED: usize = 8;

/// Each kind of write with each state of the gates.
pub(crate) const CASES: [(Write, State); 9] = [
    (Write::Create, State::None),
    (Write::Create, State::Closed),
    (Write::Create, State::Open),
    (Write::Patch, State::None),
    (Write::Patch, State::Closed),
    (Write::Patch, State::Open),
    (Write::Apply, State::None),
    (Write::Apply, State::Closed),
    (Write::Apply, State::Open),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Of an object without gated fields.
    Create,
    /// Another field of an object that has gated ones.
    Patch,
    /// Server-side apply of the whole object, with a change of the field that `Patch` changes.
    Apply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The definition has no gates.
    None,
    /// 64 gates of 4 paths each, all closed.
    Closed,
    /// 64 gates of 4 paths each, all open.
    Open,
}

/// Name of a case.
pub(crate) fn name((write, state): (Write, State)) -> String {
    let write = match write {
        Write::Create => "create",
        Write::Patch => "patch",
        Write::Apply => "apply",
    };
    let state = match state {
        State::None => "no gates",
        State::Closed => "256 closed paths",
        State::Open => "256 open paths",
    };
    format!("{write}, {state}")
}

/// A server with one kind of write to do.
pub(crate) struct Workload {
    api: Arc<Api>,
    write: Write,
    written: u64,
    _tasks: JoinSet<()>,
}

fn now() -> Seconds {
    Seconds::from_unix(0).expect("a time")
}

impl Workload {
    pub(crate) async fn new((write, state): (Write, State)) -> Self {
        let store = Arc::new(MemoryStore::start(Limits::default()));
        let cache = Cache::new(store.clone(), "/registry/");
        let mut tasks = JoinSet::new();
        tasks.spawn(cache.clone().feed(|failure| panic!("{failure}")));
        cache.caught_up().await.expect("the store is there");
        let version = lockstep_cel::Version::LATEST;
        let registry = Registry::new(builtin::resources(version, &builtin::Apis::all()));
        let api = Api::new(store, cache, "/registry/", registry, || 0);
        let api = Arc::new(api.with_field_gates(FieldGates::On));
        tasks.spawn(Follower::new(Arc::clone(&api), now).run());
        let mut workload = Self {
            api,
            write,
            written: 0,
            _tasks: tasks,
        };
        let json = "application/json";
        let namespace = json!({"metadata": {"name": "default"}});
        workload
            .send(Method::POST, "/api/v1/namespaces", json, &namespace)
            .await;
        workload
            .send(Method::POST, CRDS, json, &definition(state))
            .await;
        let made = widget("w", STORED);
        let owned = format!("{WIDGETS}?fieldManager=bench");
        workload.send(Method::POST, &owned, json, &made).await;
        if state == State::Closed {
            let close = json!({"spec": {"customFeatureGates": gates(false)}});
            let path = format!("{CRDS}/widgets.ex.io");
            workload
                .send(Method::PATCH, &path, "application/merge-patch+json", &close)
                .await;
        }
        workload
    }

    /// Writes once.
    pub(crate) async fn write(&mut self) {
        self.written += 1;
        let image = format!("i{}", self.written);
        let named = format!("{WIDGETS}/w");
        match self.write {
            Write::Create => {
                let made = widget(&format!("c{}", self.written), 0);
                self.send(Method::POST, WIDGETS, "application/json", &made)
                    .await;
            }
            Write::Patch => {
                let change = json!({"spec": {"image": image}});
                let merge = "application/merge-patch+json";
                self.send(Method::PATCH, &named, merge, &change).await;
            }
            Write::Apply => {
                let mut wish = widget("w", STORED);
                wish["spec"]["image"] = image.into();
                let path = format!("{named}?fieldManager=applier&force=true");
                let apply = "application/apply-patch+yaml";
                self.send(Method::PATCH, &path, apply, &wish).await;
            }
        }
    }

    async fn send(&mut self, method: Method, target: &str, content_type: &str, body: &Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = Query::parse(query);
        let info = RequestInfo::new(&method, path, &query);
        let route = info.route().expect("a resource");
        let request = Request {
            served: self.api.registry().find(&route).expect("it is served"),
            route: &route,
            query: &query,
            content_type,
            body: Bytes::from(body.to_string()),
            shape: Shape::Whole,
            now: now(),
            user: &User::new("admin", ["system:masters"]),
            agent: "bench",
            permits: &|_| Ok(()),
            notes: &Notes::new(String::new()),
        };
        let answer = self.api.answer(&request).await;
        answer.unwrap_or_else(|error| panic!("{target}: {error}"));
    }
}

fn gates(enabled: bool) -> Value {
    let gate = |at: usize| {
        let paths = (0..PATHS).map(|nth| format!(".spec.f{}", at * PATHS + nth));
        let paths: Vec<String> = paths.collect();
        json!({"name": format!("G{at}"), "preRelease": "alpha", "enabled": enabled, "fieldPaths": paths})
    };
    json!({"featureGates": (0..GATES).map(gate).collect::<Vec<_>>()})
}

fn definition(state: State) -> Value {
    let text = || json!({"type": "string"});
    let fields = (0..GATES * PATHS).map(|at| (format!("f{at}"), text()));
    let mut properties: Map<String, Value> = fields.collect();
    properties.insert("image".to_owned(), text());
    properties.insert("text".to_owned(), text());
    let item = json!({"type": "object", "properties": {"name": text(), "value": text()}});
    properties.insert("items".to_owned(), json!({"type": "array", "items": item}));
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}});
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    if state != State::None {
        definition["spec"]["customFeatureGates"] = gates(true);
    }
    definition
}

/// An object of about 1 KB with so many of the gated fields.
fn widget(name: &str, gated: usize) -> Value {
    let items = (0..8)
        .map(|at| json!({"name": format!("item-{at}"), "value": format!("value of item {at}")}));
    let mut widget = json!({
        "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": name, "labels": {"app": "bench"}},
        "spec": {"image": "i0", "text": "x".repeat(350), "items": items.collect::<Vec<_>>()},
    });
    for at in 0..gated {
        widget["spec"][format!("f{}", at * 31)] = "stored".into();
    }
    widget
}
