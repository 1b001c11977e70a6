//! Rules of the API of policies that no evaluation shows: updates, defaults, the early shape, order and index.

use std::sync::Arc;

use lockstep_admission::api::{ApiKind, apply_defaults, convert_early_shape};
use lockstep_admission::binding::Binding;
use lockstep_admission::policy::MutatingPolicy;
use lockstep_admission::request::{Operation, Request, ResourceVersion};
use lockstep_admission::set::{PolicySet, is_exempt};
use lockstep_admission::validate;
use lockstep_cel::Version;
use lockstep_object::{GroupVersionKind, GroupVersionResource, Object, Value};
use serde_json::json;

fn object(value: Value) -> Object {
    Object::from_value(value).expect("it is a map")
}

fn policy(name: &str, resource: &str, mutations: &Value) -> Object {
    let mut policy = object(json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource],
            }] },
            "reinvocationPolicy": "Never",
            "mutations": mutations,
        },
    }));
    apply_defaults(kind(&policy), &mut policy);
    policy
}

fn kind(object: &Object) -> ApiKind {
    ApiKind::of(object).expect("it is a policy")
}

/// Fields of the errors of an update, for a server whose peers know CEL as of 1.30.
fn update(new: &Object, old: Option<&Object>) -> Vec<String> {
    let errors = validate(kind(new), new, old, Version::new(1, 30));
    errors
        .into_iter()
        .map(|error| error.field.clone())
        .collect()
}

/// An expression that needs CEL as of 1.32.
const NEW: &str = r#"{"a": "b"}.transformMap(k, v, v)"#;

/// mutating-admission.md §1.1, §2.11/D9
#[test]
fn an_unchanged_expression_compiles_with_every_feature() {
    let apply = |more: &str| {
        let expression = format!("Object{{data: {NEW}}}{more}");
        json!([{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } }])
    };
    let patch = || {
        let expression = format!(r#"[JSONPatch{{op: "add", path: "/data", value: {NEW}}}]"#);
        json!([{ "patchType": "JSONPatch", "jsonPatch": { "expression": expression } }])
    };
    let of_apply = policy("p", "configmaps", &apply(""));
    let of_patch = policy("p", "configmaps", &patch());
    let at_apply = "spec.mutations[0].applyConfiguration.expression";
    let at_patch = "spec.mutations[0].jsonPatch.expression";
    assert_eq!(update(&of_apply, None), [at_apply]);
    assert_eq!(update(&of_patch, None), [at_patch]);
    assert_eq!(update(&of_apply, Some(&of_apply)), [""; 0]);
    assert_eq!(update(&of_patch, Some(&of_patch)), [""; 0]);
    let changed = policy("p", "configmaps", &apply(" "));
    assert_eq!(update(&changed, Some(&of_apply)), [at_apply]);
}

/// mutating-admission.md §1.1
#[test]
fn unchanged_conditions_are_not_validated_again() {
    let mutations = json!([{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": "Object{}" } }]);
    let mut stored = policy("p", "configmaps", &mutations);
    let conditions = json!([{ "name": "c", "expression": "no longer valid" }]);
    stored.fields_mut()["spec"]["matchConditions"] = conditions;
    assert_eq!(
        update(&stored, None),
        ["spec.matchConditions[0].expression"]
    );
    assert_eq!(update(&stored, Some(&stored)), [""; 0]);
}

/// mutating-admission.md §0/10
#[test]
fn the_early_shape_of_parameters_is_read_in_v1alpha1_only() {
    let of = |version: &str| {
        let mut policy = object(json!({
            "apiVersion": format!("admissionregistration.k8s.io/{version}"),
            "kind": "MutatingAdmissionPolicy",
            "spec": { "paramKind": { "group": "example.com", "version": "v1", "kind": "Sidecar" } },
        }));
        let is_converted = convert_early_shape(&mut policy);
        (is_converted, policy.fields()["spec"]["paramKind"].clone())
    };
    let expected = json!({ "apiVersion": "example.com/v1", "kind": "Sidecar" });
    assert_eq!(of("v1alpha1"), (true, expected));
    let early = json!({ "group": "example.com", "version": "v1", "kind": "Sidecar" });
    assert_eq!(of("v1"), (false, early));
}

/// mutating-admission.md §1.1, §1.2
#[test]
fn defaults_are_those_of_the_table() {
    let applied = policy("p", "configmaps", &json!([{ "apply": "Object{}" }]));
    let spec = &applied.fields()["spec"];
    assert_eq!(spec["failurePolicy"], "Fail");
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"], "scope": "*",
    });
    let constraints = json!({
        "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [rule],
    });
    assert_eq!(spec["matchConstraints"], constraints);
    let reinvocation = |version: &str| {
        let mut policy = object(json!({
            "apiVersion": format!("admissionregistration.k8s.io/{version}"),
            "kind": "MutatingAdmissionPolicyBinding",
            "spec": { "policyName": "p", "paramRef": { "name": "a" } },
        }));
        apply_defaults(kind(&policy), &mut policy);
        policy.fields()["spec"]["paramRef"]["parameterNotFoundAction"].clone()
    };
    assert_eq!(reinvocation("v1alpha1"), "Deny");
    assert_eq!(reinvocation("v1"), Value::Null);
    let mut all_apply = applied.clone();
    all_apply.fields_mut()["spec"]["reinvocationPolicy"] = Value::Null;
    apply_defaults(kind(&all_apply), &mut all_apply);
    assert_eq!(
        all_apply.fields()["spec"]["reinvocationPolicy"],
        "IfAffected"
    );
}

fn create(group: &str, resource: &str) -> Request {
    Request {
        operation: Operation::Create,
        requested: ResourceVersion {
            resource: GroupVersionResource::new(group, "v1", resource),
            kind: GroupVersionKind::new(group, "v1", "Any"),
        },
        equivalents: Vec::new(),
        subresource: String::new(),
        name: "a".to_owned(),
        namespace: "default".to_owned(),
        user_info: json!({}),
        is_dry_run: false,
        options: Value::Null,
    }
}

/// mutating-admission.md §3.2, §2.10
#[test]
fn a_set_finds_the_policies_of_a_resource_in_the_order_of_their_scopes() {
    let of = |expression: &str| json!([{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } }]);
    let deep = of(r#"Object{metadata: Object.metadata{labels: {"a": "b"}}}"#);
    let policies = [
        policy("deep", "pods", &deep),
        policy("other", "secrets", &of("Object{}")),
        policy("shallow", "pods", &of("Object{}")),
        policy("all", "*", &of("Object{spec: Object.spec{a: 1}}")),
        policy("unbound", "pods", &of("Object{}")),
    ];
    let bindings = ["deep", "other", "shallow", "all", "missing"].map(|policy| {
        object(json!({ "metadata": { "name": policy }, "spec": { "policyName": policy } }))
    });
    let compiled = policies
        .iter()
        .map(|policy| Arc::new(MutatingPolicy::compile(policy)));
    let bindings = bindings
        .iter()
        .map(|binding| Arc::new(Binding::read(binding)));
    let set = PolicySet::new((compiled.collect(), bindings.collect()), (vec![], vec![]));
    let found = |group: &str, resource: &str| -> Vec<String> {
        let bound = set.mutating_for(&create(group, resource));
        bound
            .iter()
            .map(|bound| bound.policy.common.name.to_string())
            .collect()
    };
    assert_eq!(found("", "pods"), ["shallow", "all", "deep"]);
    assert_eq!(found("", "secrets"), ["other", "all"]);
    assert_eq!(found("apps", "pods"), [""; 0]);
    assert!(is_exempt(
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies"
    ));
    assert!(!is_exempt(
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations"
    ));
}
