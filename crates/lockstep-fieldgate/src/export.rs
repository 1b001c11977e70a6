//! Gates of many definitions as one document, for servers that do not know the field and drop it.

use lockstep_object::{Object, Value};
use serde_json::json;

use crate::gate::of_spec;

/// The kind of the document.
const KIND: &str = "FieldGateExport";

/// The gates of one definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The name of the definition.
    pub name: String,
    /// Its `spec.customFeatureGates`.
    pub gates: Value,
}

/// Why a document is none of exported gates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// It is something else.
    #[error("`kind` is not `{KIND}`")]
    Kind,
    /// An entry lacks what makes it one.
    #[error("definitions[{0}] needs `name` and `customFeatureGates`")]
    Entry(usize),
    /// Two entries are about one definition.
    #[error("definitions[{0}]: `{1}` stands twice")]
    Twice(usize, String),
    /// It has no list.
    #[error("`definitions` is not a list")]
    List,
}

/// What becomes of one definition when gates are put back.
#[derive(Debug, Clone, PartialEq)]
pub enum Import {
    /// It has these gates.
    Same,
    /// It has none: a merge patch that puts them in, if nothing changes meanwhile.
    Set(Value),
    /// It has others; the merge patch replaces them.
    Differs(Value),
}

/// The gates of definitions that have some in their spec, by name. Those in annotations stay where they are, whoever
/// writes the definition.
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

/// Reads what [`export`] wrote.
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

/// What it takes to put gates back into a definition.
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
            // A merge patch removes only what it says is null.
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
