//! Patches: what becomes of an object when one is applied to it.
//!
//! Pure functions of a value and a patch. Whether the result is an object that may be stored is for
//! others to say.

mod json_patch;
mod merge_patch;
mod pointer;

pub use json_patch::{
    COPIED_BYTES_MAX, JsonPatch, JsonPatchError, OPERATIONS_MAX, PatchSyntaxError,
};
pub use merge_patch::merge_patch;
pub use pointer::Pointer;
