//! Changing an object by a patch.

use lockstep_merge::{JsonPatch, JsonPatchError, merge_patch};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::incoming::FieldValidation;
use lockstep_object::metadata::check_url_name;
use lockstep_object::{GroupKind, Status, Value, json};

use super::body::accept;
use super::current::Current;
use super::update::LastWrite;
use super::{Answer, Api, Incoming, Request, Subresource};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// What patches are sent as.
pub(crate) const PATCH_TYPES: &[&str] = &[JSON_PATCH, MERGE_PATCH];

/// A patch that can be read.
pub(super) enum Patch {
    Json(JsonPatch),
    Merge(Value),
}

impl Api {
    /// Applies the patch of the body.
    pub(super) async fn patch(&self, request: &Request<'_>) -> Result<Answer, Status> {
        let part = request.part()?;
        if part == Some(Subresource::Scale) {
            return self.patch_scale(request).await;
        }
        let dry_run = request.dry_run()?;
        let patch = read(request)?;
        let change = |current: &Current| {
            let revision = current.revision.0.to_string();
            let mut object = current.object.clone();
            object.set_meta_text("resourceVersion", &revision);
            let mut value = object.into_value();
            apply(request, &patch, &mut value)?;
            let mut unknown = Vec::new();
            let mut object = accept(&request.served, value, &request.body, &mut unknown)?;
            check_url_name(&object, &request.route.name)?;
            if object.resource_version() == revision {
                object.set_meta_text("resourceVersion", "");
            }
            Ok(Incoming {
                object,
                duplicates: Vec::new(),
                unknown,
            })
        };
        self.change(request, part, dry_run, LastWrite::Wins, change)
            .await
    }
}

/// The patch. What field validation has to say about the patch itself is said here.
pub(super) fn read(request: &Request<'_>) -> Result<Patch, Status> {
    let media_type = request
        .content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    if !matches!(media_type, JSON_PATCH | MERGE_PATCH) {
        return Err(Status::unsupported_media_type(PATCH_TYPES));
    }
    let decoded = json::decode(&request.body);
    let decoded =
        decoded.map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    let duplicates = decoded.duplicates.iter();
    let mut complaints: Vec<String> = duplicates
        .map(|path| format!("duplicate field {path:?}"))
        .collect();
    if media_type == MERGE_PATCH {
        if !decoded.value.is_object() {
            return Err(Status::bad_request(
                "error decoding patch: a merge patch is a map",
            ));
        }
        complain(request, &complaints)?;
        return Ok(Patch::Merge(decoded.value));
    }
    let patch = JsonPatch::from_value(&decoded.value).map_err(|error| match error {
        JsonPatchError::TooManyOperations(_) => Status::too_large(&error.to_string()),
        JsonPatchError::NotAList(_) => {
            Status::bad_request(format!("error decoding patch: {error}"))
        }
        JsonPatchError::Operation { .. } => rejected(request),
    })?;
    let unknown = patch.unknown_fields().iter();
    complaints.extend(unknown.map(|path| format!("json patch unknown field {path:?}")));
    complain(request, &complaints)?;
    Ok(Patch::Json(patch))
}

/// Applies a patch to an object, or to a view of one.
pub(super) fn apply(request: &Request<'_>, patch: &Patch, value: &mut Value) -> Result<(), Status> {
    match patch {
        Patch::Merge(patch) => merge_patch(value, patch),
        Patch::Json(patch) => patch.apply(value).map_err(|_| rejected(request))?,
    }
    Ok(())
}

fn rejected(request: &Request<'_>) -> Status {
    let resource = request.served.resource.group_resource();
    Status::patch_rejected(&resource, &request.route.name)
}

/// Strict validation of the patch itself is an error of the field `patch`.
fn complain(request: &Request<'_>, complaints: &[String]) -> Result<(), Status> {
    match request.field_validation()? {
        _ if complaints.is_empty() => return Ok(()),
        FieldValidation::Ignore => return Ok(()),
        FieldValidation::Warn => {
            for complaint in complaints {
                request.notes.warn(complaint);
            }
            return Ok(());
        }
        FieldValidation::Strict => {}
    }
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let path = Path::ROOT.field("patch");
    let detail = format!("strict decoding error: {}", complaints.join(", "));
    let error = FieldError::invalid(&path, body, detail);
    Err(Status::invalid(
        &GroupKind::new("", ""),
        &request.route.name,
        &[error],
    ))
}
