//! The object form of label selectors: `matchLabels` and `matchExpressions`.

use super::label::{LabelRequirement, LabelSelector, Operator};
use crate::field::{FieldError, FieldErrors, Path};
use crate::names;
use serde_json::Value;

const OPERATORS: [(&str, Operator); 4] = [
    ("In", Operator::In),
    ("NotIn", Operator::NotIn),
    ("Exists", Operator::Exists),
    ("DoesNotExist", Operator::DoesNotExist),
];

/// Converts a `LabelSelector` object (`matchLabels`, `matchExpressions`). An empty object matches everything; the
/// caller decides what an absent one means, since that differs between APIs.
pub fn from_label_selector(selector: &Value) -> Result<LabelSelector, FieldErrors> {
    let path = Path::ROOT;
    let mut requirements = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        requirements.push(LabelRequirement::new(
            key,
            Operator::Equals,
            [value],
            &path,
        )?);
    }
    for expression in expressions(selector) {
        let operator = text(expression, "operator");
        let Some((_, operator)) = OPERATORS.into_iter().find(|(name, _)| *name == operator) else {
            let problem = "not a valid label selector operator";
            let error = FieldError::invalid(&path.field("operator"), operator, problem);
            return Err([error].into());
        };
        requirements.push(LabelRequirement::new(
            text(expression, "key"),
            operator,
            values(expression),
            &path,
        )?);
    }
    Ok(LabelSelector::new(requirements))
}

/// Validates a `LabelSelector` object as built-in kinds do.
pub fn validate_label_selector(selector: &Value, path: &Path<'_>) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let labels_path = path.field("matchLabels");
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let problems = names::qualified_name(key).into_iter();
        errors.extend(
            problems.map(|problem| FieldError::invalid(&labels_path, key.as_str(), problem)),
        );
        let value = value.as_str().unwrap_or_default();
        let problems = names::label_value(value).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(&labels_path, value, problem)));
    }
    let expressions_path = path.field("matchExpressions");
    for (index, expression) in expressions(selector).iter().enumerate() {
        validate_expression(expression, &expressions_path.index(index), &mut errors);
    }
    errors
}

fn validate_expression(expression: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let values: Vec<&str> = values(expression).collect();
    let values_path = path.field("values");
    match text(expression, "operator") {
        "In" | "NotIn" => {
            if values.is_empty() {
                let problem = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&values_path, problem));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let problem = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&values_path, problem));
            }
        }
        other => {
            let problem = "not a valid selector operator";
            errors.push(FieldError::invalid(&path.field("operator"), other, problem));
        }
    }
    let key = text(expression, "key");
    let key_path = path.field("key");
    let problems = names::qualified_name(key).into_iter();
    errors.extend(problems.map(|problem| FieldError::invalid(&key_path, key, problem)));
    for (index, value) in values.into_iter().enumerate() {
        let value_path = values_path.index(index);
        let problems = names::label_value(value).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(&value_path, value, problem)));
    }
}

fn expressions(selector: &Value) -> &[Value] {
    let list = selector.get("matchExpressions").and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn text<'a>(expression: &'a Value, field: &str) -> &'a str {
    expression
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn values(expression: &Value) -> impl Iterator<Item = &str> {
    let values = expression.get("values").and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str)
}
