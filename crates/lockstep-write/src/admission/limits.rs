//! `LimitRanger`: applies the defaults of a namespace's LimitRanges to pods, and rejects pods and persistent volume
//! claims outside their bounds.

use lockstep_builtins::limits;
use lockstep_catalog::SpecialKind;
use lockstep_object::{ApiError, Object, Value, json};

use super::super::WritePath;
use super::Attributes;

/// Applies the LimitRange defaults to a new pod.
pub(super) async fn fill(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    object: &mut Object,
) -> Result<(), ApiError> {
    if attributes.creates(SpecialKind::Pod) {
        let ranges = ranges(path, object.namespace()).await?;
        limits::fill(object, &ranges);
    }
    Ok(())
}

/// Rejects a new object outside the bounds of the LimitRanges.
pub(super) async fn check(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    object: &Object,
) -> Result<(), ApiError> {
    let check = if attributes.creates(SpecialKind::Pod) {
        limits::check_pod
    } else if attributes.creates(SpecialKind::PersistentVolumeClaim) {
        limits::check_claim
    } else {
        return Ok(());
    };
    let problems = check(object.as_value(), &ranges(path, object.namespace()).await?);
    let why = match problems.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let resource = attributes.request.served.resource.group_resource();
    Err(ApiError::forbidden(&resource, object.name(), why))
}

/// LimitRanges of a namespace, including those created a moment ago.
async fn ranges(path: &WritePath<'_>, namespace: &str) -> Result<Vec<Value>, ApiError> {
    let registry = path.registry();
    let Some(resource) = registry.resource("", "limitranges") else {
        return Ok(Vec::new());
    };
    if !path.io.catch_up().await {
        let why = "the store is not available";
        return Err(ApiError::service_unavailable(why, 1));
    }
    let ranges = path.env.cached_list(&resource.bucket, Some(namespace));
    let ranges = ranges
        .into_iter()
        .filter_map(|stored| json::read(&stored.value));
    Ok(ranges.collect())
}
