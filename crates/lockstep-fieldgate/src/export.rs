//! Export and import of gates, for migrations through servers that drop `spec.customFeatureGates`.

use lockstep_object::{Object, Value};
use serde_json::json;

use crate::gate::of_spec;

/// `kind` of the exported document.
const KIND: &str = "FieldGateExport";

/// Exported gates of one definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// Name of the `CustomResourceDefinition`.
    pub name: String,
    /// Its `spec.customFeatureGates`.
    pub gates: Value,
}

/// Errors of [`read_export`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The document has another `kind`.
    #[error("`kind` is not `{KIND}`")]
    Kind,
    /// An entry lacks a required field.
    #[error("definitions[{0}] needs `name` and `customFeatureGates`")]
    Entry(usize),
    /// Two entries name the same definition.
    #[error("definitions[{0}]: `{1}` stands twice")]
    Twice(usize, String),
    /// `definitions` is not a list.
    #[error("`definitions` is not a list")]
    List,
}

/// Result of comparing exported gates with a definition.
#[derive(Debug, Clone, PartialEq)]
pub enum Import {
    /// The definition already has these gates.
    Same,
    /// The definition has no gates: a merge patch that sets them, with a resourceVersion precondition.
    Set(Value),
    /// The definition has different gates; the merge patch replaces them.
    Differs(Value),
}

/// Exports the gates of definitions that have them in their spec, sorted by name. Gates in annotations are left out
/// because every server preserves annotations.
pub fn export<'d>(definitions: impl Iterator<Item = &'d Object>) -> Value {
    let gated =
        definitions.filter_map(|definition| Some((definition.name(), of_spec(definition)?)));
    let mut gated: Vec<(&str, &Value)> = gated.collect();
    gated.sort_by_key(|(name, _)| *name);
    let entries = gated
        .into_iter()
        .map(|(name, gates)| json!({"name": name, "customFeatureGates": gates}));
    json!({"kind": KIND, "definitions": entries.collect::<Vec<Value>>()})
}

/// Decodes a document written by [`export`].
pub fn read_export(document: &Value) -> Result<Vec<Exported>, ExportError> {
    if document["kind"] != KIND {
        return Err(ExportError::Kind);
    }
    let entries = document["definitions"]
        .as_array()
        .ok_or(ExportError::List)?;
    let mut read: Vec<Exported> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let name = entry["name"].as_str().filter(|name| !name.is_empty());
        let gates = &entry["customFeatureGates"];
        let (Some(name), Value::Object(_)) = (name, gates) else {
            return Err(ExportError::Entry(at));
        };
        if read.iter().any(|other| other.name == name) {
            return Err(ExportError::Twice(at, name.to_owned()));
        }
        read.push(Exported {
            name: name.to_owned(),
            gates: gates.clone(),
        });
    }
    Ok(read)
}

/// Computes the patch that restores exported gates.
pub fn import(definition: &Object, exported: &Exported) -> Import {
    let stored = of_spec(definition);
    if stored == Some(&exported.gates) {
        return Import::Same;
    }
    let patch = |gates: Value| {
        json!({
            "metadata": {"resourceVersion": definition.resource_version()},
            "spec": {"customFeatureGates": gates},
        })
    };
    match stored {
        None => Import::Set(patch(exported.gates.clone())),
        Some(stored) => {
            // A merge patch removes only fields that it sets to null.
            let mut gates = exported.gates.clone();
            for field in stored
                .as_object()
                .into_iter()
                .flat_map(lockstep_object::Map::keys)
            {
                if gates.get(field).is_none() {
                    gates[field] = Value::Null;
                }
            }
            Import::Differs(patch(gates))
        }
    }
}
