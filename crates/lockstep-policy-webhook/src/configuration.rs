//! `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration` of the webhook.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_admission::api::ApiKind;
use lockstep_admission::policy::PolicyKind;
use lockstep_object::{Object, Value};
use serde_json::json;

/// Resources that policies are never asked about, as an expression of a match condition.
const NOT_EXEMPT: &str = "!(request.resource.group == 'admissionregistration.k8s.io' \
    && request.resource.resource.contains('admissionpolic')) \
    && request.resource.group != 'authentication.k8s.io' \
    && !(request.resource.group == 'authorization.k8s.io' && request.resource.resource.endsWith('reviews')) \
    && request.resource.group != 'policy.lockstep.dev'";

/// The place of the webhook, as API servers reach it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// A Service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// `https://host[:port]`, without a path.
    Url(String),
}

/// Settings of the configurations.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the configurations.
    pub name: String,
    /// The place of the webhook.
    pub endpoint: Endpoint,
    /// Certificates to trust, in PEM; empty for those that the API server trusts anyway.
    pub authority: String,
    /// Time that an API server waits.
    pub timeout_seconds: u32,
}

/// The configurations for policies: none for a kind without policies.
pub fn configurations(policies: &[Object], settings: &Settings) -> Vec<Value> {
    let kinds = [PolicyKind::Mutating, PolicyKind::Validating];
    let made = kinds.iter().filter_map(|kind| {
        let of_kind = |object: &&Object| ApiKind::of(object) == Some(ApiKind::Policy(*kind));
        let policies: Vec<&Object> = policies.iter().filter(of_kind).collect();
        (!policies.is_empty()).then(|| configuration(*kind, &policies, settings))
    });
    made.collect()
}

fn configuration(kind: PolicyKind, policies: &[&Object], settings: &Settings) -> Value {
    let path = match kind {
        PolicyKind::Mutating => "/mutate",
        PolicyKind::Validating => "/validate",
    };
    let mut client = match &settings.endpoint {
        Endpoint::Url(url) => json!({ "url": format!("{}{path}", url.trim_end_matches('/')) }),
        Endpoint::Service {
            namespace,
            name,
            port,
        } => json!({
            "service": { "namespace": namespace, "name": name, "port": port, "path": path },
        }),
    };
    if !settings.authority.is_empty() {
        client["caBundle"] = STANDARD.encode(&settings.authority).into();
    }
    let mut webhook = json!({
        "name": format!("{}.policy.lockstep.dev", settings.name),
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": client,
        "failurePolicy": if policies.iter().any(|policy| fails(policy)) { "Fail" } else { "Ignore" },
        "matchConditions": [{ "name": "not-exempt", "expression": NOT_EXEMPT }],
        "matchPolicy": "Equivalent",
        "rules": rules(kind, policies),
        "sideEffects": "None",
        "timeoutSeconds": settings.timeout_seconds,
    });
    if let Endpoint::Service { namespace, .. } = &settings.endpoint {
        webhook["namespaceSelector"] = json!({ "matchExpressions": [{
            "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace],
        }] });
    }
    let name = match kind {
        PolicyKind::Mutating => {
            webhook["reinvocationPolicy"] = "IfNeeded".into();
            "MutatingWebhookConfiguration"
        }
        PolicyKind::Validating => "ValidatingWebhookConfiguration",
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": name,
        "metadata": { "name": settings.name },
        "webhooks": [webhook],
    })
}

fn fails(policy: &Object) -> bool {
    let failure = policy.at(&["spec", "failurePolicy"]);
    failure.and_then(Value::as_str) != Some("Ignore")
}

/// All resource rules, each once. Names of objects are left to the webhook, since rules of webhooks have none.
fn rules(kind: PolicyKind, policies: &[&Object]) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let mut rules = Vec::new();
    for policy in policies {
        let given = policy.at(&["spec", "matchConstraints", "resourceRules"]);
        for rule in given.and_then(Value::as_array).into_iter().flatten() {
            let mut rule = rule.clone();
            let Some(fields) = rule.as_object_mut() else {
                continue;
            };
            fields.remove("resourceNames");
            fields.retain(|_, value| !value.is_null());
            fields.entry("scope").or_insert_with(|| "*".into());
            let is_all = fields.get("operations") == Some(&json!(["*"]));
            if kind == PolicyKind::Mutating && is_all {
                let operations = json!(["CREATE", "UPDATE", "CONNECT"]);
                fields.insert("operations".to_owned(), operations);
            }
            if seen.insert(rule.to_string()) {
                rules.push(rule);
            }
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(kind: &str, failure: &str, rules: &Value) -> Object {
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": { "name": "p" },
            "spec": { "failurePolicy": failure, "matchConstraints": { "resourceRules": rules } },
        });
        Object::from_value(policy).unwrap()
    }

    fn settings(endpoint: Endpoint) -> Settings {
        Settings {
            name: "policies".to_owned(),
            endpoint,
            authority: "PEM".to_owned(),
            timeout_seconds: 10,
        }
    }

    /// mutating-admission.md §3.8: the union of all rules, `Fail` if one policy fails.
    #[test]
    fn a_configuration_has_each_rule_once_and_fails_if_one_policy_does() {
        let pods = json!({
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"],
            "resourceNames": ["a"],
        });
        let policies = [
            policy("MutatingAdmissionPolicy", "Ignore", &json!([pods.clone()])),
            policy("MutatingAdmissionPolicy", "Fail", &json!([pods])),
        ];
        let service = Endpoint::Service {
            namespace: "hooks".to_owned(),
            name: "policies".to_owned(),
            port: 443,
        };
        let made = configurations(&policies, &settings(service));
        assert_eq!(made.len(), 1);
        assert_eq!(made[0]["kind"], "MutatingWebhookConfiguration");
        let webhook = &made[0]["webhooks"][0];
        let expected = json!([{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "CONNECT"],
            "resources": ["pods"], "scope": "*",
        }]);
        assert_eq!(webhook["rules"], expected);
        assert_eq!(webhook["failurePolicy"], "Fail");
        assert_eq!(webhook["reinvocationPolicy"], "IfNeeded");
        assert_eq!(webhook["sideEffects"], "None");
        assert_eq!(webhook["clientConfig"]["service"]["path"], "/mutate");
        assert_eq!(webhook["clientConfig"]["caBundle"], "UEVN");
        let selector = &webhook["namespaceSelector"]["matchExpressions"][0];
        assert_eq!(selector["values"], json!(["hooks"]));
    }

    #[test]
    fn a_url_has_the_path_of_the_phase_and_validating_webhooks_are_not_called_again() {
        let rules = json!([{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"] }]);
        let policies = [policy("ValidatingAdmissionPolicy", "Ignore", &rules)];
        let made = configurations(
            &policies,
            &settings(Endpoint::Url("https://h:1/".to_owned())),
        );
        let webhook = &made[0]["webhooks"][0];
        assert_eq!(webhook["clientConfig"]["url"], "https://h:1/validate");
        assert_eq!(webhook["rules"][0]["operations"], json!(["*"]));
        assert_eq!(webhook["failurePolicy"], "Ignore");
        assert_eq!(webhook.get("reinvocationPolicy"), None);
    }
}
