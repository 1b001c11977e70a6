//! What happens between a look at the store and a write to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

async fn post(api: &Api, path: &str, body: &'static str) -> (u16, String) {
    let query = Query::parse("");
    let info = RequestInfo::new(&Method::POST, path, &query);
    let route = ResourceRoute::of(&info).expect("a resource");
    let request = Request {
        served: api.registry().find(&route).expect("it is served"),
        route: &route,
        query: &query,
        content_type: "application/json",
        body: Bytes::from_static(body.as_bytes()),
        shape: lockstep_apiserver::views::Shape::Whole,
        now: Seconds::from_unix(0).expect("a time"),
        user: &User::new("admin", ["system:masters"]),
        agent: "test",
        permits: &|_| Ok(()),
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
