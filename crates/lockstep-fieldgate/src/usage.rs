//! Which objects hold gated fields.

use lockstep_object::{Object, Value};

use crate::gate::GateList;
use crate::path::{FieldPath, Segment};
use crate::place;

/// How many objects are named for one field; the others are counted.
pub const NAMES_MAX: usize = 1000;

/// The gated fields of a definition, and who holds them among the objects that were shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// How many objects were shown.
    pub seen: usize,
    /// Each field, in the order of the definition.
    pub fields: Vec<Used>,
}

/// A gated field and who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// The name of the gate.
    pub gate: String,
    /// Whether it is open.
    pub is_enabled: bool,
    /// The field.
    pub path: FieldPath,
    /// How many objects hold it.
    pub count: usize,
    /// The first [`NAMES_MAX`] of them, as `namespace/name`.
    pub names: Vec<String>,
}

impl Usage {
    /// Nobody yet. Of one gate, or of all; what the schema does not have is left out.
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
            paths.map(|path| Used {
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

    /// Looks at an object in the version that is stored.
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

/// Whether a value has something at a path, be it empty.
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
