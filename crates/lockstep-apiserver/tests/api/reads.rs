//! Reads that share what they send with others.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use lockstep_apiserver::Whole;
use lockstep_apiserver::resources::{Answer, Api, Body, WatchStream};
use lockstep_storage::{Limits, MemoryStore};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::in_process::{self, ApiBuilder, whole};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn started() -> (Arc<Api>, JoinSet<()>) {
    let store = Arc::new(MemoryStore::start(Limits::default()));
    let mut feed = JoinSet::new();
    let api = ApiBuilder::new(store, &mut feed).start(|| 0).await;
    let namespace = json!({"metadata": {"name": "default"}});
    written(&api, Method::POST, "/api/v1/namespaces", &namespace).await;
    (Arc::new(api), feed)
}

async fn ask(api: &Api, method: Method, target: &str, body: Bytes) -> Answer {
    let answer = in_process::send(api, &method, target, body).await;
    answer.unwrap_or_else(|error| panic!("{target}: {error}"))
}

fn read(whole: &Whole) -> Value {
    serde_json::from_slice(&whole.joined()).expect("answers are JSON")
}

/// Performs a write and returns the resource version of its result.
async fn written(api: &Api, method: Method, target: &str, body: &Value) -> u64 {
    let body = Bytes::from(body.to_string());
    revision(&read(&whole(ask(api, method, target, body).await)))
}

async fn listed(api: &Api, target: &str) -> Whole {
    whole(ask(api, Method::GET, target, Bytes::new()).await)
}

async fn watch(api: &Api, query: &str) -> Box<WatchStream> {
    let target = format!("{MAPS}?watch=true&{query}");
    match ask(api, Method::GET, &target, Bytes::new()).await.body {
        Body::Watch(stream) => stream,
        Body::Whole(_) => panic!("a watch has no end"),
    }
}

fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).expect("a number")
}

/// api-machinery.md §7: a list with rv unset shows every write that was acknowledged before.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_after_a_write_shows_it_whoever_is_being_sent_an_older_one() {
    const WRITERS: usize = 6;
    const WRITES: usize = 60;
    let (api, _feed) = started().await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let api = Arc::clone(&api);
        writers.spawn(async move {
            let name = format!("map-{writer}");
            let map = json!({"metadata": {"name": name}, "data": {"n": "0"}});
            written(&api, Method::POST, MAPS, &map).await;
            // Responses are kept alive on purpose, since their buffers can be shared.
            let mut held = Vec::new();
            for number in 1..=WRITES {
                let change = json!({"data": {"n": number.to_string()}});
                let target = format!("{MAPS}/{name}");
                let at = written(&api, Method::PATCH, &target, &change).await;
                let list = listed(&api, MAPS).await;
                let shown = read(&list);
                held.push(list);
                assert!(revision(&shown) >= at, "{} < {at}", revision(&shown));
                let items = shown["items"].as_array().expect("a list has items");
                let own = items.iter().find(|item| item["metadata"]["name"] == *name);
                let own = own.expect("it was made");
                assert_eq!(
                    (&own["data"]["n"], revision(own)),
                    (&json!(number.to_string()), at)
                );
                assert!(items.iter().all(|item| revision(item) <= revision(&shown)));
            }
            held.len()
        });
    }
    assert_eq!(writers.join_all().await, [WRITES; WRITERS]);
}

#[tokio::test]
async fn a_list_that_is_held_is_shared_and_keeps_its_own_revision() {
    let (api, _feed) = started().await;
    let map = json!({"metadata": {"name": "a", "labels": {"team": "red"}}});
    written(&api, Method::POST, MAPS, &map).await;
    let first = listed(&api, MAPS).await;
    // A write elsewhere moves the revision of lists, not the objects of this one.
    let other = json!({"metadata": {"name": "other"}});
    let elsewhere = written(&api, Method::POST, "/api/v1/namespaces", &other).await;
    let second = listed(&api, MAPS).await;
    assert_eq!(revision(&read(&second)), elsewhere);
    assert_eq!(read(&second)["items"], read(&first)["items"]);
    for (query, count) in [("labelSelector=team%3Dblue", 0), ("labelSelector=team", 1)] {
        let selected = read(&listed(&api, &format!("{MAPS}?{query}")).await);
        let items = selected["items"].as_array().map(Vec::len);
        assert_eq!(items, Some(count), "{query}");
    }
}

/// api-machinery.md §7: events within one watch are in order, no gaps, no duplicates, and what is
/// selected is judged for each watch.
#[tokio::test]
async fn events_that_are_there_together_leave_together_one_document_a_line() {
    let (api, _feed) = started().await;
    let (mut all, mut red) = (
        watch(&api, "").await,
        watch(&api, "labelSelector=team%3Dred").await,
    );
    let mut expected = Vec::new();
    for (name, team) in [("a", "red"), ("b", "blue"), ("c", "red"), ("d", "blue")] {
        let map = json!({"metadata": {"name": name, "labels": {"team": team}}});
        let at = written(&api, Method::POST, MAPS, &map).await;
        expected.push(("ADDED".to_owned(), name.to_owned(), at));
    }
    let change = json!({"metadata": {"labels": {"team": "blue"}}});
    let at = written(&api, Method::PATCH, &format!("{MAPS}/a"), &change).await;
    expected.push(("MODIFIED".to_owned(), "a".to_owned(), at));
    // A list has seen everything, so the watches have it at hand.
    listed(&api, MAPS).await;
    let told = |bytes: &Bytes| -> Vec<(String, String, u64)> {
        assert_eq!(bytes.last(), Some(&b'\n'));
        let lines = bytes[..bytes.len() - 1].split(|byte| *byte == b'\n');
        let event = |line: &[u8]| {
            let event: Value = serde_json::from_slice(line).expect("a line is a document");
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let object = &event["object"];
            (
                text(&event["type"]),
                text(&object["metadata"]["name"]),
                revision(object),
            )
        };
        lines.map(event).collect()
    };
    let bytes = all.next().await.expect("the watch goes on");
    assert_eq!(told(&bytes), expected);
    let bytes = red.next().await.expect("the watch goes on");
    let left = ("DELETED".to_owned(), "a".to_owned(), at);
    let selected = [expected[0].clone(), expected[2].clone(), left];
    assert_eq!(told(&bytes), selected);
}

/// The size of one body chunk is bounded, however many events are pending.
#[tokio::test]
async fn many_events_leave_in_pieces_that_end_with_a_line() {
    let (api, _feed) = started().await;
    let mut all = watch(&api, "").await;
    let text = "x".repeat(20_000);
    for number in 0..10 {
        let map = json!({"metadata": {"name": format!("map-{number}")}, "data": {"text": text}});
        written(&api, Method::POST, MAPS, &map).await;
    }
    listed(&api, MAPS).await;
    let mut lines = Vec::new();
    while lines.iter().sum::<usize>() < 10 {
        let bytes = all.next().await.expect("the watch goes on");
        assert_eq!(bytes.last(), Some(&b'\n'));
        lines.push(bytes.split(|byte| *byte == b'\n').count() - 1);
    }
    assert_eq!(lines, [3, 3, 3, 1]);
}
