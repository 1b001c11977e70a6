//! Validation of defaults against the schema around them.

use super::nested::{self, Link};
use crate::compile::{self, Place};
use crate::correlate::Old;
use crate::keywords::{flag, given};
use crate::node::Node;
use crate::rules::Evaluation;
use crate::validate::{self, Findings};
use crate::{embedded, prune};
use lockstep_cel::Version;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::metadata::{self, Malformed, is_type_or_metadata};
use serde_json::{Map, Value};

/// Validates the defaults of a structural schema.
pub(super) fn check(schema: &Value, path: &Path<'_>) -> FieldErrors {
    let mut errors = FieldErrors::new();
    check_at(schema, Inside::Nothing, true, path, &mut errors);
    errors
}

/// The field of a resource that a schema describes a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Metadata,
}

fn check_at(
    schema: &Value,
    inside: Inside,
    is_root: bool,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let inside = if embedded { Inside::Nothing } else { inside };
    if let Some(default) = given(schema, "default") {
        let path = path.field("default");
        match compile::compile(schema, Place::Part, Version::LATEST) {
            Ok(node) => errors.append(check_default(default, &node, inside, &path)),
            Err(error) => errors.push(FieldError::invalid(&path, default, error.to_string())),
        }
    }
    for (link, below) in nested::all(schema) {
        let inside = match link {
            Link::Property(name) if (is_root || embedded) && is_type_or_metadata(name) => {
                Inside::Metadata
            }
            Link::Items | Link::Property(_) => inside,
            // Defaults of map values are judged where the map is; alternatives have none.
            Link::Additional | Link::Not | Link::Alternative(..) => continue,
        };
        link.with_path(path, |path| check_at(below, inside, false, path, errors));
    }
}

fn check_default(default: &Value, node: &Node, inside: Inside, path: &Path<'_>) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let mut copy = default.clone();
    match inside {
        Inside::Metadata => {
            if let Some(problem) = not_metadata(&copy) {
                let problem = format!("must result in valid metadata: {problem}");
                return [FieldError::invalid(path, default, problem)].into();
            }
        }
        Inside::Nothing => {
            prune::prune_part(&mut copy, node, &mut Vec::new());
            if copy != *default {
                errors.push(FieldError::invalid(
                    path,
                    default,
                    "must not have unknown fields",
                ));
            }
            let mut coerced = default.clone();
            let unknown = &mut Vec::new();
            if let Err(error) =
                embedded::coerce_part(&mut coerced, node, Malformed::Refuse, unknown, path)
            {
                errors.push(error);
                return errors;
            }
            embedded::validate(default, node, path, &mut errors);
        }
    }
    if !errors.is_empty() {
        return errors;
    }
    errors.append(values(default, node, path));
    if errors.is_empty() {
        errors.append(rules(default, node, path));
    }
    errors
}

/// Error for a default of a whole `metadata`; defaults of its fields are validated by type.
fn not_metadata(default: &Value) -> Option<String> {
    let Value::Object(entries) = default else {
        return None;
    };
    let mut value = Value::Object(Map::clone(entries));
    let path = Path::ROOT.field("metadata");
    let shaped =
        metadata::normalize_metadata(&mut value, &path, Malformed::Refuse, &mut Vec::new());
    shaped.err().map(|error| error.to_string())
}

fn values(default: &Value, node: &Node, path: &Path<'_>) -> FieldErrors {
    let mut findings = Findings::below(path.steps().len());
    validate::validate(node, default, Old::NONE, path, &mut findings);
    findings.into_parts().0
}

/// Rules hold for a default that replaces itself, and for one that is new.
fn rules(default: &Value, node: &Node, path: &Path<'_>) -> FieldErrors {
    for old in [Old(Some(default)), Old::NONE] {
        let mut evaluation = Evaluation::strict();
        evaluation.run(node, default, old, path);
        if !evaluation.errors.is_empty() {
            return evaluation.errors;
        }
    }
    FieldErrors::new()
}
