//! Validation of `apps` workloads.

use std::collections::BTreeMap;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names::{NameRule, Part};
use lockstep_object::selector::validate_label_selector;
use serde_json::json;

use super::scalar::{amount_or_percent, is_nothing, not_more_than_all};
use super::storage::claim_spec;
use super::templates::{is_empty, lasting, selector, selects, template, unselected};
use super::{Errors, immutable_field, label, non_negative, push_problems, required};
use crate::look::{list, number, some, text};

const SPEC: &Path<'static> = &Path::ROOT;

fn spec_of(object: &Value) -> &Value {
    object.get("spec").unwrap_or(&Value::Null)
}

/// The template of replicas, below a selector that may be bad.
fn replicas_of(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let own = &spec["template"];
    match selects(some(spec, "selector"), own) {
        None => {
            let value = &spec["selector"];
            let why = "invalid label selector";
            errors.push_with(|| FieldError::invalid(&path.field("selector"), value, why));
        }
        Some(does) => {
            let path = path.field("template");
            if !does {
                errors.push(unselected(own, &path));
            }
            template(own, &path, errors);
            lasting(own, "ReplicaSet", &path, errors);
        }
    }
}

pub(crate) fn deployment(deployment: &Value, errors: &mut Errors) {
    let (spec, path) = (spec_of(deployment), SPEC.field("spec"));
    non_negative(spec, "replicas", &path, errors);
    selector(spec, "deployment", &path, errors);
    replicas_of(spec, &path, errors);
    strategy(&spec["strategy"], &path.field("strategy"), errors);
    non_negative(spec, "minReadySeconds", &path, errors);
    non_negative(spec, "revisionHistoryLimit", &path, errors);
    non_negative(spec, "progressDeadlineSeconds", &path, errors);
    let deadline = number(spec, "progressDeadlineSeconds");
    let least = number(spec, "minReadySeconds").unwrap_or_default();
    if let Some(deadline) = deadline.filter(|deadline| *deadline <= least) {
        let path = path.field("progressDeadlineSeconds");
        let why = "must be greater than minReadySeconds";
        errors.push_with(|| FieldError::invalid(&path, deadline, why));
    }
}

fn strategy(strategy: &Value, path: &Path<'_>, errors: &mut Errors) {
    let rolling = some(strategy, "rollingUpdate");
    let place = path.field("rollingUpdate");
    match (text(strategy, "type"), rolling) {
        ("Recreate", Some(_)) => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            errors.push_with(|| FieldError::forbidden(&place, why));
        }
        ("Recreate", None) => {}
        ("RollingUpdate", None) => {
            let why = "this should be defaulted and never be nil";
            errors.push_with(|| FieldError::required(&place, why));
        }
        ("RollingUpdate", Some(rolling)) => pace(rolling, &place, errors),
        _ => {
            let known = ["Recreate", "RollingUpdate"];
            errors.push_with(|| FieldError::not_supported(path, strategy, known));
        }
    }
}

fn pace(rolling: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (gone, more) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    let gone_path = path.field("maxUnavailable");
    amount_or_percent(gone, &gone_path, errors);
    amount_or_percent(more, &path.field("maxSurge"), errors);
    if is_nothing(gone) && is_nothing(more) {
        let why = "may not be 0 when `maxSurge` is 0";
        errors.push_with(|| FieldError::invalid(&gone_path, gone, why));
    }
    not_more_than_all(gone, &gone_path, errors);
}

pub(crate) fn deployment_update(new: &Value, old: &Value, errors: &mut Errors) {
    deployment(new, errors);
    let path = SPEC.field("spec");
    immutable_field(spec_of(new), spec_of(old), "selector", &path, errors);
}

pub(crate) fn replica_set(set: &Value, errors: &mut Errors) {
    let (spec, path) = (spec_of(set), SPEC.field("spec"));
    non_negative(spec, "replicas", &path, errors);
    non_negative(spec, "minReadySeconds", &path, errors);
    selector(spec, "deployment", &path, errors);
    replicas_of(spec, &path, errors);
}

pub(crate) fn replica_set_update(new: &Value, old: &Value, errors: &mut Errors) {
    replica_set(new, errors);
    let path = SPEC.field("spec");
    immutable_field(spec_of(new), spec_of(old), "selector", &path, errors);
}

pub(crate) fn stateful_set(set: &Value, errors: &mut Errors) {
    stateful_set_spec(set, When::Created, errors);
}

/// Phase of a validation: immutable fields are not validated again on update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    Created,
    Changed,
}

fn stateful_set_spec(set: &Value, when: When, errors: &mut Errors) {
    let (spec, path) = (spec_of(set), SPEC.field("spec"));
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let why = "must be 'OrderedReady' or 'Parallel'";
        let path = path.field("podManagementPolicy");
        errors.push_with(|| FieldError::invalid(&path, policy, why));
    }
    stateful_strategy(
        &spec["updateStrategy"],
        &path.field("updateStrategy"),
        errors,
    );
    let kept = path.field("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        let policy = text(&spec["persistentVolumeClaimRetentionPolicy"], field);
        if !matches!(policy, "Retain" | "Delete") {
            let known = ["Delete", "Retain"];
            errors.push_with(|| FieldError::not_supported(&kept.field(field), policy, known));
        }
    }
    if when == When::Created {
        let path = path.field("volumeClaimTemplates");
        for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
            let path = path.index(index);
            claim_spec(&claim["spec"], &path.field("spec"), errors);
        }
    }
    non_negative(spec, "replicas", &path, errors);
    non_negative(spec, "minReadySeconds", &path, errors);
    non_negative(&spec["ordinals"], "start", &path.field("ordinals"), errors);
    let service = text(spec, "serviceName");
    if when == When::Created && !service.is_empty() {
        label(service, &path.field("serviceName"), errors);
    }
    selector(spec, "statefulset", &path, errors);
    let own = with_claims(spec);
    let template_path = path.field("template");
    match selects(some(spec, "selector"), &own) {
        None => {
            let value = &spec["selector"];
            errors.push_with(|| FieldError::invalid(&path.field("selector"), value, ""));
        }
        Some(does) => {
            if !does {
                errors.push(unselected(&own, &template_path));
            }
            template(&own, &template_path, errors);
        }
    }
    lasting(&own, "StatefulSet", &template_path, errors);
}

/// The template with the volumes that are claimed for each pod.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let claims = list(spec, "volumeClaimTemplates");
    if claims.is_empty() {
        return template;
    }
    let numbered = claims.iter().enumerate();
    // The last claim of a name is the one that counts.
    let last: BTreeMap<&str, usize> = numbered
        .map(|(at, claim)| (claim_name(claim), at))
        .collect();
    let own = list(&template["spec"], "volumes").iter();
    let own = own.filter(|volume| !last.contains_key(text(volume, "name")));
    let claimed = claims.iter().enumerate().filter_map(|(at, claim)| {
        let name = claim_name(claim);
        let volume = || json!({ "name": name, "persistentVolumeClaim": { "claimName": name } });
        (last.get(name) == Some(&at)).then(volume)
    });
    let volumes: Vec<Value> = claimed.chain(own.cloned()).collect();
    if let Some(spec) = template.get_mut("spec").filter(|spec| spec.is_object()) {
        spec["volumes"] = volumes.into();
    }
    template
}

fn claim_name(claim: &Value) -> &str {
    text(&claim["metadata"], "name")
}

fn stateful_strategy(strategy: &Value, path: &Path<'_>, errors: &mut Errors) {
    let rolling = some(strategy, "rollingUpdate");
    let place = path.field("rollingUpdate");
    match (text(strategy, "type"), rolling) {
        ("RollingUpdate", Some(rolling)) => {
            non_negative(rolling, "partition", &place, errors);
            if let Some(gone) = some(rolling, "maxUnavailable") {
                let place = place.field("maxUnavailable");
                amount_or_percent(gone, &place, errors);
                if is_nothing(gone) {
                    errors.push_with(|| FieldError::invalid(&place, gone, "cannot be 0"));
                }
                not_more_than_all(gone, &place, errors);
            }
        }
        ("RollingUpdate" | "OnDelete", None) => {}
        ("OnDelete", Some(rolling)) => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push_with(|| FieldError::invalid(&place, rolling, why));
        }
        _ => {
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push_with(|| FieldError::invalid(path, strategy, why));
        }
    }
}

/// Mutable fields of a stateful set's spec.
const STATEFUL_SET_CHANGES: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

pub(crate) fn stateful_set_update(new: &Value, old: &Value, errors: &mut Errors) {
    stateful_set_spec(new, When::Changed, errors);
    let without = |object: &Value| {
        let mut spec = spec_of(object).as_object().cloned().unwrap_or_default();
        spec.retain(|field, _| !STATEFUL_SET_CHANGES.contains(&field.as_str()));
        spec
    };
    if without(new) != without(old) {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.push_with(|| FieldError::forbidden(&SPEC.field("spec"), why));
    }
}

pub(crate) fn daemon_set(set: &Value, errors: &mut Errors) {
    let (spec, path) = (spec_of(set), SPEC.field("spec"));
    let own = some(spec, "selector");
    let selector_path = path.field("selector");
    if let Some(selector) = own {
        errors.append(validate_label_selector(selector, &selector_path));
    }
    let template_path = path.field("template");
    if selects(own, &spec["template"]) == Some(false) {
        errors.push(unselected(&spec["template"], &template_path));
    }
    if let Some(selector) = own.filter(|selector| is_empty(selector)) {
        let why = "empty selector is invalid for daemonset";
        errors.push_with(|| FieldError::invalid(&selector_path, selector, why));
    }
    template(&spec["template"], &template_path, errors);
    lasting(&spec["template"], "DaemonSet", &template_path, errors);
    non_negative(spec, "minReadySeconds", &path, errors);
    daemon_strategy(
        &spec["updateStrategy"],
        &path.field("updateStrategy"),
        errors,
    );
    non_negative(spec, "revisionHistoryLimit", &path, errors);
}

fn daemon_strategy(strategy: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("rollingUpdate");
    match (text(strategy, "type"), some(strategy, "rollingUpdate")) {
        ("OnDelete", _) => {}
        ("RollingUpdate", None) => errors.push_with(|| FieldError::required(&place, "")),
        ("RollingUpdate", Some(rolling)) => {
            let (gone, more) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            let (gone_path, more_path) = (place.field("maxUnavailable"), place.field("maxSurge"));
            amount_or_percent(gone, &gone_path, errors);
            amount_or_percent(more, &more_path, errors);
            if !is_nothing(gone) && !is_nothing(more) {
                let why = "may not be set when maxUnavailable is non-zero";
                errors.push_with(|| FieldError::invalid(&more_path, more, why));
            }
            if is_nothing(gone) && is_nothing(more) {
                let why = "cannot be 0 when maxSurge is 0";
                errors.push_with(|| FieldError::required(&gone_path, why));
            }
            not_more_than_all(gone, &gone_path, errors);
            not_more_than_all(more, &more_path, errors);
        }
        _ => {
            let known = ["RollingUpdate", "OnDelete"];
            errors.push_with(|| FieldError::not_supported(path, strategy, known));
        }
    }
}

pub(crate) fn daemon_set_update(new: &Value, old: &Value, errors: &mut Errors) {
    daemon_set(new, errors);
    let path = SPEC.field("spec");
    immutable_field(spec_of(new), spec_of(old), "selector", &path, errors);
}

pub(crate) fn replication_controller(controller: &Value, errors: &mut Errors) {
    let (spec, path) = (spec_of(controller), SPEC.field("spec"));
    non_negative(spec, "minReadySeconds", &path, errors);
    let selector = spec["selector"]
        .as_object()
        .filter(|labels| !labels.is_empty());
    if selector.is_none() {
        errors.push_with(|| FieldError::required(&path.field("selector"), ""));
    }
    non_negative(spec, "replicas", &path, errors);
    let path = path.field("template");
    let Some(own) = some(spec, "template") else {
        errors.push_with(|| FieldError::required(&path, ""));
        return;
    };
    let selector = json!({ "matchLabels": spec["selector"] });
    if selects(Some(&selector), own) == Some(false) {
        errors.push(unselected(own, &path));
    }
    template(own, &path, errors);
    lasting(own, "ReplicationController", &path, errors);
}

pub(crate) fn replication_controller_update(new: &Value, _old: &Value, errors: &mut Errors) {
    replication_controller(new, errors);
}

pub(crate) fn pod_template(object: &Value, errors: &mut Errors) {
    template(&object["template"], &SPEC.field("template"), errors);
}

pub(crate) fn pod_template_update(new: &Value, _old: &Value, errors: &mut Errors) {
    pod_template(new, errors);
}

pub(crate) fn revision(revision: &Value, errors: &mut Errors) {
    if revision.get("data").is_none_or(Value::is_null) {
        errors.push_with(|| FieldError::required(&SPEC.field("data"), "data is mandatory"));
    }
    non_negative(revision, "revision", SPEC, errors);
}

pub(crate) fn revision_update(new: &Value, old: &Value, errors: &mut Errors) {
    revision(new, errors);
    immutable_field(new, old, "data", SPEC, errors);
}

/// Validates a pod disruption budget.
pub(crate) fn budget(budget: &Value, errors: &mut Errors) {
    let (spec, path) = (spec_of(budget), SPEC.field("spec"));
    let (least, most) = (some(spec, "minAvailable"), some(spec, "maxUnavailable"));
    if least.is_some() && most.is_some() {
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.push_with(|| FieldError::invalid(&path, spec, why));
    }
    for (field, amount) in [("minAvailable", least), ("maxUnavailable", most)] {
        if let Some(amount) = amount {
            amount_or_percent(amount, &path.field(field), errors);
            not_more_than_all(amount, &path.field(field), errors);
        }
    }
    if let Some(selector) = some(spec, "selector") {
        errors.append(validate_label_selector(selector, &path.field("selector")));
    }
    let policy = text(spec, "unhealthyPodEvictionPolicy");
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    let path = path.field("unhealthyPodEvictionPolicy");
    super::one_of_or_none(policy, &known, &path, errors);
}

pub(crate) fn budget_update(new: &Value, _old: &Value, errors: &mut Errors) {
    budget(new, errors);
}

/// An object that is named by its kind and name.
pub(super) fn named_kind(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["kind", "name"] {
        if required(reference, field, path, errors) {
            let given = text(reference, field);
            let problems = NameRule::PathSegment.check(given, Part::Whole);
            push_problems(problems, given, &path.field(field), errors);
        }
    }
}

/// Variant of [`named_kind`] for references with a group.
pub(super) fn reference(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    named_kind(reference, path, errors);
    let group = text(reference, "apiVersion")
        .split_once('/')
        .map(|(group, _)| group);
    let is_core = matches!(text(reference, "kind"), "ReplicationController") && group.is_none();
    if !is_core && group.is_none_or(str::is_empty) {
        let version = text(reference, "apiVersion");
        let why = "apiVersion must specify API group";
        errors.push_with(|| FieldError::invalid(&path.field("apiVersion"), version, why));
    }
}
