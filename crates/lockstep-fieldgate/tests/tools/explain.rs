//! Explanations of fields.

use lockstep_fieldgate::{ExplainError, FieldPath, explain};
use lockstep_object::Object;
use lockstep_testkit::cases::same;
use serde_json::{Value, json};

use crate::definition::{Moment, definition};

fn actual(case: &Value) -> Value {
    let definition = Object::from_value(definition(case, Moment::Now)).unwrap();
    let path = FieldPath::parse(case["path"].as_str().unwrap()).unwrap();
    match explain(&definition, &path) {
        Ok(told) => {
            let say = told.gates.iter().map(|say| {
                let (position, stage) = (say.position.as_str(), say.stage.as_str());
                let (enabled, rule) = (say.is_enabled, say.rule.as_str());
                format!(
                    "{position} {} {stage} {enabled} {rule} {}",
                    say.gate, say.path
                )
            });
            let say: Vec<String> = say.collect();
            json!({"say": say, "create": told.create, "update": told.update})
        }
        Err(error) => {
            let text = error.to_string();
            match error {
                ExplainError::NoField {
                    unknown: Some((step, known)),
                    ..
                } => json!({"error": text, "unknown": [step, known]}),
                _ => json!({"error": text}),
            }
        }
    }
}

#[test]
fn explain_says_what_the_cases_say() {
    super::cases("explain.yaml").check(|case| {
        let mut expected = case.own.clone();
        let fields = expected.as_object_mut().unwrap();
        for input in ["name", "gates", "gate", "path"] {
            fields.remove(input);
        }
        if fields.contains_key("create") {
            fields.entry("say").or_insert(json!([]));
        }
        same(&expected, &actual(case.own))
    });
}

#[test]
fn a_definition_that_refuses_is_explained_so() {
    let mut closed = definition(&json!({"gates": ["R-"]}), Moment::Now);
    closed["spec"]["customFeatureGates"]["disabledFieldPolicy"] = json!("Reject");
    let told = explain(
        &Object::from_value(closed).unwrap(),
        &FieldPath::parse(".spec.replicas").unwrap(),
    )
    .unwrap();
    assert_eq!(
        (told.create.as_str(), told.update.as_str()),
        (
            "refused (422): feature gate istio/R (alpha) is disabled",
            "refused (422) if it changes, and kept as it is stored if it is left out: feature gate istio/R (alpha) is disabled"
        )
    );
}
