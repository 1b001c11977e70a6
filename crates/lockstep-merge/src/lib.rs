//! Patches and server-side apply: JSON patch, JSON merge patch, strategic merge patch for built-in kinds, and field
//! management.
//!
//! [`types`] describes the granularity of each kind, [`typed`] merges and compares typed values, [`fields`] holds field
//! sets, and [`managers`] maintains `metadata.managedFields`.
//!
//! ```
//! use lockstep_merge::{JsonPatch, merge_patch};
//! use serde_json::json;
//!
//! let mut object = json!({"a": [1, 2, 3], "b": {"c": 1}});
//! let patch = JsonPatch::from_value(&json!([{"op": "replace", "path": "/a/-1", "value": 4}]))?;
//! patch.apply(&mut object)?;
//! merge_patch(&mut object, &json!({"b": {"c": null, "d": 2}}));
//! assert_eq!(object, json!({"a": [1, 2, 4], "b": {"d": 2}}));
//! # Ok::<(), lockstep_merge::JsonPatchError>(())
//! ```

pub mod fields;
mod json_patch;
pub mod managers;
mod merge_patch;
mod strategic;
pub mod typed;
pub mod types;

pub use json_patch::{
    COPY_BYTES_MAX, JsonPatch, JsonPatchError, MOVED_VALUES_MAX, OPERATIONS_MAX, SHIFTED_VALUES_MAX,
};
pub use merge_patch::merge_patch;
pub use strategic::{StrategicError, strategic_merge};
