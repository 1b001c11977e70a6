//! A write request evaluated offline, with field validation before it and warnings after it.

use lockstep_object::Object;
use lockstep_object::field::FieldError;
use lockstep_object::incoming::FieldValidation;

use crate::action::Kind;
use crate::offline::{Offline, Written};

/// The response to an offline request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The object after the gate step, stored if there is no refusal; none if decoding already failed.
    pub object: Option<Object>,
    /// True if `metadata.generation` was incremented.
    pub is_new_generation: bool,
    /// Warnings for the client, without duplicates.
    pub warnings: Vec<String>,
    /// Actions of gates.
    pub actions: Vec<Done>,
    /// The reason of a rejection; none if the object is stored.
    pub refusal: Option<Refusal>,
}

/// Reasons for rejecting a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Unknown fields under strict field validation.
    Undecodable(String),
    /// Validation failed.
    Invalid(Vec<FieldError>),
}

/// An action of a gate, as printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Name of the gate.
    pub gate: String,
    /// `spec.jobs[name="web"].probe`
    pub place: String,
    /// Effect on the field.
    pub kind: Kind,
}

impl Offline {
    /// Evaluates a request in the storage version.
    ///
    /// The stored object is first pruned and defaulted, as a server does on read. `metadata.generation` of the request
    /// is ignored; a stored object without one has generation 1.
    pub fn answer(
        &self,
        wanted: &Object,
        stored: Option<&Object>,
        written: Written,
        validation: FieldValidation,
    ) -> Answer {
        let stored = stored.map(|stored| self.read(stored));
        let mut wanted = wanted.clone();
        wanted.set_generation(stored.as_ref().map_or(0, Object::generation));
        let judged = self.write(&wanted, stored.as_ref(), written);
        let field_warnings = match validation.judge(&[], &judged.unknown) {
            Ok(field_warnings) => field_warnings,
            Err(text) => return undecodable(text),
        };
        let mut warnings: Vec<String> = Vec::new();
        for warning in field_warnings.into_iter().chain(judged.warnings) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        let actions = judged.actions.iter().map(|action| Done {
            gate: self
                .gates()
                .map_or_else(String::new, |gates| gates.name(action).to_owned()),
            place: action.place(),
            kind: action.kind,
        });
        Answer {
            is_new_generation: judged.is_new_generation && judged.errors.is_empty(),
            warnings,
            actions: actions.collect(),
            refusal: (!judged.errors.is_empty())
                .then(|| Refusal::Invalid(judged.errors.into_iter().collect())),
            object: Some(judged.object),
        }
    }

    /// Prunes and defaults a stored object, as a server does on read.
    fn read(&self, stored: &Object) -> Object {
        let mut value = stored.as_value().clone();
        self.schema().prune(&mut value, &mut Vec::new());
        self.schema().default(&mut value);
        let mut read = Object::from_value(value).unwrap_or_else(|_| stored.clone());
        read.set_generation(read.generation().max(1));
        read
    }
}

fn undecodable(text: String) -> Answer {
    Answer {
        object: None,
        is_new_generation: false,
        warnings: Vec::new(),
        actions: Vec::new(),
        refusal: Some(Refusal::Undecodable(text)),
    }
}
