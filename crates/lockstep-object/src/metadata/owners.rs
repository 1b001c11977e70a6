//! Duplicate owner references.

use crate::object::Object;
use serde_json::Value;
use std::collections::BTreeSet;

/// Drops references to an owner that an earlier reference names, and returns the warning that upstream gives for it.
pub fn drop_duplicate_owners(object: &mut Object) -> Option<String> {
    let references = object
        .metadata_mut()
        .get_mut("ownerReferences")?
        .as_array_mut()?;
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut duplicates: Vec<String> = Vec::new();
    references.retain(|reference| {
        let uid = reference
            .get("uid")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_first = seen.insert(uid.to_owned());
        if !is_first {
            duplicates.push(uid.to_owned());
        }
        is_first
    });
    if duplicates.is_empty() {
        return None;
    }
    let uids = duplicates.join(", ");
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
    ))
}
