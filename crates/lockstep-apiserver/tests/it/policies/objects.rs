//! Policies and bindings for tests, and requests that depend on them.

use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use crate::world::World;

pub(crate) const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
pub(crate) const MUTATING_BINDINGS: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings";
pub(crate) const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
pub(crate) const VALIDATING_BINDINGS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Group, version and plural.
pub(crate) type Resource<'a> = [&'a str; 3];

pub(crate) const CONFIG_MAPS: Resource<'_> = ["", "v1", "configmaps"];

fn rules([group, version, plural]: Resource<'_>, operations: &[&str]) -> Value {
    json!({ "resourceRules": [{
        "apiGroups": [group], "apiVersions": [version], "resources": [plural], "operations": operations,
    }]})
}

/// A mutation that merges the result of an expression.
pub(crate) fn applies(expression: &str) -> Value {
    json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } })
}

/// A mutating policy, with some fields otherwise.
pub(crate) fn mutating<const COUNT: usize>(
    name: &str,
    resource: Resource<'_>,
    mutations: [Value; COUNT],
    changes: &Value,
) -> Value {
    let mut spec = json!({
        "matchConstraints": rules(resource, &["CREATE", "UPDATE"]),
        "reinvocationPolicy": "Never",
        "mutations": Vec::from(mutations),
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({ "metadata": { "name": name }, "spec": spec })
}

/// A validating policy with one expression for all operations.
pub(crate) fn validating(name: &str, resource: Resource<'_>, expression: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": {
        "matchConstraints": rules(resource, &["*"]),
        "validations": [{ "expression": expression }],
    }})
}

impl World {
    /// Makes a mutating policy and a binding with its name.
    pub(crate) async fn mutates(&mut self, policy: &Value) {
        self.make(MUTATING, policy).await;
        let name = &policy["metadata"]["name"];
        let binding = json!({ "metadata": { "name": name }, "spec": { "policyName": name } });
        self.make(MUTATING_BINDINGS, &binding).await;
    }

    /// Makes a validating policy and a binding with its name.
    pub(crate) async fn validates(&mut self, policy: &Value) {
        self.make(VALIDATING, policy).await;
        let name = &policy["metadata"]["name"];
        let spec = json!({ "policyName": name, "validationActions": ["Deny"] });
        let binding = json!({ "metadata": { "name": name }, "spec": spec });
        self.make(VALIDATING_BINDINGS, &binding).await;
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Answer {
        self.client.send("DELETE", path, &[], "").await
    }
}
