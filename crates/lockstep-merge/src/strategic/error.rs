//! Why a strategic merge patch cannot be applied.

use serde_json::Value;

/// What is wrong with a strategic merge patch, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrategicError {
    /// An element of a list that is merged by a key has no such key.
    #[error("map: {element} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The element, as JSON.
        element: String,
        /// The key.
        key: &'static str,
    },
    /// A `$patch` that means nothing.
    #[error("unknown patch type: {directive} in map: {element}")]
    Directive {
        /// What it says.
        directive: String,
        /// Where it stands, as JSON.
        element: String,
    },
    /// `$deleteFromPrimitiveList` without a list or a field.
    #[error("invalid patch format of primitive list")]
    DeleteList,
    /// `$retainKeys` that is no list, or lacks a field that the patch sets.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$setElementOrder` without a list or a field.
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    /// `$setElementOrder` lacks an element that the patch sets, or has it elsewhere.
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    OrderMismatch {
        /// The elements that are set, as JSON.
        patch: String,
        /// The order, as JSON.
        order: String,
    },
    /// A list with elements of several types, or with lists in it.
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
