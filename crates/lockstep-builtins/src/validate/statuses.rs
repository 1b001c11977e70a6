//! Validation of workload status: counters must be consistent.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::{Errors, non_negative};
use crate::look::number;

/// The numbers of a status in upstream's order, and those that are no more than all replicas.
struct Numbers {
    counts: &'static [&'static str],
    of_all: &'static [&'static str],
    /// Upstream's name of the ready counter.
    ready: &'static str,
}

const DEPLOYMENT: Numbers = Numbers {
    counts: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    of_all: &["updatedReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};
const REPLICA_SET: Numbers = Numbers {
    counts: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ],
    of_all: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};
const STATEFUL_SET: Numbers = Numbers {
    counts: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    of_all: &[
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ],
    ready: "status.readyReplicas",
};
const DAEMON_SET: &[&str] = &[
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
];

pub(crate) fn deployment(new: &Value, old: &Value, errors: &mut Errors) {
    replicas(&new["status"], &DEPLOYMENT, errors);
    collisions(&new["status"], &old["status"], errors);
}

pub(crate) fn replica_set(new: &Value, _old: &Value, errors: &mut Errors) {
    replicas(&new["status"], &REPLICA_SET, errors);
}

pub(crate) fn stateful_set(new: &Value, old: &Value, errors: &mut Errors) {
    replicas(&new["status"], &STATEFUL_SET, errors);
    collisions(&new["status"], &old["status"], errors);
}

pub(crate) fn daemon_set(new: &Value, old: &Value, errors: &mut Errors) {
    counts(&new["status"], DAEMON_SET, errors);
    collisions(&new["status"], &old["status"], errors);
}

pub(crate) fn autoscaler(new: &Value, _old: &Value, errors: &mut Errors) {
    let fields = &["currentReplicas", "desiredReplicas"];
    counts(&new["status"], fields, errors);
}

pub(super) fn counts(status: &Value, fields: &[&str], errors: &mut Errors) {
    let path = Path::ROOT.field("status");
    for field in fields {
        non_negative(status, field, &path, errors);
    }
}

fn replicas(status: &Value, numbers: &Numbers, errors: &mut Errors) {
    counts(status, numbers.counts, errors);
    let path = Path::ROOT.field("status");
    let of = |field: &str| number(status, field).unwrap_or_default();
    for field in numbers.of_all {
        if of(field) > of("replicas") {
            let why = "cannot be greater than status.replicas";
            errors.push_with(|| FieldError::invalid(&path.field(field), of(field), why));
        }
    }
    let available = of("availableReplicas");
    if available > of("readyReplicas") {
        let why = format!("cannot be greater than {}", numbers.ready);
        let path = path.field("availableReplicas");
        errors.push_with(|| FieldError::invalid(&path, available, why));
    }
}

/// `collisionCount` must not decrease.
fn collisions(status: &Value, old: &Value, errors: &mut Errors) {
    let of = |status: &Value| number(status, "collisionCount");
    if of(old).is_some_and(|old| of(status).unwrap_or_default() < old) {
        let path = Path::ROOT.field("status");
        let path = path.field("collisionCount");
        let count = of(status).unwrap_or_default();
        errors.push_with(|| FieldError::invalid(&path, count, "cannot be decremented"));
    }
}
