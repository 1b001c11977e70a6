//! Metadata validation with upstream's messages. All errors are collected.

use crate::field::{FIELD_ERRORS_MAX, FieldError, FieldErrors, Path, Shown};
use crate::go;
use crate::kinds::GroupVersion;
use crate::names::{self, NameRule, Part};
use crate::object::Object;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Bytes of all annotations of an object together, keys and values.
pub const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
/// Longest name of a subresource in `managedFields`.
const SUBRESOURCE_BYTES_MAX: usize = 256;
/// Longest manager.
const MANAGER_BYTES_MAX: usize = 128;
/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Scope of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Objects are namespaced.
    Namespaced,
    /// Objects are cluster-scoped.
    Cluster,
}

/// Validates the metadata of a new object.
pub fn validate_create(object: &Object, names: NameRule, scope: Scope) -> FieldErrors {
    let path = Path::ROOT.field("metadata");
    validate_metadata(object.metadata(), names, scope, &path)
}

/// Validates any metadata, such as that of an embedded resource or a pod template.
pub fn validate_metadata(
    metadata: &Map<String, Value>,
    names: NameRule,
    scope: Scope,
    path: &Path<'_>,
) -> FieldErrors {
    let text = |field: &str| {
        metadata
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let mut errors = FieldErrors::new();
    let generate_name = text("generateName");
    if !generate_name.is_empty() {
        let problems = names.check(generate_name, Part::Prefix);
        push_all(
            &mut errors,
            &path.field("generateName"),
            generate_name,
            problems,
        );
    }
    match text("name") {
        "" => errors.push(FieldError::required(
            &path.field("name"),
            "name or generateName is required",
        )),
        name => push_all(
            &mut errors,
            &path.field("name"),
            name,
            names.check(name, Part::Whole),
        ),
    }
    validate_namespace(
        &mut errors,
        text("namespace"),
        scope,
        &path.field("namespace"),
    );
    validate_generation(&mut errors, metadata, path);
    validate_common(&mut errors, metadata, path);
    validate_finalizers(&mut errors, metadata, path);
    errors
}

/// Validates the metadata of an update, after [`prepare_update`](super::prepare_update).
pub fn validate_update(object: &Object, stored: &Object) -> FieldErrors {
    let path = Path::ROOT.field("metadata");
    let mut errors = FieldErrors::new();
    if stored.deletion_timestamp().is_some() {
        validate_no_new_finalizers(&mut errors, object, stored, &path.field("finalizers"));
    }
    if object.resource_version().is_empty() {
        let problem = "must be specified for an update";
        errors.push(FieldError::invalid(
            &path.field("resourceVersion"),
            0_i64,
            problem,
        ));
    }
    validate_generation(&mut errors, object.metadata(), &path);
    if object.generation() < stored.generation() {
        let problem = "must not be decremented";
        errors.push(FieldError::invalid(
            &path.field("generation"),
            object.generation(),
            problem,
        ));
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (new, old) = (object.metadata().get(field), stored.metadata().get(field));
        if new != old {
            let value = new.map_or_else(|| Shown::from(""), Shown::from);
            errors.push(FieldError::invalid(
                &path.field(field),
                value,
                "field is immutable",
            ));
        }
    }
    validate_common(&mut errors, object.metadata(), &path);
    errors
}

/// Built-in kinds refuse finalizers without a domain.
pub fn validate_finalizers_of_builtin(object: &Object) -> FieldErrors {
    let path = Path::ROOT.field("metadata");
    let path = path.field("finalizers");
    let names = object.finalizers();
    let wrong = names.enumerate();
    wrong
        .filter_map(|(index, name)| validate_finalizer_of_builtin(name, &path.index(index)))
        .collect()
}

/// Finalizer rule of built-in kinds for a single name.
pub fn validate_finalizer_of_builtin(name: &str, path: &Path<'_>) -> Option<FieldError> {
    let problem = "name is neither a standard finalizer name nor is it fully qualified";
    is_unqualified(name).then(|| FieldError::invalid(path, name, problem))
}

/// Warnings for custom resources, which accept any finalizer: one for each new name without a domain or not qualified.
pub fn finalizer_warnings(object: &Object, stored: Option<&Object>) -> Vec<String> {
    let mut warnings = Vec::new();
    let added = new_finalizers(object, stored);
    for name in added.into_iter().take(FIELD_ERRORS_MAX) {
        let quoted = go::quote(name);
        let problems = names::qualified_name(name).into_iter();
        warnings
            .extend(problems.map(|problem| format!("metadata.finalizers: {quoted}: {problem}")));
        if is_unqualified(name) {
            let path = if name.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            warnings.push(format!(
                "metadata.finalizers: {quoted}: prefer a domain-qualified finalizer name{path} to avoid accidental \
                 conflicts with other finalizer writers"
            ));
        }
    }
    warnings
}

/// Sorted, each once.
fn new_finalizers<'o>(object: &'o Object, stored: Option<&Object>) -> BTreeSet<&'o str> {
    let stored = stored.map(|stored| stored.finalizers().collect::<BTreeSet<_>>());
    let stored = stored.unwrap_or_default();
    let names = object.finalizers();
    names.filter(|name| !stored.contains(name)).collect()
}

fn is_unqualified(finalizer: &str) -> bool {
    !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer)
}

fn push_all(errors: &mut FieldErrors, path: &Path<'_>, value: &str, problems: Vec<String>) {
    errors.extend(
        problems
            .into_iter()
            .map(|problem| FieldError::invalid(path, value, problem)),
    );
}

fn validate_namespace(errors: &mut FieldErrors, namespace: &str, scope: Scope, path: &Path<'_>) {
    match (scope, namespace) {
        (Scope::Namespaced, "") => errors.push(FieldError::required(path, "")),
        (Scope::Namespaced, name) => push_all(errors, path, name, names::dns1123_label(name)),
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => errors.push(FieldError::forbidden(path, "not allowed on this type")),
    }
}

fn validate_generation(errors: &mut FieldErrors, metadata: &Map<String, Value>, path: &Path<'_>) {
    let generation = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    if generation < 0 {
        let problem = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(
            &path.field("generation"),
            generation,
            problem,
        ));
    }
}

/// Rules for both create and update.
fn validate_common(errors: &mut FieldErrors, metadata: &Map<String, Value>, path: &Path<'_>) {
    let labels_path = path.field("labels");
    for (key, value) in entries(metadata, "labels") {
        push_all(errors, &labels_path, key, names::qualified_name(key));
        push_all(errors, &labels_path, value, names::label_value(value));
    }
    let annotations_path = path.field("annotations");
    let mut bytes = 0;
    for (key, value) in entries(metadata, "annotations") {
        let problems = names::qualified_name(&key.to_lowercase());
        push_all(errors, &annotations_path, key, problems);
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        errors.push(FieldError::too_long(
            &annotations_path,
            ANNOTATIONS_BYTES_MAX,
        ));
    }
    validate_owners(
        errors,
        list(metadata, "ownerReferences"),
        &path.field("ownerReferences"),
    );
    validate_managed_fields(
        errors,
        list(metadata, "managedFields"),
        &path.field("managedFields"),
    );
}

fn entries<'a>(
    metadata: &'a Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let entries = metadata.get(field).and_then(Value::as_object);
    let entries = entries.into_iter().flatten();
    entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn list<'a>(metadata: &'a Map<String, Value>, field: &str) -> &'a [Value] {
    let list = metadata.get(field).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn validate_finalizers(errors: &mut FieldErrors, metadata: &Map<String, Value>, path: &Path<'_>) {
    let path = path.field("finalizers");
    let finalizers = list(metadata, "finalizers");
    let names: Vec<&str> = finalizers.iter().filter_map(Value::as_str).collect();
    for name in &names {
        push_all(errors, &path, name, names::qualified_name(name));
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let problem = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(&path, finalizers, problem));
    }
}

fn validate_no_new_finalizers(
    errors: &mut FieldErrors,
    object: &Object,
    stored: &Object,
    path: &Path<'_>,
) {
    let added = new_finalizers(object, Some(stored));
    if added.is_empty() {
        return;
    }
    let added = go::quote_all(added);
    errors.push(FieldError::forbidden(
        path,
        format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{added}}}"
        ),
    ));
}

fn validate_owners(errors: &mut FieldErrors, owners: &[Value], path: &Path<'_>) {
    let mut controller: Option<String> = None;
    for owner in owners {
        validate_owner(errors, owner, path);
        if owner.get("controller") != Some(&Value::Bool(true)) {
            continue;
        }
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let name = || format!("{}/{}", text("kind"), text("name"));
        match &controller {
            None => controller = Some(name()),
            Some(first) => errors.push_with(|| {
                let problem = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                     {}",
                    name()
                );
                FieldError::invalid(path, owners, problem)
            }),
        }
    }
}

fn validate_owner(errors: &mut FieldErrors, owner: &Value, path: &Path<'_>) {
    let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("apiVersion");
    let group_version = GroupVersion::parse(api_version)
        .ok()
        .filter(|parsed| !parsed.version.is_empty());
    if group_version.is_none() {
        let problem = "version must not be empty";
        errors.push(FieldError::invalid(
            &path.field("apiVersion"),
            api_version,
            problem,
        ));
    }
    for field in ["kind", "name", "uid"] {
        if text(field).is_empty() {
            errors.push(FieldError::invalid(
                &path.field(field),
                "",
                "must not be empty",
            ));
        }
    }
    if (api_version, text("kind")) == ("v1", "Event") {
        let problem = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(FieldError::invalid(path, owner, problem));
    }
}

fn validate_managed_fields(errors: &mut FieldErrors, entries: &[Value], path: &Path<'_>) {
    for (index, entry) in entries.iter().enumerate() {
        let path = path.index(index);
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        match text("operation") {
            "Apply" | "Update" => {}
            "" => errors.push(FieldError::required(
                &path.field("operation"),
                "must not be empty",
            )),
            other => {
                let supported = ["Apply", "Update"];
                errors.push(FieldError::not_supported(
                    &path.field("operation"),
                    other,
                    supported,
                ));
            }
        }
        let fields_type = text("fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(FieldError::invalid(
                &path.field("fieldsType"),
                fields_type,
                "must be `FieldsV1`",
            ));
        }
        if text("manager").len() > MANAGER_BYTES_MAX {
            errors.push(FieldError::too_long(
                &path.field("manager"),
                MANAGER_BYTES_MAX,
            ));
        }
        if text("subresource").len() > SUBRESOURCE_BYTES_MAX {
            errors.push(FieldError::too_long(
                &path.field("subresource"),
                SUBRESOURCE_BYTES_MAX,
            ));
        }
    }
}
