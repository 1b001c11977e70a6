//! Quota scopes.

use lockstep_object::Value;

use super::evaluator::Counted;
use super::texts;
use crate::look::{list, some, text};
use crate::qos::{self, QosClass};

/// Properties of an object that scopes select by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ScopeProperties {
    Pod {
        /// True if `activeDeadlineSeconds` is set.
        is_terminating: bool,
        is_best_effort: bool,
        /// True if it has pod affinity terms for other namespaces.
        crosses_namespaces: bool,
        /// Empty if it has none.
        priority_class: String,
    },
    /// A volume claim with its current and requested attributes classes.
    Claim(Vec<String>),
    /// No scope is about others.
    Other,
}

/// One scope that objects have to be in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Selector {
    scope: String,
    operator: String,
    values: Vec<String>,
}

impl Selector {
    /// The scopes that the spec of a quota names, in one way or the other.
    pub(super) fn all(spec: &Value) -> Vec<Self> {
        let mut named = texts(spec, "scopes");
        named.sort();
        named.dedup();
        let plain = named.into_iter().map(|scope| Self {
            scope,
            operator: "Exists".to_owned(),
            values: Vec::new(),
        });
        let expressions = list(&spec["scopeSelector"], "matchExpressions").iter();
        let selectors = expressions.map(|expression| Self {
            scope: text(expression, "scopeName").to_owned(),
            operator: text(expression, "operator").to_owned(),
            values: texts(expression, "values"),
        });
        plain.chain(selectors).collect()
    }

    pub(super) fn selects(&self, object: &Counted) -> bool {
        match &object.scope_properties {
            ScopeProperties::Pod {
                is_terminating,
                is_best_effort,
                crosses_namespaces,
                priority_class,
            } => match self.scope.as_str() {
                "Terminating" => *is_terminating,
                "NotTerminating" => !is_terminating,
                "BestEffort" => *is_best_effort,
                "NotBestEffort" => !is_best_effort,
                "CrossNamespacePodAffinity" => *crosses_namespaces,
                "PriorityClass" => {
                    let class = Some(priority_class.as_str());
                    self.wants(class.filter(|class| !class.is_empty()))
                }
                _ => false,
            },
            ScopeProperties::Claim(classes) if self.scope == "VolumeAttributesClass" => {
                match classes.as_slice() {
                    [] => self.wants(None),
                    some => some.iter().any(|class| self.wants(Some(class))),
                }
            }
            ScopeProperties::Claim(_) | ScopeProperties::Other => false,
        }
    }

    fn wants(&self, class: Option<&str>) -> bool {
        let is_named = || class.is_some_and(|class| self.values.iter().any(|value| value == class));
        match self.operator.as_str() {
            "Exists" => class.is_some(),
            "DoesNotExist" => class.is_none(),
            "In" => is_named(),
            "NotIn" => !is_named(),
            _ => false,
        }
    }
}

/// Scope properties of a pod.
pub(super) fn of_pod(pod: &Value) -> ScopeProperties {
    let spec = &pod["spec"];
    let deadline = spec["activeDeadlineSeconds"].as_i64();
    ScopeProperties::Pod {
        is_terminating: deadline.is_some_and(|seconds| seconds >= 0),
        is_best_effort: qos::class(spec) == QosClass::BestEffort,
        crosses_namespaces: crosses_namespaces(&spec["affinity"]),
        priority_class: text(spec, "priorityClassName").to_owned(),
    }
}

fn crosses_namespaces(affinity: &Value) -> bool {
    let crosses = |term: &Value| {
        !list(term, "namespaces").is_empty() || some(term, "namespaceSelector").is_some()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let wishes = &affinity[*kind];
        let required = list(wishes, "requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = list(wishes, "preferredDuringSchedulingIgnoredDuringExecution");
        let weighted = preferred.iter().map(|item| &item["podAffinityTerm"]);
        required.iter().chain(weighted).any(crosses)
    })
}

/// Scope properties of a volume claim.
pub(super) fn of_claim(claim: &Value) -> ScopeProperties {
    let status = &claim["status"];
    let classes = [
        text(&claim["spec"], "volumeAttributesClassName"),
        text(status, "currentVolumeAttributesClassName"),
        text(
            &status["modifyVolumeStatus"],
            "targetVolumeAttributesClassName",
        ),
    ];
    let classes = classes.iter().filter(|class| !class.is_empty());
    ScopeProperties::Claim(classes.map(|class| (*class).to_owned()).collect())
}
