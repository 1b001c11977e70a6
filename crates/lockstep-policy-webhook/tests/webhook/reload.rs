//! Policies that change while the webhook runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lockstep_policy_webhook::{Files, follow};
use lockstep_testkit::client::Client;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::world::{World, labels, loaded, patch, response, review};

/// Files that a test replaces: the label that the policy sets, or an error.
struct Source {
    label: Mutex<Result<&'static str, String>>,
    loads: AtomicUsize,
}

impl Source {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            label: Mutex::new(Ok("one")),
            loads: AtomicUsize::new(0),
        })
    }

    fn files(self: &Arc<Self>) -> Files {
        let (stamps, loads) = (Arc::clone(self), Arc::clone(self));
        Files {
            stamp: Box::new(move || format!("{:?}", stamps.label.lock())),
            load: Box::new(move || {
                loads.loads.fetch_add(1, Ordering::SeqCst);
                let label = loads.label.lock().clone()?;
                Ok(loaded(&labels(label)))
            }),
        }
    }
}

/// The label that the policy in force sets.
async fn label(client: &mut Client) -> String {
    let answer = client.write("POST", "/mutate", &review("a")).await;
    let patch = patch(&response(&answer));
    let labels = patch[0]["value"].as_object().unwrap();
    labels.keys().next().unwrap().clone()
}

/// mutating-admission.md §3.8: valid as a whole, or the old set stays.
#[tokio::test]
async fn broken_files_leave_the_old_policies_in_force() {
    let world = World::start().await;
    let source = Source::new();
    let (ask, asked) = mpsc::channel(1);
    let mut attempts = world.policies.attempts();
    let (policies, metrics) = (Arc::clone(&world.policies), Arc::clone(&world.metrics));
    let hour = Duration::from_secs(3600);
    let mut following = JoinSet::new();
    following.spawn(follow(policies, metrics, source.files(), None, hour, asked));
    attempts.changed().await.unwrap();
    let mut client = world.client("http/1.1").await;
    assert_eq!(label(&mut client).await, "one");
    for (next, expected) in [
        (Err("line 3 is wrong".to_owned()), "one"),
        (Ok("two"), "two"),
    ] {
        *source.label.lock() = next;
        ask.send(()).await.unwrap();
        attempts.changed().await.unwrap();
        assert_eq!(label(&mut client).await, expected);
    }
    let answer = client.get("/metrics").await;
    for expected in [
        r#"lockstep_policy_webhook_policies{kind="mutating"} 1"#,
        r#"lockstep_policy_webhook_loads_total{result="failure"} 1"#,
        r#"lockstep_policy_webhook_loads_total{result="success"} 2"#,
    ] {
        assert!(answer.body.contains(expected), "{}", answer.body);
    }
    assert_eq!(source.loads.load(Ordering::SeqCst), 3);
    following.abort_all();
    world.stop().await;
}

#[tokio::test]
async fn a_changed_file_is_loaded_without_being_asked() {
    let world = World::start().await;
    let source = Source::new();
    let (_ask, asked) = mpsc::channel(1);
    let mut attempts = world.policies.attempts();
    let (policies, metrics) = (Arc::clone(&world.policies), Arc::clone(&world.metrics));
    let interval = Duration::from_millis(5);
    let mut following = JoinSet::new();
    following.spawn(follow(
        policies,
        metrics,
        source.files(),
        None,
        interval,
        asked,
    ));
    attempts.changed().await.unwrap();
    *source.label.lock() = Ok("two");
    let mut client = world.client("http/1.1").await;
    attempts.changed().await.unwrap();
    assert_eq!(label(&mut client).await, "two");
    following.abort_all();
    world.stop().await;
}
