//! Validation of pod volumes and mounts.

use std::collections::BTreeSet;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::scalar::{path_below, path_without_way_up};
use super::{Errors, label, one_of_or_none};
use crate::amounts::amount;
use crate::look::{list, number, text};

/// Validates volumes and returns the mountable ones by name.
pub(super) fn volumes<'v>(
    spec: &'v Value,
    path: &Path<'_>,
    errors: &mut Errors,
) -> BTreeSet<&'v str> {
    let path = path.field("volumes");
    let mut known = BTreeSet::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let path = path.index(index);
        let mut faults = Errors::new();
        source(volume, &path, &mut faults);
        let (name, place) = (text(volume, "name"), path.field("name"));
        if name.is_empty() {
            faults.push(FieldError::required(&place, ""));
        } else {
            label(name, &place, &mut faults);
        }
        if known.contains(name) {
            faults.push(FieldError::duplicate(&place, name));
        }
        if faults.is_empty() {
            known.insert(name);
        }
        errors.append(faults);
    }
    known
}

fn source(volume: &Value, path: &Path<'_>, errors: &mut Errors) {
    // The order in which upstream counts them is not the order of their names.
    let fields = volume.as_object().into_iter().flatten();
    let mut given: Vec<&str> = fields
        .filter(|(name, value)| *name != "name" && !value.is_null())
        .map(|(name, _)| name.as_str())
        .collect();
    given.sort_by_key(|name| (*name != "emptyDir", *name));
    for (at, name) in given.iter().enumerate() {
        let (source, path) = (&volume[*name], path.field(name));
        if at > 0 {
            let why = "may not specify more than 1 volume type";
            errors.push_with(|| FieldError::forbidden(&path, why));
        } else {
            details(name, source, &path, errors);
        }
    }
    if given.is_empty() {
        errors.push_with(|| FieldError::required(path, "must specify a volume type"));
    }
}

/// The highest mode of a file.
const MODE_MAX: i64 = 0o777;

fn mode(source: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let mode = number(source, field);
    if let Some(mode) = mode.filter(|mode| !(0..=MODE_MAX).contains(mode)) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push_with(|| FieldError::invalid(&path.field(field), mode, why));
    }
}

fn items(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("items");
    for (index, item) in list(source, "items").iter().enumerate() {
        let path = path.index(index);
        for field in ["key", "path"] {
            if text(item, field).is_empty() {
                errors.push_with(|| FieldError::required(&path.field(field), ""));
            }
        }
        path_below(text(item, "path"), &path.field("path"), errors);
        mode(item, "mode", &path, errors);
    }
}

fn needs(source: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    if text(source, field).is_empty() {
        errors.push_with(|| FieldError::required(&path.field(field), ""));
    }
}

fn details(name: &str, source: &Value, path: &Path<'_>, errors: &mut Errors) {
    match name {
        "emptyDir" => {
            let limit = source.get("sizeLimit");
            if limit.is_some_and(|limit| amount(limit).sign() < 0) {
                let why = "SizeLimit field must be a valid resource quantity";
                errors.push_with(|| FieldError::forbidden(&path.field("sizeLimit"), why));
            }
        }
        "hostPath" => {
            needs(source, "path", path, errors);
            path_without_way_up(text(source, "path"), &path.field("path"), errors);
            let types = [
                "BlockDevice",
                "CharDevice",
                "Directory",
                "DirectoryOrCreate",
                "File",
                "FileOrCreate",
                "Socket",
            ];
            one_of_or_none(text(source, "type"), &types, &path.field("type"), errors);
        }
        "secret" => {
            needs(source, "secretName", path, errors);
            mode(source, "defaultMode", path, errors);
            items(source, path, errors);
        }
        "configMap" => {
            needs(source, "name", path, errors);
            mode(source, "defaultMode", path, errors);
            items(source, path, errors);
        }
        "persistentVolumeClaim" => needs(source, "claimName", path, errors),
        "nfs" => {
            needs(source, "server", path, errors);
            needs(source, "path", path, errors);
        }
        "csi" => needs(source, "driver", path, errors),
        "downwardAPI" | "projected" => mode(source, "defaultMode", path, errors),
        _ => {}
    }
}

/// Validates the volume mounts of a container.
pub(super) fn mounts(
    container: &Value,
    volumes: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let list_path = path.field("volumeMounts");
    let devices = list(container, "volumeDevices").iter();
    let devices: BTreeSet<&str> = devices.map(|device| text(device, "name")).collect();
    let mut places = BTreeSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path = list_path.index(index);
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.push_with(|| FieldError::required(&path.field("name"), ""));
        }
        if !volumes.contains(name) {
            errors.push_with(|| FieldError::not_found(&path.field("name"), name));
        }
        if place.is_empty() {
            errors.push_with(|| FieldError::required(&path.field("mountPath"), ""));
        }
        if !places.insert(place) {
            errors.push_with(|| {
                FieldError::invalid(&path.field("mountPath"), place, "must be unique")
            });
        }
        if devices.contains(name) {
            let why = "must not already exist in volumeDevices";
            errors.push_with(|| FieldError::invalid(&path.field("name"), name, why));
        }
        sub_paths(mount, &path, &list_path, errors);
        propagation(mount, container, &list_path, errors);
    }
}

fn sub_paths(mount: &Value, path: &Path<'_>, list_path: &Path<'_>, errors: &mut Errors) {
    let (plain, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    if !plain.is_empty() {
        path_below(plain, &list_path.field("subPath"), errors);
    }
    if !expression.is_empty() {
        if !plain.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            errors.push_with(|| FieldError::invalid(&path.field("subPathExpr"), expression, why));
        }
        path_below(expression, &list_path.field("subPathExpr"), errors);
    }
}

/// Validates mount propagation and recursive read-only mounts.
fn propagation(mount: &Value, container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let propagation = text(mount, "mountPropagation");
    let known = ["Bidirectional", "HostToContainer", "None"];
    let place = path.field("mountPropagation");
    one_of_or_none(propagation, &known, &place, errors);
    let is_privileged = container["securityContext"]["privileged"] == true;
    if propagation == "Bidirectional" && !is_privileged {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        errors.push_with(|| FieldError::forbidden(&place, why));
    }
    let place = path.field("recursiveReadOnly");
    match text(mount, "recursiveReadOnly") {
        "" | "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if mount["readOnly"] != true {
                let why = "may only be specified when readOnly is true";
                errors.push_with(|| FieldError::forbidden(&place, why));
            }
            if !matches!(propagation, "" | "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                errors.push_with(|| FieldError::forbidden(&place, why));
            }
        }
        other => {
            let known = ["Disabled", "Enabled", "IfPossible"];
            errors.push_with(|| FieldError::not_supported(&place, other, known));
        }
    }
}

/// Devices that a container sees.
pub(super) fn devices(
    container: &Value,
    volumes: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let path = path.field("volumeDevices");
    let mut seen = BTreeSet::new();
    for (index, device) in list(container, "volumeDevices").iter().enumerate() {
        let path = path.index(index);
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        if name.is_empty() {
            errors.push_with(|| FieldError::required(&path.field("name"), ""));
        } else if !seen.insert(name) {
            let why = "must be unique";
            errors.push_with(|| FieldError::invalid(&path.field("name"), name, why));
        }
        if !volumes.contains(name) {
            errors.push_with(|| FieldError::not_found(&path.field("name"), name));
        }
        if place.is_empty() {
            errors.push_with(|| FieldError::required(&path.field("devicePath"), ""));
        }
    }
}
