//! The cache on a store in memory, and its limits one by one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lockstep_storage::{
    CheckedTxn, DeleteRange, Event, Key, KeyRange, KeyValue, Limits, MemoryStore, Op, Put,
    Revision, Store, Txn, WatchError, WatchMessage,
};
use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::feed::TRIM_INTERVAL;
use crate::log::{AGE_MIN, CHANGES_MAX, CHANGES_MIN, WEIGHT_MAX};
use crate::pinned::PINNED_MAX;
use crate::watching::TAKEN_MAX;
use crate::{
    Bucket, BucketKey, Cache, CatchUpError, Change, Expired, FeedFailure, Frame, Listing, Parsed,
    Scope, Snapshot, keys,
};

const PREFIX: &str = "/registry/";

fn key(text: &str) -> Key {
    Key::new(Bytes::copy_from_slice(text.as_bytes())).expect("keys of tests are not empty")
}

fn txn(operation: Op) -> CheckedTxn {
    let txn = Txn {
        compares: Vec::new(),
        success: vec![operation],
        failure: Vec::new(),
    };
    txn.check(128).expect("a sound transaction")
}

async fn put(store: &MemoryStore, name: &str, value: &str) -> Revision {
    let put = Put::new(
        key(&format!("{PREFIX}{name}")),
        Bytes::copy_from_slice(value.as_bytes()),
    );
    store
        .txn(txn(Op::Put(put)))
        .await
        .expect("the store writes")
        .revision
}

async fn delete(store: &MemoryStore, name: &str) -> Revision {
    let keys = KeyRange::single(key(&format!("{PREFIX}{name}")));
    let delete = Op::DeleteRange(DeleteRange::new(keys));
    store
        .txn(txn(delete))
        .await
        .expect("the store writes")
        .revision
}

/// A loaded cache and the task that feeds it.
async fn fed(store: &Arc<MemoryStore>) -> (Cache, JoinSet<()>) {
    let cache = Cache::new(store.clone(), PREFIX);
    let mut feed = JoinSet::new();
    feed.spawn(cache.clone().feed(|failure| panic!("{failure}")));
    cache.caught_up().await.expect("the store is there");
    (cache, feed)
}

async fn started() -> (Arc<MemoryStore>, Cache, JoinSet<()>) {
    let store = Arc::new(MemoryStore::start(Limits::default()));
    let (cache, feed) = fed(&store).await;
    (store, cache, feed)
}

fn text(change: &Change) -> String {
    let value = |object: &Option<Arc<super::Object>>| {
        let object = object.as_ref();
        object.map_or_else(String::new, |o| {
            String::from_utf8_lossy(&o.value).into_owned()
        })
    };
    let key = String::from_utf8_lossy(&change.key);
    format!(
        "{}: {key} {:?}->{:?}",
        change.revision.0,
        value(&change.before),
        value(&change.now)
    )
}

fn all_texts(changes: &[Arc<Change>]) -> Vec<String> {
    changes.iter().map(|change| text(change)).collect()
}

fn event(key: &str, revision: u64, value: Option<&str>) -> (Bytes, Event) {
    let key = Bytes::copy_from_slice(key.as_bytes());
    let kv = KeyValue {
        key: key.clone(),
        value: Bytes::copy_from_slice(value.unwrap_or_default().as_bytes()),
        mod_revision: Revision(revision),
        version: u64::from(value.is_some()),
        ..KeyValue::default()
    };
    let event = Event {
        kv: Arc::new(kv),
        previous: None,
    };
    (key, event)
}

#[test]
fn keys_fall_into_the_buckets_of_their_resources() {
    let rows = [
        ("configmaps/default/a", Some(("configmaps", "default/a"))),
        ("namespaces/default", Some(("namespaces", "default"))),
        (
            "ex.io/widgets/default/a",
            Some(("ex.io/widgets", "default/a")),
        ),
        (
            "apiextensions.k8s.io/customresourcedefinitions/x",
            Some(("apiextensions.k8s.io/customresourcedefinitions", "x")),
        ),
        (
            "services/specs/default/a",
            Some(("services/specs", "default/a")),
        ),
        (
            "services/endpoints/default/a",
            Some(("services/endpoints", "default/a")),
        ),
        ("configmaps", None),
        ("configmaps/", None),
        ("ex.io/widgets", None),
        ("", None),
    ];
    for (key, expected) in rows {
        let split = keys::split(&Bytes::copy_from_slice(key.as_bytes()));
        let expected = expected.map(|(bucket, rest)| (Bytes::from(bucket), Bytes::from(rest)));
        assert_eq!(split, expected, "{key}");
    }
}

#[tokio::test]
async fn a_read_after_a_write_sees_it_and_its_labels() {
    let (store, cache, _feed) = started().await;
    let value =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"team":"red"}}}"#;
    let revision = put(&store, "configmaps/default/a", value).await;
    assert_eq!(cache.caught_up().await, Ok(revision));
    let snapshot = cache.bucket(&BucketKey::new("configmaps")).snapshot();
    let object = snapshot.get(b"default/a").expect("the object is there");
    assert_eq!(
        (&object.value[..], object.revision),
        (value.as_bytes(), revision)
    );
    let labels = BTreeMap::from([("team".into(), "red".into())]);
    assert_eq!(object.facts().labels, labels);
}

#[tokio::test]
async fn bytes_that_are_no_object_have_no_labels() {
    let (store, cache, _feed) = started().await;
    put(&store, "configmaps/default/a", "{\"metadata\":[").await;
    cache.caught_up().await.expect("the store is there");
    let snapshot = cache.bucket(&BucketKey::new("configmaps")).snapshot();
    let object = snapshot.get(b"default/a").expect("the object is there");
    assert_eq!(object.facts(), &super::Facts::default());
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_never_comes_is_waited_for_only_so_long() {
    let (store, cache, _feed) = started().await;
    let current = put(&store, "configmaps/default/a", "1").await;
    cache.caught_up().await.expect("the store is there");
    let wanted = Revision(current.0 + 1000);
    assert_eq!(
        cache.at_least(wanted).await,
        Err(CatchUpError::Behind { wanted, current })
    );
}

#[tokio::test]
async fn a_quiet_resource_learns_of_writes_elsewhere() {
    let (store, cache, _feed) = started().await;
    let elsewhere = {
        let put = Put::new(key("/elsewhere"), Bytes::from("1"));
        store
            .txn(txn(Op::Put(put)))
            .await
            .expect("the store writes")
            .revision
    };
    assert_eq!(cache.caught_up().await, Ok(elsewhere));
}

#[tokio::test]
async fn a_watcher_sees_each_change_once_with_what_was_before() {
    let (store, cache, _feed) = started().await;
    put(&store, "configmaps/default/old", "0").await;
    cache.caught_up().await.expect("the store is there");
    let bucket = cache.bucket(&BucketKey::new("configmaps"));
    let (snapshot, mut all) = bucket.snapshot_and_watch(Scope::All);
    let (_, mut namespace) = bucket.snapshot_and_watch(Scope::Namespace("default".into()));
    let (_, mut object) = bucket.snapshot_and_watch(Scope::Object("other/b".into()));
    assert_eq!(snapshot.count(&Scope::All), 1);
    put(&store, "configmaps/default/a", "1").await;
    put(&store, "configmaps/other/b", "2").await;
    put(&store, "configmaps/default/a", "3").await;
    delete(&store, "configmaps/default/a").await;
    cache.caught_up().await.expect("the store is there");
    let expected = [
        r#"3: default/a ""->"1""#,
        r#"4: other/b ""->"2""#,
        r#"5: default/a "1"->"3""#,
        r#"6: default/a "3"->"""#,
    ];
    assert_eq!(
        all_texts(&all.next().await.expect("nothing is lost")),
        expected
    );
    let of_default = [expected[0], expected[2], expected[3]];
    assert_eq!(
        all_texts(&namespace.next().await.expect("nothing is lost")),
        of_default
    );
    assert_eq!(
        all_texts(&object.next().await.expect("nothing is lost")),
        [expected[1]]
    );
    assert_eq!(all.take().expect("nothing is lost").len(), 0);
}

#[tokio::test]
async fn a_watch_goes_on_after_any_revision_that_is_kept() {
    let (store, cache, _feed) = started().await;
    let first = put(&store, "configmaps/default/a", "1").await;
    put(&store, "configmaps/default/a", "2").await;
    cache.caught_up().await.expect("the store is there");
    let bucket = cache.bucket(&BucketKey::new("configmaps"));
    let mut watching = bucket
        .watch_after(Scope::All, first)
        .expect("the change is kept");
    let changes = watching.next().await.expect("nothing is lost");
    assert_eq!(all_texts(&changes), [r#"3: default/a "1"->"2""#]);
}

#[tokio::test]
async fn what_happened_before_the_load_is_not_claimed_to_be_known() {
    let store = Arc::new(MemoryStore::start(Limits::default()));
    put(&store, "configmaps/default/a", "1").await;
    let loaded = delete(&store, "configmaps/default/a").await;
    let (cache, _feed) = fed(&store).await;
    let bucket = cache.bucket(&BucketKey::new("configmaps"));
    assert!(
        bucket
            .watch_after(Scope::All, Revision(loaded.0 - 1))
            .is_err()
    );
    assert!(bucket.watch_after(Scope::All, loaded).is_ok());
}

#[test]
fn a_snapshot_never_changes_and_is_found_again_at_its_revision() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let now = Instant::now();
    bucket.apply(
        &[event("n/a", 2, Some("1")), event("n/b", 3, Some("1"))],
        now,
    );
    let old = bucket.snapshot();
    bucket.pin(Revision(3), &old);
    bucket.apply(&[event("n/a", 4, None)], now);
    let scope = Scope::Namespace("n".into());
    assert_eq!((old.count(&scope), bucket.snapshot().count(&scope)), (2, 1));
    let again = bucket
        .snapshot_at(Revision(3), Revision(9))
        .expect("it was pinned");
    assert_eq!(again.count(&scope), 2);
    let newest = bucket
        .snapshot_at(Revision(7), Revision(9))
        .expect("nothing happened since 4");
    assert_eq!(newest.count(&scope), 1);
    let newest = bucket.snapshot_at(Revision(4), Revision(9));
    assert_eq!(newest.map(|newest| newest.count(&scope)), Some(1));
    assert!(bucket.snapshot_at(Revision(2), Revision(9)).is_none());
    assert!(
        bucket.snapshot_at(Revision(12), Revision(9)).is_none(),
        "not seen yet"
    );
}

#[test]
fn so_many_states_are_pinned_and_none_after_a_load() {
    let bucket = Bucket::empty_at(Revision(1));
    let last = 2 + PINNED_MAX as u64;
    for revision in 2..=last {
        bucket.apply(&[event("n/a", revision, Some("1"))], Instant::now());
        bucket.pin(Revision(revision), &bucket.snapshot());
    }
    bucket.apply(&[event("n/a", last + 1, None)], Instant::now());
    let seen = Revision(last + 1);
    let is_pinned = |revision: u64| bucket.snapshot_at(Revision(revision), seen).is_some();
    assert!(!is_pinned(2) && is_pinned(3) && is_pinned(last));
    bucket.load(Vec::new(), Revision(last + 9));
    assert!(!is_pinned(3) && !is_pinned(last));
}

/// A late message of the store must not take back what a read has been promised.
#[tokio::test(start_paused = true)]
async fn the_revision_that_is_seen_never_falls() {
    let cache = Cache::new(Arc::new(MemoryStore::start(Limits::default())), PREFIX);
    for (progress, seen) in [(7, 7), (5, 7), (8, 8)] {
        let progress = Revision(progress);
        cache.apply_message(WatchMessage::Progress { progress });
        assert_eq!(cache.seen(), Revision(seen));
    }
}

#[test]
fn objects_come_in_key_order_after_the_last_one_of_a_page() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let names = ["b/x", "a/y", "a/x", "ab/x"];
    let events: Vec<_> = (2..)
        .zip(names)
        .map(|(r, name)| event(name, r, Some("1")))
        .collect();
    bucket.apply(&events, Instant::now());
    let snapshot = bucket.snapshot();
    let listed = |scope: Scope, after: Option<&str>| -> Vec<String> {
        let after = after.map(|key| Bytes::copy_from_slice(key.as_bytes()));
        let objects = snapshot.objects(&scope, after.as_ref());
        objects
            .map(|o| String::from_utf8_lossy(&o.key).into_owned())
            .collect()
    };
    assert_eq!(listed(Scope::All, None), ["a/x", "a/y", "ab/x", "b/x"]);
    assert_eq!(listed(Scope::All, Some("a/y")), ["ab/x", "b/x"]);
    assert_eq!(listed(Scope::Namespace("a".into()), None), ["a/x", "a/y"]);
    assert_eq!(listed(Scope::Namespace("a".into()), Some("a/x")), ["a/y"]);
    assert_eq!(
        listed(Scope::Namespace("a".into()), Some("0")),
        ["a/x", "a/y"]
    );
    assert_eq!(listed(Scope::Object("ab/x".into()), None), ["ab/x"]);
}

/// api-machinery.md §7/watch-end: what waits for a slow reader is bounded.
#[test]
fn a_watcher_that_falls_behind_the_log_expires_and_a_quiet_one_does_not() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let start = Instant::now();
    let (_, mut busy) = bucket.snapshot_and_watch(Scope::Namespace("busy".into()));
    let (_, mut quiet) = bucket.snapshot_and_watch(Scope::Namespace("quiet".into()));
    let (_, mut all) = bucket.snapshot_and_watch(Scope::All);
    for revision in 2..2 + 2 * CHANGES_MIN as u64 {
        bucket.apply(&[event("busy/a", revision, Some("1"))], start);
    }
    bucket.apply(&[event("quiet/a", 900, Some("1"))], start + AGE_MIN * 2);
    let oldest = Revision(102);
    assert_eq!(busy.take().map(|c| c.len()), Err(Expired { oldest }));
    assert_eq!(all.take().map(|c| c.len()), Err(Expired { oldest }));
    let seen = quiet.take().expect("its only change is kept");
    assert_eq!(all_texts(&seen), [r#"900: quiet/a ""->"1""#]);
}

/// api-machinery.md §7/window: 75 seconds, and 100 changes however old they are.
#[test]
fn the_log_keeps_the_young_up_to_a_number_and_the_few_for_ever() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let start = Instant::now();
    let mut revision = 1;
    let mut change = |at: Instant| {
        revision += 1;
        bucket.apply(&[event("n/a", revision, Some("1"))], at);
    };
    (0..CHANGES_MIN).for_each(|_| change(start));
    change(start + AGE_MIN * 100);
    let kept = |after: u64| bucket.watch_after(Scope::All, Revision(after)).is_ok();
    assert!(
        !kept(1) && kept(2),
        "one more than the fewest: the oldest went"
    );
    (0..CHANGES_MAX).for_each(|_| change(start + AGE_MIN * 100));
    let first = 2 + CHANGES_MIN as u64;
    assert!(
        !kept(first - 1) && kept(first),
        "no more than the most are kept"
    );
}

/// api-machinery.md §7/window: large changes go before their time, and only as many as needed.
#[test]
fn the_log_keeps_as_many_large_changes_as_their_weight_allows() {
    const LARGE: usize = WEIGHT_MAX / (2 * CHANGES_MIN);
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let large = "x".repeat(LARGE);
    let count = 4 * CHANGES_MIN as u64;
    for revision in 2..2 + count {
        let key = format!("n/{revision}");
        bucket.apply(&[event(&key, revision, Some(&large))], Instant::now());
    }
    let is_kept = |after: u64| bucket.watch_after(Scope::All, Revision(after)).is_ok();
    let kept = (1..2 + count).filter(|after| is_kept(*after)).count();
    // One more than the changes, since a watch may start after the last one; a change weighs a little more than its value.
    assert!(
        (2 * CHANGES_MIN - 2..=2 * CHANGES_MIN + 1).contains(&kept),
        "{kept}"
    );
}

/// Lets time pass, and the feed do what is due.
async fn pass(time: Duration) {
    tokio::time::advance(time).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

/// A burst of changes does not stay in memory until the next change of the resource.
#[tokio::test(start_paused = true)]
async fn a_log_forgets_the_old_although_nothing_follows_them() {
    let (store, cache, _feed) = started().await;
    let mut last = Revision::NONE;
    for number in 0..=CHANGES_MIN {
        last = put(&store, "configmaps/default/a", &number.to_string()).await;
    }
    cache.caught_up().await.expect("the store is there");
    let bucket = cache.bucket(&BucketKey::new("configmaps"));
    let first = Revision(last.0 - CHANGES_MIN as u64 - 1);
    assert!(bucket.watch_after(Scope::All, first).is_ok());
    pass(AGE_MIN + TRIM_INTERVAL * 2).await;
    let expired = bucket.watch_after(Scope::All, first).err();
    let oldest = first.next();
    assert_eq!(expired, Some(Expired { oldest }));
    assert!(bucket.watch_after(Scope::All, oldest).is_ok());
}

/// Resources come and go with their CRDs, and what is left of them goes too.
#[tokio::test(start_paused = true)]
async fn an_empty_bucket_is_forgotten_with_its_last_change() {
    let (store, cache, _feed) = started().await;
    let key = |name: &str| BucketKey::new(name.to_owned());
    for name in ["gone", "watched", "full"] {
        put(&store, &format!("{name}/default/a"), "1").await;
        if name != "full" {
            delete(&store, &format!("{name}/default/a")).await;
        }
    }
    let last = cache.caught_up().await.expect("the store is there");
    let watched = cache.bucket(&key("watched"));
    let known = || cache.shared.buckets.read().by_name.len();
    assert_eq!(known(), 3);
    pass(AGE_MIN).await;
    assert_eq!(known(), 3, "a watch may ask for the changes");
    pass(TRIM_INTERVAL * 2).await;
    assert_eq!(known(), 2);
    drop(watched);
    pass(TRIM_INTERVAL * 2).await;
    assert_eq!(known(), 1);
    // It is made again, and does not claim to know what it has forgotten.
    let again = cache.bucket(&key("gone"));
    let before = again.watch_after(Scope::All, Revision(last.0 - 4));
    assert!(before.is_err());
    assert!(again.watch_after(Scope::All, last).is_ok());
}

/// api-machinery.md §7/expired-token: pinned states end with the history that they belong to.
#[tokio::test]
async fn a_compaction_drops_the_pinned_states_before_it() {
    let (store, cache, _feed) = started().await;
    let bucket = cache.bucket(&BucketKey::new("configmaps"));
    let mut revisions = Vec::new();
    for value in ["1", "2", "3"] {
        let revision = put(&store, "configmaps/default/a", value).await;
        let seen = cache.caught_up().await.expect("the store is there");
        bucket.pin(revision, &bucket.snapshot());
        revisions.push((revision, seen));
    }
    let pinned = || -> Vec<_> {
        let is_pinned = |(at, seen): &(_, _)| bucket.snapshot_at(*at, *seen).is_some();
        revisions.iter().map(is_pinned).collect()
    };
    assert_eq!(pinned(), [true, true, true]);
    cache.compact(revisions[1].0);
    assert_eq!(pinned(), [false, true, true]);
    // Another server's compaction, told late, takes nothing back.
    cache.compact(revisions[0].0);
    assert_eq!(cache.compacted(), revisions[1].0);
}

/// A feed that was away for longer than the history lasts loads everything again: its watches expire, its reads wait.
#[tokio::test(start_paused = true)]
async fn a_feed_behind_a_compaction_loads_everything_again() {
    let store = Arc::new(MemoryStore::start(Limits::default()));
    put(&store, "configmaps/default/a", "1").await;
    let cache = Cache::new(store.clone(), PREFIX);
    let (failed, mut failures) = tokio::sync::mpsc::unbounded_channel();
    let told = move |failure: &FeedFailure| drop(failed.send(failure.clone()));
    let mut feed = Box::pin(cache.clone().feed(told));
    let polled = tokio::select! {
        () = &mut feed => unreachable!("the feed never ends"),
        reached = cache.caught_up() => reached,
    };
    polled.expect("the store is there");
    let bucket = cache.bucket(&BucketKey::new("configmaps"));
    let (_, mut watching) = bucket.snapshot_and_watch(Scope::All);
    // The feed is not polled while the store goes on and forgets.
    put(&store, "configmaps/default/a", "2").await;
    delete(&store, "configmaps/default/a").await;
    let last = put(&store, "configmaps/default/b", "3").await;
    store.compact(last).await.expect("the store forgets");
    let reached = tokio::select! {
        () = &mut feed => unreachable!("the feed never ends"),
        reached = cache.caught_up() => reached,
    };
    assert_eq!(reached, Ok(last));
    let compacted = WatchError::Compacted { compacted: last };
    assert_eq!(failures.try_recv(), Ok(FeedFailure::Watch(compacted)));
    let oldest = last;
    assert_eq!(watching.take().map(|c| c.len()), Err(Expired { oldest }));
    let snapshot = bucket.snapshot();
    let keys: Vec<_> = snapshot.objects(&Scope::All, None).collect();
    let keys: Vec<_> = keys.iter().map(|object| &object.key[..]).collect();
    assert_eq!(keys, [b"default/b"]);
}

#[test]
fn a_watcher_reads_a_long_log_in_pieces() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let (_, mut watching) = bucket.snapshot_and_watch(Scope::All);
    let count = TAKEN_MAX as u64 + 7;
    let events: Vec<_> = (2..2 + count).map(|r| event("n/a", r, Some("1"))).collect();
    bucket.apply(&events, Instant::now());
    let mut sizes = Vec::new();
    let mut revisions = Vec::new();
    while let Ok(changes) = watching.take() {
        if changes.is_empty() {
            break;
        }
        sizes.push(changes.len());
        revisions.extend(changes.iter().map(|change| change.revision.0));
    }
    assert_eq!(sizes, [TAKEN_MAX, 7]);
    assert_eq!(revisions, (2..2 + count).collect::<Vec<_>>());
}

#[test]
fn a_watch_is_over_when_the_cache_is_filled_anew() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let (_, mut watching) = bucket.snapshot_and_watch(Scope::All);
    bucket.load(Vec::new(), Revision(9));
    let oldest = Revision(9);
    assert_eq!(watching.take().map(|c| c.len()), Err(Expired { oldest }));
    let (_, mut after) = bucket.snapshot_and_watch(Scope::All);
    bucket.apply(&[event("n/a", 10, Some("1"))], Instant::now());
    assert_eq!(
        all_texts(&after.take().expect("it began after")),
        [r#"10: n/a ""->"1""#]
    );
}

#[test]
fn an_encoding_is_made_once_for_each_form() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let (_, mut watching) = bucket.snapshot_and_watch(Scope::All);
    bucket.apply(&[event("n/a", 2, Some("1"))], Instant::now());
    let change = watching.take().expect("nothing is lost").remove(0);
    let mut made = 0;
    let mut encode = |event, form| {
        change.frame(Frame { event, form }, || {
            made += 1;
            Bytes::from(format!("{event} {form}"))
        })
    };
    let frames = [
        encode("ADDED", 0),
        encode("ADDED", 0),
        encode("ADDED", 1),
        encode("DELETED", 0),
    ];
    assert_eq!(frames, ["ADDED 0", "ADDED 0", "ADDED 1", "DELETED 0"]);
    assert_eq!(made, 3);
}

#[test]
fn an_encoding_of_a_state_is_shared_as_long_as_somebody_holds_it() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    bucket.apply(&[event("n/a", 2, Some("1"))], Instant::now());
    let made = AtomicUsize::new(0);
    let encode = |snapshot: &Snapshot, scope: Scope, form| {
        let encoded = snapshot.encoded(Listing { scope, form }, || {
            let number = made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Expired>(number.to_string().into_bytes())
        });
        encoded.expect("it is made")
    };
    let old = bucket.snapshot();
    let held = encode(&old, Scope::All, 0);
    assert_eq!(
        (&held[..], &encode(&old, Scope::All, 0)[..]),
        (&b"0"[..], &b"0"[..])
    );
    assert_eq!(encode(&old, Scope::All, 1), "1");
    assert_eq!(encode(&old, Scope::Namespace("n".into()), 0), "2");
    bucket.apply(&[event("n/a", 3, Some("2"))], Instant::now());
    assert_eq!(
        encode(&bucket.snapshot(), Scope::All, 0),
        "3",
        "another state"
    );
    assert_eq!(encode(&old, Scope::All, 0), "0");
    drop(held);
    assert_eq!(encode(&old, Scope::All, 0), "4", "nobody held it");
}

#[test]
fn nobody_is_remembered_who_no_longer_listens() {
    let bucket = Arc::new(Bucket::empty_at(Revision(1)));
    let scope = Scope::Object("n/a".into());
    let watchers: Vec<_> = (0..3)
        .map(|_| bucket.snapshot_and_watch(scope.clone()))
        .collect();
    assert_eq!(bucket.watched_scopes(), 1);
    drop(watchers);
    assert_eq!(bucket.watched_scopes(), 0);
}

proptest! {
    #[test]
    fn state_and_changes_agree_with_a_plain_map(
        steps in prop::collection::vec((0..4_usize, 0..3_usize, prop::option::of(0..100_u8)), 1..80),
        starts in prop::collection::vec(0..80_usize, 1..4),
    ) {
        let namespaces = ["a", "ab", "b", "c"];
        let bucket = Arc::new(Bucket::empty_at(Revision(1)));
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        let mut history = Vec::new();
        let mut watchers = Vec::new();
        for (at, (namespace, name, value)) in steps.iter().enumerate() {
            for _ in starts.iter().filter(|start| **start == at) {
                let scope = Scope::Namespace(namespaces[*namespace].into());
                watchers.push((scope.clone(), history.len(), bucket.snapshot_and_watch(scope).1));
            }
            let key = format!("{}/{name}", namespaces[*namespace]);
            let revision = at as u64 + 2;
            let value = value.map(|value| value.to_string());
            let before = match &value {
                Some(value) => model.insert(key.clone(), value.clone()),
                None => model.remove(&key),
            };
            bucket.apply(&[event(&key, revision, value.as_deref())], Instant::now());
            if before.is_some() || value.is_some() {
                let (before, now) = (before.unwrap_or_default(), value.unwrap_or_default());
                history.push((key.clone(), format!("{revision}: {key} {before:?}->{now:?}")));
            }
        }
        let snapshot = bucket.snapshot();
        let state: BTreeMap<String, String> = snapshot.objects(&Scope::All, None)
            .map(|o| (String::from_utf8_lossy(&o.key).into_owned(), String::from_utf8_lossy(&o.value).into_owned()))
            .collect();
        prop_assert_eq!(&state, &model);
        for namespace in namespaces {
            let scope = Scope::Namespace(namespace.into());
            let expected = model.keys().filter(|key| scope.contains(key.as_bytes())).count();
            prop_assert_eq!(snapshot.count(&scope), expected);
        }
        for (scope, from, mut watching) in watchers {
            let seen = all_texts(&watching.take().expect("the log is long enough"));
            let expected: Vec<String> = history[from..].iter()
                .filter(|(key, _)| scope.contains(key.as_bytes()))
                .map(|(_, told)| told.clone())
                .collect();
            prop_assert_eq!(seen, expected);
        }
    }
}

/// Items are those of the cache's state, in the order of keys, and an unchanged object is not parsed again.
#[tokio::test]
async fn parsed_items_follow_the_cache_and_reuse_what_did_not_change() {
    static PARSES: AtomicUsize = AtomicUsize::new(0);
    let (store, cache, _feed) = started().await;
    let parsed = Parsed::new("hooks", |object| {
        PARSES.fetch_add(1, Ordering::Relaxed);
        let value = String::from_utf8_lossy(&object.value).into_owned();
        value.split(',').map(str::to_owned).collect()
    });
    let items = || -> Vec<String> {
        let items = parsed.items(&cache);
        items.iter().map(|item| String::clone(item)).collect()
    };
    assert_eq!(items(), [""; 0]);
    put(&store, "hooks/b", "3,4").await;
    let written = put(&store, "hooks/a", "1,2").await;
    cache.at_least(written).await.expect("the cache follows");
    assert_eq!(items(), ["1", "2", "3", "4"]);
    assert_eq!(items(), ["1", "2", "3", "4"]);
    assert_eq!(PARSES.load(Ordering::Relaxed), 2);
    let written = put(&store, "hooks/b", "5").await;
    cache.at_least(written).await.expect("the cache follows");
    assert_eq!(items(), ["1", "2", "5"]);
    assert_eq!(PARSES.load(Ordering::Relaxed), 3);
    let written = delete(&store, "hooks/a").await;
    cache.at_least(written).await.expect("the cache follows");
    assert_eq!(items(), ["5"]);
    assert_eq!(PARSES.load(Ordering::Relaxed), 3);
}
