//! Objects of built-in kinds in another of their versions: what kube-apiserver 1.36.4 shows of the same objects.

use lockstep_builtins::KindStrategy;
use lockstep_object::Object;
use lockstep_testkit::cases::{CaseFile, same};
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
    let strategy = KindStrategy::of("autoscaling", "HorizontalPodAutoscaler");
    CaseFile::read("convert/autoscaling.yaml").check(|case| {
        let case: Case = serde_json::from_value(case.own.clone()).unwrap();
        let mut object = Object::from_value(case.input).unwrap();
        (strategy.convert)(&mut object, &case.to);
        same(&case.output, object.as_value()).map_err(|why| format!("{}\n{why}", case.name))
    });
}
