//! One field of the table as text.

use std::fmt;

use anyhow::ensure;
use serde_json::{Value, json};

use super::Fact;
use super::expression::Names;

/// Separator between the values of an enumeration, and for a space in one of them.
const BETWEEN: &str = "|";
const SPACE: &str = "~";

/// A field: name, type, tag, flags, facts.
pub(super) struct Row {
    name: String,
    expression: String,
    tag: String,
    flags: String,
    facts: Vec<String>,
}

impl Row {
    pub(super) fn new(
        names: &Names<'_>,
        fact: &Fact,
        schema: Option<&Value>,
    ) -> anyhow::Result<Self> {
        let star = if fact.p { "*" } else { "" };
        let expression = names.expression(&fact.t)?;
        let property = schema.map_or(&Value::Null, |schema| &schema["properties"][&fact.j]);
        let required = schema.map_or(&Value::Null, |schema| &schema["required"]);
        let is_required = required
            .as_array()
            .is_some_and(|names| names.iter().any(|name| *name == *fact.j));
        let letters = [('o', fact.o), ('z', fact.oz), ('r', is_required)];
        let flags: String = letters
            .iter()
            .filter(|row| row.1)
            .map(|row| row.0)
            .collect();
        let mut facts = Vec::new();
        facts.extend(fact.ps.as_ref().map(|ps| format!("ps={ps}")));
        facts.extend(fact.pmk.as_ref().map(|pmk| format!("pk={pmk}")));
        facts.extend(list(property));
        facts.extend(
            property["x-kubernetes-map-type"]
                .as_str()
                .map(|text| format!("map={text}")),
        );
        facts.extend(enumeration(property)?);
        facts.extend(default(fact, property));
        let or_dash = |text: String| {
            if text.is_empty() {
                "-".to_owned()
            } else {
                text
            }
        };
        Ok(Self {
            name: if fact.j.is_empty() {
                ".".to_owned()
            } else {
                fact.j.clone()
            },
            expression: format!("{star}{expression}"),
            tag: or_dash(fact.n.clone().unwrap_or_default()),
            flags: or_dash(flags),
            facts,
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            expression,
            tag,
            flags,
            facts,
        } = self;
        write!(f, "{name} {expression} {tag} {flags}")?;
        facts.iter().try_for_each(|fact| write!(f, " {fact}"))
    }
}

/// Schema attributes of a whole type.
pub(super) fn type_facts(schema: Option<&Value>) -> String {
    let schema = schema.unwrap_or(&Value::Null);
    let mut text = String::new();
    if schema["x-kubernetes-map-type"] == "atomic" {
        text.push_str(" atomic");
    }
    if let Some(unions) = schema.get("x-kubernetes-unions") {
        text.push_str(&format!(" unions={unions}"));
    }
    text
}

fn list(property: &Value) -> Option<String> {
    let kind = property["x-kubernetes-list-type"].as_str()?;
    let keys = property["x-kubernetes-list-map-keys"].as_array();
    let keys: Vec<&str> = keys
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let colon = if keys.is_empty() { "" } else { ":" };
    Some(format!("list={kind}{colon}{}", keys.join(",")))
}

fn enumeration(property: &Value) -> anyhow::Result<Option<String>> {
    let places = [
        property,
        &property["items"],
        &property["additionalProperties"],
    ];
    let Some(values) = places.iter().find_map(|place| place["enum"].as_array()) else {
        return Ok(None);
    };
    let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    let text = values.join(BETWEEN);
    ensure!(!text.contains(SPACE), "an enumeration has a {SPACE}");
    Ok(Some(format!("enum={}", text.replace(' ', SPACE))))
}

/// A default that is not what the type alone says; `-` if the type says one and there is none.
fn default(fact: &Fact, property: &Value) -> Option<String> {
    if property.is_null() {
        return None;
    }
    let is_reference = property.get("allOf").or(property.get("$ref")).is_some();
    let derived = match property["type"].as_str() {
        _ if fact.p => None,
        _ if is_reference => Some(json!({})),
        _ if fact.o => None,
        Some("string") => Some(json!("")),
        Some("integer") => Some(json!(0)),
        Some("boolean") => Some(json!(false)),
        _ => None,
    };
    let said = property.get("default");
    (said != derived.as_ref()).then(|| match said {
        Some(value) => format!("default={value}"),
        None => "default=-".to_owned(),
    })
}
