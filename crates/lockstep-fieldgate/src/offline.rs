//! A write without a server: the steps that an object goes through, in their order.

use lockstep_object::field::FieldErrors;
use lockstep_object::metadata::{StatusField, next_generation};
use lockstep_object::{Object, Value};
use lockstep_schema::{CompileError, Part, Schema};

use crate::action::Action;
use crate::gate::GateList;
use crate::gates::Gates;
use crate::place;
use crate::relief::relieved;

/// What writes of objects of a definition need, in the version that objects are stored in.
#[derive(Debug)]
pub struct Offline {
    schema: Schema,
    gates: Option<Gates>,
    status: StatusField,
}

/// What a request writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The object.
    Object,
    /// Its status, through the endpoint of its own.
    Status,
}

/// What becomes of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The object as it would be stored.
    pub object: Object,
    /// Whether its generation is another than before.
    pub is_new_generation: bool,
    /// What the client would be told.
    pub warnings: Vec<String>,
    /// What gates did.
    pub actions: Vec<Action>,
    /// What is wrong with it; nothing if it is stored.
    pub errors: FieldErrors,
    /// Fields that the schema does not know.
    pub unknown: Vec<String>,
}

impl Offline {
    /// Reads a definition; none if it has no version that objects are stored in.
    pub fn of(definition: &Object) -> Option<Result<Self, CompileError>> {
        let (name, schema) = place::storage(definition)?;
        let relieved = relieved(schema, &GateList::of(definition));
        let versions = definition.at(&["spec", "versions"])?.as_array()?;
        let version = versions.iter().find(|version| version["name"] == name)?;
        let has_status = version
            .pointer("/subresources/status")
            .is_some_and(|status| !status.is_null());
        let compiled = Schema::compile(relieved.as_ref().unwrap_or(schema));
        Some(compiled.map(|schema| Self {
            schema,
            gates: Gates::compile(definition),
            status: if has_status {
                StatusField::Separate
            } else {
                StatusField::Part
            },
        }))
    }

    /// The gates; none if they do nothing.
    pub fn gates(&self) -> Option<&Gates> {
        self.gates.as_ref()
    }

    /// The schema with what gates take out of it.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Judges a write of an object over the stored one, if there is one.
    pub fn write(&self, object: &Object, stored: Option<&Object>, written: Written) -> Judged {
        let mut value = object.as_value().clone();
        let mut unknown = Vec::new();
        self.schema.prune(&mut value, &mut unknown);
        self.schema.default(&mut value);
        self.reset(&mut value, stored.map(Object::as_value), written);
        let actions = self.gates.as_ref().map(|gates| {
            let stored = stored.map(Object::as_value);
            gates.apply(&mut value, stored)
        });
        let actions = actions.unwrap_or_default();
        let part = match written {
            Written::Object => Part::Whole,
            Written::Status => Part::Status,
        };
        let outcome = self
            .schema
            .validate(&value, stored.map(Object::as_value), part);
        let mut errors = outcome.errors;
        let mut warnings = Vec::new();
        if let Some(gates) = &self.gates {
            warnings.extend(gates.warnings(&actions));
            errors.extend(gates.refusals(&actions));
            if errors.is_empty() {
                warnings.extend(gates.deprecations(&actions));
            }
        }
        warnings.extend(outcome.warnings);
        let mut object = Object::from_map(match value {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        });
        let generation = stored.map_or(1, |stored| next_generation(&object, stored, self.status));
        object.set_generation(generation);
        Judged {
            is_new_generation: stored.is_none_or(|stored| stored.generation() != generation),
            object,
            warnings,
            actions,
            errors,
            unknown,
        }
    }

    /// Puts back what the request does not write.
    fn reset(&self, value: &mut Value, stored: Option<&Value>, written: Written) {
        let Value::Object(fields) = value else { return };
        let old = stored.and_then(Value::as_object);
        let status = match (written, self.status) {
            (Written::Status, _) => {
                let status = fields.remove("status");
                if let Some(old) = old {
                    fields.clone_from(old);
                }
                status
            }
            (Written::Object, StatusField::Separate) => {
                old.and_then(|old| old.get("status").cloned())
            }
            (Written::Object, StatusField::Part) => return,
        };
        match status {
            Some(status) => drop(fields.insert("status".to_owned(), status)),
            None => drop(fields.remove("status")),
        }
    }
}
