//! The rules as data: one file for each step an object or a schema goes through. Every case names its row.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_cel::Version;
use lockstep_object::field::{FieldErrors, Path};
use lockstep_object::json::normalise_numbers;
use lockstep_object::metadata::Malformed;
use lockstep_schema::{CheckOptions, Part, Schema, StatusSubresource, check};
use lockstep_testkit::cases::{CaseFile, same};
use serde_json::{Value, json};

/// Compares what `judge` makes of each case of a file with its `result`.
fn run(file: &str, judge: impl Fn(&Value) -> Value) {
    let file = CaseFile::read(file).map(normalise_numbers);
    file.results("result", |case| judge(case.own));
}

fn texts(errors: &FieldErrors) -> Value {
    errors
        .iter()
        .map(|error| Value::from(error.to_string()))
        .collect()
}

/// The compiled schema of a case: its `schema`, or an object whose `spec` has the schema `spec`.
fn compiled(case: &Value) -> Schema {
    Schema::compile(&whole(case)).unwrap()
}

fn whole(case: &Value) -> Value {
    match case.get("schema") {
        Some(schema) => schema.clone(),
        None => json!({"type": "object", "properties": {"spec": case["spec"]}}),
    }
}

#[test]
fn unknown_fields_are_dropped_and_told() {
    run("prune.yaml", |case| {
        let mut object = case["object"].clone();
        let mut unknown = Vec::new();
        compiled(case).prune(&mut object, &mut unknown);
        json!({"object": object, "unknown": unknown})
    });
}

#[test]
fn defaults_fill_what_is_left_out() {
    run("default.yaml", |case| {
        let mut object = case["object"].clone();
        compiled(case).default(&mut object);
        object
    });
}

#[test]
fn type_and_metadata_are_brought_into_shape() {
    run("coerce.yaml", |case| {
        let mut object = case["object"].clone();
        let malformed = if case["stored"] == true {
            Malformed::Drop
        } else {
            Malformed::Refuse
        };
        let mut unknown = Vec::new();
        match compiled(case).coerce(&mut object, malformed, &mut unknown) {
            Ok(()) => json!({"object": object, "unknown": unknown}),
            Err(error) => json!({"error": error.to_string()}),
        }
    });
}

fn judge(case: &Value) -> Value {
    let part = if case["part"] == "status" {
        Part::Status
    } else {
        Part::Whole
    };
    let outcome = compiled(case).validate(&case["object"], case.get("stored"), part);
    if outcome.warnings.is_empty() {
        texts(&outcome.errors)
    } else {
        json!({"errors": texts(&outcome.errors), "warnings": outcome.warnings})
    }
}

#[test]
fn values_keep_their_types_and_limits() {
    run("values.yaml", judge);
}

#[test]
fn lists_and_embedded_resources_keep_their_rules() {
    run("lists.yaml", judge);
}

#[test]
fn rules_see_new_and_old_values() {
    run("rules.yaml", judge);
}

#[test]
fn what_did_not_change_is_forgiven() {
    run("ratcheting.yaml", judge);
}

#[test]
fn texts_have_the_formats_that_are_known() {
    run("formats.yaml", |case| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "format": case["format"]}}});
        let schema = Schema::compile(&schema).unwrap();
        let refused = case["texts"].as_array().unwrap().iter().filter(|text| {
            let outcome = schema.validate(&json!({"a": text}), None, Part::Whole);
            !outcome.errors.is_empty()
        });
        refused.cloned().collect()
    });
}

fn judge_schema(case: &Value) -> Value {
    let path = Path::ROOT.field("spec");
    let path = path.field("validation");
    let path = path.field("openAPIV3Schema");
    let status = if case["status"] == true {
        StatusSubresource::Present
    } else {
        StatusSubresource::Absent
    };
    let stored: Vec<&Value> = case.get("stored").into_iter().collect();
    let options = CheckOptions {
        version: case["version"]
            .as_str()
            .map_or(Version::LATEST, |text| text.parse().unwrap()),
        stored: &stored,
        status,
    };
    let schema = whole(case);
    let errors = check(&schema, &path, options);
    if errors.is_empty() {
        Schema::compile(&schema).unwrap();
    }
    let prefix = "spec.validation.openAPIV3Schema";
    let texts = errors
        .iter()
        .map(|error| error.to_string().replacen(prefix, "~", 1));
    texts.map(Value::from).collect()
}

#[test]
fn schemas_are_structural() {
    run("structural.yaml", judge_schema);
}

#[test]
fn extensions_and_defaults_of_schemas_make_sense() {
    run("extensions.yaml", judge_schema);
}

#[test]
fn rules_of_schemas_compile_and_cost_what_they_may() {
    run("rule-checks.yaml", judge_schema);
}

/// Errors of a rule as reported to the author of the CRD, in short.
fn verdict(schema: &Value, rule: &str) -> String {
    let mut spec = schema.clone();
    spec["x-kubernetes-validations"] = json!([{ "rule": rule }]);
    let errors = judge_schema(&json!({ "spec": spec }));
    let Some(first) = errors[0].as_str() else {
        return "fine".to_owned();
    };
    let between = |text: &'static str, end: &str| {
        let rest = first.split_once(text)?.1;
        Some(rest.split(end).next().unwrap_or(rest).to_owned())
    };
    if let Some(factor) = between("exceeds budget by factor of ", " (") {
        return format!("costs {factor} the budget");
    }
    let error = between("ERROR: <input>:", "\n");
    error.unwrap_or_else(|| first.rsplit("}: ").next().unwrap_or(first).to_owned())
}

#[test]
fn rules_are_taken_or_refused_as_upstream_takes_or_refuses_them() {
    CaseFile::read("rule-verdicts.yaml").check(|case| {
        let rule = case[0].as_str().unwrap();
        let verdict = verdict(&case.shared["schema"], rule);
        same(&case[1], &verdict.into()).map_err(|why| format!("{rule}\n{why}"))
    });
}
