//! Leader election and ordering of controllers, on one store and in paused time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockstep_controllers::EnabledControllers;
use lockstep_object::Object;
use lockstep_storage::{
    Consistency, Expected, Key, KeyRange, Limits, MemoryStore, Op, Put, Range, Revision, Store, Txn,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::leader::Leader;
use super::{LoopConfig, Loops};
use crate::builtin;
use crate::cache::Cache;
use crate::crd;
use crate::resources::{Api, Internal, Registry};
use lockstep_write::WriteOrigin;

const LEASE: &str = "kube-system/lockstep-controllers";

/// One server's API on a store.
async fn api(store: &Arc<dyn Store>, feeds: &mut JoinSet<()>, first: u64) -> Arc<Api> {
    let cache = Cache::new(Arc::clone(store), "/registry/");
    feeds.spawn(cache.clone().feed(|failure| panic!("{failure}")));
    cache.caught_up().await.unwrap();
    let registry = Registry::new(builtin::resources(
        lockstep_cel::Version::LATEST,
        &builtin::Apis::all(),
    ));
    let counter = AtomicU64::new(first);
    let fresh = move || u128::from(counter.fetch_add(1, Ordering::Relaxed));
    let store = Arc::clone(store);
    Arc::new(Api::new(store, cache, "/registry/", registry, fresh))
}

/// Two servers on one store, with the namespace that leases live in.
async fn two() -> (Arc<Api>, Arc<Api>, JoinSet<()>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::start(Limits::default()));
    let mut feeds = JoinSet::new();
    let one = api(&store, &mut feeds, 0).await;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "kube-system" } });
    let namespace = Object::from_value(namespace).unwrap();
    let place = ("", "namespaces", "kube-system");
    let made = one.create_internally(WriteOrigin::System, place, namespace, super::seconds());
    assert!(matches!(made.await, Internal::Done(_)));
    one.cache().caught_up().await.unwrap();
    let two = api(&store, &mut feeds, 1000).await;
    (one, two, feeds)
}

async fn lease(api: &Api) -> (Object, Revision) {
    let found = api.read_internally("coordination.k8s.io", "leases", LEASE);
    found.await.unwrap()
}

async fn holder(api: &Api) -> String {
    let (lease, _) = lease(api).await;
    let holder = lease.at(&["spec", "holderIdentity"]).unwrap();
    holder.as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_not_renewed_is_taken_when_it_is_over_and_not_before() {
    let (one, two, _feeds) = two().await;
    let (a, b) = (
        Leader::new(Arc::clone(&one), "a_1"),
        Leader::new(Arc::clone(&two), "b_1"),
    );
    a.campaign(&|| ()).await;
    assert_eq!(holder(&one).await, "a_1");
    let started = Instant::now();
    {
        let holding = std::pin::pin!(a.hold());
        let campaign = std::pin::pin!(timeout(Duration::from_secs(60), b.campaign(&|| ())));
        tokio::select! {
            () = holding => panic!("nobody took it"),
            won = campaign => assert!(won.is_err(), "it was renewed"),
        }
    }
    // The first holder ended without releasing the lease.
    b.campaign(&|| ()).await;
    assert_eq!(holder(&one).await, "b_1");
    assert!(started.elapsed() >= Duration::from_secs(60 + 13));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_let_go_is_taken_at_once() {
    let (one, two, _feeds) = two().await;
    let (a, b) = (
        Leader::new(Arc::clone(&one), "a_1"),
        Leader::new(Arc::clone(&two), "b_1"),
    );
    a.campaign(&|| ()).await;
    let started = Instant::now();
    tokio::join!(a.release(), b.campaign(&|| ()));
    assert_eq!(holder(&one).await, "b_1");
    assert!(started.elapsed() < Duration::from_secs(1));
    b.release().await;
    b.release().await;
    assert_eq!(
        holder(&one).await,
        "",
        "letting go twice is as good as once"
    );
}

#[tokio::test(start_paused = true)]
async fn who_loses_the_lease_stops_before_another_could_have_begun_for_long() {
    let (one, two, _feeds) = two().await;
    let a = Leader::new(Arc::clone(&one), "a_1");
    a.campaign(&|| ()).await;
    let (mut stolen, revision) = lease(&two).await;
    stolen.fields_mut()["spec"]["holderIdentity"] = "b_1".into();
    let expected = Expected::At(revision);
    let written = two.write_internally(
        WriteOrigin::System,
        "coordination.k8s.io",
        "leases",
        LEASE,
        expected,
        Some(stolen),
    );
    assert!(matches!(written.await, Internal::Done(_)));
    let stopped = timeout(Duration::from_secs(3), a.hold()).await;
    assert_eq!(stopped, Ok(()));
    assert_eq!(holder(&one).await, "b_1");
}

/// Creates an object as the server itself.
async fn make(api: &Api, place: (&str, &str, &str), object: Value) {
    let object = Object::from_value(object).unwrap();
    let made = api
        .create_internally(WriteOrigin::System, place, object, super::seconds())
        .await;
    assert!(matches!(made, Internal::Done(_)));
}

/// Number of stored objects of the CRD, independent of the registry.
async fn stored(store: &dyn Store) -> usize {
    let range = Range::new(KeyRange::prefix("/registry/ex.io/things/"));
    let found = store.range(range, Consistency::Linearizable).await.unwrap();
    found.kvs.len()
}

/// api-machinery.md §8/namespaces: a deleted namespace leaves no objects behind, not even those of a CRD that the
/// server which empties the namespace does not serve yet.
#[tokio::test(start_paused = true)]
async fn a_namespace_waits_for_crds_that_are_not_served_yet() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::start(Limits::default()));
    let mut feeds = JoinSet::new();
    let api = api(&store, &mut feeds, 0).await;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Namespaced",
            "names": { "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    make(&api, (crd::GROUP, crd::PLURAL, "things.ex.io"), crd).await;
    let thing = json!({ "apiVersion": "ex.io/v1", "kind": "Thing",
        "metadata": { "name": "a", "namespace": "ns", "uid": "1" } });
    let put = Op::Put(Put::new(
        Key::new("/registry/ex.io/things/ns/a").unwrap(),
        thing.to_string(),
    ));
    let txn = Txn {
        success: vec![put],
        ..Txn::default()
    };
    store.txn(txn.check(1).unwrap()).await.unwrap();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "ns", "deletionTimestamp": "2026-11-16T00:00:00Z" },
        "spec": { "finalizers": ["kubernetes"] } });
    make(&api, ("", "namespaces", "ns"), namespace).await;
    let config = LoopConfig {
        controllers: EnabledControllers::default(),
        server: "s".to_owned(),
        host: "h".to_owned(),
        root_ca: String::new(),
        namespace_grace: std::time::Duration::ZERO,
    };
    let loops = Loops::new(Arc::clone(&api), config, false);
    let stays = timeout(Duration::from_secs(10), loops.follow()).await;
    assert!(stays.is_err(), "nothing went wrong");
    assert!(api.read_internally("", "namespaces", "ns").await.is_some());
    assert_eq!(stored(&*store).await, 1);

    feeds.spawn(crd::Follower::new(Arc::clone(&api), super::seconds).run());
    let _stopped = timeout(Duration::from_secs(10), loops.follow()).await;
    assert!(api.read_internally("", "namespaces", "ns").await.is_none());
    assert_eq!(stored(&*store).await, 0);
}
