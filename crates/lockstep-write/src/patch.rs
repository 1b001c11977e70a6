//! Patch requests.

use lockstep_kinds::{Table, TypeId};
use lockstep_merge::{JsonPatch, JsonPatchError, merge_patch, strategic_merge};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::incoming::{FieldValidation, type_name};
use lockstep_object::metadata::check_url_name;
use lockstep_object::{ApiError, GroupKind, Value, json};
use serde_json::Map;

use super::codec::Current;
use super::decode::Patched;
use super::decode::{Unfit, fit};
use super::update::Next;
use super::{InFlight, Incoming, LastWrite, Origin, Served, Subresource, WriteAnswer, WritePath};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";

const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// Media type of an apply configuration.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Supported patch media types.
pub fn patch_types(origin: Origin) -> &'static [&'static str] {
    match origin {
        Origin::BuiltIn => &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH],
        Origin::Custom | Origin::Own => &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH],
    }
}

/// Decoded patch.
pub struct Patch {
    change: Change,
    /// Duplicate and unknown fields of the patch body.
    pub(super) complaints: Vec<String>,
}

enum Change {
    Json(JsonPatch),
    Merge(Value),
    Strategic(TypeId, Map<String, Value>),
}

impl WritePath<'_> {
    /// Applies the patch of the body.
    pub(super) async fn patch(
        &self,
        request: &InFlight<'_>,
        patch: Patch,
    ) -> Result<WriteAnswer, ApiError> {
        let subresource = request.subresource()?;
        if subresource == Some(Subresource::Scale) {
            return self.patch_scale(request, patch).await;
        }
        let dry_run = request.options.dry_run;
        let is_strict = request.options.field_validation == FieldValidation::Strict;
        let change = |current: &Current| {
            let revision = current.revision.0.to_string();
            let made = || {
                let mut object = current.object.clone();
                object.set_meta_text("resourceVersion", &revision);
                let mut value = object.into_value();
                patch.apply(&mut value).map(|()| value)
            };
            let value = made()?;
            let patched = is_strict.then(|| patch.shown(value.clone()));
            let mut unknown = Vec::new();
            let object = fit(&request.served, value, &request.source, &mut unknown);
            let mut object = object.or_else(|unfit| Err(patch.refused(made()?, unfit)))?;
            check_url_name(&object, &request.route.name)?;
            if object.resource_version() == revision {
                object.set_meta_text("resourceVersion", "");
            }
            Ok(Incoming {
                object,
                duplicates: patch.complaints.clone(),
                unknown,
                patched,
            })
        };
        let next = Next::Computed(&change);
        self.change(request, subresource, dry_run, LastWrite::Wins, next)
            .await
    }
}

/// Decodes a patch of a media type that the resource supports. `subresource` is that of the request.
pub fn decode(
    served: &Served,
    subresource: Option<Subresource>,
    media_type: &str,
    source: &[u8],
) -> Result<Patch, ApiError> {
    let known = patch_types(served.resource.origin);
    if !known.contains(&media_type) {
        return Err(ApiError::unsupported_media_type(known));
    }
    let decoded = json::decode(source);
    let decoded =
        decoded.map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    if media_type != JSON_PATCH {
        let Value::Object(patch) = decoded.value else {
            return Err(ApiError::bad_request(no_map(media_type, &decoded.value)));
        };
        let change = match media_type {
            STRATEGIC_PATCH => Change::Strategic(patched_type(served, subresource)?, patch),
            _ => Change::Merge(Value::Object(patch)),
        };
        let complaints = decoded.duplicates;
        return Ok(Patch { change, complaints });
    }
    let patch = JsonPatch::from_value(&decoded.value).map_err(|error| match error {
        JsonPatchError::TooManyOperations(_) => ApiError::too_large(error.to_string()),
        JsonPatchError::NotAList(_) => {
            ApiError::bad_request(format!("error decoding patch: {error}"))
        }
        JsonPatchError::Operation { .. } | JsonPatchError::TestFailed { .. } => {
            ApiError::PatchRejected
        }
    })?;
    let duplicates = decoded.duplicates.iter();
    let duplicates = duplicates.map(|path| format!("json patch duplicate field {path:?}"));
    let unknown = patch.unknown_fields().iter();
    let unknown = unknown.map(|path| format!("json patch unknown field {path:?}"));
    let complaints = duplicates.chain(unknown).collect();
    let change = Change::Json(patch);
    Ok(Patch { change, complaints })
}

fn no_map(media_type: &str, found: &Value) -> String {
    let found = type_name(found);
    let problem =
        format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
    match media_type {
        STRATEGIC_PATCH => problem,
        _ => format!("error decoding patch: {problem}"),
    }
}

impl Patched {
    /// 422 for the field `patch`.
    pub(super) fn refused(&self, problem: &str) -> ApiError {
        let shown = match self {
            Self::Object(object) => object.to_string(),
            Self::StrategicPatch(patch) => go_map(patch),
        };
        let path = Path::ROOT.field("patch");
        let error = FieldError::invalid(&path, shown, problem);
        ApiError::invalid(&GroupKind::new("", ""), "", [error])
    }
}

impl Patch {
    /// Applies the patch to an object, or to its scale.
    pub(super) fn apply(&self, value: &mut Value) -> Result<(), ApiError> {
        match &self.change {
            Change::Merge(patch) => merge_patch(value, patch),
            Change::Json(patch) => patch.apply(value).map_err(|_| ApiError::PatchRejected)?,
            Change::Strategic(kind, patch) => {
                let object = value.as_object_mut();
                let object = object.expect("an object of the API is a map");
                let own = ["apiVersion", "kind"].map(|field| (field, object.get(field).cloned()));
                strategic_merge(Table::builtin(), *kind, object, patch.clone())
                    .map_err(|error| ApiError::bad_request(error.to_string()))?;
                // A strategic merge patch cannot change `apiVersion` or `kind`.
                for (field, value) in own {
                    object.insert(field.to_owned(), value.unwrap_or_default());
                }
            }
        }
        Ok(())
    }

    /// Value to print in error messages about the patch.
    pub(super) fn shown(&self, made: Value) -> Patched {
        match &self.change {
            Change::Json(_) | Change::Merge(_) => Patched::Object(made),
            Change::Strategic(_, patch) => Patched::StrategicPatch(patch.clone()),
        }
    }

    /// Error for a patch whose result is not an object of the resource.
    fn refused(&self, made: Value, unfit: Unfit) -> ApiError {
        match unfit {
            Unfit::Kind(ApiError::BadRequest(problem)) | Unfit::Type(problem) => {
                self.shown(made).refused(&problem)
            }
            Unfit::Kind(error) => error,
        }
    }
}

/// Formats a map as Go's `%v` does.
fn go_map(map: &Map<String, Value>) -> String {
    let fields = map
        .iter()
        .map(|(name, value)| format!("{name}:{}", go_value(value)));
    let mut fields: Vec<String> = fields.collect();
    fields.sort();
    format!("map[{}]", fields.join(" "))
}

fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_value).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => go_map(map),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Go type that a strategic merge patch applies to.
fn patched_type(served: &Served, subresource: Option<Subresource>) -> Result<TypeId, ApiError> {
    let own = subresource.and_then(Subresource::own_kind);
    let gvk = served.gvk();
    let [group, version, kind] = own.unwrap_or([&gvk.group, &gvk.version, &gvk.kind]);
    let found = Table::builtin().kind(group, version, kind);
    found.ok_or_else(|| ApiError::internal("the kind is not in the table of kinds"))
}
