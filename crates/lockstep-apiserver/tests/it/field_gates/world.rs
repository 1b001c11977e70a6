//! A server with gates of fields, and what is stored behind it.

use std::sync::Arc;

use lockstep_storage::{
    Consistency, Expected, GuardedOp, GuardedOutcome, GuardedWrite, Key, KeyRange, LeaseId, Limits,
    Range, Revision, Store,
};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::server::{Setup, TestServer, memory};

pub(crate) const ON: &str = "CRDFieldLevelVersioning=true";
pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server on a store that can be looked into.
pub(crate) struct World {
    pub(crate) server: TestServer,
    pub(crate) client: Client,
    pub(crate) store: Arc<dyn Store>,
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let at = self.roll(u64::try_from(from.len()).unwrap());
        from[usize::try_from(at).unwrap()]
    }
}

/// Method, path and media type of a request.
pub(crate) struct Sent<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: String,
    pub(crate) media_type: &'a str,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::on(memory(), ON).await
    }

    /// Another server on a store.
    pub(crate) async fn on(store: Arc<dyn Store>, gates: &'static str) -> Self {
        let server = TestServer::with(Setup {
            gates,
            store: Arc::clone(&store),
            controllers: "",
            ..Setup::own()
        })
        .await;
        server.ready().await;
        let client = server.client(Some(server.admin())).await;
        Self {
            server,
            client,
            store,
        }
    }

    pub(crate) async fn send(&mut self, sent: Sent<'_>, body: &Value) -> Answer {
        let headers = [("content-type", sent.media_type)];
        let body = body.to_string();
        self.client
            .send(sent.method, &sent.path, &headers, body)
            .await
    }

    /// Makes a CRD, or gives it another spec.
    pub(crate) async fn define(&mut self, crd: &Value) -> Answer {
        let name = crd["metadata"]["name"].as_str().unwrap();
        let path = format!("{CRDS}/{name}");
        loop {
            let found = self.client.get(&path).await;
            if found.status == 404 {
                return self.client.write("POST", CRDS, crd).await;
            }
            let mut next = found.json();
            next["spec"] = crd["spec"].clone();
            let answer = self.client.write("PUT", &path, &next).await;
            // The server writes the status of a CRD after others wrote its spec.
            if answer.status != 409 {
                return answer;
            }
        }
    }

    /// Stored object under a key, and its mod revision.
    pub(crate) async fn stored(&self, key: &str) -> Option<(Value, u64)> {
        let key = Key::new(format!("/registry/{key}")).unwrap();
        let range = Range::new(KeyRange::single(key));
        let found = self.store.range(range, Consistency::Linearizable).await;
        let found = found.unwrap().kvs.into_iter().next()?;
        let value = serde_json::from_slice(&found.value).unwrap();
        Some((value, found.mod_revision.0))
    }
}

impl World {
    /// Makes something what is stored under a key, behind the server's back.
    pub(crate) async fn plant(&self, key: &str, value: Option<&Value>) {
        let expected = match self.stored(key).await {
            Some((_, revision)) => Expected::At(Revision(revision)),
            None if value.is_none() => return,
            None => Expected::Absent,
        };
        let written = match value {
            Some(value) => GuardedOp::Put {
                value: value.to_string().into(),
                lease: LeaseId::NONE,
            },
            None => GuardedOp::Delete,
        };
        let write = GuardedWrite {
            key: Key::new(format!("/registry/{key}")).unwrap(),
            expected,
            op: written,
            fences: Vec::new(),
            unchanged_ranges: Vec::new(),
            extra_writes: Vec::new(),
        };
        let txn = write.txn(Limits::default().txn_ops_max).unwrap();
        let outcome = GuardedOutcome::of(self.store.txn(txn).await.unwrap());
        assert!(
            matches!(outcome, GuardedOutcome::Committed { .. }),
            "{outcome:?}"
        );
    }
}

/// The texts of `Warning` headers, in their order.
pub(crate) fn warnings(answer: &Answer) -> Vec<String> {
    let values = answer.headers.get_all("warning").iter();
    let texts = values.map(|value| {
        let text = value.to_str().unwrap();
        let text = text.strip_prefix("299 - \"").unwrap();
        let text = text.strip_suffix('"').unwrap();
        text.replace("\\\"", "\"").replace("\\\\", "\\")
    });
    texts.collect()
}

/// Warnings of gates alone.
pub(crate) fn of_gates(answer: &Answer) -> Vec<String> {
    let told = |text: &String| text.contains("feature gate") || text.ends_with("is deprecated");
    warnings(answer).into_iter().filter(told).collect()
}

/// The causes of a refusal.
pub(crate) fn causes(answer: &Answer) -> Vec<String> {
    let answer = answer.json();
    let causes = answer["details"]["causes"].as_array().cloned();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    let causes = causes.unwrap_or_default();
    let told = causes
        .iter()
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")));
    told.collect()
}

/// Fields of the spec by field manager.
pub(crate) fn owners(object: &Value) -> Value {
    let mut owners = json!({});
    let entries = object["metadata"]["managedFields"].as_array();
    for entry in entries.into_iter().flatten() {
        let fields = entry["fieldsV1"]["f:spec"].as_object();
        let names = fields.into_iter().flatten();
        let names = names.filter_map(|(name, _)| name.strip_prefix("f:"));
        owners[entry["manager"].as_str().unwrap()] = names.collect();
    }
    owners
}
