//! Leader election, step by step, and the selection of enabled controllers.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use lockstep_controllers::election::{Election, ElectionStep};
use lockstep_controllers::{Controller, EnabledControllers, Stored};
use lockstep_object::Object;
use lockstep_object::metadata::Micros;
use serde_json::json;

/// 2026-11-16T00:00:00Z and milliseconds.
fn wall(ms: u64) -> Micros {
    Micros::from_unix(1_794_787_200_000_000 + i64::try_from(ms).unwrap() * 1000).unwrap()
}

fn lease(holder: &str, transitions: u64, revision: u64) -> Stored {
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": "lockstep-controllers", "namespace": "kube-system" },
        "spec": {
            "acquireTime": "2026-11-16T00:00:00.000000Z",
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "leaseTransitions": transitions,
            "renewTime": "2026-11-16T00:00:00.000000Z",
        },
    });
    let object = Object::from_value(object).unwrap();
    Stored { object, revision }
}

/// A step in short; of a write, the replaced revision, the holder and the number of transitions.
fn brief(step: &ElectionStep) -> String {
    match step {
        ElectionStep::Wait { until } => format!("wait until {until}"),
        ElectionStep::Write { revision, lease } => format!(
            "write at {revision:?} {} {}",
            lease.at(&["spec", "holderIdentity"]).unwrap(),
            lease.at(&["spec", "leaseTransitions"]).unwrap(),
        ),
    }
}

#[test]
fn a_lease_that_is_not_there_or_free_is_taken_at_once() {
    let mut a = Election::new("a".into());
    assert_eq!(
        brief(&a.campaign(None, 0, wall(0))),
        r#"write at None "a" 0"#
    );
    let free = lease("", 4, 7);
    let taken = a.campaign(Some(&free), 0, wall(0));
    assert_eq!(brief(&taken), r#"write at Some(7) "a" 5"#);
    let own = lease("a", 4, 9);
    assert!(a.is_held(Some(&own)) && !a.is_held(Some(&free)) && !a.is_held(None));
}

/// Its process is dead: no two run as one server at the same time.
#[test]
fn a_server_takes_over_from_itself_after_a_crash_without_waiting() {
    let mut again = Election::new("a_2".into());
    let own = lease("a_1", 4, 9);
    assert!(!again.is_held(Some(&own)));
    let taken = again.campaign(Some(&own), 0, wall(0));
    assert_eq!(brief(&taken), r#"write at Some(9) "a_2" 5"#);
    let other = lease("b_1", 4, 9);
    let waits = again.campaign(Some(&other), 0, wall(0));
    assert_eq!(brief(&waits), "wait until 15000");
}

#[test]
fn a_lease_of_another_is_taken_when_it_was_not_renewed_for_as_long_as_it_says() {
    let mut b = Election::new("b".into());
    let first = lease("a", 0, 1);
    let renewed = lease("a", 0, 2);
    for (stored, now, expected) in [
        (&first, 1_000, "wait until 16000"),
        (&first, 15_999, "wait until 16000"),
        (&renewed, 15_999, "wait until 30999"),
        (&renewed, 30_998, "wait until 30999"),
        (&renewed, 30_999, r#"write at Some(2) "b" 1"#),
    ] {
        assert_eq!(brief(&b.campaign(Some(stored), now, wall(now))), expected);
    }
}

#[test]
fn a_holder_renews_and_lets_go() {
    let a = Election::new("a".into());
    let own = lease("a", 3, 5);
    let renewed = a.renew(&own, wall(2_000));
    assert_eq!(
        renewed.at(&["spec"]),
        Some(&json!({
            "acquireTime": "2026-11-16T00:00:00.000000Z",
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "leaseTransitions": 3,
            "renewTime": "2026-11-16T00:00:02.000000Z",
        }))
    );
    let free = a.release(&own, wall(2_000));
    assert_eq!(free.at(&["spec", "holderIdentity"]), Some(&json!("")));
    let mut b = Election::new("b".into());
    let free = Stored {
        object: free,
        revision: 6,
    };
    let taken = b.campaign(Some(&free), 2_001, wall(2_001));
    assert_eq!(brief(&taken), r#"write at Some(6) "b" 4"#);
}

/// api-machinery.md §16/controllers: ours are switched off by `--controllers`, with upstream's names.
#[test]
fn loops_are_switched_by_upstreams_names() {
    let on = |text: &str| -> Vec<&str> {
        let switches: EnabledControllers = text.parse().unwrap();
        let all = Controller::ALL.into_iter();
        all.filter(|loop_| switches.has(*loop_))
            .map(Controller::name)
            .collect()
    };
    let all = Controller::ALL.map(Controller::name);
    assert_eq!(on("*"), all);
    assert_eq!(on(""), [""; 0]);
    assert_eq!(on("-namespace-controller"), [""; 0]);
    assert_eq!(on("namespace-controller"), ["namespace-controller"]);
    let upstream = "garbage-collector-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller";
    assert_eq!(on(upstream).len(), 4);
    for text in [
        "*,-garbage-collector-controller",
        " -garbage-collector-controller , * ",
    ] {
        assert_eq!(
            on(text),
            [
                "clusterrole-aggregation-controller",
                "namespace-controller",
                "resourcequota-controller",
                "root-ca-certificate-publisher-controller",
                "serviceaccount-controller",
            ]
        );
    }
    let wrong = "*,-garbage".parse::<EnabledControllers>().unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "\"garbage\" is not in the list of known controllers: clusterrole-aggregation-controller, garbage-collector-controller, namespace-controller, resourcequota-controller, root-ca-certificate-publisher-controller, serviceaccount-controller"
    );
}
