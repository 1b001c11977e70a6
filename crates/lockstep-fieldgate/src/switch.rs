//! Switching a gate: the server-side apply configuration that changes `enabled` of one gate.

use std::collections::BTreeSet;

use lockstep_object::{Object, Value};
use serde_json::json;

use crate::gate::{ANNOTATION, Gate, GateList, Source, Stage, State, source};

/// Field manager that switches gates. Each apply repeats its earlier settings, because fields that a manager no longer
/// applies are removed.
pub const MANAGER: &str = "lockstep-crd-gates";

/// Requested setting of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Sets `enabled: true`.
    Enable,
    /// Sets `enabled: false`.
    Disable,
    /// Removes `enabled`, so that the default applies.
    Unset,
}

/// The requests that switch a gate, and their effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Switched {
    /// `component/name`
    pub gate: String,
    /// Stage of the gate.
    pub stage: Stage,
    /// The current state.
    pub before: State,
    /// The resulting state, unless another manager owns `enabled`.
    pub after: State,
    /// Configuration to apply as [`MANAGER`], with a resourceVersion precondition.
    pub apply: Value,
    /// JSON patch that removes `enabled` regardless of ownership; set if applying would not remove it because it has
    /// other owners or none.
    pub take: Option<Value>,
    /// Other managers that own `enabled`, sorted.
    pub holders: Vec<String>,
    /// The definition after the change.
    pub definition: Object,
}

/// Errors of [`switch`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// The definition has no such gate.
    #[error("`{definition}` has no gate `{gate}`")]
    Unknown {
        /// Name of the definition.
        definition: String,
        /// The requested gate.
        gate: String,
        /// The gates of the definition.
        known: Vec<String>,
    },
    /// The gate is stable and cannot be switched.
    #[error("gate `{0}` is stable and always enabled")]
    Stable(String),
    /// The gates are in an annotation, whose parts cannot be owned or applied separately.
    #[error("the gates of `{0}` are in the annotation `{ANNOTATION}`, which is one text")]
    InAnnotation(String),
}

/// Computes the requests that switch a gate.
pub fn switch(definition: &Object, gate: &str, switch: Switch) -> Result<Switched, SwitchError> {
    let list = GateList::of(definition);
    let found = list.gates.iter().position(|one| one.name == gate);
    let Some(own) = found.map(|index| &list.gates[index]) else {
        return Err(SwitchError::Unknown {
            definition: definition.name().to_owned(),
            gate: gate.to_owned(),
            known: list.gates.into_iter().map(|gate| gate.name).collect(),
        });
    };
    if own.stage == Stage::Stable && switch != Switch::Unset {
        return Err(SwitchError::Stable(list.reference(own)));
    }
    if matches!(source(definition), Source::Annotation(_)) {
        return Err(SwitchError::InAnnotation(definition.name().to_owned()));
    }
    let enabled = match switch {
        Switch::Enable => Some(true),
        Switch::Disable => Some(false),
        Switch::Unset => None,
    };
    let after = Gate {
        enabled,
        ..own.clone()
    };
    let holders = holders(definition, gate);
    let is_ours = holders.is_empty() && owns(definition, gate);
    Ok(Switched {
        gate: list.reference(own),
        stage: own.stage,
        before: own.state(),
        after: after.state(),
        apply: applied(definition, &list, gate, enabled),
        take: (own.enabled.is_some() && enabled.is_none() && !is_ours)
            .then(|| remove_enabled_patch(definition, gate))
            .flatten(),
        holders,
        definition: changed(definition, gate, enabled),
    })
}

/// The applied configuration of [`MANAGER`], with one gate changed.
fn applied(definition: &Object, list: &GateList, gate: &str, enabled: Option<bool>) -> Value {
    let said = list.gates.iter().filter_map(|one| {
        let said = if one.name == gate {
            enabled
        } else {
            one.enabled.filter(|_| owns(definition, &one.name))
        };
        said.map(|enabled| json!({"name": one.name, "enabled": enabled}))
    });
    let said: Vec<Value> = said.collect();
    let mut body = json!({
        "apiVersion": definition.api_version(),
        "kind": definition.kind(),
        "metadata": {"name": definition.name(), "resourceVersion": definition.resource_version()},
    });
    if !said.is_empty() {
        body["spec"] = json!({"customFeatureGates": {"featureGates": said}});
    }
    body
}

fn owns(definition: &Object, gate: &str) -> bool {
    let mut entries = managed(definition, gate);
    entries.any(|entry| entry["manager"] == MANAGER && entry["operation"] == "Apply")
}

/// Managers of `enabled` of a gate, sorted.
pub(crate) fn managers_of_choice(definition: &Object, gate: &str) -> Vec<String> {
    names(managed(definition, gate))
}

fn holders(definition: &Object, gate: &str) -> Vec<String> {
    let others = managed(definition, gate)
        .filter(|entry| entry["manager"] != MANAGER || entry["operation"] != "Apply");
    names(others)
}

/// Names of the managers of entries, sorted.
fn names<'e>(entries: impl Iterator<Item = &'e Value>) -> Vec<String> {
    let managers = entries.filter_map(|entry| entry["manager"].as_str().map(str::to_owned));
    let names: BTreeSet<String> = managers.collect();
    names.into_iter().collect()
}

/// Entries of `managedFields` that own `enabled` of a gate.
fn managed<'d>(definition: &'d Object, gate: &str) -> impl Iterator<Item = &'d Value> {
    let element = format!("k:{}", json!({"name": gate}));
    let entries = definition.metadata().get("managedFields");
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    entries.filter(move |entry| {
        let steps = [
            "fieldsV1",
            "f:spec",
            "f:customFeatureGates",
            "f:featureGates",
            &element,
            "f:enabled",
        ];
        let found = steps
            .iter()
            .try_fold(*entry, |value, step| value.get(*step));
        found.is_some()
    })
}

/// JSON patch that removes `enabled`; its tests fail if the gate moved or the definition changed.
fn remove_enabled_patch(definition: &Object, gate: &str) -> Option<Value> {
    let index = index(definition, gate)?;
    let place = format!("/spec/customFeatureGates/featureGates/{index}");
    Some(json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": definition.resource_version()},
        {"op": "test", "path": format!("{place}/name"), "value": gate},
        {"op": "remove", "path": format!("{place}/enabled")},
    ]))
}

fn index(definition: &Object, gate: &str) -> Option<usize> {
    let list = definition.at(&["spec", "customFeatureGates", "featureGates"])?;
    list.as_array()?.iter().position(|one| one["name"] == gate)
}

fn changed(definition: &Object, gate: &str, enabled: Option<bool>) -> Object {
    let mut changed = definition.clone();
    let Some(index) = index(definition, gate) else {
        return changed;
    };
    let place = format!("/spec/customFeatureGates/featureGates/{index}");
    let mut value = changed.into_value();
    if let Some(Value::Object(own)) = value.pointer_mut(&place) {
        match enabled {
            Some(enabled) => drop(own.insert("enabled".to_owned(), enabled.into())),
            None => drop(own.remove("enabled")),
        }
    }
    changed = Object::from_value(value).unwrap_or_else(|_| definition.clone());
    changed
}
