//! Estimates of the seats that requests need.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use lockstep_fairness::{Flow, Work, list_seats, watched_write};

use crate::cache::{Bucket, Scope, Snapshot};
use crate::limits::{HEAVY_BYTES, HEAVY_LIST_BYTES, HEAVY_OBJECTS};
use crate::request::{Request, ResourcePath};
use crate::resources::Api;

/// Work of a request in a flow.
pub(super) fn work(request: &Request, flow: &Flow, api: &Api) -> Work {
    let Some(path) = &request.info.resource else {
        return Work::of(1);
    };
    if flow.is_exempt() {
        return Work::of(1);
    }
    match request.info.verb.as_str() {
        "list" => list_seats(listed(request, path, api), flow.seats_max),
        "watch" if has_initial_events(request) => list_seats(count(path, api), flow.seats_max),
        "create" | "update" | "patch" | "delete" => {
            watched_write(watchers(path, api), flow.seats_max)
        }
        _ => Work::of(1),
    }
}

/// True if a request takes much processor time: it has a large body, changes a large object or shows parts of one, or
/// looks at many objects or into large ones.
pub(crate) fn is_heavy(request: &Request, api: &Api) -> bool {
    if request.body.received_bytes() > HEAVY_BYTES || may_have_aliases(request) {
        return true;
    }
    let Some(path) = &request.info.resource else {
        return false;
    };
    match request.info.verb.as_str() {
        "get" => is_transformed(request) && stored_bytes(path, api) > HEAVY_BYTES,
        "list" => {
            let looks_inside = is_transformed(request) || selects(request);
            listed(request, path, api) > HEAVY_OBJECTS || looks_inside && are_large(path, api)
        }
        "deletecollection" => count(path, api) > HEAVY_OBJECTS || are_large(path, api),
        "watch" => {
            let looks_inside = is_transformed(request) || selects(request);
            has_initial_events(request)
                && (count(path, api) > HEAVY_OBJECTS || looks_inside && are_large(path, api))
        }
        "update" | "patch" | "delete" => stored_bytes(path, api) > HEAVY_BYTES,
        _ => false,
    }
}

/// True if a request has a YAML body with the characters of anchors and aliases: a few bytes of those stand for much.
fn may_have_aliases(request: &Request) -> bool {
    let content_type = request.headers.get(CONTENT_TYPE);
    let is_yaml = content_type.is_some_and(|name| {
        name.as_bytes()
            .windows(4)
            .any(|part| part.eq_ignore_ascii_case(b"yaml"))
    });
    is_yaml && has_aliases(request.body.peek())
}

fn has_aliases(yaml: &[u8]) -> bool {
    yaml.contains(&b'&') && yaml.contains(&b'*')
}

/// True if a request asks for another form of objects than the whole of them, so that they are parsed.
fn is_transformed(request: &Request) -> bool {
    let accepted = request.headers.get_all(ACCEPT);
    accepted
        .iter()
        .any(|range| range.as_bytes().contains(&b';'))
}

/// True if a request has a selector.
fn selects(request: &Request) -> bool {
    let given = |name| {
        let selector = request.query.get(name);
        selector.is_some_and(|selector| !selector.is_empty())
    };
    given("labelSelector") || given("fieldSelector")
}

/// True if the objects that a path names are large together.
fn are_large(path: &ResourcePath, api: &Api) -> bool {
    if !path.name.is_empty() {
        return stored_bytes(path, api) > HEAVY_BYTES;
    }
    bucket(path, api).is_some_and(|bucket| are_large_in(&bucket.snapshot(), &scope(path)))
}

fn are_large_in(snapshot: &Snapshot, scope: &Scope) -> bool {
    let mut bytes = 0;
    // Beyond the number, a list is heavy whatever their size.
    for object in snapshot.objects(scope, None).take(HEAVY_OBJECTS) {
        bytes += object.value.len();
        if bytes > HEAVY_LIST_BYTES {
            return true;
        }
    }
    false
}

/// Size of the object that a path names.
fn stored_bytes(path: &ResourcePath, api: &Api) -> usize {
    let registry = api.registry();
    let Some(resource) = registry.resource(&path.group, &path.resource) else {
        return 0;
    };
    let snapshot = api.cache().bucket(&resource.bucket).snapshot();
    let stored = if resource.is_namespaced() {
        snapshot.get([&*path.namespace, "/", &path.name].concat().as_bytes())
    } else {
        snapshot.get(path.name.as_bytes())
    };
    stored.map_or(0, |stored| stored.value.len())
}

/// Objects that a list looks at: those of a page if nothing selects among them, else all in the namespace.
fn listed(request: &Request, path: &ResourcePath, api: &Api) -> usize {
    let all = count(path, api);
    if selects(request) {
        return all;
    }
    let limit = request
        .query
        .get("limit")
        .and_then(|limit| limit.parse().ok());
    limit
        .filter(|limit| *limit > 0)
        .map_or(all, |limit: usize| limit.min(all))
}

/// Number of objects in the namespace of a path, or of the one that it names.
fn count(path: &ResourcePath, api: &Api) -> usize {
    if !path.name.is_empty() {
        return 1;
    }
    let bucket = bucket(path, api);
    bucket.map_or(0, |bucket| bucket.snapshot().count(&scope(path)))
}

/// Number of watches that a write to a path wakes.
fn watchers(path: &ResourcePath, api: &Api) -> usize {
    // A token is not an object: it has no events.
    if path.subresource == "token" {
        return 0;
    }
    let Some(bucket) = bucket(path, api) else {
        return 0;
    };
    bucket.watchers(&path.namespace, &path.name)
}

fn bucket(path: &ResourcePath, api: &Api) -> Option<Arc<Bucket>> {
    let registry = api.registry();
    let resource = registry.resource(&path.group, &path.resource)?;
    Some(api.cache().bucket(&resource.bucket))
}

fn scope(path: &ResourcePath) -> Scope {
    match &*path.namespace {
        "" => Scope::All,
        namespace => Scope::Namespace(namespace.into()),
    }
}

/// True for a watch that begins with the objects of its state.
fn has_initial_events(request: &Request) -> bool {
    let query = &request.query;
    let version = query.get("resourceVersion").unwrap_or_default();
    query.flag("sendInitialEvents") || version.is_empty() || version == "0"
}

#[cfg(test)]
mod tests {
    use lockstep_storage::{KeyValue, Revision};

    use super::*;

    fn state(objects: usize, bytes: usize) -> Snapshot {
        let pair = |number| {
            Arc::new(KeyValue {
                key: format!("default/{number:03}").into(),
                value: vec![b' '; bytes].into(),
                ..KeyValue::default()
            })
        };
        Snapshot::of((0..objects).map(pair).collect(), 0, Revision(1))
    }

    #[test]
    fn few_large_objects_are_as_heavy_as_many_small_ones() {
        let is_heavy = |objects, bytes, namespace: &str| {
            are_large_in(&state(objects, bytes), &Scope::Namespace(namespace.into()))
        };
        assert!(is_heavy(3, 512 << 10, "default"));
        assert!(!is_heavy(2, 512 << 10, "default"));
        assert!(!is_heavy(HEAVY_OBJECTS, 1 << 10, "default"));
        assert!(!is_heavy(3, 512 << 10, "other"));
    }

    #[test]
    fn yaml_with_aliases_is_heavy_whatever_its_size() {
        assert!(has_aliases(b"a: &a [x, x]\nb: [*a, *a]\n"));
        assert!(!has_aliases(b"verbs: ['*']\n"));
    }
}
