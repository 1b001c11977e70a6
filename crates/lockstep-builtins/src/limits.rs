//! `LimitRanger` admission: defaults from the limit ranges of a namespace, and their constraints.

use lockstep_gotext::quantity::Quantity;
use lockstep_object::{Map, Object, Value};

use crate::amounts::{self, Amounts, amount};
use crate::look::{entries, list, map_in, maps_in, text};
use crate::qos;

/// Annotation that lists the defaults a pod received.
const DEFAULTED_ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// All limits of a type, of all ranges.
fn limits<'v>(ranges: &'v [Value], kind: &'v str) -> impl Iterator<Item = &'v Value> {
    let limits = ranges
        .iter()
        .flat_map(|range| list(&range["spec"], "limits"));
    limits.filter(move |limit| text(limit, "type") == kind)
}

/// Applies default requests and limits to the containers of a new pod, and updates its `QoS` class.
pub fn fill(pod: &mut Object, ranges: &[Value]) {
    let mut messages = Vec::new();
    let spec = map_in(pod.fields_mut(), "spec");
    for (field, words) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        for container in maps_in(spec, field) {
            for limit in limits(ranges, "Container") {
                fill_container(container, limit, words, &mut messages);
            }
        }
    }
    if messages.is_empty() {
        return;
    }
    let messages = format!("LimitRanger plugin set: {}", messages.join("; "));
    let annotations = map_in(pod.metadata_mut(), "annotations");
    annotations.insert(DEFAULTED_ANNOTATION.to_owned(), messages.into());
    let class = qos::class(&pod.as_value()["spec"]).as_str();
    if let Some(status) = pod.fields_mut().get_mut("status").filter(|s| s.is_object()) {
        status["qosClass"] = class.into();
    }
}

fn fill_container(
    container: &mut Map<String, Value>,
    limit: &Value,
    words: &str,
    messages: &mut Vec<String>,
) {
    let name = container
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let rows = [
        ("limits", "default", "limit"),
        ("requests", "defaultRequest", "request"),
    ];
    let mut given = rows.map(|(field, from, word)| {
        let resources = map_in(container, "resources");
        let mut names = Vec::new();
        for (resource, amount) in entries(limit, from) {
            let own = map_in(resources, field);
            if !own.contains_key(resource) {
                own.insert(resource.to_owned(), amount.clone());
                names.push(resource);
            }
        }
        let names = names.join(", ");
        (!names.is_empty()).then(|| format!("{names} {word} for {words} {name}"))
    });
    // Upstream lists requests before limits.
    given.reverse();
    messages.extend(given.into_iter().flatten());
}

/// Violations of limit ranges by a pod.
pub fn check_pod(pod: &Value, ranges: &[Value]) -> Vec<String> {
    let spec = &pod["spec"];
    let mut errors = Vec::new();
    for limit in limits(ranges, "Container") {
        for field in ["containers", "initContainers"] {
            for container in list(spec, field) {
                let of = |part| amounts::read(&container["resources"], part);
                check(
                    "Container",
                    limit,
                    &of("requests"),
                    &of("limits"),
                    &mut errors,
                );
            }
        }
    }
    for limit in limits(ranges, "Pod") {
        let (requests, limits) = (sum(spec, "requests"), sum(spec, "limits"));
        check("Pod", limit, &requests, &limits, &mut errors);
    }
    errors
}

/// Violations of limit ranges by a claim.
pub fn check_claim(claim: &Value, ranges: &[Value]) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    let requests = amounts::read(&claim["spec"]["resources"], "requests");
    let mut errors = Vec::new();
    for limit in limits(ranges, KIND) {
        for (name, least) in entries(limit, "min") {
            errors.extend(too_little(KIND, name, least, requests.get(name), None));
        }
        for (name, most) in entries(limit, "max") {
            errors.extend(match requests.get(name) {
                None => Some(format!(
                    "{}.  No request is specified",
                    bound("maximum", KIND, name, most)
                )),
                Some(asked) if *asked > amount(most) => Some(format!(
                    "{}, but request is {}",
                    bound("maximum", KIND, name, most),
                    shown(asked)
                )),
                Some(_) => None,
            });
        }
    }
    errors
}

fn check(
    kind: &str,
    limit: &Value,
    requests: &Amounts,
    limits: &Amounts,
    errors: &mut Vec<String>,
) {
    for (name, least) in entries(limit, "min") {
        errors.extend(too_little(
            kind,
            name,
            least,
            requests.get(name),
            limits.get(name),
        ));
    }
    for (name, most) in entries(limit, "max") {
        errors.extend(too_much(
            kind,
            name,
            most,
            requests.get(name),
            limits.get(name),
        ));
    }
    for (name, most) in entries(limit, "maxLimitRequestRatio") {
        errors.extend(ratio(
            kind,
            name,
            most,
            requests.get(name),
            limits.get(name),
        ));
    }
}

fn bound(word: &str, kind: &str, name: &str, enforced: &Value) -> String {
    let enforced = enforced.as_str().unwrap_or_default();
    format!("{word} {name} usage per {kind} is {enforced}")
}

fn too_little(
    kind: &str,
    name: &str,
    least: &Value,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let bound = bound("minimum", kind, name, least);
    let least = amount(least);
    match (request, limit) {
        (None, _) => Some(format!("{bound}.  No request is specified")),
        (Some(asked), _) if *asked < least => {
            Some(format!("{bound}, but request is {}", shown(asked)))
        }
        (_, Some(limit)) if *limit < least => {
            Some(format!("{bound}, but limit is {}", shown(limit)))
        }
        _ => None,
    }
}

fn too_much(
    kind: &str,
    name: &str,
    most: &Value,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let bound = bound("maximum", kind, name, most);
    let most = amount(most);
    match (request, limit) {
        (_, None) => Some(format!("{bound}.  No limit is specified")),
        (_, Some(limit)) if *limit > most => {
            Some(format!("{bound}, but limit is {}", shown(limit)))
        }
        (Some(asked), _) if *asked > most => {
            Some(format!("{bound}, but request is {}", shown(asked)))
        }
        _ => None,
    }
}

fn ratio(
    kind: &str,
    name: &str,
    most: &Value,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let most_shown = most.as_str().unwrap_or_default();
    let bound = format!("{name} max limit to request ratio per {kind} is {most_shown}");
    let is_some = |amount: &&Quantity| amount.sign() != 0;
    let Some(request) = request.filter(is_some) else {
        return Some(format!(
            "{bound}, but no request is specified or request is 0"
        ));
    };
    let Some(limit) = limit.filter(is_some) else {
        return Some(format!("{bound}, but no limit is specified or limit is 0"));
    };
    let observed = limit.as_approximate_float() / request.as_approximate_float();
    let is_more = observed > amount(most).as_approximate_float();
    is_more.then(|| format!("{bound}, but provided ratio is {observed:.6}"))
}

fn shown(amount: &Quantity) -> String {
    amount.to_string()
}

/// Peak usage of a pod.
fn sum(spec: &Value, field: &str) -> Amounts {
    amounts::of_pod(spec, field, &|container| {
        amounts::read(&container["resources"], field)
    })
}
