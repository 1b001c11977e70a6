//! The one server under test: a running server with its administrator's connection, its store and a webhook.
//!
//! The parts that know no server are in `lockstep-testkit`: the client, the webhook, certificates and waiting. The
//! server itself is started here, because the tests of all crates use the testkit: with the server among its
//! dependencies, each change of the server would rebuild them. Modules add methods of their own to [`World`].

use std::sync::Arc;

use lockstep_storage::{
    Consistency, Expected, GuardedOp, GuardedOutcome, GuardedWrite, Key, KeyRange, LeaseId, Limits,
    Range, Revision, Store,
};
use lockstep_testkit::client::{Answer, Client};
use lockstep_testkit::webhook::{Hook, Say};
use serde_json::Value;

use crate::server::{Setup, TestServer};

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server that is ready, and everything around it.
pub(crate) struct World {
    pub(crate) server: TestServer,
    /// Connection of the administrator.
    pub(crate) client: Client,
    pub(crate) store: Arc<dyn Store>,
    /// A webhook that the server calls once an object refers to it.
    pub(crate) hook: Hook,
}

/// Method, path and media type of a request.
pub(crate) struct Sent<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: String,
    pub(crate) media_type: &'a str,
}

impl World {
    /// Starts a server whose webhook never responds.
    pub(crate) async fn start(setup: Setup) -> Self {
        Self::with_webhook(setup, Box::new(|_| None)).await
    }

    pub(crate) async fn with_webhook(setup: Setup, say: Say) -> Self {
        Self::beside(setup, Hook::new(say).await).await
    }

    /// Starts a server beside a webhook that its setup needs to know.
    pub(crate) async fn beside(setup: Setup, hook: Hook) -> Self {
        let store = Arc::clone(&setup.store);
        let server = TestServer::with(setup).await;
        server.ready().await;
        let client = server.client(Some(server.admin())).await;
        Self {
            server,
            client,
            store,
            hook,
        }
    }

    /// Another connection of the administrator.
    pub(crate) async fn admin(&self) -> Client {
        self.server.client(Some(self.server.admin())).await
    }

    pub(crate) async fn send(&mut self, sent: Sent<'_>, body: &Value) -> Answer {
        let headers = [("content-type", sent.media_type)];
        let body = body.to_string();
        self.client
            .send(sent.method, &sent.path, &headers, body)
            .await
    }

    /// Creates an object.
    pub(crate) async fn make(&mut self, path: &str, object: &Value) -> Value {
        let made = self.client.write("POST", path, object).await;
        assert_eq!(made.status, 201, "{path} {}", made.body);
        made.json()
    }

    /// Reads an object.
    pub(crate) async fn get(&mut self, path: &str) -> Value {
        let answer = self.client.get(path).await;
        assert_eq!(answer.status, 200, "{path} {}", answer.body);
        answer.json()
    }

    /// Sends a merge patch.
    pub(crate) async fn patch(&mut self, path: &str, merged: &Value) -> Answer {
        let merge = [("content-type", "application/merge-patch+json")];
        let merged = merged.to_string();
        self.client.send("PATCH", path, &merge, merged).await
    }

    /// Creates a CRD, or replaces the spec of the stored one.
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

    /// Writes or deletes a stored object without the server.
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
