//! A review and its response, without HTTP.

use lockstep_admission::diff::json_patch;
use lockstep_admission::outcome::Outcome;
use lockstep_admission::request::Operation;
use lockstep_object::{Object, Value};
use lockstep_write::offline::policies::Described;

use crate::carry::carry;
use crate::policies::Loaded;
use crate::review::{Malformed, Review};

/// The phase that a path of the webhook is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Mutating policies.
    Mutate,
    /// Validating policies.
    Validate,
}

/// Verdict of a review, as metrics count it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Allowed as it is.
    Allowed,
    /// Allowed with changes.
    Mutated,
    /// Denied.
    Denied,
    /// The body is no review.
    Malformed,
}

impl Verdict {
    /// Name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Mutated => "mutated",
            Self::Denied => "denied",
            Self::Malformed => "malformed",
        }
    }
}

/// Response to a review.
#[derive(Debug)]
pub struct Answer {
    /// Status code of HTTP.
    pub code: u16,
    /// The `AdmissionReview`.
    pub body: Value,
    /// The verdict.
    pub verdict: Verdict,
    /// Outcome of the policies.
    pub outcome: Outcome,
}

/// Evaluates policies on the body of a review.
pub fn answer(phase: Phase, loaded: &Loaded, body: &[u8]) -> Answer {
    let review = match Review::read(body) {
        Ok(review) => review,
        Err(Malformed(body)) => {
            return Answer {
                code: 400,
                body,
                verdict: Verdict::Malformed,
                outcome: Outcome::default(),
            };
        }
    };
    // Mutating policies are never about deletions.
    let is_idle = phase == Phase::Mutate && review.request.operation == Operation::Delete;
    let (outcome, patch) = if is_idle {
        (Outcome::default(), Vec::new())
    } else {
        evaluate(phase, loaded, &review)
    };
    let (body, verdict) = match &outcome.error {
        Some(error) => (review.denied(&outcome, error), Verdict::Denied),
        None if patch.is_empty() => (review.allowed(&outcome, &patch), Verdict::Allowed),
        None => (review.allowed(&outcome, &patch), Verdict::Mutated),
    };
    Answer {
        code: 200,
        body,
        verdict,
        outcome,
    }
}

/// The response to a review whose evaluation broke down.
pub(crate) fn broken(body: &[u8], code: u16, why: &str) -> Value {
    match Review::read(body) {
        Ok(review) => review.failed(code, why),
        Err(Malformed(body)) => body,
    }
}

fn evaluate(phase: Phase, loaded: &Loaded, review: &Review) -> (Outcome, Vec<Value>) {
    let described = Described {
        request: review.request.clone(),
        version: review.version.clone(),
        object: review.object.clone(),
        old: review.old.clone(),
        user: &review.user,
        authorizer: loaded.authorizer.clone(),
    };
    let failed = |error| Outcome {
        error: Some(error),
        ..Outcome::default()
    };
    match phase {
        Phase::Validate => {
            let validated = loaded.workspace.validate(described);
            (validated.unwrap_or_else(failed), Vec::new())
        }
        Phase::Mutate => match loaded.workspace.mutate(described) {
            Err(error) => (failed(error), Vec::new()),
            Ok(mutated) => {
                let objects = review.object.as_ref().zip(mutated.objects.as_ref());
                let patch =
                    objects.map(|(original, (before, after))| patch(original, before, after));
                (mutated.outcome, patch.unwrap_or_default())
            }
        },
    }
}

fn patch(original: &Object, before: &Object, after: &Object) -> Vec<Value> {
    let original = original.as_value();
    let carried = carry(original, before.as_value(), after.as_value());
    json_patch(original, &carried)
}

/// RFC 6902 to the letter, for tests: upstream's lenience is ours too, so that its implementation proves nothing.
#[doc(hidden)]
pub mod strict {
    use lockstep_object::Value;

    /// Applies a patch of `add`, `remove` and `replace`.
    pub fn apply(document: &mut Value, patch: &Value) -> Result<(), String> {
        let operations = patch.as_array().ok_or("the patch is not a list")?;
        operations
            .iter()
            .try_for_each(|operation| step(document, operation))
    }

    fn step(document: &mut Value, operation: &Value) -> Result<(), String> {
        let path = operation["path"].as_str().ok_or("no path")?;
        let wrong = |what: &str| format!("{path}: {what}");
        let op = operation["op"].as_str().ok_or("no op")?;
        let value = operation.get("value");
        let value = || value.cloned().ok_or_else(|| wrong("no value"));
        let Some((parent, last)) = path.rsplit_once('/') else {
            if !path.is_empty() || op == "remove" {
                return Err(wrong("the path does not begin with a slash"));
            }
            *document = value()?;
            return Ok(());
        };
        let unescaped = last.replace("~1", "/").replace("~0", "~");
        match document.pointer_mut(parent) {
            Some(Value::Object(entries)) => match op {
                "add" => drop(entries.insert(unescaped, value()?)),
                "replace" => {
                    let place = entries.get_mut(&unescaped);
                    *place.ok_or_else(|| wrong("nothing to replace"))? = value()?;
                }
                "remove" => drop(
                    entries
                        .remove(&unescaped)
                        .ok_or_else(|| wrong("nothing to remove"))?,
                ),
                _ => return Err(wrong("unknown op")),
            },
            Some(Value::Array(items)) => {
                let is_number = last == "0"
                    || !last.starts_with('0') && last.bytes().all(|byte| byte.is_ascii_digit());
                let index: usize = match last {
                    "-" if op == "add" => items.len(),
                    _ if is_number => last.parse().map_err(|_| wrong("no index"))?,
                    _ => return Err(wrong("no index")),
                };
                match op {
                    "add" if index <= items.len() => items.insert(index, value()?),
                    "replace" if index < items.len() => items[index] = value()?,
                    "remove" if index < items.len() => drop(items.remove(index)),
                    _ => return Err(wrong("the index is beyond the list")),
                }
            }
            _ => return Err(wrong("no parent")),
        }
        Ok(())
    }
}
