//! Content of `FeatureGate` objects and how servers merge their entries.

use std::collections::BTreeSet;

use lockstep_featuregate::{ComponentGates, Entry, Explanation, Feature, Gates, Version};
use lockstep_object::{Object, Value};
use serde_json::json;

use super::{GROUP, KIND, VERSION};

/// Feature gate as resolved by one server.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Decided {
    /// Name of the object.
    pub(super) name: String,
    spec: Value,
    history: Vec<Value>,
    remove_in: Option<String>,
    /// Entry of this server in `status.perServer`.
    own: Value,
}

/// All feature gates of a server.
pub(super) fn decided(gates: &Gates, id: &str, host: &str) -> Vec<Decided> {
    let of_component = |component: ComponentGates<'_>| -> Vec<Decided> {
        let explained = component.explanations();
        explained
            .map(|(feature, why)| one(component, feature, &why, id, host))
            .collect()
    };
    gates.components().flat_map(of_component).collect()
}

fn one(
    component: ComponentGates<'_>,
    feature: &Feature,
    why: &Explanation,
    id: &str,
    host: &str,
) -> Decided {
    let named = component.component();
    let versions = component.versions();
    Decided {
        name: format!("{}.{}", named.name(), feature.name.to_lowercase()),
        spec: json!({
            "component": named.name(),
            "gate": feature.name,
            "description": feature.description,
            "dependsOn": why.depends_on,
        }),
        history: feature.entries.iter().map(entry).collect(),
        remove_in: why.remove_in.map(|version| version.to_string()),
        own: json!({
            "id": id,
            "host": host,
            "value": why.value,
            "source": why.source.name(),
            "stage": why.held.stage.name(),
            "default": why.held.default,
            "locked": why.held.lock_to_default,
            "since": why.held.version.to_string(),
            "binaryVersion": named.binary().line().to_string(),
            "emulationVersion": versions.emulation.to_string(),
            "minCompatibilityVersion": versions.min_compatibility.to_string(),
        }),
    }
}

fn entry(entry: &Entry) -> Value {
    let mut shown = json!({
        "version": entry.version.to_string(),
        "stage": entry.stage.name(),
        "default": entry.default,
        "locked": entry.lock_to_default,
    });
    if let Some(version) = entry.min_compatibility {
        shown["minCompatibilityVersion"] = version.to_string().into();
    }
    shown
}

/// Result of merging a server's entry into an object.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Next {
    Unchanged,
    Written(Object),
    /// No running server has the gate.
    Removed,
}

/// Merges a server's entry into the object of a gate. Entries of servers that no longer run are removed; those of
/// others are unchanged.
pub(super) fn next(
    stored: Option<&Object>,
    own: Option<&Decided>,
    id: &str,
    living: &BTreeSet<String>,
) -> Next {
    let before = stored.and_then(|object| object.at(&["status", "perServer"]));
    let before = before.and_then(Value::as_array).into_iter().flatten();
    let others = before.filter(|place| {
        let of = place["id"].as_str().unwrap_or_default();
        of != id && living.contains(of)
    });
    let mut places: Vec<Value> = others.cloned().collect();
    places.extend(own.map(|own| own.own.clone()));
    places.sort_by(|a, b| a["id"].as_str().cmp(&b["id"].as_str()));
    let Some(oldest) = places.iter().min_by_key(|place| emulation(place)) else {
        return match stored {
            Some(_) => Next::Removed,
            None => Next::Unchanged,
        };
    };
    let mut status = json!({
        "enabled": places.iter().all(|place| place["value"] == true),
        "perServer": places,
    });
    for field in ["stage", "default", "locked", "since"] {
        status[field] = oldest[field].clone();
    }
    let known = stored.map(Object::as_value);
    status["source"] = sources(&places).into();
    let (spec, history, remove_in) = facts(known, own);
    status["history"] = history;
    if let Some(version) = remove_in {
        status["removeIn"] = version;
    }
    let mut object = match (stored, own) {
        (Some(stored), _) => stored.clone(),
        (None, Some(own)) => empty(&own.name),
        (None, None) => return Next::Unchanged,
    };
    object.fields_mut().insert("spec".into(), spec);
    object.fields_mut().insert("status".into(), status);
    if Some(object.as_value()) == known {
        Next::Unchanged
    } else {
        Next::Written(object)
    }
}

/// Spec, history and removal version, from the longer history, which is that of the newer release.
fn facts(stored: Option<&Value>, own: Option<&Decided>) -> (Value, Value, Option<Value>) {
    let length = |history: &Value| history.as_array().map_or(0, Vec::len);
    if let Some(stored) = stored {
        let history = &stored["status"]["history"];
        if own.is_none_or(|own| length(history) > own.history.len()) {
            let remove_in = stored["status"].get("removeIn").cloned();
            return (stored["spec"].clone(), history.clone(), remove_in);
        }
    }
    match own {
        Some(own) => (
            own.spec.clone(),
            own.history.clone().into(),
            own.remove_in.clone().map(Value::from),
        ),
        None => (json!({}), json!([]), None),
    }
}

/// Distinct sources of the value, comma-separated.
fn sources(places: &[Value]) -> String {
    let names = places.iter().filter_map(|place| place["source"].as_str());
    let names: BTreeSet<&str> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(",")
}

fn emulation(place: &Value) -> Version {
    let text = place["emulationVersion"].as_str().unwrap_or_default();
    Version::parse(text).unwrap_or(Version::ZERO)
}

fn empty(name: &str) -> Object {
    let object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": KIND,
        "metadata": { "name": name },
    });
    Object::from_value(object).expect("an object with a name")
}

#[cfg(test)]
mod tests {
    use lockstep_featuregate::Builder;

    use super::*;

    fn watch_list(flags: &str, id: &str, emulated: &str) -> Decided {
        let builder = Builder::new(lockstep_gates::registry());
        let builder = builder.flag(flags).emulated_version(emulated);
        let gates = builder.try_finish().unwrap().gates;
        let all = decided(&gates, id, "host");
        let found = all.into_iter().find(|gate| gate.name == "kube.watchlist");
        found.unwrap()
    }

    fn living(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|&id| id.to_owned()).collect()
    }

    fn written(next: Next) -> Object {
        match next {
            Next::Written(object) => object,
            other => panic!("{other:?}"),
        }
    }

    /// ux.md §4, featuregates: `status.perServer[]` and `status.history[]`.
    #[test]
    fn two_servers_have_a_place_each_and_a_gate_is_on_if_it_is_on_everywhere() {
        let (a, b) = (
            watch_list("", "a", "1.36"),
            watch_list("WatchList=false", "b", "1.35"),
        );
        let both = living(&["a", "b"]);
        let first = written(next(None, Some(&a), "a", &both));
        let status = &first.as_value()["status"];
        assert_eq!(
            (
                &status["enabled"],
                &status["source"],
                &status["perServer"][0]["id"]
            ),
            (&json!(true), &json!("default"), &json!("a"))
        );
        assert_eq!(
            status["history"].as_array().map(Vec::len),
            Some(a.history.len())
        );
        let second = written(next(Some(&first), Some(&b), "b", &both));
        let status = &second.as_value()["status"];
        let shown: Vec<_> = status["perServer"].as_array().unwrap().iter().collect();
        let shown: Vec<_> = shown
            .iter()
            .map(|place| (&place["id"], &place["value"]))
            .collect();
        assert_eq!(
            shown,
            [(&json!("a"), &json!(true)), (&json!("b"), &json!(false))]
        );
        assert_eq!(
            (&status["enabled"], &status["source"]),
            (&json!(false), &json!("default,flag"))
        );
        assert_eq!(next(Some(&second), Some(&b), "b", &both), Next::Unchanged);
        assert_eq!(next(Some(&second), Some(&a), "a", &both), Next::Unchanged);
    }

    #[test]
    fn the_place_of_a_server_goes_with_it_and_the_gate_with_the_last() {
        let (a, b) = (watch_list("", "a", ""), watch_list("", "b", ""));
        let both = living(&["a", "b"]);
        let object = written(next(None, Some(&a), "a", &both));
        let object = written(next(Some(&object), Some(&b), "b", &both));
        let object = written(next(Some(&object), Some(&b), "b", &living(&["b"])));
        assert_eq!(object.as_value()["status"]["perServer"], json!([b.own]));
        assert_eq!(
            next(Some(&object), None, "c", &living(&["b", "c"])),
            Next::Unchanged
        );
        assert_eq!(
            next(Some(&object), None, "c", &living(&["c"])),
            Next::Removed
        );
        assert_eq!(next(None, None, "c", &living(&["c"])), Next::Unchanged);
    }
}
