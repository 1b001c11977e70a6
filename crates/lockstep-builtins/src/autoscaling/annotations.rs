//! Annotation values in the JSON form and field order of Go structs.

use lockstep_kinds::{Table, typed};
use lockstep_object::{Map, Value, json};
use serde_json::json;

/// The fields of metrics and conditions in an order that suits all of them.
const ORDER: [&str; 30] = [
    "type",
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
    "status",
    "lastTransitionTime",
    "reason",
    "message",
    "kind",
    "name",
    "apiVersion",
    "target",
    "metricName",
    "metricSelector",
    "targetAverageUtilization",
    "targetValue",
    "targetAverageValue",
    "currentAverageUtilization",
    "currentValue",
    "currentAverageValue",
    "selector",
    "averageValue",
    "container",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
];

/// A field of the behavior: what the annotation calls it, what JSON calls it, and what it holds.
struct Row(&'static str, &'static str, &'static [Self]);

/// The annotation has the names of an internal type, and all of its fields.
const BEHAVIOR: &[Row] = &[
    Row("ScaleUp", "scaleUp", RULES),
    Row("ScaleDown", "scaleDown", RULES),
];
const RULES: &[Row] = &[
    Row(
        "StabilizationWindowSeconds",
        "stabilizationWindowSeconds",
        &[],
    ),
    Row("SelectPolicy", "selectPolicy", &[]),
    Row("Policies", "policies", POLICY),
    Row("Tolerance", "tolerance", &[]),
];
const POLICY: &[Row] = &[
    Row("Type", "type", &[]),
    Row("Value", "value", &[]),
    Row("PeriodSeconds", "periodSeconds", &[]),
];

/// Metrics or conditions.
pub(super) fn list(value: &Value) -> String {
    let mut out = String::new();
    print(value, &mut out);
    out
}

fn print(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => wrap(out, ['[', ']'], items, print),
        Value::Object(entries) => {
            let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
            entries.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name));
            wrap(out, ['{', '}'], entries, |(name, value), out| {
                key(name, out);
                match name.as_str() {
                    // Its keys are the users'.
                    "matchLabels" => out.push_str(&json::encode_to_string(value)),
                    _ => print(value, out),
                }
            });
        }
        _ => out.push_str(&json::encode_to_string(value)),
    }
}

/// A behavior.
pub(super) fn behavior(value: &Value) -> String {
    let mut out = String::new();
    print_rows(value, BEHAVIOR, &mut out);
    out
}

fn print_rows(value: &Value, rows: &[Row], out: &mut String) {
    match value {
        Value::Array(items) => wrap(out, ['[', ']'], items, |item, out| {
            print_rows(item, rows, out);
        }),
        Value::Object(entries) if !rows.is_empty() => {
            wrap(out, ['{', '}'], rows, |Row(printed, name, inner), out| {
                key(printed, out);
                print_rows(entries.get(*name).unwrap_or(&Value::Null), inner, out);
            });
        }
        _ => out.push_str(&json::encode_to_string(value)),
    }
}

/// Decodes the behavior annotation. Go matches field names case-insensitively.
pub(super) fn behavior_of(value: Value) -> Value {
    read_rows(value, BEHAVIOR)
}

fn read_rows(value: Value, rows: &[Row]) -> Value {
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| read_rows(item, rows))
            .collect(),
        Value::Object(entries) if !rows.is_empty() => {
            let mut read = Map::new();
            for (found, value) in entries {
                let row = rows.iter().find(|row| row.1.eq_ignore_ascii_case(&found));
                if let Some(Row(_, name, inner)) = row.filter(|_| !value.is_null()) {
                    read.insert((*name).to_owned(), read_rows(value, inner));
                }
            }
            read.into()
        }
        other => other,
    }
}

/// True if a value has the type of the `v2` field; others are ignored.
pub(super) fn fits(place: &str, field: &str, value: &Value) -> bool {
    let table = Table::builtin();
    let kind = table.kind("autoscaling", "v2", "HorizontalPodAutoscaler");
    let mut object = json!({ place: { field: value } });
    kind.zip(object.as_object_mut())
        .is_some_and(|(kind, object)| typed::read(table, kind, object, &mut Vec::new()).is_ok())
}

fn key(name: &str, out: &mut String) {
    out.push_str(&json::encode_to_string(&name.into()));
    out.push(':');
}

fn wrap<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    one: impl Fn(T, &mut String),
) {
    out.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        one(item, out);
    }
    out.push(close);
}
