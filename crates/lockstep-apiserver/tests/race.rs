//! What happens between a look at the store and a write to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use http::Method;
use lockstep_apiserver::builtin;
use lockstep_apiserver::cache::Cache;
use lockstep_apiserver::resources::{Api, Body, Registry, Request};
use lockstep_apiserver::route::ResourceRoute;
use lockstep_apiserver::{Notes, Query, RequestInfo};
use lockstep_authz::User;
use lockstep_object::metadata::Seconds;
use lockstep_storage::{
    CheckedTxn, Consistency, DeleteRange, GrantedLease, Key, KeyRange, LeaseId, LeaseStatus,
    LeaseTtl, Limits, MemoryStore, Op, Range, RangeResponse, ReadFailure, Revision, Store,
    StoreFuture, Txn, TxnResponse, Watch, WatchRequest, WriteFailure,
};
use tokio::task::JoinSet;

/// A store in which somebody else deletes a namespace just before the next write.
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
    let query = Query::parse("");
    let info = RequestInfo::new(&Method::POST, path, &query);
    let route = ResourceRoute::of(&info).expect("a resource");
    let request = Request {
        served: api.registry().find(&route).expect("it is served"),
        route: &route,
        query: &query,
        content_type: "application/json",
        body: body.into(),
        shape: lockstep_apiserver::views::Shape::Whole,
        now: Seconds::from_unix(0).expect("a time"),
        user: &User::new("admin", ["system:masters"]),
        agent: "test",
        permits: &|_| Ok(()),
        caller: &lockstep_apiserver::authn::User::anonymous(),
        notes: &Notes::new(String::new()),
    };
    match api.answer(&request).await {
        Ok(answer) => match answer.body {
            Body::Whole(bytes) => (
                answer.code,
                String::from_utf8_lossy(&bytes.joined()).into_owned(),
            ),
            Body::Watch(_) => panic!("nobody watches"),
        },
        Err(status) => (status.code, status.message),
    }
}

/// api-machinery.md §8/namespaces: nothing is left in a namespace that is gone.
#[tokio::test]
async fn nothing_comes_into_a_namespace_that_went_while_it_was_on_its_way() {
    let store = Arc::new(Interrupted {
        inner: MemoryStore::start(Limits::default()),
        is_armed: AtomicBool::new(false),
    });
    let cache = Cache::new(store.clone(), "/registry/");
    let mut feed = JoinSet::new();
    feed.spawn(cache.clone().feed(|failure| panic!("{failure}")));
    cache.caught_up().await.expect("the store is there");
    let registry = Registry::new(builtin::resources(lockstep_cel::Version::LATEST));
    let api = Api::new(store.clone(), cache, "/registry/", registry, || 0);

    let namespace = r#"{"metadata":{"name":"ns"}}"#;
    let map = r#"{"metadata":{"name":"a"}}"#;
    assert_eq!(post(&api, "/api/v1/namespaces", namespace).await.0, 201);
    store.is_armed.store(true, Ordering::SeqCst);
    let told = post(&api, "/api/v1/namespaces/ns/configmaps", map).await;
    assert_eq!(told, (404, "namespaces \"ns\" not found".to_owned()));
}

/// A server on a store. Numbers that nobody had before begin anew in each, so that all make the same choices.
async fn server(store: &Arc<MemoryStore>, feed: &mut JoinSet<()>) -> Arc<Api> {
    let cache = Cache::new(store.clone(), "/registry/");
    feed.spawn(cache.clone().feed(|failure| panic!("{failure}")));
    cache.caught_up().await.expect("the store is there");
    let registry = Registry::new(builtin::resources(lockstep_cel::Version::LATEST));
    let counter = AtomicU64::new(0);
    let fresh = move || u128::from(counter.fetch_add(1, Ordering::Relaxed));
    let api = Api::new(store.clone(), cache, "/registry/", registry, fresh);
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
