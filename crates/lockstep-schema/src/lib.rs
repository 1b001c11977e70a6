//! Structural schemas of custom resources: compilation, pruning, defaulting and validation.
//!
//! ```
//! use lockstep_schema::{Part, Schema};
//! use serde_json::json;
//!
//! let schema = Schema::compile(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
//!     "size": {"type": "integer", "maximum": 5, "default": 1}
//! }}}}))?;
//! let mut object = json!({"spec": {"colour": "red"}});
//! let mut unknown = Vec::new();
//! schema.prune(&mut object, &mut unknown);
//! schema.default(&mut object);
//! assert_eq!((object, unknown), (json!({"spec": {"size": 1}}), vec!["spec.colour".to_owned()]));
//!
//! let outcome = schema.validate(&json!({"spec": {"size": 7}}), None, Part::Whole);
//! let text = outcome.errors.as_slice()[0].to_string();
//! assert_eq!(text, "spec.size: Invalid value: 7: spec.size in body should be less than or equal to 5");
//! # Ok::<(), lockstep_schema::CompileError>(())
//! ```

mod check;
mod compile;
mod correlate;
mod default;
mod definition;
mod embedded;
mod format;
mod keywords;
mod lists;
mod node;
mod prune;
mod rules;
mod schema;
mod validate;
mod view;

pub use check::{CheckOptions, StatusSubresource, check, unrecognized_formats};
pub use compile::{CompileError, SCHEMA_DEPTH_MAX};
pub use default::DEFAULTED_BYTES_MAX;
pub use definition::{
    Approval, NameConflict, check_definition, conflict, default_definition, definition_warnings,
    is_storage_version, storage_version,
};
pub use rules::{RuleReads, rule_reads};
pub use schema::{Outcome, Part, Schema};
pub use view::{AdditionalProperties, ListType, ValueType, View};
