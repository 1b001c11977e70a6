//! Defaults of pods and their parts.

use lockstep_object::{Map, Value};
use serde_json::json;

use super::Fields;
use crate::look::{fill, map_in, maps_in};

/// Defaults requests to limits, and enables service links. Pod templates are not changed.
pub(super) fn pod(pod: &mut Fields) {
    addresses(pod);
    let spec = map_in(pod, "spec");
    fill(spec, "enableServiceLinks", true);
    let grace = spec.get("terminationGracePeriodSeconds");
    if grace.and_then(Value::as_i64).is_some_and(|grace| grace < 0) {
        spec.insert("terminationGracePeriodSeconds".to_owned(), 1.into());
    }
    for field in ["containers", "initContainers"] {
        for container in maps_in(spec, field) {
            request_what_is_limited(map_in(container, "resources"));
        }
    }
}

/// Synchronizes `podIP` with the first of `podIPs`; `podIP` takes precedence.
fn addresses(pod: &mut Fields) {
    let Some(status) = pod.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let own = text(status.get("podIP")).filter(|own| !own.is_empty());
    let first = status.get("podIPs").and_then(|all| all.get(0));
    let first = text(first.and_then(|first| first.get("ip")));
    match (own, first) {
        (Some(own), first) if first.as_ref() != Some(&own) => {
            status.insert("podIPs".to_owned(), json!([{ "ip": own }]));
        }
        (None, Some(first)) => drop(status.insert("podIP".to_owned(), first.into())),
        _ => {}
    }
}

fn request_what_is_limited(resources: &mut Fields) {
    let limits = resources.get("limits").and_then(Value::as_object).cloned();
    let Some(limits) = limits.filter(|limits| !limits.is_empty()) else {
        return;
    };
    let requests = map_in(resources, "requests");
    for (name, amount) in limits {
        requests.entry(name).or_insert(amount);
    }
}

/// An account has one name, under both of its fields, also in templates. On the host's network, a port of a container
/// is one of the host.
pub(super) fn pod_spec(spec: &mut Fields) {
    same_account(spec);
    // Its gate is closed.
    spec.remove("schedulingGroup");
    if spec.get("hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    for field in ["containers", "initContainers"] {
        for container in maps_in(spec, field) {
            for port in maps_in(container, "ports") {
                let own = port.get("containerPort").cloned().unwrap_or_default();
                let host = port.get("hostPort").and_then(Value::as_i64);
                if host.unwrap_or_default() == 0 && own.as_i64() != Some(0) {
                    port.insert("hostPort".to_owned(), own);
                }
            }
        }
    }
}

/// The account under its old name and its new one.
pub(crate) fn same_account(spec: &mut Fields) {
    let of = |spec: &Fields, field: &str| {
        let text = spec.get(field).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let account = of(spec, "serviceAccountName").or_else(|| of(spec, "serviceAccount"));
    if let Some(account) = account {
        spec.insert("serviceAccountName".to_owned(), account.as_str().into());
        spec.insert("serviceAccount".to_owned(), account.into());
    }
}

/// An image that may become another one is pulled each time.
pub(super) fn container(container: &mut Fields) {
    drop_stop_signal(container);
    let is_set = container
        .get("imagePullPolicy")
        .and_then(Value::as_str)
        .is_some_and(|policy| !policy.is_empty());
    if is_set {
        return;
    }
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let policy = if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    container.insert("imagePullPolicy".to_owned(), policy.into());
}

/// The gate of signals is closed.
fn drop_stop_signal(container: &mut Fields) {
    let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") else {
        return;
    };
    if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
        container.remove("lifecycle");
    }
}

/// True if an image has the tag `latest`, or neither tag nor digest. An unparseable image counts as not latest.
fn is_latest(image: &str) -> bool {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let last = name.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map(|(_, tag)| tag);
    match (tag, digest) {
        _ if !is_readable(name) => false,
        (Some(tag), _) => tag == "latest",
        (None, digest) => digest.is_none(),
    }
}

/// True if a text is a valid image name.
fn is_readable(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-/:[]".contains(c);
    let (repository, _) = name.rsplit_once(':').unwrap_or((name, ""));
    let paths = match repository.split_once('/') {
        // Only the registry host may contain upper-case letters.
        Some((host, rest)) if host.contains(['.', ':']) || host == "localhost" => rest,
        _ => repository,
    };
    !name.is_empty() && name.chars().all(fits) && !paths.chars().any(|c| c.is_ascii_uppercase())
}

/// A volume of no type is an empty folder.
pub(super) fn volume(volume: &mut Fields) {
    let has_source = volume
        .iter()
        .any(|(name, value)| name != "name" && !value.is_null());
    if !has_source {
        volume.insert("emptyDir".to_owned(), Value::Object(Map::new()));
    }
}
