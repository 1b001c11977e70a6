//! Aggregated cluster roles: rules collected by label selector.

use lockstep_object::Object;
use lockstep_object::selector::{LabelSelector, from_label_selector};
use serde_json::Value;

/// The rules of an aggregated role: those of every other role that one of its selectors picks, each once, in the order
/// of selectors, role names and rules. None when the role is not aggregated.
///
/// A selector that is none picks nothing.
pub fn aggregated_rules<'a>(
    role: &Object,
    cluster_roles: impl IntoIterator<Item = &'a Object>,
) -> Option<Vec<Value>> {
    let selectors = role
        .at(&["aggregationRule", "clusterRoleSelectors"])?
        .as_array()?;
    let mut others: Vec<&Object> = cluster_roles
        .into_iter()
        .filter(|other| other.name() != role.name())
        .collect();
    others.sort_by_key(|other| other.name());
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors {
        let Ok(selector) = from_label_selector(selector) else {
            continue;
        };
        for rule in picked(&others, &selector) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

fn picked<'a>(others: &[&'a Object], selector: &LabelSelector) -> impl Iterator<Item = &'a Value> {
    let matching: Vec<&Object> = others
        .iter()
        .copied()
        .filter(|role| selector.matches(role.labels()))
        .collect();
    let lists = matching
        .into_iter()
        .filter_map(|role| role.at(&["rules"]).and_then(Value::as_array));
    lists.flatten()
}
