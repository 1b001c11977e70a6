//! Gates as data rows, for `lockstep features list -o json` and the server's `/debug/features`.

use serde::{Deserialize, Serialize};

use crate::{ComponentGates, Explanation, Feature, Gates};

/// One gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The component it belongs to.
    pub component: String,
    /// Its name.
    pub name: String,
    /// The stage at the emulated version.
    pub stage: String,
    /// On or off.
    pub enabled: bool,
    /// Default value.
    pub default: bool,
    /// True if the value cannot be changed.
    pub locked: bool,
    /// Version of the entry in effect.
    pub since: String,
    /// Source of the value.
    pub source: String,
    /// Release in which a locked gate may be removed.
    pub remove_in: Option<String>,
    /// Dependencies.
    pub depends_on: Vec<String>,
}

/// All gates of a set, by component and name.
pub fn rows(gates: &Gates) -> Vec<Row> {
    let of_component = |component: ComponentGates<'_>| -> Vec<Row> {
        let explained = component.explanations();
        explained
            .map(|(feature, why)| row(component, feature, why))
            .collect()
    };
    gates.components().flat_map(of_component).collect()
}

fn row(component: ComponentGates<'_>, feature: &Feature, why: Explanation) -> Row {
    Row {
        component: component.component().name().to_owned(),
        name: feature.name.to_string(),
        stage: why.held.stage.name().to_owned(),
        enabled: why.value,
        default: why.held.default,
        locked: why.held.lock_to_default,
        since: why.held.version.to_string(),
        source: why.source.name().to_owned(),
        remove_in: why.remove_in.map(|version| version.to_string()),
        depends_on: why.depends_on,
    }
}
