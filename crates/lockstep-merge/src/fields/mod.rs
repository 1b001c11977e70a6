//! Field sets: sets of paths, and `FieldsV1`, their serialized form in `managedFields`.

mod element;
mod present;
mod set;

pub(crate) use element::equal;
pub use element::{Datum, Element, ElementError};
pub(crate) use set::Node;
pub use set::{FIELDS_DEPTH_MAX, FieldsError, Selection, Set};
