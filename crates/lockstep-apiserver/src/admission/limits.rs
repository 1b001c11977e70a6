//! `LimitRanger`: what pods and claims get from the limit ranges of their namespace, and what these
//! refuse.

use lockstep_builtins::limits;
use lockstep_object::{Object, Status, Value};

use super::Attributes;
use crate::cache::Scope;
use crate::resources::Api;

/// Gives a new pod what the ranges say.
pub(super) async fn fill(
    api: &Api,
    attributes: &Attributes<'_>,
    object: &mut Object,
) -> Result<(), Status> {
    if attributes.makes("", "pods") {
        let ranges = ranges(api, object.namespace()).await?;
        limits::fill(object, &ranges);
    }
    Ok(())
}

/// Refuses a new object that is outside of the ranges.
pub(super) async fn check(
    api: &Api,
    attributes: &Attributes<'_>,
    object: &Object,
) -> Result<(), Status> {
    let check = if attributes.makes("", "pods") {
        limits::check_pod
    } else if attributes.makes("", "persistentvolumeclaims") {
        limits::check_claim
    } else {
        return Ok(());
    };
    let problems = check(object.as_value(), &ranges(api, object.namespace()).await?);
    let why = match problems.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let resource = attributes.request.served.resource.group_resource();
    Err(Status::forbidden(&resource, object.name(), &why))
}

/// The limit ranges of a namespace, also those that were just made.
async fn ranges(api: &Api, namespace: &str) -> Result<Vec<Value>, Status> {
    let registry = api.registry();
    let Some(resource) = registry.resource("", "limitranges") else {
        return Ok(Vec::new());
    };
    if api.cache().caught_up().await.is_err() {
        let why = "the store is not available";
        return Err(Status::service_unavailable(why).with_retry_after(1));
    }
    let snapshot = api.cache().bucket(&resource.bucket).snapshot();
    let scope = Scope::Namespace(namespace.into());
    let ranges = snapshot.objects(&scope, None);
    let ranges = ranges.filter_map(|stored| serde_json::from_slice(&stored.value).ok());
    Ok(ranges.collect())
}
