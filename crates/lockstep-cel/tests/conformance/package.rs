//! The language suite as the npm package `@bufbuild/cel-spec` has it, in the form of our case files.
//!
//! The package writes protobuf JSON: names in camel case, and no expectation where the result is `true`.

use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Reads the exports of the package: each section with its case file.
pub(crate) fn sections(text: &str) -> BTreeMap<String, Json> {
    let exports: Json = serde_json::from_str(text).expect("the suite is JSON");
    let sections = array(&exports["tests"], "suites");
    sections
        .iter()
        .map(|section| {
            let name = text_of(section, "name").to_owned();
            let tests: Vec<Json> = array(section, "suites").iter().flat_map(group).collect();
            (name.clone(), json!({"name": name, "tests": tests}))
        })
        .collect()
}

/// Cases of a group, which our files call a section of the file.
fn group(group: &Json) -> Vec<Json> {
    let case = |test: &Json| {
        let mut case = snake_case(&test["original"]);
        let members = case.as_object_mut().expect("a case is an object");
        members.insert("section".to_owned(), group["name"].clone());
        if !EXPECTATIONS.iter().any(|name| members.contains_key(*name)) {
            members.insert("value".to_owned(), json!({"bool_value": true}));
        }
        let id = (text_of(group, "name"), text_of(&test["original"], "name"));
        if needs_protobuf(members) || LEFT_OUT.contains(&id) {
            members.insert("needs".to_owned(), json!(["proto"]));
        }
        case
    };
    array(group, "tests").iter().map(case).collect()
}

const EXPECTATIONS: [&str; 6] = [
    "value",
    "typed_result",
    "eval_error",
    "any_eval_errors",
    "unknown",
    "any_unknowns",
];

/// Cases that cel-go, and so every Kubernetes server, answers differently from the suite: it returns a duration in
/// milliseconds, not its part below a second.
const LEFT_OUT: [(&str, &str); 1] = [("duration_converters", "get_milliseconds")];

/// True for a case about protobuf messages, which do not occur with JSON objects.
fn needs_protobuf(case: &Map<String, Json>) -> bool {
    let expression = case.get("expr").and_then(Json::as_str).unwrap_or_default();
    let builds_wrapper = expression.contains("google.protobuf.") && expression.contains('{');
    builds_wrapper
        || expression.contains("TestAllTypes")
        || Json::Object(case.clone())
            .to_string()
            .contains("cel.expr.conformance.proto")
}

/// The names of messages and fields in snake case. Names of variables, and protobuf messages in `Any`, are data.
fn snake_case(json: &Json) -> Json {
    match json {
        Json::Object(members) if members.contains_key("@type") => json.clone(),
        Json::Object(members) => {
            let member = |(name, value): (&String, &Json)| {
                let value = match (name.as_str(), value) {
                    ("bindings", Json::Object(variables)) => variables
                        .iter()
                        .map(|(variable, value)| (variable.clone(), snake_case(value)))
                        .collect(),
                    _ => snake_case(value),
                };
                (snake_name(name), value)
            };
            members.iter().map(member).collect()
        }
        Json::Array(elements) => elements.iter().map(snake_case).collect(),
        other => other.clone(),
    }
}

fn snake_name(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn array<'j>(json: &'j Json, name: &str) -> &'j [Json] {
    json[name].as_array().map_or(&[], Vec::as_slice)
}

fn text_of<'j>(json: &'j Json, name: &str) -> &'j str {
    json[name].as_str().unwrap_or_default()
}

#[test]
fn names_become_snake_case_and_an_absent_expectation_is_true() {
    let exports = json!({"tests": {"name": "conformance", "suites": [{"name": "odd", "suites": [{
        "name": "group",
        "tests": [
            {"original": {
                "name": "bound",
                "expr": "camelCase",
                "bindings": {"camelCase": {"value": {"int64Value": "1"}}},
                "typeEnv": [{"name": "camelCase", "ident": {"type": {"primitive": "INT64"}}}],
                "value": {"int64Value": "1"}
            }},
            {"original": {"name": "implied", "expr": "1 < 2"}},
            {"original": {"name": "message", "expr": "google.protobuf.Int32Value{} == 0"}},
        ]
    }]}]}});
    let expected = json!({"name": "odd", "tests": [
        {
            "section": "group",
            "name": "bound",
            "expr": "camelCase",
            "bindings": {"camelCase": {"value": {"int64_value": "1"}}},
            "type_env": [{"name": "camelCase", "ident": {"type": {"primitive": "INT64"}}}],
            "value": {"int64_value": "1"}
        },
        {"section": "group", "name": "implied", "expr": "1 < 2", "value": {"bool_value": true}},
        {
            "section": "group",
            "name": "message",
            "expr": "google.protobuf.Int32Value{} == 0",
            "value": {"bool_value": true},
            "needs": ["proto"]
        },
    ]});
    let sections = sections(&exports.to_string());
    assert_eq!(sections.get("odd"), Some(&expected));
}
