//! Controller for aggregated cluster roles.

use lockstep_authz::aggregated_rules;
use lockstep_object::{Object, Value};

use crate::names::CLUSTER_ROLES;
use crate::{Action, Change, ClusterView, Stored};

/// The state of the loop: whether a role changed.
#[derive(Default)]
pub struct Aggregation {
    is_dirty: bool,
}

impl Aggregation {
    /// Takes a change in.
    pub fn observe(&mut self, change: &Change<'_>) {
        self.is_dirty |= CLUSTER_ROLES.is(&change.id.resource);
    }

    /// Gives every aggregated role the rules of those it gathers.
    pub fn plan(&mut self, cluster: &dyn ClusterView) -> Vec<Action> {
        if !std::mem::take(&mut self.is_dirty) {
            return Vec::new();
        }
        let resource = CLUSTER_ROLES.resource();
        let ids = cluster.keys(&resource, None);
        let ids = ids.into_iter().map(|key| resource.id(&key));
        let stored: Vec<_> = ids
            .filter_map(|id| cluster.object(&id).map(|stored| (id, stored)))
            .collect();
        let all: Vec<&Object> = stored.iter().map(|(_, stored)| &stored.object).collect();
        let mut actions = Vec::new();
        for (id, Stored { object, revision }) in &stored {
            let Some(rules) = aggregated_rules(object, all.iter().copied()) else {
                continue;
            };
            let present = object.at(&["rules"]).and_then(Value::as_array);
            if present.map(Vec::as_slice).unwrap_or_default() == rules {
                continue;
            }
            let mut next = object.clone();
            next.fields_mut().insert("rules".to_owned(), rules.into());
            actions.push(Action::Replace {
                id: id.clone(),
                revision: *revision,
                object: next,
            });
        }
        actions
    }
}
