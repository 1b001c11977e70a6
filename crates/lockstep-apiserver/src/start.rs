//! System namespaces, published client CAs and default roles.

use std::sync::Arc;

use lockstep_authz::{GROUP, Reconciled, default_objects, reconciled};
use lockstep_object::Object;
use lockstep_object::metadata::Seconds;
use lockstep_storage::Expected;
use serde_json::json;
use tokio::task::JoinSet;

use crate::resources::Api;

/// Most attempts to write an object under concurrent writes.
const TRIES_MAX: usize = 5;

/// System namespaces that the server creates.
const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

/// Creates missing system namespaces. True if all exist.
pub(crate) async fn make_system_objects(api: &Api, now: Seconds) -> bool {
    for name in NAMESPACES {
        if api.read_internally("", "namespaces", name).await.is_some() {
            continue;
        }
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": api.new_uid(),
                "creationTimestamp": now.to_string(),
                "labels": { "kubernetes.io/metadata.name": name },
            },
            "spec": { "finalizers": ["kubernetes"] },
            "status": { "phase": "Active" },
        });
        let Ok(namespace) = Object::from_value(namespace) else {
            return false;
        };
        let expected = Expected::Absent;
        let made = api
            .store_internally("", "namespaces", name, expected, Some(namespace))
            .await;
        // Another server on the same store may have created it first.
        if !made && api.read_internally("", "namespaces", name).await.is_none() {
            return false;
        }
    }
    true
}

/// `ConfigMap` that publishes the CAs of client certificates for extension API servers.
const CLIENT_CA: (&str, &str) = ("kube-system", "extension-apiserver-authentication");

/// Adds the CAs of client certificates to the `ConfigMap`; those of other servers on the store stay. True if they are
/// published.
pub(crate) async fn publish_client_ca(api: &Api, own: &str, now: Seconds) -> bool {
    let (namespace, name) = CLIENT_CA;
    let key = format!("{namespace}/{name}");
    for _ in 0..TRIES_MAX {
        let stored = api.read_internally("", "configmaps", &key).await;
        let (at, mut map) = match stored {
            Some((map, revision)) => (Expected::At(revision), map),
            None => {
                let map = json!({
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": { "name": name, "namespace": namespace },
                });
                let Ok(map) = Object::from_value(map) else {
                    return false;
                };
                (Expected::Absent, new(api, &map, now))
            }
        };
        let known = map.at(&["data", "client-ca-file"]);
        let known = known.and_then(|text| text.as_str()).unwrap_or_default();
        let missing: Vec<&str> = certificates(own)
            .filter(|certificate| !known.contains(certificate))
            .collect();
        if missing.is_empty() {
            return true;
        }
        let all = format!("{known}{}", missing.concat());
        let data = map.fields_mut().entry("data").or_insert_with(|| json!({}));
        if !data.is_object() {
            *data = json!({});
        }
        data["client-ca-file"] = all.into();
        if api
            .store_internally("", "configmaps", &key, at, Some(map))
            .await
        {
            return true;
        }
    }
    false
}

/// Splits PEM into single certificates.
fn certificates(pem: &str) -> impl Iterator<Item = &str> {
    let parts = pem.split_inclusive("-----END CERTIFICATE-----\n");
    parts.filter(|part| part.contains("-----BEGIN CERTIFICATE-----"))
}

/// Creates missing default roles and bindings and adds missing rules to existing ones. Roles come first, because a
/// binding to a missing role grants nothing. True if all are in place.
pub(crate) async fn make_default_roles(api: &Arc<Api>, now: Seconds) -> bool {
    let (roles, bindings) = default_objects()
        .into_iter()
        .partition(|object| !object.kind().ends_with("Binding"));
    make_all(api, roles, now).await && make_all(api, bindings, now).await
}

/// Concurrently, because the store commits concurrent writes as one batch.
async fn make_all(api: &Arc<Api>, objects: Vec<Object>, now: Seconds) -> bool {
    let mut making = JoinSet::new();
    for expected in objects {
        if !is_fine(api, &expected) {
            let api = Arc::clone(api);
            making.spawn(async move { make(&api, &expected, now).await });
        }
    }
    let made = making.join_all().await;
    made.into_iter().all(|is_made| is_made)
}

/// True if the cached object needs no reconciliation.
fn is_fine(api: &Api, expected: &Object) -> bool {
    let (plural, key) = place(expected);
    let stored = api.cached(GROUP, plural, &key);
    stored.is_some_and(|(stored, _)| reconciled(expected, &stored) == Reconciled::Unchanged)
}

async fn make(api: &Api, expected: &Object, now: Seconds) -> bool {
    let (plural, key) = place(expected);
    for _ in 0..TRIES_MAX {
        let (at, next) = match api.read_internally(GROUP, plural, &key).await {
            None => (Expected::Absent, Some(new(api, expected, now))),
            Some((stored, revision)) => match reconciled(expected, &stored) {
                Reconciled::Unchanged => return true,
                Reconciled::Changed(next) => (Expected::At(revision), Some(next)),
                Reconciled::Replaced => (Expected::At(revision), None),
            },
        };
        let is_last = next.is_some();
        let is_written = api.store_internally(GROUP, plural, &key, at, next).await;
        if is_written && is_last {
            return true;
        }
    }
    false
}

fn new(api: &Api, expected: &Object, now: Seconds) -> Object {
    let mut object = expected.clone();
    object.set_meta_text("uid", &api.new_uid());
    object.set_meta_text("creationTimestamp", &now.to_string());
    object
}

/// Resource and key of a role or binding.
fn place(object: &Object) -> (&'static str, String) {
    let (namespace, name) = (object.namespace(), object.name());
    match object.kind() {
        "ClusterRole" => ("clusterroles", name.to_owned()),
        "ClusterRoleBinding" => ("clusterrolebindings", name.to_owned()),
        "Role" => ("roles", format!("{namespace}/{name}")),
        _ => ("rolebindings", format!("{namespace}/{name}")),
    }
}
