//! Changing an object by a patch.

use lockstep_kinds::{Table, TypeId};
use lockstep_merge::{JsonPatch, JsonPatchError, merge_patch, strategic_merge};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::incoming::FieldValidation;
use lockstep_object::metadata::check_url_name;
use lockstep_object::{GroupKind, Status, Value, json};
use serde_json::Map;

use super::body::accept;
use super::current::Current;
use super::update::{LastWrite, Next};
use super::{Answer, Api, Incoming, Origin, Request, Subresource};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";

const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// What patches are sent as.
pub(crate) fn patch_types(origin: Origin) -> &'static [&'static str] {
    match origin {
        Origin::BuiltIn => &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH],
        Origin::Custom => &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH],
    }
}

/// A patch that can be read.
pub(super) enum Patch {
    Json(JsonPatch),
    Merge(Value),
    Strategic(TypeId, Map<String, Value>),
}

impl Api {
    /// Applies the patch of the body.
    pub(super) async fn patch(&self, request: &Request<'_>) -> Result<Answer, Status> {
        let part = request.part()?;
        if part == Some(Subresource::Scale) {
            return self.patch_scale(request).await;
        }
        let dry_run = request.dry_run()?;
        if media_type(request) == APPLY_PATCH {
            return self.apply(request, part, dry_run).await;
        }
        request.field_manager()?;
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
        let next = Next::Made(&change);
        self.change(request, part, dry_run, LastWrite::Wins, next)
            .await
    }
}

fn media_type<'r>(request: &'r Request<'_>) -> &'r str {
    let media_type = request.content_type.split(';').next();
    media_type.unwrap_or_default().trim()
}

/// The patch. What field validation has to say about the patch itself is said here.
pub(super) fn read(request: &Request<'_>) -> Result<Patch, Status> {
    let media_type = media_type(request);
    let mut known = patch_types(request.served.resource.origin).to_vec();
    if request.part()? == Some(Subresource::Scale) {
        known.retain(|known| *known != APPLY_PATCH);
    }
    if !known.contains(&media_type) {
        return Err(Status::unsupported_media_type(&known));
    }
    let decoded = json::decode(&request.body);
    let decoded =
        decoded.map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    let duplicates = decoded.duplicates.iter();
    let mut complaints: Vec<String> = duplicates
        .map(|path| format!("duplicate field {path:?}"))
        .collect();
    if media_type != JSON_PATCH {
        let Value::Object(patch) = decoded.value else {
            return Err(Status::bad_request(
                "error decoding patch: a merge patch is a map",
            ));
        };
        complain(request, &complaints)?;
        return Ok(match media_type {
            STRATEGIC_PATCH => Patch::Strategic(patched_type(request)?, patch),
            _ => Patch::Merge(Value::Object(patch)),
        });
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
        Patch::Strategic(kind, patch) => {
            let object = value.as_object_mut();
            let object = object.expect("an object of the API is a map");
            strategic_merge(Table::builtin(), *kind, object, patch.clone())
                .map_err(|error| Status::bad_request(error.to_string()))?;
        }
    }
    Ok(())
}

/// The type of what a patch is made to.
fn patched_type(request: &Request<'_>) -> Result<TypeId, Status> {
    let own = request.part()?.and_then(Subresource::own_kind);
    let gvk = request.served.gvk();
    let [group, version, kind] = own.unwrap_or([&gvk.group, &gvk.version, &gvk.kind]);
    let found = Table::builtin().kind(group, version, kind);
    found.ok_or_else(|| Status::internal_error("the kind is not in the table of kinds"))
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
    let problem = format!("strict decoding error: {}", complaints.join(", "));
    Err(request.bad_patch(&problem))
}

impl Request<'_> {
    /// What strict validation says about a patch, or about what it makes of the object.
    pub(super) fn bad_patch(&self, problem: &str) -> Status {
        let body = String::from_utf8_lossy(&self.body).into_owned();
        let path = Path::ROOT.field("patch");
        let error = FieldError::invalid(&path, body, problem);
        Status::invalid(&GroupKind::new("", ""), &self.route.name, &[error])
    }
}
