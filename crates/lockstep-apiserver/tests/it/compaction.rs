//! Compaction of the store, and what becomes of old resource versions: etcd-api.md §11, api-machinery.md §5 and §7.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use lockstep_storage::{
    Claim, CompactionPlan, Consistency, Content, Key, KeyRange, Range, ReadError, ReadFailure,
    Revision, Store,
};
use lockstep_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::server::{Setup, TestServer, memory};
use crate::world::World;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Upstream's message for a `continue` token that is too old.
const INCONSISTENT: &str = "The provided continue parameter is too old to display a consistent list result. You can \
                            start a new list without the continue parameter, or use the continue token in this \
                            response to retrieve the remainder of the results. Continuing with the provided token \
                            results in an inconsistent list - objects that were created, modified, or deleted between \
                            the time the first chunk was returned and now may show up in the list.";

/// A setup whose server compacts nothing itself, so that the test decides when.
fn without_compaction(store: Arc<dyn Store>) -> Setup {
    Setup {
        store,
        compaction_interval: Duration::ZERO,
        ..Setup::own()
    }
}

/// Compacts as a kube-apiserver beside the server would do it, and returns the revision.
async fn compact_as_another(store: &dyn Store, plan: &mut CompactionPlan) -> Revision {
    loop {
        let response = store.txn(plan.claim()).await.unwrap();
        if let Claim::Won(at) = plan.take_in(&response) {
            store.compact(at).await.unwrap();
            return at;
        }
    }
}

/// Number of compactions, by the version of the shared key.
async fn compactions(store: &dyn Store) -> u64 {
    let key = KeyRange::single(Key::new("compact_rev_key").unwrap());
    let found = store.range(Range::new(key), Consistency::Linearizable);
    let found = found.await.unwrap().kvs.into_iter().next();
    found.map_or(0, |kv| kv.version)
}

fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap();
    text.parse().unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

async fn make(world: &mut World, name: &str) -> Value {
    let map = json!({ "metadata": { "name": name } });
    world.make(MAPS, &map).await
}

/// Makes `a` to `d`, all with the label `seen`.
async fn letters() -> World {
    let mut world = World::start(without_compaction(memory())).await;
    for name in ["a", "b", "c", "d"] {
        let map = json!({ "metadata": { "name": name, "labels": { "seen": "yes" } } });
        world.make(MAPS, &map).await;
    }
    world
}

#[tokio::test]
async fn a_server_compacts_its_store_and_two_servers_share_the_work() {
    let store = memory();
    let setup = || Setup {
        store: Arc::clone(&store),
        compaction_interval: Duration::from_millis(50),
        ..Setup::own()
    };
    let mut world = World::start(setup()).await;
    let other = TestServer::with(setup()).await;
    let first = version(&make(&mut world, "first").await);
    let before_it = Range {
        at: Some(Revision(first - 1)),
        content: Content::CountOnly,
        ..Range::new(KeyRange::all())
    };
    eventually("the store is compacted beyond the object", async || {
        let read = store.range(before_it.clone(), Consistency::Linearizable);
        match read.await {
            Err(ReadFailure::Refused(ReadError::Compacted { .. })) => Ok(()),
            other => Err(other),
        }
    })
    .await;
    // One claim of either server for each compaction, and the first one, which compacts nothing.
    assert!(compactions(&*store).await >= 2);
    assert_eq!(
        world.get(&format!("{MAPS}/first")).await["metadata"]["name"],
        "first"
    );
    drop(other);
}

/// api-machinery.md §5/version-compacted, §7/expired-token.
#[tokio::test]
async fn lists_of_before_a_compaction_are_expired_and_their_pages_go_on() {
    let mut world = letters().await;
    let page = world
        .get(&format!("{MAPS}?limit=2&labelSelector=seen"))
        .await;
    assert_eq!(names(&page), ["a", "b"]);
    let listed = version(&page);
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    // The pages are still there, although the list has changed.
    let all = "labelSelector=seen";
    let next = format!("{MAPS}?limit=2&{all}&continue={token}");
    let exact = format!("{MAPS}?resourceVersion={listed}&resourceVersionMatch=Exact");
    world.client.get(&format!("{MAPS}/a")).await;
    let gone = world
        .client
        .send("DELETE", &format!("{MAPS}/c"), &[], "")
        .await;
    assert_eq!(gone.status, 200);
    assert_eq!(names(&world.get(&next).await), ["c", "d"]);
    assert_eq!(version(&world.get(&exact).await), listed);

    let mut plan = CompactionPlan::default();
    let at = compact_as_another(&*world.store, &mut plan).await;
    assert!(at.0 > listed);
    let expired = world
        .client
        .get_until(&next, |answer| answer.status != 200)
        .await;
    let status = expired.json();
    assert_eq!(expired.status, 410);
    assert_eq!(status["reason"], "Expired");
    assert_eq!(status["message"], INCONSISTENT);
    let refused = world.client.get(&exact).await.json();
    let too_old = "The resourceVersion for the provided list is too old.";
    assert_eq!(refused["code"], 410);
    assert_eq!(refused["message"], too_old);
    assert_eq!(refused["metadata"], json!({}));

    // The new token goes on from the next key with what is there now.
    let made = json!({ "metadata": { "name": "e", "labels": { "seen": "yes" } } });
    let made = version(&world.make(MAPS, &made).await);
    let fresh = status["metadata"]["continue"].as_str().unwrap();
    let rest = world
        .get(&format!("{MAPS}?limit=1&{all}&continue={fresh}"))
        .await;
    assert_eq!(names(&rest), ["d"]);
    assert!(version(&rest) >= made);
    let fresh = rest["metadata"]["continue"].as_str().unwrap();
    let rest = world
        .get(&format!("{MAPS}?limit=1&{all}&continue={fresh}"))
        .await;
    assert_eq!(names(&rest), ["e"]);
    assert_eq!(rest["metadata"].get("continue"), None);
}

/// api-machinery.md §5/version-compacted, §7/window: a new server knows nothing of before its load.
#[tokio::test]
async fn watches_of_before_a_restart_and_its_compaction_are_expired() {
    let mut world = letters().await;
    let old = version(&world.get(&format!("{MAPS}/a")).await);
    let mut plan = CompactionPlan::default();
    compact_as_another(&*world.store, &mut plan).await;
    // The window of a running server reaches further back than the store.
    let path = |name: &str, after: u64| {
        format!("{MAPS}?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={after}")
    };
    let first = first_event(&mut world, &path("b", old)).await;
    assert_eq!(
        (&first["type"], &first["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("b"))
    );

    let store = Arc::clone(&world.store);
    drop(world);
    let mut world = World::start(without_compaction(store)).await;
    let refused = first_event(&mut world, &path("b", old)).await;
    let message = refused["object"]["message"].as_str().unwrap();
    let oldest = message
        .strip_prefix(&format!("too old resource version: {old} ("))
        .and_then(|rest| rest.strip_suffix(")")?.parse::<u64>().ok())
        .unwrap_or_else(|| panic!("{message}"));
    assert_eq!(
        refused,
        json!({
            "type": "ERROR",
            "object": {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": message, "reason": "Expired", "code": 410,
            },
        })
    );
    // The version that the message names is the oldest that works.
    let made = version(&make(&mut world, "z").await);
    let first = first_event(&mut world, &path("z", oldest)).await;
    assert_eq!(
        (&first["type"], version(&first["object"])),
        (&json!("ADDED"), made)
    );
    let refused = first_event(&mut world, &path("z", oldest - 1)).await;
    assert_eq!(refused["object"]["code"], 410);
}

/// The first event of a watch.
async fn first_event(world: &mut World, path: &str) -> Value {
    let watch = world.client.open("GET", path, &[], "".into()).await;
    let mut watch = watch.unwrap();
    let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    let line = frame.split(|byte| *byte == b'\n').next().unwrap();
    serde_json::from_slice(line).unwrap()
}
