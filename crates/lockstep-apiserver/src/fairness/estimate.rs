//! Estimates of the seats that requests need.

use std::sync::Arc;

use lockstep_fairness::{Flow, Work, list_seats, watched_write};

use crate::cache::{Bucket, Scope};
use crate::limits::{HEAVY_BYTES, HEAVY_OBJECTS};
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

/// True if a request takes much processor time: it has a large body, changes a large object, or looks at many objects.
pub(crate) fn is_heavy(request: &Request, api: &Api) -> bool {
    if request.body.received_bytes() > HEAVY_BYTES {
        return true;
    }
    let Some(path) = &request.info.resource else {
        return false;
    };
    match request.info.verb.as_str() {
        "list" => listed(request, path, api) > HEAVY_OBJECTS,
        "deletecollection" => count(path, api) > HEAVY_OBJECTS,
        "watch" => has_initial_events(request) && count(path, api) > HEAVY_OBJECTS,
        "patch" => stored_bytes(path, api) > HEAVY_BYTES,
        _ => false,
    }
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
    let query = &request.query;
    let selects = |name| query.get(name).is_some_and(|selector| !selector.is_empty());
    if selects("labelSelector") || selects("fieldSelector") {
        return all;
    }
    let limit = query.get("limit").and_then(|limit| limit.parse().ok());
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
