//! Rules and conditions, which webhooks and policies share: `tests/matching/*.yaml`.

use std::path::Path;

use lockstep_admission::conditions::{Bindings, Conditions, MatchResult};
use lockstep_admission::envs::HasParams;
use lockstep_admission::rules::{Rule, Target};
use lockstep_cel::{Opaque, authorizer as cel};
use lockstep_testkit::cases::CaseFile;
use serde_json::{Value, json};

/// api-machinery.md §12/webhook-rules.
#[test]
fn a_rule_is_about_the_writes_it_names() {
    for case in CaseFile::at(Path::new("tests/matching/rules.yaml")).cases() {
        let rule = Rule::read(&case["rule"]);
        let has_writes = case["about"].is_array() || case["not"].is_array();
        assert!(has_writes, "{}", case.own);
        for (field, expected) in [("about", true), ("not", false)] {
            for write in case[field].as_array().into_iter().flatten() {
                let text = write.as_str().unwrap();
                let words: Vec<&str> = text.split(' ').collect();
                let place: Vec<&str> = words[1].splitn(4, '/').collect();
                let target = Target {
                    operation: words[0],
                    group: place[0],
                    version: place[1],
                    resource: place[2],
                    subresource: place.get(3).copied().unwrap_or_default(),
                    name: "",
                    is_namespaced: words.get(2) == Some(&"@"),
                };
                assert_eq!(rule.matches(&target), expected, "{}: {write}", case["case"]);
            }
        }
    }
}

#[derive(Debug)]
struct MayFrob;

impl cel::Authorizer for MayFrob {
    fn authorize(&self, asked: &cel::Attributes) -> cel::Decision {
        let is_pod = matches!(&asked.target, cel::Target::Resource(of) if of.resource == "pods");
        cel::Decision {
            allowed: asked.verb == "frob" && is_pod,
            ..cel::Decision::default()
        }
    }
}

/// api-machinery.md §12/webhook-conditions.
#[test]
fn conditions_hold_or_fail_or_cannot_be_decided() {
    for case in CaseFile::at(Path::new("tests/matching/conditions.yaml")).cases() {
        let expressions = case["conditions"].as_array().unwrap().iter();
        let conditions = expressions.map(|text| json!({ "name": "c", "expression": text }));
        let result = match_result(&conditions.collect(), &case["object"]);
        let expected = match (&case["holds"], &case["undecided"]) {
            (Value::Bool(true), _) => MatchResult::Matches,
            (Value::Bool(false), _) => MatchResult::DoesNotMatch("c".into()),
            (_, why) => MatchResult::Error(why.as_str().unwrap_or_default().to_owned()),
        };
        assert_eq!(result, expected, "{}", case["case"]);
    }
}

/// api-machinery.md §12/webhook-conditions: the cost budget is for all conditions of a webhook together. One of these
/// conditions costs about a third of it.
#[test]
fn conditions_share_one_cost_budget() {
    let condition =
        json!({ "name": "c", "expression": "object.l.all(x, object.l.all(y, x + y > 0))" });
    let numbers: Vec<u64> = (1..=350).collect();
    let object = json!({ "l": numbers });
    let of = |count: usize| match_result(&vec![condition.clone(); count].into(), &object);
    let spent = "validation failed due to running out of cost budget, no further validation rules will be run";
    assert_eq!(of(1), MatchResult::Matches);
    assert_eq!(of(6), MatchResult::Error(spent.to_owned()));
}

/// Overall result of the conditions for the CREATE of an object.
fn match_result(conditions: &Value, object: &Value) -> MatchResult {
    let authorization = cel::Authorization::new(std::sync::Arc::new(MayFrob));
    let check = authorization.resource(cel::ResourceAttributes {
        resource: "pods".to_owned(),
        ..cel::ResourceAttributes::default()
    });
    let evaluation = Conditions::read(conditions, HasParams::No).evaluate(&Bindings {
        object,
        old_object: &Value::Null,
        request: &json!({ "operation": "CREATE", "userInfo": { "username": "alice" } }),
        namespace: &Value::Null,
        params: &Value::Null,
        authorizer: &Opaque::Authorizer(authorization.clone()),
        check: &Opaque::ResourceCheck(check),
    });
    evaluation.result
}
