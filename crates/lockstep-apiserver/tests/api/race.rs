//! Races between a read of the store and the write that depends on it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use http::Method;
use lockstep_apiserver::crd::{self, FieldGates};
use lockstep_apiserver::resources::Api;
use lockstep_object::metadata::Seconds;
use lockstep_storage::{
    CheckedTxn, Consistency, DeleteRange, GrantedLease, Key, KeyRange, LeaseId, LeaseStatus,
    LeaseTtl, Limits, MemoryStore, Op, Range, RangeResponse, ReadFailure, Revision, Store,
    StoreFuture, Txn, TxnResponse, Watch, WatchRequest, WriteFailure,
};
use lockstep_testkit::wait::{eventually, holds};
use tokio::task::JoinSet;

use crate::in_process::{self, ApiBuilder};

/// Store in which another client deletes a namespace just before the next write.
struct Interrupted {
    inner: MemoryStore,
    is_armed: AtomicBool,
}

impl Interrupted {
    async fn interrupt(&self) {
        let key = Key::new("/registry/namespaces/ns").expect("a key");
        let op = Op::DeleteRange(DeleteRange::new(KeyRange::single(key)));
        let txn = Txn {
            success: vec![op],
            ..Txn::default()
        };
        let txn = txn.check(1).expect("a sound transaction");
        self.inner.txn(txn).await.expect("the store writes");
    }
}

impl Store for Interrupted {
    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        Box::pin(async move {
            if self.is_armed.swap(false, Ordering::SeqCst) {
                self.interrupt().await;
            }
            self.inner.txn(txn).await
        })
    }

    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        self.inner.range(range, consistency)
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        self.inner.watch(request)
    }

    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        self.inner.revision(consistency)
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.inner.compact(at)
    }

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        self.inner.size()
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        self.inner.grant_lease(ttl)
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.inner.revoke_lease(id)
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        self.inner.keep_lease_alive(id)
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        self.inner.lease(id)
    }
}

async fn post(api: &Api, path: &str, body: impl Into<Bytes>) -> (u16, String) {
    send(api, &Method::POST, path, body).await
}

async fn send(api: &Api, method: &Method, path: &str, body: impl Into<Bytes>) -> (u16, String) {
    match in_process::send(api, method, path, body).await {
        Ok(answer) => {
            let code = answer.code;
            let body = in_process::whole(answer).joined();
            (code, String::from_utf8_lossy(&body).into_owned())
        }
        Err(error) => (error.code(), error.to_string()),
    }
}

/// api-machinery.md §8/namespaces: nothing is left in a namespace that is gone.
#[tokio::test]
async fn nothing_comes_into_a_namespace_that_went_while_it_was_on_its_way() {
    let store = Arc::new(Interrupted {
        inner: MemoryStore::start(Limits::default()),
        is_armed: AtomicBool::new(false),
    });
    let mut feed = JoinSet::new();
    let api = ApiBuilder::new(store.clone(), &mut feed).start(|| 0).await;

    let namespace = r#"{"metadata":{"name":"ns"}}"#;
    let map = r#"{"metadata":{"name":"a"}}"#;
    assert_eq!(post(&api, "/api/v1/namespaces", namespace).await.0, 201);
    store.is_armed.store(true, Ordering::SeqCst);
    let told = post(&api, "/api/v1/namespaces/ns/configmaps", map).await;
    assert_eq!(told, (404, "namespaces \"ns\" not found".to_owned()));
}

/// Server on a store. Its random numbers are a counter from 0, so that all servers generate the same values.
async fn server(store: &Arc<MemoryStore>, feed: &mut JoinSet<()>) -> Arc<Api> {
    let counter = AtomicU64::new(0);
    let random = move || u128::from(counter.fetch_add(1, Ordering::Relaxed));
    let api = ApiBuilder::new(store.clone(), feed).start(random).await;
    let range = "10.0.0.0/28".parse().expect("a range");
    Arc::new(api.with_service_range(range))
}

/// api-machinery.md §12: an address is given once, whichever server gives it.
#[tokio::test]
async fn two_servers_never_give_one_address_to_two_services() {
    let store = Arc::new(MemoryStore::start(Limits::default()));
    let mut feed = JoinSet::new();
    let servers = [
        server(&store, &mut feed).await,
        server(&store, &mut feed).await,
    ];
    let namespace = r#"{"metadata":{"name":"ns"}}"#;
    assert_eq!(
        post(&servers[0], "/api/v1/namespaces", namespace).await.0,
        201
    );

    let path = "/api/v1/namespaces/ns/services";
    let service = |name: String| {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"type":"NodePort","ports":[{{"port":80}}]}}}}"#
        )
    };
    let mut making = JoinSet::new();
    // All addresses but that of the server itself.
    for number in 0..13 {
        let (api, body) = (servers[number % 2].clone(), service(format!("s{number}")));
        making.spawn(async move { post(&api, path, body).await });
    }
    let made = making.join_all().await;
    let part = |field: &str| -> BTreeSet<String> {
        let specs = made.iter().map(|(code, body)| {
            assert_eq!(*code, 201, "{body}");
            let service: serde_json::Value = serde_json::from_str(body).expect("an object");
            service["spec"].clone()
        });
        specs
            .map(|spec| spec.pointer(field).expect("it is given").to_string())
            .collect()
    };
    assert_eq!(part("/clusterIP").len(), 13);
    assert_eq!(part("/ports/0/nodePort").len(), 13);
    let told = post(&servers[1], path, service("one-more".to_owned())).await;
    let full = "Service \"one-more\" is invalid: spec.clusterIPs: Invalid value: null: failed to allocate IP: range is full";
    assert_eq!(told, (422, full.to_owned()));
}

const QUOTAS: &str = "/api/v1/namespaces/ns/resourcequotas";
const MAPS: &str = "/api/v1/namespaces/ns/configmaps";

async fn two_servers_with_a_namespace(feed: &mut JoinSet<()>) -> [Arc<Api>; 2] {
    let store = Arc::new(MemoryStore::start(Limits::default()));
    let servers = [server(&store, feed).await, server(&store, feed).await];
    let namespace = r#"{"metadata":{"name":"ns"}}"#;
    let made = post(&servers[0], "/api/v1/namespaces", namespace).await;
    assert_eq!(made.0, 201);
    servers
}

fn quota(maps: u32) -> String {
    format!(r#"{{"metadata":{{"name":"q"}},"spec":{{"hard":{{"configmaps":"{maps}"}}}}}}"#)
}

fn map(name: impl std::fmt::Display) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)
}

async fn read(api: &Api, path: &str) -> serde_json::Value {
    let (code, body) = send(api, &Method::GET, path, "").await;
    assert_eq!(code, 200, "{body}");
    serde_json::from_str(&body).expect("an object")
}

/// api-machinery.md §12/quota: checked atomically.
#[tokio::test]
async fn two_servers_never_give_more_than_a_quota_has() {
    let mut feed = JoinSet::new();
    let servers = two_servers_with_a_namespace(&mut feed).await;
    assert_eq!(post(&servers[0], QUOTAS, quota(5)).await.0, 201);
    let mut making = JoinSet::new();
    for number in 0..20 {
        let api = servers[number % 2].clone();
        making.spawn(async move { post(&api, MAPS, map(number)).await.0 });
    }
    let mut told = making.join_all().await;
    told.sort_unstable();
    assert_eq!(told, [vec![201; 5], vec![403; 15]].concat());
    let stored = read(&servers[1], &format!("{QUOTAS}/q")).await;
    assert_eq!(
        stored["status"],
        serde_json::json!({ "hard": { "configmaps": "5" }, "used": { "configmaps": "5" } })
    );
}

/// api-machinery.md §12/quota: it is in force, on every server, when its write is done.
#[tokio::test]
async fn a_quota_is_in_force_at_once_and_counts_what_was_there() {
    let mut feed = JoinSet::new();
    let servers = two_servers_with_a_namespace(&mut feed).await;
    for number in 0..3 {
        assert_eq!(post(&servers[1], MAPS, map(number)).await.0, 201);
    }
    assert_eq!(post(&servers[0], QUOTAS, quota(3)).await.0, 201);
    let over = "configmaps \"x\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=3, limited: configmaps=3";
    let refused = (403, over.to_owned());
    assert_eq!(post(&servers[1], MAPS, map("x")).await, refused);
    // An update of the quota is in force at once, too.
    let path = format!("{QUOTAS}/q");
    let raised = send(&servers[0], &Method::PUT, &path, quota(4)).await;
    assert_eq!(raised.0, 200, "{}", raised.1);
    assert_eq!(post(&servers[1], MAPS, map("x")).await.0, 201);
    assert_eq!(post(&servers[0], MAPS, map("y")).await.0, 403);
    // Usage of a resource is counted when its limit is added.
    let other = r#"{"metadata":{"name":"q"},"spec":{"hard":{"secrets":"0"}}}"#;
    assert_eq!(send(&servers[1], &Method::PUT, &path, other).await.0, 200);
    assert_eq!(post(&servers[0], MAPS, map("y")).await.0, 201);
    assert_eq!(
        send(&servers[1], &Method::PUT, &path, quota(5)).await.0,
        200
    );
    let over = "configmaps \"z\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=5, limited: configmaps=5";
    assert_eq!(
        post(&servers[0], MAPS, map("z")).await,
        (403, over.to_owned())
    );
}

/// api-machinery.md §12/quota: checked atomically, also against what is on its way when the quota comes.
#[tokio::test]
async fn what_is_made_while_a_quota_comes_is_counted_once() {
    for _ in 0..8 {
        let mut feed = JoinSet::new();
        let servers = two_servers_with_a_namespace(&mut feed).await;
        let mut making = JoinSet::new();
        for number in 0..16 {
            let api = servers[number % 2].clone();
            let body = (MAPS, map(number), QUOTAS, quota(100));
            making.spawn(async move {
                match number {
                    8 => post(&api, body.2, body.3).await.0,
                    _ => post(&api, body.0, body.1).await.0,
                }
            });
        }
        assert_eq!(making.join_all().await, vec![201; 16]);
        assert_eq!(post(&servers[0], MAPS, map("last")).await.0, 201);
        let stored = read(&servers[1], &format!("{QUOTAS}/q")).await;
        let used = serde_json::json!({ "configmaps": "16" });
        assert_eq!(stored["status"]["used"], used);
    }
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.ex.io";
const THINGS: &str = "/apis/ex.io/v1/namespaces/ns/things";

fn definition() -> serde_json::Value {
    serde_json::json!({
        "metadata": { "name": "things.ex.io" },
        "spec": {
            "group": "ex.io",
            "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    })
}

/// A server that serves a CRD as it is now and never hears of it again.
async fn deaf(store: &Arc<MemoryStore>, feed: &mut JoinSet<()>, crd: serde_json::Value) -> Api {
    let revision = crd["metadata"]["resourceVersion"].as_str();
    let revision = revision.and_then(|text| text.parse().ok());
    let revision = Revision(revision.expect("it has a revision"));
    let crd = lockstep_object::Object::from_value(crd).expect("an object");
    let clients = lockstep_apiserver::webhooks::Clients::default();
    let ending = Arc::default();
    let custom = crd::resource(&crd, revision, &clients, ending, FieldGates::On);
    let builder = ApiBuilder {
        custom: custom.into_iter().collect(),
        ..ApiBuilder::new(store.clone(), feed)
    };
    builder.start(|| 7).await
}

/// api-machinery.md §11/deletion: no server creates an object of a CRD that is being deleted, and
/// a new CRD of that name does not see earlier objects.
#[tokio::test]
async fn a_server_that_heard_nothing_makes_no_object_of_a_crd_that_goes() {
    let store = Arc::new(MemoryStore::start(Limits::default()));
    let mut feed = JoinSet::new();
    let api = server(&store, &mut feed).await;
    let now = || Seconds::from_unix(0).expect("a time");
    feed.spawn(crd::Follower::new(api.clone(), now).run());
    let namespace = r#"{"metadata":{"name":"ns"}}"#;
    assert_eq!(post(&api, "/api/v1/namespaces", namespace).await.0, 201);
    assert_eq!(post(&api, CRDS, definition().to_string()).await.0, 201);
    let held = r#"{"apiVersion":"ex.io/v1","kind":"Thing","metadata":{"name":"held","finalizers":["ex.io/x"]}}"#;
    let thing = |name: &str| {
        format!(r#"{{"apiVersion":"ex.io/v1","kind":"Thing","metadata":{{"name":"{name}"}}}}"#)
    };
    assert_eq!(post(&api, THINGS, held).await.0, 201);
    let deaf = deaf(&store, &mut feed, read(&api, CRD).await).await;
    assert_eq!(post(&deaf, THINGS, thing("a")).await.0, 201);

    // An unseen change of the CRD's metadata does not block writes.
    let mut labelled = read(&api, CRD).await;
    labelled["metadata"]["labels"] = serde_json::json!({ "a": "b" });
    let put = send(&api, &Method::PUT, CRD, labelled.to_string()).await;
    assert_eq!(put.0, 200, "{}", put.1);
    assert_eq!(post(&deaf, THINGS, thing("b")).await.0, 201);

    assert_eq!(send(&api, &Method::DELETE, CRD, "").await.0, 200);
    let refused = "things.ex.io \"c\" is forbidden: create not allowed while custom resource definition is terminating";
    let refused = (403, refused.to_owned());
    assert_eq!(post(&deaf, THINGS, thing("c")).await, refused);
    assert_eq!(post(&api, THINGS, thing("c")).await, refused);

    let path = format!("{THINGS}/held");
    let mut held = read(&api, &path).await;
    held["metadata"]["finalizers"] = serde_json::json!([]);
    assert_eq!(
        send(&api, &Method::PUT, &path, held.to_string()).await.0,
        200
    );
    eventually("the CRD is gone", async || {
        let answer = send(&api, &Method::GET, CRD, "").await;
        holds(answer.0 != 200, answer)
    })
    .await;
    let gone = (
        404,
        "the server could not find the requested resource".to_owned(),
    );
    assert_eq!(post(&deaf, THINGS, thing("c")).await, gone);

    assert_eq!(post(&api, CRDS, definition().to_string()).await.0, 201);
    assert_eq!(post(&deaf, THINGS, thing("c")).await.0, 503);
    let list = read(&api, THINGS).await;
    assert_eq!(list["items"], serde_json::json!([]));
}
