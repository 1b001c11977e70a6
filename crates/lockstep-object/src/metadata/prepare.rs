//! Metadata set by the server before validation.

use super::time::Seconds;
use crate::object::Object;
use crate::status::ApiError;
use serde_json::Value;

/// Metadata that the server sets on a new object.
#[derive(Debug, Clone, Copy)]
pub struct Creation<'a> {
    /// The namespace of the path; empty for a cluster-scoped kind.
    pub namespace: &'a str,
    /// A fresh uid.
    pub uid: &'a str,
    /// The present time.
    pub now: Seconds,
    /// The name made up from `generateName`, for an object that has no name.
    pub generated_name: &'a str,
    /// 1 for kinds that count changes of their spec, 0 for others.
    pub generation: i64,
}

/// Presence of a status subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusField {
    /// Present: the main endpoint neither writes status nor counts its changes for the generation.
    Separate,
    /// Absent: `status` is an ordinary field.
    Part,
}

/// Refuses a resourceVersion on an object that is to be created; `0` is none.
pub fn check_create(object: &Object) -> Result<(), ApiError> {
    match object.resource_version() {
        "" | "0" => Ok(()),
        _ => Err(ApiError::bad_request(
            "resourceVersion should not be set on objects to be created",
        )),
    }
}

/// Rejects an object whose namespace differs from the request path. An empty namespace takes the path's.
pub fn check_namespace(object: &Object, namespace: &str) -> Result<(), ApiError> {
    match object.namespace() {
        "" => Ok(()),
        found if found == namespace => Ok(()),
        _ => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

/// Rejects an object whose name differs from the request path.
pub fn check_url_name(object: &Object, name: &str) -> Result<(), ApiError> {
    match object.name() {
        found if found == name => Ok(()),
        "" => Err(ApiError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        found => Err(ApiError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Fields that clients send and the server sets.
const SERVER_FIELDS: [&str; 5] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "selfLink",
    "uid",
];

/// Makes a client's object a new one: what clients cannot set is dropped, what the server knows is written.
pub fn prepare_create(object: &mut Object, creation: &Creation<'_>) {
    let metadata = object.metadata_mut();
    for field in SERVER_FIELDS {
        metadata.remove(field);
    }
    metadata.insert(
        "creationTimestamp".to_owned(),
        Value::from(creation.now.to_string()),
    );
    object.set_meta_text("uid", creation.uid);
    object.set_meta_text("namespace", creation.namespace);
    object.set_generation(creation.generation);
    if object.name().is_empty() && !object.generate_name().is_empty() {
        object.set_meta_text("name", creation.generated_name);
    }
}

/// Makes a client's object the next state of a stored one: what clients cannot change is put back silently. A uid or
/// namespace that the client left out is the stored one; another uid stays, for validation to refuse.
pub fn prepare_update(object: &mut Object, stored: &Object) {
    for field in ["uid", "namespace"] {
        if !object.metadata().contains_key(field) {
            restore(object, stored, field);
        }
    }
    object.metadata_mut().remove("selfLink");
    for field in [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
    ] {
        restore(object, stored, field);
    }
}

fn restore(object: &mut Object, stored: &Object, field: &str) {
    match stored.metadata().get(field) {
        Some(value) => object
            .metadata_mut()
            .insert(field.to_owned(), value.clone()),
        None => object.metadata_mut().remove(field),
    };
}

/// The generation after an update: one more if anything but metadata, and `status` where it is separate, changed.
pub fn next_generation(object: &Object, stored: &Object, status: StatusField) -> i64 {
    let counts = |name: &str| match name {
        "metadata" | "apiVersion" | "kind" => false,
        "status" => status == StatusField::Part,
        _ => true,
    };
    let new = object.fields().iter().filter(|(name, _)| counts(name));
    let old = stored.fields().iter().filter(|(name, _)| counts(name));
    // Clients choose the generation of objects that a tool evaluates, so it may be the greatest number.
    stored.generation().saturating_add(i64::from(!new.eq(old)))
}
