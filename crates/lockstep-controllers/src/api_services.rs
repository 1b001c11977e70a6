//! Controller that maintains an `APIService` for every group version the server serves itself.

use std::collections::BTreeMap;

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

use crate::names::API_SERVICES;
use crate::{Action, Change, ClusterView, Propagation, made};

/// Label of the `APIServices` that the server manages.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
const FROM_THE_START: &str = "onstart";
const FOR_A_CRD: &str = "true";

/// Groups that are part of a server, with what upstream gives them for their place in discovery.
const PRIORITIES: &[(&str, u32, u32)] = &[
    ("", 18_000, 1),
    ("apps", 17_800, 15),
    ("events.k8s.io", 17_750, 15),
    ("authentication.k8s.io", 17_700, 15),
    ("authorization.k8s.io", 17_600, 15),
    ("autoscaling", 17_500, 15),
    ("batch", 17_400, 15),
    ("certificates.k8s.io", 17_300, 15),
    ("networking.k8s.io", 17_200, 15),
    ("policy", 17_100, 15),
    ("rbac.authorization.k8s.io", 17_000, 15),
    ("storage.k8s.io", 16_800, 15),
    ("apiextensions.k8s.io", 16_700, 15),
    ("admissionregistration.k8s.io", 16_700, 15),
    ("scheduling.k8s.io", 16_600, 15),
    ("coordination.k8s.io", 16_500, 15),
    ("node.k8s.io", 16_300, 15),
    ("discovery.k8s.io", 16_200, 15),
    ("flowcontrol.apiserver.k8s.io", 16_100, 21),
    ("resource.k8s.io", 16_200, 21),
];
/// Version priorities above the default of their group.
const VERSION_PRIORITIES: &[(&str, &str, u32)] = &[("autoscaling", "v2", 30)];
/// Group and version priority of CRD groups.
const CRD_PRIORITY: (u32, u32) = (1_000, 100);

/// The state of the loop: whether there is anything to look at.
pub struct ApiServices {
    is_dirty: bool,
}

impl Default for ApiServices {
    fn default() -> Self {
        Self { is_dirty: true }
    }
}

impl ApiServices {
    /// Takes a change in.
    pub fn observe(&mut self, change: &Change<'_>) {
        self.is_dirty |= API_SERVICES.is(&change.id.resource);
    }

    /// Marks everything for reconciliation after the served resources changed.
    pub fn kinds_changed(&mut self) {
        self.is_dirty = true;
    }

    /// Creates missing objects, restores modified ones, and removes those of deleted CRDs. Unlabelled ones are left
    /// alone.
    pub fn plan(&mut self, cluster: &dyn ClusterView, now: Seconds) -> Vec<Action> {
        if !std::mem::take(&mut self.is_dirty) {
            return Vec::new();
        }
        let resource = API_SERVICES.resource();
        let wanted = wanted(cluster);
        let mut actions = Vec::new();
        for (name, spec) in &wanted {
            let id = resource.id(name);
            match cluster.object(&id) {
                None => actions.push(Action::Create {
                    object: new(name, spec, now),
                    id,
                }),
                Some(stored) => {
                    let is_ours = managed(&stored.object).is_some();
                    if is_ours && stored.object.at(&["spec"]) != Some(&spec.value) {
                        let mut object = stored.object.clone();
                        let value = spec.value.clone();
                        object.fields_mut().insert("spec".to_owned(), value);
                        actions.push(Action::Replace {
                            id,
                            revision: stored.revision,
                            object,
                        });
                    }
                }
            }
        }
        for key in cluster.keys(&resource, None) {
            let id = resource.id(&key);
            let Some(stored) = cluster.object(&id) else {
                continue;
            };
            if !wanted.contains_key(&*key) && managed(&stored.object) == Some(FOR_A_CRD) {
                actions.push(Action::Delete {
                    id,
                    revision: stored.revision,
                    propagation: Propagation::Background,
                });
            }
        }
        actions
    }
}

/// The desired spec of an `APIService`.
struct Spec {
    value: Value,
    managed: &'static str,
}

fn wanted(cluster: &dyn ClusterView) -> BTreeMap<String, Spec> {
    let mut wanted = BTreeMap::new();
    for kind in cluster.kinds() {
        let group = &*kind.resource.group;
        if group == API_SERVICES.group {
            // It would describe itself, which upstream leaves out too.
            continue;
        }
        let built_in = PRIORITIES.iter().find(|(name, ..)| *name == group);
        let (least, of_version) =
            built_in.map_or(CRD_PRIORITY, |(_, least, version)| (*least, *version));
        let managed = if built_in.is_some() {
            FROM_THE_START
        } else {
            FOR_A_CRD
        };
        for version in &kind.versions {
            let newer = VERSION_PRIORITIES
                .iter()
                .find(|(of, name, _)| (*of, *name) == (group, version));
            let of_version = newer.map_or(of_version, |(_, _, own)| *own);
            let mut value = json!({
                "version": version,
                "groupPriorityMinimum": least,
                "versionPriority": of_version,
            });
            if !group.is_empty() {
                value["group"] = group.into();
            }
            wanted.insert(format!("{version}.{group}"), Spec { value, managed });
        }
    }
    wanted
}

fn managed(object: &Object) -> Option<&str> {
    object.at(&["metadata", "labels", MANAGED])?.as_str()
}

fn new(name: &str, spec: &Spec, now: Seconds) -> Object {
    made(json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": { "name": name, "labels": { MANAGED: spec.managed } },
        "spec": spec.value,
        "status": { "conditions": [{
            "type": "Available",
            "status": "True",
            "lastTransitionTime": now.to_string(),
            "reason": "Local",
            "message": "Local APIServices are always available",
        }] },
    }))
}
