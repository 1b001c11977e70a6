//! `APIService`: defaulting and validation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::{dns1035_label, dns1123_subdomain};
use lockstep_object::{Object, Value};
use serde_json::json;

/// The default of `spec.service.port`.
const PORT: i64 = 443;

pub(super) fn normalize(api: &mut Object, old: Option<&Object>) {
    let spec = api.fields_mut().get_mut("spec");
    let service = spec.and_then(|spec| spec.get_mut("service"));
    if let Some(service) = service.and_then(Value::as_object_mut) {
        service.entry("port").or_insert_with(|| PORT.into());
    } else if old.is_none() && api.at(&["status", "conditions"]).is_none() {
        // A local group version is available as soon as it exists.
        let since = api.metadata().get("creationTimestamp").cloned();
        let condition = json!({
            "type": "Available", "status": "True", "reason": "Local",
            "message": "Local APIServices are always available", "lastTransitionTime": since,
        });
        let status = json!({ "conditions": [condition] });
        api.fields_mut().insert("status".to_owned(), status);
    }
}

pub(super) fn validate(api: &Object) -> FieldErrors {
    let text = |field| api.at(&["spec", field]).and_then(Value::as_str);
    let (group, version) = (
        text("group").unwrap_or_default(),
        text("version").unwrap_or_default(),
    );
    let (metadata, spec) = (Path::ROOT.field("metadata"), Path::ROOT.field("spec"));
    let mut errors = FieldErrors::new();
    let required = format!("{version}.{group}");
    if api.name() != required {
        let problem = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        let path = metadata.field("name");
        errors.push(FieldError::invalid(&path, api.name(), problem));
    }
    let path = spec.field("group");
    if group.is_empty() && version != "v1" {
        let problem = "only v1 may have an empty group and it better be legacy kube";
        errors.push(FieldError::required(&path, problem));
    }
    if !group.is_empty() {
        let problems = dns1123_subdomain(group).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(&path, group, problem)));
    }
    let path = spec.field("version");
    let problems = dns1035_label(version).into_iter();
    errors.extend(problems.map(|problem| FieldError::invalid(&path, version, problem)));
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let number = api.at(&["spec", field]).and_then(Value::as_i64);
        let number = number.unwrap_or_default();
        if !(1..=most).contains(&number) {
            let problem = format!("must be positive and less than {most}");
            errors.push(FieldError::invalid(&spec.field(field), number, problem));
        }
    }
    errors.append(check_service(api, &spec));
    errors
}

/// Validates `spec.service` and the TLS fields. A local `APIService` has no TLS connection to configure.
fn check_service(api: &Object, spec: &Path<'_>) -> FieldErrors {
    let bundle = api.at(&["spec", "caBundle"]).and_then(Value::as_str);
    let bundle = bundle.unwrap_or_default();
    let skips = api.at(&["spec", "insecureSkipTLSVerify"]) == Some(&Value::Bool(true));
    let skip_path = spec.field("insecureSkipTLSVerify");
    let mut errors = FieldErrors::new();
    let service = api.at(&["spec", "service"]).filter(|s| s.is_object());
    let Some(service) = service else {
        if !bundle.is_empty() {
            let problem = "local APIServices may not have a caBundle";
            let path = spec.field("caBundle");
            let bytes = STANDARD.decode(bundle).unwrap_or_default().len();
            let shown = format!("{bytes} bytes");
            errors.push(FieldError::invalid(&path, shown, problem));
        }
        if skips {
            let problem = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(FieldError::invalid(&skip_path, true, problem));
        }
        return errors;
    };
    let path = spec.field("service");
    for field in ["namespace", "name"] {
        if service[field].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(&path.field(field), ""));
        }
    }
    let port = service["port"].as_i64().unwrap_or_default();
    if !(1..=65_535).contains(&port) {
        let problem = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&path.field("port"), port, problem));
    }
    if skips && !bundle.is_empty() {
        let problem = "may not be true if caBundle is present";
        errors.push(FieldError::invalid(&skip_path, true, problem));
    }
    errors
}
