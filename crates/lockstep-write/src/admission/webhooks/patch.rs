//! JSON patch in the response of a mutating webhook.

use lockstep_merge::{JsonPatch, JsonPatchError};
use lockstep_object::{Value, json};

use super::call::Failure;
use super::review::Answer;

/// The only supported `patchType`.
const JSON_PATCH: &str = "JSONPatch";

/// Decoded patch with at least one operation.
pub(super) struct Patch {
    pub(super) change: JsonPatch,
    /// Patch as received, for the audit annotation.
    pub(super) shown: Value,
}

/// Decodes the patch of a response; `None` if it is absent or has no operations.
pub(super) fn read(answer: &Answer) -> Result<Option<Patch>, Failure> {
    if answer.patch.is_empty() {
        return Ok(None);
    }
    let undecodable = |why: String| {
        let reason = format!("received undecodable patch in webhook response: {why}");
        Failure::call(reason, 503)
    };
    let shown = json::decode(&answer.patch).map_err(|error| undecodable(error.to_string()))?;
    let shown = shown.value;
    match &shown {
        Value::Array(operations) if operations.is_empty() => return Ok(None),
        Value::Null => return Ok(None),
        _ => {}
    }
    if answer.patch_type != JSON_PATCH {
        let reason = format!("unsupported patch type {:?}", answer.patch_type);
        return Err(Failure::call(reason, 400));
    }
    let change = JsonPatch::from_value(&shown).map_err(|error| match error {
        JsonPatchError::NotAList(_) => undecodable(error.to_string()),
        error => Failure::internal(&problem(error)),
    })?;
    Ok(Some(Patch { change, shown }))
}

/// Error text of a patch, without the index of the failed operation.
pub(super) fn problem(error: JsonPatchError) -> String {
    match error {
        JsonPatchError::Operation { problem, .. } => problem,
        JsonPatchError::TestFailed { path, .. } => format!("testing value {path} failed"),
        other => other.to_string(),
    }
}
