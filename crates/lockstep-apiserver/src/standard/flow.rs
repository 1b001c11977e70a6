//! Default priority levels and flow schemas.

use lockstep_fairness::{CATCH_ALL, EXEMPT, dangling, with_condition};
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

use super::Standard;
use crate::resources::Api;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
/// Annotation that controls whether the stored spec is updated from the default. If absent, only an unmodified object
/// (generation 1) is updated.
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
/// Objects whose spec is always restored, whatever their annotation.
const MANDATORY: [&str; 2] = [EXEMPT, CATCH_ALL];

/// Name, nominal concurrency shares, lendable percentage, and queues with hand size.
type Level = (&'static str, i64, i64, Option<(i64, i64)>);

const LEVELS: [Level; 7] = [
    ("catch-all", 5, 0, None),
    ("global-default", 20, 50, Some((128, 6))),
    ("leader-election", 10, 0, Some((16, 4))),
    ("node-high", 40, 25, Some((64, 6))),
    ("system", 30, 33, Some((64, 6))),
    ("workload-high", 40, 50, Some((128, 6))),
    ("workload-low", 100, 90, Some((128, 6))),
];
const QUEUE_LENGTH: i64 = 50;

/// Name, priority level, matching precedence, flow distinguisher, subjects, and rules.
type Schema = (
    &'static str,
    &'static str,
    i64,
    &'static str,
    &'static [Subject],
    Asked,
);

/// Subject of a `FlowSchema`.
enum Subject {
    Group(&'static str),
    User(&'static str),
    /// All service accounts of a namespace.
    Accounts(&'static str),
}

/// Requests that a `FlowSchema` matches.
enum Asked {
    Anything,
    Health,
    Leases,
    Nodes,
}

const EVERYBODY: &[Subject] = &[
    Subject::Group("system:unauthenticated"),
    Subject::Group("system:authenticated"),
];
const MANAGER: &str = "system:kube-controller-manager";
const SCHEDULER: &str = "system:kube-scheduler";

#[rustfmt::skip]
const SCHEMAS: [Schema; 11] = [
    ("exempt", "exempt", 1, "", &[Subject::Group("system:masters")], Asked::Anything),
    ("probes", "exempt", 2, "", EVERYBODY, Asked::Health),
    ("system-leader-election", "leader-election", 100, "ByUser",
        &[Subject::User(MANAGER), Subject::User(SCHEDULER), Subject::Accounts("kube-system")], Asked::Leases),
    ("system-node-high", "node-high", 400, "ByUser", &[Subject::Group("system:nodes")], Asked::Nodes),
    ("system-nodes", "system", 500, "ByUser", &[Subject::Group("system:nodes")], Asked::Anything),
    ("kube-controller-manager", "workload-high", 800, "ByNamespace", &[Subject::User(MANAGER)], Asked::Anything),
    ("kube-scheduler", "workload-high", 800, "ByNamespace", &[Subject::User(SCHEDULER)], Asked::Anything),
    ("kube-system-service-accounts", "workload-high", 900, "ByNamespace", &[Subject::Accounts("kube-system")], Asked::Anything),
    ("service-accounts", "workload-low", 9000, "ByUser", &[Subject::Group("system:serviceaccounts")], Asked::Anything),
    ("global-default", "global-default", 9900, "ByUser", EVERYBODY, Asked::Anything),
    ("catch-all", "catch-all", 10_000, "ByUser", EVERYBODY, Asked::Anything),
];

/// All default objects.
pub(super) fn objects(now: Seconds) -> impl Iterator<Item = Standard> {
    let exempt = json!({
        "type": "Exempt",
        "exempt": { "nominalConcurrencyShares": 0, "lendablePercent": 0 },
    });
    let levels = LEVELS.iter().map(|level| (level.0, limited(level)));
    let levels = levels.chain([("exempt", exempt)]).map(|(name, spec)| {
        let kind = "PriorityLevelConfiguration";
        let object = object(kind, name, &spec);
        standard("prioritylevelconfigurations", name, object)
    });
    let schemas = SCHEMAS.iter().map(move |schema| {
        let (name, level, ..) = schema;
        let object = object("FlowSchema", name, &spec(schema));
        standard("flowschemas", name, found(object, level, now))
    });
    levels.chain(schemas)
}

/// Creates mandatory objects that are missing. True if all are there.
pub(crate) async fn make_mandatory(api: &Api, now: Seconds) -> bool {
    let mut are_made = true;
    for standard in objects(now).filter(|standard| MANDATORY.contains(&standard.key)) {
        if api.cached(GROUP, standard.plural, standard.key).is_none() {
            are_made &= super::make(api, &standard, now).await;
        }
    }
    are_made
}

fn standard(plural: &'static str, key: &'static str, object: Value) -> Standard {
    Standard {
        group: GROUP,
        plural,
        key,
        object,
        repair,
    }
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind,
        "metadata": { "name": name, "generation": 1, "annotations": { AUTO_UPDATE: "true" } },
        "spec": spec,
        "status": {},
    })
}

fn limited((_, shares, lendable, queues): &Level) -> Value {
    let response = match queues {
        None => json!({ "type": "Reject" }),
        Some((queues, hand)) => json!({
            "type": "Queue",
            "queuing": { "queues": queues, "handSize": hand, "queueLengthLimit": QUEUE_LENGTH },
        }),
    };
    json!({
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": shares,
            "lendablePercent": lendable,
            "limitResponse": response,
        },
    })
}

fn spec((_, level, precedence, told_apart, subjects, asked): &Schema) -> Value {
    let subjects: Vec<Value> = subjects.iter().map(Subject::value).collect();
    let mut rule = asked.rule();
    rule["subjects"] = subjects.into();
    let mut spec = json!({
        "priorityLevelConfiguration": { "name": level },
        "matchingPrecedence": precedence,
        "rules": [rule],
    });
    if !told_apart.is_empty() {
        spec["distinguisherMethod"] = json!({ "type": told_apart });
    }
    spec
}

/// A `FlowSchema` whose priority level exists.
fn found(schema: Value, level: &str, now: Seconds) -> Value {
    let written = Object::from_value(schema.clone()).ok();
    let written = written.and_then(|schema| with_condition(&schema, &dangling(level, true), now));
    written.map_or(schema, Object::into_value)
}

impl Subject {
    fn value(&self) -> Value {
        match self {
            Self::Group(name) => json!({ "kind": "Group", "group": { "name": name } }),
            Self::User(name) => json!({ "kind": "User", "user": { "name": name } }),
            Self::Accounts(namespace) => json!({
                "kind": "ServiceAccount",
                "serviceAccount": { "namespace": namespace, "name": "*" },
            }),
        }
    }
}

impl Asked {
    fn rule(&self) -> Value {
        let all = ["*"];
        let leases = |verbs: &[&str]| {
            json!({
                "verbs": verbs,
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "namespaces": all,
            })
        };
        match self {
            Self::Anything => json!({
                "resourceRules": [{
                    "verbs": all, "apiGroups": all, "resources": all, "clusterScope": true, "namespaces": all,
                }],
                "nonResourceRules": [{ "verbs": all, "nonResourceURLs": all }],
            }),
            Self::Health => json!({
                "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"] }],
            }),
            Self::Leases => json!({ "resourceRules": [leases(&["get", "create", "update"])] }),
            Self::Nodes => {
                let nodes = json!({
                    "verbs": all,
                    "apiGroups": [""],
                    "resources": ["nodes", "nodes/status"],
                    "clusterScope": true,
                    "namespaces": all,
                });
                json!({ "resourceRules": [nodes, leases(&all)] })
            }
        }
    }
}

/// Restores the default spec unless the annotation or a user's change prevents it.
fn repair(stored: &mut Object, wanted: &Object) -> bool {
    let is_ours = match stored.annotation(AUTO_UPDATE) {
        _ if MANDATORY.contains(&wanted.name()) => true,
        Some("true") => true,
        Some("false") => false,
        _ => stored.generation() == 1,
    };
    let mut changed = false;
    let told = if is_ours { "true" } else { "false" };
    if stored.annotation(AUTO_UPDATE) != Some(told) {
        let annotations = stored.metadata_mut().entry("annotations");
        let annotations = annotations.or_insert_with(|| json!({}));
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[AUTO_UPDATE] = told.into();
        changed = true;
    }
    if is_ours && stored.at(&["spec"]) != wanted.at(&["spec"]) {
        let spec = wanted.at(&["spec"]).cloned().unwrap_or_default();
        stored.fields_mut().insert("spec".to_owned(), spec);
        stored.set_generation(stored.generation() + 1);
        changed = true;
    }
    changed
}
