//! Validation of persistent volume sources and node affinity.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Value, names};

use super::scalar::path_without_way_up;
use super::{Errors, affinity, push_problems, required};
use crate::look::{some, text};

const CSI_SECRETS: [&str; 5] = [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
    "nodeStageSecretRef",
];

/// The sources that are met most.
pub(super) fn check(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Some(host) = some(spec, "hostPath") {
        let path = path.field("hostPath");
        if required(host, "path", &path, errors) {
            path_without_way_up(text(host, "path"), &path.field("path"), errors);
        }
    }
    if let Some(nfs) = some(spec, "nfs") {
        let path = path.field("nfs");
        required(nfs, "server", &path, errors);
        required(nfs, "path", &path, errors);
        let (place, path) = (text(nfs, "path"), path.field("path"));
        if !place.starts_with('/') {
            let why = "must be an absolute path";
            errors.push_with(|| FieldError::invalid(&path, place, why));
        }
    }
    if let Some(csi) = some(spec, "csi") {
        driver(csi, &path.field("csi"), errors);
    }
}

fn driver(csi: &Value, path: &Path<'_>, errors: &mut Errors) {
    if required(csi, "driver", path, errors) {
        let name = text(csi, "driver");
        let problems = names::dns1123_subdomain(&name.to_lowercase());
        push_problems(problems, name, &path.field("driver"), errors);
    }
    required(csi, "volumeHandle", path, errors);
    for field in CSI_SECRETS {
        if let Some(secret) = some(csi, field) {
            let path = path.field(field);
            required(secret, "name", &path, errors);
            required(secret, "namespace", &path, errors);
        }
    }
}

/// The nodes that reach a volume.
pub(super) fn reach(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(nodes) = some(spec, "nodeAffinity") else {
        return;
    };
    let path = path.field("nodeAffinity");
    let path = path.field("required");
    match some(nodes, "required") {
        Some(selector) => affinity::node_selector(selector, &path, errors),
        None => {
            let why = "must specify required node constraints";
            errors.push_with(|| FieldError::required(&path, why));
        }
    }
}

/// Node affinity is immutable once set.
pub(super) fn reach_stays(new: &Value, old: &Value, errors: &mut Errors) {
    if some(old, "nodeAffinity").is_some() && new["nodeAffinity"] != old["nodeAffinity"] {
        let path = Path::ROOT.field("nodeAffinity");
        let why = "field is immutable, except for updating from beta label to GA";
        let value = &new["nodeAffinity"];
        errors.push_with(|| FieldError::invalid(&path, value, why));
    }
}
