//! Quota usage of pods.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_object::Value;
use lockstep_object::metadata::Seconds;
use lockstep_object::names;

use crate::amounts::{self, Amounts, PODS};
use crate::look::{list, number, text};

const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";
/// Prefix of device class requests in container resources.
const DEVICES: &str = "deviceclass.resource.kubernetes.io/";

/// Resources that every container must specify if limited, under their quota names.
const REQUIRED: [&str; 6] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.memory",
];

/// Compute resources with quota names for requests and limits.
const NAMED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

pub(super) fn use_some(name: &str) -> bool {
    let asked = name.strip_prefix(REQUESTS);
    let plain = asked.or_else(|| name.strip_prefix("limits."));
    name == PODS
        || NAMED.contains(&plain.unwrap_or(name))
        || asked.unwrap_or(name).starts_with(HUGE_PAGES)
        || asked.is_some_and(|asked| !is_native(name) || asked.starts_with(DEVICES))
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// True for extended resources, which quotas count under `requests.`.
fn is_extended(name: &str) -> bool {
    let is_foreign = !is_native(name) && !name.starts_with(REQUESTS);
    let is_named = || names::qualified_name(&format!("{REQUESTS}{name}")).is_empty();
    name.starts_with(DEVICES) || is_foreign && is_named()
}

/// True if a pod no longer counts: it is terminal, or its deletion grace period is over.
pub(super) fn is_over(pod: &Value, now: Seconds) -> bool {
    let has_ended = ["Failed", "Succeeded"].contains(&text(&pod["status"], "phase"));
    has_ended || frees_at(pod).is_some_and(|at| at < now)
}

/// Time at which a pod being deleted stops counting, even if it still exists.
pub(super) fn frees_at(pod: &Value) -> Option<Seconds> {
    let metadata = &pod["metadata"];
    let grace = number(metadata, "deletionGracePeriodSeconds")?;
    let going: Seconds = text(metadata, "deletionTimestamp").parse().ok()?;
    Seconds::from_unix(going.unix().saturating_add(grace))
}

/// Usage of a pod that has not finished.
pub(super) fn uses(pod: &Value) -> Amounts {
    let spec = &pod["spec"];
    let mut requests = amounts::of_pod(spec, "requests", &|container| {
        effective(pod, container, "requests")
    });
    let mut limits = amounts::of_pod(spec, "limits", &|container| {
        effective(pod, container, "limits")
    });
    let overhead = amounts::read(spec, "overhead");
    amounts::add(&mut requests, &overhead);
    let limited = |name: &String| limits.get(name).is_some_and(|limit| limit.sign() != 0);
    let of_limited = overhead.into_iter().filter(|(name, _)| limited(name));
    let of_limited: Amounts = of_limited.collect();
    amounts::add(&mut limits, &of_limited);
    named(&requests, &limits)
}

/// Requests and limits under their quota names.
fn named(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut uses = BTreeMap::from([(PODS.to_owned(), amounts::whole(1))]);
    for (name, amount) in requests {
        let is_named = NAMED.contains(&name.as_str()) || name.starts_with(HUGE_PAGES);
        if is_named {
            uses.insert(name.clone(), amount.clone());
        }
        if is_named || is_extended(name) {
            uses.insert(format!("{REQUESTS}{name}"), amount.clone());
        }
    }
    for (name, amount) in limits {
        if NAMED.contains(&name.as_str()) {
            uses.insert(format!("limits.{name}"), amount.clone());
        }
    }
    uses
}

/// Desired or allocated resources of a container, whichever is larger during a resize.
fn effective(pod: &Value, container: &Value, field: &str) -> Amounts {
    let wanted = amounts::read(&container["resources"], field);
    let status = status_of(pod, container);
    let Some(resources) = status.get("resources").filter(|value| value.is_object()) else {
        return wanted;
    };
    let mut all = amounts::read(resources, field);
    if field == "requests" {
        amounts::raise(&mut all, amounts::read(status, "allocatedResources"));
    }
    if !is_infeasible(pod) {
        amounts::raise(&mut all, wanted);
    }
    all
}

/// Status of a container; null for init containers, which finish before the others start.
fn status_of<'v>(pod: &'v Value, container: &Value) -> &'v Value {
    let status = &pod["status"];
    let of = |field| list(status, field).iter();
    let name = text(container, "name");
    let is_init = list(&pod["spec"], "initContainers")
        .iter()
        .any(|init| text(init, "name") == name);
    if is_init && !amounts::is_sidecar(container) {
        return &Value::Null;
    }
    let mut all = of("initContainerStatuses").chain(of("containerStatuses"));
    let found = all.find(|status| text(status, "name") == name);
    found.unwrap_or(&Value::Null)
}

/// True if a requested resize is infeasible.
fn is_infeasible(pod: &Value) -> bool {
    let mut conditions = list(&pod["status"], "conditions").iter();
    let pending = conditions.find(|condition| text(condition, "type") == "PodResizePending");
    pending.is_some_and(|condition| text(condition, "reason") == "Infeasible")
}

/// Containers that lack requests or limits for limited resources, as an error message.
pub(super) fn missing_resources(pod: &Value, limited: &[&str]) -> Option<String> {
    let spec = &pod["spec"];
    if has_pod_level_resources(&spec["resources"]) {
        return None;
    }
    let required = limited.iter().filter(|name| REQUIRED.contains(name));
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for name in required {
        for container in list(spec, "containers")
            .iter()
            .chain(list(spec, "initContainers"))
        {
            let of = |field| amounts::read(&container["resources"], field);
            if !named(&of("requests"), &of("limits")).contains_key(*name) {
                let names = missing.entry(name).or_default();
                names.insert(text(container, "name"));
            }
        }
    }
    let messages = missing.into_iter().map(|(name, containers)| {
        let containers: Vec<&str> = containers.into_iter().collect();
        format!("{name} for: {}", containers.join(","))
    });
    let messages: Vec<String> = messages.collect();
    (!messages.is_empty()).then(|| format!("must specify {}", messages.join("; ")))
}

/// True if a pod has pod-level resources.
fn has_pod_level_resources(resources: &Value) -> bool {
    let counts =
        |name: &String| ["cpu", "memory"].contains(&name.as_str()) || name.starts_with(HUGE_PAGES);
    ["requests", "limits"]
        .iter()
        .any(|field| amounts::read(resources, field).keys().any(counts))
}
