//! What every cluster has from its first moment on.

use lockstep_object::Object;
use lockstep_object::metadata::Seconds;
use lockstep_storage::Expected;
use serde_json::json;

use crate::resources::Api;

/// Namespaces that the server needs and that nobody can do without.
const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

/// Makes what is missing. Tells whether everything is there.
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
                "uid": api.fresh_uid(),
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
        // Another server on the same store may have been quicker.
        if !made && api.read_internally("", "namespaces", name).await.is_none() {
            return false;
        }
    }
    true
}
