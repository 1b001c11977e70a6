//! Objects of built-in kinds in another of their versions: what kube-apiserver 1.36.4 shows of the same objects.

use lockstep_builtins::KindRules;
use lockstep_object::Object;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    to: String,
    input: Value,
    output: Value,
}

/// api-machinery.md §12/tier-2: autoscaling/v1,v2 HPA
#[test]
fn autoscalers_say_in_annotations_what_the_older_version_has_no_field_for() {
    let text = include_str!("cases/convert/autoscaling.yaml");
    let cases: Vec<Case> = serde_saphyr::from_str(text).unwrap();
    assert!(!cases.is_empty(), "autoscaling.yaml has no case");
    let rules = KindRules::of("autoscaling", "HorizontalPodAutoscaler");
    for case in cases {
        let mut object = Object::from_value(case.input).unwrap();
        (rules.convert)(&mut object, &case.to);
        assert_eq!(*object.as_value(), case.output, "{}", case.name);
    }
}
