//! A request without a server: a write with what a server does before it and tells after it.

use lockstep_object::Object;
use lockstep_object::field::FieldError;
use lockstep_object::incoming::FieldValidation;

use crate::action::Kind;
use crate::offline::{Offline, Written};

/// What a server would answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The object as gates leave it, which is stored if nothing is wrong with it; none if the request was refused
    /// before anything looked at it.
    pub object: Option<Object>,
    /// Whether its generation is another than before.
    pub is_new_generation: bool,
    /// What the client would be told, each text once.
    pub warnings: Vec<String>,
    /// What gates did.
    pub actions: Vec<Done>,
    /// Why it is refused; nothing if it is stored.
    pub refusal: Option<Refusal>,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// It says what the schema does not know, and unknown fields are not let in.
    Undecodable(String),
    /// The object breaks rules.
    Invalid(Vec<FieldError>),
}

/// What a gate did at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The name of the gate.
    pub gate: String,
    /// `spec.jobs[name="web"].probe`
    pub place: String,
    /// What it did.
    pub kind: Kind,
}

impl Offline {
    /// Answers a request for an object in the version that is stored, over what is stored of it.
    ///
    /// What is stored gets the shape of today first, as a server reads it. The generation that a request brings counts
    /// for nothing; a stored object that has none yet is of its first.
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
        let told = match validation.judge(&[], &judged.unknown) {
            Ok(told) => told,
            Err(text) => return undecodable(text),
        };
        let mut warnings: Vec<String> = Vec::new();
        for warning in told.into_iter().chain(judged.warnings) {
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

    /// A stored object as a server reads it.
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
