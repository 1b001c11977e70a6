//! Label and field selectors.

mod field;
mod label;
mod label_parse;
mod label_selector;

pub use field::{FieldRequirement, FieldSelector, FieldSelectorError};
pub use label::{LabelRequirement, LabelSelector, Labels, Operator};
pub use label_parse::LabelSelectorError;
pub use label_selector::{from_label_selector, validate_label_selector};
