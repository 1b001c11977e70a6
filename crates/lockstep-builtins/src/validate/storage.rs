//! Validation of persistent volumes, claims, storage classes and CSI drivers.

use std::collections::BTreeSet;

use lockstep_object::field::{FieldError, Path};
use lockstep_object::selector::validate_label_selector;
use lockstep_object::{Map, Value, json, names};

use super::resources::non_negative_amount;
use super::{
    Errors, immutable_field, one_of, one_of_or_none, push_problems, required, subdomain,
    volume_sources,
};
use crate::amounts::amount;
use crate::look::{list, some, text};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
/// Fields of the spec of a volume that are not the volume itself.
const ABOUT_VOLUME: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

fn access_modes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for mode in list(spec, "accessModes") {
        let mode = mode.as_str().unwrap_or_default();
        one_of_or_none(mode, &MODES, &path.field("accessModes"), errors);
    }
}

/// The volume source fields of a spec.
fn source(spec: &Value) -> Map<String, Value> {
    let mut fields = spec.as_object().cloned().unwrap_or_default();
    fields.retain(|name, value| !ABOUT_VOLUME.contains(&name.as_str()) && !value.is_null());
    fields
}

pub(crate) fn volume(volume: &Value, errors: &mut Errors) {
    let (spec, path) = (&volume["spec"], Path::ROOT.field("spec"));
    if list(spec, "accessModes").is_empty() {
        errors.push_with(|| FieldError::required(&path.field("accessModes"), ""));
    }
    access_modes(spec, &path, errors);
    let capacity = spec["capacity"].as_object();
    let place = path.field("capacity");
    if capacity.is_none_or(Map::is_empty) {
        errors.push_with(|| FieldError::required(&place, ""));
    }
    let is_storage = capacity.is_some_and(|all| all.len() == 1 && all.contains_key("storage"));
    if !is_storage {
        let value = &spec["capacity"];
        errors.push_with(|| FieldError::not_supported(&place, value, ["storage"]));
    }
    for (name, value) in capacity.into_iter().flatten() {
        if amount(value).sign() <= 0 {
            let why = "must be greater than zero";
            errors.push_with(|| FieldError::invalid(&place.key(name), value, why));
        }
    }
    let policy = text(spec, "persistentVolumeReclaimPolicy");
    let known = ["Delete", "Recycle", "Retain"];
    let policy_path = path.field("persistentVolumeReclaimPolicy");
    one_of_or_none(policy, &known, &policy_path, errors);
    volume_sources::reach(spec, &path, errors);
    volume_sources::check(spec, &path, errors);
    let sources = source(spec);
    if sources.is_empty() {
        errors.push_with(|| FieldError::required(&path, "must specify a volume type"));
    }
    for name in sources.keys().skip(1) {
        let why = "may not specify more than 1 volume type";
        errors.push_with(|| FieldError::forbidden(&path.field(name), why));
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        subdomain(class, &path.field("storageClassName"), errors);
    }
    one_of_or_none(
        text(spec, "volumeMode"),
        &VOLUME_MODES,
        &path.field("volumeMode"),
        errors,
    );
}

pub(crate) fn volume_update(new: &Value, old: &Value, errors: &mut Errors) {
    volume(new, errors);
    let path = Path::ROOT.field("spec");
    if source(&new["spec"]) != source(&old["spec"]) {
        let why = "spec.persistentvolumesource is immutable after creation";
        errors.push_with(|| FieldError::forbidden(&path.field("persistentvolumesource"), why));
    }
    immutable_field(
        &new["spec"],
        &old["spec"],
        "volumeMode",
        &Path::ROOT,
        errors,
    );
    volume_sources::reach_stays(&new["spec"], &old["spec"], errors);
}

pub(crate) fn claim(claim: &Value, errors: &mut Errors) {
    claim_spec(&claim["spec"], &Path::ROOT.field("spec"), errors);
}

/// Validates the spec of a claim or claim template.
pub(super) fn claim_spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if list(spec, "accessModes").is_empty() {
        let why = "at least 1 access mode is required";
        errors.push_with(|| FieldError::required(&path.field("accessModes"), why));
    }
    if let Some(selector) = some(spec, "selector") {
        errors.append(validate_label_selector(selector, &path.field("selector")));
    }
    access_modes(spec, path, errors);
    let resources = path.field("resources");
    let place = resources.key("storage");
    match spec["resources"]["requests"].get("storage") {
        None => errors.push_with(|| FieldError::required(&place, "")),
        Some(wanted) if amount(wanted).sign() <= 0 => {
            let why = "must be greater than zero";
            errors.push_with(|| FieldError::invalid(&place, wanted, why));
        }
        Some(_) => {}
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        subdomain(class, &path.field("storageClassName"), errors);
    }
    one_of_or_none(
        text(spec, "volumeMode"),
        &VOLUME_MODES,
        &path.field("volumeMode"),
        errors,
    );
    for field in ["dataSource", "dataSourceRef"] {
        if let Some(source) = some(spec, field) {
            data_source(source, &path.field(field), errors);
        }
    }
    let of = |field: &str| ["apiGroup", "kind", "name"].map(|part| spec[field][part].clone());
    let (source, reference) = (some(spec, "dataSource"), some(spec, "dataSourceRef"));
    let is_elsewhere = reference.is_some_and(|it| !text(it, "namespace").is_empty());
    let why = match (source, reference) {
        (Some(_), Some(_)) if is_elsewhere => {
            "may not be specified when dataSourceRef.namespace is specified"
        }
        (Some(_), Some(_)) if of("dataSource") != of("dataSourceRef") => "must match dataSourceRef",
        _ => return,
    };
    errors.push_with(|| FieldError::invalid(path, &Value::Object(Map::new()), why));
}

/// Validates a data source.
fn data_source(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    required(source, "name", path, errors);
    required(source, "kind", path, errors);
    let (group, kind) = (text(source, "apiGroup"), text(source, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push_with(|| FieldError::invalid(path, kind, why));
    } else if !group.is_empty() {
        subdomain(group, &path.field("apiGroup"), errors);
    }
    let namespace = text(source, "namespace");
    if !namespace.is_empty() {
        super::label(namespace, &path.field("namespace"), errors);
    }
}

pub(crate) fn claim_update(new: &Value, old: &Value, errors: &mut Errors) {
    claim(new, errors);
    let path = Path::ROOT.field("spec");
    let is_bound = old["status"]["phase"] == "Bound";
    let had_name = !text(&old["spec"], "volumeName").is_empty();
    let rest = |claim: &Value| {
        let mut spec = claim["spec"].as_object().cloned().unwrap_or_default();
        if !had_name {
            spec.remove("volumeName");
        }
        if is_bound {
            spec.remove("volumeAttributesClassName");
            let requests = spec
                .get_mut("resources")
                .and_then(|all| all.get_mut("requests"));
            if let Some(requests) = requests.and_then(Value::as_object_mut) {
                requests.remove("storage");
            }
        }
        spec
    };
    if rest(new) != rest(old) {
        let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.push_with(|| FieldError::forbidden(&path, why));
        return;
    }
    let storage = |claim: &Value| amount(&claim["spec"]["resources"]["requests"]["storage"]);
    let has = amount(&old["status"]["capacity"]["storage"]);
    if is_bound && storage(new) < storage(old) && storage(new) <= has {
        let resources = path.field("resources");
        let requests = resources.field("requests");
        let why = "field can not be less than status.capacity";
        errors.push_with(|| FieldError::forbidden(&requests.field("storage"), why));
    }
}

/// The name of who makes volumes, in small letters.
fn provisioner(object: &Value, field: &str, errors: &mut Errors) {
    if required(object, field, &Path::ROOT, errors) {
        let name = text(object, field).to_lowercase();
        let problems = names::qualified_name(&name);
        push_problems(problems, &name, &Path::ROOT.field(field), errors);
    }
}

/// Validates `allowedTopologies`: no duplicates.
fn topologies(class: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("allowedTopologies");
    let terms = list(class, "allowedTopologies");
    let mut earlier = BTreeSet::new();
    for (index, term) in terms.iter().enumerate() {
        let path = path.index(index);
        let path = path.field("matchLabelExpressions");
        let rules = list(term, "matchLabelExpressions");
        let mut keys = BTreeSet::new();
        for (at, rule) in rules.iter().enumerate() {
            let (key, path) = (text(rule, "key"), path.index(at));
            let (values, place) = (list(rule, "values"), path.field("values"));
            if values.is_empty() {
                errors.push_with(|| FieldError::required(&place, ""));
            }
            let mut seen = BTreeSet::new();
            for (at, value) in values.iter().enumerate() {
                if !seen.insert(value.as_str()) {
                    errors.push_with(|| FieldError::duplicate(&place.index(at), value));
                }
            }
            push_problems(names::qualified_name(key), key, &path.field("key"), errors);
            if !keys.insert(key) {
                errors.push_with(|| FieldError::duplicate(&path.field("key"), key));
            }
        }
        // Upstream compares with empty terms too, and reports one error for each equal one; they have one text.
        let is_repeated = !earlier.insert(json::encode(&term["matchLabelExpressions"]));
        if rules.is_empty() || is_repeated {
            errors.push_with(|| FieldError::duplicate(&path, ""));
        }
    }
}

/// Validates a volume attributes class.
pub(crate) fn attributes(class: &Value, errors: &mut Errors) {
    provisioner(class, "driverName", errors);
    if class["parameters"].as_object().is_none_or(Map::is_empty) {
        let why = "must contain at least one key/value pair";
        errors.push_with(|| FieldError::required(&Path::ROOT.field("parameters"), why));
    }
}

pub(crate) fn attributes_update(new: &Value, old: &Value, errors: &mut Errors) {
    for field in ["driverName", "parameters"] {
        if new[field] != old[field] {
            let why = format!("updates to {field} are forbidden.");
            errors.push_with(|| FieldError::forbidden(&Path::ROOT.field(field), why));
        }
    }
    attributes(new, errors);
}

pub(crate) fn class(class: &Value, errors: &mut Errors) {
    provisioner(class, "provisioner", errors);
    let policy = text(class, "reclaimPolicy");
    let place = Path::ROOT.field("reclaimPolicy");
    one_of_or_none(policy, &["Delete", "Retain"], &place, errors);
    let mode = text(class, "volumeBindingMode");
    let known = ["Immediate", "WaitForFirstConsumer"];
    one_of(mode, &known, &Path::ROOT.field("volumeBindingMode"), errors);
    topologies(class, errors);
}

pub(crate) fn class_update(new: &Value, old: &Value, errors: &mut Errors) {
    for field in [
        "parameters",
        "provisioner",
        "reclaimPolicy",
        "volumeBindingMode",
    ] {
        immutable_field(new, old, field, &Path::ROOT, errors);
    }
    topologies(new, errors);
}

pub(crate) fn node_drivers(node: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("spec");
    let path = path.field("drivers");
    let mut seen = BTreeSet::new();
    for (index, driver) in list(&node["spec"], "drivers").iter().enumerate() {
        let path = path.index(index);
        let name = text(driver, "name");
        required(driver, "name", &path, errors);
        required(driver, "nodeID", &path, errors);
        if !seen.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
        }
    }
}

pub(crate) fn node_drivers_update(new: &Value, _old: &Value, errors: &mut Errors) {
    node_drivers(new, errors);
}

pub(crate) fn capacity(capacity: &Value, errors: &mut Errors) {
    let class = text(capacity, "storageClassName");
    subdomain(class, &Path::ROOT.field("storageClassName"), errors);
    if let Some(left) = some(capacity, "capacity") {
        non_negative_amount(left, &Path::ROOT.field("capacity"), errors);
    }
}

pub(crate) fn capacity_update(new: &Value, old: &Value, errors: &mut Errors) {
    capacity(new, errors);
    for field in ["nodeTopology", "storageClassName"] {
        immutable_field(new, old, field, &Path::ROOT, errors);
    }
}

pub(crate) fn attachment(attachment: &Value, errors: &mut Errors) {
    let (spec, path) = (&attachment["spec"], Path::ROOT.field("spec"));
    required(spec, "attacher", &path, errors);
    let sources = ["persistentVolumeName", "inlineVolumeSpec"].into_iter();
    let count = sources
        .filter(|name| some(&spec["source"], name).is_some())
        .count();
    let place = path.field("source");
    if count == 0 {
        let why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        errors.push_with(|| FieldError::required(&place, why));
    } else if count > 1 {
        let why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        errors.push_with(|| FieldError::forbidden(&place, why));
    }
    let node = text(spec, "nodeName");
    subdomain(node, &path.field("nodeName"), errors);
}

pub(crate) fn attachment_update(new: &Value, old: &Value, errors: &mut Errors) {
    attachment(new, errors);
    immutable_field(new, old, "spec", &Path::ROOT, errors);
}

pub(crate) fn driver_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("spec");
    for field in ["attachRequired", "fsGroupPolicy", "volumeLifecycleModes"] {
        immutable_field(&new["spec"], &old["spec"], field, &path, errors);
    }
}
