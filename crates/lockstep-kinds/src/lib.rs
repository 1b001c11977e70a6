//! Built-in kinds as data: which fields they have, of which type, how each is written in JSON and in protobuf.
//!
//! [`Table::builtin`] is the table. [`typed`] brings a JSON object into the form that its Go type would give it, or
//! says why it cannot; [`proto`] reads and writes the same object as protobuf; [`schema`] describes it for OpenAPI. No
//! kind has code of its own.
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
