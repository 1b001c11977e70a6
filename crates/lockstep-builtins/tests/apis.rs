//! Which APIs are served, as data: `apis.yaml`. The texts are kube-apiserver's of 1.36.4.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use std::path::Path;

use lockstep_builtins::apis::{Api, Emulated, Lifecycle, RuntimeConfig, served};
use lockstep_featuregate::{Version, v};
use lockstep_testkit::cases::CaseFile;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    name: String,
    emulated: String,
    #[serde(default)]
    forward_compatible: bool,
    #[serde(default)]
    runtime_config_forward_compatible: bool,
    #[serde(default)]
    runtime_config: Vec<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    errors: Vec<String>,
}

/// The APIs of the cases.
fn known() -> Vec<Api<'static>> {
    let api = |group, version, plural, introduced, removed| Api {
        group,
        version,
        plural,
        lifecycle: Lifecycle {
            introduced,
            removed,
        },
    };
    vec![
        api("storage", "v1", "classes", v(1, 6), None),
        api("storage", "v1", "attributes", v(1, 34), None),
        api("storage", "v1beta1", "attributes", v(1, 31), Some(v(1, 37))),
        api("things", "v1", "things", v(1, 35), None),
        api("things", "v1beta1", "things", v(1, 32), Some(v(1, 38))),
        api("things", "v1alpha1", "things", v(1, 30), Some(v(1, 35))),
        api("policy", "v1", "mutators", v(1, 36), None),
    ]
}

fn check(case: &Case) {
    let known = known();
    let emulated = Emulated {
        version: Version::parse(&case.emulated).unwrap(),
        forward_compatible: case.forward_compatible,
        runtime_config_forward_compatible: case.runtime_config_forward_compatible,
    };
    let texts = case.runtime_config.iter().map(String::as_str);
    let decided = match RuntimeConfig::read(texts, &known) {
        Ok(config) => served(&known, &config, emulated).map_err(|errors| told(&errors)),
        Err(errors) => Err(told(&errors)),
    };
    let found = decided.map(|served| {
        let left = known.iter().zip(served).filter(|(_, served)| *served);
        let names = left.map(|(api, _)| format!("{}/{}/{}", api.group, api.version, api.plural));
        names.collect::<Vec<_>>()
    });
    let expected = if case.errors.is_empty() {
        Ok(case.has.clone())
    } else {
        Err(case.errors.clone())
    };
    assert_eq!(found, expected, "{}", case.name);
}

fn told(errors: &[impl ToString]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn apis_are_served_as_the_emulated_version_and_the_operator_say() {
    for case in CaseFile::at(Path::new("tests/apis.yaml")).cases() {
        check(&serde_json::from_value(case.own.clone()).unwrap());
    }
}

/// The core group is called `api`, or not at all; `api/legacy` is taken and means nothing.
#[test]
fn the_core_group_has_two_names() {
    let pods = Api {
        group: "",
        version: "v1",
        plural: "pods",
        lifecycle: Lifecycle::ALWAYS,
    };
    let emulated = Emulated {
        version: v(1, 36),
        forward_compatible: false,
        runtime_config_forward_compatible: false,
    };
    for (text, expected) in [
        ("v1=false", false),
        ("api/v1=false", false),
        ("api/v1/pods=false", false),
        ("api/all=false,v1=true", true),
        ("api/legacy=false", true),
    ] {
        let config = RuntimeConfig::read([text], &[pods]).unwrap();
        assert_eq!(
            served(&[pods], &config, emulated),
            Ok(vec![expected]),
            "{text}"
        );
    }
}
