//! Conversion of cached objects to the version of a read.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_object::ApiError;
use lockstep_write::{Direct, ServedVersion as _};

use super::Served;
use crate::cache::Object;

/// Converts objects to a version; those stored in it, and all objects of a resource without a conversion webhook, stay
/// as they are.
pub(super) async fn converted_all(
    served: &Served,
    mut objects: Vec<Arc<Object>>,
) -> Result<Vec<Arc<Object>>, ApiError> {
    if !served.has_webhook() {
        return Ok(objects);
    }
    let values: Vec<Bytes> = objects.iter().map(|object| object.value.clone()).collect();
    for (at, value) in served.converted_all(&Direct, &values).await? {
        objects[at] = objects[at].with_value(value);
    }
    Ok(objects)
}
