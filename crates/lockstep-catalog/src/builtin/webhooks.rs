//! Validation of the match conditions of webhook configurations.

use std::collections::BTreeSet;

use lockstep_cel::context::admission_environment as environment;
use lockstep_cel::{Type, Version, issue};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{Object, Value};

/// Rejects match conditions that do not compile. An expression that is stored already may use all CEL features, so that
/// an update after a downgrade does not fail on it.
pub(super) fn validate(new: &Object, old: Option<&Object>, version: Version) -> FieldErrors {
    let expressions = all(new);
    if expressions.is_empty() {
        return FieldErrors::new();
    }
    let before = old.map(all).unwrap_or_default();
    let before: BTreeSet<&str> = before.into_iter().map(|(_, text)| text).collect();
    let (fresh, stored) = (environment(version), environment(Version::LATEST));
    let mut errors = FieldErrors::new();
    for ((webhook, condition), expression) in expressions {
        let is_stored = before.contains(expression);
        let env = if is_stored { &stored } else { &fresh };
        let problem = match env.compile(expression) {
            Ok(program) if *program.static_type() == Type::Bool => continue,
            Ok(program) => format!("must evaluate to bool but got {}", program.static_type()),
            Err(issues) => format!("compilation failed: {}", issue::render(&issues)),
        };
        let path = Path::ROOT.field("webhooks");
        let path = path.index(webhook);
        let path = path.field("matchConditions");
        let path = path.index(condition);
        let path = path.field("expression");
        errors.push(FieldError::invalid(&path, expression, problem));
    }
    errors
}

/// All non-empty match conditions, with the indexes of webhook and condition.
fn all(configuration: &Object) -> Vec<((usize, usize), &str)> {
    let webhooks = configuration.at(&["webhooks"]).and_then(Value::as_array);
    let webhooks = webhooks.into_iter().flatten().enumerate();
    let conditions = webhooks.flat_map(|(webhook, value)| {
        let conditions = value["matchConditions"].as_array();
        let conditions = conditions.into_iter().flatten().enumerate();
        conditions.map(move |(at, condition)| {
            let text = condition["expression"].as_str();
            ((webhook, at), text.unwrap_or_default().trim())
        })
    });
    conditions.filter(|(_, text)| !text.is_empty()).collect()
}
