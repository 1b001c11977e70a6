//! Built-in kinds as data: fields, types, and their JSON and protobuf encodings.
//!
//! [`Table::builtin`] is the table. [`typed`] normalizes a JSON object as its Go type would, or rejects it; [`proto`]
//! decodes and encodes protobuf; [`schema`] generates OpenAPI schemas. There is no code per kind.
//!
//! ```
//! use lockstep_kinds::{Table, typed};
//! use serde_json::json;
//!
//! let table = Table::builtin();
//! let config_map = table.kind("", "v1", "ConfigMap").expect("it is built in");
//! let mut value = json!({"metadata": {"name": "a", "labels": {}}, "data": {"k": "v"}, "colour": "red"});
//! let mut unknown = Vec::new();
//! typed::read(table, config_map, value.as_object_mut().unwrap(), &mut unknown).unwrap();
//! assert_eq!(value, json!({"metadata": {"name": "a"}, "data": {"k": "v"}}));
//! assert_eq!(unknown, ["colour"]);
//!
//! let mut value = json!({"data": {"k": 1}});
//! let error = typed::read(table, config_map, value.as_object_mut().unwrap(), &mut unknown).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
//! );
//! ```

mod descriptions;
pub mod format;
mod go_type;
pub mod proto;
pub mod schema;
mod table;
pub mod typed;

pub use table::{Field, Leaf, ListType, Omit, Package, Shape, Special, Table, Type, TypeId};
