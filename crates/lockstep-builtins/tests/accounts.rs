//! The accounts of pods as data: `tests/cases/accounts`.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_builtins::accounts::{
    Containers, check_mirror, check_secrets, is_mirror, mount, name_account,
};
use lockstep_object::Object;
use lockstep_testkit::cases::CaseFile;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    spec: Value,
    #[serde(default)]
    account: Map<String, Value>,
    #[serde(default)]
    mirror: bool,
    output: Option<Map<String, Value>>,
    error: Option<String>,
}

/// The pod after service account admission, or the reason of its rejection.
fn admitted(case: &Case) -> Result<Object, String> {
    let annotations = if case.mirror {
        json!({ "kubernetes.io/config.mirror": "x" })
    } else {
        json!({})
    };
    let pod = json!({ "metadata": { "annotations": annotations }, "spec": case.spec });
    let mut pod = Object::from_value(pod).unwrap();
    if is_mirror(&pod) {
        check_mirror(pod.as_value())?;
        return Ok(pod);
    }
    let mut account = Value::Object(case.account.clone());
    account["metadata"]["name"] = "acc".into();
    assert_eq!(name_account(&mut pod), "default", "{}", case.name);
    mount(&mut pod, &account, "kube-api-access-x");
    check_secrets(pod.as_value(), &account, Containers::Initial)?;
    Ok(pod)
}

#[test]
fn a_pod_gets_what_its_account_has_and_nothing_that_it_has_not() {
    for case in CaseFile::read("accounts/pods.yaml").cases() {
        let case: Case = serde_json::from_value(case.own.clone()).unwrap();
        let has_expectation = case.output.is_some() != case.error.is_some();
        assert!(has_expectation, "{}: `output` or `error`", case.name);
        match admitted(&case) {
            Ok(pod) => {
                let expected = case.output.clone().unwrap_or_default();
                let fields = expected.keys();
                let shown: Map<String, Value> = fields
                    .map(|field| {
                        let found = pod.at(&["spec", field]).cloned();
                        (field.clone(), found.unwrap_or_default())
                    })
                    .collect();
                assert_eq!(shown, expected, "{}", case.name);
                assert_eq!(case.error, None, "{}", case.name);
            }
            Err(error) => assert_eq!(Some(error), case.error, "{}", case.name),
        }
    }
}
