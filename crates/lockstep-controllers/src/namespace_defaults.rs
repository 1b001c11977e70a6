//! Controller for the default contents of a namespace: the `default` service account and the root CA config map.

use lockstep_object::{Map, Object, Value};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::names::{CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS};
use crate::{Action, Change, ClusterView, Resource};

const ROOT_CA: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// Maintains one object in every namespace: recreates it if deleted and resets modified fields.
pub struct NamespaceDefaults {
    resource: Resource,
    name: &'static str,
    kind: &'static str,
    annotations: Option<Value>,
    /// Fields that are reset if they are modified.
    fields: Map<String, Value>,
    /// Namespaces to reconcile.
    dirty: BTreeSet<Arc<str>>,
}

impl NamespaceDefaults {
    /// The service account `default`.
    pub fn service_accounts() -> Self {
        Self {
            resource: SERVICE_ACCOUNTS.resource(),
            name: "default",
            kind: "ServiceAccount",
            annotations: None,
            fields: Map::new(),
            dirty: BTreeSet::new(),
        }
    }

    /// The config map `kube-root-ca.crt` with an authority in PEM.
    pub fn root_ca(bundle: &str) -> Self {
        let mut fields = Map::new();
        fields.insert("data".to_owned(), json!({ "ca.crt": bundle }));
        Self {
            resource: CONFIG_MAPS.resource(),
            name: "kube-root-ca.crt",
            kind: "ConfigMap",
            annotations: Some(json!({ "kubernetes.io/description": ROOT_CA })),
            fields,
            dirty: BTreeSet::new(),
        }
    }

    /// Takes a change in.
    pub fn observe(&mut self, change: &Change<'_>) {
        let id = change.id;
        if NAMESPACES.is(&id.resource) {
            self.dirty.insert(id.key.clone());
        } else if id.resource == self.resource && id.name() == self.name {
            self.dirty.extend(id.namespace().map(Arc::from));
        }
    }

    /// Reconciles the namespaces with changes.
    pub fn plan(&mut self, cluster: &dyn ClusterView) -> Vec<Action> {
        let mut actions = Vec::new();
        for namespace in std::mem::take(&mut self.dirty) {
            let Some(meta) = cluster.meta(&NAMESPACES.resource().id(&namespace)) else {
                continue;
            };
            // Objects of the namespace may be older than the namespace and not visible yet.
            if meta.revision > cluster.seen() {
                self.dirty.insert(namespace);
            } else if !meta.is_deleting {
                actions.extend(self.plan_one(cluster, &namespace));
            }
        }
        actions
    }

    fn plan_one(&self, cluster: &dyn ClusterView, namespace: &str) -> Option<Action> {
        let id = self.resource.id(&format!("{namespace}/{}", self.name));
        let Some(stored) = cluster.object(&id) else {
            let object = self.new_object(namespace);
            return Some(Action::Create { id, object });
        };
        let mut object = stored.object.clone();
        for (field, value) in &self.fields {
            object.fields_mut().insert(field.clone(), value.clone());
        }
        (object != stored.object && object.deletion_timestamp().is_none()).then_some(
            Action::Replace {
                id,
                revision: stored.revision,
                object,
            },
        )
    }

    fn new_object(&self, namespace: &str) -> Object {
        let mut metadata = json!({ "name": self.name, "namespace": namespace });
        if let Some(annotations) = &self.annotations {
            metadata["annotations"] = annotations.clone();
        }
        let mut fields = self.fields.clone();
        fields.insert("apiVersion".to_owned(), "v1".into());
        fields.insert("kind".to_owned(), self.kind.into());
        fields.insert("metadata".to_owned(), metadata);
        Object::from_map(fields)
    }
}
