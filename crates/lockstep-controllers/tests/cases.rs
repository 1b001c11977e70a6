//! The loops as data: what a cluster holds, and what is done about it until nothing is left to do.
//!
//! A case has `objects`, and perhaps `before`: objects that were there and are gone. Each round is
//! what the loop plans; the runner carries it out and lets the loop see what changed. Replaced
//! objects are told by what changed in them.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

mod cluster;

use cluster::Cluster;
use std::time::Duration;

use lockstep_controllers::{
    Action, Aggregation, ApiServices, Change, ClusterView, Garbage, NamespaceDefaults, Namespaces,
    Quotas, servers,
};
use lockstep_object::metadata::{Micros, Seconds};
use lockstep_testkit::cases::CaseFile;
use serde_json::{Value, json};

/// 2026-11-16T00:00:00Z
const NOW: i64 = 1_794_787_200;
/// Rounds after which a controller counts as not converging.
const ROUNDS_MAX: usize = 12;

/// A loop, whichever.
enum Loop {
    Garbage(Garbage),
    Namespaces(Namespaces),
    NamespaceDefaults(NamespaceDefaults),
    Aggregation(Aggregation),
    ApiServices(ApiServices),
    Quotas(Quotas),
    Servers,
}

impl Loop {
    fn named(name: &str) -> Self {
        match name {
            "garbage" => Self::Garbage(Garbage::default()),
            "namespaces" => Self::Namespaces(Namespaces::default()),
            "accounts" => Self::NamespaceDefaults(NamespaceDefaults::service_accounts()),
            "root-ca" => Self::NamespaceDefaults(NamespaceDefaults::root_ca("PEM")),
            "aggregation" => Self::Aggregation(Aggregation::default()),
            "api-services" => Self::ApiServices(ApiServices::default()),
            "quotas" => Self::Quotas(Quotas::default()),
            "servers" => Self::Servers,
            other => panic!("{other} is no loop"),
        }
    }

    fn observe(&mut self, change: &Change<'_>) {
        match self {
            Self::Garbage(garbage) => garbage.observe(change),
            Self::Namespaces(namespaces) => namespaces.observe(change),
            Self::NamespaceDefaults(namespace_defaults) => namespace_defaults.observe(change),
            Self::Aggregation(aggregation) => aggregation.observe(change),
            Self::ApiServices(services) => services.observe(change),
            Self::Quotas(quotas) => quotas.observe(change),
            Self::Servers => {}
        }
    }

    fn kinds_changed(&mut self) {
        match self {
            Self::Garbage(garbage) => garbage.kinds_changed(),
            Self::Namespaces(namespaces) => namespaces.kinds_changed(),
            Self::ApiServices(services) => services.kinds_changed(),
            Self::Quotas(quotas) => quotas.kinds_changed(),
            Self::NamespaceDefaults(_) | Self::Aggregation(_) | Self::Servers => {}
        }
    }

    fn due(&self) -> Option<Duration> {
        match self {
            Self::Namespaces(namespaces) => namespaces.due(),
            _ => None,
        }
    }

    fn plan(&mut self, cluster: &dyn ClusterView, elapsed: Duration) -> Vec<Action> {
        let now = Seconds::from_unix(NOW).unwrap();
        match self {
            Self::Garbage(garbage) => garbage.plan(cluster, now),
            Self::Namespaces(namespaces) => namespaces.plan(cluster, now, elapsed),
            Self::NamespaceDefaults(namespace_defaults) => namespace_defaults.plan(cluster),
            Self::Aggregation(aggregation) => aggregation.plan(cluster),
            Self::ApiServices(services) => services.plan(cluster, now),
            Self::Quotas(quotas) => quotas.plan(cluster, now),
            Self::Servers => servers::collect(cluster, Micros::from_unix(NOW * 1_000_000).unwrap()),
        }
    }
}

#[test]
fn loops_do_what_the_cases_say() {
    for file in CaseFile::folder("") {
        let name = file.document()["loop"].as_str().unwrap();
        file.results("rounds", |case| run(name, case.own));
    }
}

fn run(name: &str, case: &Value) -> Value {
    let mut looped = match case["grace_ms"].as_u64() {
        None => Loop::named(name),
        Some(grace) => Loop::Namespaces(Namespaces::with_grace(Duration::from_millis(grace))),
    };
    let hidden = case["unserved"].as_str().unwrap_or_default();
    let mut cluster = Cluster::new(hidden);
    let list = |field: &str| case[field].as_array().cloned().unwrap_or_default();
    for object in list("before") {
        cluster.put(&object);
    }
    for change in cluster.changes() {
        looped.observe(&change.borrowed());
    }
    for object in list("before") {
        cluster.remove(&object);
    }
    for object in list("objects") {
        cluster.put(&object);
    }
    let mut rounds = Vec::new();
    let mut serve_at = case["served_after"].as_u64();
    let mut elapsed = Duration::ZERO;
    loop {
        for change in cluster.changes() {
            looped.observe(&change.borrowed());
        }
        if serve_at == Some(rounds.len() as u64) {
            serve_at = None;
            cluster.serve_all();
            looped.kinds_changed();
        }
        let actions = looped.plan(&cluster, elapsed);
        if actions.is_empty()
            && let Some(due) = looped.due()
        {
            rounds.push(vec![
                json!({"waits_ms": u64::try_from(due.saturating_sub(elapsed).as_millis()).unwrap()}),
            ]);
            elapsed = due;
            continue;
        }
        if actions.is_empty() && serve_at.is_none() {
            return json!(rounds);
        }
        assert!(rounds.len() < ROUNDS_MAX, "no end: {rounds:?}");
        let told: Vec<Value> = actions.iter().map(|action| cluster.told(action)).collect();
        rounds.push(told);
        for action in actions {
            cluster.act(action);
        }
    }
}
