//! Errors of strategic merge patches.

use serde_json::Value;

/// Errors of a strategic merge patch, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrategicError {
    /// A list element lacks the merge key of its list.
    #[error("map: {element} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The element, as JSON.
        element: String,
        /// The merge key.
        key: &'static str,
    },
    /// Unknown `$patch` directive.
    #[error("unknown patch type: {directive} in map: {element}")]
    Directive {
        /// The given directive.
        directive: String,
        /// The map that contains it, as JSON.
        element: String,
    },
    /// `$deleteFromPrimitiveList` is not a list or names no field.
    #[error("invalid patch format of primitive list")]
    DeleteList,
    /// `$retainKeys` is not a list, or lacks a field that the patch sets.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$setElementOrder` is not a list or names no field.
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    /// `$setElementOrder` lacks an element that the patch sets, or orders it differently.
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    OrderMismatch {
        /// The elements set by the patch, as JSON.
        patch: String,
        /// The given order, as JSON.
        order: String,
    },
    /// A list mixes element types or contains lists.
    #[error("list element types are not identical: {0}")]
    Elements(String),
}

impl StrategicError {
    pub(super) fn no_merge_key(element: &Value, key: &'static str) -> Self {
        Self::NoMergeKey {
            element: element.to_string(),
            key,
        }
    }
}
