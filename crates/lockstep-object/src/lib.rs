//! Shared vocabulary of the API: JSON decoding and encoding, dynamic objects and metadata, kinds and resources, field
//! paths and field errors, selectors, errors and `Status`.
//!
//! ```
//! use lockstep_object::{GroupVersionKind, Object, json};
//!
//! let decoded = json::decode(br#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a"},"n":2.0}"#)?;
//! let object = Object::from_value(decoded.value).expect("it is a map");
//! assert_eq!(object.gvk(), Some(GroupVersionKind::new("ex.io", "v1", "Widget")));
//! assert_eq!(object.name(), "a");
//! let printed = json::encode(object.as_value());
//! assert_eq!(printed, br#"{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a"},"n":2}"#);
//! # Ok::<(), json::DecodeError>(())
//! ```

pub mod field;
pub mod incoming;
pub mod json;
pub mod json_path;
mod kinds;
pub mod metadata;
pub mod names;
mod object;
pub mod options;
pub mod selector;
mod status;
pub mod table;
mod version;
pub mod webhook;
pub mod yaml;

pub use kinds::{
    GroupKind, GroupResource, GroupVersion, GroupVersionError, GroupVersionKind,
    GroupVersionResource,
};
pub use lockstep_gotext::print as go;
pub use object::Object;
pub use serde_json::{Map, Number, Value};
pub use status::{
    ApiError, ApplyConflict, Cause, Details, InvalidObject, ObjectRef, Outcome, PolicyDenial,
    PreconditionFailed, Reason, Status, Success, WebhookDenial,
};
pub use version::compare_versions;
