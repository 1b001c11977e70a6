//! Each rule finds what it is about, and leaves alone what is sound.

use std::path::Path;

use lockstep_object::{Object, Value};
use serde_json::json;

use super::{RULES, lint};

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn policy(kind: &str, name: &str, resource: &str, spec: &Value) -> Object {
    let (group, resource) = resource.split_once('/').unwrap_or(("", resource));
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": name },
        "spec": { "matchConstraints": { "resourceRules": [{
            "apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource],
        }] } },
    });
    for (field, value) in spec.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    object(policy)
}

fn merge(name: &str, resource: &str, expression: &str) -> Object {
    let spec = json!({ "reinvocationPolicy": "IfNeeded", "mutations": [{
        "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression },
    }] });
    policy("MutatingAdmissionPolicy", name, resource, &spec)
}

fn check(resource: &str, expression: &str) -> Object {
    let spec = json!({ "validations": [{ "expression": expression }] });
    policy("ValidatingAdmissionPolicy", "p", resource, &spec)
}

/// Ids of the rules with a finding.
fn found(objects: &[Object]) -> Vec<&'static str> {
    let findings = lint(objects).unwrap();
    findings.iter().map(|finding| finding.rule.id).collect()
}

/// ux.md §5
#[test]
fn policies_without_a_problem_have_no_finding() {
    for expression in [
        "object.spec.containers.all(c, c.image != '')",
        "object.metadata.name != 'x'",
        "!has(object.metadata.labels) || !('a' in object.metadata.labels) || object.metadata.labels.a == 'b'",
        "has(object.spec.securityContext) && has(object.spec.securityContext.runAsNonRoot) && object.spec.securityContext.runAsNonRoot == true",
        "object.?metadata.?labels[?'a'].orValue('') != 'b'",
        "object.spec.restartPolicy == 'Always'",
    ] {
        let findings = lint(&[check("pods", expression)]).unwrap();
        assert_eq!(findings, [], "{expression}");
    }
    let labels = r#"Object{metadata: Object.metadata{labels: {"a": "b"}}}"#;
    assert_eq!(found(&[merge("p", "pods", labels)]), [""; 0]);
}

#[test]
fn errors_of_a_server_are_findings_with_their_field() {
    let findings = lint(&[merge("p", "pods", "objekt")]).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule.id, "LP001");
    assert_eq!(
        findings[0].field,
        "spec.mutations[0].applyConfiguration.expression"
    );
}

#[test]
fn fields_that_are_not_in_the_schema_are_found_in_reads_and_writes() {
    assert_eq!(
        found(&[check("pods", "object.spec.kontainers.size() > 0")]),
        ["LP002"]
    );
    let write = "Object{spec: Object.spec{replicass: 1}}";
    assert_eq!(found(&[merge("p", "apps/deployments", write)]), ["LP002"]);
}

#[test]
fn fields_that_may_be_absent_need_a_guard() {
    for expression in [
        "object.metadata.labels.a == 'b'",
        "object.metadata.annotations['a'] == 'b'",
        "object.spec.securityContext.runAsNonRoot == true",
        "object.spec.containers.all(c, c.resources.limits.cpu != '')",
        "has(object.metadata.labels) && object.metadata.labels.a == 'b'",
    ] {
        assert_eq!(
            found(&[check("pods", expression)]),
            ["LP003"],
            "{expression}"
        );
    }
    let mut ignoring = check("pods", "object.metadata.labels.a == 'b'");
    ignoring.fields_mut()["spec"]["failurePolicy"] = "Ignore".into();
    assert_eq!(found(&[ignoring]), ["LP009"]);
}

/// kyverno#15094
#[test]
fn a_merge_into_an_atomic_list_is_an_error() {
    let args = r#"Object{spec: Object.spec{containers: [Object.spec.containers{name: "a", args: ["x"]}]}}"#;
    assert_eq!(found(&[merge("p", "pods", args)]), ["LP004"]);
    let mut replacing = merge("p", "pods", args);
    replacing.fields_mut()["spec"]["mutations"][0]["applyConfiguration"]["atomics"] =
        "Replace".into();
    assert_eq!(found(&[replacing]), [""; 0]);
}

#[test]
fn mutations_that_change_again_what_they_changed_are_found() {
    let replicas = "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}";
    assert_eq!(
        found(&[merge("p", "apps/deployments", replicas)]),
        ["LP005"]
    );
    let spec = json!({ "reinvocationPolicy": "IfNeeded", "mutations": [{
        "patchType": "JSONPatch",
        "jsonPatch": { "expression": r#"[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "a"}}]"# },
    }] });
    let append = policy("MutatingAdmissionPolicy", "p", "pods", &spec);
    assert_eq!(found(&[append]), ["LP005"]);
}

#[test]
fn policies_that_write_one_field_or_depend_on_their_names_are_found() {
    let set = |value: &str| {
        format!(r#"Object{{metadata: Object.metadata{{labels: {{"a": "{value}"}}}}}}"#)
    };
    let both = [merge("p", "pods", &set("1")), merge("q", "pods", &set("2"))];
    assert_eq!(found(&both), ["LP006", "LP006"]);
    let elsewhere = [
        merge("p", "pods", &set("1")),
        merge("q", "secrets", &set("2")),
    ];
    assert_eq!(found(&elsewhere), [""; 0]);
    let copy = r#"Object{metadata: Object.metadata{labels: {"b": object.metadata.?labels[?"a"].orValue("")}}}"#;
    assert_eq!(
        found(&[merge("p", "pods", &set("1")), merge("q", "pods", copy)]),
        ["LP007"]
    );
}

#[test]
fn rules_bindings_parameters_and_variables_that_lead_nowhere_are_found() {
    assert_eq!(found(&[check("podz", "true")]), ["LP010"]);
    let binding = |policy: &str| {
        object(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": "b" }, "spec": { "policyName": policy, "validationActions": ["Deny"] },
        }))
    };
    assert_eq!(found(&[check("pods", "true"), binding("p")]), [""; 0]);
    assert_eq!(
        found(&[check("pods", "true"), binding("q")]),
        ["LP011", "LP011"]
    );
    let mut with_params = check("pods", "params.data.x == '1'");
    with_params.fields_mut()["spec"]["paramKind"] =
        json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    assert_eq!(found(&[with_params.clone(), binding("p")]), ["LP012"]);
    with_params.fields_mut()["spec"]["paramKind"] =
        json!({ "apiVersion": "ex.io/v1", "kind": "Limit" });
    assert_eq!(found(&[with_params]), ["LP012"]);
    let mut with_variable = check("pods", "variables.used");
    with_variable.fields_mut()["spec"]["variables"] = json!([
        { "name": "used", "expression": "true" }, { "name": "unused", "expression": "1" },
    ]);
    assert_eq!(found(&[with_variable]), ["LP013"]);
}

#[test]
fn every_rule_has_a_section_in_the_documentation() {
    let page = Path::new("../../docs/reference/policy-lint.md");
    let page = std::fs::read_to_string(page).unwrap();
    for rule in &RULES {
        let heading = format!("## {}: {}\n", rule.id, rule.title);
        assert!(page.contains(&heading), "{heading}");
    }
}
