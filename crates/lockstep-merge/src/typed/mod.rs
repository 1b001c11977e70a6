//! Operations on typed values: validation, field sets, comparison, merge and removal.
//!
//! ```
//! use lockstep_kinds::Table;
//! use lockstep_merge::types::BuiltInTypes;
//! use serde_json::json;
//!
//! let types = BuiltInTypes::of(Table::builtin());
//! let service = types.get(Table::builtin().kind("", "v1", "Service").unwrap()).unwrap();
//! let live = json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}});
//! let patch = json!({"spec": {"ports": [{"port": 80, "name": "web"}, {"port": 443}]}});
//! assert_eq!(
//!     service.merge(&live, &patch)?,
//!     json!({"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "web"}, {"port": 443}]}})
//! );
//! # Ok::<(), lockstep_merge::typed::TypeErrors>(())
//! ```

mod compare;
mod error;
mod items;
mod merge;
mod owned;
mod reconcile;
mod remove;
mod validate;

pub use compare::Comparison;
pub use error::{TypeError, TypeErrors};
pub use validate::Duplicates;
