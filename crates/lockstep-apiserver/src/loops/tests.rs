//! Who leads, on one store and with time that passes by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockstep_object::Object;
use lockstep_storage::{Expected, Limits, MemoryStore, Revision, Store};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::leader::Leader;
use crate::builtin;
use crate::cache::Cache;
use crate::resources::{Api, Internal, Registry};

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
    let made = one.create_internally(place, namespace, super::seconds());
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
    // The first holder is gone without a word.
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
