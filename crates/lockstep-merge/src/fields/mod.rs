//! Which fields somebody owns: sets of paths, and `FieldsV1`, the form they are kept in.

mod element;
mod present;
mod set;

pub(crate) use element::equal;
pub use element::{Datum, Element, ElementError};
pub(crate) use set::Node;
pub use set::{Choice, FIELDS_DEPTH_MAX, FieldsError, Set};
