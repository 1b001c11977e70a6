//! Usage of gated fields in stored objects.

use lockstep_object::{Object, Value};

use crate::gate::GateList;
use crate::path::{FieldPath, Segment};
use crate::place;

/// Maximum number of objects listed by name per field; further ones are only counted.
pub const NAMES_MAX: usize = 1000;

/// Gated fields of a definition, and the objects that set them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Number of objects inspected.
    pub seen: usize,
    /// The gated fields, in the order of the definition.
    pub fields: Vec<FieldUsage>,
}

/// A gated field, and the objects that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldUsage {
    /// Name of the gate.
    pub gate: String,
    /// True if the gate is open.
    pub is_enabled: bool,
    /// Path of the field.
    pub path: FieldPath,
    /// Number of objects that set it.
    pub count: usize,
    /// The first [`NAMES_MAX`] objects, as `namespace/name`.
    pub names: Vec<String>,
}

impl Usage {
    /// Starts an empty report for one gate or for all. Fields that the schema lacks are left out.
    pub fn of(definition: &Object, gate: Option<&str>) -> Self {
        let list = GateList::of(definition);
        let storage = place::storage(definition);
        let wanted = list.gates.iter();
        let wanted = wanted.filter(|one| gate.is_none_or(|name| one.name == name));
        let fields = wanted.flat_map(|gate| {
            let paths = gate.paths.iter().flatten();
            let paths = paths.filter(|path| {
                storage.is_some_and(|(_, schema)| place::steps(schema, path, "").is_ok())
            });
            paths.map(|path| FieldUsage {
                gate: gate.name.clone(),
                is_enabled: gate.state().enabled,
                path: path.clone(),
                count: 0,
                names: Vec::new(),
            })
        });
        Self {
            seen: 0,
            fields: fields.collect(),
        }
    }

    /// Inspects an object in the storage version.
    pub fn see(&mut self, object: &Object) {
        self.seen += 1;
        for used in &mut self.fields {
            if !holds(object.as_value(), used.path.segments()) {
                continue;
            }
            used.count += 1;
            if used.names.len() < NAMES_MAX {
                used.names.push(match object.namespace() {
                    "" => object.name().to_owned(),
                    namespace => format!("{namespace}/{}", object.name()),
                });
            }
        }
    }
}

/// True if a value has the path, even if the field is empty.
fn holds(value: &Value, segments: &[Segment]) -> bool {
    let Some((first, rest)) = segments.split_first() else {
        return true;
    };
    match (first, value) {
        (Segment::Name(name), Value::Object(fields)) => {
            fields.get(&**name).is_some_and(|below| holds(below, rest))
        }
        (Segment::Each, Value::Object(fields)) => fields.values().any(|below| holds(below, rest)),
        (Segment::Each, Value::Array(elements)) => elements.iter().any(|below| holds(below, rest)),
        _ => false,
    }
}
